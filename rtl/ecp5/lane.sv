// lane: one lane of a tile for 8-bit formats, which routes in seconds.
module lane (
  input  logic        clk_i,
  input  logic        term_en_i,
  input  logic [7:0]  byte_i,
  input  logic [5:2]  e_i,
  input  logic        fn_i,
  input  logic        finite_i,
  input  logic        max_i,
  input  logic        flip_i,
  input  logic        sum_en_i,
  input  logic        clip_i,
  input  logic [1:0]  from_i,
  input  logic [47:0] row_i,
  input  logic        last_en_i,
  input  logic [4:1]  en_i,                  // clocks of fp_encode
  input  logic [5:0]  stop_i,
  input  logic [5:0]  plus_i,
  input  logic [5:0]  below_i,
  input  logic [6:0]  guard_i,
  input  logic [5:0]  lost_i,
  input  logic        max3_i,
  input  logic [3:0]  drop_i,
  input  logic [5:1]  over_i,
  input  logic        out_fn_i,
  input  logic        out_finite_i,
  input  logic        max4_i,
  input  logic [14:0] beyond_i,
  output logic [47:0] sum_o,
  output logic [7:0]  code_o,
  output logic [2:0]  status_o
);
  acc_lane #(.Wide(0)) u_acc (
    .clk_i, .term_en_i, .data_i({8'd0, byte_i}), .e_i, .fn_i, .finite_i, .max_i, .flip_i,
    .four_i(1'b0), .half_i(1'b0), .sum_en_i, .sum_four_i(1'b0), .clip_i, .from_i, .row_i,
    .last_en_i, .sum_o);
  fp_encode #(.Wide(0)) u_encode (
    .clk_i, .sum_i(sum_o), .en1_i(en_i[1]), .low_i(1'b0), .high_i(1'b0), .stop1_i(stop_i[5:4]),
    .en2_i(en_i[2]), .stop2_i(stop_i[3:0]), .en3_i(en_i[3]), .plus_i, .below_i, .guard_i, .lost_i,
    .max3_i, .en4_i(en_i[4]), .drop_i, .over_i, .fn_i(out_fn_i), .finite_i(out_finite_i),
    .max4_i, .four_i(1'b0), .eight_i(1'b1), .beyond_i, .codes_o(code_o),
    .over_o(status_o[2]), .ninf_o(status_o[1]), .pinf_o(status_o[0]));
endmodule
