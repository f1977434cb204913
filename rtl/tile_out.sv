// tile_out: writes the encoders' results to the kept-result memory, one row a clock; of 4-bit sums
// after the second turn, the high ones.
module tile_out #(
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,  // bytes of a row
  parameter int RW = 12,                     // bits of {slot, row}
  parameter int BW = 5                       // bits of row
) (
  input  logic          clk_i,
  input  logic          rst_i,
  input  logic          valid_i,
  input  logic [16*LaneBytes-1:0] codes_i,   // held until the next valid_i
  input  logic [2:0]    status_i,
  input  logic [RW-1:0] row_i,
  input  logic          start_i,
  input  logic          last_i,
  input  logic          odd_i,               // only the first half of the flit counts
  input  logic          more_i,              // low 4-bit codes; the high ones follow next clock
  input  logic          in_four_i,
  input  logic          in_half_i,
  input  logic          out_four_i,
  input  logic          out_half_i,
  output logic          kept_valid_o,
  output logic [RW-1:0] kept_row_o,
  output logic [3:0]    kept_en_o,
  output logic [8*LaneBytes-1:0] kept_data_o,
  output logic          kept_last_o,
  output logic [2:0]    kept_status_o
);
  logic [16*LaneBytes-1:0] before_q;
  logic [2:0]    before_status_q;
  logic [8*LaneBytes-1:0] packed_row;
  logic [1:0]    step_q, steps;              // row of this flit; last one's number
  logic          busy_q, write, final_step;
  logic [BW+1:0] at_q, at;                   // quarters written
  logic [3:0]    en;
  logic [2:0]    quarters;

  kept_pack #(.LaneBytes(LaneBytes)) u_pack (
    .codes_i, .before_i(before_q), .in_four_i, .in_half_i, .out_four_i, .out_half_i,
    .step_i(step_q), .row_o(packed_row));

  always_comb begin
    steps = 2'd0;
    if (in_four_i) steps = out_half_i ? 2'd3 : out_four_i ? 2'd0 : 2'd1;
    else if (!in_half_i && out_half_i) steps = 2'd1;
    if (odd_i) steps = steps >> 1;
    quarters = 3'd4;
    if (!in_four_i && out_four_i) quarters = in_half_i ? 3'd1 : 3'd2;
    if (in_half_i && !out_half_i && !out_four_i) quarters = 3'd2;
    write      = (valid_i && !more_i) || busy_q;
    final_step = step_q == steps;
    at         = start_i && step_q == 2'd0 ? '0 : at_q;
    en = 4'hf;
    if (quarters == 3'd2) en = at[1] ? 4'hc : 4'h3;
    if (quarters == 3'd1) en = 4'd1 << at[1:0];
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && more_i) begin
      before_q        <= codes_i;
      before_status_q <= status_i;
    end
    busy_q       <= write && !final_step;
    kept_valid_o <= write;
    if (write) begin
      step_q        <= final_step ? 2'd0 : step_q + 2'd1;
      at_q          <= at + (BW + 2)'(quarters);
      kept_row_o    <= {row_i[RW-1:BW], at[BW+1:2]};
      kept_en_o     <= en;
      kept_data_o   <= packed_row;
      kept_last_o   <= last_i && final_step;
      kept_status_o <= status_i | (in_four_i ? before_status_q : 3'd0);
    end
    if (rst_i) begin
      {busy_q, kept_valid_o} <= 2'b00;
      step_q <= 2'd0;
    end
  end
  logic unused;
  assign unused = ^row_i[BW-1:0];
endmodule
