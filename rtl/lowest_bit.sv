// lowest_bit: finds the lowest 1 of up to 64 bits, else 0, in two levels of eight, for speed.
module lowest_bit #(
  parameter int W = 64,
  localparam int AtW = $clog2(W)
) (
  input  logic [W-1:0]   bits_i,
  output logic [AtW-1:0] at_o
);
  function automatic logic [2:0] low8(input logic [7:0] b);  // 7 if there is none
    low8 = {b[3:0] == '0, b[3:0] == '0 ? b[5:4] == '0 : b[1:0] == '0, 1'b0};
    low8[0] = !b[{low8[2:1], 1'b0}];
  endfunction

  logic [63:0] bits;
  logic [7:0]  any;                          // groups of eight with a 1
  logic [23:0] lows;                         // lowest 1 in each group
  logic [2:0]  group;
  assign bits = 64'(bits_i);
  for (genvar g = 0; g < 8; g++) begin : g_group
    assign any[g]         = bits[8*g +: 8] != '0;
    assign lows[3*g +: 3] = low8(bits[8*g +: 8]);
  end
  assign group = low8(any);
  assign at_o  = any == '0 ? '0 : AtW'({group, lows[3*group +: 3]});
endmodule
