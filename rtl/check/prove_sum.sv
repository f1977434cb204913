// prove_sum: proves that a lane's word is the exact sum, or for MAX the maximum, of all codes since
// the row's first contribution, with the flags of non-finite codes. For Yosys.
// Beats of any rows come at any distance. The proof follows one row in lane 0. The memory is cut
// away: it returns the written value, or anything if a row is read while it is written.
// Contributions to a row have one format and op. A word with a flag is not checked further.
module prove_sum #(
  parameter int Wide = 1,
  parameter int Narrow = 0,                  // 1: the sum mod 2^CARD_NARROW_BITS
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int Sum = nc_pkg::CARD_SUM_BITS, Word = Sum + 2, Sum4 = nc_pkg::CARD_SUM4_BITS,
                 Low = Sum4 + 1, Bits = Narrow != 0 ? nc_pkg::CARD_NARROW_BITS : Word
) (
  input logic         clk_i,
  input logic         rst_i,
  input logic         in_valid_i,
  input logic [2:0]   in_row_i,
  input logic         in_first_i,
  input logic         in_emit_i,
  input logic         in_max_i,
  input logic [7:0]   in_fmt_i,
  input logic [7:0]   out_fmt_i,
  input logic [15:0]  in_data_i
);
  logic in_ready;
  tile #(.Slots(2), .Rows(4), .Wide(Wide), .Narrow(Narrow), .LaneBytes(LaneBytes)) u_tile (
    .clk_i, .rst_i,
    .in_valid_i, .in_ready_o(in_ready), .in_slot_i(in_row_i[2]), .in_row_i(in_row_i[1:0]),
    .in_start_i(1'b0), .in_last_i(1'b0), .in_odd_i(1'b0), .in_first_i, .in_emit_i, .in_max_i,
    .in_fmt_i, .out_fmt_i, .out_shift_i('0), .saturate_i('0), .in_data_i((8*LaneBytes)'(in_data_i)),
    .kept_valid_o(), .kept_slot_o(), .kept_row_o(), .kept_en_o(), .kept_data_o(), .kept_last_o(),
    .kept_status_o());
  (* hierconn *) wire [LaneBytes*Bits-1:0] \u_tile.new_row , \u_tile.old_row ;
  (* hierconn *) wire          \u_tile.s_write_q , \u_tile.d_valid_q ;
  (* hierconn *) wire [2:0]    \u_tile.s_row_q , \u_tile.d_row_q ;

  // ---- The value of a code in units of its format's smallest subnormal, as by mf_unpack().
  // Width of a code in bits; 0: no format of this card.
  function automatic logic [4:0] bits(input logic [7:0] fmt);
    bits = 5'd1 + 5'(fmt[6:4]) + 5'(fmt[3:0]);
    if (fmt[6:4] == 3'd0 || fmt[6:4] > 3'd5 || fmt[3:0] > 4'd10) bits = 5'd0;
    if (bits != 5'd8 && (Wide == 0 || (bits != 5'd4 && bits != 5'd16))) bits = 5'd0;
    if (fmt[7] && fmt[6:4] == 3'd5) bits = 5'd0;
  endfunction
  // {-inf, +inf, units}
  function automatic logic [Word-1:0] value(input logic [7:0] fmt, input logic [15:0] code);
    logic [4:0]  field, ones;
    logic [9:0]  frac, all_frac;
    logic        sign;
    logic [Sum-1:0] units;
    logic [1:0]  flags;
    ones     = 5'((6'd1 << fmt[6:4]) - 6'd1);
    all_frac = 10'((11'd1 << fmt[3:0]) - 11'd1);
    sign     = code[4'(bits(fmt) - 5'd1)];
    field    = 5'(code >> fmt[3:0]) & ones;
    frac     = code[9:0] & all_frac;
    units    = field == 5'd0 ? Sum'(frac) : (Sum'(frac) | Sum'(1) << fmt[3:0]) << (field - 5'd1);
    flags    = 2'b00;
    if (field == ones && (!fmt[7] || (fmt[6:4] == 3'd4 && frac == all_frac)))
      flags = fmt[7] || frac != 10'd0 ? 2'b11 : sign ? 2'b10 : 2'b01;
    value    = {flags, sign ? -units : units};
  endfunction
  always_comb
    if (in_valid_i && !in_max_i)
      assume (bits(in_fmt_i) != 5'd0 && bits(out_fmt_i) != 5'd0
              && (Narrow == 0 || (in_fmt_i[7] && in_fmt_i[6:4] <= 3'd2)));

  // ---- Expected row: {in_fmt, max, high word, low word}; 4-bit codes: a word per sum
  localparam int W = 8 + 1 + Word + Word, Max = 2 * Word;  // Max: index of the max bit
  (* anyconst *) logic [2:0] row;
  logic [W-1:0] now_q, now_d, due1_q, due2_q, due3_q, kept_q;
  logic [Word-1:0] low, high, old_low, old_high;
  logic [7:0]   old_fmt;
  logic         mine, four, old_max, some_q, kept_some_q, valid1_q, max1_q, valid2_q, valid3_q;
  assign mine = in_valid_i && in_ready && in_row_i == row;
  assign four = bits(in_fmt_i) == 5'd4;
  assign {old_fmt, old_max, old_high, old_low} = now_q;
  always_comb begin
    low  = value(in_fmt_i,
                 four ? 16'(in_data_i[3:0])
                 : bits(in_fmt_i) == 5'd8 ? 16'(in_data_i[7:0])
                 : in_data_i);
    high = four ? value(in_fmt_i, 16'(in_data_i[7:4])) : '0;
    if (in_max_i) low = {2'b00, {(Sum - 8){in_data_i[7]}}, in_data_i[7:0]};
    if (!in_first_i) begin
      low  = in_max_i ? ($signed(old_low[7:0]) > $signed(low[7:0]) ? old_low : low)
                      : {low[Sum+:2] | old_low[Sum+:2], low[Sum-1:0] + old_low[Sum-1:0]};
      high = {high[Sum+:2] | old_high[Sum+:2], high[Sum-1:0] + old_high[Sum-1:0]};
    end
    now_d = {in_fmt_i, in_max_i, high, low};
    if (mine && !in_first_i)
      assume (some_q && in_max_i == old_max && (in_max_i || in_fmt_i == old_fmt));
  end

  function automatic logic same(input logic [Word-1:0] word, input logic [W-1:0] due);
    logic [Word-1:0] high_due, low_due;
    logic        max;
    {max, high_due, low_due} = due[Max:0];
    same = word[Sum+:2] == low_due[Sum+:2]
           && (word[Sum+:2] != 2'b00 || word[Sum-1:0] == low_due[Sum-1:0]);
    if (!max && bits(due[W-1-:8]) == 5'd4)
      same = word[Low+:2] == low_due[Sum+:2]
             && (word[Low+:2] != 2'b00 || word[Low-1:0] == low_due[Low-1:0])
             && word[Sum+:2] == high_due[Sum+:2]
             && (word[Sum+:2] != 2'b00 || word[Sum-1-:Sum4] == high_due[Sum4-1:0]);
    if (Narrow != 0) same = word[Bits-1:0] == low_due[Bits-1:0];
  endfunction

  // ---- The row in memory: a beat's sum is there in clock 3, MAX in clock 4.
  logic [Bits-1:0] mem_q, read_q;
  logic        written, read_known_q;
  assign written = \u_tile.s_write_q && \u_tile.s_row_q == row;
  always_ff @(posedge clk_i) begin
    if (mine) now_q <= now_d;
    if (mine) some_q <= 1'b1;
    valid1_q <= mine;
    due1_q   <= now_d;
    max1_q   <= valid1_q && due1_q[Max];
    valid2_q <= (valid1_q && !due1_q[Max]) || max1_q;
    due2_q   <= max1_q ? due2_q : due1_q;
    valid3_q <= valid2_q;
    due3_q   <= due2_q;
    if (valid3_q) kept_q <= due3_q;
    if (valid3_q) kept_some_q <= 1'b1;

    if (written) mem_q <= \u_tile.new_row [Bits-1:0];
    if (\u_tile.d_valid_q ) begin
      read_known_q <= \u_tile.d_row_q == row && !written;
      read_q       <= mem_q;
    end
    if (rst_i) {some_q, kept_some_q, valid1_q, max1_q, valid2_q, valid3_q, read_known_q} <= '0;
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= 1'b1;
  always_comb begin
    if (!past_q) assume (rst_i);
    if (read_known_q) assume (\u_tile.old_row [Bits-1:0] == read_q);
    if (past_q && !rst_i) begin
      assert (written == valid3_q);
      if (valid3_q) assert (same(Word'(\u_tile.new_row [Bits-1:0]), due3_q));
      if (kept_some_q) assert (same(Word'(mem_q), kept_q));
      if (some_q)
        assert (now_q
                == (valid1_q ? due1_q : max1_q || valid2_q ? due2_q : valid3_q ? due3_q : kept_q));
      if (some_q && old_max) assert (old_low == {2'b00, {(Sum - 8){old_low[7]}}, old_low[7:0]});
      assert (some_q == (kept_some_q || valid1_q || max1_q || valid2_q || valid3_q));
    end
  end
endmodule
