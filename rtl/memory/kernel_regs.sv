// kernel_regs: holds the registers of a kernel with ap_ctrl_hs: KERNEL_CTRL to KERNEL_ISR, the
// kernel's arguments (hls/card/kernels.def) and, for reduce_mm, KERNEL_STATUS.
module kernel_regs #(
  parameter int Kernel = nc_pkg::KERNEL_REDUCE_MM
) (
  input  logic        clk_i,
  input  logic        rst_i,
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
  output logic        interrupt_o,
  output logic        start_o,               // held until done
  input  logic        done_i,                // pulse
  input  logic [31:0] status_i,              // of reduce_mm
  // the word at offset 4i is 32 bits from 32i on; words of no argument are undefined
  output logic [1023:0] args_o
);
  localparam bit [31:0] Words = nc_pkg::ARG_WORDS[32*Kernel+:32];
  logic        write, read, done_q, gie_q, ier_q, isr_q;
  logic [11:0] w_at, r_at;
  logic [31:0] data, mask, read_data;
  // Every address gets an answer, as Vitis' generated kernels do.
  axil u_axil (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .write_o(write), .waddr_o(w_at), .wdata_o(data), .wmask_o(mask), .werr_i(1'b0), .wlater_i(1'b0),
    .wdone_i(1'b0), .read_o(read), .raddr_o(r_at), .rerr_i(1'b0), .rdata_i(read_data));

  assign interrupt_o = gie_q && isr_q;

  always_ff @(posedge clk_i) begin
    if (read && r_at == nc_pkg::KERNEL_CTRL) done_q <= 1'b0;
    if (write) begin
      unique case (w_at)
        nc_pkg::KERNEL_CTRL: if (mask[0] && data[0]) start_o <= 1'b1;
        nc_pkg::KERNEL_GIE:  if (mask[0]) gie_q <= data[0];
        nc_pkg::KERNEL_IER:  if (mask[0]) ier_q <= data[0];
        nc_pkg::KERNEL_ISR:  if (mask[0] && data[0]) isr_q <= 1'b0;
        default: ;
      endcase
    end
    for (int i = 0; i < 32; i++)
      if (write && Words[i] && w_at == 12'(4 * i))
        args_o[32*i+:32] <= (args_o[32*i+:32] & ~mask) | (data & mask);
    if (done_i) begin
      start_o <= 1'b0;
      done_q  <= 1'b1;
      if (ier_q) isr_q <= 1'b1;
    end
    if (rst_i) {start_o, done_q, gie_q, ier_q, isr_q} <= '0;
  end

  always_comb begin
    read_data = '0;
    unique case (r_at)
      nc_pkg::KERNEL_CTRL:   read_data = {28'd0, done_q, !start_o, done_q, start_o};
      nc_pkg::KERNEL_GIE:    read_data = 32'(gie_q);
      nc_pkg::KERNEL_IER:    read_data = 32'(ier_q);
      nc_pkg::KERNEL_ISR:    read_data = 32'(isr_q);
      nc_pkg::KERNEL_STATUS: if (Kernel == nc_pkg::KERNEL_REDUCE_MM) read_data = status_i;
      default:           read_data = '0;
    endcase
    for (int i = 0; i < 32; i++)
      if (Words[i] && r_at == 12'(4 * i)) read_data = args_o[32*i+:32];
  end
endmodule
