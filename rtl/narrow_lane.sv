// narrow_lane: replaces acc_lane in a card with Narrow=1: adds codes of e1m6f and e2m5f, or finds
// the largest int8 (MAX), in words that have neither flags nor room for other formats.
//
//  e1m6f   s | mmmmmmm      units  mmmmmmm: both values of the field have the same unit
//  e2m5f   s | ff | mmmmm   units  {1, mmmmm} * 2^(ff - 1), or mmmmm if ff = 0
//
// A word is the sum in units of the smallest subnormal. Terms, MAX and timing: see acc_lane.
module narrow_lane #(
  parameter int Lanes = 1,
  localparam int Word = nc_pkg::CARD_NARROW_BITS
) (
  input  logic                clk_i,
  input  logic                term_en_i,
  input  logic [8*Lanes-1:0]  data_i,
  input  logic                two_i,         // e2m5f
  input  logic                max_i,
  input  logic                flip_i,
  input  logic                sum_en_i,      // this and the next: one clock after term_en_i
  input  logic                clip_i,
  input  logic [1:0]          from_i,        // row, sum, last, zero
  input  logic [Word*Lanes-1:0] row_i,
  input  logic                last_en_i,     // two clocks after term_en_i: keep sum_o as `last`
  output logic [Word*Lanes-1:0] sum_o
);
  localparam logic [1:0] FromRow = 2'd0, FromSum = 2'd1, FromLast = 2'd2;
  logic [9:0]            term_q [Lanes];     // {carry in, sign, units}, inverted where needed
  logic [Word*Lanes-1:0] last_q;
  function automatic logic [9:0] decode(input logic [7:0] b);
    logic       flip, low_flip;
    logic [1:0] s;
    logic [7:0] units;
    s        = {two_i & b[6] & b[5], two_i & b[6] & !b[5]};
    units    = {1'b0, b[6] & !two_i, b[5] | (b[6] & two_i), b[4:0]} << s;
    flip     = b[7] ^ flip_i;
    low_flip = max_i ? flip_i : b[7];
    decode   = {low_flip, flip, units[7] ^ flip, units[6:0] ^ {7{low_flip}}};
  endfunction

  // a + b + carry is written a - ~b, with the carry below bit 0: see acc_lane.
  function automatic logic [Word-1:0] add(
    input logic [9:0] term, input logic [Word-1:0] row, input logic [Word-1:0] sum,
    input logic [Word-1:0] last);
    logic [Word-1:0] base, total;
    base  = from_i == FromRow ? row : from_i == FromSum ? sum : from_i == FromLast ? last : '0;
    total = Word'(({{(Word - 8){term[8]}}, term[7:0], term[9]} - ~{base, term[9]}) >> 1);
    add   = clip_i && total[8] ? '0 : total;
  endfunction

  // Arrays and the order of the statements: see acc_lane.
  // verilator lint_off BLKSEQ
  always_ff @(posedge clk_i) begin
    if (sum_en_i)
      for (int i = 0; i < Lanes; i++)
        sum_o[Word*i+:Word] <= add(term_q[i], row_i[Word*i+:Word], sum_o[Word*i+:Word],
                                   last_q[Word*i+:Word]);
    if (last_en_i) last_q <= sum_o;
    if (term_en_i)
      for (int i = 0; i < Lanes; i++) term_q[i] = decode(data_i[8*i+:8]);
  end
  // verilator lint_on BLKSEQ

  sum_room u_room ();
endmodule
