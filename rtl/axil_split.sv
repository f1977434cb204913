// axil_split: splits a 64 KiB AXI-Lite window between slave a (below 0x1000) and slave b, one write
// and one read at a time.
module axil_split (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [3:0]  s_awpage_i,            // address bits 15..12
  input  logic        s_awvalid_i,
  output logic        s_awready_o,
  // Other address bits, data and strobes go to both slaves.
  input  logic        s_wvalid_i,
  output logic        s_wready_o,
  output logic [1:0]  s_bresp_o,
  output logic        s_bvalid_o,
  input  logic        s_bready_i,
  input  logic [3:0]  s_arpage_i,
  input  logic        s_arvalid_i,
  output logic        s_arready_o,
  output logic [31:0] s_rdata_o,
  output logic [1:0]  s_rresp_o,
  output logic        s_rvalid_o,
  input  logic        s_rready_i,
  // bit 0: a, bit 1: b
  output logic [1:0]  awvalid_o,
  input  logic [1:0]  awready_i,
  output logic [1:0]  wvalid_o,
  input  logic [1:0]  wready_i,
  input  logic [3:0]  bresp_i,               // a's in bits 1..0
  input  logic [1:0]  bvalid_i,
  output logic [1:0]  bready_o,
  output logic [1:0]  arvalid_o,
  input  logic [1:0]  arready_i,
  input  logic [63:0] rdata_i,               // a's in bits 31..0
  input  logic [3:0]  rresp_i,
  input  logic [1:0]  rvalid_i,
  output logic [1:0]  rready_o,
  output logic [3:0]  wpage_o,               // of the write in progress
  output logic [3:0]  rpage_o
);
  // *_busy_q: an accepted address waits for its answer; w_done_q: the write's data is accepted
  logic w_busy_q, w_done_q, r_busy_q;
  logic to_b_w, to_b_r, w_b, r_b;            // to_b_*: request for b; *_b: accepted access of b

  assign to_b_w = s_awpage_i != '0;
  assign to_b_r = s_arpage_i != '0;
  assign w_b    = wpage_o != '0;
  assign r_b    = rpage_o != '0;

  assign awvalid_o   = s_awvalid_i && !w_busy_q ? {to_b_w, !to_b_w} : 2'b00;
  assign s_awready_o = !w_busy_q && awready_i[to_b_w];
  assign wvalid_o    = s_wvalid_i && w_busy_q && !w_done_q ? {w_b, !w_b} : 2'b00;
  assign s_wready_o  = w_busy_q && !w_done_q && wready_i[w_b];
  assign s_bvalid_o  = w_busy_q && bvalid_i[w_b];
  assign s_bresp_o   = w_b ? bresp_i[3:2] : bresp_i[1:0];
  assign bready_o    = s_bready_i && w_busy_q ? {w_b, !w_b} : 2'b00;

  assign arvalid_o   = s_arvalid_i && !r_busy_q ? {to_b_r, !to_b_r} : 2'b00;
  assign s_arready_o = !r_busy_q && arready_i[to_b_r];
  assign s_rvalid_o  = r_busy_q && rvalid_i[r_b];
  assign s_rdata_o   = r_b ? rdata_i[63:32] : rdata_i[31:0];
  assign s_rresp_o   = r_b ? rresp_i[3:2] : rresp_i[1:0];
  assign rready_o    = s_rready_i && r_busy_q ? {r_b, !r_b} : 2'b00;

  always_ff @(posedge clk_i) begin
    if (s_awvalid_i && s_awready_o) begin
      w_busy_q <= 1'b1;
      w_done_q <= 1'b0;
      wpage_o  <= s_awpage_i;
    end
    if (s_wvalid_i && s_wready_o) w_done_q <= 1'b1;
    if (s_bvalid_o && s_bready_i) w_busy_q <= 1'b0;
    if (s_arvalid_i && s_arready_o) begin
      r_busy_q <= 1'b1;
      rpage_o  <= s_arpage_i;
    end
    if (s_rvalid_o && s_rready_i) r_busy_q <= 1'b0;
    if (rst_i) {w_busy_q, r_busy_q} <= '0;
  end

`ifdef FORMAL
  // Each request has one answer, from its own slave. Assumed: slaves answer nothing else.
  logic       past_q = 1'b0;
  logic [1:0] aw_q, w_q, ar_q;               // taken by a slave, not yet answered
  logic [1:0] n_aw, n_ar;
  assign n_aw = 2'(aw_q[0]) + 2'(aw_q[1]);
  assign n_ar = 2'(ar_q[0]) + 2'(ar_q[1]);
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    aw_q   <= (aw_q | (awvalid_o & awready_i)) & ~(bvalid_i & bready_o);
    w_q    <= (w_q | (wvalid_o & wready_i)) & ~(bvalid_i & bready_o);
    ar_q   <= (ar_q | (arvalid_o & arready_i)) & ~(rvalid_i & rready_o);
    if (rst_i) {aw_q, w_q, ar_q} <= '0;
    if (!past_q) assume (rst_i);
    assume ((bvalid_i & ~(aw_q & w_q)) == '0);
    assume ((rvalid_i & ~ar_q) == '0);
    if (past_q) begin
      assert (n_aw == 2'(w_busy_q) && n_ar == 2'(r_busy_q) && (w_q & ~aw_q) == '0);
      if (w_busy_q) assert (aw_q[w_b] && w_q[w_b] == w_done_q);
      else assert (w_q == '0);
      if (r_busy_q) assert (ar_q[r_b]);
      assert ((s_awvalid_i && s_awready_o) == ((awvalid_o & awready_i) != '0));
      assert ((s_wvalid_i && s_wready_o) == ((wvalid_o & wready_i) != '0));
      assert ((s_arvalid_i && s_arready_o) == ((arvalid_o & arready_i) != '0));
      assert (s_bvalid_o == (bvalid_i != '0) && s_rvalid_o == (rvalid_i != '0));
      if (awvalid_o != '0) assert (awvalid_o == (s_awpage_i == '0 ? 2'b01 : 2'b10));
      if (arvalid_o != '0) assert (arvalid_o == (s_arpage_i == '0 ? 2'b01 : 2'b10));
    end
  end
`endif
endmodule
