// mm_kernel: wraps reduce_mm or cast_mm as a Vitis kernel: renames ports and adds constant AXI4
// signals.
module mm_kernel #(
  parameter int Kernel = nc_pkg::KERNEL_REDUCE_MM,
  parameter int Wide = 1                     // only of reduce_mm
) (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  /* verilator lint_off SYMRSVDWORD */
  output logic         interrupt,            // Vitis' name, a keyword of C++
  /* verilator lint_on SYMRSVDWORD */
  input  logic [11:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  output logic [1:0]   s_axi_control_bresp,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  input  logic [11:0]  s_axi_control_araddr,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
  output logic [63:0]  m_axi_gmem_araddr,
  output logic [7:0]   m_axi_gmem_arlen,
  output logic [2:0]   m_axi_gmem_arsize,
  output logic [1:0]   m_axi_gmem_arburst,
  output logic         m_axi_gmem_arvalid,
  input  logic         m_axi_gmem_arready,
  input  logic [511:0] m_axi_gmem_rdata,
  input  logic [1:0]   m_axi_gmem_rresp,
  /* verilator lint_off UNUSEDSIGNAL */
  input  logic         m_axi_gmem_rlast,     // unused: kernels know their bursts' length
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic         m_axi_gmem_rvalid,
  output logic         m_axi_gmem_rready,
  output logic [63:0]  m_axi_gmem_awaddr,
  output logic [7:0]   m_axi_gmem_awlen,
  output logic [2:0]   m_axi_gmem_awsize,
  output logic [1:0]   m_axi_gmem_awburst,
  output logic         m_axi_gmem_awvalid,
  input  logic         m_axi_gmem_awready,
  output logic [511:0] m_axi_gmem_wdata,
  output logic [63:0]  m_axi_gmem_wstrb,
  output logic         m_axi_gmem_wlast,
  output logic         m_axi_gmem_wvalid,
  input  logic         m_axi_gmem_wready,
  input  logic [1:0]   m_axi_gmem_bresp,
  input  logic         m_axi_gmem_bvalid,
  output logic         m_axi_gmem_bready
);
  logic rst_q = 1'b1;
  always_ff @(posedge ap_clk) rst_q <= !ap_rst_n;

  assign m_axi_gmem_arsize  = 3'd6;          // 64 bytes
  assign m_axi_gmem_awsize  = 3'd6;
  assign m_axi_gmem_arburst = 2'd1;          // INCR
  assign m_axi_gmem_awburst = 2'd1;

  if (Kernel == nc_pkg::KERNEL_REDUCE_MM) begin : g_reduce
    reduce_mm #(.Wide(Wide)) u_kernel (
      .clk_i(ap_clk), .rst_i(rst_q),
      .s_awaddr_i(s_axi_control_awaddr), .s_awvalid_i(s_axi_control_awvalid),
      .s_awready_o(s_axi_control_awready),
      .s_wdata_i(s_axi_control_wdata), .s_wstrb_i(s_axi_control_wstrb),
      .s_wvalid_i(s_axi_control_wvalid), .s_wready_o(s_axi_control_wready),
      .s_bresp_o(s_axi_control_bresp), .s_bvalid_o(s_axi_control_bvalid),
      .s_bready_i(s_axi_control_bready),
      .s_araddr_i(s_axi_control_araddr), .s_arvalid_i(s_axi_control_arvalid),
      .s_arready_o(s_axi_control_arready),
      .s_rdata_o(s_axi_control_rdata), .s_rresp_o(s_axi_control_rresp),
      .s_rvalid_o(s_axi_control_rvalid), .s_rready_i(s_axi_control_rready), .interrupt_o(interrupt),
      .m_araddr_o(m_axi_gmem_araddr), .m_arlen_o(m_axi_gmem_arlen),
      .m_arvalid_o(m_axi_gmem_arvalid), .m_arready_i(m_axi_gmem_arready),
      .m_rdata_i(m_axi_gmem_rdata), .m_rresp_i(m_axi_gmem_rresp), .m_rvalid_i(m_axi_gmem_rvalid),
      .m_rready_o(m_axi_gmem_rready),
      .m_awaddr_o(m_axi_gmem_awaddr), .m_awlen_o(m_axi_gmem_awlen),
      .m_awvalid_o(m_axi_gmem_awvalid), .m_awready_i(m_axi_gmem_awready),
      .m_wdata_o(m_axi_gmem_wdata), .m_wstrb_o(m_axi_gmem_wstrb), .m_wlast_o(m_axi_gmem_wlast),
      .m_wvalid_o(m_axi_gmem_wvalid), .m_wready_i(m_axi_gmem_wready),
      .m_bresp_i(m_axi_gmem_bresp), .m_bvalid_i(m_axi_gmem_bvalid), .m_bready_o(m_axi_gmem_bready));
  end else begin : g_cast
    cast_mm #(.Kernel(Kernel)) u_kernel (
      .clk_i(ap_clk), .rst_i(rst_q),
      .s_awaddr_i(s_axi_control_awaddr), .s_awvalid_i(s_axi_control_awvalid),
      .s_awready_o(s_axi_control_awready),
      .s_wdata_i(s_axi_control_wdata), .s_wstrb_i(s_axi_control_wstrb),
      .s_wvalid_i(s_axi_control_wvalid), .s_wready_o(s_axi_control_wready),
      .s_bresp_o(s_axi_control_bresp), .s_bvalid_o(s_axi_control_bvalid),
      .s_bready_i(s_axi_control_bready),
      .s_araddr_i(s_axi_control_araddr), .s_arvalid_i(s_axi_control_arvalid),
      .s_arready_o(s_axi_control_arready),
      .s_rdata_o(s_axi_control_rdata), .s_rresp_o(s_axi_control_rresp),
      .s_rvalid_o(s_axi_control_rvalid), .s_rready_i(s_axi_control_rready), .interrupt_o(interrupt),
      .m_araddr_o(m_axi_gmem_araddr), .m_arlen_o(m_axi_gmem_arlen),
      .m_arvalid_o(m_axi_gmem_arvalid), .m_arready_i(m_axi_gmem_arready),
      .m_rdata_i(m_axi_gmem_rdata), .m_rresp_i(m_axi_gmem_rresp), .m_rvalid_i(m_axi_gmem_rvalid),
      .m_rready_o(m_axi_gmem_rready),
      .m_awaddr_o(m_axi_gmem_awaddr), .m_awlen_o(m_axi_gmem_awlen),
      .m_awvalid_o(m_axi_gmem_awvalid), .m_awready_i(m_axi_gmem_awready),
      .m_wdata_o(m_axi_gmem_wdata), .m_wstrb_o(m_axi_gmem_wstrb), .m_wlast_o(m_axi_gmem_wlast),
      .m_wvalid_o(m_axi_gmem_wvalid), .m_wready_i(m_axi_gmem_wready),
      .m_bresp_i(m_axi_gmem_bresp), .m_bvalid_i(m_axi_gmem_bvalid), .m_bready_o(m_axi_gmem_bready));
  end
endmodule
