// sockets: the peers of a UDP shell, which knows them by number: number to address, and address to number. A port of 0: no peer.
module sockets #(
  parameter int N = 16,                      // a power of two
  localparam int IndexW = $clog2(N)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic              set_i,           // socket set_index_i has this peer from the next clock on
  input  logic [IndexW-1:0] set_index_i,
  input  logic [47:0]       set_address_i,   // {IPv4, port}
  input  logic [IndexW-1:0] a_index_i,
  output logic [47:0]       a_address_o,
  input  logic [IndexW-1:0] b_index_i,
  output logic [47:0]       b_address_o,
  input  logic [47:0]       find_i,
  output logic              found_o,
  output logic [IndexW-1:0] found_index_o    // the lowest that has it
);
  logic [48*N-1:0] table_q;
  logic [N-1:0]    is_it;

  assign a_address_o = table_q[48*a_index_i +: 48];
  assign b_address_o = table_q[48*b_index_i +: 48];
  assign found_o     = find_i[15:0] != '0 && is_it != '0;

  for (genvar i = 0; i < N; i++) begin : g_entry
    assign is_it[i] = table_q[48*i +: 48] == find_i;
  end
  lowest_bit #(.W(N)) u_lowest (.bits_i(is_it), .at_o(found_index_o));

  always_ff @(posedge clk_i) begin
    if (set_i) table_q[48*set_index_i +: 48] <= set_address_i;
    if (rst_i) table_q <= '0;
  end

`ifdef FORMAL
  // What is found is there, and nowhere below; what is there is found; what was set is read, nothing else changes.
  logic              past_q = 1'b0;
  logic [IndexW-1:0] any;                    // a socket, the same in every clock
  (* anyconst *) logic [IndexW-1:0] any_c;
  assign any = any_c;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (!past_q) assume (rst_i);
    if (past_q) begin
      if (found_o) assert (table_q[48*found_index_o +: 48] == find_i && find_i[15:0] != '0);
      if (found_o && any < found_index_o) assert (table_q[48*any +: 48] != find_i);
      if (!found_o && table_q[48*any +: 16] != '0) assert (table_q[48*any +: 48] != find_i);
      if ($past(rst_i)) assert (table_q == '0);
      else if ($past(set_i && set_index_i == any)) assert (table_q[48*any +: 48] == $past(set_address_i));
      else assert ($stable(table_q[48*any +: 48]));
      if (a_index_i == any) assert (a_address_o == table_q[48*any +: 48]);
      if (b_index_i == any) assert (b_address_o == table_q[48*any +: 48]);
    end
  end
`endif
endmodule
