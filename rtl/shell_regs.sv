// shell_regs: holds the registers of hls/card/shell.def, page 1 of the window. An unknown address
// gets SLVERR.
module shell_regs #(
  parameter int N = 16,                      // sockets
  localparam int IndexW = $clog2(N)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic [11:0]       s_awaddr_i,
  input  logic              s_awvalid_i,
  output logic              s_awready_o,
  input  logic [31:0]       s_wdata_i,
  input  logic [3:0]        s_wstrb_i,
  input  logic              s_wvalid_i,
  output logic              s_wready_o,
  output logic [1:0]        s_bresp_o,
  output logic              s_bvalid_o,
  input  logic              s_bready_i,
  input  logic [11:0]       s_araddr_i,
  input  logic              s_arvalid_i,
  output logic              s_arready_o,
  output logic [31:0]       s_rdata_o,
  output logic [1:0]        s_rresp_o,
  output logic              s_rvalid_o,
  input  logic              s_rready_i,
  input  logic [3:0]        wpage_i,         // page of the write; page of the read
  input  logic [3:0]        rpage_i,
  output logic              set_o,           // pulse
  output logic [IndexW-1:0] set_index_o,     // register SOCKET
  output logic [47:0]       set_address_o,
  input  logic [47:0]       address_i,       // address of socket SOCKET
  input  logic              drop_in_i,       // pulses
  input  logic              drop_out_i
);
  logic        write;
  logic [11:0] w_low, r_low;
  logic [15:0] w_at, r_at;
  logic [31:0] w_data, mask, read_data, ip_q, port_q, socket_q, peer_q, in_q, out_q;

  /* verilator lint_off PINCONNECTEMPTY */
  axil u_axil (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .write_o(write), .waddr_o(w_low), .wdata_o(w_data), .wmask_o(mask), .werr_i(!known(w_at)),
    .wlater_i(1'b0), .wdone_i(1'b0), .read_o(), .raddr_o(r_low), .rerr_i(!known(r_at)),
    .rdata_i(read_data));
  /* verilator lint_on PINCONNECTEMPTY */
  assign w_at = {wpage_i, w_low};
  assign r_at = {rpage_i, r_low};

  function automatic logic known(input logic [15:0] at);
    case (at)
      nc_pkg::SHELL_IP, nc_pkg::SHELL_PORT, nc_pkg::SHELL_SOCKETS, nc_pkg::SHELL_SOCKET,
      nc_pkg::SHELL_SOCKET_IP, nc_pkg::SHELL_SOCKET_PORT, nc_pkg::SHELL_DROPS_IN,
      nc_pkg::SHELL_DROPS_OUT: known = 1'b1;
      default: known = 1'b0;
    endcase
  endfunction

  function automatic logic [31:0] merged(
    input logic [31:0] old, input logic [31:0] data, input logic [31:0] bits);
    merged = (old & ~bits) | (data & bits);
  endfunction

  assign set_index_o   = socket_q[IndexW-1:0];
  assign set_address_o = {peer_q, w_data[15:0]};
  assign set_o         = write && w_at == nc_pkg::SHELL_SOCKET_PORT && &mask[15:0] && socket_q < N;

  always_ff @(posedge clk_i) begin
    if (write) begin
      unique case (w_at)
        nc_pkg::SHELL_IP:        ip_q     <= merged(ip_q, w_data, mask);
        nc_pkg::SHELL_PORT:      port_q   <= merged(port_q, w_data, mask);
        nc_pkg::SHELL_SOCKET:    socket_q <= merged(socket_q, w_data, mask);
        nc_pkg::SHELL_SOCKET_IP: peer_q   <= merged(peer_q, w_data, mask);
        default: ;
      endcase
    end
    if (drop_in_i) in_q <= in_q + 1'b1;
    if (drop_out_i) out_q <= out_q + 1'b1;
    if (rst_i) {ip_q, port_q, socket_q, peer_q, in_q, out_q} <= '0;
  end

  always_comb begin
    read_data = '0;
    unique case (r_at)
      nc_pkg::SHELL_IP:          read_data = ip_q;
      nc_pkg::SHELL_PORT:        read_data = port_q;
      nc_pkg::SHELL_SOCKETS:     read_data = N;
      nc_pkg::SHELL_SOCKET:      read_data = socket_q;
      nc_pkg::SHELL_SOCKET_IP:   read_data = socket_q < N ? address_i[47:16] : '0;
      nc_pkg::SHELL_SOCKET_PORT: read_data = socket_q < N ? 32'(address_i[15:0]) : '0;
      nc_pkg::SHELL_DROPS_IN:    read_data = in_q;
      nc_pkg::SHELL_DROPS_OUT:   read_data = out_q;
      default: ;
    endcase
  end
endmodule
