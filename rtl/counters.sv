// counters: counts N kinds of pulses in 64 bits each, any number in every clock, and copies all
// counts as of one clock.
// Pulses collect in one small register per counter (fresh). Counters take turns: each clock, one
// register is added to its 64 bits in a memory. snapshot_i moves all fresh pulses, including this
// clock's, to other registers (held). In the next round of N turns, each turn adds the held
// pulses instead, and writes the sum also to the copy. busy_o is 1 until the copy is complete.
// Another snapshot restarts the round.
module counters #(
  parameter int N = 25,                      // 2 or more
  localparam int IndexW = $clog2(N)
) (
  input  logic              clk_i,
  input  logic              rst_i,           // counts and copies are 0 a round later
  input  logic [N-1:0]      count_i,
  input  logic              snapshot_i,
  output logic              busy_o,
  input  logic [IndexW-1:0] index_i,         // below N
  output logic [63:0]       value_o          // copy of counter index_i, one clock later
);
  // A pulse is fresh for at most 2 rounds: if the first is a copy round, which adds only held
  // pulses, it is added in the second. It is held for at most 1; another snapshot may add more.
  localparam int SmallW = $clog2(3 * N + 2);
  (* ram_style = "distributed" *) logic [63:0] sum_ram  [N];
  (* ram_style = "distributed" *) logic [63:0] copy_ram [N];
  logic [IndexW-1:0]   turn_q, add_at_q;
  logic [N-1:0]        mine_q;               // turn_q, one-hot
  // turns left. clear_q: to clear memory; copy_q: of a snapshot
  logic [IndexW:0]     clear_q, copy_q;
  logic                copying, add_valid_q, add_clear_q, add_copy_q;
  logic [SmallW-1:0]   add_q;
  logic [SmallW*N-1:0] fresh, held;          // of counter 0, 1, ...
  logic [63:0]         sum;

  for (genvar i = 0; i < N; i++) begin : g_small
    logic [SmallW-1:0] fresh_q, held_q, fresh_left, held_left;
    assign fresh_left = mine_q[i] && !copying ? '0 : fresh_q;
    assign held_left  = mine_q[i] && copying ? '0 : held_q;
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
    mine_q <= {mine_q[N-2:0], mine_q[N-1]};
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
      mine_q      <= N'(1);
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

`ifdef FORMAL
  // Each pulse is counted once: in the memory, on the way there, fresh or held. While busy_o is 0,
  // the copy is the count as of the last snapshot.
  (* anyconst *) logic [IndexW-1:0] one;
  // ahead_q: this counter's turn in the copy round is still to come
  logic              past_q = 1'b0, cleared_q, copied_q, ahead_q, mine, on_way;
  logic [63:0]       all_q, at_snapshot_q, in_memory, on_way_n;
  logic [SmallW-1:0] my_fresh, my_held;
  // since: clocks since this counter's last turn, minus 1; until_turn: clocks to its next
  logic [IndexW:0]   since, until_turn;
  assign my_fresh   = fresh[SmallW*one +: SmallW];
  assign my_held    = held[SmallW*one +: SmallW];
  assign mine       = turn_q == one;
  assign on_way     = add_valid_q && add_at_q == one;
  assign on_way_n   = on_way ? 64'(add_q) : 64'd0;
  assign in_memory  = (cleared_q ? sum_ram[one] : 64'd0) + on_way_n;
  assign since      = turn_q > one ? (IndexW+1)'(turn_q - one) - 1'b1
                      : (IndexW+1)'(N - 1) - (IndexW+1)'(one - turn_q);
  assign until_turn = (IndexW+1)'(N - 1) - since;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    all_q  <= all_q + 64'(count_i[one]);
    if (on_way && add_clear_q) cleared_q <= 1'b1;
    if (mine && copying) ahead_q <= 1'b0;
    if (snapshot_i) {ahead_q, copied_q, at_snapshot_q} <= {1'b1, 1'b1, all_q + 64'(count_i[one])};
    if (rst_i) {cleared_q, ahead_q, copied_q, all_q} <= '0;
    if (!past_q) assume (rst_i);
    assume ((IndexW+1)'(one) < (IndexW+1)'(N));
    if (past_q) begin
      assert (all_q == in_memory + 64'(my_fresh) + 64'(my_held));
      if (copied_q && !busy_o) assert (copy_ram[one] == at_snapshot_q);
      if (!copied_q && cleared_q) assert (copy_ram[one] == 64'd0);
      assert (mine_q == N'(1) << turn_q);
      assert ((IndexW+1)'(turn_q) < (IndexW+1)'(N) && copy_q <= (IndexW+1)'(N)
              && (clear_q == '0 || clear_q == (IndexW+1)'(N) - (IndexW+1)'(turn_q)));
      assert (!add_valid_q
              || (add_at_q == (turn_q == '0 ? IndexW'(N - 1) : turn_q - 1'b1)
                  && clear_q != (IndexW+1)'(N)));
      assert (cleared_q || (clear_q != '0 && turn_q <= one) || (on_way && add_clear_q));
      if (cleared_q) assert (!(clear_q != '0 && turn_q <= one) && !(on_way && add_clear_q));
      assert (8'(my_fresh) + 8'(my_held) <= 8'(N) + 8'(since) + 8'd1);
      if (copying) assert (8'(my_fresh) <= 8'(N) - 8'(copy_q));
      if (my_held != '0) assert (ahead_q);
      assert (ahead_q == (until_turn < copy_q));
      if (ahead_q) assert (copied_q && in_memory + 64'(my_held) == at_snapshot_q);
      if (copied_q && !ahead_q && on_way && add_copy_q) assert (in_memory == at_snapshot_q);
      if (copied_q && !ahead_q && !(on_way && add_copy_q))
        assert (cleared_q && copy_ram[one] == at_snapshot_q);
      assert (!(copying || add_copy_q) || copied_q);
    end
  end
`endif
endmodule
