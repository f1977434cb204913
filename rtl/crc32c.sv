// crc32c: computes the CRC32C state after `Bits` data bits, lowest first, then `Then` zero bits. If
// `Then` is negative, so many zero bits at the end of the data are taken out again.
// Starts from state 0.
// Another start state acts like its XOR into the first 32 data bits. CRC is linear, so the state
// after n data bits d is crc32c#(n)(d) ^ crc32c#(32, n - 32)(state before).
module crc32c #(
  parameter int Bits = 512,
  parameter int Then = 0,
  // 0: combinational, clk_i and en_i unused. 1: crc_o is a register, of data_i in the last clock
  // with en_i. A simulator then computes it only in these clocks.
  parameter int Register = 0
) (
  input  logic            clk_i,
  input  logic            en_i,
  input  logic [Bits-1:0] data_i,
  output logic [31:0]     crc_o
);
  // Data bits whose XOR is result bit `which`. Data bit i runs through Bits - i + Then shifts.
  function automatic bit [Bits-1:0] row(input bit [4:0] which);
    bit [31:0] state;
    begin
      state = 32'd1;
      for (int i = 0; i < Then; i++) state = (state >> 1) ^ (state[0] ? 32'h82f63b78 : 32'd0);
      for (int i = 0; i > Then; i--)
        state = {state[30:0], 1'b0} ^ (state[31] ? 32'h05ec76f1 : 32'd0);
      for (int i = Bits - 1; i >= 0; i--) begin
        state  = (state >> 1) ^ (state[0] ? 32'h82f63b78 : 32'd0);
        row[i] = state[which];
      end
    end
  endfunction

  for (genvar r = 0; r < 32; r++) begin : g_row
    localparam bit [Bits-1:0] Row = row(5'(r));
    if (Register != 0) begin : g_register
      always_ff @(posedge clk_i) if (en_i) crc_o[r] <= ^(data_i & Row);
    end else begin : g_wire
      assign crc_o[r] = ^(data_i & Row);
    end
  end
  if (Register == 0) begin : g_unused
    logic unused;
    assign unused = clk_i ^ en_i;
  end
endmodule
