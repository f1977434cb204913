// control_tx: sends an answer from a buffer: words 0 to 4 + 2 * n_i, then their CRC.
module control_tx #(
  localparam int WordW = $clog2(nc_pkg::LEASE_WORDS),
  localparam int CountW = $clog2(nc_pkg::LEASE_OPERATIONS + 1)
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        go_i,                  // held until done_o, like the next three
  input  logic [CountW-1:0] n_i,             // operations
  input  logic [31:0] ip_i,
  input  logic [15:0] port_i,
  output logic        done_o,                // the last word is taken
  // a word arrives one clock after its request and stays until the next
  output logic        read_o,
  output logic [WordW-1:0] read_at_o,
  input  logic [31:0] read_data_i,
  // step_o adds out_data_o; crc_i follows one clock later
  output logic        step_o,
  output logic        crc_first_o,
  input  logic [31:0] crc_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic        out_last_o,
  output logic [31:0] out_data_o,
  output logic [3:0]  out_last_be_o,
  output logic [31:0] out_ip_o,
  output logic [15:0] out_port_o,
  output logic [15:0] out_length_o           // bytes, valid with every word
);
  localparam bit [31:0] Word0 = 32'(nc_pkg::LEASE_MAGIC) << 8 | 32'(nc_pkg::LEASE_VERSION);

  logic             ready_q;                 // the word is there
  logic [WordW-1:0] word_q, end_at;          // word_q: next

  assign end_at        = WordW'(5) + WordW'({n_i, 1'b0});
  assign read_o        = go_i && !ready_q;
  assign read_at_o     = word_q;
  assign out_valid_o   = go_i && ready_q;
  assign out_last_o    = word_q == end_at;
  assign out_last_be_o = out_last_o ? 4'b1000 : '0;
  assign out_ip_o      = ip_i;
  assign out_port_o    = port_i;
  assign out_length_o  = 16'(end_at) * 4 + 16'd4;
  assign step_o        = out_valid_o && out_ready_i;
  assign crc_first_o   = word_q == '0;
  assign done_o        = step_o && out_last_o;

  always_comb begin
    out_data_o = read_data_i;
    if (word_q == '0) out_data_o = Word0;
    if (out_last_o) out_data_o = ~crc_i;
  end

  always_ff @(posedge clk_i) begin
    if (read_o) ready_q <= 1'b1;
    if (step_o) begin
      ready_q <= 1'b0;
      word_q  <= out_last_o ? '0 : word_q + 1'b1;
    end
    if (rst_i) begin
      ready_q <= 1'b0;
      word_q  <= '0;
    end
  end

`ifdef FORMAL
  // An answer has 6 + 2 * n_i words, the last marked. A waiting word is stable.
  logic             past_q = 1'b0;
  logic [WordW:0]   sent_q;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (step_o) sent_q <= out_last_o ? '0 : sent_q + 1'b1;
    if (rst_i) sent_q <= '0;
    if (!past_q) assume (rst_i);
    assume (n_i <= CountW'(nc_pkg::LEASE_OPERATIONS));
    if (past_q && $past(go_i && !done_o)) assume (rst_i || (go_i && $stable({n_i, ip_i, port_i})));
    if (past_q && !$past(read_o)) assume ($stable(read_data_i));
    if (past_q && !$past(step_o)) assume ($stable(crc_i));
    if (past_q && !rst_i && !$past(rst_i)) begin
      assert (sent_q == (WordW + 1)'(word_q) && word_q <= (go_i ? end_at : '0));
      if (ready_q) assert (go_i);
      if (done_o)
        assert (16'(sent_q) * 4 + 4 == out_length_o && sent_q + 1'b1 == 6 + 2 * (WordW + 1)'(n_i));
      if ($past(out_valid_o && !out_ready_i))
        assert (out_valid_o
                && $stable({out_last_o, out_data_o, out_ip_o, out_port_o, out_length_o}));
    end
  end
`endif
endmodule
