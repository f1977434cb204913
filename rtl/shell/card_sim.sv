// card_sim: the card with its shell for Verilator: Ethernet frames with preamble and CRC.
module card_sim #(
  parameter int LaneBytes = 8  // 8 to 64; 8: 3.2 Gbit/s at 50 MHz
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [47:0] mac_i,
  input  logic [31:0] ip_i,
  input  logic [15:0] port_i,
  input  logic [15:0] control_port_i,
  input  logic        tick_i,                // a pulse every LEASE_TICK_MS
  input  logic        direct_i,              // 1: s_* drives registers, control is off
  // the wire: four bytes a clock, the first in bits 7..0
  input  logic [31:0] rx_data_i,
  input  logic        rx_last_i,
  input  logic [3:0]  rx_last_be_i,
  input  logic        rx_valid_i,
  output logic        rx_ready_o,
  output logic [31:0] tx_data_o,
  output logic        tx_last_o,
  output logic [3:0]  tx_last_be_o,
  output logic        tx_valid_o,
  input  logic        tx_ready_i,
  // registers (AXI-Lite): hls/card/regs.def
  input  logic [11:0] s_awaddr_i,
  input  logic        s_awvalid_i,
  output logic        s_awready_o,
  input  logic [31:0] s_wdata_i,
  input  logic [3:0]  s_wstrb_i,
  input  logic        s_wvalid_i,
  output logic        s_wready_o,
  output logic [1:0]  s_bresp_o,
  output logic        s_bvalid_o,
  input  logic        s_bready_i,
  input  logic [11:0] s_araddr_i,
  input  logic        s_arvalid_i,
  output logic        s_arready_o,
  output logic [31:0] s_rdata_o,
  output logic [1:0]  s_rresp_o,
  output logic        s_rvalid_o,
  input  logic        s_rready_i,
  // counted outside: eth_guard's frames, card's clocks
  output logic [4:0]  count_o,
  output logic        rx_waits_o,
  output logic        tx_waits_o,
  output logic        busy_o
);
  logic [31:0] in_data, in_ip, out_data, out_ip;
  logic [15:0] in_port, out_port, out_from_port, out_length;
  logic [3:0]  in_last_be, in_error, out_last_be;
  logic        in_last, in_valid, in_ready, out_last, out_valid, out_ready;
  logic [31:0] ask_data, ask_ip, answer_data, answer_ip;
  logic [15:0] ask_port, ask_length, answer_port, answer_length;
  logic [3:0]  ask_last_be, ask_error, answer_last_be;
  logic        ask_last, ask_valid, ask_ready, answer_last, answer_valid, answer_ready;

  /* verilator lint_off PINCONNECTEMPTY */
  eth_sim u_eth (
    .sys_clock(clk_i), .sys_reset(rst_i), .mac_address(mac_i), .ip_address(ip_i),
    .frames_port(port_i), .control_port(control_port_i), .guard_count(count_o),
    .phy_sink_data(rx_data_i), .phy_sink_last(rx_last_i), .phy_sink_last_be(rx_last_be_i),
    .phy_sink_valid(rx_valid_i), .phy_sink_ready(rx_ready_o),
    .phy_source_data(tx_data_o), .phy_source_last(tx_last_o), .phy_source_last_be(tx_last_be_o),
    .phy_source_valid(tx_valid_o), .phy_source_ready(tx_ready_i), .phy_source_error(),
    .frames_source_data(in_data), .frames_source_last(in_last), .frames_source_last_be(in_last_be),
    .frames_source_error(in_error), .frames_source_ip_address(in_ip),
    .frames_source_src_port(in_port), .frames_source_dst_port(), .frames_source_length(),
    .frames_source_valid(in_valid), .frames_source_ready(in_ready),
    .frames_sink_data(out_data), .frames_sink_last(out_last), .frames_sink_last_be(out_last_be),
    .frames_sink_ip_address(out_ip), .frames_sink_src_port(out_from_port),
    .frames_sink_dst_port(out_port), .frames_sink_length(out_length), .frames_sink_valid(out_valid),
    .frames_sink_ready(out_ready),
    .control_source_data(ask_data), .control_source_last(ask_last),
    .control_source_last_be(ask_last_be), .control_source_error(ask_error),
    .control_source_ip_address(ask_ip), .control_source_src_port(ask_port),
    .control_source_dst_port(), .control_source_length(ask_length),
    .control_source_valid(ask_valid), .control_source_ready(ask_ready),
    .control_sink_data(answer_data), .control_sink_last(answer_last),
    .control_sink_last_be(answer_last_be), .control_sink_ip_address(answer_ip),
    .control_sink_src_port(control_port_i), .control_sink_dst_port(answer_port),
    .control_sink_length(answer_length), .control_sink_valid(answer_valid),
    .control_sink_ready(answer_ready));
  /* verilator lint_on PINCONNECTEMPTY */

  card #(.LaneBytes(LaneBytes)) u_card (
    .clk_i, .rst_i, .port_i, .tick_i, .direct_i,
    .in_data_i(in_data), .in_last_i(in_last), .in_last_be_i(in_last_be),
    .in_error_i(in_error != '0), .in_ip_i(in_ip), .in_port_i(in_port),
    .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o(out_data), .out_last_o(out_last), .out_last_be_o(out_last_be), .out_ip_o(out_ip),
    .out_port_o(out_port), .out_from_port_o(out_from_port), .out_length_o(out_length),
    .out_valid_o(out_valid), .out_ready_i(out_ready),
    .ask_data_i(ask_data), .ask_last_i(ask_last), .ask_last_be_i(ask_last_be),
    .ask_error_i(ask_error != '0), .ask_ip_i(ask_ip), .ask_port_i(ask_port),
    .ask_length_i(ask_length), .ask_valid_i(ask_valid), .ask_ready_o(ask_ready),
    .answer_data_o(answer_data), .answer_last_o(answer_last), .answer_last_be_o(answer_last_be),
    .answer_ip_o(answer_ip), .answer_port_o(answer_port), .answer_length_o(answer_length),
    .answer_valid_o(answer_valid), .answer_ready_i(answer_ready),
    .s_awaddr_i, .s_awvalid_i, .s_awready_o, .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o,
    .s_bresp_o, .s_bvalid_o, .s_bready_i, .s_araddr_i, .s_arvalid_i, .s_arready_o,
    .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i, .rx_waits_o, .tx_waits_o, .busy_o);
endmodule
