// card_rgmii: the card for an ECP5 board with a Gigabit PHY (RGMII); 50 MHz inside.
// rtl/ecp5/boards.list has the boards and their parameters.
module card_rgmii #(
  parameter logic [47:0] Mac     = 48'h026e_6300_0032,
  parameter logic [31:0] Ip      = 32'h0a00_0032,    // 10.0.0.50
  parameter logic [15:0] Port    = 16'd20035,     // UDP port for frames
  parameter logic [15:0] Control = 16'd20036,     // UDP port for control
  parameter int LaneBytes = 8,                    // 8 to 64
  // of the PLL: 50 MHz = clk_i / InDiv * FbDiv; clk_i / InDiv of at least 10 MHz
  parameter int InDiv = 2,
  parameter int FbDiv = 1
) (
  input  logic       clk_i,
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
  output logic       led_o                   // active low: the clock is locked
);
  logic       clk, locked, rst;
  logic [3:0] reset_q = 4'hf;
  pll50 #(.InDiv(InDiv), .FbDiv(FbDiv)) u_pll (.clkin(clk_i), .clkout0(clk), .locked(locked));
  always_ff @(posedge clk) reset_q <= {reset_q[2:0], !(locked && rst_n_i)};
  assign rst   = reset_q[3];
  assign led_o = !locked;

  localparam int Tick = 50_000 * nc_pkg::LEASE_TICK_MS;  // clocks
  localparam int TickW = $clog2(Tick);
  logic [TickW-1:0] count_q;
  logic             tick_q;
  always_ff @(posedge clk) begin
    tick_q  <= count_q == TickW'(Tick - 1);
    count_q <= rst || tick_q ? '0 : count_q + 1'b1;
  end

  logic [31:0] in_data, in_ip, out_data, out_ip;
  logic [15:0] in_port, out_port, out_from_port, out_length;
  logic [3:0]  in_last_be, in_error, out_last_be;
  logic        in_last, in_valid, in_ready, out_last, out_valid, out_ready;
  logic [31:0] ask_data, ask_ip, answer_data, answer_ip;
  logic [15:0] ask_port, ask_length, answer_port, answer_length;
  logic [3:0]  ask_last_be, ask_error, answer_last_be;
  logic        ask_last, ask_valid, ask_ready, answer_last, answer_valid, answer_ready;

  eth_rgmii u_eth (
    .sys_clock(clk), .sys_reset(rst), .mac_address(Mac), .ip_address(Ip), .frames_port(Port),
    .control_port(Control), .guard_count(),
    .rgmii_clocks_rx(rgmii_rxc_i), .rgmii_clocks_tx(rgmii_txc_o), .rgmii_mdc(rgmii_mdc_o),
    .rgmii_mdio(rgmii_mdio_io), .rgmii_rst_n(rgmii_rst_n_o), .rgmii_rx_ctl(rgmii_rx_ctl_i),
    .rgmii_rx_data(rgmii_rxd_i), .rgmii_tx_ctl(rgmii_tx_ctl_o), .rgmii_tx_data(rgmii_txd_o),
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
    .control_sink_src_port(Control), .control_sink_dst_port(answer_port),
    .control_sink_length(answer_length), .control_sink_valid(answer_valid),
    .control_sink_ready(answer_ready));

  card #(.LaneBytes(LaneBytes)) u_card (
    .clk_i(clk), .rst_i(rst), .port_i(Port), .tick_i(tick_q), .direct_i(1'b0),
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
    .s_awaddr_i('0), .s_awvalid_i(1'b0), .s_awready_o(),
    .s_wdata_i('0), .s_wstrb_i('0), .s_wvalid_i(1'b0), .s_wready_o(),
    .s_bresp_o(), .s_bvalid_o(), .s_bready_i(1'b1),
    .s_araddr_i('0), .s_arvalid_i(1'b0), .s_arready_o(),
    .s_rdata_o(), .s_rresp_o(), .s_rvalid_o(), .s_rready_i(1'b1), .rx_waits_o(), .tx_waits_o(),
    .busy_o());
endmodule
