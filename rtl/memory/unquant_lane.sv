// unquant_lane: converts codes times 2^shift to fp32, like mf_dec() of hls/arith/mf.h, in five
// registered steps. Exact, except that a subnormal fp32 is rounded to nearest even and a value that
// is too large becomes inf. The terms are those of quant_lane.
module unquant_lane #(
  parameter int Lanes = 1
) (
  input  logic                clk_i,
  input  logic                go_i,          // all steps advance
  input  logic [16*Lanes-1:0] codes_i,       // each in the low bits; bits above count nothing
  input  logic [7:0]          fmt_i,         // these stay, from a clock before the first code on
  input  logic [9:0]          shift_i,       // two's complement
  output logic [32*Lanes-1:0] x_o
);
  localparam int S1 = 11 + 6 + 4, S2 = 11 + 6 + 9 + 3, S3 = 26 + 9 + 3;
  logic [16:0]   aligned_q [Lanes];
  logic [S1-1:0] one_q [Lanes];
  logic [S2-1:0] two_q [Lanes];
  logic [S3-1:0] three_q [Lanes];

  // --- the format ---
  logic [2:0]  e;
  logic [3:0]  places, drop_q;
  logic        fn_q, finite_q;               // finite: no code is inf or nan
  logic [4:0]  above_e_q;                    // bits of `field` that a code lacks
  logic [10:0] offset_q, low_offset_q;
  logic [14:0] mask_q;
  assign e      = fmt_i[6:4];
  assign places = 4'(e) + fmt_i[3:0];
  always_ff @(posedge clk_i) begin
    drop_q       <= 4'd10 - fmt_i[3:0];
    fn_q         <= fmt_i[7];
    finite_q     <= fmt_i[7] && !fmt_i[6];
    mask_q       <= 15'h7fff >> (4'd15 - places);
    offset_q     <= {shift_i[9], shift_i} + 11'd127 - ((11'd1 << e) >> 1);
    low_offset_q <= {shift_i[9], shift_i} + 11'd129 - ((11'd1 << e) >> 1);
    for (int i = 0; i < 5; i++) above_e_q[i] <= 3'(i) >= e;
  end

  // {sign, special, exponent field of 5 bits, fraction of 10}
  function automatic logic [16:0] align(input logic [15:0] code);
    logic        sign, special;
    logic [14:0] mag;
    sign    = mask_q[14] ? code[15] : mask_q[6] ? code[7] : code[3];
    mag     = (code[14:0] & mask_q) << drop_q;
    special = (mag[14:10] | above_e_q) == '1 && !finite_q && (!fn_q || mag[9:7] == '1);
    align   = {sign, special, mag};
  endfunction

  function automatic logic [S1-1:0] normalise(input logic [16:0] aligned);
    logic        sign, special;
    logic [3:0]  zeros;
    logic [4:0]  field;
    logic [9:0]  frac;
    logic [10:0] sig;
    {sign, special, field, frac} = aligned;
    sig      = {field != '0, frac};
    zeros[3] = sig[10-:8] == '0;
    if (zeros[3]) sig = sig << 8;
    zeros[2] = sig[10-:4] == '0;
    if (zeros[2]) sig = sig << 4;
    zeros[1] = sig[10-:2] == '0;
    if (zeros[1]) sig = sig << 2;
    zeros[0] = !sig[10];
    if (zeros[0]) sig = sig << 1;
    normalise = {sig, field != '0 ? {1'b0, field} : {2'd3, ~zeros}, {field, frac} == '0, sign,
                 special, frac != '0};
  endfunction

  // The shift is less + 1. With less = 31 all bits are in `rest`.
  function automatic logic [S2-1:0] place(input logic [S1-1:0] one);
    logic        zero, below, far;
    logic [2:0]  flags;
    logic [5:0]  field;
    logic [10:0] sig, above;
    logic [4:0]  less;
    {sig, field, zero, flags} = one;
    above = {{5{field[5]}}, field} + (field[5] ? low_offset_q : offset_q);
    below = above[10];
    less  = above[9:5] == '1 ? ~above[4:0] : '1;
    far   = above[9:8] != '0 || above[7:1] == '1;  // 254 and more
    place = {sig, below, less, below || zero ? 9'd0 : {far, above[7:0]}, flags};
  endfunction

  function automatic logic [S3-1:0] move(input logic [S2-1:0] two);
    logic        below;
    logic [2:0]  flags;
    logic [8:0]  above;
    logic [4:0]  less;
    logic [10:0] sig;
    logic [42:0] y;
    {sig, below, less, above, flags} = two;
    y = {sig, 32'd0};
    if (below) y = {1'b0, y[42:1]} >> less;
    move = {y[42:18], y[17:0] != '0, above, flags};
  endfunction

  function automatic logic [31:0] value(input logic [S3-1:0] three);
    logic        rest, guard, far, sign, special, frac_set;
    logic [7:0]  above;
    logic [23:0] y;
    logic [30:0] plain;
    {y, guard, rest, far, above, sign, special, frac_set} = three;
    plain = {above, y[22:0]} + {7'd0, y[23], 23'd0} + 31'(guard && (y[0] || rest));
    value = {sign, special || far ? {8'hff, {23{special && frac_set}}} : plain};
  endfunction

  // Arrays and the order of the statements: see acc_lane.
  // verilator lint_off BLKSEQ
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      for (int i = 0; i < Lanes; i++) x_o[32*i+:32] <= value(three_q[i]);
      for (int i = 0; i < Lanes; i++) three_q[i] = move(two_q[i]);
      for (int i = 0; i < Lanes; i++) two_q[i] = place(one_q[i]);
      for (int i = 0; i < Lanes; i++) one_q[i] = normalise(aligned_q[i]);
      for (int i = 0; i < Lanes; i++) aligned_q[i] = align(codes_i[16*i+:16]);
    end
  end
  // verilator lint_on BLKSEQ

`ifdef FORMAL
  // The proof computes the value of lane 0 like mf_pack(), from sig * 2^exp, of a code five clocks
  // old.
  logic [15:0]        c1_q, c2_q, c3_q, c4_q, c5_q;
  logic [10:0]        sig;
  logic [31:0]        mag, kept, lost, want;
  logic [4:0]         field;
  logic signed [11:0] exp, top, from, cut;   // cut: bits of sig that fp32 lacks
  logic               up, is_nan, is_inf;
  always_ff @(posedge clk_i)
    {c5_q, c4_q, c3_q, c2_q, c1_q} <= {c4_q, c3_q, c2_q, c1_q, codes_i[15:0]};
  always_comb begin
    mag    = 32'(c5_q) & ((32'd1 << places) - 1);
    field  = 5'(mag >> fmt_i[3:0]);
    sig    = 11'(mag & ((32'd1 << fmt_i[3:0]) - 1)) | 11'(field != '0) << fmt_i[3:0];
    exp    = 12'($signed({1'b0, field})) + 12'(field == '0) - (12'sd1 << (e - 1)) + 12'sd1
           - 12'($signed({1'b0, fmt_i[3:0]})) + 12'($signed(shift_i));
    is_nan = fmt_i[7] ? e == 3'd4 && mag == 32'h7f : mag > ((32'd1 << e) - 1) << fmt_i[3:0];
    is_inf = !fmt_i[7] && mag == ((32'd1 << e) - 1) << fmt_i[3:0];
    top = exp;
    for (int i = 0; i < 11; i++) if (sig[i]) top = exp + 12'(i);
    from = top > -12'sd126 ? top : -12'sd126;
    cut  = from - 12'sd23 - exp;
    kept = cut < 0 ? 32'(sig) << -cut : 32'(sig) >> cut;
    lost = 32'(sig) & ~(32'hffffffff << cut);
    up   = cut > 0 && cut < 13
           && (lost > 32'd1 << (cut - 1) || (lost == 32'd1 << (cut - 1) && kept[0]));
    want = (32'(from + 12'sd126) << 23) + kept + 32'(up);
    if (from > 12'sd127) want = 32'h7f800000;
    if (sig == '0) want = '0;
    if (is_inf) want = 32'h7f800000;
    if (is_nan) want = 32'h7fffffff;
    want[31] = (c5_q >> places) & 1'b1;
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    assume (go_i && e >= 3'd1 && e <= 3'd5 && fmt_i[3:0] <= 4'd10
            && (places == 4'd3 || places == 4'd7 || places == 4'd15)
            && (!fmt_i[7] || e <= 3'd4));
    if (past_q) assume ($stable({fmt_i, shift_i}));
    assert (x_o[31:0] == want);
  end
`endif
endmodule
