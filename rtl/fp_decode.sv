// fp_decode: one byte of a contribution to the fixed-point number that is added, in units of the format's smallest
// subnormal, negative ones already inverted (the missing + 1 is carry_o). Combinational.
//
//     code  s | field | frac        sig = field ? 1.frac : frac.0     number = sig * 2^field, in half units
//     sig  --fine: 2^field[1:0]--> fine[7:0]  --coarse: 16^field[4:2]--> one LUT6 a bit: 2 of fine, 3 of coarse, sign
//
// e_i = 0 is an int8 of MAX, passed as it is and sign extended; flip_i inverts it, so that the lane subtracts.
// Wide = 1 adds 4 bits (a byte is two codes, the high one lands on bit 31) and, in lanes with Half = 1, e5m10 of
// {next_i, byte_i}. Odd lanes idle then. inf and nan only raise their flags: the number beside them means nothing.
module fp_decode #(
  parameter int Wide = 1,
  parameter int Half = 1                     // this lane decodes halfwords too
) (
  input  logic [7:0]  byte_i,
  input  logic [7:0]  next_i,                // upper byte of a halfword
  input  logic [5:1]  e_i,                   // e_i[j]: e >= j; 8 bits: as the format; 16 bits: 0; 4 bits: 1..3
  input  logic        fn_i,
  input  logic        max_i,
  input  logic        flip_i,                // MAX only
  input  logic        four_i,
  input  logic        half_i,
  output logic [45:0] term_o,
  output logic        carry_o,               // to be added at bit 0
  output logic        high_o,                // four_i: to be added at bit 31
  output logic [1:0]  flags_o,               // {-inf, +inf}, nan both; four_i: of the low code
  output logic [1:0]  high_flags_o           // four_i: of the high code, else as flags_o
);
  localparam int FineBits = Wide != 0 && Half != 0 ? 14 : 8;
  logic [7:0]          b;
  logic [1:0]          s;
  logic [2:0]          coarse;
  logic                normal, sign, special, frac_set, half;
  logic [10:0]         sig;
  logic [FineBits-1:0] fine;
  logic [40:0]         number;               // half units: bit 0 is dropped
  logic                low_fill, high_fill, low_flip, unused_half;

  assign unused_half = number[0];
  assign b    = byte_i;
  assign half = Wide != 0 && Half != 0 && half_i;
  assign sign = half ? next_i[7] : b[7];

  // Fields and significand. Half: e_i is 0, so every bit of b is fraction.
  always_comb begin
    normal = (b[6] & e_i[1]) | (b[5] & e_i[2]) | (b[4] & e_i[3]) | (b[3] & e_i[4]) | (b[2] & e_i[5]);
    s      = e_i[5] ? b[3:2] : e_i[4] ? b[4:3] : e_i[3] ? b[5:4] : e_i[2] ? b[6:5] : 2'b00;
    coarse = e_i[5] ? b[6:4] : e_i[4] ? {1'b0, b[6:5]} : {2'b00, e_i[3] & b[6]};
    if (half) begin
      normal = next_i[6:2] != 5'd0;
      s      = next_i[3:2];
      coarse = next_i[6:4];
    end
    sig[0]  = normal & b[0];
    sig[1]  = normal ? b[1] : b[0];
    sig[2]  = normal ? e_i[5] | b[2] : b[1];
    sig[3]  = !e_i[5] & (normal ? e_i[4] | b[3] : b[2]);
    sig[4]  = !e_i[4] & (normal ? e_i[3] | b[4] : b[3]);
    sig[5]  = !e_i[3] & (normal ? e_i[2] | b[5] : b[4]);
    sig[6]  = !e_i[2] & (half && normal ? b[6] : b[5]);
    sig[7]  = half && normal ? b[7] : !e_i[1] & b[6];
    sig[10:8] = 3'd0;
    if (half) sig[10:8] = normal ? {1'b1, next_i[1:0]} : {next_i[1:0], b[7]};
  end

  // Flags: the field all ones and a fraction; fn: everything all ones.
  always_comb begin
    special  = b[6] & (b[5] | !(e_i[2] | fn_i)) & (b[4] | !(e_i[3] | fn_i)) & (b[3] | !(e_i[4] | fn_i))
             & (b[2] | !(e_i[5] | fn_i)) & ((b[1] & b[0]) | !fn_i);
    frac_set = (b[5] & !e_i[2]) | (b[4] & !e_i[3]) | (b[3] & !e_i[4]) | (b[2] & !e_i[5]) | b[1] | b[0];
    if (half) begin
      special  = &next_i[6:2];
      frac_set = {next_i[1:0], b} != 10'd0;
    end
  end

  generate
    if (Wide != 0 && Half != 0) begin : g_half
      logic [17:0] mid;
      always_comb begin
        fine = 14'(sig);
        unique case (s)
          2'd1: fine = {2'b00, sig, 1'b0};
          2'd2: fine = {1'b0, sig, 2'b00};
          2'd3: fine = {sig, 3'b000};
          default: ;
        endcase
        mid = coarse[0] ? {fine, 4'd0} : {4'd0, fine};
        number = ({23'd0, mid} & {41{coarse[2:1] == 2'd0}}) | ({15'd0, mid, 8'd0} & {41{coarse[2:1] == 2'd1}})
               | ({7'd0, mid, 16'd0} & {41{coarse[2:1] == 2'd2}}) | ({mid[16:0], 24'd0} & {41{coarse[2:1] == 2'd3}});
      end
    end else begin : g_byte
      logic unused;
      assign unused = ^{next_i, sig[10:8]};
      always_comb begin
        fine = sig[7:0];
        unique case (s)
          2'd1: fine = {sig[6:0], 1'b0};
          2'd2: fine = {sig[5:0], 2'b00};
          2'd3: fine = {sig[4:0], 3'b000};
          default: ;
        endcase
        number = 41'(fine) << {coarse, 2'b00};
      end
    end
  endgenerate

  // What is above the number: copies of the sign.
  generate
    if (Wide != 0) begin : g_four
      logic [2:0] low, high;
      logic [6:0] low_units, high_units;
      logic       low_inf, low_frac, high_inf, high_frac;
      assign low  = b[2:0];
      assign high = b[6:4];
      always_comb begin
        // e1m2, e2m1, e3m0; the widest is 2^(7-1), beside an inf
        low_units = e_i[3] ? (7'd1 << low) >> 1 : e_i[2] ? {4'd0, low[2], low[2] ? low[1:0] : 2'd0} : {5'd0, low[1:0]};
        if (e_i[2] && !e_i[3]) low_units = low[2:1] == 2'd0 ? {6'd0, low[0]} : {5'd0, 1'b1, low[0]} << low[2];
        high_units = e_i[3] ? (7'd1 << high) >> 1 : {5'd0, high[1:0]};
        if (e_i[2] && !e_i[3]) high_units = high[2:1] == 2'd0 ? {6'd0, high[0]} : {5'd0, 1'b1, high[0]} << high[2];
        low_inf   = low[2] & (low[1] | !e_i[2]) & (low[0] | !e_i[3]);
        low_frac  = (low[1] & !e_i[2]) | (low[0] & !e_i[3]);
        high_inf  = high[2] & (high[1] | !e_i[2]) & (high[0] | !e_i[3]);
        high_frac = (high[1] & !e_i[2]) | (high[0] & !e_i[3]);
        low_flip  = four_i ? b[3] : max_i ? flip_i : sign;
        low_fill  = four_i ? b[3] : sign ^ flip_i;
        high_fill = four_i ? b[7] : sign ^ flip_i;
        carry_o   = low_flip;
        high_o    = four_i & b[7];
        term_o    = {{6{high_fill}}, number[40:1] ^ {{33{low_fill}}, {7{low_flip}}}};
        if (four_i) begin
          term_o[15:0]  = {9'd0, low_units} ^ {16{b[3]}};
          flags_o       = {low_inf & (low_frac | b[3]), low_inf & (low_frac | !b[3])};
          term_o[17:16] = flags_o;
          term_o[30:18] = 13'd0;
          term_o[45:31] = {8'd0, high_units} ^ {15{b[7]}};
          high_flags_o  = {high_inf & (high_frac | b[7]), high_inf & (high_frac | !b[7])};
        end else begin
          flags_o      = {special & (frac_set | sign), special & (frac_set | !sign)} & {2{!max_i}};
          high_flags_o = flags_o;
        end
      end
    end else begin : g_eight
      logic unused;
      assign unused    = four_i ^ half_i;
      assign low_flip  = max_i ? flip_i : sign;
      assign low_fill  = sign ^ flip_i;
      assign high_fill = sign ^ flip_i;
      assign carry_o   = low_flip;
      assign high_o    = 1'b0;
      assign term_o    = {{6{high_fill}}, number[40:1] ^ {{33{low_fill}}, {7{low_flip}}}};
      assign flags_o   = {special & (frac_set | sign), special & (frac_set | !sign)} & {2{!max_i}};
      assign high_flags_o = flags_o;
    end
  endgenerate
endmodule
