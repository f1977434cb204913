// unquant: converts a stream of beats of codes to fp32 beats, like unquant_kernel of
// hls/core/quant.c: a beat of 16-, 8- or 4-bit codes becomes 2, 4 or 8, one every clock. Takes
// every format of the card (hls/core/beat.h). A beat is 32 * Lanes bits.
module unquant #(
  parameter int Lanes = 16,
  localparam int W = 32 * Lanes, CountW = $clog2(8 * Lanes + 1)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic [7:0]        fmt_i,           // these stay, from a clock before the first beat on
  input  logic [9:0]        shift_i,
  input  logic [W-1:0]      in_data_i,
  input  logic [CountW-1:0] in_values_i,     // 1 .. codes of a beat; fewer only in the last beat
  input  logic              in_last_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output logic [W-1:0]      out_data_o,      // zeros after the last value
  output logic              out_last_o,
  output logic              out_valid_o,
  input  logic              out_ready_i
);
  localparam int Steps = 5;
  logic                go, is_last;
  logic [1:0]          width_q;              // 4 bits 0, 8 bits 1, 16 bits 2
  logic [W-1:0]        held_q, x;            // held_q: the next code is the lowest
  logic [CountW-1:0]   left_q;               // codes in held_q
  logic                last_beat_q;
  logic [16*Lanes-1:0] codes;
  logic [Steps-1:0]    valid_q, last_q;
  assign is_last    = left_q <= CountW'(Lanes);
  assign in_ready_o = go && is_last;

  always_comb
    for (int i = 0; i < Lanes; i++)
      codes[16*i+:16] = CountW'(i) >= left_q ? '0
                      : width_q == 2'd0 ? 16'(held_q[4*i+:4])
                      : width_q == 2'd1 ? 16'(held_q[8*i+:8]) : held_q[16*i+:16];
  unquant_lane #(.Lanes(Lanes)) u_lane (
    .clk_i, .go_i(go), .codes_i(codes), .fmt_i, .shift_i, .x_o(x));

  always_ff @(posedge clk_i) begin
    width_q <= 2'({1'b0, fmt_i[6:4]} + fmt_i[3:0] >= 4'd7) + 2'(&({1'b0, fmt_i[6:4]} + fmt_i[3:0]));
    if (go) begin
      valid_q <= {valid_q[Steps-2:0], left_q != '0};
      last_q  <= {last_q[Steps-2:0], last_beat_q && is_last};
      held_q  <= width_q == 2'd0 ? held_q >> 4 * Lanes
               : width_q == 2'd1 ? held_q >> 8 * Lanes : held_q >> 16 * Lanes;
      left_q  <= is_last ? '0 : left_q - CountW'(Lanes);
      if (in_valid_i && is_last) begin
        held_q      <= in_data_i;
        left_q      <= in_values_i;
        last_beat_q <= in_last_i;
      end
    end
    if (rst_i) begin
      left_q  <= '0;
      valid_q <= '0;
    end
  end

  skid #(.W(W + 1)) u_out (
    .clk_i, .rst_i, .in_data_i({last_q[Steps-1], x}), .in_valid_i(valid_q[Steps-1]),
    .in_ready_o(go), .out_data_o({out_last_o, out_data_o}), .out_valid_o, .out_ready_i);

`ifdef FORMAL
  // The proof assumes the promises of unquant_lane and skid (README.md). A beat's codes go to the
  // lanes in order, Lanes at a time, then zeros; each group is one beat, five steps later.
  (* anyseq *) logic mark;                   // follows a group
  logic              past_q = 1'b0, marked_q, mark_last_q, group;
  logic [2:0]        age_q;
  logic [W-1:0]      beat_q, later;          // the beat in held_q as it came
  logic [CountW-1:0] values_q;
  logic [3:0]        done_q;                 // groups of it that have left
  logic [4:0]        places;
  assign group  = go && left_q != '0;
  assign places = 5'd4 << width_q;
  assign later  = beat_q >> 32'(done_q * places * Lanes);
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (go) begin
      age_q  <= age_q + 1'b1;
      done_q <= done_q + 4'(left_q != '0);
    end
    if (in_valid_i && in_ready_o) begin
      beat_q   <= in_data_i;
      values_q <= in_values_i;
      done_q   <= '0;
    end
    if (marked_q && go && age_q == 3'(Steps - 1)) marked_q <= 1'b0;
    if (!marked_q && mark && group) begin
      marked_q    <= 1'b1;
      mark_last_q <= last_beat_q && left_q <= CountW'(Lanes);
      age_q       <= '0;
    end
    if (rst_i) marked_q <= 1'b0;
    if (!past_q) assume (rst_i);
    assume (in_values_i != '0 && (32'(in_values_i) << 2) << width_q <= W
            && (fmt_i[6:0] == 7'h12 || fmt_i[6:0] == 7'h43 || fmt_i[6:0] == 7'h5a));
    if (past_q) begin
      assume ($stable(fmt_i));
      assert (width_q == (fmt_i[6:0] == 7'h12 ? 2'd0 : fmt_i[6:0] == 7'h43 ? 2'd1 : 2'd2));
      assert (!marked_q || (age_q < 3'(Steps) && valid_q[age_q] && last_q[age_q] == mark_last_q));
      if (left_q != '0) begin
        assert (held_q == later && 32'(values_q) == 32'(left_q) + 32'(done_q) * Lanes);
        assert ((32'(values_q) << 2) << width_q <= W);
        for (int i = 0; i < Lanes; i++)
          assert (codes[16*i+:16]
                  == (32'(i) >= 32'(left_q) ? 16'd0
                      : 16'(later >> 32'(places) * i) & 16'((17'd1 << places) - 17'd1)));
      end
      assert (in_ready_o == (go && 32'(left_q) <= Lanes));
    end
  end
`endif
endmodule
