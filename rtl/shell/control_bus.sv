// control_bus: performs one AXI-Lite write or read at a time.
module control_bus (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        start_i,               // held until done_o, like the next three
  input  logic        write_i,
  input  logic [11:0] at_i,
  input  logic [31:0] data_i,
  output logic        done_o,                // the access ends in this clock
  output logic        bad_o,                 // then: the slave answers with an error
  output logic [31:0] data_o,                // then: the value read
  output logic [11:0] m_awaddr_o,
  output logic        m_awvalid_o,
  input  logic        m_awready_i,
  output logic [31:0] m_wdata_o,
  output logic [3:0]  m_wstrb_o,
  output logic        m_wvalid_o,
  input  logic        m_wready_i,
  input  logic [1:0]  m_bresp_i,
  input  logic        m_bvalid_i,
  output logic        m_bready_o,
  output logic [11:0] m_araddr_o,
  output logic        m_arvalid_o,
  input  logic        m_arready_i,
  input  logic [31:0] m_rdata_i,
  input  logic [1:0]  m_rresp_i,
  input  logic        m_rvalid_i,
  output logic        m_rready_o
);
  logic aw_done_q, w_done_q, ar_done_q;      // taken by the slave

  assign m_awaddr_o  = at_i;
  assign m_wdata_o   = data_i;
  assign m_wstrb_o   = '1;
  assign m_araddr_o  = at_i;
  assign m_awvalid_o = start_i && write_i && !aw_done_q;
  assign m_wvalid_o  = start_i && write_i && !w_done_q;
  assign m_arvalid_o = start_i && !write_i && !ar_done_q;
  assign m_bready_o  = aw_done_q && w_done_q;
  assign m_rready_o  = ar_done_q;
  assign done_o      = (m_bvalid_i && m_bready_o) || (m_rvalid_i && m_rready_o);
  assign bad_o       = write_i ? m_bresp_i != '0 : m_rresp_i != '0;
  assign data_o      = m_rdata_i;

  always_ff @(posedge clk_i) begin
    if (m_awvalid_o && m_awready_i) aw_done_q <= 1'b1;
    if (m_wvalid_o && m_wready_i) w_done_q <= 1'b1;
    if (m_arvalid_o && m_arready_i) ar_done_q <= 1'b1;
    if (rst_i || done_o) {aw_done_q, w_done_q, ar_done_q} <= '0;
  end

`ifdef FORMAL
  // Each start is one access, stable until taken, with its own answer. Assumed: the user holds its
  // inputs, the slave answers each access.
  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (!past_q) assume (rst_i);
    if (past_q && !$past(rst_i) && $past(start_i && !done_o))
      assume (start_i && $stable({write_i, at_i, data_i}));
    if (m_bvalid_i) assume (aw_done_q && w_done_q);
    if (m_rvalid_i) assume (ar_done_q);
    if (past_q) begin
      assert (!((aw_done_q || w_done_q) && ar_done_q));
      if (aw_done_q || w_done_q) assert (start_i && write_i);
      if (ar_done_q) assert (start_i && !write_i);
      if (done_o) assert (start_i && (write_i ? m_bvalid_i : m_rvalid_i));
    end
    if (past_q && !rst_i && !$past(rst_i)) begin
      if ($past(m_awvalid_o && !m_awready_i)) assert (m_awvalid_o && $stable(m_awaddr_o));
      if ($past(m_wvalid_o && !m_wready_i)) assert (m_wvalid_o && $stable(m_wdata_o));
      if ($past(m_arvalid_o && !m_arready_i)) assert (m_arvalid_o && $stable(m_araddr_o));
    end
  end
`endif
endmodule
