// quant_lane: converts fp32 values times 2^shift to codes, rounded once to nearest even, like
// mf_enc() of hls/arith/mf.h, in five registered steps.
//
//    sig     1.frac of |x|, 24 bits, a subnormal shifted up         field  its exponent, as in fp32
//    above   field + offset: binades above the code's smallest normal
//    y       sig; if above < 0, shifted right by -above. The lost bits count as `rest`
//    value   {above, at least 0; fraction of y} + {leading bit of y, 0} + up
//
// Bits below the code's unit (lost_q) are set before this addition, so `up` carries through them.
module quant_lane #(
  parameter int Lanes = 1
) (
  input  logic                clk_i,
  input  logic                go_i,          // all steps advance
  input  logic [32*Lanes-1:0] x_i,
  input  logic [7:0]          fmt_i,         // these stay, from a clock before the first value on
  input  logic [9:0]          shift_i,       // two's complement
  input  logic                saturate_i,
  output logic [16*Lanes-1:0] codes_o        // each in the low bits
);
  localparam int S1 = 24 + 9 + 4, S2 = 24 + 5 + 6 + 3, S3 = 13 + 6 + 3, S4 = 16 + 4;
  logic [S1-1:0] one_q [Lanes];
  logic [S2-1:0] two_q [Lanes];
  logic [S3-1:0] three_q [Lanes];
  logic [S4-1:0] four_q [Lanes];

  // --- the format ---
  logic [2:0]  e;
  logic [3:0]  drop, places, drop_q;         // places: of exponent and fraction
  logic        finite, finite_q, fn_q, is4_q, is8_q;
  logic [9:0]  lost_q;
  logic [10:0] unit_q;                       // one-hot
  logic [5:1]  over_q;                       // bits of `field` that a code lacks
  logic [10:0] offset_q, low_offset_q;       // low_: of subnormals: exponent = field + 2
  logic [14:0] nan, inf, nan_q, beyond_q;
  assign e      = fmt_i[6:4];
  assign drop   = 4'd10 - fmt_i[3:0];
  assign places = 4'(e) + fmt_i[3:0];
  assign finite = fmt_i[7] && !fmt_i[6];     // no code is inf or nan
  assign nan    = 15'h7fff >> (4'd15 - places);
  assign inf    = fmt_i[7] ? nan : nan & 15'h7fff << fmt_i[3:0];
  always_ff @(posedge clk_i) begin
    drop_q       <= drop;
    fn_q         <= fmt_i[7];
    finite_q     <= finite;
    is4_q        <= places == 4'd3;
    is8_q        <= places == 4'd7;
    offset_q     <= {shift_i[9], shift_i} - 11'd129 + ((11'd1 << e) >> 1);
    low_offset_q <= {shift_i[9], shift_i} - 11'd127 + ((11'd1 << e) >> 1);
    nan_q        <= nan;
    beyond_q     <= inf - 15'(saturate_i && !finite);
    for (int i = 0; i < 11; i++) unit_q[i] <= 4'(i) == drop;
    for (int i = 0; i < 10; i++) lost_q[i] <= 4'(i) < drop;
    for (int i = 1; i < 6; i++) over_q[i] <= 3'(i) >= e;
  end

  function automatic logic [S1-1:0] normalise(input logic [31:0] x);
    logic [4:0]  zeros;
    logic [23:0] sig;
    sig      = {x[30:23] != '0, x[22:0]};
    zeros[4] = sig[23-:16] == '0;
    if (zeros[4]) sig = sig << 16;
    zeros[3] = sig[23-:8] == '0;
    if (zeros[3]) sig = sig << 8;
    zeros[2] = sig[23-:4] == '0;
    if (zeros[2]) sig = sig << 4;
    zeros[1] = sig[23-:2] == '0;
    if (zeros[1]) sig = sig << 2;
    zeros[0] = !sig[23];
    if (zeros[0]) sig = sig << 1;
    normalise = {sig, x[30:23] != '0 ? {1'b0, x[30:23]} : {4'd15, ~zeros}, x[30:0] == '0, x[31],
                 x[30:23] == '1, x[22:0] != '0};
  endfunction

  // The shift is less + 1. With less = 15 all bits are in `rest`.
  function automatic logic [S2-1:0] place(input logic [S1-1:0] one);
    logic        zero, below;
    logic [2:0]  flags;
    logic [8:0]  field;
    logic [23:0] sig;
    logic [10:0] above;
    logic [3:0]  less;
    {sig, field, zero, flags} = one;
    above = {{2{field[8]}}, field} + (field[8] ? low_offset_q : offset_q);
    below = above[10];
    less  = above[9:4] == '1 ? ~above[3:0] : '1;
    place = {sig, below, less, below || zero ? 6'd0 : {above[9:5] != '0, above[4:0]}, flags};
  endfunction

  function automatic logic [S3-1:0] move(input logic [S2-1:0] two);
    logic        below;
    logic [2:0]  flags;
    logic [5:0]  above;
    logic [3:0]  less;
    logic [23:0] sig;
    logic [39:0] y;
    {sig, below, less, above, flags} = two;
    y = {sig, 16'd0};
    if (below) y = {1'b0, y[39:1]} >> less;
    move = {y[39:28], y[27:0] != '0, above, flags};
  endfunction

  function automatic logic [S4-1:0] round(input logic [S3-1:0] three);
    logic        rest, guard, last, up, far;
    logic [2:0]  flags;
    logic [4:0]  above;
    logic [11:0] y;
    logic [15:0] value;
    {y, rest, far, above, flags} = three;
    guard = (y[10:0] & unit_q) != '0;
    last  = (y[11:1] & unit_q) != '0;
    up    = guard && (last || rest || (y[9:0] & lost_q) != '0);
    value = {1'b0, above, y[10:1] | lost_q} + {5'd0, y[11], 10'd0} + 16'(up);
    round = {value, far, flags};
  endfunction

  function automatic logic [15:0] code(input logic [S4-1:0] four);
    logic        far, over, sign, special, frac_set;
    logic [5:0]  field;
    logic [14:0] mag;
    logic [15:0] value;
    {value, far, sign, special, frac_set} = four;
    field = value[15:10];
    over  = far || (field[5:1] & over_q) != '0
            || ((field[5:1] | over_q) == '1 && field[0] && !finite_q
                && (!fn_q || value[9:7] == '1));
    mag   = special && frac_set ? nan_q : special || over ? beyond_q : 15'(value >> drop_q);
    code  = {sign, mag[14:8], is8_q ? sign : mag[7], mag[6:4], is4_q ? sign : mag[3], mag[2:0]};
  endfunction

  // Arrays and the order of the statements: see acc_lane.
  // verilator lint_off BLKSEQ
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      for (int i = 0; i < Lanes; i++) codes_o[16*i+:16] <= code(four_q[i]);
      for (int i = 0; i < Lanes; i++) four_q[i] = round(three_q[i]);
      for (int i = 0; i < Lanes; i++) three_q[i] = move(two_q[i]);
      for (int i = 0; i < Lanes; i++) two_q[i] = place(one_q[i]);
      for (int i = 0; i < Lanes; i++) one_q[i] = normalise(x_i[32*i+:32]);
    end
  end
  // verilator lint_on BLKSEQ

`ifdef FORMAL
  // The proof computes the code of lane 0 like mf_pack(), from sig * 2^exp, of an x five clocks
  // old.
  logic [31:0]        x1_q, x2_q, x3_q, x4_q, x5_q;
  logic [23:0]        sig;
  logic signed [11:0] exp, top, lowest, from, cut;   // cut: bits of sig that the code lacks
  logic [31:0]        kept, lost, mag, most, want;
  logic               up, is_nan;
  always_ff @(posedge clk_i) {x5_q, x4_q, x3_q, x2_q, x1_q} <= {x4_q, x3_q, x2_q, x1_q, x_i[31:0]};
  always_comb begin
    sig = {x5_q[30:23] != '0, x5_q[22:0]};
    exp = 12'($signed({1'b0, x5_q[30:23]})) + (sig[23] ? -12'sd150 : -12'sd149)
        + 12'($signed(shift_i));
    top = exp;
    for (int i = 0; i < 24; i++) if (sig[i]) top = exp + 12'(i);
    lowest = 12'sd2 - (12'sd1 << (e - 1));
    from   = top > lowest ? top : lowest;
    cut    = from - 12'($signed({1'b0, fmt_i[3:0]})) - exp;
    kept   = cut < 0 ? 32'(sig) << -cut : 32'(sig) >> cut;
    lost   = 32'(sig) & ~(32'hffffffff << cut);
    up     = cut > 0 && cut < 26
             && (lost > 32'd1 << (cut - 1) || (lost == 32'd1 << (cut - 1) && kept[0]));
    mag    = (32'(from - lowest) << fmt_i[3:0]) + kept + 32'(up);
    most   = 32'(inf) - 32'(!finite);
    is_nan = x5_q[30:23] == '1 && x5_q[22:0] != '0;
    if (sig == '0) mag = '0;
    if (mag > most || x5_q[30:23] == '1) mag = 32'(inf) - 32'(saturate_i && !finite);
    if (is_nan) mag = 32'(nan);
    want = mag | 32'(x5_q[31]) << places;
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    assume (go_i && e >= 3'd1 && e <= 3'd5 && fmt_i[3:0] <= 4'd10
            && (places == 4'd3 || places == 4'd7 || places == 4'd15)
            && (!fmt_i[7] || e <= 3'd4));
    if (past_q) assume ($stable({fmt_i, shift_i, saturate_i}));
    assert ((codes_o[15:0] & 16'((17'd2 << places) - 17'd1)) == want[15:0]);
  end
`endif
endmodule
