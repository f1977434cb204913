// counters: N counters of 64 bits, each of which may count in every clock, and a copy of all of them as of one clock.
// A counter's last pulses are in a small register (fresh); one counter a clock, in turn, has them added to its 64 bits in a memory.
//
//   snapshot_i   moves all fresh pulses, those of this clock included, aside (held) and fresh starts at 0. In the round that follows
//                a turn adds what is held, not what is fresh, and its sum is also the copy. So the copy is exact for the clock of
//                snapshot_i, and busy_o is 1 until all of it is made. A snapshot during another one starts the round again.
module counters #(
  parameter int N = 25,                      // 2 or more
  localparam int IndexW = $clog2(N)
) (
  input  logic              clk_i,
  input  logic              rst_i,           // all 0, copies too, a round later
  input  logic [N-1:0]      count_i,
  input  logic              snapshot_i,
  output logic              busy_o,          // from the clock behind snapshot_i on
  input  logic [IndexW-1:0] index_i,         // below N
  output logic [63:0]       value_o          // the copy of counter index_i, one clock later
);
  // Pulses wait for 2 rounds as fresh (all of a snapshot's, then their turn) and, once held, for 1, while a second snapshot adds more.
  localparam int SmallW = $clog2(3 * N + 2);
  (* ram_style = "distributed" *) logic [63:0] sum_ram  [N];
  (* ram_style = "distributed" *) logic [63:0] copy_ram [N];
  logic [IndexW-1:0]   turn_q, add_at_q;
  logic [IndexW:0]     clear_q, copy_q;      // turns left: of the first round, which clears; of a snapshot's round
  logic                copying, add_valid_q, add_clear_q, add_copy_q;
  logic [SmallW-1:0]   add_q;
  logic [SmallW*N-1:0] fresh, held;          // of counter 0, 1, ...
  logic [63:0]         sum;

  for (genvar i = 0; i < N; i++) begin : g_small
    logic [SmallW-1:0] fresh_q, held_q, fresh_left, held_left;
    assign fresh_left = turn_q == IndexW'(i) && !copying ? '0 : fresh_q;
    assign held_left  = turn_q == IndexW'(i) && copying ? '0 : held_q;
    assign fresh[SmallW*i +: SmallW] = fresh_q;
    assign held[SmallW*i +: SmallW]  = held_q;
    always_ff @(posedge clk_i) begin
      fresh_q <= snapshot_i ? '0 : fresh_left + SmallW'(count_i[i]);
      held_q  <= snapshot_i ? held_left + fresh_left + SmallW'(count_i[i]) : held_left;
      if (rst_i) begin
        fresh_q <= '0;
        held_q  <= '0;
      end
    end
  end

  assign copying = copy_q != '0;
  assign busy_o  = copying || add_copy_q;
  assign sum     = (add_clear_q ? 64'd0 : sum_ram[add_at_q]) + 64'(add_q);

  always_ff @(posedge clk_i) begin
    turn_q <= turn_q == IndexW'(N - 1) ? '0 : turn_q + 1'b1;
    if (clear_q != '0) clear_q <= clear_q - 1'b1;
    if (snapshot_i) copy_q <= (IndexW+1)'(N);
    else if (copying) copy_q <= copy_q - 1'b1;
    add_at_q    <= turn_q;
    add_q       <= copying ? held[SmallW*turn_q +: SmallW] : fresh[SmallW*turn_q +: SmallW];
    add_valid_q <= 1'b1;
    add_clear_q <= clear_q != '0;
    add_copy_q  <= copying;
    if (rst_i) begin
      turn_q      <= '0;
      clear_q     <= (IndexW+1)'(N);
      copy_q      <= '0;
      add_valid_q <= 1'b0;
      add_copy_q  <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (add_valid_q) sum_ram[add_at_q] <= sum;
    if (add_valid_q && (add_copy_q || add_clear_q)) copy_ram[add_at_q] <= add_copy_q ? sum : 64'd0;
    value_o <= copy_ram[index_i];
  end
endmodule
