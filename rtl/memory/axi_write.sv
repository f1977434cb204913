// axi_write: writes beats of 64 bytes to ranges of memory, by AXI4 bursts whose addresses run ahead
// of the data. One id; every beat of a range must come before the next range's.
module axi_write (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [57:0]  range_beat_i,         // address / 64
  input  logic [31:0]  range_beats_i,        // 0: none
  input  logic         range_valid_i,
  output logic         range_ready_o,
  input  logic [511:0] data_i,
  input  logic [63:0]  strb_i,
  input  logic         valid_i,
  output logic         ready_o,
  output logic         idle_o,               // all ranges are written and answered
  output logic         error_o,              // the memory reports an error
  output logic [63:0]  m_awaddr_o,
  output logic [7:0]   m_awlen_o,
  output logic         m_awvalid_o,
  input  logic         m_awready_i,
  output logic [511:0] m_wdata_o,
  output logic [63:0]  m_wstrb_o,
  output logic         m_wlast_o,
  output logic         m_wvalid_o,
  input  logic         m_wready_i,
  input  logic [1:0]   m_bresp_i,
  input  logic         m_bvalid_i,
  output logic         m_bready_o
);
  logic        aw_valid, aw_take, len_ready, len_valid;
  logic [57:0] aw_beat;
  logic [6:0]  aw_beats, len, sent_q;
  logic [31:0] unanswered_q;
  axi_bursts u_aw (
    .clk_i, .rst_i,
    .in_beat_i(range_beat_i), .in_beats_i(range_beats_i), .in_valid_i(range_valid_i),
    .in_ready_o(range_ready_o),
    .out_beat_o(aw_beat), .out_beats_o(aw_beats), .out_valid_o(aw_valid), .out_ready_i(aw_take));
  assign m_awaddr_o  = {aw_beat, 6'd0};
  assign m_awlen_o   = 8'(aw_beats) - 8'd1;
  assign m_awvalid_o = aw_valid && len_ready;
  assign aw_take     = m_awready_i && len_ready;
  fifo #(.W(7), .Depth(4)) u_lens (
    .clk_i, .rst_i, .in_data_i(aw_beats), .in_valid_i(aw_valid && aw_take), .in_ready_o(len_ready),
    .out_data_o(len), .out_valid_o(len_valid), .out_ready_i(valid_i && ready_o && m_wlast_o));
  assign m_wdata_o   = data_i;
  assign m_wstrb_o   = strb_i;
  assign m_wvalid_o  = valid_i && len_valid;
  assign m_wlast_o   = sent_q + 7'd1 == len;
  assign ready_o     = len_valid && m_wready_i;
  assign m_bready_o  = 1'b1;
  assign error_o     = m_bvalid_i && m_bresp_i != '0;
  assign idle_o      = !aw_valid && unanswered_q == '0;

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) sent_q <= m_wlast_o ? '0 : sent_q + 1'b1;
    unanswered_q <= unanswered_q + 32'(aw_valid && aw_take) - 32'(m_bvalid_i);
    if (rst_i) begin
      sent_q       <= '0;
      unanswered_q <= '0;
    end
  end
endmodule
