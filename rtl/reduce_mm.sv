// reduce_mm: adds k arrays in card memory with the tile and writes the rounded sums back, like
// hls/core/reduce.c.
//
//  per block of Rows beats: part 0 | .. | part k-1 -> slot memory -> rounded during part k-1 -> out
//
// Addresses are issued ahead of data: a beat a clock if the memory keeps up. Sums wait for room in
// the output. AXI4: 64-byte beats, INCR, one id; no burst crosses 4 KiB.
module reduce_mm #(
  parameter int Rows = 32,                   // beats of a block, a power of two
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
  output logic [511:0] m_wdata_o,            // all 64 bytes
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
  reduce_mm_regs u_regs (
    .clk_i, .rst_i, .s_awaddr_i, .s_awvalid_i, .s_awready_o,
    .s_wdata_i, .s_wstrb_i, .s_wvalid_i, .s_wready_o, .s_bresp_o, .s_bvalid_o, .s_bready_i,
    .s_araddr_i, .s_arvalid_i, .s_arready_o, .s_rdata_o, .s_rresp_o, .s_rvalid_o, .s_rready_i,
    .interrupt_o, .start_o(start), .done_i(done_q), .status_i(status_q), .in_o(in), .out_o(out),
    .parts_o(parts), .stride_o(stride), .beats_o(beats), .fmt_o(fmt),
    .out_fmt_o(out_fmt), .out_shift_o(out_shift), .saturate_o(saturate));

  // --- the request ---
  // 4 bits 1, 8 bits 2, 16 bits 3; 0: no format of this card
  function automatic logic [1:0] width(input logic [31:0] f);
    width = 2'd0;
    if (f[31:8] == '0 && f[6:4] >= 3'd1 && f[6:4] <= 3'd5 && f[3:0] <= 4'd10
        && (!f[7] || f[6:0] == 7'h43)) begin
      case (4'(f[6:4]) + f[3:0])
        4'd3:    width = Wide != 0 ? 2'd1 : 2'd0;
        4'd7:    width = 2'd2;
        4'd15:   width = Wide != 0 ? 2'd3 : 2'd0;
        default: width = 2'd0;
      endcase
    end
  endfunction
  logic [1:0]  in_w, out_w;
  logic [33:0] out_beats;                    // of all sums
  logic        good;
  logic [4:0]  cost;                         // quarters of a beat of sums per beat of codes
  assign in_w  = width(fmt);
  assign out_w = width(out_fmt);
  assign good  = in_w != '0 && out_w != '0 && parts != '0
              && parts <= (in_w == 2'd3 ? 32'd32 : 32'd64)
              && out_shift <= nc_pkg::PKT_MAX_SHIFT && saturate < 32'd2
              && in[5:0] == '0 && out[5:0] == '0 && out_beats[33:32] == '0;
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
  logic [57:0] ar_beat, aw_beat;
  logic [6:0]  ar_beats, aw_beats;
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
  power_of_two #(.N(Rows)) u_rows ();
  tile #(.Slots(1), .Rows(Rows), .Wide(Wide)) u_tile (
    .clk_i, .rst_i,
    .in_valid_i(code_valid && room && run_q), .in_ready_o(tile_ready), .in_slot_i('0),
    .in_beat_i(row_q), .in_start_i(row_q == '0), .in_last_i(block_end), .in_first_i(add_q == '0),
    .in_emit_i(emit), .in_max_i(1'b0), .in_fmt_i(fmt[7:0]),
    .out_fmt_i(out_fmt[7:0]), .out_shift_i(out_shift[2:0]), .saturate_i(saturate[0]),
    .in_data_i(code),
    .kept_valid_o(kept_valid), .kept_slot_o(), .kept_beat_o(), .kept_en_o(kept_en),
    .kept_data_o(kept_data), .kept_last_o(kept_last), .kept_status_o(kept_status));
  /* verilator lint_on PINCONNECTEMPTY */

  // --- sums: quarters to beats, into the output FIFO ---
  localparam int Depth = 64;
  logic [511:0] gather_q, gathered;
  logic         sum_put, fifo_valid, fifo_take;
  always_comb begin
    gathered = gather_q;
    for (int q = 0; q < 4; q++) if (kept_en[q]) gathered[128*q +: 128] = kept_data[128*q +: 128];
  end
  assign sum_put = kept_valid && (kept_en[3] || kept_last);
  /* verilator lint_off PINCONNECTEMPTY */
  fifo #(.W(512), .Depth(Depth)) u_sums (
    .clk_i, .rst_i, .in_data_i(gathered), .in_valid_i(sum_put), .in_ready_o(),
    .out_data_o(m_wdata_o), .out_valid_o(fifo_valid), .out_ready_i(fifo_take));
  /* verilator lint_on PINCONNECTEMPTY */

  logic        aw_valid, aw_take, len_ready, len_valid, w_take;
  logic [6:0]  len, sent_q;
  logic [31:0] write_left_q, unanswered_q;
  /* verilator lint_off PINCONNECTEMPTY */
  axi_bursts u_aw (
    .clk_i, .rst_i,
    .in_beat_i(out[63:6]), .in_beats_i(out_beats[31:0]), .in_valid_i(begins && good), .in_ready_o(),
    .out_beat_o(aw_beat), .out_beats_o(aw_beats), .out_valid_o(aw_valid), .out_ready_i(aw_take));
  /* verilator lint_on PINCONNECTEMPTY */
  assign m_awaddr_o  = {aw_beat, 6'd0};
  assign m_awlen_o   = 8'(aw_beats) - 8'd1;
  assign m_awvalid_o = aw_valid && len_ready;
  assign aw_take     = m_awready_i && len_ready;
  fifo #(.W(7), .Depth(4)) u_lens (
    .clk_i, .rst_i, .in_data_i(aw_beats), .in_valid_i(aw_valid && aw_take), .in_ready_o(len_ready),
    .out_data_o(len), .out_valid_o(len_valid), .out_ready_i(w_take && m_wlast_o));
  assign m_wvalid_o = fifo_valid && len_valid;
  assign m_wlast_o  = sent_q + 7'd1 == len;
  assign w_take     = m_wvalid_o && m_wready_i;
  assign fifo_take  = len_valid && m_wready_i;
  assign m_bready_o = 1'b1;

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
    free_q <= free_q - (code_valid && code_take && emit ? 10'(cost) : '0) + (w_take ? 10'd4 : '0);
    if (kept_valid) begin
      gather_q <= sum_put ? '0 : gathered;
      status_q <= status_q | 32'(kept_status);
    end
    if (w_take) begin
      sent_q       <= m_wlast_o ? '0 : sent_q + 1'b1;
      write_left_q <= write_left_q - 1;
    end
    unanswered_q <= unanswered_q + 32'(aw_valid && aw_take) - 32'(m_bvalid_i);
    if (m_bvalid_i && m_bresp_i != '0) status_q[31] <= 1'b1;

    done_q <= run_q && !done_q && write_left_q == '0 && unanswered_q == '0;
    if (done_q) run_q <= 1'b0;
    if (begins) begin
      run_q        <= 1'b1;
      status_q     <= good ? '0 : 32'h4000_0000;
      block_q      <= in[63:6];
      part_q       <= in[63:6];
      ask_left_q   <= good ? beats : '0;
      ask_part_q   <= '0;
      left_q       <= beats;
      add_q        <= '0;
      row_q        <= '0;
      free_q       <= 10'(4 * Depth);
      gather_q     <= '0;
      sent_q       <= '0;
      write_left_q <= good ? out_beats[31:0] : '0;
    end
    if (rst_i) begin
      run_q        <= 1'b0;
      done_q       <= 1'b0;
      unanswered_q <= '0;
    end
  end
endmodule
