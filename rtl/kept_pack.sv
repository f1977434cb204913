// kept_pack: arranges the encoders' codes in wire order, one row a step. Combinational.
// For 4-bit codes, `before_i` has the low halves' codes, `codes_i` the high ones'. Shorter results
// are repeated over the row; the writer selects quarters.
module kept_pack #(
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,  // bytes of a row
  localparam int N = LaneBytes
) (
  input  logic [16*N-1:0] codes_i,           // N of 16 bits; narrower ones in the low bits
  input  logic [16*N-1:0] before_i,
  input  logic          in_four_i,           // width of in_fmt: 4, 16, else 8
  input  logic          in_half_i,
  input  logic          out_four_i,          // of out_fmt
  input  logic          out_half_i,
  input  logic [1:0]    step_i,              // row number, if a flit makes several
  output logic [8*N-1:0] row_o
);
  generate
    for (genvar i = 0; i < N; i++) begin : g_byte
      logic [7:0] whole, nibbles, halves, four_bytes, four_halves;
      always_comb begin
        whole   = in_half_i ? codes_i[16*(2*(i%(N/2)))+:8] : codes_i[16*i+:8];
        nibbles = in_half_i ? {codes_i[16*(4*(i%(N/4))+2)+:4], codes_i[16*(4*(i%(N/4)))+:4]}
                            : {codes_i[16*(2*(i%(N/2))+1)+:4], codes_i[16*(2*(i%(N/2)))+:4]};
        halves  = in_half_i ? codes_i[16*(2*(i/2))+8*(i%2)+:8]
                : step_i[0] ? codes_i[16*(N/2+i/2)+8*(i%2)+:8] : codes_i[16*(i/2)+8*(i%2)+:8];
      end
      if (i % 2 != 0) begin : g_odd
        assign four_bytes = step_i[0] ? codes_i[16*(N/2+i/2)+:8] : codes_i[16*(i/2)+:8];
      end else begin : g_even
        assign four_bytes = step_i[0] ? before_i[16*(N/2+i/2)+:8] : before_i[16*(i/2)+:8];
      end
      if (i / 2 % 2 != 0) begin : g_high
        always_comb
          unique case (step_i)
            2'd0: four_halves = codes_i[16*(i/4)+8*(i%2)+:8];
            2'd1: four_halves = codes_i[16*(N/4+i/4)+8*(i%2)+:8];
            2'd2: four_halves = codes_i[16*(N/2+i/4)+8*(i%2)+:8];
            default: four_halves = codes_i[16*(3*N/4+i/4)+8*(i%2)+:8];
          endcase
      end else begin : g_low
        always_comb
          unique case (step_i)
            2'd0: four_halves = before_i[16*(i/4)+8*(i%2)+:8];
            2'd1: four_halves = before_i[16*(N/4+i/4)+8*(i%2)+:8];
            2'd2: four_halves = before_i[16*(N/2+i/4)+8*(i%2)+:8];
            default: four_halves = before_i[16*(3*N/4+i/4)+8*(i%2)+:8];
          endcase
      end
      assign row_o[8*i+:8] = in_four_i ? (out_four_i ? {codes_i[16*i+:4], before_i[16*i+:4]}
                                          : out_half_i ? four_halves : four_bytes)
                           : out_four_i ? nibbles : out_half_i ? halves : whole;
    end
  endgenerate
endmodule
