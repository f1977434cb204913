// skid: registers the ready path of a ready/valid stream: a beat every clock, one clock of delay.
module skid #(
  parameter int W = 8                        // data, keep, last..., packed by the caller
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [W-1:0] in_data_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  output logic [W-1:0] out_data_o,
  output logic         out_valid_o,
  input  logic         out_ready_i
);
  logic [W-1:0] out_q, spare_q;
  logic         out_full_q, spare_full_q;

  assign in_ready_o  = !spare_full_q;
  assign out_valid_o = out_full_q;
  assign out_data_o  = out_q;

  always_ff @(posedge clk_i) begin
    if (!out_full_q || out_ready_i) begin
      out_q        <= spare_full_q ? spare_q : in_data_i;
      out_full_q   <= spare_full_q || in_valid_i;
      spare_full_q <= 1'b0;
    end else if (in_valid_i && in_ready_o) begin
      spare_q      <= in_data_i;
      spare_full_q <= 1'b1;
    end
    if (rst_i) begin
      out_full_q   <= 1'b0;
      spare_full_q <= 1'b0;
    end
  end

`ifdef FORMAL
  // The skid holds the last beat taken and the one before.
  logic         past_q = 1'b0;
  logic [1:0]   held_q;
  logic [W-1:0] last_q, before_q;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    held_q <= rst_i ? 2'd0 : held_q + 2'(in_valid_i && in_ready_o) - 2'(out_valid_o && out_ready_i);
    if (in_valid_i && in_ready_o) begin
      last_q   <= in_data_i;
      before_q <= last_q;
    end
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (held_q == 2'(out_full_q) + 2'(spare_full_q));
      assert (!spare_full_q || out_full_q);
      assert (!spare_full_q || (spare_q == last_q && out_q == before_q));
      assert (spare_full_q || !out_full_q || out_q == last_q);
      assert (held_q == 2'd2 || in_ready_o);
      if (!$past(rst_i) && $past(out_valid_o && !out_ready_i))
        assert (out_valid_o && $stable(out_data_o));
    end
  end
`endif
endmodule
