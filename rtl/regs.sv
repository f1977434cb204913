// regs: holds the registers of hls/card/regs.def and serves them over AXI-Lite.
// An unknown address gets SLVERR. A write that requests a snapshot is answered when the snapshot
// exists. A commit's pulse comes three clocks after the write, when staged values have been stable
// for three clocks; the answer follows.
module regs #(
  parameter int Slots     = nc_pkg::CARD_SLOTS,
  parameter int Jobs      = nc_pkg::CARD_JOBS,
  parameter int Rows      = nc_pkg::CARD_BEATS,
  parameter int Widths    = 7,               // code widths: bit 0: 4 bits, bit 1: 8, bit 2: 16
  parameter int Group     = 1,               // 0: no multicast groups
  parameter int Narrow    = 0,               // 1: adds only e1m6f and e2m5f
  localparam int IndexW = $clog2(nc_pkg::REG_COUNTERS),
  localparam int RankW = $clog2(nc_pkg::PKT_MAX_RANKS)
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [11:0] s_awaddr_i,
  input  logic        s_awvalid_i,
  output logic        s_awready_o,
  input  logic [31:0] s_wdata_i,
  input  logic [3:0]  s_wstrb_i,
  input  logic        s_wvalid_i,
  output logic        s_wready_o,
  output logic [1:0]  s_bresp_o,
  output logic        s_bvalid_o,
  input  logic        s_bready_i,
  input  logic [11:0] s_araddr_i,
  input  logic        s_arvalid_i,
  output logic        s_arready_o,
  output logic [31:0] s_rdata_o,
  output logic [1:0]  s_rresp_o,
  output logic        s_rvalid_o,
  input  logic        s_rready_i,
  // Indices, ranks and slots too large for their port appear there as all ones, which every module
  // refuses. Formats and ports are cut to 16 bits.
  output logic        enable_o,
  output logic        snapshot_o,            // pulse; the copy is busy from the next clock on
  input  logic        snapshot_busy_i,
  output logic [15:0] job_index_o,
  output logic [RankW:0] job_ranks_o,
  output logic [63:0] job_key_o,
  output logic [15:0] job_base_o,
  output logic [15:0] job_slots_o,
  output logic [15:0] job_formats_o,
  output logic [31:0] job_group_ip_o,
  output logic [15:0] job_group_port_o,
  // pulse after three clocks of stable values without a commit
  output logic        job_commit_o,
  output logic        job_start_o,           // 1 start, 0 stop
  output logic [15:0] rank_index_o,
  output logic [31:0] rank_ip_o,
  output logic [15:0] rank_port_o,
  // pulse, as job_commit_o
  output logic        rank_commit_o,
  output logic [31:0] drop_in_o,
  output logic [31:0] drop_out_o,
  output logic [31:0] drop_seed_o,
  output logic        drop_seed_write_o,     // pulse
  output logic [IndexW-1:0] counter_index_o,
  input  logic [63:0] counter_i,             // one clock later
  input  logic        busy_i,
  input  logic        refused_i,
  input  logic [31:0] seen_rank_i,
  input  logic [31:0] seen_ip_i,
  input  logic [15:0] seen_port_i
);
  logic        write, asks_snapshot, commits_job, commits_rank, settled;
  logic [1:0]  job_soon_q, rank_soon_q;      // pending commits; [1] is older
  logic [11:0] w_at, r_at;
  logic [31:0] w_data, mask, read_data;
  /* verilator lint_off PINCONNECTEMPTY */
  axil u_axil (  // counter_i is valid when the write of its index is answered, before a read
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .write_o(write), .waddr_o(w_at), .wdata_o(w_data), .wmask_o(mask), .werr_i(!known(w_at)),
    .wlater_i(asks_snapshot || commits_job || commits_rank), .wdone_i(settled), .read_o(),
    .raddr_o(r_at), .rerr_i(!known(r_at)), .rdata_i(read_data));
  /* verilator lint_on PINCONNECTEMPTY */
  assign settled       = !snapshot_o && !snapshot_busy_i
                         && {job_soon_q, job_commit_o, rank_soon_q, rank_commit_o} == '0;
  assign commits_job   = w_at == nc_pkg::REG_JOB_COMMIT && mask[nc_pkg::REG_JOB_COMMIT_START];
  assign commits_rank  = w_at == nc_pkg::REG_RANK_COMMIT && mask != '0;
  assign asks_snapshot = w_at == nc_pkg::REG_CTRL && w_data[nc_pkg::REG_CTRL_LATCH]
                         && mask[nc_pkg::REG_CTRL_LATCH];

  function automatic logic known(input logic [11:0] at);
    known = nc_pkg::REG_KNOWN[at[7:2]] && {at[11:8], at[1:0]} == '0;
  endfunction

  logic [31:0] job_index_q, job_ranks_q, key_lo_q, key_hi_q, base_q, slots_q, formats_q,
               rank_index_q, port_q, counter_index_q;
  logic [31:0] group_port_q;

  assign job_index_o     = |job_index_q[31:16] ? '1 : job_index_q[15:0];
  assign job_ranks_o     = |job_ranks_q[31:RankW+1] ? '1 : job_ranks_q[RankW:0];
  assign job_key_o       = {key_hi_q, key_lo_q};
  assign job_base_o      = |base_q[31:16] ? '1 : base_q[15:0];
  assign job_slots_o     = |slots_q[31:16] ? '1 : slots_q[15:0];
  assign job_formats_o   = formats_q[15:0];
  assign job_group_port_o = group_port_q[15:0];
  assign rank_index_o    = |rank_index_q[31:16] ? '1 : rank_index_q[15:0];
  assign rank_port_o     = port_q[15:0];
  assign counter_index_o = counter_index_q[IndexW-1:0];

  function automatic logic [31:0] merged(
    input logic [31:0] old, input logic [31:0] data, input logic [31:0] bits);
    merged = (old & ~bits) | (data & bits);
  endfunction

  always_ff @(posedge clk_i) begin
    snapshot_o        <= write && asks_snapshot;
    {job_commit_o, job_soon_q}   <= {job_soon_q, write && commits_job};
    {rank_commit_o, rank_soon_q} <= {rank_soon_q, write && commits_rank};
    // The next write's data may arrive before the pulse.
    if (write) job_start_o <= w_data[nc_pkg::REG_JOB_COMMIT_START];
    drop_seed_write_o <= write && w_at == nc_pkg::REG_DROP_SEED && mask != '0;
    if (write) begin
      unique case (w_at)
        nc_pkg::REG_CTRL:
          if (mask[nc_pkg::REG_CTRL_ENABLE]) enable_o <= w_data[nc_pkg::REG_CTRL_ENABLE];
        nc_pkg::REG_JOB_INDEX:     job_index_q     <= merged(job_index_q, w_data, mask);
        nc_pkg::REG_JOB_RANKS:     job_ranks_q     <= merged(job_ranks_q, w_data, mask);
        nc_pkg::REG_JOB_KEY_LO:    key_lo_q        <= merged(key_lo_q, w_data, mask);
        nc_pkg::REG_JOB_KEY_HI:    key_hi_q        <= merged(key_hi_q, w_data, mask);
        nc_pkg::REG_JOB_SLOT_BASE: base_q          <= merged(base_q, w_data, mask);
        nc_pkg::REG_JOB_SLOTS:     slots_q         <= merged(slots_q, w_data, mask);
        nc_pkg::REG_JOB_FORMATS:   formats_q       <= merged(formats_q, w_data, mask);
        nc_pkg::REG_JOB_GROUP_IP:  job_group_ip_o  <= merged(job_group_ip_o, w_data, mask);
        nc_pkg::REG_JOB_GROUP_PORT: group_port_q   <= merged(group_port_q, w_data, mask);
        nc_pkg::REG_RANK_INDEX:    rank_index_q    <= merged(rank_index_q, w_data, mask);
        nc_pkg::REG_RANK_IP:       rank_ip_o       <= merged(rank_ip_o, w_data, mask);
        nc_pkg::REG_RANK_PORT:     port_q          <= merged(port_q, w_data, mask);
        nc_pkg::REG_COUNTER_INDEX: counter_index_q <= merged(counter_index_q, w_data, mask);
        nc_pkg::REG_DROP_IN:       drop_in_o       <= merged(drop_in_o, w_data, mask);
        nc_pkg::REG_DROP_OUT:      drop_out_o      <= merged(drop_out_o, w_data, mask);
        nc_pkg::REG_DROP_SEED:     drop_seed_o     <= merged(drop_seed_o, w_data, mask);
        default: ;
      endcase
    end
    if (rst_i) begin
      {snapshot_o, job_soon_q, job_commit_o, rank_soon_q, rank_commit_o,
       drop_seed_write_o, enable_o} <= '0;
      {job_index_q, counter_index_q, drop_in_o, drop_out_o, drop_seed_o} <= '0;
    end
    // No write arrives while staged values are cleared: the previous one is answered later.
    if (rst_i || job_commit_o)
      {job_ranks_q, key_lo_q, key_hi_q, base_q, slots_q,
       formats_q, job_group_ip_o, group_port_q} <= '0;
    if (rst_i || rank_commit_o) {rank_index_q, rank_ip_o, port_q} <= '0;
  end

  logic [63:0] counter;
  assign counter = counter_index_q < nc_pkg::REG_COUNTERS ? counter_i : '0;

  always_comb begin
    read_data = '0;                          // also of write-only registers
    unique case (r_at)
      nc_pkg::REG_ID:            read_data = nc_pkg::REG_ID_VALUE;
      nc_pkg::REG_VERSION:       read_data = nc_pkg::REG_VERSION_VALUE;
      nc_pkg::REG_CAP_SLOTS:     read_data = Slots;
      nc_pkg::REG_CAP_JOBS:      read_data = Jobs | nc_pkg::PKT_MAX_RANKS << 16;
      nc_pkg::REG_CAP_BEATS:     read_data = Rows;
      nc_pkg::REG_CAP_FORMATS:
        read_data = Widths | (Narrow != 0 ? nc_pkg::CARD_NARROW_BITS : nc_pkg::CARD_SUM_BITS) << 8
                    | Group << nc_pkg::REG_CAP_FORMATS_GROUP
                    | Narrow << nc_pkg::REG_CAP_FORMATS_NARROW;
      nc_pkg::REG_CTRL:          read_data[nc_pkg::REG_CTRL_ENABLE] = enable_o;
      nc_pkg::REG_STATUS: begin
        read_data[nc_pkg::REG_STATUS_STOPPING] = busy_i;
        read_data[nc_pkg::REG_STATUS_REFUSED]  = refused_i;
      end
      nc_pkg::REG_JOB_INDEX:     read_data = job_index_q;
      nc_pkg::REG_COUNTER_INDEX: read_data = counter_index_q;
      nc_pkg::REG_COUNTER_LO:    read_data = counter[31:0];
      nc_pkg::REG_COUNTER_HI:    read_data = counter[63:32];
      nc_pkg::REG_SEEN_RANK:     read_data = seen_rank_i;
      nc_pkg::REG_SEEN_IP:       read_data = seen_ip_i;
      nc_pkg::REG_SEEN_PORT:     read_data = 32'(seen_port_i);
      nc_pkg::REG_DROP_IN:       read_data = drop_in_o;
      nc_pkg::REG_DROP_OUT:      read_data = drop_out_o;
      nc_pkg::REG_DROP_SEED:     read_data = drop_seed_o;
      default: ;
    endcase
  end

