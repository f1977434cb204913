// reduce_mm_regs: holds the registers of hls/card/mm_regs.def.
module reduce_mm_regs (
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
  input  logic [31:0] status_i,
  output logic [63:0] in_o,
  output logic [63:0] out_o,
  output logic [31:0] parts_o,
  output logic [31:0] stride_o,
  output logic [31:0] beats_o,
  output logic [31:0] fmt_o,
  output logic [31:0] out_fmt_o,
  output logic [31:0] out_shift_o,
  output logic [31:0] saturate_o
);
  logic        write, read, done_q, gie_q, ier_q, isr_q;
  logic [11:0] w_at, r_at;
  logic [31:0] data, mask, read_data;
  axil u_axil (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .write_o(write), .waddr_o(w_at), .wdata_o(data), .wmask_o(mask), .werr_i(1'b0), .wlater_i(1'b0),
    .wdone_i(1'b0), .read_o(read), .raddr_o(r_at), .rerr_i(1'b0), .rdata_i(read_data));

  // Every address gets an answer, as Vitis' generated kernels do.
  assign interrupt_o = gie_q && isr_q;

  function automatic logic [31:0] merged(
    input logic [31:0] old, input logic [31:0] new_bits, input logic [31:0] bits);
    merged = (old & ~bits) | (new_bits & bits);
  endfunction

  always_ff @(posedge clk_i) begin
    if (read && r_at == nc_pkg::MM_CTRL) done_q <= 1'b0;
    if (write) begin
      unique case (w_at)
        nc_pkg::MM_CTRL:      if (mask[0] && data[0]) start_o <= 1'b1;
        nc_pkg::MM_GIE:       if (mask[0]) gie_q <= data[0];
        nc_pkg::MM_IER:       if (mask[0]) ier_q <= data[0];
        nc_pkg::MM_ISR:       if (mask[0] && data[0]) isr_q <= 1'b0;
        nc_pkg::MM_IN_LO:     in_o[31:0] <= merged(in_o[31:0], data, mask);
        nc_pkg::MM_IN_HI:     in_o[63:32] <= merged(in_o[63:32], data, mask);
        nc_pkg::MM_OUT_LO:    out_o[31:0] <= merged(out_o[31:0], data, mask);
        nc_pkg::MM_OUT_HI:    out_o[63:32] <= merged(out_o[63:32], data, mask);
        nc_pkg::MM_PARTS:     parts_o <= merged(parts_o, data, mask);
        nc_pkg::MM_STRIDE:    stride_o <= merged(stride_o, data, mask);
        nc_pkg::MM_BEATS:     beats_o <= merged(beats_o, data, mask);
        nc_pkg::MM_FMT:       fmt_o <= merged(fmt_o, data, mask);
        nc_pkg::MM_OUT_FMT:   out_fmt_o <= merged(out_fmt_o, data, mask);
        nc_pkg::MM_OUT_SHIFT: out_shift_o <= merged(out_shift_o, data, mask);
        nc_pkg::MM_SATURATE:  saturate_o <= merged(saturate_o, data, mask);
        default: ;
      endcase
    end
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
      nc_pkg::MM_CTRL:        read_data = {28'd0, done_q, !start_o, done_q, start_o};
      nc_pkg::MM_GIE:         read_data = 32'(gie_q);
      nc_pkg::MM_IER:         read_data = 32'(ier_q);
      nc_pkg::MM_ISR:         read_data = 32'(isr_q);
      nc_pkg::MM_IN_LO:       read_data = in_o[31:0];
      nc_pkg::MM_IN_HI:       read_data = in_o[63:32];
      nc_pkg::MM_OUT_LO:      read_data = out_o[31:0];
      nc_pkg::MM_OUT_HI:      read_data = out_o[63:32];
      nc_pkg::MM_PARTS:       read_data = parts_o;
      nc_pkg::MM_STRIDE:      read_data = stride_o;
      nc_pkg::MM_BEATS:       read_data = beats_o;
      nc_pkg::MM_FMT:         read_data = fmt_o;
      nc_pkg::MM_OUT_FMT:     read_data = out_fmt_o;
      nc_pkg::MM_OUT_SHIFT:   read_data = out_shift_o;
      nc_pkg::MM_SATURATE:    read_data = saturate_o;
      nc_pkg::MM_STATUS:      read_data = status_i;
      default: ;
    endcase
  end
endmodule
