// sockets: translates between a UDP shell's socket numbers and peer addresses. Port 0: no peer.
module sockets #(
  parameter int N = 16,                      // a power of two from 2 to 32768
  localparam int IndexW = $clog2(N)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic              set_i,           // peer of set_index_i from the next clock on
  input  logic [IndexW-1:0] set_index_i,
  input  logic [47:0]       set_address_i,   // {IPv4, port}
  input  logic [IndexW-1:0] a_index_i,
  output logic [47:0]       a_address_o,
  input  logic [IndexW-1:0] b_index_i,
  output logic [47:0]       b_address_o,
  input  logic [47:0]       find_i,
  output logic              found_o,
  output logic [IndexW-1:0] found_index_o    // the lowest with that address
);
  power_of_two #(.N(N), .Least(2), .Most(1 << 15)) u_n ();
  logic [48*N-1:0] table_q;
  logic [N-1:0]    is_it;

  // a mux each: indexing by 48 * i would make a shifter
  always_comb begin
    a_address_o = '0;
    b_address_o = '0;
    for (int i = 0; i < N; i++) begin
      a_address_o |= a_index_i == IndexW'(i) ? table_q[48*i +: 48] : '0;
      b_address_o |= b_index_i == IndexW'(i) ? table_q[48*i +: 48] : '0;
    end
  end
  assign found_o     = find_i[15:0] != '0 && is_it != '0;

  for (genvar i = 0; i < N; i++) begin : g_entry
    assign is_it[i] = table_q[48*i +: 48] == find_i;
    always_ff @(posedge clk_i) begin
      if (set_i && set_index_i == IndexW'(i)) table_q[48*i +: 48] <= set_address_i;
      if (rst_i) table_q[48*i +: 48] <= '0;
    end
  end
  lowest_bit #(.W(N)) u_lowest (.bits_i(is_it), .at_o(found_index_o));

`ifdef FORMAL
  // Every address is found, at its lowest socket. A set address is read back; nothing else changes.
  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (!past_q) assume (rst_i);
    if (past_q && found_o) assert (is_it[found_index_o] && find_i[15:0] != '0);
  end
  for (genvar i = 0; i < N; i++) begin : g_proof
    logic [47:0] entry;
    assign entry = table_q[48*i +: 48];
    always_ff @(posedge clk_i) if (past_q) begin
      if (entry == find_i && find_i[15:0] != '0) assert (found_o && found_index_o <= IndexW'(i));
      if ($past(rst_i)) assert (entry == '0);
      else if ($past(set_i && set_index_i == IndexW'(i))) assert (entry == $past(set_address_i));
      else assert (entry == $past(entry));
      if (a_index_i == IndexW'(i)) assert (a_address_o == entry);
      if (b_index_i == IndexW'(i)) assert (b_address_o == entry);
      assert (is_it[i] == (entry == find_i));
    end
  end
`endif
endmodule
