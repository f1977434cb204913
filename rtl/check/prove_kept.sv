// prove_kept: proves that admit and sends never let a kept result be sent and overwritten at the
// same time, for any speeds of tx and tile, frames and jobs. For Yosys. From the clock in which
// the last contribution enters the tile until the result is reported, tx does not read the slot
// and no request for it waits.
module prove_kept #(
  parameter int Slots = 2,
  localparam int Ranks = nc_pkg::PKT_MAX_RANKS,
  localparam int SlotW = $clog2(Slots)
) (
  input logic             clk_i,
  input logic             rst_i,
  input logic [nc_pkg::RX_DESC_BITS-1:0] desc_data_i,
  input logic             desc_valid_i,
  input logic             pay_valid_i,
  input logic             job_enabled_i,
  input logic [63:0]      job_key_i,
  input logic [$clog2(Ranks):0] job_ranks_i,
  input logic [SlotW:0]   job_base_i,
  input logic [SlotW:0]   job_slots_i,
  input logic [47:0]      address_i,
  input logic             clear_i,
  input logic [SlotW-1:0] clear_base_i,
  input logic [SlotW:0]   clear_slots_i,
  input logic             tile_ready_i,
  input logic             fin_ready_i,
  input logic             done_valid_i,
  input logic [SlotW-1:0] done_slot_i,
  input logic [Ranks-1:0] done_mask_i,
  input logic             send_ready_i,
  input logic             read_end_i         // tx has served the current request
);
  logic             desc_ready, ask_valid, ask_ready, ask_none, send_valid, send_ready, reading_q;
  logic [SlotW-1:0] ask_slot, send_slot, reading_slot_q;
  logic [Ranks-1:0] ask_mask;
  admit #(.Slots(Slots), .Rows(2), .Jobs(2)) u_admit (
    .clk_i, .rst_i, .desc_data_i, .desc_valid_i, .desc_ready_o(desc_ready),
    .pay_data_i('0), .pay_valid_i, .pay_ready_o(), .job_o(), .rank_o(),
    .job_enabled_i, .job_key_i, .job_ranks_i, .job_base_i, .job_slots_i, .job_formats_i('0),
    .address_i, .clear_i, .clear_base_i, .clear_slots_i, .clear_done_o(),
    .tile_valid_o(), .tile_ready_i, .tile_slot_o(), .tile_row_o(), .tile_start_o(), .tile_last_o(),
    .tile_odd_o(), .tile_first_o(), .tile_emit_o(), .tile_max_o(), .tile_in_fmt_o(),
    .tile_out_fmt_o(), .tile_shift_o(), .tile_saturate_o(), .tile_data_o(),
    .fin_valid_o(), .fin_ready_i, .fin_job_o(), .fin_slot_o(), .fin_chunk_o(), .fin_desc_o(),
    .fin_beats_o(), .fin_mask_o(), .done_valid_i, .done_slot_i,
    .ask_valid_o(ask_valid), .ask_ready_i(ask_ready), .ask_none_o(ask_none), .ask_slot_o(ask_slot),
    .ask_mask_o(ask_mask),
    .reading_i({send_valid, reading_q}), .reading_a_i(reading_slot_q), .reading_b_i(send_slot),
    .ans_valid_o(), .ans_ready_i(1'b1), .ans_pong_o(), .ans_status_o(), .ans_rank_o(), .ans_job_o(),
    .ans_header_o(), .ans_chunk_o(), .ans_bitmap_o(), .count_o(),
    .seen_rank_o(), .seen_address_o());
  sends #(.Slots(Slots), .Jobs(2)) u_sends (
    .clk_i, .rst_i, .done_valid_i, .done_slot_i, .done_mask_i, .done_info_i('0),
    .ask_valid_i(ask_valid), .ask_ready_o(ask_ready), .ask_none_i(ask_none), .ask_slot_i(ask_slot),
    .ask_mask_i(ask_mask),
    .send_valid_o(send_valid), .send_ready_i(send_ready), .send_slot_o(send_slot), .send_mask_o(),
    .send_all_o(), .send_info_o());
  (* hierconn *) wire [Slots-1:0] \u_sends.pending_q , \u_admit.finishing_q ;
  (* hierconn *) wire [2:0] \u_admit.state_q ;
  (* hierconn *) wire \u_admit.finishes , \u_admit.asked_q , \u_admit.in_reading ,
                      \u_admit.in_reading_q , \u_admit.resend , \u_admit.finishing_at_q ,
                      \u_admit.fin_valid_o ;
  (* hierconn *) wire [SlotW-1:0] \u_admit.at , \u_admit.fin_slot_o ;

  assign send_ready = send_ready_i && (!reading_q || read_end_i);

  (* anyconst *) logic [SlotW-1:0] one;
  logic past_q = 1'b0, over_q;               // over_q: the slot's result is in the tile
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (read_end_i) reading_q <= 1'b0;
    if (send_valid && send_ready) {reading_q, reading_slot_q} <= {1'b1, send_slot};
    if (\u_admit.finishes  && \u_admit.at  == one) over_q <= 1'b1;
    else if (done_valid_i && done_slot_i == one) over_q <= 1'b0;
    if (rst_i) {reading_q, over_q} <= '0;
    if (!past_q) assume (rst_i);
    if (past_q && !$past(rst_i) && $past(desc_valid_i && !desc_ready))
      assume (desc_valid_i && $stable(desc_data_i));
    // reported once
    if (done_valid_i && done_slot_i == one) assume (over_q);
    if (past_q) begin
      assert (!over_q
              || (!(send_valid && send_slot == one) && !(reading_q && reading_slot_q == one)));
      assert (!over_q || !\u_sends.pending_q [one]);
      assert (over_q == (\u_admit.finishing_q [one]
                         || (\u_admit.fin_valid_o  && \u_admit.fin_slot_o  == one)));
      if (\u_admit.fin_valid_o ) assert (\u_admit.state_q == 3'd1);  // Look
      if (ask_valid) assert (\u_admit.state_q == 3'd3 || (\u_admit.state_q >= 3'd4 && ask_none));
      if (\u_admit.asked_q ) assert (\u_admit.state_q == 3'd3 && !ask_valid);
      if (ask_valid && \u_admit.state_q == 3'd3)
        assert (ask_slot == \u_admit.at && ask_none == !\u_admit.resend );
      if (\u_admit.state_q == 3'd3 && \u_admit.at == one) begin
        if (ask_valid || \u_admit.asked_q || !\u_admit.finishing_at_q ) assert (!over_q);
        // no new send can start
        if (\u_admit.asked_q && !\u_admit.resend )
          assert (!\u_sends.pending_q [one] && (!\u_admit.in_reading || \u_admit.in_reading_q ));
      end
      assert (desc_valid_i || (\u_admit.state_q != 3'd2 && \u_admit.state_q != 3'd3));
    end
  end
endmodule