`ifdef FORMAL
  // A write-only register reads 0; its commit clears it. Committed values were stable
  // for three clocks without a commit. A commit's write is answered after its pulse.
  localparam int StagedW = 16 + RankW + 1 + 64 + 16 + 16 + 16 + 32 + 16 + 16 + 32 + 16;
  logic               past_q = 1'b0, start_q;
  logic [1:0]         stood_q;               // clocks of stability, at most 3
  logic [StagedW-1:0] staged, staged_q;
  logic               pulse, soon;
  assign staged = {job_index_o, job_ranks_o, job_key_o, job_base_o, job_slots_o, job_formats_o,
                   job_group_ip_o, job_group_port_o, rank_index_o, rank_ip_o, rank_port_o};
  assign pulse  = job_commit_o || rank_commit_o;
  assign soon   = {job_soon_q, rank_soon_q} != '0;
  always_ff @(posedge clk_i) begin
    past_q   <= 1'b1;
    staged_q <= staged;
    stood_q  <= rst_i || pulse || staged != staged_q ? 2'd0
                : stood_q == 2'd3 ? 2'd3
                : stood_q + 2'd1;
    if (write) start_q <= w_data[nc_pkg::REG_JOB_COMMIT_START];
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (!(write && (pulse || soon)) && !(s_bvalid_o && (pulse || soon)));
      if (pulse) assert (stood_q >= 2'd2 && staged == staged_q);
      if (job_commit_o) assert (job_start_o == start_q);
      if ($past(job_commit_o))
        assert ({job_ranks_o, job_key_o, job_base_o, job_slots_o, job_formats_o, job_group_ip_o,
                 job_group_port_o} == '0);
      if ($past(rank_commit_o)) assert ({rank_index_o, rank_ip_o, rank_port_o} == '0);
      if ((r_at > nc_pkg::REG_JOB_INDEX && r_at <= nc_pkg::REG_RANK_COMMIT)
          || r_at >= nc_pkg::REG_JOB_GROUP_IP)
        assert (read_data == '0);
    end
  end
`endif
endmodule
