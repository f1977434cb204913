// round_plan: computes fp_encode's rounding parameters for a packet, in two clocks. The first
// computes k_o from the formats; the second all other outputs from k_i (k_o, registered) and
// the inputs below it.
// k: number of the sum's bit that is the leading bit of the result format's smallest normal.
// fp_encode's place of a bit: its number + First, or + High in the high 4-bit code's sum.
module round_plan #(
  parameter int Wide = 1,
  localparam int Man = Wide != 0 ? 10 : 6, First = 64 - nc_pkg::CARD_SUM_BITS,
                 High = 64 - nc_pkg::CARD_SUM4_BITS
) (
  input  logic [7:0]     in_fmt_i,
  input  logic [7:0]     out_fmt_i,
  input  logic [2:0]     shift_i,
  input  logic           max_i,
  output logic [6:0]     k_o,                // signed, -13..31
  input  logic [6:0]     k_i,
  input  logic [7:0]     late_fmt_i,         // out_fmt_i and max_i in the clock of k_i
  input  logic           late_max_i,
  input  logic           four_i,             // code width: 4, 8, else 16
  input  logic           eight_i,
  input  logic           saturate_i,
  input  logic           high_i,             // the byte's high 4-bit code
  output logic [5:0]     stop_o,             // place at which the shift ends
  output logic [5:0]     plus_o,             // field = place + plus, if the leading bit was found,
  output logic [5:0]     below_o,            // else place + below
  output logic [Man:0]   guard_o,            // one-hot: first bit rounded away; 0 for MAX
  output logic [Man-1:0] lost_o,             // fraction bits not in the code
  output logic [3:0]     drop_o,             // their number
  output logic [5:1]     over_o,             // field bits not in the code
  output logic           fn_o,
  output logic           finite_o,           // eXmYf: no inf, no nan
  output logic [14:0]    beyond_o            // magnitude of an overflow
);
  logic [3:0]  in_bias, out_bias, in_m, out_m, late_m, drop;
  logic [2:0]  late_e;

  assign in_m     = in_fmt_i[3:0];
  assign out_m    = max_i ? 4'd6 : out_fmt_i[3:0];
  assign in_bias  = 4'((5'd1 << in_fmt_i[6:4] >> 1) - 5'd1);
  assign out_bias = 4'((5'd1 << out_fmt_i[6:4] >> 1) - 5'd1);
  assign k_o      = max_i ? 7'd6 : 7'(in_bias) + 7'(in_m) - 7'(out_bias) + 7'(shift_i);

  assign late_m = late_max_i ? 4'd6 : late_fmt_i[3:0];
  assign late_e = late_max_i ? 3'd5 : late_fmt_i[6:4];
  assign drop   = 4'(Man) - late_m;
  always_comb begin
    stop_o  = k_i[6] ? (high_i ? 6'(High - 1) : 6'd0) : k_i[5:0] + (high_i ? 6'(High) : 6'(First));
    below_o = -stop_o;
    plus_o  = 6'd1 - (k_i[5:0] + (high_i ? 6'(High) : 6'(First)));
    for (int i = 0; i <= Man; i++) guard_o[i] = drop == 4'(i) && !late_max_i;
    for (int i = 0; i < Man; i++) lost_o[i] = drop > 4'(i);
    for (int i = 1; i <= 5; i++) over_o[i] = late_e <= 3'(i) && !late_max_i;
    drop_o = drop;
    fn_o   = late_fmt_i[7] && !late_max_i;
    finite_o = fn_o && !late_fmt_i[6];
    // Overflow to inf: the field's ones. Saturated: all ones but the field's last bit. For fn, inf
    // becomes nan, all ones; saturated, all ones but the last bit. Without nan, always all ones.
    for (int i = 0; i < 15; i++)
      beyond_o[i] = (i < 3 || (i < 7 && !four_i) || !(four_i || eight_i))
                  && (fn_o ? i != 0 || !saturate_i || finite_o
                      : saturate_i ? late_m != 4'(i)
                      : late_m <= 4'(i));
  end
  logic unused;
  assign unused = ^{in_fmt_i[7], out_fmt_i[7], out_m};
endmodule
