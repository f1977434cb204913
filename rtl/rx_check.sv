// rx_check: judges incoming frames, one flit (nic_core) a clock, and reports the first reason to
// drop one. For clocks see rx.
module rx_check #(
  parameter int MaxBeats  = nc_pkg::CARD_BEATS,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  // Turns: flits of a beat; Pair: a flit has two beats. Units: of 2^Log bytes, flits or beats,
  // whichever is smaller.
  localparam int Pair   = LaneBytes > nc_pkg::BEAT_BYTES ? 1 : 0,
                 Turns  = Pair != 0 ? 1 : nc_pkg::BEAT_BYTES / LaneBytes,
                 Log    = $clog2(nc_pkg::BEAT_BYTES / Turns),
                 CountW = $clog2((MaxBeats + 1) * Turns + 2 + Pair)
) (
  input  logic        clk_i,
  input  logic        rst_i,
  // Clock c1. enable_i to len_i count only with a frame's first flit.
  input  logic        valid_i,
  input  logic        first_i,
  input  logic        header_i,              // part of the header
  input  logic        last_i,
  input  logic        whole_i,               // has all bytes
  input  logic        odd_i,                 // has one beat, not two
  input  logic        enable_i,
  input  logic [31:0] magic_i,
  input  logic [15:0] len_i,
  input  logic [31:0] payload_crc_i,         // counts only with the header's last flit
  // c2
  output logic        put_o,
  // c3
  input  logic [31:0] crc_i,                 // of the header or the payload so far
  input  logic        lose_i,                // fault injection, with the last flit
  input  logic        full_i,
  input  logic        desc_room_i,
  output logic        end_o,                 // the frame's last flit
  output logic        good_o,                // good, unless full_i
  output logic        commit_o,              // good and taken
  // one clock after the end: a pulse on the reason's bit
  output logic [nc_pkg::REG_COUNTERS-1:0] drop_o
);
  localparam bit [31:0] Residue = 32'h48674bc7;  // CRC32C of any data followed by its CRC
  localparam bit [CountW-1:0] MaxCount = CountW'((MaxBeats + 1) * Turns);

  logic              valid_q, header_q, last_q, odd_q;
  logic              on_q, magic_ok_q, whole_q, len_ok_q, no_payload_crc_q;
  logic [15:0]       len_q;
  logic [31:0]       payload_crc_q;
  logic              valid3_q, header3_q, end3_q, on3_q, magic3_q, len3_q, no_payload3_q,
                     header_ok_q;
  logic [31:0]       expect_q, expect_d, known;  // crc_i's required value in c3
  logic [CountW-1:0] count_q, count_d;       // units so far; stops above the maximum
  logic              whole_d, crc_ok, header_ok, payload_ok, is_end, none;
  logic [15:0]       len;

  // c1
  assign len     = first_i ? len_i : len_q;
  assign whole_d = whole_i && (first_i || whole_q);
  always_comb begin
    count_d = count_q + (Pair != 0 && !odd_i ? CountW'(2) : CountW'(1));
    if (count_q > MaxCount) count_d = count_q;
    if (first_i) count_d = CountW'(1);
  end

  always_ff @(posedge clk_i) begin
    header_q <= header_i;
    last_q   <= last_i;
    odd_q    <= odd_i;
    if (valid_i) begin
      count_q  <= count_d;
      whole_q  <= whole_d;
      len_ok_q <= whole_d && count_d <= MaxCount && len == 16'(count_d) << Log
                  && (Turns == 1 || len[5:0] == '0);
      len_q    <= len;
      if (first_i) begin
        on_q             <= enable_i;
        magic_ok_q       <= magic_i == nc_pkg::PKT_MAGIC_VALUE;
      end
      if (header_i) begin
        payload_crc_q    <= payload_crc_i;
        no_payload_crc_q <= payload_crc_i == '0;
      end
    end
    valid_q <= valid_i && !rst_i;
  end

  // c2. With two beats a flit, the CRC of a header or a last beat includes 64 bytes of zeros.
  assign put_o = valid_q && !header_q;
  assign known = header_q ? Residue : payload_crc_q;
  generate
    if (Pair != 0) begin : g_pair
      logic [31:0] zeros;
      crc32c #(.Bits(32), .Then(8 * nc_pkg::BEAT_BYTES - 32)) u_zeros (
        .clk_i, .en_i(1'b0), .data_i(~known), .crc_o(zeros));
      assign expect_d = header_q || odd_q ? ~zeros : known;
    end else begin : g_flit
      assign expect_d = known;
      logic unused;
      assign unused = odd_q;
    end
  endgenerate
  always_ff @(posedge clk_i) begin
    header3_q     <= header_q;
    expect_q      <= expect_d;
    on3_q         <= on_q;
    magic3_q      <= magic_ok_q;
    len3_q        <= len_ok_q;
    no_payload3_q <= no_payload_crc_q;
    valid3_q      <= valid_q && !rst_i;
    end3_q        <= valid_q && last_q && !rst_i;
  end

  // c3. A header with its own CRC has a constant CRC (Residue). Without payload, the header's
  // payload CRC field must be 0.
  logic length_bad, magic_bad, header_bad, payload_bad, room_bad;
  assign crc_ok      = crc_i == expect_q;
  assign header_ok   = header3_q ? crc_ok : header_ok_q;
  assign payload_ok  = header3_q ? no_payload3_q : crc_ok;
  assign is_end      = end3_q;
  assign length_bad  = on3_q && !len3_q;
  assign magic_bad   = on3_q && len3_q && !magic3_q;
  assign header_bad  = on3_q && len3_q && magic3_q && !header_ok;
  assign payload_bad = on3_q && len3_q && magic3_q && header_ok && !payload_ok;
  assign none        = on3_q && len3_q && magic3_q && header_ok && payload_ok;
  assign room_bad    = none && !lose_i && (full_i || !desc_room_i);

  assign end_o    = is_end;
  assign good_o   = none && !lose_i && desc_room_i;
  assign commit_o = is_end && good_o && !full_i;

  logic [nc_pkg::REG_COUNTERS-1:0] drop_d;
  always_comb begin
    drop_d = '0;
    drop_d[nc_pkg::CNT_DROP_DISABLED]    = is_end && !on3_q;
    drop_d[nc_pkg::CNT_DROP_LENGTH]      = is_end && length_bad;
    drop_d[nc_pkg::CNT_DROP_MAGIC]       = is_end && magic_bad;
    drop_d[nc_pkg::CNT_DROP_HEADER_CRC]  = is_end && header_bad;
    drop_d[nc_pkg::CNT_DROP_PAYLOAD_CRC] = is_end && payload_bad;
    drop_d[nc_pkg::CNT_DROP_TEST_IN]     = is_end && none && lose_i;
    drop_d[nc_pkg::CNT_DROP_ROOM]        = is_end && room_bad;
  end
  always_ff @(posedge clk_i) begin
    if (valid3_q && header3_q) header_ok_q <= header_ok;
    drop_o <= rst_i ? '0 : drop_d;
  end

`ifdef FORMAL
  // The proof counts units again, in 16 bits. A frame taken has as many bytes as its header says,
  // whole beats, and all its payload flits were put (put_o). Any other frame has exactly one reason
  // to be dropped.
  localparam bit [15:0] Head = 16'(Turns), Most = 16'((MaxBeats + 1) * Turns), Full = 16'(1 + Pair);
  logic        past_q = 1'b0, open_q, whole_all_q, header_seen_q, on_seen_q, ended_q;
  // suffix 3: for the flit in c3
  logic [15:0] units_q, puts_q, puts, said_q, units3_q, puts3_q, said3_q;
  logic        whole3_q, on_seen3_q;
  logic [31:0] payload_crc3_q, expect3_q;
  assign puts = (header_q ? '0 : puts_q) + (!put_o ? '0 : odd_q ? 16'd1 : Full);
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (valid_i) begin
      open_q      <= !last_i;
      units_q     <= first_i ? 16'd1 : units_q + (odd_i ? 16'd1 : Full);
      whole_all_q <= whole_i && (first_i || whole_all_q);
      if (first_i) said_q <= len_i;
      if (first_i) on_seen_q <= enable_i && magic_i == nc_pkg::PKT_MAGIC_VALUE;
    end
    if (valid_q) puts_q <= puts;
    {units3_q, puts3_q, said3_q, whole3_q, on_seen3_q, payload_crc3_q, expect3_q} <=
        {units_q, puts, said_q, whole_all_q, on_seen_q, payload_crc_q, expect_d};
    if (valid3_q && header3_q) header_seen_q <= crc_i == expect3_q;
    ended_q <= is_end && !commit_o && !rst_i;
    if (rst_i) open_q <= 1'b0;
    if (!past_q) assume (rst_i);
    // a frame begins after reset or a last flit, with its header
    if (valid_i) assume (first_i == !open_q && header_i == (first_i || units_q < Head)
                         && (!odd_i || (Pair != 0 && last_i && !first_i)));
    // 64 KiB: the length field's range
    if (valid_i && !first_i) assume (units_q < 16'(1020 * Turns));
    if (past_q) begin
      if (commit_o) begin
        assert (said3_q == units3_q << Log && units3_q <= Most && said3_q[5:0] == '0);
        assert (puts3_q + Head == units3_q && whole3_q && on_seen3_q);
        assert (header3_q ? payload_crc3_q == '0 : header_seen_q && crc_i == expect3_q);
      end
      assert (ended_q == (drop_o != '0) && (drop_o & (drop_o - 1'b1)) == '0);
      assert (!commit_o || (end_o && good_o && !full_i && desc_room_i && !lose_i));
      if (valid_q || open_q) begin
        assert (whole_q == whole_all_q && len_q == said_q && on_seen_q == (on_q && magic_ok_q));
        assert (units_q != '0
                && (units_q <= Most ? 16'(count_q) == units_q : count_q > MaxCount));
        assert (len_ok_q == (whole_q && count_q <= MaxCount && len_q == 16'(count_q) << Log
                             && len_q[5:0] == '0));
        assert ((valid_q ? puts : puts_q) == (units_q > Head ? units_q - Head : '0));
      end
      if (valid3_q) begin
        assert (header3_q == (units3_q <= Head)
                && puts3_q == (units3_q > Head ? units3_q - Head : '0)
                && on_seen3_q == (on3_q && magic3_q));
        assert (len3_q
                == (whole3_q && units3_q <= Most && said3_q == units3_q << Log
                    && said3_q[5:0] == '0));
        assert (header3_q || header_ok_q == header_seen_q);
        assert (no_payload3_q == (payload_crc3_q == '0)
                && expect_q == expect3_q
                && (Pair != 0 || expect3_q == (header3_q ? Residue : payload_crc3_q)));
      end
      if (valid_q && !header_q) assert (valid3_q && header3_q || header_ok_q == header_seen_q);
      if (!valid_q && open_q) assert (valid3_q && header3_q || header_ok_q == header_seen_q);
      assert (!end3_q || valid3_q);
      if (valid_q || open_q) assert (no_payload_crc_q == (payload_crc_q == '0));
      if (valid_q) assert (open_q == !last_q && header_q == (units_q <= Head));
    end
  end
`endif
endmodule
