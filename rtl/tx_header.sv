// tx_header: assembles a frame's 64-byte header one clock after its fields, byte 0 in bits 7..0.
// The CRC follows the register, because the fields arrive late.
module tx_header #(
  localparam int RankW = $clog2(nc_pkg::PKT_MAX_RANKS)
) (
  input  logic         clk_i,
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
  output logic [511:0] header_o
);
  // In the order of hls/card/packet.def. The CRC starts from all ones, which equals inverting the
  // first 32 bits.
  logic [nc_pkg::PKT_HEADER_CRC-1:0] fields, fields_q;
  logic [31:0] crc;

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

  always_ff @(posedge clk_i) begin
    fields_q <= fields;
    fields_q[nc_pkg::PKT_RANK +: 16] <= group_i ? nc_pkg::PKT_TO_GROUP[15:0] : 16'(rank_i);
  end

  crc32c #(.Bits(nc_pkg::PKT_HEADER_CRC)) u_crc (
    .data_i({fields_q[nc_pkg::PKT_HEADER_CRC-1:32], ~fields_q[31:0]}), .crc_o(crc));
  assign header_o = {~crc, fields_q};
endmodule
