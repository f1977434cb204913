// payload: streams frames' payloads into the tile or to nowhere.
module payload #(
  parameter int LaneBytes = nc_pkg::BEAT_BYTES,
  parameter int Rows = nc_pkg::CARD_BEATS * nc_pkg::BEAT_BYTES / LaneBytes,  // of a slot
  // Turns: flits of a beat; Pair: a flit has two beats
  localparam int Pair = LaneBytes > nc_pkg::BEAT_BYTES ? 1 : 0, RowW = $clog2(Rows),
                 Turns = Pair != 0 ? 1 : nc_pkg::BEAT_BYTES / LaneBytes, LeftW = 10 + $clog2(Turns)
) (
  input  logic            clk_i,
  input  logic            rst_i,
  input  logic            start_i,           // only with free_o; starts in the next clock
  input  logic [9:0]      beats_i,           // of the payload
  input  logic            away_i,            // discard
  output logic            free_o,            // no flit is left after this clock
  input  logic            pay_valid_i,
  output logic            pay_ready_o,
  output logic            tile_valid_o,
  input  logic            tile_ready_i,
  output logic [RowW-1:0] row_o,             // of this flit
  output logic            first_o,
  output logic            last_o,
  output logic            odd_o,             // of this flit, only the first beat
  output logic [LeftW-1:0] left_o            // flits still to leave
);
  logic       run_q, away_q, odd_q, step;
  logic [LeftW-1:0] left_q;
  assign tile_valid_o = run_q && !away_q && pay_valid_i;
  assign pay_ready_o  = run_q && (away_q || tile_ready_i);
  assign last_o       = left_q == LeftW'(1);
  assign odd_o        = Pair != 0 && last_o && odd_q;
  assign step         = pay_valid_i && pay_ready_o;
  assign free_o       = !run_q || (step && last_o);
  assign left_o       = run_q ? left_q : '0;

  always_ff @(posedge clk_i) begin
    if (step) begin
      left_q  <= left_q - 1'b1;
      run_q   <= !last_o;
      row_o   <= row_o + 1'b1;
      first_o <= 1'b0;
    end
    if (start_i) begin
      left_q  <= (LeftW'(beats_i) + LeftW'(Pair)) >> Pair << $clog2(Turns);
      odd_q   <= beats_i[0];
      run_q   <= beats_i != '0;
      away_q  <= away_i;
      row_o   <= '0;
      first_o <= 1'b1;
    end
    if (rst_i) run_q <= 1'b0;
  end
endmodule
