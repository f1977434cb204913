// expmax: finds the largest magnitude of a block of fp32 and the exponent of n_ranks times it, like
// expmax_kernel of hls/core/expmax.c. Takes a beat every clock; after the last one it takes none
// until the result has left, at most 95 clocks later if it is taken at once.
//
//    magnitudes -> tree of maxima, a level per clock -> max_q -> * n_ranks, a bit per clock
//      -> shifted up, a bit per clock -> exponent
module expmax #(
  parameter int Lanes = 16,                  // a power of two
  localparam int CountW = $clog2(Lanes + 1)
) (
  input  logic                clk_i,
  input  logic                rst_i,
  input  logic [31:0]         n_ranks_i,     // sampled after the last beat; 0: the exponent is 0
  input  logic [32*Lanes-1:0] in_data_i,
  input  logic [CountW-1:0]   in_values_i,   // 0 .. Lanes, others are ignored
  input  logic                in_last_i,
  input  logic                in_valid_i,
  output logic                in_ready_o,
  output logic [7:0]          exponent_o,    // int8: -128 if all are 0, 127 if one is inf or nan
  output logic [31:0]         absmax_o,
  output logic                out_valid_o,
  input  logic                out_ready_i
);
  localparam int Levels = $clog2(Lanes);
  typedef enum logic [2:0] {Take, Drain, Multiply, Shift, Clamp, Give} state_t;
  state_t      state_q;
  logic [5:0]  left_q;                       // Drain, Multiply: clocks left; Shift: bit 55's weight
  // 31 bits per node: node k has children 2k and 2k + 1, the last Lanes are the input's
  logic [31*Lanes-1:0] tree_q;
  logic [62*Lanes-1:0] nodes;
  logic [30:0]         max_q;                // of the block so far
  logic [31:0]         ranks_q;
  logic [55:0]         product_q;
  logic [9:0]          exponent_q;
  logic [23:0]         sig;
  logic                special;
  assign in_ready_o  = state_q == Take;
  assign out_valid_o = state_q == Give;
  assign absmax_o    = {1'b0, max_q};
  power_of_two #(.N(Lanes)) u_lanes ();

  function automatic logic [30:0] larger(input logic [30:0] a, input logic [30:0] b);
    larger = a > b ? a : b;
  endfunction
  always_comb begin
    nodes = '0;
    nodes[31*Lanes-1:0] = tree_q;
    for (int i = 0; i < Lanes; i++)
      if (in_valid_i && in_ready_o && CountW'(i) < in_values_i)
        nodes[31*(Lanes+i)+:31] = in_data_i[32*i+:31];
  end

  assign special = max_q[30:23] == '1;
  assign sig     = {max_q[30:23] != '0, max_q[22:0]};
  always_ff @(posedge clk_i) begin
    for (int k = 1; k < Lanes; k++)
      tree_q[31*k+:31] <= larger(nodes[31*2*k+:31], nodes[31*(2*k+1)+:31]);
    max_q <= larger(max_q, nodes[31+:31]);
    unique case (state_q)
      Take:
        if (in_valid_i && in_last_i) begin
          left_q  <= 6'(Levels);
          state_q <= Drain;
        end
      Drain: begin
        left_q <= left_q - 1'b1;
        if (left_q == '0) begin
          left_q     <= 6'd31;
          ranks_q    <= n_ranks_i;
          product_q  <= '0;
          exponent_o <= n_ranks_i == '0 ? 8'd0 : special ? 8'd127 : 8'h80;
          state_q    <= n_ranks_i == '0 || special || max_q == '0 ? Give : Multiply;
        end
      end
      Multiply: begin
        product_q <= {product_q[54:0], 1'b0} + (ranks_q[31] ? 56'(sig) : '0);
        ranks_q   <= ranks_q << 1;
        left_q    <= left_q == '0 ? 6'd55 : left_q - 1'b1;
        if (left_q == '0) state_q <= Shift;
      end
      Shift:
        if (product_q[55]) begin
          exponent_q <= 10'(left_q) + 10'(product_q[54:0] != '0)
                      + {2'd0, max_q[30:24], max_q[23] || !sig[23]} - 10'd150;
          state_q    <= Clamp;
        end else begin
          product_q <= product_q << 1;
          left_q    <= left_q - 1'b1;
        end
      Clamp: begin
        exponent_o <= $signed(exponent_q) > 10'sd126 ? 8'd126
                    : $signed(exponent_q) < -10'sd126 ? -8'd126 : exponent_q[7:0];
        state_q    <= Give;
      end
      default:
        if (out_ready_i) begin
          max_q   <= '0;
          state_q <= Take;
        end
    endcase
    if (rst_i) begin
      state_q <= Take;
      tree_q  <= '0;
      max_q   <= '0;
    end
  end

`ifdef FORMAL
  // Every block has one result, with its largest magnitude; it waits unchanged. The exponent is
  // simulated.
  logic        past_q = 1'b0, open_q;        // open_q: the last beat has not come
  logic [30:0] most_q, most;                 // of the block's values
  logic        in_tree;                      // a node has the largest one
  always_comb begin
    in_tree = most_q == max_q;
    for (int k = 1; k < Lanes; k++) in_tree = in_tree || tree_q[31*k+:31] == most_q;
    most = most_q;
    for (int i = 0; i < Lanes; i++)
      if (in_valid_i && in_ready_o && 32'(i) < 32'(in_values_i) && in_data_i[32*i+:31] > most)
        most = in_data_i[32*i+:31];
  end
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    most_q <= out_valid_o && out_ready_i ? '0 : most;
    if (in_valid_i && in_ready_o) open_q <= !in_last_i;
    if (out_valid_o && out_ready_i) open_q <= 1'b1;
    if (rst_i) {open_q, most_q} <= {1'b1, 31'd0};
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (in_ready_o == open_q && state_q <= Give);
      assert (state_q != Drain || left_q <= 6'(Levels));
      assert (max_q <= most_q);
      for (int k = 1; k < Lanes; k++) begin
        assert (tree_q[31*k+:31] <= most_q);
        // empty once the last beat's maximum has passed
        assert (tree_q[31*k+:31] == '0 || state_q == Take
                || (state_q == Drain && 32'(left_q) > $clog2(k + 1) - 1));
      end
      assert (in_tree);
      if (out_valid_o) assert (absmax_o == {1'b0, most_q});
      if (!$past(rst_i) && $past(out_valid_o && !out_ready_i))
        assert (out_valid_o && $stable({exponent_o, absmax_o}));
    end
  end
`endif
endmodule
