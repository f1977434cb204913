// prove_encode: proves that a lane's code is its sum / 2^shift, rounded once as hls/arith/mf.h
// defines. For Yosys.
// Lanes are cut away, so sum and flags are free. The proof checks one encoder, for beats of any
// formats, shifts and ops at any distance. Each half of a word of 4-bit sums holds at most the sum
// of one code per rank.
module prove_encode #(
  parameter int Wide = 1,
  parameter int Narrow = 0,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int Sum = nc_pkg::CARD_SUM_BITS, Word = Sum + 2, Sum4 = nc_pkg::CARD_SUM4_BITS,
                 Low = Sum4 + 1
) (
  input logic         clk_i,
  input logic         rst_i,
  input logic         in_valid_i,
  input logic         in_emit_i,
  input logic         in_max_i,
  input logic [7:0]   in_fmt_i,
  input logic [7:0]   out_fmt_i,
  input logic [2:0]   out_shift_i,
  input logic         saturate_i,
  input logic [63:0]  others_i
);
  localparam int Codes = Wide != 0 ? 16 : 8;
  logic in_ready;
  tile #(.Slots(2), .Rows(2), .Wide(Wide), .Narrow(Narrow), .LaneBytes(LaneBytes)) u_tile (
    .clk_i, .rst_i,
    .in_valid_i, .in_ready_o(in_ready), .in_slot_i(others_i[0]), .in_row_i(others_i[1]),
    .in_start_i(others_i[2]), .in_last_i(others_i[3]), .in_odd_i(1'b0), .in_first_i(others_i[4]),
    .in_emit_i, .in_max_i, .in_fmt_i, .out_fmt_i, .out_shift_i, .saturate_i,
    .in_data_i({(LaneBytes/8){others_i}}), .kept_valid_o(), .kept_slot_o(), .kept_row_o(),
    .kept_en_o(), .kept_data_o(), .kept_last_o(), .kept_status_o());
  (* hierconn *) wire [LaneBytes*Word-1:0]    \u_tile.sums ;
  (* hierconn *) wire [LaneBytes*Codes-1:0] \u_tile.codes ;
  (* hierconn *) wire [LaneBytes-1:0] \u_tile.over_any , \u_tile.ninf_any , \u_tile.pinf_any ;
  (* hierconn *) wire                \u_tile.code_valid_q ;

  // Width of a code in bits; 0: no format of this card.
  function automatic logic [4:0] bits(input logic [7:0] fmt);
    bits = 5'd1 + 5'(fmt[6:4]) + 5'(fmt[3:0]);
    if (fmt[6:4] == 3'd0 || fmt[6:4] > 3'd5 || fmt[3:0] > 4'd10) bits = 5'd0;
    if (bits != 5'd8 && (Wide == 0 || (bits != 5'd4 && bits != 5'd16))) bits = 5'd0;
    if (fmt[7] && fmt[6:4] == 3'd5) bits = 5'd0;
  endfunction
  always_comb
    if (in_valid_i && !in_max_i)
      assume (bits(in_fmt_i) != 5'd0 && bits(out_fmt_i) != 5'd0 && out_shift_i <= 3'd6
              && (Narrow == 0 || (in_fmt_i[7] && in_fmt_i[6:4] <= 3'd2)));

  // ---- A beat taken in clock 0 has its sum in clock 3 (MAX: 4). With 4-bit sums, this is the
  // low one; the high one is next. The code is due 4 clocks after its sum.
  localparam int W = 8 + 8 + 3 + 1 + 1, Due = W + 1 + Word;
  logic           valid1_q, max1_q, valid2_q, valid3_q, again_q, valid4_q, valid5_q, valid6_q,
                  valid7_q;
  logic [W-1:0]   about1_q, about2_q, about3_q;  // {in_fmt, out_fmt, shift, saturate, max}
  logic [Due-1:0] due4_q, due5_q, due6_q, due7_q;  // {about, high sum, word}
  always_ff @(posedge clk_i) begin
    valid1_q <= in_valid_i && in_ready && in_emit_i;
    if (in_valid_i && in_ready)
      about1_q <= {in_fmt_i, out_fmt_i, out_shift_i, saturate_i, in_max_i};
    max1_q   <= valid1_q && about1_q[0];
    valid2_q <= (valid1_q && !about1_q[0]) || max1_q;
    about2_q <= about1_q;
    valid3_q <= valid2_q;
    if (valid2_q) about3_q <= about2_q;
    again_q  <= valid3_q && bits(about3_q[W-1-:8]) == 5'd4 && !about3_q[0];
    valid4_q <= valid3_q || again_q;
    due4_q   <= {about3_q, again_q, \u_tile.sums [Word-1:0]};
    {valid7_q, valid6_q, valid5_q} <= {valid6_q, valid5_q, valid4_q};
    {due7_q, due6_q, due5_q}       <= {due6_q, due5_q, due4_q};
    if (rst_i)
      {valid1_q, max1_q, valid2_q, valid3_q, again_q, valid4_q, valid5_q, valid6_q, valid7_q} <= '0;
  end

  // ---- Expected code: sig * 2^(1 - bias - m - shift) (bias, m: of in_fmt) rounded as in mf_pack()
  localparam logic [Sum:0] One = 1;
  logic [7:0]  in_fmt, out_fmt;
  logic [2:0]  shift;
  logic        saturate, max, high, half, neg, sign, up;
  logic [Word-1:0] word;
  logic [1:0]  flags;
  logic [Sum-1:0] sig;
  logic [4:0]  in_e, in_m, out_e, out_m;
  logic signed [6:0] in_bias, out_bias, top, lowest, from, drop;
  logic [Sum:0] kept, rest;  // rest: the dropped bits; 2^(Sum + 1) is one unit of `kept`
  logic [Sum:0] mag, inf, beyond;
  logic [15:0] want;
  logic        over, finite;

  assign {in_fmt, out_fmt, shift, saturate, max, high, word} = due7_q;
  always_comb begin
    {in_e, in_m, out_e, out_m} = {5'(in_fmt[6:4]), 5'(in_fmt[3:0]), 5'(out_fmt[6:4]),
                                  5'(out_fmt[3:0])};
    in_bias  = 7'((8'd1 << (in_e - 5'd1)) - 8'd1);
    out_bias = 7'((8'd1 << (out_e - 5'd1)) - 8'd1);
    half  = bits(in_fmt) == 5'd4;
    flags = half && !high ? word[Low+:2] : word[Sum+:2];
    sig   = !half ? word[Sum-1:0] : high ? {{(Sum - Sum4){word[Sum-1]}}, word[Sum-1-:Sum4]}
                                  : {{(Sum - Low){word[Low-1]}}, word[Low-1:0]};
    neg   = sig[Sum-1];
    if (neg) sig = -sig;

    // Positions in sig. top: its leading one; lowest: leading bit of out_fmt's smallest normal;
    // from: the higher of these; drop: last bit that the code keeps.
    top = 7'sd0;
    for (int i = 0; i < Sum; i++) if (sig[i]) top = 7'(i);
    lowest = in_bias + $signed({2'b00, in_m}) + $signed({4'd0, shift}) - out_bias;
    from   = top > lowest ? top : lowest;
    drop   = from - $signed({2'b00, out_m});
    kept = drop >= 7'sd0 ? (Sum + 1)'(sig) >> drop : (Sum + 1)'(sig) << -drop;
    rest = drop > 7'sd0 ? (Sum + 1)'(sig) << ($signed(7'(Sum + 1)) - drop) : '0;
    up   = rest > {1'b1, {Sum{1'b0}}} || (rest == {1'b1, {Sum{1'b0}}} && kept[0]);
    mag  = sig == '0 ? '0 : ((Sum + 1)'(from - lowest) << out_m) + kept + (Sum + 1)'(up);
    finite = out_fmt[7] && out_e < 5'd4;
    inf  = out_fmt[7] ? (One << (out_e + out_m)) - One : ((One << out_e) - One) << out_m;
    beyond = finite ? inf : inf - (Sum + 1)'(saturate);
    over = mag >= inf && flags == 2'b00 && !finite;
    if (mag >= inf) mag = beyond;
    sign = neg && mag != '0;
    if (flags != 2'b00) begin
      mag  = flags == 2'b11 ? (One << (out_e + out_m)) - One : beyond;
      sign = flags == 2'b10;
    end
    want = 16'(mag) | 16'(sign) << (out_e + out_m);
  end

  // The result of MAX is the word's low byte.
  logic [15:0] got, mask;
  assign got  = 16'(\u_tile.codes [Codes-1:0]);
  assign mask = 16'((17'd1 << bits(out_fmt)) - 17'd1);
  always_comb begin
    assert (!valid7_q || \u_tile.code_valid_q );
    // a 4-bit code is at most 2^6 units
    if (valid7_q && !max && (!half || sig <= Sum'(nc_pkg::PKT_MAX_RANKS) << 6)) begin
      assert ((got & mask) == want);
      assert ({\u_tile.over_any [0], \u_tile.ninf_any [0], \u_tile.pinf_any [0]} == {over, flags});
    end
    if (valid7_q && max && word == {2'b00, {(Sum - 7){word[7]}}, word[6:0]}) begin
      assert (got[7:0] == word[7:0]);
      assert ({\u_tile.over_any [0], \u_tile.ninf_any [0], \u_tile.pinf_any [0]} == 3'd0);
    end
  end
endmodule
