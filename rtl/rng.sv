// rng: generates two random 32-bit words a clock for fault injection: a xorshift64 state (13, 7,
// 17; Marsaglia, "Xorshift RNGs", J. Stat. Software 8(14), 2003).
module rng (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        seed_write_i,          // restart from seed_i
  input  logic [31:0] seed_i,
  output logic [31:0] a_o,
  output logic [31:0] b_o
);
  logic [63:0] state_q, s1, s2;
  assign s1 = state_q ^ (state_q << 13);
  assign s2 = s1 ^ (s1 >> 7);
  assign {b_o, a_o} = state_q;

  always_ff @(posedge clk_i) begin
    state_q <= s2 ^ (s2 << 17);
    if (rst_i) state_q <= 64'hffff_ffff_0000_0000;
    else if (seed_write_i) state_q <= {~seed_i, seed_i};  // never 0, where xorshift stays
  end

`ifdef FORMAL
  logic past_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (!past_q) assume (rst_i);
    if (past_q) assert (state_q != '0);
  end
`endif
endmodule
