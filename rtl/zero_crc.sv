// zero_crc: the CRC32C of a number of zero beats (64 bytes each), from a table computed at
// elaboration; 0 for none.
module zero_crc #(
  parameter int Beats = 32,
  localparam int W    = $clog2(Beats + 1)
) (
  input  logic [W-1:0] beats_i,
  output logic [31:0]  crc_o
);
  function automatic bit [32*(Beats+1)-1:0] table_of(input int most);
    bit [31:0] state;
    begin
      state    = '1;
      table_of = '0;
      for (int n = 0; n <= most; n++) begin
        table_of[32*n +: 32] = ~state;
        for (int i = 0; i < 512; i++) state = (state >> 1) ^ (state[0] ? 32'h82f63b78 : 32'd0);
      end
    end
  endfunction

  localparam bit [32*(Beats+1)-1:0] Table = table_of(Beats);
  assign crc_o = Table[32*beats_i +: 32];
endmodule
