// quant: converts a stream of fp32 beats to beats of codes, like quant_kernel of hls/core/quant.c:
// takes a beat every clock and packs 2, 4 or 8 of them (codes of 16, 8 or 4 bits) into one. Takes
// every format of the card (hls/core/beat.h). A beat is 32 * Lanes bits.
//
//    x, zeros after the last -> quant_lane, 5 clocks -> held_q: part 0, 1, .. -> skid -> codes
module quant #(
  parameter int Lanes = 16,
  localparam int W = 32 * Lanes, CountW = $clog2(Lanes + 1)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic [7:0]        fmt_i,           // these stay, from a clock before the first beat on
  input  logic [9:0]        shift_i,
  input  logic              saturate_i,
  input  logic [W-1:0]      in_data_i,
  input  logic [CountW-1:0] in_values_i,     // 1 .. Lanes; less than Lanes only in the last beat
  input  logic              in_last_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output logic [W-1:0]      out_data_o,      // zeros after the last code
  output logic              out_last_o,
  output logic              out_valid_o,
  input  logic              out_ready_i
);
  localparam int Steps = 5;
  logic                go, filled;
  logic [W-1:0]        x;
  logic [16*Lanes-1:0] codes;
  logic [Steps-1:0]    valid_q, last_q;
  assign in_ready_o = go;
  always_comb
    for (int i = 0; i < Lanes; i++)
      x[32*i+:32] = CountW'(i) < in_values_i ? in_data_i[32*i+:32] : '0;
  quant_lane #(.Lanes(Lanes)) u_lane (
    .clk_i, .go_i(go), .x_i(x), .fmt_i, .shift_i, .saturate_i, .codes_o(codes));

  // --- pack: an eighth of a beat is Lanes 4-bit codes ---
  logic [1:0]   log2_q;                      // of eighths per part
  logic [2:0]   part_q;
  logic [7:0]   eighths;
  logic         full_q, end_q;
  logic [W-1:0] row, held_q;
  logic [4*Lanes-1:0] fours;
  logic [8*Lanes-1:0] eights;
  always_comb begin
    for (int i = 0; i < Lanes; i++) begin
      fours[4*i+:4]  = codes[16*i+:4];
      eights[8*i+:8] = codes[16*i+:8];
    end
    row     = log2_q == 2'd0 ? {8{fours}} : log2_q == 2'd1 ? {4{eights}} : {2{codes}};
    eighths = (log2_q == 2'd0 ? 8'h01 : log2_q == 2'd1 ? 8'h03 : 8'h0f) << (part_q << log2_q);
    filled  = last_q[Steps-1] || eighths[7];
  end

  always_ff @(posedge clk_i) begin
    log2_q <= 2'({1'b0, fmt_i[6:4]} + fmt_i[3:0] >= 4'd7) + 2'(&({1'b0, fmt_i[6:4]} + fmt_i[3:0]));
    if (go) begin
      valid_q <= {valid_q[Steps-2:0], in_valid_i};
      last_q  <= {last_q[Steps-2:0], in_last_i};
      full_q  <= valid_q[Steps-1] && filled;
      end_q   <= last_q[Steps-1];
      if (valid_q[Steps-1]) begin
        for (int k = 0; k < 8; k++)
          if (eighths[k]) held_q[4*Lanes*k+:4*Lanes] <= row[4*Lanes*k+:4*Lanes];
          else if (part_q == '0) held_q[4*Lanes*k+:4*Lanes] <= '0;
        part_q <= filled ? '0 : part_q + 1'b1;
      end
    end
    if (rst_i) begin
      valid_q <= '0;
      full_q  <= 1'b0;
      part_q  <= '0;
    end
  end

  skid #(.W(W + 1)) u_out (
    .clk_i, .rst_i, .in_data_i({end_q, held_q}), .in_valid_i(full_q), .in_ready_o(go),
    .out_data_o({out_last_o, out_data_o}), .out_valid_o, .out_ready_i);
endmodule
