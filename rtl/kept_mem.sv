// kept_mem: stores encoded results. Writes are by 128-bit quarters of a row; reads take two clocks.
module kept_mem #(
  parameter int Slots = nc_pkg::CARD_SLOTS,
  parameter int Rows = nc_pkg::CARD_BEATS,   // beats of a slot, a power of two
  parameter int Ultra = 1,                   // see slot_mem
  localparam int SW = Slots > 1 ? $clog2(Slots) : 1,
  localparam int BW = Rows > 1 ? $clog2(Rows) : 1
) (
  input  logic          clk_i,
  input  logic          w_valid_i,
  input  logic [SW-1:0] w_slot_i,
  input  logic [BW-1:0] w_beat_i,
  input  logic [3:0]    w_en_i,
  input  logic [511:0]  w_data_i,
  input  logic          r_valid_i,
  input  logic [SW-1:0] r_slot_i,
  input  logic [BW-1:0] r_beat_i,
  output logic [511:0]  r_data_o
);
  power_of_two #(.N(Rows)) u_rows ();
  generate
    for (genvar q = 0; q < 4; q++) begin : g_quarter
      logic [127:0] read, read_q;
      slot_mem #(.Width(128), .Depth(Slots * Rows), .Ultra(Ultra)) u_mem (
        .clk_i, .w_en_i(w_valid_i && w_en_i[q]),
        .w_row_i({w_slot_i, w_beat_i}), .w_data_i(w_data_i[128*q+:128]),
        .r_en_i(r_valid_i), .r_row_i({r_slot_i, r_beat_i}), .r_data_o(read));
      always_ff @(posedge clk_i) read_q <= read;
      assign r_data_o[128*q+:128] = read_q;
    end
  endgenerate
endmodule
