// admit: decides about one frame at a time and streams its payload into the tile, or discards it.
// Writes nothing before all checks have passed; checks the job again in the deciding clock. LOOK
// reads job, address and slot; CHECK compares; DECIDE acts, while a payload may still stream.
module admit #(
  parameter int Slots    = nc_pkg::CARD_SLOTS,
  parameter int Rows     = nc_pkg::CARD_BEATS,  // most payload beats
  parameter int Jobs     = nc_pkg::CARD_JOBS,
  parameter int Wide     = 1,
  parameter int Narrow   = 0,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int SlotW = $clog2(Slots),
  // flits (nic_core) of a beat, or 1
  localparam int Turns = LaneBytes < nc_pkg::BEAT_BYTES ? nc_pkg::BEAT_BYTES / LaneBytes : 1,
  localparam int MemRows = Rows * nc_pkg::BEAT_BYTES / LaneBytes, RowW = $clog2(MemRows),
  localparam int JobW  = $clog2(Jobs),
  localparam int Ranks = nc_pkg::PKT_MAX_RANKS,
  localparam int RankW = $clog2(Ranks),
  localparam int DescW = nc_pkg::DESC_BITS,
  localparam int N     = nc_pkg::REG_COUNTERS
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // complete, undamaged frames: {source ip, port, header}, and their payload's flits
  input  logic [nc_pkg::RX_DESC_BITS-1:0] desc_data_i,
  input  logic             desc_valid_i,
  output logic             desc_ready_o,
  input  logic [8*LaneBytes-1:0] pay_data_i,
  input  logic             pay_valid_i,
  output logic             pay_ready_o,
  output logic [JobW-1:0]  job_o,
  output logic [RankW-1:0] rank_o,
  input  logic             job_enabled_i,
  input  logic [63:0]      job_key_i,
  input  logic [RankW:0]   job_ranks_i,
  input  logic [SlotW:0]   job_base_i,
  input  logic [SlotW:0]   job_slots_i,
  input  logic [15:0]      job_formats_i,
  input  logic [47:0]      address_i,        // of (job_o, rank_o), one clock later
  input  logic             clear_i,          // clear slots; held until clear_done_o
  input  logic [SlotW-1:0] clear_base_i,
  input  logic [SlotW:0]   clear_slots_i,
  output logic             clear_done_o,
  output logic             tile_valid_o,
  input  logic             tile_ready_i,
  output logic [SlotW-1:0] tile_slot_o,
  output logic [RowW-1:0]  tile_row_o,
  output logic             tile_start_o,
  output logic             tile_last_o,
  output logic             tile_odd_o,       // of the flit, only the first of two beats
  output logic             tile_first_o,
  output logic             tile_emit_o,
  output logic             tile_max_o,
  output logic [7:0]       tile_in_fmt_o,
  output logic [7:0]       tile_out_fmt_o,
  output logic [2:0]       tile_shift_o,
  output logic             tile_saturate_o,
  output logic [8*LaneBytes-1:0] tile_data_o,
  // result whose last contribution began to enter the tile a clock ago
  output logic             fin_valid_o,
  // Sampled a clock early: safe, as only this module fills the FIFO.
  input  logic             fin_ready_i,
  output logic [JobW-1:0]  fin_job_o,
  output logic [SlotW-1:0] fin_slot_o,
  output logic [31:0]      fin_chunk_o,
  output logic [DescW-1:0] fin_desc_o,
  output logic [7:0]       fin_beats_o,
  output logic [Ranks-1:0] fin_mask_o,
  input  logic             done_valid_i,     // that result is complete
  input  logic [SlotW-1:0] done_slot_i,
  // Request to send a slot's kept result to the ranks of ask_mask_o. ask_none_o: cancel all such
  // requests, as the result will be lost. Taken before the frame has other effects.
  output logic             ask_valid_o,
  input  logic             ask_ready_i,
  output logic             ask_none_o,
  output logic [SlotW-1:0] ask_slot_o,
  output logic [Ranks-1:0] ask_mask_o,
  input  logic [1:0]       reading_i,        // bit 0: slot a is being sent; bit 1: slot b is next
  input  logic [SlotW-1:0] reading_a_i,
  input  logic [SlotW-1:0] reading_b_i,
  output logic             ans_valid_o,
  input  logic             ans_ready_i,
  output logic             ans_pong_o,
  output logic [7:0]       ans_status_o,
  output logic [RankW-1:0] ans_rank_o,
  output logic [JobW-1:0]  ans_job_o,
  output logic [511:0]     ans_header_o,     // of the frame being answered
  output logic [31:0]      ans_chunk_o,      // PONG: the slot's chunk
  output logic [Ranks-1:0] ans_bitmap_o,
  output logic [N-1:0]     count_o,          // pulses of counters
  // last frame from a wrong source: {1, job, rank}, {ip, port}
  output logic [31:0]      seen_rank_o,
  output logic [47:0]      seen_address_o
);
  typedef enum logic [2:0] {Reset, Look, Check, Decide, Clear, Settle} state_t;
  state_t state_q;

  logic [511:0] head;
  logic [47:0]  source;
  logic [15:0]  rank, job, slot, len;
  logic [7:0]   op;
  assign {source, head} = desc_data_i;
  assign rank = head[nc_pkg::PKT_RANK +: 16];
  assign job  = head[nc_pkg::PKT_JOB +: 16];
  assign slot = head[nc_pkg::PKT_SLOT +: 16];
  assign len  = head[nc_pkg::PKT_LEN +: 16];
  assign op   = head[nc_pkg::PKT_OP +: 8];
  assign job_o  = job[JobW-1:0];
  assign rank_o = rank[RankW-1:0];

  // --- the slots: {filling, kept, chunk, bitmap, description} ---
  localparam int StoreW = 1 + 1 + 32 + Ranks + DescW;
  (* ram_style = "distributed" *) logic [StoreW-1:0] store_ram [Slots];
  // add_q: write the slot of the addition decided a clock ago
  logic              write, add_q;
  logic [SlotW-1:0]  at, write_at;
  logic [StoreW-1:0] write_data, read_q;
  logic              filling, kept;
  logic [31:0]       chunk, head_chunk;
  logic [Ranks-1:0]  bitmap;
  logic [DescW-1:0]  desc, head_desc;
  assign at = slot[SlotW-1:0];
  always_ff @(posedge clk_i) if (write) store_ram[write_at] <= write_data;
  assign {filling, kept, chunk, bitmap, desc} = read_q;
  assign head_chunk = head[nc_pkg::PKT_CHUNK +: 32];
  assign head_desc = {head[nc_pkg::PKT_COUNT +: 32], head[nc_pkg::PKT_OP +: nc_pkg::DESC_COUNT]};

  // --- LOOK -> CHECK ---
  logic [63:0]    key_q;
  logic [Ranks-1:0] all_q, rank_bit_q, bit_q, all_next;
  logic [RankW:0] ranks_q;
  logic [SlotW:0] base_q, slots_q;
  logic [15:0]    formats_q;
  logic           enabled_q;
  logic [31:0]    before_q, next_chunk_q;        // the frame's chunk - 1 and + 1

  // --- CHECK -> DECIDE: verdicts ---
  logic key_ok_q, rank_ok_q, source_ok_q, slot_ok_q, op_ok_q, ping_q, format_ok_q, job_ok_q;
  logic same_q, next_q, prev_q, desc_ok_q, rank_in_q, full_q, filling_q, kept_q, format_ok, zeros;
  logic [Ranks-1:0] bitmap_new;
  logic [7:0] result_beats, result_beats_q;

  assign zeros = head[nc_pkg::PKT_ZERO0 +: 16] == '0 && head[nc_pkg::PKT_ZERO1 +: 32] == '0
              && head[nc_pkg::PKT_STATUS +: 32] == '0 && head[nc_pkg::PKT_ECHO +: 64] == '0
              && head[nc_pkg::PKT_FLAGS + 1 +: 7] == '0;
  // its first clock is LOOK
  format_check #(.MaxBeats(Rows), .Wide(Wide), .Narrow(Narrow)) u_format (
    .clk_i, .max_i(op == nc_pkg::OP_MAX), .in_fmt_i(head[nc_pkg::PKT_IN_FMT +: 8]),
    .out_fmt_i(head[nc_pkg::PKT_OUT_FMT +: 8]), .out_shift_i(head[nc_pkg::PKT_OUT_SHIFT +: 8]),
    .beats_i(head[nc_pkg::PKT_BEATS +: 8]), .len_i(len), .zeros_i(zeros), .ranks_i(ranks_q),
    .allowed_i(formats_q), .ok_o(format_ok), .result_beats_o(result_beats));

  assign bitmap_new = (filling ? bitmap : '0) | rank_bit_q;
  assign all_next   = ~({{(Ranks - 1){1'b1}}, 1'b0} << RankW'(job_ranks_i - 1'b1));
  always_ff @(posedge clk_i) begin
    enabled_q  <= job_enabled_i && job < 16'(Jobs);
    key_q      <= job_key_i;
    ranks_q    <= job_ranks_i;
    base_q     <= job_base_i;
    slots_q    <= job_slots_i;
    formats_q  <= job_formats_i;
    all_q      <= all_next;
    rank_bit_q <= Ranks'(1) << rank_o;
    before_q   <= head_chunk - 32'd1;
    next_chunk_q   <= head_chunk + 32'd1;
    if (state_q == Look) read_q <= add_q && at == fin_slot_o ? write_data : store_ram[at];

    job_ok_q    <= enabled_q;
    key_ok_q    <= key_q == head[nc_pkg::PKT_KEY +: 64];
    rank_ok_q   <= rank < 16'(ranks_q);
    source_ok_q <= source == address_i;
    slot_ok_q   <= slot >= 16'(base_q) && slot < 16'(base_q) + 16'(slots_q);
    op_ok_q     <= op == nc_pkg::OP_SUM || op == nc_pkg::OP_MAX || op == nc_pkg::OP_PING;
    ping_q      <= op == nc_pkg::OP_PING;
    format_ok_q <= format_ok;
    same_q      <= head_chunk == chunk;
    next_q      <= before_q == chunk;
    prev_q      <= next_chunk_q == chunk;
    desc_ok_q   <= head_desc == desc;
    rank_in_q   <= (bitmap & rank_bit_q) != '0;
    full_q      <= bitmap_new == all_q;
    {filling_q, kept_q} <= {filling, kept};  // copies for slot_rule keep their load small
    bit_q       <= rank_bit_q;
    result_beats_q <= result_beats;
  end

  // --- DECIDE ---
  logic add, resend, bad_desc, duplicate, stale, first, last;
  slot_rule u_rule (
    .filling_i(filling_q), .kept_i(kept_q), .known_i(rank_in_q), .full_i(full_q),
    .is_same_i(same_q), .is_next_i(next_q), .is_prev_i(prev_q), .same_desc_i(desc_ok_q),
    .add_o(add), .resend_o(resend), .bad_desc_o(bad_desc), .duplicate_o(duplicate), .stale_o(stale),
    .first_o(first), .last_o(last));

  logic [N-1:0] fate;
  logic [7:0]   nak;                         // reason; 0: none
  logic         do_add, do_resend, do_pong;
  fate u_fate (
    .job_ok_i(job_ok_q && job_enabled_i), .key_ok_i(key_ok_q), .rank_ok_i(rank_ok_q),
    .source_ok_i(source_ok_q), .slot_ok_i(slot_ok_q), .op_ok_i(op_ok_q), .ping_i(ping_q),
    .format_ok_i(format_ok_q), .add_i(add), .resend_i(resend), .bad_desc_i(bad_desc),
    .duplicate_i(duplicate), .stale_i(stale),
    .fate_o(fate), .nak_o(nak), .add_o(do_add), .resend_o(do_resend), .pong_o(do_pong));

  logic       stream_free;
  logic [9+$clog2(Turns):0] left;
  payload #(.LaneBytes(LaneBytes), .Rows(MemRows)) u_payload (
    .clk_i, .rst_i, .start_i(go), .beats_i(len[15:6] - 10'd1), .away_i(!do_add),
    .free_o(stream_free), .pay_valid_i, .pay_ready_o, .tile_valid_o, .tile_ready_i,
    .row_o(tile_row_o), .first_o(tile_start_o), .last_o(tile_last_o), .odd_o(tile_odd_o),
    .left_o(left));
  assign tile_data_o = pay_data_i;

  // A frame waits (wait_slot) while its slot's result is in the tile, or is being sent and would be
  // overwritten.
  logic [Slots-1:0] finishing_q;
  // finishing_at_q: finishing_q[at] a clock ago; in DECIDE it includes all earlier frames
  logic             finishing_at_q, wait_slot, go, asks, asked_q;
  logic [SlotW-1:0] clear_q;
  logic [SlotW:0]   left_slots_q;
  logic             in_reading, in_reading_q, finishes, in_clear_q, settled_q;
  assign in_reading = (reading_i[0] && reading_a_i == at) || (reading_i[1] && reading_b_i == at);
  // Before the last addition, cancel the slot's pending sends. No send of this slot can start after
  // that, so a reading flag that is a clock late is safe.
  assign wait_slot  = finishing_at_q || ask_valid_o
                      || (do_add && last && (in_reading_q || !fin_ready_i));
  assign asks       = do_resend || (do_add && last);
  assign go         = state_q == Decide && stream_free && !wait_slot && (!asks || asked_q);
  assign finishes   = go && do_add && last;

  always_ff @(posedge clk_i) begin
    in_reading_q <= in_reading;
    add_q        <= go && do_add && !rst_i;
    fin_valid_o  <= finishes && !rst_i;
    fin_job_o    <= job_o;
    fin_slot_o   <= at;
    fin_chunk_o  <= head_chunk;
    fin_desc_o   <= head_desc;
    fin_beats_o  <= result_beats_q;
    fin_mask_o   <= all_q;

    if (ask_ready_i) ask_valid_o <= 1'b0;
    if (!ask_valid_o || ask_ready_i) begin
      if (state_q == Clear) ask_valid_o <= 1'b1;
      if (state_q == Decide && asks && !asked_q && !ask_valid_o && !finishing_at_q)
        ask_valid_o <= 1'b1;
      ask_none_o <= state_q == Clear || !do_resend;
      ask_slot_o <= state_q == Clear ? clear_q : at;
      ask_mask_o <= bit_q;
    end
    asked_q <= state_q == Decide && !go && (asked_q || (ask_valid_o && ask_ready_i));
    if (rst_i) {ask_valid_o, asked_q} <= '0;
  end

  assign desc_ready_o = go;
  assign ans_valid_o  = go && (do_pong || nak != '0);
  assign ans_pong_o   = do_pong;
  assign ans_status_o = !do_pong ? nak
                        : filling ? nc_pkg::PONG_FILLING
                        : kept ? nc_pkg::PONG_KEPT : nc_pkg::PONG_EMPTY;
  assign ans_rank_o   = rank_o;
  assign ans_job_o    = job_o;
  assign ans_header_o = head;
  assign ans_chunk_o  = chunk;
  assign ans_bitmap_o = bitmap;

  assign count_o      = (go ? fate : '0) | N'(ans_valid_o && !ans_ready_i) << nc_pkg::CNT_LOST_NAK;

  // The slot's entry is written in the clock after `go` (state LOOK). Its description counts only
  // while `filling` is set.
  assign write      = add_q || state_q == Clear || state_q == Reset;
  assign write_at   = add_q ? fin_slot_o : clear_q;
  assign write_data = {add_q ? {!fin_valid_o, kept || fin_valid_o, fin_chunk_o, bitmap_new}
                             : {2'b00, 32'hffff_ffff, Ranks'(0)},
                       fin_desc_o};

  // Cleared slots are free when none of their results is being read, at least one clock after
  // their last request was withdrawn.
  function automatic logic in_clear(input logic [SlotW-1:0] s);
    in_clear = s >= clear_base_i && (SlotW + 1)'(s) < (SlotW + 1)'(clear_base_i) + clear_slots_i;
  endfunction
  assign clear_done_o = state_q == Settle && settled_q && !in_clear_q;
  always_ff @(posedge clk_i) begin
    settled_q  <= state_q == Settle && !ask_valid_o;
    in_clear_q <= (reading_i[0] && in_clear(reading_a_i))
                  || (reading_i[1] && in_clear(reading_b_i));
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Reset: begin
        clear_q <= clear_q + 1'b1;
        if (clear_q == SlotW'(Slots - 1)) state_q <= Look;
      end
      Look: begin
        clear_q      <= clear_base_i;
        left_slots_q <= clear_slots_i;
        if (clear_i && left == '0 && finishing_q == '0 && !fin_valid_o) state_q <= Clear;
        else if (!clear_i && desc_valid_i) state_q <= Check;
      end
      Check: state_q <= Decide;
      Decide: if (go) state_q <= Look;
      Clear: if (!ask_valid_o || ask_ready_i) begin
        clear_q      <= clear_q + 1'b1;
        left_slots_q <= left_slots_q - 1'b1;
        if (left_slots_q == (SlotW + 1)'(1)) state_q <= Settle;
      end
      Settle: if (clear_done_o) state_q <= Look;
      default: state_q <= Look;
    endcase

    if (go) begin
      tile_slot_o     <= at;
      tile_first_o    <= first;
      tile_emit_o     <= last;
      tile_max_o      <= op == nc_pkg::OP_MAX;
      tile_in_fmt_o   <= head[nc_pkg::PKT_IN_FMT +: 8];
      tile_out_fmt_o  <= head[nc_pkg::PKT_OUT_FMT +: 8];
      tile_shift_o    <= head[nc_pkg::PKT_OUT_SHIFT +: 3];
      tile_saturate_o <= head[nc_pkg::PKT_FLAGS];
      if (fate[nc_pkg::CNT_DROP_SOURCE]) begin
        seen_rank_o    <= {1'b1, job[14:0], rank};
        seen_address_o <= source;
      end
    end
    finishing_at_q <= finishing_q[at];
    // loops: as `finishing_q[fin_slot_o] <= 1'b1` it would be slower
    if (fin_valid_o)
      for (int s = 0; s < Slots; s++) if (SlotW'(s) == fin_slot_o) finishing_q[s] <= 1'b1;
    if (done_valid_i)
      for (int s = 0; s < Slots; s++) if (SlotW'(s) == done_slot_i) finishing_q[s] <= 1'b0;
    if (rst_i) begin
      state_q     <= Reset;
      clear_q     <= '0;
      finishing_q <= '0;
      seen_rank_o <= '0;
    end
  end

`ifdef FORMAL
  // The proof follows one slot, `one`: its added ranks, chunk and description. A rank is added only
  // once per chunk, and only with key, rank, slot and source of a job that runs in the deciding
  // clock. Assumed: frames have a header and are stable until taken; the promises of job_table.
  (* anyconst *) logic [SlotW-1:0] one;
  logic         past_q = 1'b0, known_q, filling_seen_q, kept_seen_q, over_q, was_on_q, was_off_q,
                here, hold;
  logic         told_q, told_none_q;         // this frame's request was taken
  logic [SlotW+Ranks-1:0] told_of_q;         // its slot and mask
  logic [31:0]  chunk_seen_q;
  logic [Ranks-1:0] in_q, in_d, everyone;
  logic [DescW-1:0] desc_seen_q;
  // flits of the payload being streamed
  localparam int LeftW = 10 + $clog2(Turns);
  logic [LeftW-1:0] taken_q, total_q;
  logic [N-1:0] fates;
  // includes this clock's write
  wire [StoreW-1:0] stored = add_q && fin_slot_o == one ? write_data : store_ram[one];
  assign here     = go && at == one;
  assign in_d     = (filling_seen_q ? in_q : '0) | Ranks'(1) << rank;
  assign everyone = {Ranks{1'b1}} >> RankW'((RankW + 1)'(Ranks) - job_ranks_i);
  assign hold     = state_q == Check || state_q == Decide;
  assign fates    = count_o & ~(N'(1) << nc_pkg::CNT_LOST_NAK);
  always_ff @(posedge clk_i) begin
    past_q    <= 1'b1;
    was_on_q  <= job_enabled_i && (state_q == Look || was_on_q || !was_off_q);
    was_off_q <= state_q != Look && (was_off_q || (was_on_q && !job_enabled_i));
    if (here && do_add) begin
      {filling_seen_q, chunk_seen_q, in_q, desc_seen_q} <= {!last, head_chunk, in_d, head_desc};
      if (last) kept_seen_q <= 1'b1;
    end
    if ((state_q == Clear || state_q == Reset) && clear_q == one)
      {known_q, filling_seen_q, kept_seen_q, chunk_seen_q} <= {1'b1, 1'b0, 1'b0, 32'hffff_ffff};
    if (go || state_q == Clear) told_q <= 1'b0;
    else if (ask_valid_o && ask_ready_i && state_q == Decide)
      {told_q, told_none_q, told_of_q} <= {1'b1, ask_none_o, ask_slot_o, ask_mask_o};
    if (finishes && at == one) over_q <= 1'b1;
    else if (done_valid_i && done_slot_i == one) over_q <= 1'b0;
    if (pay_valid_i && pay_ready_o) taken_q <= taken_q + 1'b1;
    if (go) taken_q <= '0;
    if (go)
      total_q <= LaneBytes > nc_pkg::BEAT_BYTES ? LeftW'(len[15:6] >> 1)
                 : LeftW'(len[15:6] - 10'd1) << $clog2(Turns);
    if (rst_i) {known_q, over_q, was_on_q, was_off_q, told_q} <= '0;

    if (!past_q) assume (rst_i);
    if (past_q && !$past(rst_i) && $past(desc_valid_i && !desc_ready_o))
      assume (desc_valid_i && $stable(desc_data_i));
    if (past_q && $past(job_enabled_i) && job_enabled_i && $past(job_o) == job_o)
      assume ($stable({job_key_i, job_ranks_i, job_base_i, job_slots_i, job_formats_i}));
    if (hold && was_off_q) assume (!job_enabled_i);
    if (job_enabled_i)
      assume (job_ranks_i != '0 && job_ranks_i <= (RankW + 1)'(Ranks));
    if (desc_valid_i) assume (len >= 16'd64);
    assume (clear_slots_i != '0
            && (SlotW + 2)'(clear_base_i) + (SlotW + 2)'(clear_slots_i) <= (SlotW + 2)'(Slots));
    if (past_q && $past(clear_i && !clear_done_o))
      assume (rst_i || (clear_i && $stable({clear_base_i, clear_slots_i})));
    if (done_valid_i && done_slot_i == one) assume (over_q);
    if (past_q && !rst_i) begin
      if (here && do_add) begin
        assert (head_chunk == (filling_seen_q ? chunk_seen_q : chunk_seen_q + 32'd1)
                && first == !filling_seen_q);
        assert (!filling_seen_q || (!in_q[rank_o] && head_desc == desc_seen_q));
        assert (last == (in_d == everyone) && !over_q);
        assert (job < 16'(Jobs) && job_enabled_i && job_key_i == head[nc_pkg::PKT_KEY +: 64]
                && rank < 16'(job_ranks_i));
        assert (source == $past(address_i) && slot >= 16'(job_base_i)
                && 17'(slot) < 17'(job_base_i) + 17'(job_slots_i));
      end
      if (here && do_resend)
        assert (kept_seen_q && !over_q && told_q && !told_none_q
                && told_of_q == {at, Ranks'(1) << rank});
      if (finishes)
        assert (!$past(in_reading) && fin_ready_i && told_q && told_none_q
                && told_of_q[Ranks +: SlotW] == at && all_q == everyone);
      if (!$past(rst_i)) assert (fin_valid_o == $past(finishes) && !(fin_valid_o && finishes));
      if (fin_valid_o && !$past(rst_i))
        assert (fin_slot_o == $past(at) && fin_mask_o == $past(all_q)
                && {fin_chunk_o, fin_desc_o} == $past({head_chunk, head_desc}));
      if (!$past(rst_i) && $past(ask_valid_o && !ask_ready_i))
        assert (rst_i || (ask_valid_o && $stable({ask_none_o, ask_slot_o, ask_mask_o})));
      if (clear_done_o) assert (!ask_valid_o);
      assert (go == (fates != '0) && (fates & (fates - 1'b1)) == '0);
      if (pay_valid_i && pay_ready_o)
        assert (tile_last_o == (taken_q + 1'b1 == total_q) && tile_start_o == (taken_q == '0));
      if (pay_valid_i && pay_ready_o) assert (tile_row_o == RowW'(taken_q));
      assert (state_q <= Settle && (state_q == Reset || known_q) && (!add_q || state_q == Look)
              && (!fin_valid_o || add_q));
      assert (over_q == (finishing_q[one] || (fin_valid_o && fin_slot_o == one)));
      if (known_q)
        assert (stored[StoreW-1-:34] == {filling_seen_q, kept_seen_q, chunk_seen_q}
                && (!filling_seen_q || stored[Ranks+DescW-1:0] == {in_q, desc_seen_q}));
      if (hold && at == one) assert (read_q == store_ram[one]);
      if (hold) assert (desc_valid_i);
      if (state_q == Decide && finishing_q[one] && at == one) assert (finishing_at_q);
      if (state_q == Reset) assert (known_q == (clear_q > one));
      if (state_q == Clear)
        assert (finishing_q == '0 && left == '0 && clear_i && left_slots_q != '0);
      if (state_q == Settle) assert (clear_i && (!settled_q || !ask_valid_o));
      assert (asked_q == told_q && (!asked_q || (state_q == Decide && !ask_valid_o)));
      if (asked_q) assert (told_of_q == {at, bit_q} && told_none_q == !resend);
      if (ask_valid_o)
        assert (state_q == Clear || state_q == Settle
                || (state_q == Decide && {ask_slot_o, ask_mask_o} == {at, bit_q}
                    && ask_none_o == !resend));
      assert (left == '0 ? stream_free
              : left == total_q - taken_q && taken_q < total_q && tile_row_o == RowW'(taken_q)
                && tile_start_o == (taken_q == '0));
    end
  end
`endif
endmodule
