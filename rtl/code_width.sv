// code_width: returns the width of a format's codes: 4 bits 1, 8 bits 2, 16 bits 3; 0: no format of
// this card (hls/core/beat.h).
module code_width #(
  parameter int Wide = 1                     // 0: only 8 bits
) (
  input  logic [7:0] fmt_i,
  output logic [1:0] width_o
);
  always_comb begin
    width_o = 2'd0;
    if (fmt_i[6:4] >= 3'd1 && fmt_i[6:4] <= (fmt_i[7] ? 3'd4 : 3'd5) && fmt_i[3:0] <= 4'd10) begin
      unique case ({1'b0, fmt_i[6:4]} + fmt_i[3:0])
        4'd3:    width_o = Wide != 0 ? 2'd1 : 2'd0;
        4'd7:    width_o = 2'd2;
        4'd15:   width_o = Wide != 0 ? 2'd3 : 2'd0;
        default: width_o = 2'd0;
      endcase
    end
  end
endmodule
