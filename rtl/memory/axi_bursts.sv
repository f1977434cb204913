// axi_bursts: cuts a range of 64-byte beats into AXI4 bursts of at most 64 beats within 4 KiB.
module axi_bursts (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [57:0] in_beat_i,             // address / 64
  input  logic [31:0] in_beats_i,            // 0: no burst
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [57:0] out_beat_o,
  output logic [6:0]  out_beats_o,           // 1..64
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  logic [57:0] at_q;
  logic [31:0] left_q;
  logic [6:0]  room;
  assign room        = 7'd64 - {1'b0, at_q[5:0]};
  assign in_ready_o  = left_q == '0;
  assign out_valid_o = left_q != '0;
  assign out_beat_o  = at_q;
  assign out_beats_o = left_q < 32'(room) ? left_q[6:0] : room;

  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_ready_o) begin
      at_q   <= in_beat_i;
      left_q <= in_beats_i;
    end else if (out_valid_o && out_ready_i) begin
      at_q   <= at_q + 58'(out_beats_o);
      left_q <= left_q - 32'(out_beats_o);
    end
    if (rst_i) left_q <= '0;
  end
endmodule
