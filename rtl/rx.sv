// rx: receives frames, a beat in every clock, and passes on complete, undamaged ones: a descriptor
// {source ip, port, header} and len / 64 - 1 beats of payload.
//  c0 beat at the input   c1 in registers, beat's CRC   c2 payload into the FIFO, message's CRC
//  c3 verdict   c4 desc_valid_o, drop_o   c5 pay_valid_o
module rx #(
  parameter int MaxBeats  = nc_pkg::CARD_BEATS,
  parameter int FifoBeats = 256,             // for payloads, a power of two
  parameter int Descs     = 32
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [511:0] rx_data_i,
  input  logic [63:0]  rx_keep_i,
  input  logic         rx_last_i,
  input  logic [31:0]  rx_ip_i,              // source; valid with the first beat
  input  logic [15:0]  rx_port_i,
  input  logic         rx_valid_i,
  output logic         rx_ready_o,
  input  logic         enable_i,             // with a frame's first beat: 0 drops the frame
  // Fault injection drops the frame if random_i, a clock after its end, is below drop_in_i.
  input  logic [31:0]  drop_in_i,
  input  logic [31:0]  random_i,
  output logic [nc_pkg::RX_DESC_BITS-1:0] desc_data_o,
  output logic         desc_valid_o,
  input  logic         desc_ready_i,
  output logic [511:0] pay_data_o,
  output logic         pay_valid_o,
  input  logic         pay_ready_i,
  output logic [nc_pkg::REG_COUNTERS-1:0] drop_o  // a pulse on the reason's bit
);
  // c1, c2: the beat; c3: the header, held until the next
  logic [511:0] beat1_q, beat2_q;
  logic [nc_pkg::RX_DESC_BITS-1:0] desc_q;
  logic [47:0]  from1_q, from2_q;
  logic         valid1_q, first1_q, last1_q, whole1_q, enable1_q, header2_q, lose2_q, lose3_q;
  logic         begin_q, ready_q;            // begin_q: the next beat is a frame's first

  assign rx_ready_o = ready_q;

  always_ff @(posedge clk_i) begin
    beat1_q   <= rx_data_i;
    from1_q   <= {rx_ip_i, rx_port_i};
    first1_q  <= begin_q;
    last1_q   <= rx_last_i;
    whole1_q  <= &rx_keep_i;
    enable1_q <= enable_i;
    beat2_q   <= beat1_q;
    from2_q   <= from1_q;
    header2_q <= valid1_q && first1_q;
    lose2_q   <= random_i < drop_in_i;
    lose3_q   <= lose2_q;
    if (header2_q) desc_q <= {from2_q, beat2_q};
  end

  always_ff @(posedge clk_i) begin
    valid1_q <= rx_valid_i && ready_q;
    ready_q  <= 1'b1;
    if (rx_valid_i && ready_q) begin_q <= rx_last_i;
    if (rst_i) begin
      valid1_q <= 1'b0;
      ready_q  <= 1'b0;
      begin_q  <= 1'b1;
    end
  end

  logic        after_header_q;
  logic [31:0] crc;
  always_ff @(posedge clk_i) if (valid1_q) after_header_q <= first1_q;
  crc_beat u_crc (
    .clk_i(clk_i), .rst_i(rst_i), .data_i(beat1_q), .valid_i(valid1_q),
    .first_i(first1_q || after_header_q), .part_i(1'b0), .crc_o(crc),
    // unconnected: rx_check tracks the clock itself
    /* verilator lint_off PINCONNECTEMPTY */ .valid_o() /* verilator lint_on PINCONNECTEMPTY */
  );

  logic put, ends, good, commit, full, desc_room;
  rx_check #(.MaxBeats(MaxBeats)) u_check (
    .clk_i(clk_i), .rst_i(rst_i), .valid_i(valid1_q), .first_i(first1_q), .last_i(last1_q),
    .whole_i(whole1_q), .enable_i(enable1_q),
    .magic_i(beat1_q[nc_pkg::PKT_MAGIC +: nc_pkg::PKT_MAGIC_BITS]),
    .len_i(beat1_q[nc_pkg::PKT_LEN +: nc_pkg::PKT_LEN_BITS]),
    .payload_crc_i(beat1_q[nc_pkg::PKT_PAYLOAD_CRC +: nc_pkg::PKT_PAYLOAD_CRC_BITS]),
    .crc_i(crc), .lose_i(lose3_q), .full_i(full), .desc_room_i(desc_room),
    .put_o(put), .end_o(ends), .good_o(good), .commit_o(commit), .drop_o(drop_o)
  );

  frame_fifo #(.W(512), .Depth(FifoBeats)) u_payload (
    .clk_i(clk_i), .rst_i(rst_i),
    .in_data_i(beat2_q), .in_valid_i(put), .in_end_i(ends), .in_good_i(good), .full_o(full),
    .out_data_o(pay_data_o), .out_valid_o(pay_valid_o), .out_ready_i(pay_ready_i)
  );
  fifo #(.W(nc_pkg::RX_DESC_BITS), .Depth(Descs)) u_desc (
    .clk_i(clk_i), .rst_i(rst_i), .in_data_i(desc_q), .in_valid_i(commit), .in_ready_o(desc_room),
    .out_data_o(desc_data_o), .out_valid_o(desc_valid_o), .out_ready_i(desc_ready_i)
  );
endmodule
