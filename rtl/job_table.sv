// job_table: what cannot change while a job runs: ranks, key, slots, formats, and each rank's address.
// A commit starts a job with all staged values at once, or stops it; stopping waits until the slots are cleared (busy_o).
// A start is refused (refused_o) when the job runs already, a stop is going on, or ranks or slots are out of range or another job's.
module job_table #(
  parameter int Jobs  = 4,
  parameter int Ranks = 64,
  parameter int Slots = 128,
  localparam int JobW  = $clog2(Jobs),
  localparam int RankW = $clog2(Ranks),
  localparam int SlotW = $clog2(Slots)
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // staged by registers
  input  logic             commit_i,         // start (start_i) or stop job index_i
  input  logic             start_i,
  input  logic [15:0]      index_i,
  input  logic [6:0]       ranks_i,
  input  logic [63:0]      key_i,
  input  logic [15:0]      base_i,
  input  logic [15:0]      slots_i,
  input  logic [15:0]      formats_i,
  output logic             busy_o,           // a stop is going on
  output logic             refused_o,        // the last start was refused
  input  logic             rank_commit_i,    // rank rank_i of job index_i has this address
  input  logic [15:0]      rank_i,
  input  logic [31:0]      ip_i,
  input  logic [15:0]      port_i,
  // slots to be cleared, held until done
  output logic             clear_o,
  output logic [JobW-1:0]  clear_job_o,
  output logic [SlotW-1:0] clear_base_o,
  output logic [SlotW:0]   clear_slots_o,
  input  logic             clear_done_i,
  // who asks about a job: combinational
  input  logic [JobW-1:0]  job_i,
  output logic             job_enabled_o,
  output logic [63:0]      job_key_o,
  output logic [6:0]       job_ranks_o,
  output logic [SlotW:0]   job_base_o,
  output logic [SlotW:0]   job_slots_o,
  output logic [15:0]      job_formats_o,
  input  logic [JobW-1:0]  send_job_i,
  output logic [63:0]      send_key_o,
  // who asks for an address: one clock later; port a checks sources, port b sends
  input  logic [JobW-1:0]  a_job_i,
  input  logic [RankW-1:0] a_rank_i,
  output logic [47:0]      a_address_o,      // {ip, port}
  input  logic [JobW-1:0]  b_job_i,
  input  logic [RankW-1:0] b_rank_i,
  output logic [47:0]      b_address_o
);
  logic [Jobs-1:0] enabled_q;
  logic [63:0]     key_q     [Jobs];
  logic [6:0]      ranks_q   [Jobs];
  logic [SlotW:0]  base_q    [Jobs];
  logic [SlotW:0]  slots_q   [Jobs];
  logic [15:0]     formats_q [Jobs];
  (* ram_style = "distributed" *) logic [47:0] a_ram [Jobs * Ranks];
  (* ram_style = "distributed" *) logic [47:0] b_ram [Jobs * Ranks];

  logic            in_range, overlap, start_ok, stop_ok;
  logic [JobW-1:0] index;
  logic [16:0]     end_staged;

  always_comb begin
    index      = index_i[JobW-1:0];
    end_staged = {1'b0, base_i} + {1'b0, slots_i};
    overlap    = 1'b0;
    for (int j = 0; j < Jobs; j++) begin
      if (enabled_q[j] && {1'b0, base_i} < 17'(base_q[j]) + 17'(slots_q[j]) && 17'(base_q[j]) < end_staged) overlap = 1'b1;
    end
    in_range = index_i < 16'(Jobs) && ranks_i != '0 && ranks_i <= 7'(Ranks) && slots_i != '0 && end_staged <= 17'(Slots);
    start_ok = commit_i && start_i && !busy_o && in_range && !overlap && !enabled_q[index];
    stop_ok  = commit_i && !start_i && !busy_o && index_i < 16'(Jobs) && enabled_q[index];
  end

  always_ff @(posedge clk_i) begin
    if (start_ok) begin
      enabled_q[index] <= 1'b1;
      key_q[index]     <= key_i;
      ranks_q[index]   <= ranks_i;
      base_q[index]    <= base_i[SlotW:0];
      slots_q[index]   <= slots_i[SlotW:0];
      formats_q[index] <= formats_i;
    end
    if (stop_ok) begin
      enabled_q[index] <= 1'b0;
      clear_job_o      <= index;
      busy_o           <= 1'b1;
    end
    if (busy_o && clear_done_i) busy_o <= 1'b0;
    if (commit_i) refused_o <= !(start_ok || stop_ok);
    if (rst_i) begin
      enabled_q <= '0;
      busy_o    <= 1'b0;
      refused_o <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rank_commit_i && index_i < 16'(Jobs) && rank_i < 16'(Ranks)) begin
      a_ram[{index, rank_i[RankW-1:0]}] <= {ip_i, port_i};
      b_ram[{index, rank_i[RankW-1:0]}] <= {ip_i, port_i};
    end
    a_address_o <= a_ram[{a_job_i, a_rank_i}];
    b_address_o <= b_ram[{b_job_i, b_rank_i}];
  end

  assign clear_o       = busy_o;
  assign clear_base_o  = base_q[clear_job_o][SlotW-1:0];
  assign clear_slots_o = slots_q[clear_job_o];
  assign job_enabled_o = enabled_q[job_i];
  assign job_key_o     = key_q[job_i];
  assign job_ranks_o   = ranks_q[job_i];
  assign job_base_o    = base_q[job_i];
  assign job_slots_o   = slots_q[job_i];
  assign job_formats_o = formats_q[job_i];
  assign send_key_o    = key_q[send_job_i];
endmodule
