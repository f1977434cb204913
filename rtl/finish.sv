// finish: reports each result, with its header's contents, once it is in the kept-result memory.
// Results leave the tile in the order of their announcements (fin_*).
module finish #(
  parameter int Slots = nc_pkg::CARD_SLOTS,
  parameter int Jobs  = nc_pkg::CARD_JOBS,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int Piece = 2 * LaneBytes,      // bits of a quarter of a row
  localparam int SlotW = $clog2(Slots),
  localparam int JobW  = $clog2(Jobs),
  localparam int Ranks = nc_pkg::PKT_MAX_RANKS,
  localparam int DescW = nc_pkg::DESC_BITS,
  localparam int InfoW = nc_pkg::INFO_JOB + JobW
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // announcement by admit
  input  logic             fin_valid_i,
  output logic             fin_ready_o,
  input  logic [JobW-1:0]  fin_job_i,
  input  logic [SlotW-1:0] fin_slot_i,
  input  logic [31:0]      fin_chunk_i,
  input  logic [DescW-1:0] fin_desc_i,
  input  logic [7:0]       fin_beats_i,      // of the result
  input  logic [Ranks-1:0] fin_mask_i,       // ranks that get it
  // the tile's writes of kept results: quarters of rows, in order
  input  logic             kept_valid_i,
  input  logic [3:0]       kept_en_i,
  input  logic [4*Piece-1:0] kept_data_i,
  input  logic             kept_last_i,
  input  logic [2:0]       kept_status_i,
  output logic             done_valid_o,
  output logic [SlotW-1:0] done_slot_o,
  output logic [Ranks-1:0] done_mask_o,
  output logic [InfoW-1:0] done_info_o       // fields: nc_pkg::INFO_*
);
  // --- CRC: a row may come in pieces; quarters not yet written count as 0 ---
  logic [4*Piece-1:0] pieces;
  logic         first_q;                     // the next piece begins a result
  logic [31:0]  crc;
  always_comb begin
    for (int q = 0; q < 4; q++)
      pieces[Piece*q +: Piece] = kept_en_i[q] ? kept_data_i[Piece*q +: Piece] : '0;
  end
  crc_beat #(.LaneBytes(LaneBytes)) u_crc (
    .clk_i, .rst_i, .data_i(pieces), .valid_i(kept_valid_i), .first_i(first_q),
    .part_i(!kept_en_i[0]), .crc_o(crc), .valid_o(crc_valid));

  // A result of an odd number of beats may fill half of its last flit: takes the zeros out again.
  logic [31:0] whole_crc;
  logic [7:0]  beats;                        // of the result
  generate
    if (LaneBytes > nc_pkg::BEAT_BYTES) begin : g_pair
      logic [31:0] less;
      crc32c #(.Bits(32), .Then(-8 * nc_pkg::BEAT_BYTES - 32)) u_less (
        .clk_i, .en_i(1'b0), .data_i(~crc), .crc_o(less));
      assign whole_crc = beats[0] ? ~less : crc;
    end else begin : g_flit
      assign whole_crc = crc;
    end
  endgenerate

  // --- status; the CRC includes the last row two clocks later ---
  logic [2:0] status_q, all_status_q, done_status_q;
  logic       last_q, done_q;
  always_ff @(posedge clk_i) begin
    if (kept_valid_i) begin
      first_q  <= kept_last_i;
      status_q <= kept_last_i ? '0 : status_q | kept_status_i;
    end
    all_status_q <= status_q | kept_status_i;
    done_status_q <= all_status_q;
    last_q       <= kept_valid_i && kept_last_i;
    done_q       <= last_q;
    if (rst_i) begin
      first_q  <= 1'b1;
      status_q <= '0;
      last_q   <= 1'b0;
      done_q   <= 1'b0;
    end
  end

  // --- announcements ---
  localparam int FinW = JobW + SlotW + 32 + DescW + 8 + Ranks;
  logic [JobW-1:0]  job;
  logic [31:0]      chunk;
  logic [DescW-1:0] desc;
  /* verilator lint_off UNUSEDSIGNAL */
  logic             announced, crc_valid;    // announced: always 1 with done_q
  /* verilator lint_on UNUSEDSIGNAL */
  fifo #(.W(FinW), .Depth(16)) u_fin (
    .clk_i, .rst_i,
    .in_data_i({fin_job_i, fin_slot_i, fin_chunk_i, fin_desc_i, fin_beats_i, fin_mask_i}),
    .in_valid_i(fin_valid_i), .in_ready_o(fin_ready_o),
    .out_data_o({job, done_slot_o, chunk, desc, beats, done_mask_o}), .out_valid_o(announced),
    .out_ready_i(done_valid_o));

  assign done_valid_o = done_q;
  assign done_info_o  = {job, chunk, desc, done_status_q, whole_crc, beats};

`ifdef FORMAL
  // The proof assumes the promises of fifo and crc_beat (README.md). A piece is one write of the
  // tile (kept_*). Each result is reported once, two clocks after its last piece, with the oldest
  // announcement. Its status combines those of all pieces; its CRC begins with the first piece.
  logic       past_q = 1'b0, open_q, in_done_q, crc_in_q, in_done2_q, crc_in2_q;
  logic [4:0] waiting_q;                     // announced, not yet reported
  // status. seen_q: of the pieces so far; due_q, due2_q: of the result that ended 1, 2 clocks ago
  logic [2:0] seen_q, due_q, due2_q;
  always_ff @(posedge clk_i) begin
    past_q    <= 1'b1;
    waiting_q <= waiting_q + 5'(fin_valid_i && fin_ready_o) - 5'(done_valid_o);
    in_done_q <= kept_valid_i && kept_last_i;
    crc_in_q  <= kept_valid_i;
    {in_done2_q, crc_in2_q, due2_q} <= {in_done_q, crc_in_q, due_q};
    if (kept_valid_i) begin
      open_q <= !kept_last_i;
      seen_q <= kept_last_i ? '0 : (open_q ? seen_q : '0) | kept_status_i;
      due_q  <= (open_q ? seen_q : '0) | kept_status_i;
    end
    if (rst_i) {waiting_q, open_q, in_done_q, crc_in_q, in_done2_q, crc_in2_q} <= '0;
    if (!past_q) assume (rst_i);
    assume (announced == (waiting_q != '0) && fin_ready_o == (waiting_q != 5'd16)
            && crc_valid == crc_in2_q);
    if (kept_valid_i) assume (waiting_q > 5'(in_done_q) + 5'(in_done2_q));
    if (past_q) begin
      assert (done_valid_o == in_done2_q && (!done_valid_o || (announced && crc_valid)));
      if (done_valid_o)
        assert (done_info_o[nc_pkg::INFO_STATUS +: 3] == due2_q
                && done_info_o[nc_pkg::INFO_CRC +: 32] == whole_crc
                && done_info_o[0 +: nc_pkg::INFO_CRC] == beats);
      assert (first_q == !open_q && (!open_q || status_q == seen_q) && (open_q || status_q == '0));
      assert (last_q == in_done_q && waiting_q >= 5'(in_done_q) + 5'(in_done2_q)
              && waiting_q <= 5'd16);
      assert ((!in_done_q || (crc_in_q && all_status_q == due_q)) && (!in_done2_q || crc_in2_q));
    end
  end
`endif
endmodule
