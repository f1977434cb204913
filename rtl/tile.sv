// tile: adds LaneBytes bytes a clock, each in a lane, to a row of the slot memory, and rounds the
// row while it adds the last contribution.
//
// clock  0 in | 1 data_q: decode, read row | 2 add | 3 sum: write row, round 1 | 4, 5, 6 round |
//        7 code | 8 row packed, where needed
//
// in_ready_o falls after a flit (nic_core) that needs k > 1 clocks. MAX: k = 2. An emitted flit:
// k = turns + rows - 1, where turns = 2 for 4-bit codes (low, then high ones), else 1, and
// rows = the rows of LaneBytes bytes that its results fill.
// A row computed one or two clocks ago is forwarded. A packet's flits are contiguous.
module tile #(
  parameter int Slots = nc_pkg::CARD_SLOTS,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,  // 8, 16, 32, 64 or 128
  parameter int Rows = nc_pkg::CARD_BEATS * nc_pkg::BEAT_BYTES / LaneBytes,  // of a slot
  parameter int Wide = 1,
  parameter int Narrow = 0,                  // 1: rows of narrow_lane, and Wide = 0
  parameter int Ultra = 1,                   // see slot_mem
  localparam int SW = Slots > 1 ? $clog2(Slots) : 1,
  localparam int BW = Rows > 1 ? $clog2(Rows) : 1,
  localparam int RW = SW + BW, Flit = 8 * LaneBytes,
  localparam int Man = Wide != 0 ? 10 : 6,
  // Codes: bits of a lane's code; Word: of its word; Full: of the word that the encoder takes
  localparam int Codes = Wide != 0 ? 16 : 8, Full = nc_pkg::CARD_SUM_BITS + 2,
  localparam int Word = Narrow != 0 ? nc_pkg::CARD_NARROW_BITS : Full
) (
  input  logic          clk_i,
  input  logic          rst_i,
  input  logic          in_valid_i,
  output logic          in_ready_o,
  input  logic [SW-1:0] in_slot_i,
  input  logic [BW-1:0] in_row_i,
  input  logic          in_start_i,
  input  logic          in_last_i,
  input  logic          in_odd_i,            // only the flit's first beat counts; others are 0
  input  logic          in_first_i,          // first contribution: overwrite
  input  logic          in_emit_i,           // last contribution: round
  input  logic          in_max_i,            // int8 codes; the formats do not matter
  input  logic [7:0]    in_fmt_i,
  input  logic [7:0]    out_fmt_i,
  input  logic [2:0]    out_shift_i,
  input  logic          saturate_i,
  input  logic [Flit-1:0] in_data_i,
  output logic          kept_valid_o,
  output logic [SW-1:0] kept_slot_o,
  output logic [BW-1:0] kept_row_o,
  output logic [3:0]    kept_en_o,           // quarters of the row
  output logic [Flit-1:0] kept_data_o,
  output logic          kept_last_o,         // last write of the packet
  output logic [2:0]    kept_status_o        // STATUS_ bits
);
  power_of_two #(.N(LaneBytes), .Least(8), .Most(2 * nc_pkg::BEAT_BYTES)) u_bytes ();
  // ---- 0: take a flit
  logic       take, ready_q, in_four, in_half, out_four, out_half;
  logic [2:0] wait_q, wait_d;
  logic [5:2] e_d;

  assign take       = in_valid_i && ready_q;
  assign in_ready_o = ready_q;
  assign in_four    = Wide != 0 && !in_max_i && 4'(in_fmt_i[6:4]) + in_fmt_i[3:0] == 4'd3;
  assign in_half    = Wide != 0 && !in_max_i && in_fmt_i[3:0] == 4'd10;
  assign out_four   = Wide != 0 && !in_max_i && 4'(out_fmt_i[6:4]) + out_fmt_i[3:0] == 4'd3;
  assign out_half   = Wide != 0 && !in_max_i && out_fmt_i[3:0] == 4'd10;
  always_comb begin
    wait_d = wait_q != 3'd0 ? wait_q - 3'd1 : 3'd0;
    if (take && in_max_i) wait_d = 3'd1;
    else if (take && in_emit_i) begin
      if (in_four) wait_d = out_half ? 3'd4 : out_four ? 3'd1 : 3'd2;
      else wait_d = out_half && !in_half ? 3'd1 : 3'd0;
    end
    for (int i = 2; i <= 5; i++) e_d[i] = !in_max_i && !in_half && in_fmt_i[6:4] >= 3'(i);
  end

  // ---- 1: decode, read
  logic          d_valid_q, d_second_q, d_flip_q, d_start_q, d_last_q, d_odd_q, d_first_q, d_emit_q,
                 d_max_q, d_fn_q, d_finite_q;
  logic          d_four_q, d_half_q, d_out_four_q, d_out_half_q, d_saturate_q;
  logic [5:2]    d_e_q;
  logic [7:0]    d_in_fmt_q, d_out_fmt_q;
  logic [2:0]    d_shift_q;
  logic [RW-1:0] d_row_q;
  logic [Flit-1:0] d_data_q;
  logic [6:0]    k;

  always_ff @(posedge clk_i) begin
    wait_q     <= wait_d;
    ready_q    <= wait_d == 3'd0;
    d_valid_q  <= take || (d_valid_q && d_flip_q);
    d_second_q <= !take && d_flip_q;         // second pass of MAX
    d_flip_q   <= take && in_max_i;
    if (take) begin
      d_row_q     <= {in_slot_i, in_row_i};
      d_data_q    <= in_data_i;
      d_e_q       <= e_d;
      d_fn_q      <= in_fmt_i[7];
      d_finite_q  <= in_max_i || (in_fmt_i[7] && !in_fmt_i[6]);
      d_in_fmt_q  <= in_fmt_i;
      d_out_fmt_q <= out_fmt_i;
      d_shift_q   <= out_shift_i;
      {d_start_q, d_last_q, d_odd_q} <= {in_start_i, in_last_i, in_odd_i};
      {d_first_q, d_emit_q} <= {in_first_i, in_emit_i};
      {d_max_q, d_saturate_q} <= {in_max_i, saturate_i};
      {d_four_q, d_half_q, d_out_four_q, d_out_half_q} <= {in_four, in_half, out_four, out_half};
    end
    if (rst_i) begin
      {d_valid_q, d_flip_q, ready_q} <= 3'b000;
      wait_q <= 3'd0;
    end
  end

  // ---- 2: add
  // a_from_q: acc_lane's from_i. Bit 1: last or zero, bit 0: sum or zero, none: row. Two equations,
  // so that synthesis tools do not make a state machine.
  logic          from_sum, from_last;
  assign from_sum  = d_second_q || (a_write_q && a_row_q == d_row_q);
  assign from_last = s_write_q && s_row_q == d_row_q;

  logic          a_valid_q, a_write_q, a_clip_q, a_emit_q, a_start_q, a_last_q, a_odd_q, a_max_q,
                 a_four_q, a_half_q;
  logic          a_out_four_q, a_out_half_q, a_saturate_q;
  logic [1:0]    a_from_q;
  logic [7:0]    a_out_fmt_q;
  logic [6:0]    a_k_q;
  logic [RW-1:0] a_row_q, s_row_q;
  logic          s_write_q;

  always_ff @(posedge clk_i) begin
    a_valid_q <= d_valid_q;
    a_write_q <= d_valid_q && !d_flip_q;
    a_clip_q  <= d_valid_q && d_flip_q;
    a_emit_q  <= d_valid_q && !d_flip_q && d_emit_q;
    if (d_valid_q) begin
      a_from_q    <= {d_first_q || (from_last && !from_sum), d_first_q || from_sum};
      a_row_q     <= d_row_q;
      a_out_fmt_q <= d_out_fmt_q;
      a_k_q       <= k;
      {a_start_q, a_last_q, a_odd_q} <= {d_start_q, d_last_q, d_odd_q};
      {a_max_q, a_saturate_q} <= {d_max_q, d_saturate_q};
      {a_four_q, a_half_q, a_out_four_q, a_out_half_q} <=
          {d_four_q, d_half_q, d_out_four_q, d_out_half_q};
    end
    s_write_q <= a_write_q;
    s_row_q   <= a_row_q;
    if (rst_i) {a_valid_q, a_write_q, a_clip_q, a_emit_q, s_write_q} <= '0;
  end

  logic [LaneBytes*Word-1:0] old_row, new_row;
  localparam int Depth = Slots > 1 && Rows > 1 ? Slots * Rows : 1 << RW;
  slot_mem #(.Width(LaneBytes * Word), .Depth(Depth), .Ultra(Ultra)) u_rows (
    .clk_i, .w_en_i(s_write_q), .w_row_i(s_row_q), .w_data_i(new_row),
    .r_en_i(d_valid_q), .r_row_i(d_row_q), .r_data_o(old_row));

  // ---- 3: the encoders' parameters, and the second turn of 4-bit codes
  logic           again, plan_en;
  logic [5:0]     stop, plus, below;
  logic [Man:0]   guard;
  logic [Man-1:0] lost;
  logic [3:0]     drop;
  logic [5:1]     over;
  logic           fn, finite;
  logic [14:0]    beyond;

  logic           en1_q, en2_q, en3_q, en4_q, code_valid_q, low1_q, high1_q;
  assign again   = en1_q && low1_q;
  assign plan_en = a_emit_q || again;
  round_plan #(.Wide(Wide)) u_plan (
    .in_fmt_i(d_in_fmt_q), .out_fmt_i(d_out_fmt_q), .shift_i(d_shift_q), .max_i(d_max_q),
    .k_o(k), .k_i(a_k_q), .late_fmt_i(a_out_fmt_q), .late_max_i(a_max_q), .four_i(a_out_four_q),
    .eight_i(!a_out_four_q && !a_out_half_q), .saturate_i(a_saturate_q), .high_i(again),
    .stop_o(stop), .plus_o(plus), .below_o(below), .guard_o(guard), .lost_o(lost), .drop_o(drop),
    .over_o(over), .fn_o(fn), .finite_o(finite), .beyond_o(beyond));

  // Parameters travel with their sums through clocks 3 to 6; `tail` is used from clock 7 on.
  localparam int Four = 4 + 5 + 2 + 1 + 2 + 15, Three = 6 + 6 + (Man + 1) + Man + 1, Tail = RW + 9;
  logic [5:0]       stop1_q;
  logic [3:0]       stop2_q;
  logic [Three-1:0] three1_q, three2_q, three3_q;
  logic [Four-1:0]  four1_q, four2_q, four3_q, four4_q;
  logic [Tail-1:0]  tail1_q, tail2_q, tail3_q, tail4_q, tail5_q;

  always_ff @(posedge clk_i) begin
    {code_valid_q, en4_q, en3_q, en2_q, en1_q} <= {en4_q, en3_q, en2_q, en1_q, plan_en};
    if (plan_en) begin
      stop1_q  <= stop;
      three1_q <= {plus, below, guard, lost, a_max_q};
      four1_q  <= {drop, over, finite, fn, a_max_q, a_out_four_q, !a_out_four_q && !a_out_half_q,
                   beyond};
      low1_q   <= a_four_q && !again;
      high1_q  <= again;
      tail1_q  <= {a_row_q, a_start_q, a_last_q, a_odd_q, a_four_q && !again, a_four_q, a_half_q,
                   a_out_four_q, a_out_half_q, again};
    end
    if (en1_q) begin
      stop2_q  <= stop1_q[3:0];
      three2_q <= three1_q;
      four2_q  <= four1_q;
      tail2_q  <= tail1_q;
    end
    if (en2_q) begin
      three3_q <= three2_q;
      four3_q  <= four2_q;
      tail3_q  <= tail2_q;
    end
    if (en3_q) begin
      four4_q <= four3_q;
      tail4_q <= tail3_q;
    end
    if (en4_q) tail5_q <= tail4_q;
    if (rst_i) {code_valid_q, en4_q, en3_q, en2_q, en1_q} <= '0;
  end

  // ---- the lanes
  // Lanes per module, a compromise: Verilator generates code for each module, and Yosys' time
  // grows with the square of its lanes.
  localparam int Lanes = LaneBytes < 16 ? LaneBytes : 16;
  logic [LaneBytes*Full-1:0]  sums;
  logic [LaneBytes*Codes-1:0] codes;
  logic [LaneBytes-1:0]       over_any, ninf_any, pinf_any;
  generate
    for (genvar g = 0; g < LaneBytes / Lanes; g++) begin : g_lanes
      localparam int I = Lanes * g;
      if (Narrow != 0) begin : g_narrow
        narrow_lane #(.Lanes(Lanes)) u_acc (
          .clk_i, .term_en_i(d_valid_q), .data_i(d_data_q[8*I+:8*Lanes]), .two_i(d_e_q[2]),
          .max_i(d_max_q), .flip_i(d_flip_q), .sum_en_i(a_valid_q), .clip_i(a_clip_q),
          .from_i(a_from_q), .row_i(old_row[Word*I+:Word*Lanes]), .last_en_i(s_write_q),
          .sum_o(new_row[Word*I+:Word*Lanes]));
        logic unused;
        assign unused = ^{d_e_q, d_fn_q, d_finite_q};
        for (genvar i = I; i < I + Lanes; i++) begin : g_word
          assign sums[Full*i+:Full] =
              {2'b00, {(Full - 2 - Word){new_row[Word*i+Word-1]}}, new_row[Word*i+:Word]};
        end
      end else begin : g_full
        acc_lane #(.Lanes(Lanes), .Wide(Wide)) u_acc (
          .clk_i, .term_en_i(d_valid_q), .data_i(d_data_q[8*I+:8*Lanes]), .e_i(d_e_q),
          .fn_i(d_fn_q), .finite_i(d_finite_q), .max_i(d_max_q), .flip_i(d_flip_q),
          .four_i(d_four_q), .half_i(d_half_q), .sum_en_i(a_valid_q), .sum_four_i(a_four_q),
          .clip_i(a_clip_q), .from_i(a_from_q), .row_i(old_row[Word*I+:Word*Lanes]),
          .last_en_i(s_write_q), .sum_o(new_row[Word*I+:Word*Lanes]));
        assign sums[Full*I+:Full*Lanes] = new_row[Full*I+:Full*Lanes];
      end
      fp_encode #(.Lanes(Lanes), .Wide(Wide)) u_encode (
        .clk_i, .sum_i(sums[Full*I+:Full*Lanes]), .en1_i(en1_q), .low_i(low1_q),
        .high_i(high1_q), .stop1_i(stop1_q[5:4]), .en2_i(en2_q), .stop2_i(stop2_q), .en3_i(en3_q),
        .plus_i(three3_q[Three-1-:6]), .below_i(three3_q[Three-7-:6]),
        .guard_i(three3_q[Man+1+:Man+1]), .lost_i(three3_q[1+:Man]), .max3_i(three3_q[0]),
        .en4_i(en4_q), .drop_i(four4_q[Four-1-:4]), .over_i(four4_q[Four-5-:5]),
        .finite_i(four4_q[19]), .fn_i(four4_q[18]), .max4_i(four4_q[17]), .four_i(four4_q[16]),
        .eight_i(four4_q[15]), .beyond_i(four4_q[14:0]),
        .codes_o(codes[Codes*I+:Codes*Lanes]), .over_o(over_any[I+:Lanes]),
        .ninf_o(ninf_any[I+:Lanes]), .pinf_o(pinf_any[I+:Lanes]));
    end
  endgenerate

  // ---- 7: output
  logic [RW-1:0] t_row;
  logic          t_start, t_last, t_odd, t_more, t_four, t_half, t_out_four, t_out_half, t_again;
  assign {t_row, t_start, t_last, t_odd, t_more, t_four, t_half,
          t_out_four, t_out_half, t_again} = tail5_q;

  logic [2:0] status;
  logic [LaneBytes-1:0] live;
  assign live   = {(LaneBytes/2){!t_half, 1'b1}};  // with 16-bit codes, odd lanes idle
  always_comb begin
    status = 3'd0;
    status[nc_pkg::STATUS_PINF]     = (pinf_any & live) != '0;
    status[nc_pkg::STATUS_NINF]     = (ninf_any & live) != '0;
    status[nc_pkg::STATUS_OVERFLOW] = (over_any & live) != '0;
  end

  generate
    if (Wide != 0) begin : g_pack
      tile_out #(.LaneBytes(LaneBytes), .RW(RW), .BW(BW)) u_out (
        .clk_i, .rst_i, .valid_i(code_valid_q), .codes_i(codes), .status_i(status), .row_i(t_row),
        .start_i(t_start), .last_i(t_last), .odd_i(t_odd), .more_i(t_more), .in_four_i(t_four),
        .in_half_i(t_half), .out_four_i(t_out_four), .out_half_i(t_out_half),
        .kept_valid_o, .kept_row_o({kept_slot_o, kept_row_o}), .kept_en_o, .kept_data_o,
        .kept_last_o, .kept_status_o);
      logic unused;
      assign unused = t_again;
    end else begin : g_plain
      logic unused;
      assign kept_valid_o  = code_valid_q;
      assign {kept_slot_o, kept_row_o} = t_row;
      assign kept_en_o     = 4'hf;
      assign kept_data_o   = codes;
      assign kept_last_o   = t_last;
      assign kept_status_o = status;
      assign unused        = ^{t_start, t_odd, t_more, t_four, t_out_four, t_out_half, t_again};
    end
  endgenerate
endmodule
