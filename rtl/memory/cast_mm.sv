// cast_mm: runs quant, unquant or expmax on arrays in card memory, with the registers and results
// of the HLS cores (hls/core/quant.c, expmax.c).
//
//    read bursts -> skid -> quant, unquant -> write bursts;  at the end: words, the status last
//                        -> expmax
//
// Bit 31 of the status: the memory reported an error. An array that does not begin at a multiple of
// 64 is refused. A word whose address is no multiple of 4 is not written. AXI4: as in reduce_mm.
module cast_mm #(
  parameter int Kernel = nc_pkg::KERNEL_QUANT  // or KERNEL_UNQUANT, KERNEL_EXPMAX
) (
  input  logic         clk_i,
  input  logic         rst_i,
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
  input  logic         s_rready_i,
  output logic         interrupt_o,
  output logic [63:0]  m_araddr_o,
  output logic [7:0]   m_arlen_o,
  output logic         m_arvalid_o,
  input  logic         m_arready_i,
  input  logic [511:0] m_rdata_i,
  input  logic [1:0]   m_rresp_i,
  input  logic         m_rvalid_i,
  output logic         m_rready_o,
  output logic [63:0]  m_awaddr_o,
  output logic [7:0]   m_awlen_o,
  output logic         m_awvalid_o,
  input  logic         m_awready_i,
  output logic [511:0] m_wdata_o,
  output logic [63:0]  m_wstrb_o,
  output logic         m_wlast_o,
  output logic         m_wvalid_o,
  input  logic         m_wready_i,
  input  logic [1:0]   m_bresp_i,
  input  logic         m_bvalid_i,
  output logic         m_bready_o
);
  localparam bit Quant = Kernel == nc_pkg::KERNEL_QUANT, Max = Kernel == nc_pkg::KERNEL_EXPMAX;
  localparam bit [1:0] Words = Max ? 2'd3 : 2'd1;  // exponent and absmax; status
  localparam int StatusAt = Max ? nc_pkg::ARG_EXPMAX_status
                          : Quant ? nc_pkg::ARG_QUANT_status : nc_pkg::ARG_UNQUANT_status;
  if (Kernel != nc_pkg::KERNEL_UNQUANT && !Quant && !Max) begin : g_kernel
    kernel_must_be_quant_unquant_or_expmax u_refused ();
  end
  typedef enum logic [2:0] {Idle, Width, Check, Stream, Put, Done} state_t;
  state_t state_q;

  // --- registers; their values at the start ---
  // As names: Icarus 11 computes state_q wrong if ports compare it.
  logic          start, begins, done;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [1023:0] args, args_q;               // words without argument are unused
  /* verilator lint_on UNUSEDSIGNAL */
  kernel_regs #(.Kernel(Kernel)) u_regs (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .interrupt_o, .start_o(start), .done_i(done), .status_i(32'd0), .args_o(args));
  logic [63:0] in, out;                      // quant and unquant have equal offsets
  logic [31:0] n, fmt, shift, saturate, n_ranks;
  assign in       = args_q[8*nc_pkg::ARG_QUANT_x+:64];
  assign out      = Max ? '0 : args_q[8*nc_pkg::ARG_QUANT_codes+:64];
  assign n        = args_q[8*(Max ? nc_pkg::ARG_EXPMAX_n : nc_pkg::ARG_QUANT_n)+:32];
  assign n_ranks  = Max ? args_q[8*nc_pkg::ARG_EXPMAX_n_ranks+:32] : 32'd1;
  assign fmt      = Max ? 32'h43 : args_q[8*nc_pkg::ARG_QUANT_fmt+:32];
  assign shift    = Max ? '0 : args_q[8*nc_pkg::ARG_QUANT_shift+:32];
  assign saturate = Quant ? args_q[8*nc_pkg::ARG_QUANT_saturate+:32] : '0;

  // --- the request ---
  logic [1:0]  width, width_q;
  logic        good;
  logic [2:0]  code_log2, in_log2;           // of the values in a beat
  logic [31:0] in_beats, out_beats;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [9:0]  near_shift;                   // farther ones have the same effect; unused by expmax
  /* verilator lint_on UNUSEDSIGNAL */
  function automatic logic [31:0] beats(input logic [31:0] values, input logic [2:0] log2);
    beats = (values >> log2) + 32'((values & ~(32'hffff_ffff << log2)) != '0);
  endfunction
  code_width u_width (.fmt_i(fmt[7:0]), .width_o(width));
  assign code_log2  = 3'd0 - {1'b0, width_q};  // 8 - width
  assign in_log2    = Max || Quant ? 3'd4 : code_log2;
  assign in_beats   = beats(n, in_log2);
  assign out_beats  = Max ? '0 : beats(n, Quant ? code_log2 : 3'd4);
  assign near_shift = shift[31:9] == {23{shift[31]}} ? shift[9:0] : {shift[31], {9{!shift[31]}}};
  assign good       = width_q != '0 && fmt[31:8] == '0 && saturate < 32'd2
                   && $signed(shift) <= 32'sh0010_0000 && $signed(shift) >= -32'sh0010_0000
                   && in[5:0] == '0 && out[5:0] == '0;
  assign begins     = state_q == Check && good;
  assign done       = state_q == Done;

  // --- read ---
  logic [57:0]  ar_beat;
  logic [6:0]   ar_beats;
  logic [511:0] data, result;
  logic         data_error, data_valid, in_valid, in_ready, in_last, empty_q;
  logic [31:0]  left_q;                      // values
  logic [7:0]   values;
  /* verilator lint_off PINCONNECTEMPTY */
  axi_bursts u_ar (
    .clk_i, .rst_i, .in_beat_i(in[63:6]), .in_beats_i(in_beats),
    .in_valid_i(begins), .in_ready_o(), .out_beat_o(ar_beat),
    .out_beats_o(ar_beats), .out_valid_o(m_arvalid_o), .out_ready_i(m_arready_i));
  /* verilator lint_on PINCONNECTEMPTY */
  assign m_araddr_o = {ar_beat, 6'd0};
  assign m_arlen_o  = 8'(ar_beats) - 8'd1;
  skid #(.W(513)) u_r (
    .clk_i, .rst_i,
    .in_data_i({m_rresp_i != '0, m_rdata_i}), .in_valid_i(m_rvalid_i), .in_ready_o(m_rready_o),
    .out_data_o({data_error, data}), .out_valid_o(data_valid), .out_ready_i(in_ready));
  assign in_valid = data_valid || empty_q;   // no values: expmax gets one empty beat
  assign in_last  = left_q <= 32'd1 << in_log2;
  assign values   = in_last ? left_q[7:0] : 8'd1 << in_log2;

  // --- the stream ---
  logic        result_valid, write_ready, puts;  // puts: words
  logic [7:0]  exponent;
  logic [31:0] absmax;
  /* verilator lint_off PINCONNECTEMPTY */
  if (Max) begin : g_max
    expmax u_stream (
      .clk_i, .rst_i, .n_ranks_i(n_ranks), .in_data_i(data), .in_values_i(values[4:0]),
      .in_last_i(in_last), .in_valid_i(in_valid), .in_ready_o(in_ready), .exponent_o(exponent),
      .absmax_o(absmax), .out_valid_o(result_valid), .out_ready_i(done));
    assign result = '0;
  end else if (Quant) begin : g_quant
    quant u_stream (
      .clk_i, .rst_i, .fmt_i(fmt[7:0]), .shift_i(near_shift), .saturate_i(saturate[0]),
      .in_data_i(data), .in_values_i(values[4:0]), .in_last_i(in_last), .in_valid_i(in_valid),
      .in_ready_o(in_ready), .out_data_o(result), .out_last_o(), .out_valid_o(result_valid),
      .out_ready_i(write_ready && !puts));
    assign {exponent, absmax} = '0;
  end else begin : g_unquant
    unquant u_stream (
      .clk_i, .rst_i, .fmt_i(fmt[7:0]), .shift_i(near_shift),
      .in_data_i(data), .in_values_i(values), .in_last_i(in_last), .in_valid_i(in_valid),
      .in_ready_o(in_ready), .out_data_o(result), .out_last_o(), .out_valid_o(result_valid),
      .out_ready_i(write_ready && !puts));
    assign {exponent, absmax} = '0;
  end
  /* verilator lint_on PINCONNECTEMPTY */

  // --- write: the array, then the words ---
  logic        ask, ask_ready, idle, write_error, write_valid;
  logic [1:0]  asked_q, put_q;               // words: address given; written
  logic [31:0] status_q, word;
  logic [511:0] write_data;
  logic [63:0] write_strb;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [63:0] ask_at, put_at;               // used: the beat, the place in it
  /* verilator lint_on UNUSEDSIGNAL */
  function automatic logic [63:0] word_at(input logic [1:0] i);
    word_at = !Max || i == Words - 2'd1 ? args_q[8*StatusAt+:64]
            : i == '0 ? args_q[8*nc_pkg::ARG_EXPMAX_exponent+:64]
                      : args_q[8*nc_pkg::ARG_EXPMAX_absmax+:64];
  endfunction
  assign puts   = state_q == Put;
  // The status waits until the other words are answered: it has their errors.
  assign ask    = puts && asked_q != Words
                  && (asked_q != Words - 2'd1 || (put_q == asked_q && idle));
  assign ask_at = word_at(asked_q);
  assign put_at = word_at(put_q);
  assign word   = put_q == Words - 2'd1 ? status_q
                : put_q == '0 ? {{24{exponent[7]}}, exponent} : absmax;
  assign write_valid = puts ? put_q != asked_q : result_valid && !Max;
  assign write_data  = puts ? {16{word}} : result;
  assign write_strb  = !puts ? {64{1'b1}} : put_at[1:0] == '0 ? 64'd15 << put_at[5:0] : '0;
  axi_write u_write (
    .clk_i, .rst_i, .range_beat_i(puts ? ask_at[63:6] : out[63:6]),
    .range_beats_i(puts ? 32'd1 : out_beats), .range_valid_i(ask || begins),
    .range_ready_o(ask_ready), .data_i(write_data), .strb_i(write_strb), .valid_i(write_valid),
    .ready_o(write_ready), .idle_o(idle), .error_o(write_error),
    .m_awaddr_o, .m_awlen_o, .m_awvalid_o, .m_awready_i, .m_wdata_o, .m_wstrb_o, .m_wlast_o,
    .m_wvalid_o, .m_wready_i, .m_bresp_i, .m_bvalid_i, .m_bready_o);

  always_ff @(posedge clk_i) begin
    width_q <= width;
    if (in_valid && in_ready) begin
      left_q  <= left_q - 32'(values);
      empty_q <= 1'b0;
      if (data_valid && data_error) status_q[31] <= 1'b1;
    end
    if (write_error && asked_q != Words) status_q[31] <= 1'b1;
    if (ask && ask_ready) asked_q <= asked_q + 1'b1;
    if (puts && put_q != asked_q && write_ready) put_q <= put_q + 1'b1;
    unique case (state_q)
      Idle:
        if (start) begin
          args_q  <= args;
          state_q <= Width;
        end
      Width:   state_q <= Check;
      Check: begin
        status_q <= 32'(!good || n_ranks == '0);
        asked_q  <= good ? '0 : Words - 2'd1;
        put_q    <= good ? '0 : Words - 2'd1;
        left_q   <= n;
        empty_q  <= Max && good && n == '0;
        state_q  <= good ? Stream : Put;
      end
      Stream:  if (Max ? result_valid : idle) state_q <= Put;
      Put:     if (put_q == Words && idle) state_q <= Done;
      default: state_q <= Idle;
    endcase
    if (rst_i) begin
      empty_q <= 1'b0;
      state_q <= Idle;
    end
  end

`ifdef FORMAL
  // The proof assumes the promises of axi_bursts, axi_write, skid and the stream (README.md), and a
  // memory that answers once each beat asked for; registers may change at any time. The stream
  // takes every beat of the array once, the last one marked, with n values in all. Every result is
  // written, then the words; the status has every error. Beats that wait stay unchanged.
  logic        past_q = 1'b0, asks, gives, writes;
  logic        runs_q, ended_q, error_q;     // a good request; its last beat is taken; an error
  logic [31:0] ask_q, read_q;                // beats to ask for; asked for, but not taken
  logic [31:0] due_q, owed_q;                // results to come; beats that ranges still lack
  logic [31:0] reads, left;
  assign reads  = m_arvalid_o && m_arready_i ? 32'(ar_beats) : '0;
  assign left   = ask_q + read_q;
  assign asks   = (ask || begins) && ask_ready;
  assign gives  = result_valid && (Max ? state_q == Done : write_ready && !puts);
  assign writes = write_valid && write_ready;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    ask_q  <= begins ? in_beats : ask_q - reads;
    read_q <= read_q + reads - 32'(data_valid && in_ready);
    due_q  <= begins ? Max ? 32'd1 : out_beats : due_q - 32'(gives);
    owed_q <= owed_q + (asks ? puts ? 32'd1 : out_beats : '0) - 32'(writes);
    if (in_valid && in_ready && in_last) ended_q <= 1'b1;
    if (in_ready && data_valid && data_error) error_q <= 1'b1;
    if (write_error && asked_q != Words) error_q <= 1'b1;
    if (state_q == Check) {runs_q, ended_q, error_q} <= {good, 2'b00};
    if (rst_i) {runs_q, ask_q, read_q, due_q, owed_q} <= '0;
    if (!past_q) assume (rst_i);
    assume (m_arvalid_o == (ask_q != '0));
    if (m_arvalid_o) assume (ar_beats != '0 && 32'(ar_beats) <= ask_q);
    if (data_valid) assume (read_q != '0);
    if (result_valid) assume (due_q != '0 && (due_q != 32'd1 || ended_q));
    if (write_ready) assume (owed_q != '0);
    if (idle) assume (owed_q == '0 && ask_ready && !write_error);
    if (past_q) begin
      if ($past(rst_i || (idle && !(asks && (puts || out_beats != '0))))) assume (idle);
      if (!$past(rst_i) && $past(data_valid && !in_ready))
        assume (data_valid && $stable({data_error, data}));
      if (!$past(rst_i) && $past(result_valid && !gives))
        assume (result_valid && $stable({result, exponent, absmax}));

      assert (state_q <= Done && left >= read_q);
      if (begins) assert (ask_ready && left == '0);
      if (in_valid) assert (state_q == Stream && in_last == (left <= 32'd1));
      if (data_valid) assert (!empty_q && values != '0 && 32'(values) <= left_q);
      if (state_q >= Check) assert (width_q == width);
      if (state_q > Check) assert (good == runs_q);
      if (state_q > Check && runs_q) assert (left == beats(left_q, in_log2));
      if (state_q == Stream) begin
        assert (runs_q && asked_q == '0 && put_q == '0);
        assert (empty_q == (Max && !ended_q && n == '0) && (left != '0) == (!ended_q && n != '0));
        assert (Max ? due_q == 32'd1 && idle : due_q == owed_q);
        assert (Max || due_q != '0 || ended_q || n == '0);
      end else
        assert (left == '0 && !empty_q && due_q == 32'(Max && runs_q && state_q > Stream));
      if (state_q >= Stream)
        assert (status_q == {error_q, 30'd0, !runs_q || n_ranks == '0});
      if (state_q >= Put) begin
        assert (put_q <= asked_q && asked_q <= Words && owed_q == 32'(asked_q - put_q));
        assert ((runs_q || put_q >= Words - 2'd1) && (!Max || result_valid == runs_q));
      end else assert (state_q == Stream || idle);
      if (state_q == Done) assert (put_q == Words && idle);
      if (!$past(rst_i) && $past(in_valid && !in_ready))
        assert (in_valid && $stable({empty_q, values, in_last}));
      if (!$past(rst_i) && $past(write_valid && !write_ready))
        assert (write_valid && $stable({write_data, write_strb}));
    end
  end
`endif
endmodule
