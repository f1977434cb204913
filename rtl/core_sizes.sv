// core_sizes: stops elaboration, by naming a missing module, unless nic_core can work with its
// parameters. Slots, Jobs and Rows need an index of at least a bit.
module core_sizes #(
  parameter int Narrow    = 0,
  parameter int Slots     = nc_pkg::CARD_SLOTS,
  parameter int Rows      = nc_pkg::CARD_BEATS,
  parameter int Jobs      = nc_pkg::CARD_JOBS,
  parameter int FifoBeats = 256,
  parameter int Descs     = 32,
  parameter int Answers   = 16,
  parameter int Wide      = 1,
  parameter int Group     = 1,
  parameter int Ultra     = 1,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES
);
  if (LaneBytes < 8 || LaneBytes > 128 || (LaneBytes & (LaneBytes - 1)) != 0) begin : g_lanes
    lane_bytes_must_be_8_16_32_64_or_128 u_refused ();
  end
  // job_table keeps a job's base and number of slots as clog2(Slots) + 1 of 16 bits.
  if (Slots < 2 || Slots > 32768) begin : g_slots
    slots_must_be_2_to_32768 u_refused ();
  end
  // SEEN_RANK has 15 bits for a job (hls/card/regs.def).
  if (Jobs < 2 || Jobs > 32767) begin : g_jobs
    jobs_must_be_2_to_32767 u_refused ();
  end
  // A frame's BEATS has 8 bits (hls/card/packet.def).
  if (Rows < 2 || Rows > 128 || (Rows & (Rows - 1)) != 0) begin : g_rows
    rows_must_be_a_power_of_two_from_2_to_128 u_refused ();
  end
  if (Rows * nc_pkg::BEAT_BYTES < 2 * LaneBytes) begin : g_flits
    rows_must_be_at_least_two_flits u_refused ();
  end
  if (FifoBeats < Rows || (FifoBeats & (FifoBeats - 1)) != 0) begin : g_fifo
    fifo_beats_must_be_a_power_of_two_and_at_least_rows u_refused ();
  end
  if (Descs < 2 || Answers < 2) begin : g_queues
    descs_and_answers_must_be_2_or_more u_refused ();
  end
  if ((Narrow | Wide | Group | Ultra) < 0 || (Narrow | Wide | Group | Ultra) > 1) begin : g_flags
    narrow_wide_group_and_ultra_must_be_0_or_1 u_refused ();
  end
  // narrow_lane adds only codes of 8 bits.
  if (Narrow != 0 && Wide != 0) begin : g_narrow
    narrow_needs_wide_0 u_refused ();
  end
endmodule
