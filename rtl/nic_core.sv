// nic_core: the card without its UDP shell: adds the gradient frames of all ranks and returns
// rounded sums.
//
//                      +--------- job_table <---- regs <==> AXI-Lite
//                      v              |
//   rx ==desc, payload==> admit ==> tile ==> kept_mem ====================> tx ==>
//                      |  |             |                                    ^
//                      |  |             +--> finish --> sends ---------------+   results
//                      |  +-- fin_* ----------^           ^                  |
//                      |  +-- ask_* ----------------------+                  |
//                      +----- ans_* -----> fifo -----------------------------+   NAK, PONG
//
// The ports carry UDP payloads in flits of LaneBytes bytes, all that the card moves and adds in a
// clock. A beat of 64 bytes (hls/core/beat.h) is 64 / LaneBytes flits; with 64, a flit is a beat;
// with 128, two. The peer's address and port are valid with a frame's first flit. Every flit of a
// tx frame is full; with 128, the last may have one beat. rx takes a flit every clock, except with
// 128 after a full last flit; a frame without room is dropped and counted. One clock domain; rst_i
// is synchronous.
module nic_core #(
  // allowed values: core_sizes
  parameter int Narrow    = 0,               // 1: adds only e1m6f and e2m5f, in more slots
  parameter int Slots     = Narrow != 0 ? nc_pkg::CARD_NARROW_SLOTS : nc_pkg::CARD_SLOTS,
  parameter int Rows      = nc_pkg::CARD_BEATS,  // most payload beats, a power of two
  parameter int Jobs      = nc_pkg::CARD_JOBS,
  parameter int FifoBeats = 256,             // for payloads, a power of two, Rows or more
  parameter int Descs     = 32,              // for frame headers
  parameter int Answers   = 16,              // for NAKs and PONGs
  parameter int Wide      = Narrow != 0 ? 0 : 1,  // 0: only formats of 8 bits, as with Narrow
  parameter int Group     = 1,               // 0: no multicast groups
  parameter int Ultra     = 1,               // 1: slot memory in UltraRAM
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,  // 8, 16, 32, 64 or 128
  localparam int Flit     = 8 * LaneBytes
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [Flit-1:0] rx_data_i,
  input  logic [LaneBytes-1:0] rx_keep_i,
  input  logic         rx_last_i,
  input  logic [31:0]  rx_ip_i,
  input  logic [15:0]  rx_port_i,
  input  logic         rx_valid_i,
  output logic         rx_ready_o,
  output logic [Flit-1:0] tx_data_o,
  output logic [LaneBytes-1:0] tx_keep_o,
  output logic         tx_last_o,
  output logic [31:0]  tx_ip_o,
  output logic [15:0]  tx_port_o,
  output logic         tx_valid_o,
  input  logic         tx_ready_i,
  // registers (AXI-Lite): hls/card/regs.def
  input  logic [11:0]  s_awaddr_i,
  input  logic         s_awvalid_i,
  output logic         s_awready_o,
  input  logic [31:0]  s_wdata_i,
  input  logic [3:0]   s_wstrb_i,
  input  logic         s_wvalid_i,
  output logic         s_wready_o,
  output logic [1:0]   s_bresp_o,
  output logic         s_bvalid_o,
  input  logic         s_bready_i,
  input  logic [11:0]  s_araddr_i,
  input  logic         s_arvalid_i,
  output logic         s_arready_o,
  output logic [31:0]  s_rdata_o,
  output logic [1:0]   s_rresp_o,
  output logic         s_rvalid_o,
  input  logic         s_rready_i
);
  core_sizes #(
    .Narrow(Narrow), .Slots(Slots), .Rows(Rows), .Jobs(Jobs), .FifoBeats(FifoBeats), .Descs(Descs),
    .Answers(Answers), .Wide(Wide), .Group(Group), .Ultra(Ultra), .LaneBytes(LaneBytes)
  ) u_sizes ();
  localparam int Ranks = nc_pkg::PKT_MAX_RANKS;
  localparam int SlotW = $clog2(Slots), JobW = $clog2(Jobs),
                 RankW = $clog2(Ranks);
  // rows of a slot in slot memory and kept results, a flit each
  localparam int MemRows = Rows * nc_pkg::BEAT_BYTES / LaneBytes, RowW = $clog2(MemRows);
  localparam int BeatW = $clog2(Rows + 1);
  localparam int N     = nc_pkg::REG_COUNTERS;
  localparam int DescW = nc_pkg::DESC_BITS;
  localparam int InfoW = nc_pkg::INFO_JOB + JobW;

  logic         enable, snapshot, snapshot_busy, job_commit, job_start, job_busy, job_refused,
                rank_commit, seed_write;
  logic [15:0]  job_index, job_base, job_slots, job_formats, job_group_port, rank_index, rank_port;
  logic [RankW:0] job_ranks;
  logic [63:0]  job_key, counter;
  logic [31:0]  job_group_ip, rank_ip, drop_in, drop_out, drop_seed, seen_rank, random_in,
                random_out;
  logic [47:0]  seen_address;
  logic [4:0]   counter_index;
  logic [N-1:0] count_rx, count_admit, count_tx, count_q;

  regs #(
    .Slots(Slots), .Jobs(Jobs), .Rows(Rows), .Widths(Wide != 0 ? 7 : 2), .Group(Group),
    .Narrow(Narrow)
  ) u_regs (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .enable_o(enable), .snapshot_o(snapshot), .snapshot_busy_i(snapshot_busy),
    .job_index_o(job_index), .job_ranks_o(job_ranks), .job_key_o(job_key), .job_base_o(job_base),
    .job_slots_o(job_slots), .job_formats_o(job_formats), .job_group_ip_o(job_group_ip),
    .job_group_port_o(job_group_port), .job_commit_o(job_commit), .job_start_o(job_start),
    .rank_index_o(rank_index), .rank_ip_o(rank_ip), .rank_port_o(rank_port),
    .rank_commit_o(rank_commit),
    .drop_in_o(drop_in), .drop_out_o(drop_out), .drop_seed_o(drop_seed),
    .drop_seed_write_o(seed_write), .counter_index_o(counter_index), .counter_i(counter),
    .busy_i(job_busy), .refused_i(job_refused),
    .seen_rank_i(seen_rank), .seen_ip_i(seen_address[47:16]), .seen_port_i(seen_address[15:0]));

  always_ff @(posedge clk_i) count_q <= rst_i ? '0 : count_rx | count_admit | count_tx;
  counters #(.N(N)) u_counters (
    .clk_i, .rst_i, .count_i(count_q), .snapshot_i(snapshot), .busy_o(snapshot_busy),
    .index_i(counter_index), .value_o(counter));

  rng u_rng (.clk_i, .rst_i, .seed_write_i(seed_write), .seed_i(drop_seed), .a_o(random_in),
             .b_o(random_out));

  logic             clear, clear_done, ask_job_enabled, job_has_group, addr_group;
  logic [SlotW-1:0] clear_base;
  logic [SlotW:0]   clear_slots, ask_job_base, ask_job_slots;
  logic [JobW-1:0]  ask_job, send_job, addr_job;
  logic [RankW-1:0] ask_rank, addr_rank;
  logic [63:0]      ask_job_key, send_key;
  logic [RankW:0]   ask_job_ranks;
  logic [15:0]      ask_job_formats;
  logic [47:0]      ask_address, addr_address;

  job_table #(.Jobs(Jobs), .Slots(Slots)) u_jobs (
    .clk_i, .rst_i, .commit_i(job_commit), .start_i(job_start), .index_i(job_index),
    .ranks_i(job_ranks), .key_i(job_key), .base_i(job_base), .slots_i(job_slots),
    .formats_i(job_formats), .group_ip_i(Group != 0 ? job_group_ip : '0),
    .group_port_i(job_group_port), .busy_o(job_busy), .refused_o(job_refused),
    .rank_commit_i(rank_commit), .rank_i(rank_index), .ip_i(rank_ip), .port_i(rank_port),
    .clear_o(clear), .clear_base_o(clear_base), .clear_slots_o(clear_slots),
    .clear_done_i(clear_done),
    .job_i(ask_job), .job_enabled_o(ask_job_enabled), .job_key_o(ask_job_key),
    .job_ranks_o(ask_job_ranks), .job_base_o(ask_job_base), .job_slots_o(ask_job_slots),
    .job_formats_o(ask_job_formats),
    .send_job_i(send_job), .send_key_o(send_key), .send_group_o(job_has_group),
    .a_job_i(ask_job), .a_rank_i(ask_rank), .a_address_o(ask_address),
    .b_job_i(addr_job), .b_rank_i(addr_rank),
    .b_group_i(addr_group), .b_address_o(addr_address));

  logic [nc_pkg::RX_DESC_BITS-1:0] desc_data;
  logic [Flit-1:0] pay_data;
  logic         desc_valid, desc_ready, pay_valid, pay_ready;
  rx #(
    .MaxBeats(Rows), .FifoBeats(FifoBeats), .Descs(Descs), .LaneBytes(LaneBytes)
  ) u_rx (
    .clk_i, .rst_i,
    .rx_data_i, .rx_keep_i, .rx_last_i, .rx_ip_i, .rx_port_i, .rx_valid_i, .rx_ready_o,
    .enable_i(enable), .drop_in_i(drop_in), .random_i(random_in),
    .desc_data_o(desc_data), .desc_valid_o(desc_valid), .desc_ready_i(desc_ready),
    .pay_data_o(pay_data), .pay_valid_o(pay_valid), .pay_ready_i(pay_ready), .drop_o(count_rx));

  logic             t_valid, t_ready, t_start, t_last, t_odd, t_first, t_emit, t_max, t_saturate;
  logic [SlotW-1:0] t_slot, fin_slot, done_slot, ask_slot, send_slot, reading_slot;
  logic [RowW-1:0]  t_row;
  logic [7:0]       t_in_fmt, t_out_fmt, fin_beats;
  logic [2:0]       t_shift;
  logic [Flit-1:0]  t_data;
  logic             fin_valid, fin_ready, done_valid, ask_valid, ask_ready, ask_none, send_valid,
                    reading;
  logic [JobW-1:0]  fin_job;
  logic [31:0]      fin_chunk;
  logic [DescW-1:0] fin_desc;
  logic [Ranks-1:0] fin_mask, done_mask, ask_mask, send_mask;
  logic [InfoW-1:0] done_info, send_info;
  logic             ans_valid, ans_ready, ans_pong;
  logic [7:0]       ans_status;
  logic [RankW-1:0] ans_rank;
  logic [JobW-1:0]  ans_job;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [511:0]     ans_header;              // answers repeat some of its fields
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0]      ans_chunk;
  logic [Ranks-1:0] ans_bitmap;
  admit #(
    .Slots(Slots), .Rows(Rows), .Jobs(Jobs), .Wide(Wide), .LaneBytes(LaneBytes),
    .Narrow(Narrow)) u_admit (
    .clk_i, .rst_i, .desc_data_i(desc_data), .desc_valid_i(desc_valid), .desc_ready_o(desc_ready),
    .pay_data_i(pay_data), .pay_valid_i(pay_valid), .pay_ready_o(pay_ready),
    .job_o(ask_job), .rank_o(ask_rank),
    .job_enabled_i(ask_job_enabled), .job_key_i(ask_job_key), .job_ranks_i(ask_job_ranks),
    .job_base_i(ask_job_base), .job_slots_i(ask_job_slots), .job_formats_i(ask_job_formats),
    .address_i(ask_address),
    .clear_i(clear), .clear_base_i(clear_base), .clear_slots_i(clear_slots),
    .clear_done_o(clear_done),
    .tile_valid_o(t_valid), .tile_ready_i(t_ready), .tile_slot_o(t_slot), .tile_row_o(t_row),
    .tile_start_o(t_start), .tile_last_o(t_last), .tile_odd_o(t_odd), .tile_first_o(t_first),
    .tile_emit_o(t_emit), .tile_max_o(t_max), .tile_in_fmt_o(t_in_fmt), .tile_out_fmt_o(t_out_fmt),
    .tile_shift_o(t_shift), .tile_saturate_o(t_saturate), .tile_data_o(t_data),
    .fin_valid_o(fin_valid), .fin_ready_i(fin_ready), .fin_job_o(fin_job), .fin_slot_o(fin_slot),
    .fin_chunk_o(fin_chunk), .fin_desc_o(fin_desc), .fin_beats_o(fin_beats), .fin_mask_o(fin_mask),
    .done_valid_i(done_valid), .done_slot_i(done_slot),
    .ask_valid_o(ask_valid), .ask_ready_i(ask_ready), .ask_none_o(ask_none), .ask_slot_o(ask_slot),
    .ask_mask_o(ask_mask),
    .reading_i({send_valid, reading}), .reading_a_i(reading_slot), .reading_b_i(send_slot),
    .ans_valid_o(ans_valid), .ans_ready_i(ans_ready), .ans_pong_o(ans_pong),
    .ans_status_o(ans_status), .ans_rank_o(ans_rank), .ans_job_o(ans_job),
    .ans_header_o(ans_header), .ans_chunk_o(ans_chunk), .ans_bitmap_o(ans_bitmap),
    .count_o(count_admit), .seen_rank_o(seen_rank), .seen_address_o(seen_address));

  logic             kw_valid, kw_last, kr_valid;
  logic [SlotW-1:0] kw_slot, kr_slot;
  logic [RowW-1:0]  kw_row, kr_row;
  logic [3:0]       kw_en;
  logic [Flit-1:0]  kw_data, kr_data;
  logic [2:0]       kw_status;
  tile #(
    .Slots(Slots), .LaneBytes(LaneBytes), .Rows(MemRows), .Wide(Wide), .Narrow(Narrow),
    .Ultra(Ultra)
  ) u_tile (
    .clk_i, .rst_i,
    .in_valid_i(t_valid), .in_ready_o(t_ready), .in_slot_i(t_slot), .in_row_i(t_row),
    .in_start_i(t_start), .in_last_i(t_last), .in_odd_i(t_odd), .in_first_i(t_first),
    .in_emit_i(t_emit), .in_max_i(t_max), .in_fmt_i(t_in_fmt), .out_fmt_i(t_out_fmt),
    .out_shift_i(t_shift), .saturate_i(t_saturate), .in_data_i(t_data),
    .kept_valid_o(kw_valid), .kept_slot_o(kw_slot), .kept_row_o(kw_row), .kept_en_o(kw_en),
    .kept_data_o(kw_data), .kept_last_o(kw_last), .kept_status_o(kw_status));

  kept_mem #(
    .Slots(Slots), .LaneBytes(LaneBytes), .Rows(MemRows), .Ultra(Ultra)
  ) u_kept (
    .clk_i,
    .w_valid_i(kw_valid), .w_slot_i(kw_slot), .w_row_i(kw_row), .w_en_i(kw_en),
    .w_data_i(kw_data),
    .r_valid_i(kr_valid), .r_slot_i(kr_slot), .r_row_i(kr_row), .r_data_o(kr_data));

  finish #(.Slots(Slots), .Jobs(Jobs), .LaneBytes(LaneBytes)) u_finish (
    .clk_i, .rst_i,
    .fin_valid_i(fin_valid), .fin_ready_o(fin_ready), .fin_job_i(fin_job), .fin_slot_i(fin_slot),
    .fin_chunk_i(fin_chunk), .fin_desc_i(fin_desc), .fin_beats_i(fin_beats), .fin_mask_i(fin_mask),
    .kept_valid_i(kw_valid), .kept_en_i(kw_en), .kept_data_i(kw_data), .kept_last_i(kw_last),
    .kept_status_i(kw_status),
    .done_valid_o(done_valid), .done_slot_o(done_slot), .done_mask_o(done_mask),
    .done_info_o(done_info));

  logic send_ready, send_all, to_group;
  sends #(.Slots(Slots), .Jobs(Jobs)) u_sends (
    .clk_i, .rst_i,
    .done_valid_i(done_valid), .done_slot_i(done_slot), .done_mask_i(done_mask),
    .done_info_i(done_info),
    .ask_valid_i(ask_valid), .ask_ready_o(ask_ready), .ask_none_i(ask_none), .ask_slot_i(ask_slot),
    .ask_mask_i(ask_mask),
    .send_valid_o(send_valid), .send_ready_i(send_ready), .send_slot_o(send_slot),
    .send_mask_o(send_mask), .send_all_o(send_all), .send_info_o(send_info));

  logic [31:0]  send_chunk, send_crc;
  logic [DescW-1:0] send_desc;
  logic [2:0]   send_status;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [7:0]   send_beats;                  // 1..Rows
  /* verilator lint_on UNUSEDSIGNAL */
  assign {send_job, send_chunk, send_desc, send_status, send_crc, send_beats} = send_info;

  // Only a sum's first transmission, to all ranks, uses the multicast group. Exponents (MAX) decide
  // how a step continues: each rank gets them in its own frame, with the job's key; a multicast
  // frame has none.
  assign to_group = send_all && job_has_group
                    && send_desc[nc_pkg::DESC_OP +: nc_pkg::PKT_OP_BITS] == nc_pkg::OP_SUM;

  // NAK repeats the frame's chunk and tag; PONG reports the slot's progress.
  localparam int AnsW = nc_pkg::ANS_BITS + JobW + BeatW;
  logic             a_valid, a_ready, a_pong;
  logic [7:0]       a_status;
  logic [JobW-1:0]  a_job;
  logic [RankW-1:0] a_rank;
  logic [15:0]      a_slot;
  logic [31:0]      a_chunk, a_tag;
  logic [63:0]      a_key, a_echo;
  logic [Ranks-1:0] a_bitmap;
  logic [BeatW-1:0] a_beats;
  fifo #(.W(AnsW), .Depth(Answers)) u_answers (
    .clk_i, .rst_i,
    .in_data_i({ans_pong, ans_status, ans_job, ans_rank, ans_header[nc_pkg::PKT_SLOT +: 16],
                ans_pong ? ans_chunk : ans_header[nc_pkg::PKT_CHUNK +: 32],
                ans_header[nc_pkg::PKT_KEY +: 64], ans_header[nc_pkg::PKT_TAG +: 32],
                ans_header[nc_pkg::PKT_ECHO +: 64], ans_bitmap,
                BeatW'((ans_header[nc_pkg::PKT_LEN +: 16] >> 6) - 16'd1)}),
    .in_valid_i(ans_valid), .in_ready_o(ans_ready),
    .out_data_o({a_pong, a_status, a_job, a_rank, a_slot, a_chunk, a_key, a_tag, a_echo, a_bitmap,
                 a_beats}),
    .out_valid_o(a_valid), .out_ready_i(a_ready));

  tx #(.Slots(Slots), .Rows(Rows), .Jobs(Jobs), .LaneBytes(LaneBytes)) u_tx (
    .clk_i, .rst_i,
    .send_valid_i(send_valid), .send_ready_o(send_ready), .send_slot_i(send_slot),
    .send_mask_i(send_mask), .send_group_i(to_group), .send_job_i(send_job), .send_key_i(send_key),
    .send_chunk_i(send_chunk), .send_desc_i(send_desc),
    .send_status_i(send_status), .send_crc_i(send_crc), .send_beats_i(send_beats[BeatW-1:0]),
    .busy_o(reading), .busy_slot_o(reading_slot),
    .kr_valid_o(kr_valid), .kr_slot_o(kr_slot), .kr_row_o(kr_row), .kr_data_i(kr_data),
    .ans_valid_i(a_valid), .ans_ready_o(a_ready), .ans_pong_i(a_pong), .ans_status_i(a_status),
    .ans_job_i(a_job), .ans_rank_i(a_rank), .ans_slot_i(a_slot), .ans_chunk_i(a_chunk),
    .ans_key_i(a_key), .ans_tag_i(a_tag), .ans_echo_i(a_echo), .ans_bitmap_i(a_bitmap),
    .ans_beats_i(a_beats),
    .addr_job_o(addr_job), .addr_rank_o(addr_rank), .addr_group_o(addr_group),
    .addr_ip_i(addr_address[47:16]), .addr_port_i(addr_address[15:0]),
    .tx_data_o, .tx_keep_o, .tx_last_o, .tx_ip_o, .tx_port_o, .tx_valid_o, .tx_ready_i,
    .drop_out_i(drop_out), .random_i(random_out), .count_o(count_tx));
endmodule
