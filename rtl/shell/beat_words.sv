// beat_words: converts between 32-bit words of a LiteEth UDP port and flits of nic_core.
//  in:  a frame that ends inside a flit or a word, or with an error, gets a last flit with
//       keep = 0, which rx drops and counts.
//  out: the datagram's length comes from the header, in a frame's first flit.
module beat_words #(
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,  // 8 to 64: a power of two
  localparam int Flit = 8 * LaneBytes, Words = LaneBytes / 4, AtW = $clog2(Words)
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [31:0]  in_data_i,
  input  logic         in_last_i,
  /* verilator lint_off UNUSEDSIGNAL */
  input  logic [3:0]   in_last_be_i,         // with the last word: one-hot, its last byte
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic         in_error_i,
  input  logic [31:0]  in_ip_i,              // source of the whole frame
  input  logic [15:0]  in_port_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  output logic [Flit-1:0] rx_data_o,
  output logic [LaneBytes-1:0] rx_keep_o,
  output logic         rx_last_o,
  output logic [31:0]  rx_ip_o,
  output logic [15:0]  rx_port_o,
  output logic         rx_valid_o,
  input  logic         rx_ready_i,
  input  logic [Flit-1:0] tx_data_i,
  input  logic         tx_last_i,
  input  logic [31:0]  tx_ip_i,
  input  logic [15:0]  tx_port_i,
  input  logic         tx_valid_i,
  output logic         tx_ready_o,
  output logic [31:0]  out_data_o,
  output logic         out_last_o,
  output logic [31:0]  out_ip_o,             // destination of the whole frame
  output logic [15:0]  out_port_o,
  output logic [15:0]  out_length_o,         // bytes
  output logic         out_valid_o,
  input  logic         out_ready_i
);
  power_of_two #(.N(LaneBytes), .Least(8), .Most(nc_pkg::BEAT_BYTES)) u_bytes ();

  // --- in ---
  logic [Flit-1:0] in_q;
  logic [AtW-1:0] at_q;                       // words received
  logic         full_q, last_q, whole_q, bad_q;
  logic [47:0]  from_q;
  assign in_ready_o           = !full_q || rx_ready_i;
  assign rx_data_o            = in_q;
  assign rx_keep_o            = {LaneBytes{whole_q}};
  assign rx_last_o            = last_q;
  assign {rx_ip_o, rx_port_o} = from_q;
  assign rx_valid_o           = full_q;
  always_ff @(posedge clk_i) begin
    if (rx_ready_i) full_q <= 1'b0;
    if (in_valid_i && in_ready_o) begin
      in_q    <= {in_data_i, in_q[Flit-1:32]};
      at_q    <= in_last_i ? '0 : at_q + 1'b1;
      full_q  <= in_last_i || at_q == '1;
      last_q  <= in_last_i;
      whole_q <= at_q == '1 && !bad_q && !in_error_i && (!in_last_i || in_last_be_i[3]);
      bad_q   <= !in_last_i && (bad_q || in_error_i);
      from_q  <= {in_ip_i, in_port_i};
    end
    if (rst_i) {full_q, at_q, bad_q} <= '0;
  end

  // --- out ---
  logic [Flit-1:0] out_q;
  logic [AtW:0] left_q;                      // words still to send
  logic         out_last_q, first_q;         // first_q: a frame begins
  logic [63:0]  to_q;
  assign tx_ready_o  = left_q == '0 || (left_q == (AtW + 1)'(1) && out_ready_i);
  assign out_valid_o = left_q != '0;
  assign out_data_o  = out_q[31:0];
  assign out_last_o  = out_last_q && left_q == (AtW + 1)'(1);
  assign {out_ip_o, out_port_o, out_length_o} = to_q;
  always_ff @(posedge clk_i) begin
    if (out_valid_o && out_ready_i) begin
      out_q  <= {32'd0, out_q[Flit-1:32]};
      left_q <= left_q - 1'b1;
    end
    if (tx_valid_i && tx_ready_o) begin
      out_q      <= tx_data_i;
      left_q     <= (AtW + 1)'(Words);
      out_last_q <= tx_last_i;
      first_q    <= tx_last_i;
      if (first_q) to_q <= {tx_ip_i, tx_port_i, tx_data_i[nc_pkg::PKT_LEN +: 16]};
    end
    if (rst_i) {left_q, first_q} <= (AtW + 2)'(1);
  end

`ifdef FORMAL
  // In both directions, words keep their positions in a flit. A frame is whole exactly if all words
  // and bytes arrived without error.
  (* anyconst *) logic [AtW-1:0] mark;
  logic         past_q = 1'b0, good_q, fine_q, marked_last_q, open_q;
  logic [31:0]  word_q;
  logic [63:0]  addressed_q;
  logic [Flit-1:0] gone_q;
  localparam bit [AtW:0] All = (AtW + 1)'(Words);
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (in_valid_i && in_ready_o) begin
      good_q <= !in_last_i && (at_q == '0 && !open_q || good_q) && !in_error_i;
      fine_q <= (!open_q || good_q) && !in_error_i
                && (!in_last_i || (at_q == '1 && in_last_be_i[3]));
      open_q <= !in_last_i;
      if (at_q == mark) word_q <= in_data_i;
    end
    if (tx_valid_i && tx_ready_o) begin
      gone_q        <= tx_data_i;
      marked_last_q <= tx_last_i;
      if (first_q) addressed_q <= {tx_ip_i, tx_port_i, tx_data_i[nc_pkg::PKT_LEN +: 16]};
    end
    if (rst_i) open_q <= 1'b0;
    assume (rst_i == !past_q);
    if (past_q) begin
      assert (left_q <= All && (!full_q || at_q == '0) && (at_q == '0 || open_q)
              && bad_q == (open_q && !good_q));
      if (full_q) assert (whole_q == fine_q && last_q == !open_q);
      if (at_q > mark)
        assert (in_q[32 * (All - (AtW + 1)'(at_q) + (AtW + 1)'(mark)) +: 32] == word_q);
      if (left_q != '0) assert (out_last_q == marked_last_q);
      assert ((left_q == '0 && first_q) || to_q == addressed_q);
      if (left_q != '0 && (AtW + 2)'(mark) + (AtW + 2)'(left_q) >= (AtW + 2)'(All))
        assert (out_q[32 * ((AtW + 1)'(mark) + left_q - All) +: 32] == gone_q[32 * mark +: 32]);
      if (rx_valid_o) assert (rx_keep_o == {LaneBytes{fine_q}});
      if (rx_valid_o && fine_q) assert (rx_data_o[32 * mark +: 32] == word_q);
      if (rx_valid_o) assert (rx_last_o == !open_q);
      if (out_valid_o && left_q == All - (AtW + 1)'(mark))
        assert (out_data_o == gone_q[32 * mark +: 32]);
      if (out_valid_o) assert (out_last_o == (marked_last_q && left_q == (AtW + 1)'(1)));
      if (out_valid_o) assert ({out_ip_o, out_port_o, out_length_o} == addressed_q);
      if (!$past(rst_i) && $past(rx_valid_o && !rx_ready_i))
        assert (rx_valid_o && $stable({rx_data_o, rx_keep_o, rx_last_o}));
      if (!$past(rst_i) && $past(out_valid_o && !out_ready_i))
        assert (out_valid_o && $stable({out_data_o, out_last_o}));
    end
  end
`endif
endmodule
