// acc_lane: decodes a byte per lane of the tile and adds it to the lane's word of a row.
//
//  code    s | field | frac
//  sig     {1, frac}; if field is 0 (subnormal): {frac, 0}
//  fine    sig * 2^field[1:0]
//  number  fine * 16^field[4:2] = sig * 2^field, in units of 1/2 smallest subnormal. Each bit is
//          one LUT6 of 2 bits of fine, the 3 of field[4:2] (coarse) and the sign
//
//  word, 8- and 16-bit codes:  47 46 {-inf, +inf} | 45 .. 0 sum, in units of the smallest subnormal
//  word, 4-bit codes:          47 46 {-inf, +inf} | 45 .. 31 high sum | 30 .. 18 unused
//                              17 16 {-inf, +inf} | 15 .. 0 sign, low sum
//
// A negative term is inverted; the missing + 1 is the chain's carry in. Wide = 1 adds 4-bit codes
// (two in a byte) and e5m10 (even lanes take two bytes, odd ones idle). For inf and nan, only the
// flags count.
// MAX passes an int8 unchanged (e_i = 0) twice through the chain: sum = row - byte, cleared if
// negative (clip_i); then sum + byte. flip_i inverts the byte.
// A bit of the chain is one LUT: term ^ (4:1 mux of {row, sum, last, 0}), six inputs. a + b + 1 is
// written a - ~b: if synthesis exchanged an addition's operands, the mux would need its own LUT.
// Timing: data (clock 0) -> term_q (1), with row_i -> sum_o (2), written to the memory.
module acc_lane #(
  parameter int Lanes = 1,
  parameter int Wide = 1,
  // Bytes: Lanes rounded up to an even number; Word: bits of a lane's sum and flags
  localparam int Bytes = Lanes + Lanes % 2, Sum = nc_pkg::CARD_SUM_BITS, Word = Sum + 2
) (
  input  logic                clk_i,
  input  logic                term_en_i,
  input  logic [8*Bytes-1:0]  data_i,
  // e_i[j]: e >= j. 8-bit codes: from the format; 16-bit: 0; 4-bit: 1..3. e = 1: the field is part
  // of the fraction, as both of its values have the same unit.
  input  logic [5:2]          e_i,
  input  logic                fn_i,
  input  logic                finite_i,      // every code is a number: eXmYf, MAX
  input  logic                max_i,
  input  logic                flip_i,
  input  logic                four_i,
  input  logic                half_i,
  input  logic                sum_en_i,      // this and the next: one clock after term_en_i
  input  logic                sum_four_i,
  input  logic                clip_i,
  input  logic [1:0]          from_i,        // FROM_ROW, FROM_SUM, FROM_LAST, FROM_ZERO
  input  logic [Word*Lanes-1:0] row_i,
  input  logic                last_en_i,     // two clocks after term_en_i: keep sum_o as `last`
  output logic [Word*Lanes-1:0] sum_o
);
  localparam int Sum4 = nc_pkg::CARD_SUM4_BITS, Low = Sum4 + 1, High = Sum - Sum4;
  localparam logic [1:0] FromRow = 2'd0, FromSum = 2'd1, FromLast = 2'd2;
  logic [Sum+3:0]        term_q [Lanes];     // {-inf, +inf, carry at bit High, at bit 0, number}
  logic [Word*Lanes-1:0] last_q;
  function automatic logic [6:0] four_units(input logic [2:0] code);  // of a 4-bit code
    four_units = e_i[3] ? 7'((8'd1 << code) >> 1)
               : !e_i[2] ? {4'd0, code}
               : code[2:1] == 2'd0 ? {6'd0, code[0]}
               : {5'd0, 1'b1, code[0]} << {code[2] & code[1], code[2] & !code[1]};
  endfunction
  // Few branches: Yosys merges all lanes into one process, where each costs work for every signal.
  function automatic logic [Sum+3:0] decode(
    input logic [7:0] b, input logic [7:0] next, input logic even);
    logic [1:0]  s, flags;
    logic [2:0]  coarse, low, high;
    logic        half, four, normal, sign, special, frac_set, low_flip, low_inf, low_frac, high_inf,
                 high_frac;
    logic [10:0] sig;
    logic [13:0] fine;
    logic [17:0] mid;
    logic [39:0] number;
    logic [6:0]  low_units, high_units;
    logic [Sum-1:0] term;

    // The low byte of a 16-bit code is all fraction, so e_i is 0 and the field comes from `next`.
    half   = Wide != 0 && even && half_i;
    four   = Wide != 0 && four_i;
    sign   = half ? next[7] : b[7];
    normal = half ? next[6:2] != 5'd0
                  : ((b[6] | b[5]) & e_i[2]) | (b[4] & e_i[3]) | (b[3] & e_i[4])
                    | (b[2] & e_i[5]);
    s      = half ? next[3:2]
                  : e_i[5] ? b[3:2] : e_i[4] ? b[4:3] : e_i[3] ? b[5:4] : e_i[2] ? b[6:5] : 2'b00;
    coarse = half ? next[6:4] : e_i[5] ? b[6:4] : e_i[4] ? {1'b0, b[6:5]} : {2'b00, e_i[3] & b[6]};
    sig[0]  = normal & b[0];
    sig[1]  = normal ? b[1] : b[0];
    sig[2]  = normal ? e_i[5] | b[2] : b[1];
    sig[3]  = !e_i[5] & (normal ? e_i[4] | b[3] : b[2]);
    sig[4]  = !e_i[4] & (normal ? e_i[3] | b[4] : b[3]);
    sig[5]  = !e_i[3] & (normal ? e_i[2] | b[5] : b[4]);
    sig[6]  = !e_i[2] & (half && normal ? b[6] : b[5]);
    sig[7]  = half && normal ? b[7] : !e_i[2] & b[6];
    sig[10:8] = !half ? 3'd0 : normal ? {1'b1, next[1:0]} : {next[1:0], b[7]};

    // Special: field all ones; fn: fraction too.
    special  = half ? &next[6:2]
                    : b[6] & (b[5] | !(e_i[2] | fn_i)) & (b[4] | !(e_i[3] | fn_i))
                      & (b[3] | !(e_i[4] | fn_i)) & (b[2] | !(e_i[5] | fn_i))
                      & ((b[1] & b[0]) | !fn_i);
    frac_set = half ? {next[1:0], b} != 10'd0
                    : (b[5] & !e_i[2]) | (b[4] & !e_i[3]) | (b[3] & !e_i[4]) | (b[2] & !e_i[5])
                      | b[1] | b[0];
    flags    = {special & (frac_set | sign), special & (frac_set | !sign)} & {2{!finite_i}};

    // Only 16-bit codes use bits of `fine` above 8. Bits of `term` above the number copy the sign.
    fine     = ({3'b000, sig} << s) & {{5{Wide != 0 && even}}, 9'h1ff};
    mid      = coarse[0] ? {fine, 4'd0} : {4'd0, fine};
    number   = ({23'd0, mid[17:1]} & {40{coarse[2:1] == 2'd0}})
             | ({15'd0, mid, 7'd0} & {40{coarse[2:1] == 2'd1}})
             | ({7'd0, mid, 15'd0} & {40{coarse[2:1] == 2'd2}})
             | ({mid[16:0], 23'd0} & {40{coarse[2:1] == 2'd3}});
    low_flip = four ? b[3] : max_i ? flip_i : sign;
    term     = {{(Sum - 40){sign ^ flip_i}}, number ^ {{33{sign ^ flip_i}}, {7{low_flip}}}};
    if (Wide == 0) term[Sum-1:33] = {(Sum - 33){term[32]}};

    // 4-bit codes: e1m2, e2m1, e3m0. inf and nan count only by their flags.
    low        = b[2:0];
    high       = b[6:4];
    low_units  = four_units(low);
    high_units = four_units(high);
    low_inf    = !finite_i & low[2] & (low[1] | !e_i[2]) & (low[0] | !e_i[3]);
    low_frac   = (low[1] & !e_i[2]) | (low[0] & !e_i[3]);
    high_inf   = !finite_i & high[2] & (high[1] | !e_i[2]) & (high[0] | !e_i[3]);
    high_frac  = (high[1] & !e_i[2]) | (high[0] & !e_i[3]);
    decode = !four ? {flags, 1'b0, low_flip, term}
                   : {high_inf & (high_frac | b[7]), high_inf & (high_frac | !b[7]), b[7], low_flip,
                      Sum4'(high_units) ^ {Sum4{b[7]}}, {(High - Low - 2){1'b0}},
                      low_inf & (low_frac | b[3]), low_inf & (low_frac | !b[3]),
                      Low'(low_units) ^ {Low{b[3]}}};
  endfunction

  // Bit 0 of `left` and `right` creates the carry in. With Wide, two more bits, at Low and High,
  // pass the carry on; with 4-bit codes, the first stops it and the second starts the high sum's.
  function automatic logic [Word-1:0] add(
    input logic [Sum+3:0] decoded, input logic [Word-1:0] row, input logic [Word-1:0] sum,
    input logic [Word-1:0] last);
    logic [1:0]  flags;
    logic        high, carry;
    logic [Sum-1:0]  term;
    logic [Word-1:0] base, all, total;
    logic [Word:0]   left, right;
    {flags, high, carry, term} = decoded;
    base  = from_i == FromRow ? row : from_i == FromSum ? sum : from_i == FromLast ? last : '0;
    left  = (Word + 1)'({term, carry});
    right = (Word + 1)'({base[Sum-1:0], carry});
    if (Wide != 0) begin
      left  = {term[Sum-1:High], sum_four_i & high, term[High-1:Low], 1'b0, term[Low-1:0], carry};
      right = {base[Sum-1:High], !sum_four_i | high, base[High-1:Low+2],
               base[Low+:2] & ~({2{sum_four_i}} & term[Low+:2]), !sum_four_i, base[Low-1:0], carry};
    end
    total = Word'((left - ~right) >> 1);
    all   = {base[Sum+:2] | flags,
             Wide != 0 ? {total[Sum+1:High+2], total[High:Low+1], total[Low-1:0]} : total[Sum-1:0]};
    add   = clip_i && all[8] ? '0 : all;
  endfunction

  // Array elements let a simulation share one piece of code; a vector's slices are a third slower.
  // In a loop they need `=` (Verilator refuses `<=`), so term_q is read before its assignment.
  // verilator lint_off BLKSEQ
  always_ff @(posedge clk_i) begin
    if (sum_en_i)
      for (int i = 0; i < Lanes; i++)
        sum_o[Word*i+:Word] <= add(term_q[i], row_i[Word*i+:Word], sum_o[Word*i+:Word],
                                   last_q[Word*i+:Word]);
    if (last_en_i) last_q <= sum_o;
    if (term_en_i)
      for (int i = 0; i < Lanes; i++)
        term_q[i] = decode(data_i[8*i+:8], data_i[8*(i|1)+:8], i % 2 == 0);
  end
  // verilator lint_on BLKSEQ

  sum_room u_room ();
endmodule
