// quant: converts a stream of fp32 beats to beats of codes, like quant_kernel of hls/core/quant.c:
// takes a beat every clock and packs 2, 4 or 8 of them (codes of 16, 8 or 4 bits) into one. Takes
// every format of the card (hls/core/beat.h). A beat is 32 * Lanes bits.
//
//    x -> quant_lane, 5 clocks -> codes, zeros after the last -> held_q: part 0, 1, .. -> skid
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
  logic [16*Lanes-1:0] all, codes;
  logic [Steps-1:0]    valid_q, last_q;
  logic [CountW*Steps-1:0] values_q;
  assign in_ready_o = go;
  quant_lane #(.Lanes(Lanes)) u_lane (
    .clk_i, .go_i(go), .x_i(in_data_i), .fmt_i, .shift_i, .saturate_i, .codes_o(all));

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
      codes[16*i+:16] = CountW'(i) < values_q[CountW*Steps-1-:CountW] ? all[16*i+:16] : '0;
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
      valid_q  <= {valid_q[Steps-2:0], in_valid_i};
      last_q   <= {last_q[Steps-2:0], in_last_i};
      values_q <= {values_q[CountW*(Steps-1)-1:0], in_values_i};
      full_q   <= valid_q[Steps-1] && filled;
      end_q    <= last_q[Steps-1];
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

`ifdef FORMAL
  // The proof assumes the promises of quant_lane and skid (README.md). Every beat taken becomes one
  // part, in order, five steps later. A beat of n parts, then zeros, leaves when it is full or has
  // the last part, before the next part is packed.
  (* anyseq *) logic mark;                   // follows a beat, or a part in held_q
  logic               past_q = 1'b0, marked_q, mark_last_q, part_marked_q, pack, ends_q;
  logic [2:0]         age_q;                 // of the marked beat, in steps
  logic [3:0]         n_q, most;             // parts in held_q, 0: none; most: of a beat
  logic [2:0]         mark_part_q;
  logic [W-1:0]       mark_codes_q, after;   // after: bits of held_q from part n on
  logic [W/2-1:0]     got;
  assign pack  = go && valid_q[Steps-1];
  assign most  = 4'd8 >> log2_q;
  assign got   = (W/2)'(held_q >> (32'(4 * Lanes * mark_part_q) << log2_q));
  assign after = held_q >> (32'(4 * Lanes * n_q) << log2_q);
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (go) age_q <= age_q + 1'b1;
    if (marked_q && go && age_q == 3'(Steps - 1)) marked_q <= 1'b0;
    if (!marked_q && mark && go && in_valid_i) begin
      marked_q    <= 1'b1;
      mark_last_q <= in_last_i;
      age_q       <= '0;
    end
    if (go) n_q <= (full_q ? '0 : n_q) + 4'(valid_q[Steps-1]);
    if (pack) ends_q <= last_q[Steps-1];
    if (full_q && go) part_marked_q <= 1'b0;
    if (pack && mark && (full_q || !part_marked_q)) begin
      part_marked_q <= 1'b1;
      mark_part_q   <= part_q;
      mark_codes_q  <= row;
    end
    if (rst_i) {marked_q, part_marked_q, n_q} <= '0;
    if (!past_q) assume (rst_i);
    assume (fmt_i[6:0] == 7'h12 || fmt_i[6:0] == 7'h43 || fmt_i[6:0] == 7'h5a);
    if (past_q) begin
      assume ($stable(fmt_i));
      assert (log2_q == (fmt_i[6:0] == 7'h12 ? 2'd0 : fmt_i[6:0] == 7'h43 ? 2'd1 : 2'd2));
      assert (!marked_q || (age_q < 3'(Steps) && valid_q[age_q] && last_q[age_q] == mark_last_q));
      assert (n_q <= most && {1'b0, part_q} == (full_q ? 4'd0 : n_q) && part_q < most);
      assert (!full_q || n_q != '0);
      assert (full_q == (n_q == most || (n_q != '0 && ends_q)) && (!full_q || end_q == ends_q));
      assert (n_q == '0 || n_q == most || after == '0);
      assert (!part_marked_q || (mark_part_q < n_q
              && got[4*Lanes-1:0] == mark_codes_q[4*Lanes-1:0]
              && (log2_q == '0 || got[8*Lanes-1:0] == mark_codes_q[8*Lanes-1:0])
              && (log2_q != 2'd2 || got == mark_codes_q[W/2-1:0])));
      if (!$past(rst_i) && $past(full_q && !go)) assert (full_q && $stable({end_q, held_q}));
    end
  end
`endif
endmodule
