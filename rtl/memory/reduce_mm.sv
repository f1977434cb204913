// reduce_mm: adds k arrays in card memory with the tile and writes the rounded sums back, like
// hls/core/reduce.c.
//
//  per block of Rows beats: part 0 | .. | part k-1 -> slot memory -> rounded during part k-1 -> out
//
// Addresses are issued ahead of data: a beat a clock if the memory keeps up. Sums wait for room in
// the output. AXI4: 64-byte beats, INCR, one id; no burst crosses 4 KiB.
module reduce_mm #(
  parameter int Rows = 32,                   // beats of a block, a power of two, 2 or more
  parameter int Wide = 1
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
  output logic [63:0]  m_wstrb_o,            // all 64 bytes
  output logic         m_wlast_o,
  output logic         m_wvalid_o,
  input  logic         m_wready_i,
  input  logic [1:0]   m_bresp_i,
  input  logic         m_bvalid_i,
  output logic         m_bready_o
);
  localparam int RowW = $clog2(Rows);
  logic        start, done_q;
  logic [63:0] in, out;
  logic [31:0] parts, stride, beats, fmt, out_fmt, out_shift, saturate, status_q;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [1023:0] args;                       // words without argument are unused
  /* verilator lint_on UNUSEDSIGNAL */
  kernel_regs u_regs (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .interrupt_o, .start_o(start), .done_i(done_q), .status_i(status_q), .args_o(args));
  assign in        = args[8*nc_pkg::ARG_REDUCE_MM_in+:64];
  assign out       = args[8*nc_pkg::ARG_REDUCE_MM_out+:64];
  assign parts     = args[8*nc_pkg::ARG_REDUCE_MM_parts+:32];
  assign stride    = args[8*nc_pkg::ARG_REDUCE_MM_stride+:32];
  assign beats     = args[8*nc_pkg::ARG_REDUCE_MM_beats+:32];
  assign fmt       = args[8*nc_pkg::ARG_REDUCE_MM_fmt+:32];
  assign out_fmt   = args[8*nc_pkg::ARG_REDUCE_MM_out_fmt+:32];
  assign out_shift = args[8*nc_pkg::ARG_REDUCE_MM_out_shift+:32];
  assign saturate  = args[8*nc_pkg::ARG_REDUCE_MM_saturate+:32];

  // --- the request ---
  logic [1:0]  in_w, out_w;
  logic [33:0] out_beats;                    // of all sums
  logic        good;
  logic [4:0]  cost;                         // quarters of a beat of sums per beat of codes
  code_width #(.Wide(Wide)) u_in_w (.fmt_i(fmt[7:0]), .width_o(in_w));
  code_width #(.Wide(Wide)) u_out_w (.fmt_i(out_fmt[7:0]), .width_o(out_w));
  assign good  = in_w != '0 && out_w != '0 && fmt[31:8] == '0 && out_fmt[31:8] == '0 && parts != '0
              && parts <= (in_w == 2'd3 ? 32'd32 : 32'd64)
              && out_shift <= nc_pkg::PKT_MAX_SHIFT && saturate < 32'd2
              && in[5:0] == '0 && out[5:0] == '0 && out_beats[33:32] == '0
              && beats <= 32'h4000_0000;
  always_comb begin
    if (out_w >= in_w) begin
      out_beats = 34'(beats) << (out_w - in_w);
      cost      = 5'd4 << (out_w - in_w);
    end else begin
      out_beats = (34'(beats) + (34'd1 << (in_w - out_w)) - 34'd1) >> (in_w - out_w);
      cost      = 5'd4 >> (in_w - out_w);
    end
  end

  // --- read addresses: block by block, part by part ---
  logic        run_q, begins, ask, ask_ready, ask_last_part;
  logic [57:0] block_q, part_q;              // address / 64: of part 0 in this block; of this part
  logic [31:0] ask_left_q, ask_part_q, ask_rows;  // beats left, including this block
  assign begins        = start && !run_q && !done_q;
  assign ask           = run_q && ask_left_q != '0;
  assign ask_rows      = ask_left_q < 32'(Rows) ? ask_left_q : 32'(Rows);
  assign ask_last_part = ask_part_q == parts - 1;
  logic [57:0] ar_beat;
  logic [6:0]  ar_beats;
  axi_bursts u_ar (
    .clk_i, .rst_i,
    .in_beat_i(part_q), .in_beats_i(ask_rows), .in_valid_i(ask), .in_ready_o(ask_ready),
    .out_beat_o(ar_beat), .out_beats_o(ar_beats), .out_valid_o(m_arvalid_o),
    .out_ready_i(m_arready_i));
  assign m_araddr_o = {ar_beat, 6'd0};
  assign m_arlen_o  = 8'(ar_beats) - 8'd1;

  logic [511:0] code;
  logic         code_error, code_valid, code_take, tile_ready, room, emit, block_end;
  logic [31:0]  left_q, add_q;               // beats left, including this block; part
  logic [RowW-1:0] row_q;
  // quarters of beats free in the output FIFO, less those in flight
  logic [9:0]   free_q;
  skid #(.W(513)) u_r (
    .clk_i, .rst_i,
    .in_data_i({m_rresp_i != '0, m_rdata_i}), .in_valid_i(m_rvalid_i), .in_ready_o(m_rready_o),
    .out_data_o({code_error, code}), .out_valid_o(code_valid), .out_ready_i(code_take));
  assign emit      = add_q == parts - 1;
  assign room      = !emit || free_q >= 10'(cost);
  assign code_take = tile_ready && room && run_q;
  assign block_end = row_q == RowW'(Rows - 1) || left_q == 32'(row_q) + 1;

  logic         kept_valid, kept_last;
  logic [3:0]   kept_en;
  logic [511:0] kept_data;
  logic [2:0]   kept_status;
  /* verilator lint_off PINCONNECTEMPTY */
  power_of_two #(.N(Rows), .Least(2)) u_rows ();
  tile #(.Slots(1), .Rows(Rows), .Wide(Wide)) u_tile (
    .clk_i, .rst_i,
    .in_valid_i(code_valid && room && run_q), .in_ready_o(tile_ready), .in_slot_i('0),
    .in_row_i(row_q), .in_start_i(row_q == '0), .in_last_i(block_end), .in_odd_i(1'b0),
    .in_first_i(add_q == '0),
    .in_emit_i(emit), .in_max_i(1'b0), .in_fmt_i(fmt[7:0]),
    .out_fmt_i(out_fmt[7:0]), .out_shift_i(out_shift[2:0]), .saturate_i(saturate[0]),
    .in_data_i(code),
    .kept_valid_o(kept_valid), .kept_slot_o(), .kept_row_o(), .kept_en_o(kept_en),
    .kept_data_o(kept_data), .kept_last_o(kept_last), .kept_status_o(kept_status));
  /* verilator lint_on PINCONNECTEMPTY */

  // --- sums: quarters to beats, into the output FIFO ---
  localparam int Depth = 64;
  logic [511:0] gather_q, gathered, sums;
  logic         sum_put, sums_valid, sums_ready, idle, write_error;
  always_comb begin
    gathered = gather_q;
    for (int q = 0; q < 4; q++) if (kept_en[q]) gathered[128*q +: 128] = kept_data[128*q +: 128];
  end
  assign sum_put = kept_valid && (kept_en[3] || kept_last);
  /* verilator lint_off PINCONNECTEMPTY */
  fifo #(.W(512), .Depth(Depth)) u_sums (
    .clk_i, .rst_i, .in_data_i(gathered), .in_valid_i(sum_put), .in_ready_o(),
    .out_data_o(sums), .out_valid_o(sums_valid), .out_ready_i(sums_ready));
  axi_write u_write (
    .clk_i, .rst_i, .range_beat_i(out[63:6]), .range_beats_i(out_beats[31:0]),
    .range_valid_i(begins && good), .range_ready_o(), .data_i(sums), .strb_i({64{1'b1}}),
    .valid_i(sums_valid), .ready_o(sums_ready), .idle_o(idle), .error_o(write_error),
    .m_awaddr_o, .m_awlen_o, .m_awvalid_o, .m_awready_i, .m_wdata_o, .m_wstrb_o, .m_wlast_o,
    .m_wvalid_o, .m_wready_i, .m_bresp_i, .m_bvalid_i, .m_bready_o);
  /* verilator lint_on PINCONNECTEMPTY */

  always_ff @(posedge clk_i) begin
    if (ask && ask_ready) begin
      ask_part_q <= ask_last_part ? '0 : ask_part_q + 1;
      part_q     <= ask_last_part ? block_q + 58'(Rows) : part_q + 58'(stride);
      if (ask_last_part) begin
        block_q    <= block_q + 58'(Rows);
        ask_left_q <= ask_left_q - ask_rows;
      end
    end
    if (code_valid && code_take) begin
      row_q <= block_end ? '0 : row_q + 1'b1;
      if (block_end) begin
        add_q <= emit ? '0 : add_q + 1;
        if (emit) left_q <= left_q - 32'(row_q) - 1;
      end
      if (code_error) status_q[31] <= 1'b1;
    end
    free_q <= free_q - (code_valid && code_take && emit ? 10'(cost) : '0)
            + (sums_valid && sums_ready ? 10'd4 : '0);
    if (kept_valid) begin
      gather_q <= sum_put ? '0 : gathered;
      status_q[2:0] <= status_q[2:0] | kept_status;
    end
    if (write_error) status_q[31] <= 1'b1;

    done_q <= run_q && !done_q && idle;
    if (done_q) run_q <= 1'b0;
    if (begins) begin
      run_q      <= 1'b1;
      status_q   <= good ? '0 : 32'h4000_0000;
      block_q    <= in[63:6];
      part_q     <= in[63:6];
      ask_left_q <= good ? beats : '0;
      ask_part_q <= '0;
      left_q     <= beats;
      add_q      <= '0;
      row_q      <= '0;
      free_q     <= 10'(4 * Depth);
      gather_q   <= '0;
    end
    if (rst_i) begin
      run_q  <= 1'b0;
      done_q <= 1'b0;
    end
  end
endmodule
