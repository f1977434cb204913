// control: serves the card's registers over its own network port to hosts that hold a lease, as an
// AXI-Lite master of nic_core. Requests and answers: hls/card/lease.def.
//
// words => control_rx => buffer (8 x 64 words) => control_tx => words   control_leases: who may ask
//              |           |  ^                                         control_jobs: the rules
//              '-- crc32c  v  |
//            one operation after the other => control_bus => AXI-Lite
//
// Requests that arrive during another are lost and counted. A lease's buffer keeps the answer to
// its last sequenced request, for repetitions. Rules: control.md.
module control #(
  parameter int Leases = nc_pkg::LEASE_MAX,
  parameter int Ticks  = nc_pkg::LEASE_TICKS,  // of silence that end a lease
  parameter int Jobs   = nc_pkg::CARD_JOBS,
  parameter int Slots  = nc_pkg::CARD_SLOTS
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        tick_i,                // a pulse every LEASE_TICK_MS
  input  logic [15:0] frame_port_i,          // read as SHELL_PORT
  output logic        busy_o,                // a datagram, request or lease end in progress
  // UDP payloads, byte 0 in bits 7..0; address, port and length accompany every word
  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic        in_last_i,
  input  logic [31:0] in_data_i,
  input  logic [3:0]  in_last_be_i,
  input  logic        in_error_i,
  input  logic [31:0] in_src_ip_i,
  input  logic [15:0] in_src_port_i,
  input  logic [15:0] in_length_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic        out_last_o,
  output logic [31:0] out_data_o,
  output logic [3:0]  out_last_be_o,
  output logic [31:0] out_ip_o,
  output logic [15:0] out_port_o,
  output logic [15:0] out_length_o,
  output logic [11:0] m_awaddr_o,
  output logic        m_awvalid_o,
  input  logic        m_awready_i,
  output logic [31:0] m_wdata_o,
  output logic [3:0]  m_wstrb_o,
  output logic        m_wvalid_o,
  input  logic        m_wready_i,
  input  logic [1:0]  m_bresp_i,
  input  logic        m_bvalid_i,
  output logic        m_bready_o,
  output logic [11:0] m_araddr_o,
  output logic        m_arvalid_o,
  input  logic        m_arready_i,
  input  logic [31:0] m_rdata_i,
  input  logic [1:0]  m_rresp_i,
  input  logic        m_rvalid_i,
  output logic        m_rready_o
);
  localparam int IndexW = $clog2(Leases + 1);
  localparam int WordW  = $clog2(nc_pkg::LEASE_WORDS);
  localparam int CountW = $clog2(nc_pkg::LEASE_OPERATIONS + 1);
  localparam int JobW   = $clog2(Jobs);

  typedef enum logic [4:0] {
    Enable, Idle, Find, Decide, CleanIndex, CleanJob, CleanRank, ReadAt, ReadValue, Rule, Seen, Act,
    Status, Put, EndNext, EndIndex, EndJob, EndStatus, Head, Send
  } state_t;
  state_t state_q;

  logic              rx_put, rx_first, request, other, malformed, lost, done, coming;
  logic [WordW-1:0]  rx_at;
  logic [7:0]        kind, status_q, status;
  logic [CountW-1:0] n;
  logic [31:0]       sequence_in, ip, crc, crc_q;
  logic [63:0]       secret;
  logic [15:0]       port;

  control_rx u_rx (
    .clk_i, .rst_i,
    .in_valid_i, .in_ready_o, .in_last_i, .in_data_i, .in_last_be_i, .in_error_i,
    .in_ip_i(in_src_ip_i), .in_port_i(in_src_port_i), .in_length_i,
    .put_o(rx_put), .put_at_o(rx_at), .crc_first_o(rx_first), .crc_i(crc_q), .request_o(request),
    .take_i(done), .other_o(other), .kind_o(kind), .n_o(n), .sequence_o(sequence_in),
    .secret_o(secret), .ip_o(ip), .port_o(port), .malformed_o(malformed), .busy_o(lost),
    .inside_o(coming));

  logic [IndexW-1:0] lease_q, free_q, spare, own_buffer, over_at, live_n, buffer;
  logic [CountW-1:0] own_n;
  logic [31:0]       own_sequence;
  logic              hit_q, as_long_q, any_free_q, ending_q, live, same, over, open, next, touch,
                     finish, swap, repeated;

  control_leases #(.Leases(Leases), .Ticks(Ticks)) u_leases (
    .clk_i, .rst_i, .tick_i, .at_i(lease_q), .secret_i(secret), .sequence_i(sequence_in), .n_i(n),
    .live_o(live), .same_o(same), .sequence_o(own_sequence), .n_o(own_n), .buffer_o(own_buffer),
    .open_i(open), .next_i(next), .touch_i(touch), .end_i(finish), .spare_o(spare), .swap_i(swap),
    .over_o(over), .over_at_o(over_at), .live_n_o(live_n));

  logic [CountW-1:0] index_q, done_q;        // operations processed; done
  logic [31:0]       at_q, value_q, result_q, bus_data, job_value, op_data, bus_value;
  logic [11:0]       bus_at;
  logic              refused_q, fresh_q, bus_start, bus_write, bus_done, bus_bad, refused,
                     asks_seen, seen_ok, commit, any;
  logic              is_read, is_card, is_local, settled, starts;
  logic [JobW-1:0]   any_at;

  control_bus u_bus (
    .clk_i, .rst_i, .start_i(bus_start), .write_i(bus_write), .at_i(bus_at), .data_i(bus_value),
    .done_o(bus_done), .bad_o(bus_bad), .data_o(bus_data), .m_awaddr_o, .m_awvalid_o, .m_awready_i,
    .m_wdata_o, .m_wstrb_o, .m_wvalid_o, .m_wready_i, .m_bresp_i, .m_bvalid_i, .m_bready_o,
    .m_araddr_o, .m_arvalid_o, .m_arready_i, .m_rdata_i, .m_rresp_i, .m_rvalid_i, .m_rready_o);

  control_jobs #(.Leases(Leases), .Jobs(Jobs), .Slots(Slots)) u_jobs (
    .clk_i, .rst_i, .lease_i(lease_q), .write_i(state_q == Rule ? !is_read : bus_write),
    .at_i(state_q == Rule ? at_q[11:0] : bus_at),
    .value_i(state_q == Rule ? op_data : bus_value), .refused_o(refused), .value_o(job_value),
    .seen_o(asks_seen), .seen_ok_o(seen_ok), .seen_i(bus_data[31:16]), .commit_o(commit),
    .wrote_i(bus_done && bus_write && !bus_bad),
    .started_i(state_q == Status && bus_done && starts && !bus_data[nc_pkg::REG_STATUS_REFUSED]),
    .stopped_i(settled), .any_o(any), .any_at_o(any_at));

  assign is_read  = at_q[31];
  assign is_card  = at_q[30:12] == '0;
  assign starts   = value_q[nc_pkg::REG_JOB_COMMIT_START];
  assign settled  = bus_done && !bus_data[nc_pkg::REG_STATUS_STOPPING]
                    && (state_q == EndStatus || (state_q == Status && !starts));

  always_comb begin
    bus_start = 1'b1;
    bus_write = 1'b1;
    bus_at    = nc_pkg::REG_JOB_INDEX;
    bus_value = '1;
    unique case (state_q)
      Enable:     {bus_at, bus_value} = {nc_pkg::REG_CTRL, 32'd1 << nc_pkg::REG_CTRL_ENABLE};
      // Selects a job that does not exist: the next two commits are refused but clear all staged
      // values.
      CleanIndex: ;
      CleanJob:   {bus_at, bus_value} = {nc_pkg::REG_JOB_COMMIT, 32'd0};
      CleanRank:  bus_at = nc_pkg::REG_RANK_COMMIT;
      Seen:       {bus_write, bus_at} = {1'b0, nc_pkg::REG_SEEN_RANK};
      Act:        {bus_write, bus_at, bus_value} = {!is_read, at_q[11:0], value_q};
      EndIndex:   bus_value = 32'(any_at);
      EndJob:     {bus_at, bus_value} = {nc_pkg::REG_JOB_COMMIT, 32'd0};
      Status, EndStatus: {bus_write, bus_at} = {1'b0, nc_pkg::REG_STATUS};
      default:    bus_start = 1'b0;
    endcase
  end

  logic [31:0] malformed_q, busy_q, expired_q, local_value;
  always_comb begin
    is_local    = 1'b1;
    local_value = '0;
    unique case (at_q[30:0])
      31'(nc_pkg::SHELL_PORT):          local_value = 32'(frame_port_i);
      31'(nc_pkg::LEASE_REG_MALFORMED): local_value = malformed_q;
      31'(nc_pkg::LEASE_REG_BUSY):      local_value = busy_q;
      31'(nc_pkg::LEASE_REG_EXPIRED):   local_value = expired_q;
      31'(nc_pkg::LEASE_REG_LIVE):      local_value = 32'(live_n) | Leases << 16;
      31'(nc_pkg::LEASE_REG_SILENCE):   local_value = Ticks * nc_pkg::LEASE_TICK_MS;
      default: is_local = 1'b0;
    endcase
  end

  logic              tx_read, tx_step, tx_first, tx_done, put, get;
  logic [WordW-1:0]  tx_at, put_at, get_at, op_at;
  logic [31:0]       put_data, crc_data;
  logic [CountW-1:0] answer_n_q;

  control_tx u_tx (
    .clk_i, .rst_i, .go_i(state_q == Send), .n_i(answer_n_q), .ip_i(ip), .port_i(port),
    .done_o(tx_done), .read_o(tx_read), .read_at_o(tx_at), .read_data_i(op_data), .step_o(tx_step),
    .crc_first_o(tx_first), .crc_i(crc_q),
    .out_valid_o, .out_ready_i, .out_last_o, .out_data_o, .out_last_be_o, .out_ip_o, .out_port_o,
    .out_length_o);

  slot_mem #(.Width(32), .Depth((Leases + 1) * nc_pkg::LEASE_WORDS), .Ultra(0)) u_buffer (
    .clk_i, .w_en_i(put), .w_row_i({spare, put_at}), .w_data_i(put_data),
    .r_en_i(get), .r_row_i({buffer, get_at}), .r_data_o(op_data));

  assign op_at = WordW'(5) + WordW'({index_q, 1'b0});
  always_comb begin
    put      = rx_put;
    put_at   = rx_at;
    put_data = in_data_i;
    get      = tx_read;
    get_at   = tx_at;
    buffer   = state_q == Send && !fresh_q ? own_buffer : spare;
    unique case (state_q)
      ReadAt:    {get, get_at} = {1'b1, op_at};
      ReadValue: {get, get_at} = {1'b1, op_at + WordW'(1)};
      Put:
        {put, put_at, put_data} = {1'b1, op_at + WordW'(1),
                                   is_read && !refused_q ? result_q : 32'd0};
      Head:
        {put, put_at, put_data} = {1'b1, WordW'(1), 8'(done_q), 8'(answer_n_q), status_q, kind};
      default: ;
    endcase
    crc_data = tx_step ? out_data_o : in_data_i;
  end
  crc32c #(.Bits(32)) u_crc (
    .clk_i, .en_i(1'b0), .data_i(crc_data ^ ((tx_step ? tx_first : rx_first) ? '1 : crc_q)),
    .crc_o(crc));

  // Lengths must be equal, or the answer could exceed the request.
  assign repeated = hit_q && own_sequence == sequence_in && as_long_q;
  always_comb begin
    status = nc_pkg::LEASE_STATUS_DONE;
    if (other) status = nc_pkg::LEASE_STATUS_VERSION;
    else if (kind == nc_pkg::LEASE_OPEN) begin
      if (hit_q) status = nc_pkg::LEASE_STATUS_SEQUENCE;
      else if (!any_free_q) status = nc_pkg::LEASE_STATUS_FULL;
    end else if (!hit_q) status = nc_pkg::LEASE_STATUS_UNKNOWN;
    else if (kind == nc_pkg::LEASE_DO && sequence_in != own_sequence + 32'd1)
      status = nc_pkg::LEASE_STATUS_SEQUENCE;
    open  = 1'b0;
    next  = 1'b0;
    touch = state_q == Decide && hit_q && !other;
    if (state_q == Decide && !other && status == nc_pkg::LEASE_STATUS_DONE) begin
      open  = kind == nc_pkg::LEASE_OPEN;
      next  = kind == nc_pkg::LEASE_OPEN || kind == nc_pkg::LEASE_DO;
      touch = 1'b1;
    end
  end
  assign done   = state_q == Send && tx_done;
  assign swap   = done && fresh_q && status_q == nc_pkg::LEASE_STATUS_DONE
                  && (kind == nc_pkg::LEASE_OPEN || kind == nc_pkg::LEASE_DO);
  assign finish = state_q == EndNext && !any;
  assign busy_o = state_q != Idle || coming || over;

  always_ff @(posedge clk_i) begin
    if (rx_put || tx_step) crc_q <= crc;
    if (malformed) malformed_q <= malformed_q + 1'b1;
    if (lost) busy_q <= busy_q + 1'b1;
    unique case (state_q)
      Enable: if (bus_done) state_q <= Idle;
      Idle: begin
        lease_q    <= over ? over_at : '0;
        ending_q   <= over;
        hit_q      <= 1'b0;
        any_free_q <= 1'b0;
        if (over) state_q <= EndNext;
        else if (request) state_q <= Find;
      end
      Find: begin
        if (!live) {any_free_q, free_q} <= {1'b1, lease_q};
        if (live && same) begin
          hit_q     <= 1'b1;
          as_long_q <= own_n == n;
          state_q   <= Decide;
        end else if (lease_q == IndexW'(Leases - 1)) begin
          lease_q <= live && any_free_q ? free_q : lease_q;
          state_q <= Decide;
        end else lease_q <= lease_q + 1'b1;
      end
      Decide: begin
        {index_q, done_q, refused_q} <= '0;
        status_q   <= status;
        fresh_q    <= 1'b1;
        answer_n_q <= '0;
        state_q    <= Head;
        if (!other && repeated && (kind == nc_pkg::LEASE_OPEN || kind == nc_pkg::LEASE_DO)) begin
          fresh_q    <= 1'b0;
          answer_n_q <= own_n;
          state_q    <= Send;
        end else if (status == nc_pkg::LEASE_STATUS_DONE && kind == nc_pkg::LEASE_DO) begin
          answer_n_q <= n;
          state_q    <= CleanIndex;
        end else if (status == nc_pkg::LEASE_STATUS_DONE && kind == nc_pkg::LEASE_CLOSE)
          state_q <= EndNext;
      end
      CleanIndex: if (bus_done) state_q <= CleanJob;
      CleanJob:   if (bus_done) state_q <= CleanRank;
      CleanRank:  if (bus_done) state_q <= n == '0 ? Head : ReadAt;
      ReadAt: state_q <= ReadValue;
      ReadValue: begin
        at_q    <= op_data;
        state_q <= Rule;
      end
      Rule: begin
        value_q  <= job_value;
        result_q <= local_value;
        state_q  <= Put;
        if (!refused_q && !(is_read && is_local)) begin
          if (!is_card || refused) refused_q <= 1'b1;
          else state_q <= asks_seen ? Seen : Act;
        end
      end
      Seen: if (bus_done) begin
        state_q <= seen_ok ? Act : Put;
        if (!seen_ok) refused_q <= 1'b1;
      end
      Act: if (bus_done) begin
        result_q  <= bus_data;
        refused_q <= bus_bad;
        state_q   <= commit && !bus_bad ? Status : Put;
      end
      Status: if (bus_done && (starts || settled)) state_q <= Put;
      Put: begin
        index_q <= index_q + 1'b1;
        if (!refused_q) done_q <= done_q + 1'b1;
        state_q <= index_q + 1'b1 == n ? Head : ReadAt;
      end
      EndNext: begin
        if (!any && ending_q) expired_q <= expired_q + 1'b1;
        state_q <= any ? EndIndex : ending_q ? Idle : Head;
      end
      EndIndex:  if (bus_done) state_q <= EndJob;
      EndJob:    if (bus_done) state_q <= EndStatus;
      EndStatus: if (settled) state_q <= EndNext;
      Head: state_q <= Send;
      Send: if (done) state_q <= Idle;
      default: state_q <= Idle;
    endcase
    if (rst_i) begin
      state_q <= Enable;
      {malformed_q, busy_q, expired_q} <= '0;
    end
  end

`ifdef FORMAL
  // An operation is done if control_jobs allows it to the lease with the request's secret. A
  // commit applies to the job selected last in the same request. A repetition does nothing. Each
  // request has one answer, from its own lease's buffer. An expired lease is ended next.
  logic        past_q = 1'b0, checked_q, waits_q, brief_q, works, ends;
  logic [31:0] named_q;                      // JOB_INDEX as last written
  assign works = state_q >= CleanIndex && state_q <= Put;
  assign ends  = state_q >= EndNext && state_q <= EndStatus;
  always_ff @(posedge clk_i) begin
    past_q  <= 1'b1;
    waits_q <= state_q == Status || state_q == EndStatus;
    brief_q <= state_q == Decide || state_q == ReadAt || state_q == ReadValue || state_q == Rule
               || state_q == Put || state_q == EndNext || state_q == Head;
    if (bus_done && bus_write && bus_at == nc_pkg::REG_JOB_INDEX) named_q <= bus_value;
    if (state_q == Rule) checked_q <= 1'b0;
    if (state_q == Seen && bus_done) checked_q <= seen_ok;
    if (!past_q) assume (rst_i);
    // promised by control_bus, for registers that exist
    if (bus_done) assume (bus_start && (!bus_bad || state_q == Act));
    if (past_q && $past(request && !done && !rst_i))               // promised by control_rx
      assume (request && $stable({other, kind, n, sequence_in, secret}));
    if (past_q && $past(rst_i || done)) assume (!request);
    if (request)
      assume (!rx_put && n <= CountW'(nc_pkg::LEASE_OPERATIONS)
              && (other || (kind >= nc_pkg::LEASE_OPEN && kind <= nc_pkg::LEASE_CLOSE)));
    // promised by control_leases, if the next three assertions hold
    if (live) assume (own_n <= CountW'(nc_pkg::LEASE_OPERATIONS));
    if (past_q) begin
      if (next) assert (n <= CountW'(nc_pkg::LEASE_OPERATIONS));
      if (open) assert (next && touch && !live && !finish);
      if (touch && !open) assert (live);
      assert (state_q <= Send);
      if (state_q > Idle) assert (lease_q < IndexW'(Leases));
      if (state_q == Find && any_free_q) assert (free_q < IndexW'(Leases));
      if (works)
        assert (answer_n_q == n && own_n == n && fresh_q && status_q == nc_pkg::LEASE_STATUS_DONE);
      if (works) assert (index_q < n || (state_q < ReadAt && index_q == '0));
      if (state_q > Idle) assert (ending_q ? ends : request);
      if (!works && !ends && state_q != Enable) assert (!bus_start);
      if (state_q == Decide && hit_q) assert (live && same && as_long_q == (own_n == n));
      if (works)
        assert (live && same && kind == nc_pkg::LEASE_DO && !other && own_sequence == sequence_in);
      if (ends && !ending_q)
        assert (live && same && kind == nc_pkg::LEASE_CLOSE && answer_n_q == '0 && fresh_q);
      if (state_q == Send && !fresh_q)
        assert (live && same && own_sequence == sequence_in && answer_n_q == own_n);
      if ((state_q == Head || state_q == Send) && fresh_q)
        assert (answer_n_q == '0 || (answer_n_q == n && index_q == n && live && same));
      if (state_q == Head) assert (fresh_q);
      if (state_q == Head || state_q == Send) assert (answer_n_q <= n);
      if (bus_start && bus_write
          && (bus_at == nc_pkg::REG_JOB_COMMIT || bus_at == nc_pkg::REG_RANK_COMMIT))
        assert (!refused);
      if (state_q == CleanJob || state_q == CleanRank) assert (named_q == '1);
      if (ends && state_q != EndNext)
        assert (any && (state_q == EndIndex || named_q == 32'(any_at)));
      if (state_q == Seen)
        assert (is_read && is_card && !refused_q && at_q[11:8] == '0 && at_q[1:0] == '0
                && 3'(nc_pkg::READ_RULES >> 3 * 8'(at_q[7:2])) == 3'(nc_pkg::RULE_SEEN));
      if (state_q == Act) assert (!refused && !refused_q && is_card && (!asks_seen || checked_q));
      if (state_q == Act && !is_read && at_q[11:0] == nc_pkg::REG_CTRL)
        assert (value_q[nc_pkg::REG_CTRL_ENABLE]);
      if (state_q == Put && !is_read) assert (put_data == '0);  // keys are never sent back
      if (get && state_q == Send)
        assert (buffer == (fresh_q ? spare : own_buffer)
                && get_at < WordW'(5) + WordW'({answer_n_q, 1'b0}) + 1'b1);
      assert (tx_at <= (state_q == Send ? WordW'(5) + WordW'({answer_n_q, 1'b0}) : '0));
      if (out_valid_o) assert (state_q == Send);
    end
    if (past_q && !rst_i && !$past(rst_i)) begin
      if (works && !$past(works))
        assert ($past(state_q == Decide && own_sequence + 32'd1 == sequence_in));
      if (ends && ending_q && !$past(ends))
        assert ($past(state_q == Idle && over) && lease_q == $past(over_at));
      if (works || ends || state_q == Head || state_q == Send)
        assert (lease_q == $past(lease_q) || $past(state_q == Idle));
      if ($past(state_q == Idle && over)) assert (state_q == EndNext && ending_q);
      if ($past(state_q == EndNext && !any))
        assert ($past(finish) && (state_q == Idle || state_q == Head));
      if (brief_q || ($past(bus_done) && !waits_q)) assert (state_q != $past(state_q));
      if ($past(done)) assert (!request && state_q == Idle);
    end
  end
`endif
endmodule
