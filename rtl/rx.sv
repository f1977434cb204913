// rx: receives frames, a flit (nic_core) in every clock, and passes on complete, undamaged ones: a
// descriptor {source ip, port, header} and the flits of len / 64 - 1 beats of payload.
//  c0 flit at the input   c1 in registers, flit's CRC   c2 payload into the FIFO, message's CRC
//  c3 verdict   c4 desc_valid_o, drop_o   c5 pay_valid_o
module rx #(
  parameter int MaxBeats  = nc_pkg::CARD_BEATS,
  parameter int FifoBeats = 256,             // for payloads, a power of two
  parameter int Descs     = 32,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int Flit = 8 * LaneBytes
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [Flit-1:0] rx_data_i,
  input  logic [LaneBytes-1:0] rx_keep_i,
  input  logic         rx_last_i,
  input  logic [31:0]  rx_ip_i,              // source; valid with the first flit
  input  logic [15:0]  rx_port_i,
  input  logic         rx_valid_i,
  output logic         rx_ready_o,
  input  logic         enable_i,             // with a frame's first flit: 0 drops the frame
  // Fault injection drops the frame if random_i, a clock after its end, is below drop_in_i.
  input  logic [31:0]  drop_in_i,
  input  logic [31:0]  random_i,
  output logic [nc_pkg::RX_DESC_BITS-1:0] desc_data_o,
  output logic         desc_valid_o,
  input  logic         desc_ready_i,
  output logic [Flit-1:0] pay_data_o,
  output logic         pay_valid_o,
  input  logic         pay_ready_i,
  output logic [nc_pkg::REG_COUNTERS-1:0] drop_o  // a pulse on the reason's bit
);
  // Turns: flits of a beat; Pair: a flit has two beats
  localparam int Pair = LaneBytes > nc_pkg::BEAT_BYTES ? 1 : 0,
                 Turns = Pair != 0 ? 1 : nc_pkg::BEAT_BYTES / LaneBytes,
                 TurnW = Turns > 1 ? $clog2(Turns) : 1, HeadW = 512 / Turns;
  // c1, c2: the flit; c3: the header, which fills from the top, held until the next
  logic [Flit-1:0] flit1_q, flit2_q;
  logic [511:0] head_q;
  logic [47:0]  from1_q, from2_q, from_q;
  logic         valid1_q, first1_q, header1_q, last1_q, whole1_q, odd1_q, enable1_q, first2_q,
                header2_q, lose2_q, lose3_q;
  // of the next flit: a frame's first, part of a header, its number there
  logic         begin_q, header_q, ready_q;
  logic [TurnW-1:0] at_q;

  assign rx_ready_o = ready_q;

  // A flit as the card takes it: with the header only, or with payload only.
  logic [Flit-1:0] in;
  logic            in_valid, in_last, in_whole, in_odd, in_more;
  generate
    if (Pair != 0) begin : g_pair
      // A frame begins with half a flit, its header. So a flit of payload is the upper half of one
      // flit, which waits in upper_q, and the lower half of the next. A last upper half (in_more)
      // enters in a clock of its own.
      localparam int Half = Flit / 2, HalfBytes = LaneBytes / 2;
      logic [Half-1:0] upper_q;
      logic            more_q, upper_whole_q, lower_whole, upper_none;
      assign lower_whole = &rx_keep_i[HalfBytes-1:0];
      assign upper_none  = rx_last_i && rx_keep_i[LaneBytes-1:HalfBytes] == '0;
      assign in_more     = rx_valid_i && ready_q && rx_last_i && !upper_none;
      assign in          = begin_q ? {Half'(0), rx_data_i[Half-1:0]}
                           : {more_q ? Half'(0) : rx_data_i[Half-1:0], upper_q};
      assign in_valid    = more_q || (rx_valid_i && ready_q);
      assign in_last     = more_q || upper_none;
      assign in_whole    = (more_q || lower_whole) && (begin_q || upper_whole_q);
      assign in_odd      = more_q;
      always_ff @(posedge clk_i) begin
        if (rx_valid_i && ready_q) begin
          upper_q       <= rx_data_i[Flit-1:Half];
          upper_whole_q <= &rx_keep_i[LaneBytes-1:HalfBytes];
        end
        more_q <= in_more && !rst_i;
      end
    end else begin : g_flit
      assign in       = rx_data_i;
      assign in_valid = rx_valid_i && ready_q;
      assign in_last  = rx_last_i;
      assign in_whole = &rx_keep_i;
      assign in_odd   = 1'b0;
      assign in_more  = 1'b0;
    end
  endgenerate

  always_ff @(posedge clk_i) begin
    flit1_q   <= in;
    from1_q   <= {rx_ip_i, rx_port_i};
    first1_q  <= begin_q;
    header1_q <= header_q;
    last1_q   <= in_last;
    whole1_q  <= in_whole;
    odd1_q    <= in_odd;
    enable1_q <= enable_i;
    flit2_q   <= flit1_q;
    from2_q   <= from1_q;
    first2_q  <= valid1_q && first1_q;
    header2_q <= valid1_q && header1_q;
    lose2_q   <= random_i < drop_in_i;
    lose3_q   <= lose2_q;
    if (header2_q) head_q <= 512'({flit2_q[HeadW-1:0], head_q} >> HeadW);
    if (first2_q) from_q <= from2_q;
  end

  always_ff @(posedge clk_i) begin
    valid1_q <= in_valid;
    ready_q  <= !in_more;
    if (in_valid) begin
      begin_q  <= in_last;
      header_q <= in_last || (Turns > 1 && header_q && at_q != TurnW'(Turns - 1));
      at_q     <= in_last ? '0 : at_q + 1'b1;
    end
    if (rst_i) begin
      valid1_q <= 1'b0;
      ready_q  <= 1'b0;
      begin_q  <= 1'b1;
      header_q <= 1'b1;
      at_q     <= '0;
    end
  end

  logic        after_header_q;
  logic [31:0] crc;
  always_ff @(posedge clk_i) if (valid1_q) after_header_q <= header1_q;
  crc_beat #(.LaneBytes(LaneBytes)) u_crc (
    .clk_i(clk_i), .rst_i(rst_i), .data_i(flit1_q), .valid_i(valid1_q),
    .first_i(first1_q || (after_header_q && !header1_q)), .part_i(1'b0), .crc_o(crc),
    // unconnected: rx_check tracks the clock itself
    /* verilator lint_off PINCONNECTEMPTY */ .valid_o() /* verilator lint_on PINCONNECTEMPTY */
  );

  logic put, ends, good, commit, full, desc_room;
  rx_check #(.MaxBeats(MaxBeats), .LaneBytes(LaneBytes)) u_check (
    .clk_i(clk_i), .rst_i(rst_i), .valid_i(valid1_q), .first_i(first1_q), .header_i(header1_q),
    .last_i(last1_q), .whole_i(whole1_q), .odd_i(odd1_q), .enable_i(enable1_q),
    .magic_i(flit1_q[nc_pkg::PKT_MAGIC +: nc_pkg::PKT_MAGIC_BITS]),
    .len_i(flit1_q[nc_pkg::PKT_LEN +: nc_pkg::PKT_LEN_BITS]),
    .payload_crc_i(flit1_q[nc_pkg::PKT_PAYLOAD_CRC % Flit +: nc_pkg::PKT_PAYLOAD_CRC_BITS]),
    .crc_i(crc), .lose_i(lose3_q), .full_i(full), .desc_room_i(desc_room),
    .put_o(put), .end_o(ends), .good_o(good), .commit_o(commit), .drop_o(drop_o)
  );

  frame_fifo #(.W(Flit), .Depth(FifoBeats * nc_pkg::BEAT_BYTES / LaneBytes)) u_payload (
    .clk_i(clk_i), .rst_i(rst_i),
    .in_data_i(flit2_q), .in_valid_i(put), .in_end_i(ends), .in_good_i(good), .full_o(full),
    .out_data_o(pay_data_o), .out_valid_o(pay_valid_o), .out_ready_i(pay_ready_i)
  );
  fifo #(.W(nc_pkg::RX_DESC_BITS), .Depth(Descs)) u_desc (
    .clk_i(clk_i), .rst_i(rst_i), .in_data_i({from_q, head_q}), .in_valid_i(commit),
    .in_ready_o(desc_room),
    .out_data_o(desc_data_o), .out_valid_o(desc_valid_o), .out_ready_i(desc_ready_i)
  );
endmodule
