// crc_beat: computes the CRC32C of a message, LaneBytes bytes (a flit) a clock.
// Two clocks after a flit, crc_o includes it. Two stages, each at most 4 LUTs deep.
module crc_beat #(
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  localparam int Flit = 8 * LaneBytes
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [Flit-1:0] data_i,
  input  logic         valid_i,
  input  logic         first_i,              // with valid_i: a message begins
  // with valid_i: data_i has more bytes of the previous flit, in which they were 0
  input  logic         part_i,
  output logic [31:0]  crc_o,
  // crc_o includes the flit of two clocks ago, no later one
  output logic         valid_o
);
  logic [31:0] data_crc_q, stepped, state_q, state_d;
  logic        valid_q, first_q, part_q, known_q;

  crc32c #(.Bits(Flit), .Register(1)) u_data (
    .clk_i, .en_i(valid_i), .data_i, .crc_o(data_crc_q));
  crc32c #(.Bits(32), .Then(Flit - 32)) u_step (
    .clk_i, .en_i(1'b0), .data_i(state_q | {32{first_q}}), .crc_o(stepped));

  assign state_d = (part_q ? state_q : stepped) ^ data_crc_q;
  assign crc_o   = ~state_q;
  assign valid_o = known_q;

  always_ff @(posedge clk_i) begin
    first_q    <= first_i;
    part_q     <= part_i;
    valid_q    <= valid_i && !rst_i;
    known_q    <= valid_q && !rst_i;
    if (valid_q) state_q <= state_d;
  end

`ifdef FORMAL
  // The proof sets at most one of the data and 32 state bits. The circuit has only XORs, so this
  // covers all flits. With part_i, the new state is the old one XOR the CRC of data_i from state 0.
  (* anyseq *) logic [10:0] at;
  logic [10:0] at_q;
  logic [31:0] want;
  always_ff @(posedge clk_i) at_q <= at;
  always_comb begin
    for (int i = 0; i < Flit; i++) assume (data_i[i] == (at == 11'(i)));
    for (int i = 0; i < 32; i++) assume (state_q[i] == (at_q == 11'(Flit + i)));
    want = part_q ? '0 : first_q ? '1 : state_q;
    for (int i = 0; i < Flit; i++)
      want = (want >> 1) ^ (want[0] != (at_q == 11'(i)) ? 32'h82f63b78 : 32'd0);
    if (valid_q) assert (state_d == (part_q ? state_q ^ want : want));
  end
`endif
endmodule
