// job_table: stores jobs' settings, fixed while a job runs. A commit starts a job with all staged
// values, or stops it; busy_o lasts until its slots are cleared. Both are refused if the index is
// out of range or a stop is in progress; a start if the job runs, or if ranks or slots are out of
// range or overlap another job's; a stop if the job does not run.
// Comparison takes three clocks: sums and ranges, all jobs' slots, the verdict.
module job_table #(
  parameter int Jobs  = nc_pkg::CARD_JOBS,
  parameter int Ranks = nc_pkg::PKT_MAX_RANKS,  // a power of two; the proof uses fewer
  parameter int Slots = nc_pkg::CARD_SLOTS,
  localparam int JobW  = $clog2(Jobs),
  localparam int RankW = $clog2(Ranks),
  localparam int SlotW = $clog2(Slots)
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // From regs; index, ranks, base, slots and rank are stable for three clocks before a commit.
  input  logic             commit_i,         // starts (start_i) or stops job index_i
  input  logic             start_i,
  input  logic [15:0]      index_i,
  input  logic [RankW:0]   ranks_i,
  input  logic [63:0]      key_i,
  input  logic [15:0]      base_i,
  input  logic [15:0]      slots_i,
  input  logic [15:0]      formats_i,
  input  logic [31:0]      group_ip_i,       // outside 224.0.0.0/4: no multicast group
  input  logic [15:0]      group_port_i,
  output logic             busy_o,
  output logic             refused_o,        // the last commit was refused
  input  logic             rank_commit_i,    // sets the address of rank_i of job index_i
  input  logic [15:0]      rank_i,
  input  logic [31:0]      ip_i,
  input  logic [15:0]      port_i,
  // slots to clear; held until clear_done_i
  output logic             clear_o,
  output logic [SlotW-1:0] clear_base_o,
  output logic [SlotW:0]   clear_slots_o,
  input  logic             clear_done_i,
  input  logic [JobW-1:0]  job_i,
  output logic             job_enabled_o,
  output logic [63:0]      job_key_o,
  output logic [RankW:0]   job_ranks_o,
  output logic [SlotW:0]   job_base_o,
  output logic [SlotW:0]   job_slots_o,
  output logic [15:0]      job_formats_o,
  input  logic [JobW-1:0]  send_job_i,
  output logic [63:0]      send_key_o,
  output logic             send_group_o,
  // Addresses, one clock later. Port a: of a source; port b: of a rank or group that gets a result.
  input  logic [JobW-1:0]  a_job_i,
  input  logic [RankW-1:0] a_rank_i,
  output logic [47:0]      a_address_o,      // {ip, port}
  input  logic [JobW-1:0]  b_job_i,
  input  logic [RankW-1:0] b_rank_i,
  input  logic             b_group_i,
  output logic [47:0]      b_address_o
);
  logic [Jobs-1:0] enabled_q;
  logic [63:0]     key_q     [Jobs];
  logic [RankW:0]  ranks_q   [Jobs];
  logic [SlotW:0]  base_q    [Jobs];
  logic [SlotW:0]  slots_q   [Jobs];
  logic [15:0]     formats_q [Jobs];
  logic [Jobs-1:0] group_q;
  logic [47:0]     b_rank_q, b_group_q;      // candidates for port b's answer
  logic            b_grouped_q;
  power_of_two #(.N(Ranks)) u_ranks ();
  (* ram_style = "distributed" *) logic [47:0] a_ram [Jobs * Ranks];
  (* ram_style = "distributed" *) logic [47:0] b_ram [Jobs * Ranks];
  (* ram_style = "distributed" *) logic [47:0] group_ram [Jobs];

  logic            start_ok, stop_ok, sets_group;
  logic [JobW-1:0] index, clear_job_q;       // clear_job_q: being stopped
  logic [16:0]     end_q;                    // clock 1: end of staged slots
  logic            ranks_ok_q, index_ok_q, rank_ok_q;
  logic [Jobs-1:0] index_is_q;               // one-hot
  logic [Jobs-1:0] hit_q;                    // clock 2: jobs with overlapping slots, running or not
  logic            in_range_q, runs_q;
  // clock 3; fits_q: the slots are free
  logic            fits_q, starts_q, stops_q;

  always_ff @(posedge clk_i) begin
    end_q      <= {1'b0, base_i} + {1'b0, slots_i};
    ranks_ok_q <= ranks_i != '0 && ranks_i <= (RankW + 1)'(Ranks) && slots_i != '0;
    index_ok_q <= index_i < 16'(Jobs);
    for (int j = 0; j < Jobs; j++) index_is_q[j] <= index == JobW'(j);
    rank_ok_q  <= index_i < 16'(Jobs) && rank_i < 16'(Ranks);
    for (int j = 0; j < Jobs; j++)
      hit_q[j] <= {1'b0, base_i} < 17'(base_q[j]) + 17'(slots_q[j]) && 17'(base_q[j]) < end_q;
    in_range_q <= ranks_ok_q && end_q <= 17'(Slots);
    runs_q     <= enabled_q[index];
    fits_q     <= in_range_q && (hit_q & enabled_q) == '0;
    starts_q   <= index_ok_q && !runs_q;
    stops_q    <= index_ok_q && runs_q;
  end

  always_comb begin
    index = index_i[JobW-1:0];
    // Harmless for a refused start: that job neither runs nor stops.
    sets_group = commit_i && start_i && !busy_o && starts_q;
    start_ok   = sets_group && fits_q;
    stop_ok    = commit_i && !start_i && !busy_o && stops_q;
  end

  always_ff @(posedge clk_i) begin
    if (start_ok) begin
      key_q[index]     <= key_i;
      ranks_q[index]   <= ranks_i;
      base_q[index]    <= base_i[SlotW:0];
      slots_q[index]   <= slots_i[SlotW:0];
      formats_q[index] <= formats_i;
    end
    for (int j = 0; j < Jobs; j++) begin
      if (start_ok && index_is_q[j]) enabled_q[j] <= 1'b1;
      if (stop_ok && index_is_q[j]) enabled_q[j] <= 1'b0;
      if (sets_group && index_is_q[j]) group_q[j] <= group_ip_i[31:28] == nc_pkg::PKT_GROUPS[3:0];
    end
    if (stop_ok) begin
      clear_job_q      <= index;
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
    if (rank_commit_i && rank_ok_q) begin
      a_ram[{index, rank_i[RankW-1:0]}] <= {ip_i, port_i};
      b_ram[{index, rank_i[RankW-1:0]}] <= {ip_i, port_i};
    end
    a_address_o <= a_ram[{a_job_i, a_rank_i}];
    b_rank_q    <= b_ram[{b_job_i, b_rank_i}];
    b_group_q   <= group_ram[b_job_i];
    b_grouped_q <= b_group_i;
    if (sets_group) group_ram[index] <= {group_ip_i, group_port_i};
  end

  assign b_address_o   = b_grouped_q ? b_group_q : b_rank_q;
  assign clear_o       = busy_o;
  assign clear_base_o  = base_q[clear_job_q][SlotW-1:0];
  assign clear_slots_o = slots_q[clear_job_q];
  assign job_enabled_o = enabled_q[job_i];
  assign job_key_o     = key_q[job_i];
  assign job_ranks_o   = ranks_q[job_i];
  assign job_base_o    = base_q[job_i];
  assign job_slots_o   = slots_q[job_i];
  assign job_formats_o = formats_q[job_i];
  assign send_key_o    = key_q[send_job_i];
  assign send_group_o  = group_q[send_job_i];

`ifdef FORMAL
  // Running jobs and the stopping one own disjoint slots. Values are constant from start to stop.
  // A start uses all staged values or none. The verdict equals a comparison in the commit's clock.
  (* anyconst *) logic [JobW-1:0] one, other;
  (* anyconst *) logic [RankW-1:0] at;
  logic past_q = 1'b0;
  function automatic logic apart(
    input logic [SlotW:0] a, input logic [SlotW:0] na,
    input logic [SlotW:0] b, input logic [SlotW:0] nb);
    apart = (SlotW + 2)'(a) + (SlotW + 2)'(na) <= (SlotW + 2)'(b)
            || (SlotW + 2)'(b) + (SlotW + 2)'(nb) <= (SlotW + 2)'(a);
  endfunction
  localparam int StagedW = 16 + RankW + 1 + 16 + 16 + 16;
  logic               one_stops, overlap, may;
  // clocks of constant staged values without a commit; stops at 3
  logic [1:0]         stood_q;
  logic [StagedW-1:0] staged, staged_q;
  logic [15:0]        was_index, was_base, was_slots, was_rank;
  logic [RankW:0]     was_ranks;
  logic [Jobs-1:0]    hits;                  // the expected hit_q
  logic               in_range, was_known, runs;
  assign one_stops = busy_o && clear_job_q == one;
  assign staged    = {index_i, ranks_i, base_i, slots_i, rank_i};
  assign {was_index, was_ranks, was_base, was_slots, was_rank} = staged_q;
  always_comb begin
    overlap = 1'b0;
    for (int j = 0; j < Jobs; j++) begin
      hits[j] = 17'(was_base) < 17'(base_q[j]) + 17'(slots_q[j])
                && 17'(base_q[j]) < 17'(was_base) + 17'(was_slots);
      if (enabled_q[j] && 17'(base_i) < 17'(base_q[j]) + 17'(slots_q[j])
          && 17'(base_q[j]) < 17'(base_i) + 17'(slots_i))
        overlap = 1'b1;
    end
    in_range  = was_ranks != '0 && was_ranks <= (RankW + 1)'(Ranks) && was_slots != '0
                && 17'(was_base) + 17'(was_slots) <= 17'(Slots);
    was_known = was_index < 16'(Jobs);
    runs      = enabled_q[was_index[JobW-1:0]];
    may = ranks_i != '0 && ranks_i <= (RankW + 1)'(Ranks) && slots_i != '0
          && 17'(base_i) + 17'(slots_i) <= 17'(Slots) && !overlap
       && index_i < 16'(Jobs) && !enabled_q[index] && !busy_o;
  end
  always_ff @(posedge clk_i) begin
    past_q   <= 1'b1;
    staged_q <= staged;
    stood_q  <= rst_i || commit_i || rank_commit_i ? 2'd0
                : !(stood_q != '0 && staged == staged_q) ? 2'd1
                : stood_q == 2'd3 ? 2'd3
                : stood_q + 2'd1;
    if (!past_q) assume (rst_i);
    if (commit_i || rank_commit_i) assume (stood_q == 2'd3 && staged == staged_q);
    if (past_q) begin
      if (stood_q >= 2'd1) begin
        assert (end_q == 17'(was_base) + 17'(was_slots) && index_ok_q == was_known
                && rank_ok_q == (was_known && was_rank < 16'(Ranks)));
        assert (ranks_ok_q
                == (was_ranks != '0 && was_ranks <= (RankW + 1)'(Ranks) && was_slots != '0)
                && runs_q == runs);
        assert (index_is_q == Jobs'(1) << was_index[JobW-1:0]);
      end
      if (stood_q >= 2'd2)
        assert (hit_q == hits && in_range_q == in_range && starts_q == (was_known && !runs)
                && stops_q == (was_known && runs));
      if (stood_q >= 2'd3) assert (fits_q == (in_range && (hits & enabled_q) == '0));
      if (commit_i && start_i) assert (start_ok == may);
      if (commit_i && !start_i)
        assert (stop_ok == (index_i < 16'(Jobs) && enabled_q[index] && !busy_o));
      if (rank_commit_i) assert (rank_ok_q == (index_i < 16'(Jobs) && rank_i < 16'(Ranks)));
      if (enabled_q[one] || one_stops) begin
        assert (slots_q[one] != '0
                && (SlotW + 2)'(base_q[one]) + (SlotW + 2)'(slots_q[one]) <= (SlotW + 2)'(Slots));
        assert (ranks_q[one] != '0 && ranks_q[one] <= (RankW + 1)'(Ranks));
        if (one != other && enabled_q[other])
          assert (apart(base_q[one], slots_q[one], base_q[other], slots_q[other]));
      end
      assert (!(one_stops && enabled_q[one]));
      if ($past(rank_commit_i && !rst_i))
        assert ($stable(a_ram[{one, at}])
                || ($past(index_i == 16'(one) && rank_i == 16'(at))
                    && a_ram[{one, at}] == $past({ip_i, port_i})));
      if ($past(b_group_i && b_job_i == one)) assert (b_address_o == $past(group_ram[one]));
      if (clear_o)
        assert (clear_base_o == base_q[clear_job_q][SlotW-1:0]
                && clear_slots_o == slots_q[clear_job_q]);
      if (!$past(rst_i) && !rst_i) begin
        if ($past(enabled_q[one] || one_stops))
          assert ($stable({key_q[one], ranks_q[one], base_q[one], slots_q[one], formats_q[one],
                           group_q[one], group_ram[one]}));
        if (enabled_q[one] && !$past(enabled_q[one])) begin
          assert ($past(commit_i && start_i && index_i == 16'(one) && !busy_o) && !refused_o);
          assert (key_q[one] == $past(key_i) && ranks_q[one] == $past(ranks_i)
                  && formats_q[one] == $past(formats_i));
          assert (16'(base_q[one]) == $past(base_i) && 16'(slots_q[one]) == $past(slots_i));
          assert (group_q[one]
                  == ($past(group_ip_i) >= 32'he0000000 && $past(group_ip_i) < 32'hf0000000));
          assert (group_ram[one] == {$past(group_ip_i), $past(group_port_i)});
        end
        if (!enabled_q[one] && $past(enabled_q[one]))
          assert (one_stops && $past(commit_i && !start_i && index_i == 16'(one)));
        if ($past(one_stops) && !one_stops) assert ($past(clear_done_i));
        if ($past(clear_o) && clear_o) assert ($stable({clear_base_o, clear_slots_o}));
        if ($past(commit_i && start_i) && refused_o) assert ($stable(enabled_q));
      end
    end
  end
`endif
endmodule
