// tx_header: assembles a frame's 64-byte header from its fields and shows it flit by flit
// (nic_core), the first one clock after the fields, byte 0 in bits 7..0. The CRC follows the
// register, because the fields arrive late.
module tx_header #(
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int RankW = $clog2(nc_pkg::PKT_MAX_RANKS), Flit = 8 * LaneBytes,
                 Turns = nc_pkg::BEAT_BYTES / LaneBytes
) (
  input  logic         clk_i,
  input  logic         load_i,               // take the fields; else, with more than one flit:
  input  logic         next_i,               // go on to the next flit
  input  logic [7:0]   op_i,
  input  logic [9:0]   beats_i,
  input  logic [RankW-1:0] rank_i,
  input  logic         group_i,              // to the multicast group, not a rank
  input  logic [63:0]  key_i,
  input  logic [15:0]  job_i,
  input  logic [15:0]  slot_i,
  input  logic [31:0]  chunk_i,
  // flags, beats, in_fmt, out_fmt, out_shift
  input  logic [nc_pkg::DESC_FORMAT_BITS-1:0] desc_i,
  input  logic [31:0]  tag_i,
  input  logic [7:0]   status_i,
  input  logic [63:0]  echo_i,
  input  logic [31:0]  count_i,
  input  logic [31:0]  payload_crc_i,
  output logic [Flit-1:0] flit_o
);
  // In the order of hls/card/packet.def.
  localparam int Fields = nc_pkg::PKT_HEADER_CRC;
  logic [Fields-1:0] fields;
  always_comb begin
    fields = '0;
    fields[nc_pkg::PKT_MAGIC +: nc_pkg::PKT_MAGIC_BITS]             = nc_pkg::PKT_MAGIC_VALUE;
    fields[nc_pkg::PKT_LEN +: nc_pkg::PKT_LEN_BITS]                 = {beats_i + 10'd1, 6'd0};
    fields[nc_pkg::PKT_KEY +: nc_pkg::PKT_KEY_BITS]                 = key_i;
    fields[nc_pkg::PKT_JOB +: nc_pkg::PKT_JOB_BITS]                 = job_i;
    fields[nc_pkg::PKT_SLOT +: nc_pkg::PKT_SLOT_BITS]               = slot_i;
    fields[nc_pkg::PKT_CHUNK +: nc_pkg::PKT_CHUNK_BITS]             = chunk_i;
    fields[nc_pkg::PKT_OP +: nc_pkg::PKT_OP_BITS]                   = op_i;
    fields[nc_pkg::PKT_FLAGS +: nc_pkg::DESC_FORMAT_BITS]           = desc_i;
    fields[nc_pkg::PKT_TAG +: nc_pkg::PKT_TAG_BITS]                 = tag_i;
    fields[nc_pkg::PKT_STATUS +: 8]                                 = status_i;
    fields[nc_pkg::PKT_ECHO +: nc_pkg::PKT_ECHO_BITS]               = echo_i;
    fields[nc_pkg::PKT_COUNT +: nc_pkg::PKT_COUNT_BITS]             = count_i;
    fields[nc_pkg::PKT_PAYLOAD_CRC +: nc_pkg::PKT_PAYLOAD_CRC_BITS] = payload_crc_i;
  end

  // The CRC starts from all ones, which equals inverting the first 32 bits.
  generate
    if (Turns == 1) begin : g_whole
      logic [Fields-1:0] fields_q;
      logic [31:0]       crc;
      always_ff @(posedge clk_i) begin
        fields_q <= fields;
        fields_q[nc_pkg::PKT_RANK +: 16] <= group_i ? nc_pkg::PKT_TO_GROUP[15:0] : 16'(rank_i);
      end
      crc32c #(.Bits(Fields)) u_crc (
        .clk_i, .en_i(1'b0), .data_i({fields_q[Fields-1:32], ~fields_q[31:0]}), .crc_o(crc));
      assign flit_o = {~crc, fields_q};
      logic unused;
      assign unused = load_i ^ next_i;
    end else begin : g_flits
      // The CRC lags the flit by 4 bytes, after 4 bytes of zeros, which leave its state 0: with
      // the last flit it includes all fields. left_q: the fields from 4 bytes before the flit on.
      localparam int All = Fields + 32, At = $clog2(Turns);
      logic [All-1:0]  left_q;
      logic [At-1:0]   at_q;
      logic [31:0]     crc_q, crc, data_crc, stepped;
      logic [Flit-1:0] crc_data;
      always_ff @(posedge clk_i) begin
        if (next_i) begin
          left_q <= left_q >> Flit;
          at_q   <= at_q + 1'b1;
          crc_q  <= crc;
        end
        if (load_i) begin
          left_q <= {fields, 32'd0};
          left_q[32 + nc_pkg::PKT_RANK +: 16] <=
              group_i ? nc_pkg::PKT_TO_GROUP[15:0] : 16'(rank_i);
          at_q   <= '0;
          crc_q  <= '0;
        end
      end
      assign crc_data = left_q[Flit-1:0] ^ (at_q == '0 ? Flit'(64'hffff_ffff_0000_0000) : '0);
      crc32c #(.Bits(Flit)) u_data (.clk_i, .en_i(1'b0), .data_i(crc_data), .crc_o(data_crc));
      crc32c #(.Bits(32), .Then(Flit - 32)) u_step (
        .clk_i, .en_i(1'b0), .data_i(crc_q), .crc_o(stepped));
      assign crc    = data_crc ^ stepped;
      assign flit_o = {at_q == '1 ? ~crc : left_q[Flit +: 32], left_q[Flit-1:32]};
    end
  endgenerate
endmodule
