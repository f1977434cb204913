// fp_encode: rounds the tile's sums to codes, to nearest even, in four registered steps. A sum is
// never negated: if it is negative, |sum| is y followed by ones without end:
//
//    y = sum < 0 ? ~sum : sum
//    up = sum < 0 ? guard | (last & rest == 0) : guard & (last | rest != 0)
//    last, guard: y's last kept bit, its first dropped bit   rest: the sum's bits below guard
//
// A bit's place is its number in a 64-bit word whose top is the sum. Steps shift y left by
// 48/32/16/0, then 12/8/4/0, then 3/2/1/0 places, one LUT6 a bit. Before each step, bits too low to
// reach the result go into `rest`. For subnormal results, the shift ends at `stop`, the place of
// the smallest normal's leading bit, as if a one were there. `at_stop`: no 1 bit was found above.
// One addition makes the code: {leading bit's place, fraction} + {plus_i or below_i, 0} + up. The
// place becomes the exponent field, to which the fraction may carry.
// MAX: the int8 is y's low 7 bits, with the stop on bit 6, not rounded, and inverted back.
module fp_encode #(
  parameter int Lanes = 1,
  parameter int Wide = 1,                    // 0: only formats of 8 bits
  localparam int Man = Wide != 0 ? 10 : 6,   // fraction bits
  // Bits: of a code; Sum to Low: see acc_lane
  localparam int Bits = Wide != 0 ? 16 : 8,
  localparam int Sum = nc_pkg::CARD_SUM_BITS, Word = Sum + 2, Sum4 = nc_pkg::CARD_SUM4_BITS,
                 Low = Sum4 + 1
) (
  input  logic                  clk_i,
  // acc_lane's words, held in the clock of en1_i
  input  logic [Word*Lanes-1:0] sum_i,
  input  logic                  en1_i,       // clock 1
  // encode the low or the high 4-bit code's sum; neither: the whole word
  input  logic                  low_i,
  input  logic                  high_i,
  input  logic [5:4]            stop1_i,
  input  logic                  en2_i,       // clock 2
  input  logic [3:0]            stop2_i,
  input  logic                  en3_i,       // clock 3
  input  logic [5:0]            plus_i,
  input  logic [5:0]            below_i,
  input  logic [Man:0]          guard_i,
  input  logic [Man-1:0]        lost_i,
  input  logic                  max3_i,
  input  logic                  en4_i,       // clock 4
  input  logic [3:0]            drop_i,
  input  logic [5:1]            over_i,
  input  logic                  fn_i,
  input  logic                  finite_i,    // a code cannot be inf or nan
  input  logic                  max4_i,
  input  logic                  four_i,      // code width: 4, 8, else 16
  input  logic                  eight_i,
  input  logic [14:0]           beyond_i,
  output logic [Bits*Lanes-1:0] codes_o,     // after clock 4
  output logic [Lanes-1:0]      over_o,
  output logic [Lanes-1:0]      ninf_o,
  output logic [Lanes-1:0]      pinf_o
);
  // A lane's steps pass on {significand, bits of its place, at_stop, rest, sign, flags}. Step two
  // replaces at_stop by bits 1 and 0 of `stop`, each ANDed with at_stop.
  localparam int W1 = Man + 17, W2 = Man + 5, W3 = Man + 2, S1 = W1 + 2 + 5, S2 = W2 + 4 + 6,
                 S3 = Man + 6 + 3;
  logic [S1-1:0] one_q [Lanes];
  logic [S2-1:0] two_q [Lanes];
  logic [S3-1:0] three_q [Lanes];

  function automatic logic [S1-1:0] sixteens(input logic [Word-1:0] sum);
    logic          neg, halved, b5, b4, at1, rest1;
    logic [1:0]    flags;
    logic [Sum-1:0] y;
    logic [63:32-W1] place;
    logic [W1-1:0] unseen, x1;               // unseen: below the high code's sum
    halved = Wide != 0 && low_i;
    neg    = halved ? sum[Low-1] : sum[Sum-1];
    flags  = halved ? sum[Low+:2] : sum[Sum+:2];
    y      = sum[Sum-1:0] ^ {Sum{neg}};
    place  = {y, {(W1 + 32 - Sum){neg}}};    // bit n of the sum is in place n + 64 - Sum
    unseen = Wide != 0 && high_i ? W1'({(W1 - Sum4){1'b1}}) : '0;
    b5    = !halved && (y[Sum-1-:32] != '0 || stop1_i[5]);
    at1   = stop1_i[5] || !b5;
    b4    = (b5 ? y[Sum-1-:16] != '0 : y[Sum-33:0] != '0 || neg) || (at1 && stop1_i[4]);
    at1   = at1 && (stop1_i[4] || !b4);
    rest1 = b5 && (b4 ? sum[Sum-1-W1:0] != '0 : W1 < Sum - 16 && sum[Sum-17-W1:0] != '0);
    if (Wide != 0 && high_i) rest1 = 1'b0;
    x1 = b5 ? (b4 ? place[63-:W1] & ~unseen | {W1{neg}} & unseen : place[47-:W1])
         : b4 ? place[31-:W1]
         : {W1{neg}};
    sixteens = {x1, b5, b4, at1, rest1, neg, flags};
  endfunction

  function automatic logic [S2-1:0] fours(input logic [S1-1:0] one);
    logic          b5, b4, b3, b2, at1, at2, rest1, rest2, neg;
    logic [1:0]    flags;
    logic [W1-1:0] x1;
    logic [W2-1:0] x2;
    {x1, b5, b4, at1, rest1, neg, flags} = one;
    b3    = x1[W1-1-:8] != '0 || (at1 && stop2_i[3]);
    at2   = at1 && (stop2_i[3] || !b3);
    b2    = (b3 ? x1[W1-1-:4] != '0 : x1[W1-9-:4] != '0) || (at2 && stop2_i[2]);
    at2   = at2 && (stop2_i[2] || !b2);
    rest2 = rest1 || ((b3 || b2) && x1[3:0] != {4{neg}}) || (b3 && x1[7:4] != {4{neg}})
          || (b3 && b2 && x1[11:8] != {4{neg}});
    x2    = b3 ? (b2 ? x1[W1-1-:W2] : x1[W1-5-:W2]) : (b2 ? x1[W1-9-:W2] : x1[W1-13-:W2]);
    fours = {x2, b5, b4, b3, b2, {2{at2}} & stop2_i[1:0], rest2, neg, flags};
  endfunction

  function automatic logic [S3-1:0] ones(input logic [S2-1:0] two);  // also rounds
    logic           b5, b4, b3, b2, b1, b0, stop1, stop0, rest2, rest3, neg, guard, last, up, back,
                    lead;
    logic [1:0]     flags;
    logic [W2-1:0]  x2;
    logic [W3-1:0]  x3;
    logic [Man+5:0] value;
    {x2, b5, b4, b3, b2, stop1, stop0, rest2, neg, flags} = two;
    b1    = x2[W2-1-:2] != '0 || stop1;
    b0    = (b1 ? x2[W2-1] : x2[W2-3]) || (stop0 && (stop1 || !b1));
    x3    = b1 ? (b0 ? x2[W2-1-:W3] : x2[W2-2-:W3]) : (b0 ? x2[W2-3-:W3] : x2[W2-4-:W3]);
    rest3 = rest2 || ((b1 || b0) && x2[0] != neg) || (b1 && x2[1] != neg)
            || (b1 && b0 && x2[2] != neg);
    if ((lost_i & (x3[Man-1:0] ^ {Man{neg}})) != '0) rest3 = 1'b1;
    guard = (guard_i & x3[Man:0]) != '0;
    last  = (guard_i & x3[Man+1:1]) != '0;
    up    = neg ? guard || (last && !rest3) : guard && (last || rest3);
    back  = max3_i && neg;
    lead  = x3[Man+1] ^ back;
    value = {b5, b4, b3, b2, b1, b0, (x3[Man:1] ^ {Man{back}}) | lost_i}
          + {lead ? plus_i : below_i, {Man{1'b0}}}
          + (Man + 6)'(up);
    ones  = {value, neg, flags};
  endfunction

  // Fits the code to its width; handles overflow, inf, nan and sign.
  function automatic logic [Bits+2:0] code(input logic [S3-1:0] three);
    logic           over, special, nan, neg, sign;
    logic [1:0]     flags;
    logic [5:0]     field;
    logic [14:0]    plain, mag;
    logic [Man+5:0] value, moved;
    {value, neg, flags} = three;
    field   = value[Man+5:Man];
    over    = ((field[5:1] & over_i) != '0
               || ((field[5:1] | over_i) == '1 && field[0] && !finite_i
                   && (!fn_i || value[Man-1-:3] == '1)))
            && !max4_i;
    special = flags != 2'b00;
    nan     = flags == 2'b11;
    moved   = value >> drop_i;
    plain   = 15'(moved);
    mag     = nan ? 15'h7fff : special || over ? beyond_i : plain;
    sign    = special ? flags == 2'b10 : neg && (max4_i || moved != '0);
    code    = {over && !special && !finite_i, flags,
               Bits'({sign, mag[14:8], eight_i ? sign : mag[7], mag[6:4], four_i ? sign : mag[3],
                      mag[2:0]})};
  endfunction

  // Arrays and the order of the statements: see acc_lane.
  // verilator lint_off BLKSEQ
  always_ff @(posedge clk_i) begin
    if (en4_i)
      for (int i = 0; i < Lanes; i++)
        {over_o[i], ninf_o[i], pinf_o[i], codes_o[Bits*i+:Bits]} <= code(three_q[i]);
    if (en3_i) for (int i = 0; i < Lanes; i++) three_q[i] = ones(two_q[i]);
    if (en2_i) for (int i = 0; i < Lanes; i++) two_q[i] = fours(one_q[i]);
    if (en1_i) for (int i = 0; i < Lanes; i++) one_q[i] = sixteens(sum_i[Word*i+:Word]);
  end
  // verilator lint_on BLKSEQ
endmodule
