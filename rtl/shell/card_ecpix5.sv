// card_ecpix5: the card on an ECPIX-5 board (LFE5UM5G-85F): 100 MHz in, 50 MHz inside, Gigabit Ethernet by RGMII.
module card_ecpix5 #(
  parameter logic [47:0] Mac  = 48'h026e_6300_0032,
  parameter logic [31:0] Ip   = 32'h0a00_0032,    // 10.0.0.50
  parameter logic [15:0] Port = 16'd20035         // for frames
) (
  input  logic       clk100_i,
  input  logic       rst_n_i,
  input  logic       rgmii_rxc_i,
  input  logic       rgmii_rx_ctl_i,
  input  logic [3:0] rgmii_rxd_i,
  output logic       rgmii_txc_o,
  output logic       rgmii_tx_ctl_o,
  output logic [3:0] rgmii_txd_o,
  output logic       rgmii_mdc_o,
  output logic       rgmii_rst_n_o,
  inout  wire        rgmii_mdio_io,
  output logic       led_o                   // 0, and the LED shines: the clock is there
);
  logic       clk, locked, rst;
  logic [3:0] reset_q = 4'hf;
  pll50 u_pll (.clkin(clk100_i), .clkout0(clk), .locked(locked));
  always_ff @(posedge clk) reset_q <= {reset_q[2:0], !(locked && rst_n_i)};
  assign rst   = reset_q[3];
  assign led_o = !locked;

  logic [31:0] in_data, in_ip, out_data, out_ip;
  logic [15:0] in_port, out_port, out_from_port, out_length;
  logic [3:0]  in_last_be, in_error, out_last_be;
  logic        in_last, in_valid, in_ready, out_last, out_valid, out_ready;

  eth_ecpix5 u_eth (
    .sys_clock(clk), .sys_reset(rst), .mac_address(Mac), .ip_address(Ip), .frames_port(Port), .guard_count(),
    .rgmii_clocks_rx(rgmii_rxc_i), .rgmii_clocks_tx(rgmii_txc_o), .rgmii_mdc(rgmii_mdc_o), .rgmii_mdio(rgmii_mdio_io),
    .rgmii_rst_n(rgmii_rst_n_o), .rgmii_rx_ctl(rgmii_rx_ctl_i), .rgmii_rx_data(rgmii_rxd_i), .rgmii_tx_ctl(rgmii_tx_ctl_o),
    .rgmii_tx_data(rgmii_txd_o),
    .frames_source_data(in_data), .frames_source_last(in_last), .frames_source_last_be(in_last_be), .frames_source_error(in_error),
    .frames_source_ip_address(in_ip), .frames_source_src_port(in_port), .frames_source_dst_port(), .frames_source_length(),
    .frames_source_valid(in_valid), .frames_source_ready(in_ready), .frames_sink_data(out_data), .frames_sink_last(out_last),
    .frames_sink_last_be(out_last_be), .frames_sink_ip_address(out_ip), .frames_sink_src_port(out_from_port),
    .frames_sink_dst_port(out_port), .frames_sink_length(out_length), .frames_sink_valid(out_valid), .frames_sink_ready(out_ready),
    .control_source_data(), .control_source_last(), .control_source_last_be(), .control_source_error(),
    .control_source_ip_address(), .control_source_src_port(), .control_source_dst_port(), .control_source_length(),
    .control_source_valid(), .control_source_ready(1'b1), .control_sink_data('0), .control_sink_last(1'b0),
    .control_sink_last_be('0), .control_sink_ip_address('0), .control_sink_src_port('0), .control_sink_dst_port('0),
    .control_sink_length('0), .control_sink_valid(1'b0), .control_sink_ready());

  card u_card (
    .clk_i(clk), .rst_i(rst), .port_i(Port), .in_data_i(in_data), .in_last_i(in_last), .in_last_be_i(in_last_be),
    .in_error_i(in_error != '0), .in_ip_i(in_ip), .in_port_i(in_port), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o(out_data), .out_last_o(out_last), .out_last_be_o(out_last_be), .out_ip_o(out_ip), .out_port_o(out_port),
    .out_from_port_o(out_from_port), .out_length_o(out_length), .out_valid_o(out_valid), .out_ready_i(out_ready),
    .s_awaddr_i('0), .s_awvalid_i(1'b0), .s_awready_o(), .s_wdata_i('0), .s_wstrb_i('0), .s_wvalid_i(1'b0), .s_wready_o(),
    .s_bresp_o(), .s_bvalid_o(), .s_bready_i(1'b1), .s_araddr_i('0), .s_arvalid_i(1'b0), .s_arready_o(), .s_rdata_o(),
    .s_rresp_o(), .s_rvalid_o(), .s_rready_i(1'b1), .rx_waits_o(), .tx_waits_o());
endmodule
