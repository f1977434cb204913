// sends: which results are to be sent to whom: one mask of ranks a slot, so that requests for the same result merge.
// A slot whose mask is not empty is pending; pending slots are offered to tx in turn, all ranks of the mask at once. A result
// that is finished while nothing waits for tx goes straight on.
module sends #(
  parameter int Slots = 128,
  parameter int Jobs  = 4,
  localparam int SlotW = $clog2(Slots),
  localparam int JobW  = $clog2(Jobs),
  localparam int InfoW = JobW + 32 + 128 + 3 + 32 + 8   // {job, chunk, desc, status, crc, beats} of a kept result
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // a result is finished: it is to go to the whole mask; always taken
  input  logic             done_valid_i,
  input  logic [SlotW-1:0] done_slot_i,
  input  logic [63:0]      done_mask_i,
  input  logic [InfoW-1:0] done_info_i,
  // one more rank asks (ask_mask_i one-hot), or nobody is to get it any more (ask_none_i); waits for done_*
  input  logic             ask_valid_i,
  output logic             ask_ready_o,
  input  logic             ask_none_i,
  input  logic [SlotW-1:0] ask_slot_i,
  input  logic [63:0]      ask_mask_i,
  // to tx
  output logic             send_valid_o,
  input  logic             send_ready_i,
  output logic [SlotW-1:0] send_slot_o,
  output logic [63:0]      send_mask_o,
  output logic [InfoW-1:0] send_info_o
);
  (* ram_style = "distributed" *) logic [63:0]      mask_ram [Slots];
  (* ram_style = "distributed" *) logic [InfoW-1:0] info_ram [Slots];
  logic [Slots-1:0] pending_q;
  logic [SlotW-1:0] turn_q, pick_q;          // turn: where the search begins
  logic             pick_valid_q;

  // The first pending slot at or behind turn_q, else the first of all.
  logic             any_behind;
  logic [SlotW-1:0] behind, lowest;
  always_comb begin
    any_behind = 1'b0;
    behind     = '0;
    lowest     = '0;
    for (int s = Slots - 1; s >= 0; s--) begin
      if (pending_q[s]) begin
        lowest = SlotW'(s);
        if (SlotW'(s) >= turn_q) begin
          behind     = SlotW'(s);
          any_behind = 1'b1;
        end
      end
    end
  end

  logic             take, direct, write;
  logic [SlotW-1:0] at;
  logic [63:0]      old, new_mask;

  always_comb begin
    ask_ready_o = !done_valid_i;
    direct      = done_valid_i && (!send_valid_o || send_ready_i);
    take        = pick_valid_q && pending_q[pick_q] && !done_valid_i && !ask_valid_i && (!send_valid_o || send_ready_i);
    write       = done_valid_i || ask_valid_i || take;
    at          = done_valid_i ? done_slot_i : ask_valid_i ? ask_slot_i : pick_q;
    old         = pending_q[at] ? mask_ram[at] : 64'd0;
    new_mask    = done_valid_i ? done_mask_i : ask_none_i ? 64'd0 : old | ask_mask_i;
  end

  always_ff @(posedge clk_i) begin
    if (send_ready_i) send_valid_o <= 1'b0;
    if (take) begin
      send_valid_o  <= 1'b1;
      send_slot_o   <= pick_q;
      send_mask_o   <= old;
      send_info_o   <= info_ram[pick_q];
      turn_q        <= pick_q + 1'b1;
    end
    if (direct) begin
      send_valid_o <= 1'b1;
      send_slot_o  <= done_slot_i;
      send_mask_o  <= done_mask_i;
      send_info_o  <= done_info_i;
    end
    pick_valid_q <= pending_q != '0 && !take;
    pick_q       <= any_behind ? behind : lowest;
    if (write) begin
      mask_ram[at]  <= new_mask;
      pending_q[at] <= done_valid_i ? !direct : ask_valid_i && !ask_none_i;
    end
    if (done_valid_i) info_ram[done_slot_i] <= done_info_i;
    if (rst_i) begin
      send_valid_o <= 1'b0;
      pick_valid_q <= 1'b0;
      pending_q    <= '0;
      turn_q       <= '0;
    end
  end

`ifdef FORMAL
  // What is due for one slot, any: nothing of it is lost, all of it goes out in one request with the latest result's header,
  // or is withdrawn. Each request of another slot brings this slot's turn nearer, and in quiet clocks requests are made.
  (* anyconst *) logic [SlotW-1:0] one;
  logic             past_q = 1'b0, due_q, fresh_q, straight_q, has_info_q, was_due_q, sent, others, idle_q;
  logic [63:0]      due_mask_q;
  logic [InfoW-1:0] info_q;
  logic [SlotW-1:0] far;                     // slots before this one's turn
  assign sent   = send_valid_o && fresh_q && send_slot_o == one;
  assign others = send_valid_o && fresh_q && !straight_q && send_slot_o != one;
  assign far    = one - turn_q;
  always_ff @(posedge clk_i) begin
    past_q  <= 1'b1;
    fresh_q <= take || direct;
    straight_q <= direct;
    idle_q  <= !done_valid_i && !ask_valid_i && (!send_valid_o || send_ready_i) && !take && !rst_i;
    was_due_q <= due_q;
    if (done_valid_i && done_slot_i == one) {due_q, due_mask_q, info_q, has_info_q} <= {!direct, done_mask_i, done_info_i, 1'b1};
    else if (ask_valid_i && ask_ready_o && ask_slot_i == one) begin
      due_q      <= !ask_none_i;
      due_mask_q <= (due_q ? due_mask_q : 64'd0) | ask_mask_i;
    end else if (take && pick_q == one) due_q <= 1'b0;
    if (rst_i) {due_q, fresh_q, has_info_q, was_due_q} <= '0;
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (pending_q[one] == due_q && (!due_q || mask_ram[one] == due_mask_q));
      assert (!has_info_q || info_ram[one] == info_q);
      if (sent) begin
        assert (straight_q || ($past(due_q) && send_mask_o == $past(due_mask_q)));
        assert (straight_q || !$past(has_info_q) || send_info_o == $past(info_q));
        assert (!straight_q || {send_mask_o, send_info_o} == $past({done_mask_i, done_info_i}));
      end
      if (others && $past(was_due_q) && $past(due_q) && due_q) assert (far < $past(far));
      if (!$past(rst_i) && $past(send_valid_o && !send_ready_i)) assert (send_valid_o && $stable({send_slot_o, send_mask_o, send_info_o}));
      if (idle_q && due_q && was_due_q && !done_valid_i && !ask_valid_i && (!send_valid_o || send_ready_i)) assert (take);
    end
  end
`endif
endmodule
