// tx: sends frames of results, NAKs and PONGs.
// A result goes to each rank of a mask, lowest first, or once to the job's multicast group.
// Answers take turns with results. While requests wait, a flit leaves every clock, headers
// included; the first is at the output 3 clocks after its request is taken.
//
//  clock   START: ask for header and row 0 | ROWS: row 1.. | GAP: no read; then START
//  header  START -> fields and CRC in registers, address -> output FIFO
//  payload read -> +2 kr_data_i -> output FIFO
//
// With a header of several flits (nic_core), START asks for the first, HEAD for the others; row 0
// comes with the last. A header enters the output FIFO a clock before its row 0. At most one flit
// enters in a clock, if there is room. A header of half a flit waits after the FIFO for its row 0.
// When busy_o falls, the last read of busy_slot_o was at least a clock before.
module tx #(
  parameter int Slots = nc_pkg::CARD_SLOTS,
  parameter int Rows  = nc_pkg::CARD_BEATS,  // most payload beats
  parameter int Jobs  = nc_pkg::CARD_JOBS,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int SlotW = $clog2(Slots),
  localparam int Flit  = 8 * LaneBytes,
  // Turns: flits of a beat; Pair: a flit has two beats
  localparam int Pair  = LaneBytes > nc_pkg::BEAT_BYTES ? 1 : 0,
  localparam int Turns = Pair != 0 ? 1 : nc_pkg::BEAT_BYTES / LaneBytes,
  localparam int TurnW = Turns > 1 ? $clog2(Turns) : 1, HeadW = 512 / Turns,
  localparam int RowW  = $clog2(Rows * nc_pkg::BEAT_BYTES / LaneBytes),
  localparam int LeftW = $clog2(Rows + 1) + $clog2(Turns),
  localparam int BeatW = $clog2(Rows + 1),
  localparam int JobW  = $clog2(Jobs),
  localparam int Ranks = nc_pkg::PKT_MAX_RANKS,
  localparam int RankW = $clog2(Ranks),
  localparam int DescW = nc_pkg::DESC_BITS
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // a kept result to a mask of ranks; an empty mask sends nothing
  input  logic             send_valid_i,
  output logic             send_ready_o,
  input  logic [SlotW-1:0] send_slot_i,
  input  logic [Ranks-1:0] send_mask_i,
  // to all in one multicast frame, without the key
  input  logic             send_group_i,
  input  logic [JobW-1:0]  send_job_i,
  input  logic [63:0]      send_key_i,
  input  logic [31:0]      send_chunk_i,
  input  logic [DescW-1:0] send_desc_i,
  input  logic [2:0]       send_status_i,
  input  logic [31:0]      send_crc_i,       // of the payload
  input  logic [BeatW-1:0] send_beats_i,     // of the payload, 1 or more
  output logic             busy_o,           // rows of this slot may still be read
  output logic [SlotW-1:0] busy_slot_o,
  // kept results, two clocks later
  output logic             kr_valid_o,
  output logic [SlotW-1:0] kr_slot_o,
  output logic [RowW-1:0]  kr_row_o,
  input  logic [Flit-1:0]  kr_data_i,
  input  logic             ans_valid_i,
  output logic             ans_ready_o,
  input  logic             ans_pong_i,       // PONG, else NAK
  input  logic [7:0]       ans_status_i,     // reason of a NAK, slot state of a PONG
  input  logic [JobW-1:0]  ans_job_i,
  input  logic [RankW-1:0] ans_rank_i,
  input  logic [15:0]      ans_slot_i,
  input  logic [31:0]      ans_chunk_i,
  input  logic [63:0]      ans_key_i,
  input  logic [31:0]      ans_tag_i,        // for a NAK
  input  logic [63:0]      ans_echo_i,       // for a PONG, like the next two
  input  logic [Ranks-1:0] ans_bitmap_i,
  input  logic [BeatW-1:0] ans_beats_i,
  // address of a rank or the multicast group, one clock later
  output logic [JobW-1:0]  addr_job_o,
  output logic [RankW-1:0] addr_rank_o,
  output logic             addr_group_o,
  input  logic [31:0]      addr_ip_i,
  input  logic [15:0]      addr_port_i,
  output logic [Flit-1:0]  tx_data_o,
  output logic [LaneBytes-1:0] tx_keep_o,
  output logic             tx_last_o,
  output logic [31:0]      tx_ip_o,
  output logic [15:0]      tx_port_o,
  output logic             tx_valid_o,
  input  logic             tx_ready_i,
  input  logic [31:0]      drop_out_i,       // probability * 2^32
  input  logic [31:0]      random_i,
  output logic [nc_pkg::REG_COUNTERS-1:0] count_o
);
  // --- waiting requests: one of results, up to two of answers ---
  logic [SlotW-1:0] s_slot_q;
  logic [Ranks-1:0] s_mask_q;                // still to come, without the current one
  logic [JobW-1:0]  s_job_q;
  logic [63:0]      s_key_q;
  logic [31:0]      s_chunk_q, s_crc_q;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [DescW-1:0] s_desc_q;                // op and zeros are not sent
  /* verilator lint_on UNUSEDSIGNAL */
  logic [2:0]       s_status_q;
  logic [BeatW-1:0] s_beats_q;
  logic             s_full_q, s_none_q, s_group_q, s_load, s_done;
  // lowest: of s_mask_q, one clock late; send_lowest: at once
  logic [RankW-1:0] s_rank_q, lowest, send_lowest;

  logic             a_valid, a_take, a_pong;
  logic [7:0]       a_status;
  logic [JobW-1:0]  a_job;
  logic [RankW-1:0] a_rank;
  logic [15:0]      a_slot;
  logic [31:0]      a_chunk, a_tag, a_crc;
  logic [63:0]      a_key, a_echo;
  logic [Ranks-1:0] a_bitmap;
  logic [BeatW-1:0] a_beats;
  localparam int AnsW = nc_pkg::ANS_BITS + JobW + BeatW;
  skid #(.W(AnsW)) u_ans (
    .clk_i, .rst_i,
    .in_data_i({ans_pong_i, ans_status_i, ans_job_i, ans_rank_i, ans_slot_i, ans_chunk_i, ans_key_i,
                ans_tag_i, ans_echo_i, ans_bitmap_i, ans_beats_i}),
    .in_valid_i(ans_valid_i), .in_ready_o(ans_ready_o),
    .out_data_o({a_pong, a_status, a_job, a_rank, a_slot, a_chunk, a_key, a_tag, a_echo, a_bitmap,
                 a_beats}),
    .out_valid_o(a_valid), .out_ready_i(a_take));
  zero_crc #(.Beats(Rows)) u_zero_crc (.beats_i(a_beats), .crc_o(a_crc));

  // --- which flit to ask for ---
  typedef enum logic [1:0] {Start, Payload, Gap, Head} state_t;
  state_t           state_q, state_d;
  logic             room_q;                  // room in the output FIFO for two more flits
  // pick_a: an answer is picked; is_a_q: the current frame is one; turn_a_q: the next should be
  logic             pick_a, is_a_q, turn_a_q;
  logic             begins, drop_q;
  // ask_header: for the header's first flit; ask_more: for another; head_ends: for its last
  logic             ask_header, ask_more, head_ends, ask_row;
  logic [TurnW-1:0] head_q;                  // flits of the header asked for, less 1
  logic             some_q;                  // the frame has a payload
  // of the frame that begins. flits: of two beats; with fewer lanes, beats
  logic [BeatW-1:0] beats, flits;
  logic             odd_q;                   // beats is odd
  logic [RowW-1:0]  at_q;                    // next row to read
  logic [LeftW-1:0] left_q;                  // rows after it

  assign pick_a       = a_valid && (turn_a_q || !s_full_q);
  assign begins       = state_q == Start && room_q && (a_valid || s_full_q);
  assign beats        = !pick_a ? s_beats_q : a_pong ? a_beats : '0;
  assign flits        = (beats + BeatW'(Pair)) >> Pair;
  assign s_done       = state_q == Gap && !is_a_q && s_mask_q == '0;
  assign s_load       = send_valid_i && send_ready_o;
  assign send_ready_o = !s_full_q || s_done;
  assign a_take       = (state_q == Start && room_q && pick_a && (!a_pong || a_beats == '0))
                        || (state_q == Gap && is_a_q);
  assign ask_header   = begins && !drop_q && (pick_a || !s_none_q);
  assign ask_more     = Turns > 1 && state_q == Head && room_q;
  assign head_ends    = Turns > 1 ? ask_more && head_q == TurnW'(Turns - 2) : ask_header;
  assign ask_row      = state_q == Payload ? room_q
                        : head_ends && (Turns > 1 ? some_q : beats != '0);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Start:
        if (Turns > 1 && ask_header) state_d = Head;
        else if (begins && ask_header && flits > BeatW'(1)) state_d = Payload;
        else if (begins && beats != '0) state_d = Gap;
      Payload: if (room_q && left_q == LeftW'(1)) state_d = Gap;
      Head:
        if (Turns == 1 || (head_ends && !some_q)) state_d = Start;
        else if (head_ends) state_d = Payload;
      default: state_d = Start;
    endcase
  end

  // Both are computed, as the choice (s_load) comes late.
  lowest_bit #(.W(Ranks)) u_lowest (.bits_i(s_mask_q), .at_o(lowest));
  lowest_bit #(.W(Ranks)) u_send_lowest (.bits_i(send_mask_i), .at_o(send_lowest));

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    drop_q  <= random_i < drop_out_i;
    if (begins) begin
      is_a_q   <= pick_a;
      turn_a_q <= !pick_a;
      left_q   <= (LeftW'(flits) << $clog2(Turns)) - LeftW'(Turns == 1);
      head_q   <= '0;
      some_q   <= beats != '0;
      odd_q    <= beats[0];
    end else begin
      if (ask_row) left_q <= left_q - 1'b1;
      if (ask_more) head_q <= head_q + 1'b1;
    end
    if (state_q == Gap) at_q <= '0;
    else if (ask_row) at_q <= at_q + 1'b1;

    s_rank_q <= s_load ? send_lowest : lowest;
    s_none_q <= s_load ? send_mask_i == '0 : s_mask_q == '0;
    if (s_load) s_mask_q <= send_mask_i;
    if (begins && !pick_a)
      for (int r = 0; r < Ranks; r++)
        if (s_group_q || RankW'(r) == s_rank_q) s_mask_q[r] <= 1'b0;
    if (s_done) s_full_q <= 1'b0;
    if (s_load) begin
      s_full_q   <= 1'b1;
      s_slot_q   <= send_slot_i;
      s_job_q    <= send_job_i;
      s_group_q  <= send_group_i;
      s_key_q    <= send_group_i ? '0 : send_key_i;
      s_chunk_q  <= send_chunk_i;
      s_desc_q   <= send_desc_i;
      s_status_q <= send_status_i;
      s_crc_q    <= send_crc_i;
      s_beats_q  <= send_beats_i;
    end
    if (rst_i) begin
      state_q  <= Start;
      s_full_q <= 1'b0;
      turn_a_q <= 1'b0;
      at_q     <= '0;
    end
  end

  assign busy_o      = s_full_q;
  assign busy_slot_o = s_slot_q;
  assign kr_valid_o  = ask_row && (state_q == Payload || (Turns > 1 && state_q == Head) ? !is_a_q
                                   : !pick_a);
  assign kr_slot_o   = s_slot_q;
  assign kr_row_o    = at_q;
  assign addr_job_o  = pick_a ? a_job : s_job_q;
  assign addr_rank_o = pick_a ? a_rank : s_rank_q;
  assign addr_group_o = !pick_a && s_group_q;

  // --- the header; a PONG's bitmap: low bits in TAG, the others in COUNT ---
  localparam int TagW = nc_pkg::PKT_TAG_BITS, CountW = nc_pkg::PKT_COUNT_BITS;
  logic [HeadW-1:0]     header;
  logic [CountW-1:0]    bitmap_high;
  logic [TagW-1:0]      bitmap_low;
  assign {bitmap_high, bitmap_low} = (CountW + TagW)'(a_bitmap);
  tx_header #(.LaneBytes(HeadW / 8)) u_header (
    .clk_i, .load_i(begins), .next_i(ask_more), .beats_i(10'(beats)), .flit_o(header),
    .op_i(!pick_a ? nc_pkg::OP_RESULT : a_pong ? nc_pkg::OP_PONG : nc_pkg::OP_NAK),
    .rank_i(addr_rank_o),
    .group_i(addr_group_o),
    .key_i(pick_a ? a_key : s_key_q),
    .job_i(16'(addr_job_o)),
    .slot_i(pick_a ? a_slot : 16'(s_slot_q)),
    .chunk_i(pick_a ? a_chunk : s_chunk_q),
    .desc_i(pick_a ? '0 : s_desc_q[nc_pkg::DESC_FORMAT +: nc_pkg::DESC_FORMAT_BITS]),
    .tag_i(!pick_a ? s_desc_q[nc_pkg::DESC_TAG +: TagW] : a_pong ? bitmap_low : a_tag),
    .status_i(pick_a ? a_status : 8'(s_status_q)),
    .echo_i(pick_a && a_pong ? a_echo : '0),
    .count_i(!pick_a ? s_desc_q[nc_pkg::DESC_COUNT +: CountW] : a_pong ? bitmap_high : '0),
    .payload_crc_i(!pick_a ? s_crc_q : a_pong ? a_crc : '0));

  // --- flits on their way into the output FIFO, and in it ---
  localparam int Depth = 8;
  // h_q: a header's first flit; more_q: another
  logic        h_q, more_q, h_last_q, h_a_q, h_pong_q, lost_q;
  logic [1:0]  row_q, row_last_q, row_odd_q, row_zero_q;  // two clocks; [1] is the older
  logic [47:0] addr_q;
  logic [3:0]  used_q, used_d, held;
  logic        put, gone, asks_head, out_last, out_valid, out_ready;
  logic [Flit-1:0] out_data;
  logic [47:0] out_to;
  /* verilator lint_off UNUSEDSIGNAL */
  logic        fifo_ready;                   // always 1: nothing is read without room
  /* verilator lint_on UNUSEDSIGNAL */

  assign put    = h_q || more_q || row_q[1];
  assign gone   = out_valid && out_ready;
  assign asks_head = ask_header || ask_more;
  assign held   = used_q - 4'(gone);
  assign used_d = held + 4'(asks_head) + 4'(ask_row);

  always_ff @(posedge clk_i) begin
    h_q        <= ask_header;
    more_q     <= ask_more;
    h_last_q   <= Turns > 1 ? head_ends && !some_q : beats == '0;
    h_a_q      <= pick_a;
    h_pong_q   <= a_pong;
    lost_q     <= begins && drop_q && (pick_a || !s_none_q);
    row_q      <= {row_q[0], ask_row};
    row_last_q <= {row_last_q[0], state_d == Gap};
    row_odd_q  <= {row_odd_q[0], Pair != 0 && state_d == Gap && (begins ? beats[0] : odd_q)};
    row_zero_q <= {row_zero_q[0], !kr_valid_o};
    if (h_q) addr_q <= {addr_ip_i, addr_port_i};
    used_q     <= used_d;
    room_q     <= held <= 4'(Depth - 4) || (held <= 4'(Depth - 3) && !(asks_head && ask_row))
                  || (held <= 4'(Depth - 2) && !asks_head && !ask_row);
    if (rst_i) begin
      h_q    <= 1'b0;
      more_q <= 1'b0;
      lost_q <= 1'b0;
      row_q  <= '0;
      used_q <= '0;
      room_q <= 1'b0;
    end
  end

  logic [Flit-1:0] data;
  assign data = h_q || more_q ? Flit'(header) : row_zero_q[1] ? '0 : kr_data_i;
  localparam int OutW = Pair + Flit + 1 + 48;
  logic [OutW-1:0] out;
  fifo #(.W(OutW), .Depth(Depth)) u_out (
    .clk_i, .rst_i,
    .in_data_i(OutW'({row_odd_q[1], data, h_q || more_q ? h_last_q : row_last_q[1],
                      h_q ? {addr_ip_i, addr_port_i} : addr_q})),
    .in_valid_i(put), .in_ready_o(fifo_ready),
    .out_data_o(out), .out_valid_o(out_valid), .out_ready_i(out_ready));
  assign {out_data, out_last, out_to} = out[Flit+48:0];

  generate
    if (Pair != 0) begin : g_pair
      // half_q: the header, or a row's upper beat, which leaves with the next row's lower one.
      // rest_q: it leaves without one.
      localparam int Half = Flit / 2;
      logic            held_q, rest_q, sent, out_odd;
      logic [Half-1:0] half_q;
      logic [47:0]     to_q;
      assign sent        = tx_valid_o && tx_ready_i;
      assign out_ready   = !held_q || tx_ready_i;
      assign tx_valid_o  = held_q && (rest_q || out_valid);
      assign tx_data_o   = {rest_q ? Half'(0) : out_data[Half-1:0], half_q};
      assign tx_keep_o   = {{(LaneBytes/2){!rest_q}}, {(LaneBytes/2){1'b1}}};
      assign tx_last_o   = rest_q || (out_last && out_odd);
      assign out_odd     = out[OutW-1];
      assign {tx_ip_o, tx_port_o} = to_q;
      always_ff @(posedge clk_i) begin
        if (sent) begin
          half_q <= out_data[Flit-1:Half];
          held_q <= !tx_last_o;
          rest_q <= !rest_q && out_last && !out_odd;
        end
        if (gone && (!held_q || rest_q)) begin
          half_q <= out_data[Half-1:0];
          to_q   <= out_to;
          held_q <= 1'b1;
          rest_q <= out_last;
        end
        if (rst_i) {held_q, rest_q} <= 2'b00;
      end
`ifdef FORMAL
      // Proven: as many beats leave as come, except for one that waits (held_q).
      logic       begun_q = 1'b0, open_q;    // open_q: more of the frame is to come
      logic [2:0] beats_q, come, leave;
      assign come  = !gone ? 3'd0 : !open_q || out_odd ? 3'd1 : 3'd2;
      assign leave = !sent ? 3'd0 : rest_q ? 3'd1 : 3'd2;
      always_ff @(posedge clk_i) begin
        begun_q <= 1'b1;
        beats_q <= rst_i ? '0 : beats_q + come - leave;
        open_q  <= !rst_i && (gone ? !out_last : open_q);
        assume (!out_odd || (out_last && open_q));
        if (begun_q) assert (beats_q == 3'(held_q) && open_q == (held_q && !rest_q));
      end
`endif
    end else begin : g_flit
      assign {tx_data_o, tx_last_o, tx_ip_o, tx_port_o} = {out_data, out_last, out_to};
      assign tx_valid_o = out_valid;
      assign tx_keep_o  = '1;
      assign out_ready  = tx_ready_i;
      logic unused;
      assign unused = row_odd_q[1];
    end
  endgenerate

  always_comb begin
    count_o = '0;
    count_o[nc_pkg::CNT_OUT_RESULT]    = h_q && !h_a_q;
    count_o[nc_pkg::CNT_OUT_NAK]       = h_q && h_a_q && !h_pong_q;
    count_o[nc_pkg::CNT_OUT_PONG]      = h_q && h_a_q && h_pong_q;
    count_o[nc_pkg::CNT_LOST_TEST_OUT] = lost_q;
  end

`ifdef FORMAL
  // Assumed: the output FIFO shows a flit only while it holds one (inside_q; a promise, README.md);
  // a result has beats. Proven: the FIFO never overflows and gets at most one flit a clock; only
  // rows of busy_slot_o are read.
  logic       past_q = 1'b0;
  logic [3:0] inside_q;
  always_ff @(posedge clk_i) begin
    past_q   <= 1'b1;
    inside_q <= rst_i ? '0 : inside_q + 4'(put) - 4'(gone);
    if (!past_q) assume (rst_i);
    assume (!out_valid || inside_q != '0);
    assume (send_beats_i != '0);
    if (past_q) begin
      assert (used_q == inside_q + 4'(h_q || more_q) + 4'(row_q[0]) + 4'(row_q[1]));
      assert (used_q <= 4'(Depth) && (!room_q || used_q <= 4'(Depth - 2)));
      assert (!put || inside_q < 4'(Depth));
      assert (!((h_q || more_q) && row_q[1]) && !(h_q && more_q));
      assert (!(row_q[0] && (state_q == Start || state_q == Head)));
      assert (state_q == Head ? Turns > 1 && head_q <= TurnW'(Turns - 2) : Turns > 1 || !more_q);
      assert (!(row_q != '0 && state_q == Head && !row_q[1]));
      assert (!s_full_q || s_beats_q != '0);
      assert (!(s_full_q && s_group_q) || s_key_q == '0);
      if ($past(begins && !pick_a && s_group_q && !rst_i)) assert (s_mask_q == '0 || $past(s_load));
      assert (state_q == Start || is_a_q || s_full_q);
      assert (!kr_valid_o || (busy_o && kr_slot_o == busy_slot_o));
    end
  end
`endif
endmodule
