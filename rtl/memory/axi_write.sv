// axi_write: writes beats of 64 bytes to ranges of memory, by AXI4 bursts whose addresses run ahead
// of the data. One id; every beat of a range must come before the next range's.
module axi_write (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [57:0]  range_beat_i,         // address / 64
  input  logic [31:0]  range_beats_i,        // 0: none
  input  logic         range_valid_i,
  output logic         range_ready_o,
  input  logic [511:0] data_i,
  input  logic [63:0]  strb_i,
  input  logic         valid_i,
  output logic         ready_o,
  output logic         idle_o,               // all ranges are written and answered
  output logic         error_o,              // the memory reports an error
  output logic [63:0]  m_awaddr_o,
  output logic [7:0]   m_awlen_o,
  output logic         m_awvalid_o,
  input  logic         m_awready_i,
  output logic [511:0] m_wdata_o,
  output logic [63:0]  m_wstrb_o,
  output logic         m_wlast_o,
  output logic         m_wvalid_o,
  input  logic         m_wready_i,
  input  logic [1:0]   m_bresp_i,
  input  logic         m_bvalid_i,
  output logic         m_bready_o
);
  logic        aw_valid, aw_take, len_ready, len_valid;
  logic [57:0] aw_beat;
  logic [6:0]  aw_beats, len, sent_q;
  logic [31:0] unanswered_q;
  axi_bursts u_aw (
    .clk_i, .rst_i,
    .in_beat_i(range_beat_i), .in_beats_i(range_beats_i), .in_valid_i(range_valid_i),
    .in_ready_o(range_ready_o),
    .out_beat_o(aw_beat), .out_beats_o(aw_beats), .out_valid_o(aw_valid), .out_ready_i(aw_take));
  // Data wait for a burst's place in u_address, never for m_awready_i: a memory may wait for
  // m_wvalid_o before it takes the address (AXI4, A3.3.1).
  logic        aw_put, aw_room;
  logic [57:0] out_beat;
  logic [6:0]  out_beats;
  assign aw_put = aw_valid && len_ready;
  skid #(.W(65)) u_address (
    .clk_i, .rst_i, .in_data_i({aw_beat, aw_beats}), .in_valid_i(aw_put), .in_ready_o(aw_room),
    .out_data_o({out_beat, out_beats}), .out_valid_o(m_awvalid_o), .out_ready_i(m_awready_i));
  assign m_awaddr_o  = {out_beat, 6'd0};
  assign m_awlen_o   = 8'(out_beats) - 8'd1;
  assign aw_take     = aw_room && len_ready;
  fifo #(.W(7), .Depth(4)) u_lens (
    .clk_i, .rst_i, .in_data_i(aw_beats), .in_valid_i(aw_valid && aw_take), .in_ready_o(len_ready),
    .out_data_o(len), .out_valid_o(len_valid), .out_ready_i(valid_i && ready_o && m_wlast_o));
  assign m_wdata_o   = data_i;
  assign m_wstrb_o   = strb_i;
  assign m_wvalid_o  = valid_i && len_valid;
  assign m_wlast_o   = sent_q + 7'd1 == len;
  assign ready_o     = len_valid && m_wready_i;
  assign m_bready_o  = 1'b1;
  assign error_o     = m_bvalid_i && m_bresp_i != '0;
  assign idle_o      = !aw_valid && unanswered_q == '0;

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) sent_q <= m_wlast_o ? '0 : sent_q + 1'b1;
    unanswered_q <= unanswered_q + 32'(aw_valid && aw_take) - 32'(m_bvalid_i);
    if (rst_i) begin
      sent_q       <= '0;
      unanswered_q <= '0;
    end
  end

`ifdef FORMAL
  // The proof assumes the promises of fifo and skid (README.md), data that wait unchanged, and a
  // memory that answers each burst at most once, after its last beat. A burst has as many beats as
  // u_address took for it before, the last one with m_wlast_o, and none crosses 4 KiB; what waits
  // stays unchanged. axi_bursts proves that addresses stay in the range.
  (* anyseq *) logic mark;                   // follows a burst
  logic        past_q = 1'b0, marked_q, starts, put, sent;
  logic [2:0]  waiting_q, ahead_q;           // bursts in the fifo; before the marked one
  logic [7:0]  mark_len_q, beats_q;          // its beats - 1; its beats written
  logic [31:0] ended_q;                      // bursts written, but not answered
  assign put    = aw_valid && aw_take;
  assign sent   = m_wvalid_o && m_wready_i;
  assign starts = !marked_q && mark && put;
  always_ff @(posedge clk_i) begin
    past_q    <= 1'b1;
    waiting_q <= waiting_q + 3'(put) - 3'(sent && m_wlast_o);
    ended_q   <= ended_q + 32'(sent && m_wlast_o) - 32'(m_bvalid_i);
    if (starts) begin
      marked_q   <= 1'b1;
      mark_len_q <= 8'(aw_beats) - 8'd1;
      beats_q    <= '0;
      ahead_q    <= waiting_q - 3'(sent && m_wlast_o);
    end else if (marked_q && sent) begin
      if (ahead_q == '0) beats_q <= beats_q + 1'b1;
      else if (m_wlast_o) ahead_q <= ahead_q - 1'b1;
      if (ahead_q == '0 && m_wlast_o) marked_q <= 1'b0;
    end
    if (rst_i) {marked_q, waiting_q, ended_q} <= '0;
    if (!past_q) assume (rst_i);
    assume (len_ready == (waiting_q != 3'd4) && len_valid == (waiting_q != '0));
    if (marked_q && ahead_q == '0) assume (len == 7'(mark_len_q + 1'b1));
    if (m_bvalid_i) assume (ended_q != '0);
    assume (!ended_q[31]);
    if (past_q) begin
      if (!$past(rst_i) && $past(len_valid && !(sent && m_wlast_o)))
        assume ($stable(len));
      if (!$past(rst_i) && $past(valid_i && !ready_o))
        assume (valid_i && $stable({data_i, strb_i}));
      assert (put == (aw_put && aw_room) && waiting_q <= 3'd4);
      assert (!put || (aw_beats != '0 && 32'(aw_beat[5:0]) + 32'(aw_beats) <= 32'd64));
      assert (sent == (valid_i && ready_o) && (!m_wvalid_o || waiting_q != '0));
      assert (waiting_q != '0 || sent_q == '0);
      assert (unanswered_q == ended_q + 32'(waiting_q));
      if (marked_q) begin
        assert (ahead_q < waiting_q && mark_len_q < 8'd64);
        if (ahead_q == '0) begin
          assert ({1'b0, sent_q} == beats_q && beats_q <= mark_len_q);
          assert (m_wlast_o == (beats_q == mark_len_q));
        end else assert (beats_q == '0);
      end
      if (idle_o) assert (waiting_q == '0 && ended_q == '0);
      if (!$past(rst_i) && $past(m_wvalid_o && !m_wready_i))
        assert (m_wvalid_o && $stable({m_wdata_o, m_wstrb_o, m_wlast_o}));
    end
  end
`endif
endmodule
