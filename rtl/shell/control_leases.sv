// control_leases: stores each lease's secret, last request, answer buffer and remaining time.
module control_leases #(
  parameter int Leases = nc_pkg::LEASE_MAX,
  parameter int Ticks  = nc_pkg::LEASE_TICKS,
  localparam int IndexW = $clog2(Leases + 1),   // one more buffer than leases
  localparam int CountW = $clog2(nc_pkg::LEASE_OPERATIONS + 1),
  localparam int LeftW  = $clog2(Ticks + 1)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic              tick_i,
  input  logic [IndexW-1:0] at_i,
  input  logic [63:0]       secret_i,
  input  logic [31:0]       sequence_i,
  input  logic [CountW-1:0] n_i,
  output logic              live_o,
  output logic              same_o,          // its secret is secret_i
  output logic [31:0]       sequence_o,
  output logic [CountW-1:0] n_o,             // of its last request
  output logic [IndexW-1:0] buffer_o,        // with that answer
  input  logic              open_i,
  input  logic              next_i,          // record request sequence_i of n_i operations
  input  logic              touch_i,
  input  logic              end_i,
  output logic [IndexW-1:0] spare_o,         // no lease's buffer
  input  logic              swap_i,          // exchange the lease's buffer and the spare
  output logic              over_o,          // a lease was silent too long
  output logic [IndexW-1:0] over_at_o,       // that lease
  output logic [IndexW-1:0] live_n_o
);
  logic [63:0]       secret_q   [Leases];
  logic [31:0]       sequence_q [Leases];
  logic [CountW-1:0] n_q        [Leases];
  logic [IndexW-1:0] buffer_q   [Leases];
  logic [LeftW-1:0]  left_q     [Leases];
  logic [Leases-1:0] live_q;

  assign live_o     = live_q[at_i];
  assign same_o     = secret_q[at_i] == secret_i;
  assign sequence_o = sequence_q[at_i];
  assign n_o        = n_q[at_i];
  assign buffer_o   = buffer_q[at_i];

  always_comb begin
    over_o    = 1'b0;
    over_at_o = '0;
    live_n_o  = '0;
    for (int l = Leases - 1; l >= 0; l--) begin
      live_n_o = live_n_o + IndexW'(live_q[l]);
      if (live_q[l] && left_q[l] == '0) begin
        over_o    = 1'b1;
        over_at_o = IndexW'(l);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (open_i) secret_q[at_i] <= secret_i;
    if (next_i) begin
      sequence_q[at_i] <= sequence_i;
      n_q[at_i]        <= n_i;
    end
    for (int l = 0; l < Leases; l++) begin
      if (tick_i && left_q[l] != '0) left_q[l] <= left_q[l] - 1'b1;
      if (at_i == IndexW'(l)) begin
        if (open_i) live_q[l] <= 1'b1;
        if (end_i) live_q[l] <= 1'b0;
        if (touch_i) left_q[l] <= LeftW'(Ticks);
        if (swap_i) buffer_q[l] <= spare_o;
      end
    end
    if (swap_i) spare_o <= buffer_o;
    if (rst_i) begin
      live_q  <= '0;
      spare_o <= IndexW'(Leases);
      for (int l = 0; l < Leases; l++) buffer_q[l] <= IndexW'(l);
    end
  end

`ifdef FORMAL
  // No two leases share a buffer. A silent lease ends after exactly Ticks ticks. Only the selected
  // lease changes.
  (* anyconst *) logic [IndexW-1:0] one;
  logic             past_q = 1'b0;
  logic [LeftW-1:0] silent_q;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (tick_i && silent_q != LeftW'(Ticks)) silent_q <= silent_q + 1'b1;
    if (touch_i && at_i == one) silent_q <= '0;
    if (!past_q) assume (rst_i);
    assume (one < IndexW'(Leases));
    if (open_i || next_i || touch_i || end_i || swap_i) assume (at_i < IndexW'(Leases));
    if (open_i) assume (touch_i && next_i && !live_o && !end_i);
    if (next_i) assume (n_i <= CountW'(nc_pkg::LEASE_OPERATIONS));
    if (touch_i && !open_i) assume (live_o);
    if (past_q) begin
      for (int l = 0; l < Leases; l++) begin
        assert (buffer_q[l] != spare_o && buffer_q[l] <= IndexW'(Leases));
        for (int m = 0; m < l; m++) assert (buffer_q[l] != buffer_q[m]);
      end
      if (live_q[one]) assert (n_q[one] <= CountW'(nc_pkg::LEASE_OPERATIONS));
      if (live_q[one]) assert (left_q[one] == LeftW'(Ticks) - silent_q);
      if (live_q[one] && silent_q == LeftW'(Ticks)) assert (over_o);
      if (over_o && over_at_o == one) assert (live_q[one] && silent_q == LeftW'(Ticks));
      if (!rst_i && !$past(rst_i) && $past(at_i) != one)
        assert ($stable({secret_q[one], sequence_q[one], n_q[one], buffer_q[one], live_q[one]}));
    end
  end
`endif
endmodule
