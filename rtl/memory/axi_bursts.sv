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

`ifdef FORMAL
  // The bursts of a range cover it once, in order, and no beat outside it; none crosses 4 KiB. A
  // waiting burst stays unchanged.
  logic        past_q = 1'b0;
  logic [57:0] next_q;                       // first beat of the range that no burst has
  logic [31:0] todo_q;                       // beats from there to the range's end
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (in_valid_i && in_ready_o) {next_q, todo_q} <= {in_beat_i, in_beats_i};
    else if (out_valid_o && out_ready_i)
      {next_q, todo_q} <= {next_q + 58'(out_beats_o), todo_q - 32'(out_beats_o)};
    if (rst_i) todo_q <= '0;
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (left_q == todo_q);
      assert (out_valid_o == (todo_q != '0) && in_ready_o == !out_valid_o);
      if (out_valid_o)
        assert (out_beat_o == next_q && out_beats_o != '0 && 32'(out_beats_o) <= todo_q
                && 32'(next_q[5:0]) + 32'(out_beats_o) <= 32'd64);
      if (!$past(rst_i) && $past(out_valid_o && !out_ready_i))
        assert (out_valid_o && $stable({out_beat_o, out_beats_o}));
    end
  end
`endif
endmodule
