// sends: schedules results for tx. One mask of ranks per slot merges requests for a result.
// Pending slots (mask not empty) are offered to tx in turn, with all ranks at once. A finished
// result goes straight to tx if nothing waits there. Its first transmission goes to all ranks as
// one (send_all_o), even if some have requested it meanwhile.
module sends #(
  parameter int Slots = nc_pkg::CARD_SLOTS,
  parameter int Jobs  = nc_pkg::CARD_JOBS,
  localparam int SlotW = $clog2(Slots),
  localparam int JobW  = $clog2(Jobs),
  localparam int Ranks = nc_pkg::PKT_MAX_RANKS,
  localparam int InfoW = nc_pkg::INFO_JOB + JobW
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // a finished result for the mask's ranks; always taken
  input  logic             done_valid_i,
  input  logic [SlotW-1:0] done_slot_i,
  input  logic [Ranks-1:0] done_mask_i,
  input  logic [InfoW-1:0] done_info_i,
  // request to send the slot's result to a rank (ask_mask_i one-hot) or, with ask_none_i, to cancel
  // its pending sends; waits while done_valid_i
  input  logic             ask_valid_i,
  output logic             ask_ready_o,
  input  logic             ask_none_i,
  input  logic [SlotW-1:0] ask_slot_i,
  input  logic [Ranks-1:0] ask_mask_i,
  output logic             send_valid_o,
  input  logic             send_ready_i,
  output logic [SlotW-1:0] send_slot_o,
  output logic [Ranks-1:0] send_mask_o,
  output logic             send_all_o,
  output logic [InfoW-1:0] send_info_o
);
  // The top bit is send_all.
  (* ram_style = "distributed" *) logic [Ranks:0] mask_ram [Slots];
  (* ram_style = "distributed" *) logic [InfoW-1:0] info_ram [Slots];
  logic [Slots-1:0] pending_q;
  logic [Slots-1:0] turn_q;                  // slots after the last picked
  logic [SlotW-1:0] pick_q;
  logic             found_q, pick_valid_q;

  // Clock 1 selects the pending slots after the last pick or, if none, all pending slots. Clock 2
  // picks the lowest of them.
  localparam int Groups = (Slots + 63) / 64;
  logic [Slots-1:0]     ahead;
  logic [64*Groups-1:0] found_set_q;
  logic [SlotW-1:0]     lowest;
  logic [6*Groups-1:0]  lows;
  assign ahead = pending_q & turn_q;
  for (genvar g = 0; g < Groups; g++) begin : g_group
    lowest_bit u_low (.bits_i(found_set_q[64*g +: 64]), .at_o(lows[6*g +: 6]));
  end
  always_comb begin
    lowest = '0;
    for (int g = Groups - 1; g >= 0; g--)
      if (found_set_q[64*g +: 64] != '0) lowest = SlotW'(64 * g) | SlotW'(lows[6*g +: 6]);
  end

  logic             direct, offer, take, write;  // offer: pick_q's turn; take: still pending
  logic [SlotW-1:0] at;
  logic [Ranks:0]   old, new_mask;

  always_comb begin
    ask_ready_o = !done_valid_i;
    direct      = done_valid_i && (!send_valid_o || send_ready_i);
    offer       = pick_valid_q && !done_valid_i && !ask_valid_i && (!send_valid_o || send_ready_i);
    take        = offer && pending_q[pick_q];
    write       = done_valid_i || ask_valid_i || offer;
    at          = done_valid_i ? done_slot_i : ask_valid_i ? ask_slot_i : pick_q;
    old         = pending_q[at] ? mask_ram[at] : '0;
    new_mask    = done_valid_i ? {1'b1, done_mask_i} : ask_none_i ? '0 : old | {1'b0, ask_mask_i};
  end

  always_ff @(posedge clk_i) begin
    if (send_ready_i) send_valid_o <= 1'b0;
    if (take) send_valid_o <= 1'b1;
    if (offer) begin
      send_slot_o <= pick_q;
      {send_all_o, send_mask_o} <= mask_ram[at];
      send_info_o <= info_ram[pick_q];
      for (int s = 0; s < Slots; s++) turn_q[s] <= SlotW'(s) > pick_q;
    end
    if (direct) begin
      send_valid_o <= 1'b1;
      send_slot_o  <= done_slot_i;
      send_mask_o  <= done_mask_i;
      send_all_o   <= 1'b1;
      send_info_o  <= done_info_i;
    end
    found_set_q  <= ahead != '0 ? (64 * Groups)'(ahead) : (64 * Groups)'(pending_q);
    found_q      <= pending_q != '0 && !offer;
    pick_valid_q <= found_q && !offer;
    pick_q       <= lowest;
    if (write) begin
      mask_ram[at] <= new_mask;
      for (int s = 0; s < Slots; s++)
        if (SlotW'(s) == at) pending_q[s] <= done_valid_i ? !direct : ask_valid_i && !ask_none_i;
    end
    if (done_valid_i) info_ram[done_slot_i] <= done_info_i;
    if (rst_i) begin
      send_valid_o <= 1'b0;
      found_q      <= 1'b0;
      pick_valid_q <= 1'b0;
      pending_q    <= '0;
      turn_q       <= '0;
    end
  end

`ifdef FORMAL
  // The proof follows one slot, `one`. A due send is cancelled or leaves, to all its ranks in one
  // request, with the latest result's header. Each send of another slot brings its turn nearer.
  (* anyconst *) logic [SlotW-1:0] one;
  logic             past_q = 1'b0, due_all_q, due_q, fresh_q, straight_q, has_info_q, sent, others,
                    idle;
  logic [Ranks-1:0] due_mask_q;
  logic [InfoW-1:0] info_q;
  logic [SlotW-1:0] from_q, far;             // far: slots before this one's turn
  logic [2:0]       quiet_q, due_for_q;      // clocks; due_for_q stops at 3
  assign sent   = send_valid_o && fresh_q && send_slot_o == one;
  assign others = send_valid_o && fresh_q && !straight_q && send_slot_o != one;
  assign far    = one - from_q;
  assign idle   = !done_valid_i && !ask_valid_i && (!send_valid_o || send_ready_i);
  always_ff @(posedge clk_i) begin
    past_q  <= 1'b1;
    fresh_q <= take || direct;
    straight_q <= direct;
    quiet_q <= !idle || offer || rst_i ? 3'd0 : quiet_q + 3'd1;
    if (offer) from_q <= pick_q + 1'b1;
    due_for_q <= !due_q ? 3'd0 : due_for_q == 3'd3 ? 3'd3 : due_for_q + 3'd1;
    if (done_valid_i && done_slot_i == one)
      {due_q, due_all_q, due_mask_q, info_q, has_info_q} <=
          {!direct, 1'b1, done_mask_i, done_info_i, 1'b1};
    else if (ask_valid_i && ask_ready_o && ask_slot_i == one) begin
      due_q      <= !ask_none_i;
      due_mask_q <= (due_q ? due_mask_q : '0) | ask_mask_i;
      due_all_q  <= due_q && due_all_q;
    end else if (take && pick_q == one) due_q <= 1'b0;
    if (rst_i) {due_q, fresh_q, has_info_q, due_for_q, from_q} <= '0;
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (pending_q[one] == due_q && (!due_q || mask_ram[one] == {due_all_q, due_mask_q}));
      assert (!has_info_q || info_ram[one] == info_q);
      if (sent) begin
        assert (straight_q
                || ($past(due_q) && {send_all_o, send_mask_o} == $past({due_all_q, due_mask_q})));
        assert (straight_q || !$past(has_info_q) || send_info_o == $past(info_q));
        assert (!straight_q
                || {send_all_o, send_mask_o, send_info_o}
                   == $past({1'b1, done_mask_i, done_info_i}));
      end
      if (others && $past(due_for_q) == 3'd3 && due_q) assert (far < $past(far));
      if (!$past(rst_i) && $past(send_valid_o && !send_ready_i))
        assert (send_valid_o && $stable({send_slot_o, send_all_o, send_mask_o, send_info_o}));
      if (quiet_q == 3'd3 && idle && due_q) assert (take);
      for (int s = 0; s < Slots; s++) assert (turn_q[s] == (SlotW'(s) >= from_q && from_q != '0));
    end
  end
`endif
endmodule
