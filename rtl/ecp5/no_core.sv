// no_core: replaces nic_core, to route a card's shell without it: returns frames of whole flits to
// their senders. Reads rx_keep_i only so that synthesis keeps it.
module nic_core #(
  parameter int Slots = 0, Rows = 0, Jobs = 0, FifoBeats = 0, Descs = 0, Answers = 0, Wide = 0,
                Ultra = 0, LaneBytes = 64
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [8*LaneBytes-1:0] rx_data_i,
  input  logic [LaneBytes-1:0] rx_keep_i,
  input  logic         rx_last_i,
  input  logic [31:0]  rx_ip_i,
  input  logic [15:0]  rx_port_i,
  input  logic         rx_valid_i,
  output logic         rx_ready_o,
  output logic [8*LaneBytes-1:0] tx_data_o,
  output logic [LaneBytes-1:0] tx_keep_o,
  output logic         tx_last_o,
  output logic [31:0]  tx_ip_o,
  output logic [15:0]  tx_port_o,
  output logic         tx_valid_o,
  input  logic         tx_ready_i,
  // registers (AXI-Lite): hls/card/regs.def
  input  logic [11:0]  s_awaddr_i,
  input  logic         s_awvalid_i,
  output logic         s_awready_o,
  input  logic [31:0]  s_wdata_i,
  input  logic [3:0]   s_wstrb_i,
  input  logic         s_wvalid_i,
  output logic         s_wready_o,
  output logic [1:0]   s_bresp_o,
  output logic         s_bvalid_o,
  input  logic         s_bready_i,
  input  logic [11:0]  s_araddr_i,
  input  logic         s_arvalid_i,
  output logic         s_arready_o,
  output logic [31:0]  s_rdata_o,
  output logic [1:0]   s_rresp_o,
  output logic         s_rvalid_o,
  input  logic         s_rready_i
);
  assign tx_keep_o = '1;
  skid #(.W(8 * LaneBytes + 1 + 48)) u_back (
    .clk_i, .rst_i,
    .in_data_i({rx_data_i, rx_last_i, rx_ip_i, rx_port_i}), .in_valid_i(rx_valid_i && &rx_keep_i),
    .in_ready_o(rx_ready_o),
    .out_data_o({tx_data_o, tx_last_o, tx_ip_o, tx_port_o}), .out_valid_o(tx_valid_o),
    .out_ready_i(tx_ready_i));
  logic        write;
  logic [11:0] waddr, raddr;
  logic [31:0] wdata, wmask, value_q;
  // Register 0 reads as last written. Other addresses are errors.
  axil u_axil (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .write_o(write), .waddr_o(waddr), .wdata_o(wdata), .wmask_o(wmask), .werr_i(waddr != '0),
    .wlater_i(1'b0), .wdone_i(1'b0), .read_o(), .raddr_o(raddr), .rerr_i(raddr != '0),
    .rdata_i(value_q));
  always_ff @(posedge clk_i) begin
    if (write && waddr == '0) value_q <= (value_q & ~wmask) | (wdata & wmask);
    if (rst_i) value_q <= '0;
  end
endmodule
