// beat_words: converts between 32-bit words of a LiteEth UDP port and 512-bit beats of nic_core.
//  in:  a frame that ends inside a beat or a word, or with an error, gets a last beat with
//       keep = 0, which rx drops and counts.
//  out: the datagram's length comes from the header, a frame's first beat.
module beat_words (
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
  output logic [511:0] rx_data_o,
  output logic [63:0]  rx_keep_o,
  output logic         rx_last_o,
  output logic [31:0]  rx_ip_o,
  output logic [15:0]  rx_port_o,
  output logic         rx_valid_o,
  input  logic         rx_ready_i,
  input  logic [511:0] tx_data_i,
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
  // --- in ---
  logic [511:0] in_q;
  logic [3:0]   at_q;                        // words received
  logic         full_q, last_q, whole_q, bad_q;
  logic [47:0]  from_q;
  assign in_ready_o           = !full_q || rx_ready_i;
  assign rx_data_o            = in_q;
  assign rx_keep_o            = {64{whole_q}};
  assign rx_last_o            = last_q;
  assign {rx_ip_o, rx_port_o} = from_q;
  assign rx_valid_o           = full_q;
  always_ff @(posedge clk_i) begin
    if (rx_ready_i) full_q <= 1'b0;
    if (in_valid_i && in_ready_o) begin
      in_q    <= {in_data_i, in_q[511:32]};
      at_q    <= in_last_i ? '0 : at_q + 1'b1;
      full_q  <= in_last_i || at_q == 4'd15;
      last_q  <= in_last_i;
      whole_q <= at_q == 4'd15 && !bad_q && !in_error_i && (!in_last_i || in_last_be_i[3]);
      bad_q   <= !in_last_i && (bad_q || in_error_i);
      from_q  <= {in_ip_i, in_port_i};
    end
    if (rst_i) {full_q, at_q, bad_q} <= '0;
  end

  // --- out ---
  logic [511:0] out_q;
  logic [4:0]   left_q;                      // words still to send
  logic         out_last_q, first_q;         // first_q: a frame begins
  logic [63:0]  to_q;
  assign tx_ready_o  = left_q == '0 || (left_q == 5'd1 && out_ready_i);
  assign out_valid_o = left_q != '0;
  assign out_data_o  = out_q[31:0];
  assign out_last_o  = out_last_q && left_q == 5'd1;
  assign {out_ip_o, out_port_o, out_length_o} = to_q;
  always_ff @(posedge clk_i) begin
    if (out_valid_o && out_ready_i) begin
      out_q  <= {32'd0, out_q[511:32]};
      left_q <= left_q - 1'b1;
    end
    if (tx_valid_i && tx_ready_o) begin
      out_q      <= tx_data_i;
      left_q     <= 5'd16;
      out_last_q <= tx_last_i;
      first_q    <= tx_last_i;
      if (first_q) to_q <= {tx_ip_i, tx_port_i, tx_data_i[nc_pkg::PKT_LEN +: 16]};
    end
    if (rst_i) {left_q, first_q} <= {5'd0, 1'b1};
  end

`ifdef FORMAL
  // In both directions, words keep their positions in a beat. A frame is whole exactly if all words
  // and bytes arrived without error.
  (* anyconst *) logic [3:0] mark;
  logic         past_q = 1'b0, good_q, fine_q, marked_last_q, open_q;
  logic [31:0]  word_q;
  logic [63:0]  addressed_q;
  logic [511:0] gone_q;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (in_valid_i && in_ready_o) begin
      good_q <= !in_last_i && (at_q == '0 && !open_q || good_q) && !in_error_i;
      fine_q <= (!open_q || good_q) && !in_error_i
                && (!in_last_i || (at_q == 4'd15 && in_last_be_i[3]));
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
      assert (left_q <= 5'd16 && (!full_q || at_q == '0) && (at_q == '0 || open_q)
              && bad_q == (open_q && !good_q));
      if (full_q) assert (whole_q == fine_q && last_q == !open_q);
      if (at_q > mark) assert (in_q[32 * (5'd16 - 5'(at_q) + 5'(mark)) +: 32] == word_q);
      if (left_q != '0) assert (out_last_q == marked_last_q);
      assert ((left_q == '0 && first_q) || to_q == addressed_q);
      if (left_q != '0 && 5'(mark) + left_q >= 5'd16)
        assert (out_q[32 * (5'(mark) + left_q - 5'd16) +: 32] == gone_q[32 * mark +: 32]);
      if (rx_valid_o) assert (rx_keep_o == {64{fine_q}});
      if (rx_valid_o && fine_q) assert (rx_data_o[32 * mark +: 32] == word_q);
      if (rx_valid_o) assert (rx_last_o == !open_q);
      if (out_valid_o && left_q == 5'd16 - 5'(mark)) assert (out_data_o == gone_q[32 * mark +: 32]);
      if (out_valid_o) assert (out_last_o == (marked_last_q && left_q == 5'd1));
      if (out_valid_o) assert ({out_ip_o, out_port_o, out_length_o} == addressed_q);
      if (!$past(rst_i) && $past(rx_valid_o && !rx_ready_i))
        assert (rx_valid_o && $stable({rx_data_o, rx_keep_o, rx_last_o}));
      if (!$past(rst_i) && $past(out_valid_o && !out_ready_i))
        assert (out_valid_o && $stable({out_data_o, out_last_o}));
    end
  end
`endif
endmodule
