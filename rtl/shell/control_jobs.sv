// control_jobs: tracks which lease owns which job, and judges each operation by the rules of
// hls/card/sharing.def, as host/control does.
module control_jobs #(
  parameter int Leases = nc_pkg::LEASE_MAX,
  parameter int Jobs   = nc_pkg::CARD_JOBS,
  parameter int Slots  = nc_pkg::CARD_SLOTS,
  localparam int IndexW = $clog2(Leases + 1),
  localparam int JobW   = $clog2(Jobs),
  localparam int SlotW  = $clog2(Slots)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic [IndexW-1:0] lease_i,         // the asking lease
  input  logic              write_i,
  input  logic [11:0]       at_i,
  input  logic [31:0]       value_i,
  output logic              refused_o,
  output logic [31:0]       value_o,
  output logic              seen_o,          // readable only if seen_ok_o
  output logic              seen_ok_o,       // SEEN_RANK is empty or of this lease's job
  input  logic [15:0]       seen_i,          // upper half of SEEN_RANK
  output logic              commit_o,        // a job's start or stop
  input  logic              wrote_i,         // at_i has been written
  input  logic              started_i,       // that job has started: this lease owns it
  input  logic              stopped_i,
  output logic              any_o,           // lease_i owns a job
  output logic [JobW-1:0]   any_at_o         // the lowest such job
);
  localparam bit [IndexW-1:0] Nobody = '1;   // above every lease number

  logic [IndexW-1:0] owner_q [Jobs];
  logic [SlotW:0]    slots_q [Jobs];         // of each owned job
  logic [JobW-1:0]   index_q;                // last written
  logic              known_q;                // that job exists
  logic [SlotW:0]    asked_q, free_q;        // slots: last written; free
  logic [JobW:0]     jobs_q;                 // with an owner
  logic [2:0]        rule;
  logic [IndexW-1:0] owner;
  logic              foreign, enough, start;

  always_comb begin
    rule = '0;
    if (at_i[11:8] == '0 && at_i[1:0] == '0)
      rule = write_i ? 3'(nc_pkg::WRITE_RULES >> 3 * 8'(at_i[7:2]))
             : 3'(nc_pkg::READ_RULES >> 3 * 8'(at_i[7:2]));
  end

  assign owner    = owner_q[index_q];
  assign foreign  = known_q && owner != Nobody && owner != lease_i;
  assign start    = value_i[nc_pkg::REG_JOB_COMMIT_START];
  assign enough   = value_i[nc_pkg::REG_JOB_COMMIT_TAKE_MOST] || jobs_q + 1'b1 >= (JobW + 1)'(Jobs)
                    || asked_q <= free_q >> 1;
  assign commit_o = write_i && rule == 3'(nc_pkg::RULE_COMMIT);
  assign seen_o   = !write_i && rule == 3'(nc_pkg::RULE_SEEN);
  assign value_o  = write_i && rule == 3'(nc_pkg::RULE_ENABLED)
                    ? value_i | 32'd1 << nc_pkg::REG_CTRL_ENABLE : value_i;

  always_comb begin
    unique case (rule)
      3'(nc_pkg::RULE_COMMIT): refused_o = foreign || (start && !enough);
      3'(nc_pkg::RULE_OWNER):  refused_o = foreign;
      3'(nc_pkg::RULE_NEVER):  refused_o = 1'b1;
      default: refused_o = 1'b0;
    endcase
    seen_ok_o = !seen_i[15] || (seen_i[14:0] < 15'(Jobs) && owner_q[seen_i[JobW-1:0]] == lease_i);
    any_o     = 1'b0;
    any_at_o  = '0;
    for (int j = Jobs - 1; j >= 0; j--) begin
      if (owner_q[j] == lease_i) begin
        any_o    = 1'b1;
        any_at_o = JobW'(j);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (wrote_i) begin
      unique case (rule)
        3'(nc_pkg::RULE_JOB): begin
          known_q <= value_i < Jobs;
          index_q <= value_i[JobW-1:0];
        end
        3'(nc_pkg::RULE_SLOTS):  asked_q <= |value_i[31:SlotW+1] ? '1 : value_i[SlotW:0];
        3'(nc_pkg::RULE_COMMIT): asked_q <= '0;
        default: ;
      endcase
    end
    if (wrote_i && rule == 3'(nc_pkg::RULE_COMMIT))
      slots_q[index_q] <= known_q && owner == Nobody ? asked_q : slots_q[index_q];
    if (started_i && known_q && owner == Nobody) begin
      owner_q[index_q] <= lease_i;
      free_q           <= free_q - slots_q[index_q];
      jobs_q           <= jobs_q + 1'b1;
    end
    if (stopped_i && known_q && owner != Nobody) begin
      owner_q[index_q] <= Nobody;
      free_q           <= free_q + slots_q[index_q];
      jobs_q           <= jobs_q - 1'b1;
    end
    if (rst_i) begin
      known_q <= 1'b0;
      asked_q <= '0;
      free_q  <= (SlotW + 1)'(Slots);
      jobs_q  <= '0;
      for (int j = 0; j < Jobs; j++) owner_q[j] <= Nobody;
    end
  end

`ifdef FORMAL
  // A job's owner keeps it until it is stopped; only the owner writes its ranks or stops it.
  (* anyconst *) logic [JobW-1:0] one;
  logic past_q = 1'b0;
  logic meant;
  assign meant = known_q && index_q == one;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (!past_q) assume (rst_i);
    assume (lease_i < IndexW'(Leases) && one < (JobW + 1)'(Jobs));
    if (past_q && !rst_i && !$past(rst_i)) begin
      if ($past(owner_q[one]) != Nobody && owner_q[one] != $past(owner_q[one]))
        assert (owner_q[one] == Nobody && $past(stopped_i && meant));
      if ($past(owner_q[one]) == Nobody && owner_q[one] != Nobody)
        assert ($past(started_i && meant) && owner_q[one] == $past(lease_i));
      if (write_i && meant && owner_q[one] != Nobody && owner_q[one] != lease_i
          && (at_i == nc_pkg::REG_JOB_COMMIT || at_i == nc_pkg::REG_RANK_COMMIT))
        assert (refused_o);
      if (write_i
          && (at_i == nc_pkg::REG_DROP_IN || at_i == nc_pkg::REG_DROP_OUT
              || at_i == nc_pkg::REG_DROP_SEED))
        assert (refused_o);
      if (write_i && at_i == nc_pkg::REG_CTRL) assert (value_o[nc_pkg::REG_CTRL_ENABLE]);
      if (!write_i
          && (at_i == nc_pkg::REG_SEEN_RANK || at_i == nc_pkg::REG_SEEN_IP
              || at_i == nc_pkg::REG_SEEN_PORT))
        assert (seen_o);
      if (seen_i[15] && seen_i[14:0] == 15'(one) && owner_q[one] != lease_i) assert (!seen_ok_o);
    end
  end
`endif
endmodule
