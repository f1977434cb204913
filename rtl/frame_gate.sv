// frame_gate: passes or drops whole frames of a stream. in_pass_i with a frame's first beat
// decides; that beat's tag accompanies all beats. Combinational.
module frame_gate #(
  parameter int W    = 8,
  parameter int TagW = 1
) (
  input  logic            clk_i,
  input  logic            rst_i,
  input  logic [W-1:0]    in_data_i,
  input  logic            in_last_i,
  input  logic [TagW-1:0] in_tag_i,          // with the first beat
  // with the first beat; may change until that is taken, like in_tag_i
  input  logic            in_pass_i,
  input  logic            in_valid_i,
  output logic            in_ready_o,
  output logic [W-1:0]    out_data_o,
  output logic            out_last_o,
  output logic [TagW-1:0] out_tag_o,
  output logic            out_valid_o,
  input  logic            out_ready_i,
  output logic            dropped_o          // a pulse per dropped frame
);
  logic            inside_q, pass_q, pass;   // inside_q: after a first beat
  logic [TagW-1:0] tag_q;

  assign pass        = inside_q ? pass_q : in_pass_i;
  assign in_ready_o  = !pass || out_ready_i;
  assign out_valid_o = in_valid_i && pass;
  assign out_data_o  = in_data_i;
  assign out_last_o  = in_last_i;
  assign out_tag_o   = inside_q ? tag_q : in_tag_i;
  assign dropped_o   = in_valid_i && !inside_q && !in_pass_i;

  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_ready_o) begin
      inside_q <= !in_last_i;
      if (!inside_q) begin
        pass_q <= in_pass_i;
        tag_q  <= in_tag_i;
      end
    end
    if (rst_i) inside_q <= 1'b0;
  end

`ifdef FORMAL
  // A beat passes, with its frame's tag, if the frame's first beat passed. A dropped beat never
  // waits.
  logic            past_q = 1'b0, first_pass_q, open_q;
  logic [TagW-1:0] first_tag_q;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (in_valid_i && in_ready_o) begin
      open_q <= !in_last_i;
      if (!open_q) {first_pass_q, first_tag_q} <= {in_pass_i, in_tag_i};
    end
    if (rst_i) open_q <= 1'b0;
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (open_q == inside_q);
      if (open_q) assert (pass_q == first_pass_q && tag_q == first_tag_q);
      assert (out_valid_o == (in_valid_i && (open_q ? first_pass_q : in_pass_i)));
      assert (out_tag_o == (open_q ? first_tag_q : in_tag_i));
      if (in_valid_i && !out_valid_o) assert (in_ready_o);
      if (out_valid_o)
        assert (in_ready_o == out_ready_i && out_data_o == in_data_i && out_last_o == in_last_i);
      assert (dropped_o == (in_valid_i && in_ready_o && !open_q && !out_valid_o));
    end
  end
`endif
endmodule
