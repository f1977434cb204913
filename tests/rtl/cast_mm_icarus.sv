// cast_mm_icarus: starts cast_mm with an unknown format in Icarus, whose results test_lint_rtl.sh
// reads: the status, and an interrupt at the end.
module cast_mm_icarus;
  logic        clk = 1'b0, rst = 1'b1, valid = 1'b0, answer = 1'b0;
  logic        aw_ready, w_ready, answered, writes, interrupt;
  logic [11:0] at = '0;
  logic [31:0] value = '0;
  logic [511:0] data;
  cast_mm u_cast_mm (
    .clk_i(clk), .rst_i(rst), .s_awaddr_i(at), .s_awvalid_i(valid), .s_awready_o(aw_ready),
    .s_wdata_i(value), .s_wstrb_i(4'd15), .s_wvalid_i(valid), .s_wready_o(w_ready),
    .s_bvalid_o(answered), .s_bready_i(1'b1), .s_arvalid_i(1'b0), .s_rready_i(1'b1),
    .interrupt_o(interrupt), .m_arready_i(1'b1), .m_rvalid_i(1'b0), .m_awready_i(1'b1),
    .m_wdata_o(data), .m_wvalid_o(writes), .m_wready_i(1'b1), .m_bresp_i(2'd0),
    .m_bvalid_i(answer));
  always #1 clk = !clk;
  always @(posedge clk) begin
    answer <= writes;
    if (writes) $display("status %h", data[31:0]);
  end

  task write_reg(input logic [11:0] to, input logic [31:0] word);
    @(negedge clk) {at, value, valid} = {to, word, 1'b1};
    @(posedge clk) while (!(aw_ready && w_ready)) @(posedge clk);
    @(negedge clk) valid = 1'b0;
    wait (answered);
    wait (!answered);
  endtask

  initial begin
    repeat (4) @(negedge clk);
    rst = 1'b0;
    for (int i = 16; i < 80; i += 4) write_reg(12'(i), 0);  // the arguments
    write_reg(12'd4, 1);                     // GIE, IER, CTRL
    write_reg(12'd8, 1);
    write_reg(12'd0, 1);
    repeat (100) @(negedge clk);
    $display("interrupt %b", interrupt);
    $finish;
  end
endmodule
