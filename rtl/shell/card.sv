// card: connects nic_core to two UDP ports of 32-bit words: for frames, and for control
// of its registers by leases.
//
//  LiteEth ==words==> beat_words ==flits==> nic_core ==flits==> beat_words ==words==> LiteEth
//          ==words=======================> control <== answers: words =============>
//
// The defaults fit an ECP5-85F: 8-bit formats, 16 slots, 2 jobs.
module card #(
  parameter int Slots = 16,
  parameter int Rows  = 32,
  parameter int Jobs  = 2,
  parameter int Wide  = 0,
  parameter int LaneBytes = 8  // 8 to 64; 8: 3.2 Gbit/s at 50 MHz
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [15:0] port_i,
  input  logic        tick_i,                // a pulse every LEASE_TICK_MS
  input  logic        direct_i,              // constant; 1: s_* drives registers, control is off
  input  logic [31:0] in_data_i,
  input  logic        in_last_i,
  input  logic [3:0]  in_last_be_i,
  input  logic        in_error_i,
  input  logic [31:0] in_ip_i,
  input  logic [15:0] in_port_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [31:0] out_data_o,
  output logic        out_last_o,
  output logic [3:0]  out_last_be_o,
  output logic [31:0] out_ip_o,
  output logic [15:0] out_port_o,
  output logic [15:0] out_from_port_o,
  output logic [15:0] out_length_o,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  // control in and out: hls/card/lease.def
  input  logic [31:0] ask_data_i,
  input  logic        ask_last_i,
  input  logic [3:0]  ask_last_be_i,
  input  logic        ask_error_i,
  input  logic [31:0] ask_ip_i,
  input  logic [15:0] ask_port_i,
  input  logic [15:0] ask_length_i,
  input  logic        ask_valid_i,
  output logic        ask_ready_o,
  output logic [31:0] answer_data_o,
  output logic        answer_last_o,
  output logic [3:0]  answer_last_be_o,
  output logic [31:0] answer_ip_o,
  output logic [15:0] answer_port_o,
  output logic [15:0] answer_length_o,
  output logic        answer_valid_o,
  input  logic        answer_ready_i,
  // registers (AXI-Lite) for direct_i: hls/card/regs.def
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
  // a received flit waits for the core; a core's flit for the shell
  output logic        rx_waits_o,
  output logic        tx_waits_o,
  output logic        busy_o                 // control is working
);
  logic [8*LaneBytes-1:0] rx_data, tx_data;
  logic [LaneBytes-1:0] rx_keep;
  logic [31:0]  rx_ip, tx_ip;
  logic [15:0]  rx_port, tx_port;
  logic [31:0]  wdata;
  logic [11:0]  awaddr, araddr;
  logic [3:0]   wstrb;
  logic         awvalid, awready, wvalid, wready, bready, arvalid, arready, rready, ask_ready,
                answer_valid;
  logic         rx_last, rx_valid, rx_ready, tx_last, tx_valid, tx_ready;

  beat_words #(.LaneBytes(LaneBytes)) u_words (
    .clk_i, .rst_i,
    .in_data_i, .in_last_i, .in_last_be_i, .in_error_i, .in_ip_i, .in_port_i, .in_valid_i,
    .in_ready_o,
    .rx_data_o(rx_data), .rx_keep_o(rx_keep), .rx_last_o(rx_last), .rx_ip_o(rx_ip),
    .rx_port_o(rx_port), .rx_valid_o(rx_valid), .rx_ready_i(rx_ready),
    .tx_data_i(tx_data), .tx_last_i(tx_last), .tx_ip_i(tx_ip), .tx_port_i(tx_port),
    .tx_valid_i(tx_valid), .tx_ready_o(tx_ready),
    .out_data_o, .out_last_o, .out_ip_o, .out_port_o, .out_length_o, .out_valid_o, .out_ready_i);
  assign out_last_be_o   = {out_last_o, 3'd0};
  assign out_from_port_o = port_i;

  nic_core #(
    .Slots(Slots), .Rows(Rows), .Jobs(Jobs), .Wide(Wide),
    .FifoBeats(64), .Descs(8), .Answers(4), .Ultra(0), .LaneBytes(LaneBytes)
  ) u_core (
    .clk_i, .rst_i,
    .rx_data_i(rx_data), .rx_keep_i(rx_keep), .rx_last_i(rx_last), .rx_ip_i(rx_ip),
    .rx_port_i(rx_port), .rx_valid_i(rx_valid), .rx_ready_o(rx_ready),
    /* verilator lint_off PINCONNECTEMPTY */
    .tx_keep_o(),                            // all ones
    /* verilator lint_on PINCONNECTEMPTY */
    .tx_data_o(tx_data), .tx_last_o(tx_last), .tx_ip_o(tx_ip), .tx_port_o(tx_port),
    .tx_valid_o(tx_valid), .tx_ready_i(tx_ready),
    .s_awaddr_i(direct_i ? s_awaddr_i : awaddr), .s_awvalid_i(direct_i ? s_awvalid_i : awvalid),
    .s_awready_o(awready),
    .s_wdata_i(direct_i ? s_wdata_i : wdata), .s_wstrb_i(direct_i ? s_wstrb_i : wstrb),
    .s_wvalid_i(direct_i ? s_wvalid_i : wvalid), .s_wready_o(wready),
    .s_bresp_o, .s_bvalid_o, .s_bready_i(direct_i ? s_bready_i : bready),
    .s_araddr_i(direct_i ? s_araddr_i : araddr), .s_arvalid_i(direct_i ? s_arvalid_i : arvalid),
    .s_arready_o(arready),
    .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i(direct_i ? s_rready_i : rready));
  assign s_awready_o = awready;
  assign s_wready_o  = wready;
  assign s_arready_o = arready;

  control #(.Jobs(Jobs), .Slots(Slots)) u_control (
    .clk_i, .rst_i(rst_i || direct_i), .tick_i, .frame_port_i(port_i), .busy_o,
    .in_valid_i(ask_valid_i), .in_ready_o(ask_ready), .in_last_i(ask_last_i),
    .in_data_i(ask_data_i), .in_last_be_i(ask_last_be_i), .in_error_i(ask_error_i),
    .in_src_ip_i(ask_ip_i), .in_src_port_i(ask_port_i), .in_length_i(ask_length_i),
    .out_valid_o(answer_valid), .out_ready_i(answer_ready_i), .out_last_o(answer_last_o),
    .out_data_o(answer_data_o), .out_last_be_o(answer_last_be_o), .out_ip_o(answer_ip_o),
    .out_port_o(answer_port_o), .out_length_o(answer_length_o),
    .m_awaddr_o(awaddr), .m_awvalid_o(awvalid), .m_awready_i(awready),
    .m_wdata_o(wdata), .m_wstrb_o(wstrb), .m_wvalid_o(wvalid), .m_wready_i(wready),
    .m_bresp_i(s_bresp_o), .m_bvalid_i(s_bvalid_o), .m_bready_o(bready),
    .m_araddr_o(araddr), .m_arvalid_o(arvalid), .m_arready_i(arready),
    .m_rdata_i(s_rdata_o), .m_rresp_i(s_rresp_o), .m_rvalid_i(s_rvalid_o), .m_rready_o(rready));
  assign ask_ready_o    = direct_i || ask_ready;
  assign answer_valid_o = !direct_i && answer_valid;

  assign rx_waits_o = rx_valid && !rx_ready;
  assign tx_waits_o = tx_valid && !tx_ready;
endmodule
