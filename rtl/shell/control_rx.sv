// control_rx: receives a datagram into a buffer, checks that it is a request (hls/card/lease.def),
// and holds it until take_i. Other datagrams are lost meanwhile: the network never waits.
module control_rx #(
  localparam int WordW = $clog2(nc_pkg::LEASE_WORDS),
  localparam int CountW = $clog2(nc_pkg::LEASE_OPERATIONS + 1)
) (
  input  logic        clk_i,
  input  logic        rst_i,
  // a UDP payload; address, port and length accompany every word
  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic        in_last_i,
  input  logic [31:0] in_data_i,
  input  logic [3:0]  in_last_be_i,          // with the last word: one-hot, its last byte
  input  logic        in_error_i,
  input  logic [31:0] in_ip_i,
  input  logic [15:0] in_port_i,
  input  logic [15:0] in_length_i,           // bytes
  output logic        put_o,
  output logic [WordW-1:0] put_at_o,
  output logic        crc_first_o,           // with put_o: the CRC begins here
  input  logic [31:0] crc_i,                 // the CRC's state, one clock after the last word
  output logic        request_o,
  input  logic        take_i,
  output logic        other_o,               // another version: only the header counts
  output logic [7:0]  kind_o,
  output logic [CountW-1:0] n_o,             // operations
  output logic [31:0] sequence_o,
  output logic [63:0] secret_o,
  output logic [31:0] ip_o,
  output logic [15:0] port_o,
  output logic        malformed_o,           // pulse per datagram
  output logic        busy_o,
  output logic        inside_o               // receiving, judging or holding a datagram
);
  localparam int Header = 5;                 // words before operations
  // CRC state after any data and its CRC
  localparam bit [31:0] Residue = ~32'h48674bc7;

  typedef enum logic [1:0] {Receive, Judge, Hold} state_t;
  state_t            state_q;
  logic              inside_q, skip_q;       // after a datagram's first word; it is lost
  logic [WordW:0]    words_q;                // so far; stops one above the maximum
  logic              ours_q, whole_q;        // word 0 is right; the last word is complete
  logic [15:0]       bytes_q, n_q;
  logic              take, kind_ok, length_ok;

  assign in_ready_o  = 1'b1;
  assign take        = in_valid_i && (inside_q ? !skip_q : state_q == Receive);
  assign put_o       = take && !words_q[WordW];
  assign put_at_o    = words_q[WordW-1:0];
  assign crc_first_o = words_q == '0;
  assign busy_o      = in_valid_i && in_last_i && (inside_q ? skip_q : state_q != Receive);
  assign request_o   = state_q == Hold;
  assign inside_o    = inside_q || state_q != Receive || in_valid_i;

  always_comb begin
    unique case (kind_o)
      nc_pkg::LEASE_DO: kind_ok = n_q <= 16'(nc_pkg::LEASE_OPERATIONS);
      nc_pkg::LEASE_OPEN, nc_pkg::LEASE_KEEP, nc_pkg::LEASE_CLOSE: kind_ok = n_q == '0;
      default: kind_ok = 1'b0;
    endcase
    length_ok = whole_q && bytes_q == 16'(words_q) << 2;
    if (other_o)
      length_ok = length_ok && words_q > (WordW + 1)'(Header)
                  && words_q <= (WordW + 1)'(nc_pkg::LEASE_WORDS);
    else length_ok = length_ok && kind_ok
                     && words_q == (WordW + 1)'(Header + 1) + (WordW + 1)'({n_q[CountW-1:0], 1'b0});
  end

  always_ff @(posedge clk_i) begin
    malformed_o <= 1'b0;
    if (in_valid_i) begin
      inside_q <= !in_last_i;
      if (!inside_q) skip_q <= state_q != Receive;
    end
    if (take) begin
      if (words_q <= (WordW + 1)'(nc_pkg::LEASE_WORDS)) words_q <= words_q + 1'b1;
      unique case (words_q)
        (WordW + 1)'(0): begin
          ours_q  <= in_data_i[31:8] == 24'(nc_pkg::LEASE_MAGIC);
          other_o <= in_data_i[7:0] != 8'(nc_pkg::LEASE_VERSION);
        end
        (WordW + 1)'(1): {n_q, kind_o} <= {in_data_i[31:16], in_data_i[7:0]};
        (WordW + 1)'(2): sequence_o <= in_data_i;
        (WordW + 1)'(3): secret_o[31:0] <= in_data_i;
        (WordW + 1)'(4): secret_o[63:32] <= in_data_i;
        default: ;
      endcase
      whole_q <= in_last_be_i == 4'b1000 && !in_error_i;
      bytes_q <= in_length_i;
      ip_o    <= in_ip_i;
      port_o  <= in_port_i;
      if (in_last_i) state_q <= Judge;
    end
    unique case (state_q)
      Judge: begin
        words_q <= '0;
        state_q <= Hold;
        if (!ours_q || !length_ok || crc_i != Residue) begin
          state_q     <= Receive;
          malformed_o <= 1'b1;
        end
      end
      Hold: if (take_i) state_q <= Receive;
      default: ;
    endcase
    if (rst_i) begin
      state_q     <= Receive;
      words_q     <= '0;
      inside_q    <= 1'b0;
      malformed_o <= 1'b0;
    end
  end
  assign n_o = other_o ? '0 : n_q[CountW-1:0];

`ifdef FORMAL
  // A datagram is a request, malformed, or lost because another is in progress. A held request is
  // stable and has its stated number of words.
  logic       past_q = 1'b0;
  logic [1:0] ends_q, fates_q;
  always_ff @(posedge clk_i) begin
    past_q  <= 1'b1;
    ends_q  <= ends_q + 2'(in_valid_i && in_last_i);
    fates_q <= fates_q + 2'(malformed_o) + 2'(busy_o) + 2'(request_o && take_i);
    if (rst_i) {ends_q, fates_q} <= '0;
    if (!past_q) assume (rst_i);
    if (take_i) assume (request_o);
    if (past_q) begin
      assert (words_q <= (WordW + 1)'(nc_pkg::LEASE_WORDS + 1));
      assert (state_q <= Hold && (state_q != Hold || words_q == '0)
              && (state_q != Receive || (inside_q && !skip_q) || words_q == '0));
      if (inside_q && !skip_q) assert (state_q == Receive && words_q != '0);
      if (state_q == Judge) assert (words_q != '0);
      if (request_o && !other_o)
        assert (ours_q && n_o <= CountW'(nc_pkg::LEASE_OPERATIONS) && kind_ok);
      assert (ends_q == fates_q + 2'(state_q != Receive) + 2'(malformed_o));
    end
    if (past_q && !rst_i && !$past(rst_i)) begin
      if ($past(request_o && !take_i))
        assert (request_o && $stable({other_o, kind_o, n_o, sequence_o, secret_o, ip_o, port_o}));
      if (put_o) assert (!request_o);
      if (request_o && !$past(request_o))
        assert ($past(bytes_q) == 16'($past(words_q)) << 2 && $past(whole_q)
                && $past(crc_i) == Residue);
      if (request_o && !$past(request_o) && !other_o)
        assert ($past(words_q) == (WordW + 1)'(6) + 2 * (WordW + 1)'(n_o));
    end
  end
`endif
endmodule
