// kept_mem: stores encoded results. Writes are by quarters of a row; reads take two clocks.
module kept_mem #(
  parameter int Slots = nc_pkg::CARD_SLOTS,
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,  // bytes of a row
  // rows of a slot, a power of two
  parameter int Rows = nc_pkg::CARD_BEATS * nc_pkg::BEAT_BYTES / LaneBytes,
  parameter int Ultra = 1,                   // see slot_mem
  localparam int SW = Slots > 1 ? $clog2(Slots) : 1,
  localparam int BW = Rows > 1 ? $clog2(Rows) : 1
) (
  input  logic          clk_i,
  input  logic          w_valid_i,
  input  logic [SW-1:0] w_slot_i,
  input  logic [BW-1:0] w_row_i,
  input  logic [3:0]    w_en_i,
  input  logic [8*LaneBytes-1:0] w_data_i,
  input  logic          r_valid_i,
  input  logic [SW-1:0] r_slot_i,
  input  logic [BW-1:0] r_row_i,
  output logic [8*LaneBytes-1:0] r_data_o
);
  power_of_two #(.N(Rows)) u_rows ();
  // Memories of 128 bits, which fill two UltraRAM, or of a quarter.
  localparam int Mems = LaneBytes > 64 ? 4 : LaneBytes > 16 ? LaneBytes / 16 : 1, Parts = 4 / Mems,
                 W = 8 * LaneBytes / Mems;
  generate
    for (genvar m = 0; m < Mems; m++) begin : g_mem
      logic [W-1:0] read, read_q;
      slot_mem #(.Width(W), .Depth(Slots * Rows), .Ultra(Ultra), .Parts(Parts)) u_mem (
        .clk_i, .w_en_i(w_en_i[Parts*m+:Parts] & {Parts{w_valid_i}}),
        .w_row_i({w_slot_i, w_row_i}), .w_data_i(w_data_i[W*m+:W]),
        .r_en_i(r_valid_i), .r_row_i({r_slot_i, r_row_i}), .r_data_o(read));
      always_ff @(posedge clk_i) read_q <= read;
      assign r_data_o[W*m+:W] = read_q;
    end
  endgenerate
endmodule
