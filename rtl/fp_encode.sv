// fp_encode: the sum of a lane to a code, rounded to nearest even; four registers deep. It never negates the sum:
//
//     y = sum < 0 ? ~sum : sum    |sum| = y, or y + 1 in the last place: that is, y with ones for ever below the point
//     up = sum < 0 ? guard | (last & rest is 0) : guard & (last | rest is not 0)        rest of the sum, not of y
//
// Normalise by 48/32/16/0, then 12/8/4/0, then 3/2/1/0 places; before each the bits that cannot reach the result any
// more go into `rest`. A bit of each step is one LUT6. out's subnormals: `stop` is the place of the smallest normal's
// leading bit; the shift ends there, as if a one were. `at_stop`: so far nothing was found above it.
// Then {place, fraction} + {plus or below, 0} + up is the code: a carry out of the fraction is the next field.
// MAX: an int8 is y's 7 bits with the stop on bit 6, not rounded, inverted back.
module fp_encode #(
  parameter int Wide = 1,
  localparam int Man = Wide != 0 ? 10 : 6    // fraction bits
) (
  input  logic           clk_i,
  input  logic [47:0]    sum_i,              // as acc_lane's, held in the clock of en1_i
  input  logic           en1_i,              // clock 1
  input  logic           low_i,              // sum of the low 4-bit code, of the high one; neither: the whole word
  input  logic           high_i,
  input  logic [5:4]     stop1_i,
  input  logic           en2_i,              // clock 2
  input  logic [3:2]     stop2_i,
  input  logic           en3_i,              // clock 3
  input  logic [1:0]     stop3_i,
  input  logic [5:0]     plus_i,             // see round_plan
  input  logic [5:0]     below_i,
  input  logic [Man:0]   guard_i,
  input  logic [Man-1:0] lost_i,
  input  logic           max3_i,
  input  logic           en4_i,              // clock 4
  input  logic [3:0]     drop_i,
  input  logic [5:1]     over_i,
  input  logic           fn_i,
  input  logic           max4_i,
  input  logic           four_i,             // width of out: 4, 8, else 16
  input  logic           eight_i,
  input  logic [14:0]    beyond_i,
  output logic [15:0]    code_o,             // after clock 4
  output logic [2:0]     status_o            // {overflow, -inf, +inf}
);
  localparam int W1 = Man + 17, W2 = Man + 5, W3 = Man + 2;

  // ---- 1: sixteens
  logic           neg, halved, b5, b4, at1, rest1;
  logic [1:0]     flags;
  logic [45:0]    y;
  logic [63:0]    place;
  logic [W1-1:0]  unseen;                    // below the high code's sum
  logic [W1-1:0]  x1;
  logic [W1-1:0]  x1_q;
  logic           b5_q, b4_q, at1_q, rest1_q, neg1_q;
  logic [1:0]     flags1_q;

  assign halved = Wide != 0 && low_i;
  assign neg    = halved ? sum_i[15] : sum_i[45];
  assign flags  = halved ? sum_i[17:16] : sum_i[47:46];
  assign y      = sum_i[45:0] ^ {46{neg}};
  assign place  = {y, {18{neg}}};            // bit n of the sum is in place n + 18
  assign unseen = Wide != 0 && high_i ? W1'({(W1 - 15){1'b1}}) : '0;

  always_comb begin
    b5    = !halved && (y[45:14] != '0 || stop1_i[5]);
    at1   = stop1_i[5] || !b5;
    b4    = (b5 ? y[45:30] != '0 : y[13:0] != '0 || neg) || (at1 && stop1_i[4]);
    at1   = at1 && (stop1_i[4] || !b4);
    rest1 = b5 && (b4 ? sum_i[45-W1:0] != '0 : W1 < 30 && sum_i[29-W1:0] != '0);
    if (Wide != 0 && high_i) rest1 = 1'b0;
    x1 = b5 ? (b4 ? place[63-:W1] & ~unseen | {W1{neg}} & unseen : place[47-:W1]) : b4 ? place[31-:W1] : {W1{neg}};
  end
  always_ff @(posedge clk_i)
    if (en1_i) begin
      x1_q     <= x1;
      {b5_q, b4_q, at1_q} <= {b5, b4, at1};
      rest1_q  <= rest1;
      neg1_q   <= neg;
      flags1_q <= flags;
    end

  // ---- 2: fours
  logic           b3, b2, at2, rest2;
  logic [W2-1:0]  x2, x2_q;
  logic           at2_q, rest2_q, neg2_q;
  logic [5:2]     place2_q;
  logic [1:0]     flags2_q;

  always_comb begin
    b3    = x1_q[W1-1-:8] != '0 || (at1_q && stop2_i[3]);
    at2   = at1_q && (stop2_i[3] || !b3);
    b2    = (b3 ? x1_q[W1-1-:4] != '0 : x1_q[W1-9-:4] != '0) || (at2 && stop2_i[2]);
    at2   = at2 && (stop2_i[2] || !b2);
    rest2 = rest1_q || ((b3 || b2) && x1_q[3:0] != {4{neg1_q}}) || (b3 && x1_q[7:4] != {4{neg1_q}})
          || (b3 && b2 && x1_q[11:8] != {4{neg1_q}});
    x2    = b3 ? (b2 ? x1_q[W1-1-:W2] : x1_q[W1-5-:W2]) : (b2 ? x1_q[W1-9-:W2] : x1_q[W1-13-:W2]);
  end
  always_ff @(posedge clk_i)
    if (en2_i) begin
      x2_q     <= x2;
      place2_q <= {b5_q, b4_q, b3, b2};
      at2_q    <= at2;
      rest2_q  <= rest2;
      neg2_q   <= neg1_q;
      flags2_q <= flags1_q;
    end

  // ---- 3: ones, round
  logic           b1, b0, rest3, guard, last, up, back, lead;
  logic [W3-1:0]  x3;
  logic [Man+5:0] value, value_q;
  logic           neg3_q;
  logic [1:0]     flags3_q;

  always_comb begin
    b1    = x2_q[W2-1-:2] != '0 || (at2_q && stop3_i[1]);
    b0    = (b1 ? x2_q[W2-1] : x2_q[W2-3]) || (at2_q && (stop3_i[1] || !b1) && stop3_i[0]);
    x3    = b1 ? (b0 ? x2_q[W2-1-:W3] : x2_q[W2-2-:W3]) : (b0 ? x2_q[W2-3-:W3] : x2_q[W2-4-:W3]);
    rest3 = rest2_q || ((b1 || b0) && x2_q[0] != neg2_q) || (b1 && x2_q[1] != neg2_q) || (b1 && b0 && x2_q[2] != neg2_q);
    if ((lost_i & (x3[Man-1:0] ^ {Man{neg2_q}})) != '0) rest3 = 1'b1;
    guard = (guard_i & x3[Man:0]) != '0;
    last  = (guard_i & x3[Man+1:1]) != '0;
    up    = neg2_q ? guard || (last && !rest3) : guard && (last || rest3);
    back  = max3_i && neg2_q;
    lead  = x3[Man+1] ^ back;
    value = {place2_q, b1, b0, (x3[Man:1] ^ {Man{back}}) | lost_i} + {lead ? plus_i : below_i, {Man{1'b0}}}
          + (Man + 6)'(up);
  end
  always_ff @(posedge clk_i)
    if (en3_i) begin
      value_q  <= value;
      neg3_q   <= neg2_q;
      flags3_q <= flags2_q;
    end

  // ---- 4: width, overflow, inf, nan, sign
  logic [5:0]     field;
  logic           over, special, nan, sign;
  logic [14:0]    plain, mag;
  logic [Man+5:0] moved;

  logic           unused;
  assign unused = ^place[8:0];
  assign field = value_q[Man+5:Man];
  always_comb begin
    over    = ((field[5:1] & over_i) != '0 || ((field[5:1] | over_i) == '1 && field[0] && (!fn_i || value_q[Man-1-:3] == '1)))
            && !max4_i;
    special = flags3_q != 2'b00;
    nan     = flags3_q == 2'b11;
    moved   = value_q >> drop_i;
    plain   = 15'(moved);
    mag     = nan ? 15'h7fff : special || over ? beyond_i : plain;
    sign    = special ? flags3_q == 2'b10 : neg3_q && (max4_i || moved != '0);
  end
  logic [15:0] code_q;
  logic [2:0]  status_q;
  always_ff @(posedge clk_i)
    if (en4_i) begin
      code_q   <= {sign, mag[14:8], eight_i ? sign : mag[7], mag[6:4], four_i ? sign : mag[3], mag[2:0]};
      status_q <= {over && !special, flags3_q};
    end
  assign code_o   = code_q;
  assign status_o = status_q;
endmodule
