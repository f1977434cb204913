// axil: an AXI-Lite slave's handshakes. Shows each write and read, one of each at a time, as one
// clock of write_o or read_o. A write's address and data come in any order. werr_i and rerr_i turn
// the response into SLVERR.
module axil (
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
  output logic        write_o,
  output logic [11:0] waddr_o,
  output logic [31:0] wdata_o,
  output logic [31:0] wmask_o,               // enabled by the strobes
  input  logic        werr_i,                // depends on waddr_o
  input  logic        wlater_i,              // with write_o: no response before wdone_i
  input  logic        wdone_i,               // sampled from the next clock on
  output logic        read_o,
  output logic [11:0] raddr_o,
  input  logic        rerr_i,                // depend on raddr_o
  input  logic [31:0] rdata_i
);
  logic       aw_full_q, w_full_q, wait_q, ar_full_q;
  logic [3:0] strb_q;

  assign s_awready_o = !aw_full_q;
  assign s_wready_o  = !w_full_q;
  assign s_arready_o = !ar_full_q;
  assign write_o     = aw_full_q && w_full_q && !wait_q && (!s_bvalid_o || s_bready_i);
  assign read_o      = ar_full_q && (!s_rvalid_o || s_rready_i);
  assign wmask_o     = {{8{strb_q[3]}}, {8{strb_q[2]}}, {8{strb_q[1]}}, {8{strb_q[0]}}};

  always_ff @(posedge clk_i) begin
    if (s_awvalid_i && s_awready_o) begin
      waddr_o   <= s_awaddr_i;
      aw_full_q <= 1'b1;
    end
    if (s_wvalid_i && s_wready_o) begin
      wdata_o  <= s_wdata_i;
      strb_q   <= s_wstrb_i;
      w_full_q <= 1'b1;
    end
    if (s_bready_i) s_bvalid_o <= 1'b0;
    if (write_o) begin
      aw_full_q  <= 1'b0;
      w_full_q   <= 1'b0;
      s_bresp_o  <= {werr_i, 1'b0};
      s_bvalid_o <= !wlater_i;
      wait_q     <= wlater_i;
    end
    if (wait_q && wdone_i) begin
      s_bvalid_o <= 1'b1;
      wait_q     <= 1'b0;
    end

    if (s_arvalid_i && s_arready_o) begin
      raddr_o   <= s_araddr_i;
      ar_full_q <= 1'b1;
    end
    if (s_rready_i) s_rvalid_o <= 1'b0;
    if (read_o) begin
      ar_full_q  <= 1'b0;
      s_rdata_o  <= rdata_i;
      s_rresp_o  <= {rerr_i, 1'b0};
      s_rvalid_o <= 1'b1;
    end
    if (rst_i) begin
      aw_full_q  <= 1'b0;
      w_full_q   <= 1'b0;
      s_bvalid_o <= 1'b0;
      wait_q     <= 1'b0;
      ar_full_q  <= 1'b0;
      s_rvalid_o <= 1'b0;
    end
  end

`ifdef FORMAL
  // A response waits unchanged. At most one request of each kind is inside.
  logic       past_q = 1'b0;
  logic [1:0] aw_n_q, w_n_q, ar_n_q;         // taken, not yet answered
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    aw_n_q <= aw_n_q + 2'(s_awvalid_i && s_awready_o) - 2'(s_bvalid_o && s_bready_i);
    w_n_q  <= w_n_q + 2'(s_wvalid_i && s_wready_o) - 2'(s_bvalid_o && s_bready_i);
    ar_n_q <= ar_n_q + 2'(s_arvalid_i && s_arready_o) - 2'(s_rvalid_o && s_rready_i);
    if (rst_i) {aw_n_q, w_n_q, ar_n_q} <= '0;
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (aw_n_q == 2'(aw_full_q) + 2'(s_bvalid_o || wait_q));
      assert (w_n_q == 2'(w_full_q) + 2'(s_bvalid_o || wait_q));
      assert (ar_n_q == 2'(ar_full_q) + 2'(s_rvalid_o));
      assert (!(s_bvalid_o && wait_q));
      if (!$past(rst_i) && $past(s_bvalid_o && !s_bready_i))
        assert (s_bvalid_o && $stable(s_bresp_o));
      if (!$past(rst_i) && $past(s_rvalid_o && !s_rready_i))
        assert (s_rvalid_o && $stable({s_rdata_o, s_rresp_o}));
    end
  end
`endif
endmodule
