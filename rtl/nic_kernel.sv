// nic_kernel: wraps nic_core as a Vitis kernel between the host's register bus and a UDP shell that
// names peers by socket number (TDEST), like Xilinx' 100G "VNx" network layer.
//
//   S_AXIS => skid => gate: TDEST to address => nic_core => skid => gate: address to TDEST => skid
//                                                  ^                     sockets          => M_AXIS
//   s_axi_control => axil_split = below 0x1000 =====+= else => shell_regs =====^
//
// A frame from a socket without peer, or to an address without socket, is dropped and counted. Only
// Vitis wrappers use ap_clk and ap_rst_n.
module nic_kernel #(
  parameter int Sockets = 16,                // of the shell, a power of two from 2 to 32768
  parameter int Narrow  = 0,                 // see nic_core
  parameter int Wide    = Narrow != 0 ? 0 : 1
) (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  input  logic [15:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  output logic [1:0]   s_axi_control_bresp,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  input  logic [15:0]  s_axi_control_araddr,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
  input  logic [511:0] S_AXIS_tdata,
  input  logic [63:0]  S_AXIS_tkeep,
  input  logic         S_AXIS_tlast,
  input  logic [15:0]  S_AXIS_tdest,
  input  logic         S_AXIS_tvalid,
  output logic         S_AXIS_tready,
  output logic [511:0] M_AXIS_tdata,
  output logic [63:0]  M_AXIS_tkeep,
  output logic         M_AXIS_tlast,
  output logic [15:0]  M_AXIS_tdest,
  output logic         M_AXIS_tvalid,
  input  logic         M_AXIS_tready
);
  localparam int IndexW = $clog2(Sockets);

  logic rst_q;
  initial rst_q = 1'b1;
  always_ff @(posedge ap_clk) rst_q <= !ap_rst_n;

  logic [1:0]  awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [3:0]  bresp, rresp, wpage, rpage;
  logic [63:0] rdata;
  logic        set, found, drop_in, drop_out;
  logic [IndexW-1:0] socket, found_index;
  logic [47:0] set_address, socket_address, from, to;

  axil_split u_split (
    .clk_i(ap_clk), .rst_i(rst_q),
    .s_awpage_i(s_axi_control_awaddr[15:12]), .s_awvalid_i(s_axi_control_awvalid),
    .s_awready_o(s_axi_control_awready),
    .s_wvalid_i(s_axi_control_wvalid), .s_wready_o(s_axi_control_wready),
    .s_bresp_o(s_axi_control_bresp), .s_bvalid_o(s_axi_control_bvalid),
    .s_bready_i(s_axi_control_bready),
    .s_arpage_i(s_axi_control_araddr[15:12]), .s_arvalid_i(s_axi_control_arvalid),
    .s_arready_o(s_axi_control_arready),
    .s_rdata_o(s_axi_control_rdata), .s_rresp_o(s_axi_control_rresp),
    .s_rvalid_o(s_axi_control_rvalid), .s_rready_i(s_axi_control_rready), .awvalid_o(awvalid),
    .awready_i(awready), .wvalid_o(wvalid), .wready_i(wready), .bresp_i(bresp), .bvalid_i(bvalid),
    .bready_o(bready), .arvalid_o(arvalid), .arready_i(arready), .rdata_i(rdata), .rresp_i(rresp),
    .rvalid_i(rvalid), .rready_o(rready), .wpage_o(wpage), .rpage_o(rpage));

  shell_regs #(.N(Sockets)) u_regs (
    .clk_i(ap_clk), .rst_i(rst_q),
    .s_awaddr_i(s_axi_control_awaddr[11:0]), .s_awvalid_i(awvalid[1]), .s_awready_o(awready[1]),
    .s_wdata_i(s_axi_control_wdata), .s_wstrb_i(s_axi_control_wstrb), .s_wvalid_i(wvalid[1]),
    .s_wready_o(wready[1]), .s_bresp_o(bresp[3:2]), .s_bvalid_o(bvalid[1]), .s_bready_i(bready[1]),
    .s_araddr_i(s_axi_control_araddr[11:0]), .s_arvalid_i(arvalid[1]), .s_arready_o(arready[1]),
    .s_rdata_o(rdata[63:32]), .s_rresp_o(rresp[3:2]), .s_rvalid_o(rvalid[1]),
    .s_rready_i(rready[1]), .wpage_i(wpage), .rpage_i(rpage),
    .set_o(set), .set_index_o(socket), .set_address_o(set_address), .address_i(socket_address),
    .drop_in_i(drop_in), .drop_out_i(drop_out));

  // --- frames in: socket number to source address ---
  logic [591:0] in_beat;                     // {dest, keep, data}
  logic [575:0] rx_beat;
  logic [15:0]  in_dest;
  logic         in_last, in_valid, in_ready, rx_last, rx_valid, rx_ready;
  logic [47:0]  rx_address;
  skid #(.W(593)) u_in (
    .clk_i(ap_clk), .rst_i(rst_q),
    .in_data_i({S_AXIS_tlast, S_AXIS_tdest, S_AXIS_tkeep, S_AXIS_tdata}),
    .in_valid_i(S_AXIS_tvalid), .in_ready_o(S_AXIS_tready),
    .out_data_o({in_last, in_beat}), .out_valid_o(in_valid), .out_ready_i(in_ready));
  assign in_dest = in_beat[591:576];

  sockets #(.N(Sockets)) u_sockets (
    .clk_i(ap_clk), .rst_i(rst_q), .set_i(set), .set_index_i(socket), .set_address_i(set_address),
    .a_index_i(in_dest[IndexW-1:0]), .a_address_o(from),
    .b_index_i(socket), .b_address_o(socket_address), .find_i(to),
    .found_o(found), .found_index_o(found_index));

  frame_gate #(.W(576), .TagW(48)) u_in_gate (
    .clk_i(ap_clk), .rst_i(rst_q),
    .in_data_i(in_beat[575:0]), .in_last_i(in_last), .in_tag_i(from),
    .in_pass_i(in_dest[15:IndexW] == '0 && from[15:0] != '0), .in_valid_i(in_valid),
    .in_ready_o(in_ready),
    .out_data_o(rx_beat), .out_last_o(rx_last), .out_tag_o(rx_address), .out_valid_o(rx_valid),
    .out_ready_i(rx_ready), .dropped_o(drop_in));

  logic [511:0] tx_data, out_data, gate_data;
  logic         tx_last, tx_valid, tx_ready, out_last, out_valid, out_ready, gate_last, gate_valid,
                gate_ready;
  logic [31:0]  tx_ip;
  logic [15:0]  tx_port;
  logic [IndexW-1:0] gate_index, m_index;
  nic_core #(.Wide(Wide), .Narrow(Narrow), .Group(0)) u_core (
    .clk_i(ap_clk), .rst_i(rst_q),
    .rx_data_i(rx_beat[511:0]), .rx_keep_i(rx_beat[575:512]), .rx_last_i(rx_last),
    .rx_ip_i(rx_address[47:16]), .rx_port_i(rx_address[15:0]), .rx_valid_i(rx_valid),
    .rx_ready_o(rx_ready),
    /* verilator lint_off PINCONNECTEMPTY */
    .tx_keep_o(),                            // all ones
    /* verilator lint_on PINCONNECTEMPTY */
    .tx_data_o(tx_data), .tx_last_o(tx_last), .tx_ip_o(tx_ip), .tx_port_o(tx_port),
    .tx_valid_o(tx_valid), .tx_ready_i(tx_ready),
    .s_awaddr_i(s_axi_control_awaddr[11:0]), .s_awvalid_i(awvalid[0]), .s_awready_o(awready[0]),
    .s_wdata_i(s_axi_control_wdata), .s_wstrb_i(s_axi_control_wstrb), .s_wvalid_i(wvalid[0]),
    .s_wready_o(wready[0]), .s_bresp_o(bresp[1:0]), .s_bvalid_o(bvalid[0]), .s_bready_i(bready[0]),
    .s_araddr_i(s_axi_control_araddr[11:0]), .s_arvalid_i(arvalid[0]), .s_arready_o(arready[0]),
    .s_rdata_o(rdata[31:0]), .s_rresp_o(rresp[1:0]), .s_rvalid_o(rvalid[0]),
    .s_rready_i(rready[0]));

  // --- frames out: destination address to socket number ---
  skid #(.W(561)) u_tx (
    .clk_i(ap_clk), .rst_i(rst_q),
    .in_data_i({tx_ip, tx_port, tx_last, tx_data}), .in_valid_i(tx_valid), .in_ready_o(tx_ready),
    .out_data_o({to, out_last, out_data}), .out_valid_o(out_valid), .out_ready_i(out_ready));

  frame_gate #(.W(512), .TagW(IndexW)) u_out_gate (
    .clk_i(ap_clk), .rst_i(rst_q),
    .in_data_i(out_data), .in_last_i(out_last), .in_tag_i(found_index), .in_pass_i(found),
    .in_valid_i(out_valid), .in_ready_o(out_ready),
    .out_data_o(gate_data), .out_last_o(gate_last), .out_tag_o(gate_index),
    .out_valid_o(gate_valid), .out_ready_i(gate_ready), .dropped_o(drop_out));

  skid #(.W(513 + IndexW)) u_out (
    .clk_i(ap_clk), .rst_i(rst_q),
    .in_data_i({gate_index, gate_last, gate_data}), .in_valid_i(gate_valid),
    .in_ready_o(gate_ready),
    .out_data_o({m_index, M_AXIS_tlast, M_AXIS_tdata}), .out_valid_o(M_AXIS_tvalid),
    .out_ready_i(M_AXIS_tready));
  assign M_AXIS_tdest = 16'(m_index);
  assign M_AXIS_tkeep = '1;                  // every beat is full
endmodule
