// fifo: buffers up to Depth beats of a ready/valid stream, the oldest in an output register, the
// others in a LUT RAM. An empty fifo shows a beat one clock later.
module fifo #(
  parameter int W     = 8,
  parameter int Depth = 2,                   // beats, at least 2
  localparam int PtrW = Depth > 2 ? $clog2(Depth - 1) : 1
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [W-1:0] in_data_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  output logic [W-1:0] out_data_o,
  output logic         out_valid_o,
  input  logic         out_ready_i
);
  if (Depth < 2) begin : g_depth
    depth_must_be_2_or_more u_refused ();
  end
  localparam int CountW = $clog2(Depth + 1);
  localparam bit [PtrW-1:0] PtrLast = PtrW'(Depth - 2);

  logic [W-1:0]      mem_q [Depth-1];
  logic [W-1:0]      out_q;
  logic [PtrW-1:0]   wr_q, rd_q;
  logic [CountW-1:0] count_q, count_d;       // beats, including the output's
  logic              ready_q, ready_d;
  logic              out_full_q, more_q, more_d;  // more_q: in the memory
  logic              put, get, load, mem_put, mem_get;

  assign in_ready_o  = ready_q;
  assign out_valid_o = out_full_q;
  assign out_data_o  = out_q;

  always_comb begin
    put     = in_valid_i && ready_q;
    get     = out_full_q && out_ready_i;
    load    = !out_full_q || out_ready_i;
    mem_get = load && more_q;
    mem_put = put && (!load || more_q);
    count_d = count_q;
    if (put && !get) count_d = count_q + 1'b1;
    if (get && !put) count_d = count_q - 1'b1;
    // Functions of count_d, written so that a late in_valid_i passes one LUT, not an adder.
    ready_d  = count_q == CountW'(Depth) ? get : !(count_q == CountW'(Depth - 1) && put && !get);
    more_d = count_q > CountW'(2) || (count_q == CountW'(2) && (put || !get))
               || (count_q == CountW'(1) && put && !get);
  end

  always_ff @(posedge clk_i) begin
    if (mem_put) mem_q[wr_q] <= in_data_i;
    if (load) out_q <= more_q ? mem_q[rd_q] : in_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (load) out_full_q <= more_q || put;
    if (mem_put) wr_q <= wr_q == PtrLast ? '0 : wr_q + 1'b1;
    if (mem_get) rd_q <= rd_q == PtrLast ? '0 : rd_q + 1'b1;
    count_q  <= count_d;
    ready_q  <= ready_d;
    more_q <= more_d;
    if (rst_i) begin
      out_full_q <= 1'b0;
      wr_q       <= '0;
      rd_q       <= '0;
      count_q    <= '0;
      ready_q    <= 1'b1;
      more_q   <= 1'b0;
    end
  end

`ifdef FORMAL
  // A marked beat stays unchanged. While ahead_q > 0 beats must leave before it, it is in the
  // memory at rd_q + ahead_q - 1; at 0 it is in the output register.
  (* anyseq *) logic mark;
  logic              past_q = 1'b0, marked_q;
  logic [CountW-1:0] ahead_q;
  logic [W-1:0]      mark_data_q;
  localparam bit [CountW:0] Rows = (CountW+1)'(Depth - 1);
  logic [CountW:0]   at, tail;               // marked beat and next write, unwrapped
  assign at   = (CountW+1)'(rd_q) + (CountW+1)'(ahead_q) - 1'b1;
  assign tail = (CountW+1)'(rd_q) + (CountW+1)'(count_q) - 1'b1;
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    if (rst_i) marked_q <= 1'b0;
    else if (!marked_q && put && mark) begin
      marked_q    <= 1'b1;
      ahead_q     <= count_q - CountW'(get);
      mark_data_q <= in_data_i;
    end else if (marked_q && get) begin
      ahead_q <= ahead_q - 1'b1;
      if (ahead_q == '0) marked_q <= 1'b0;
    end
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (count_q <= CountW'(Depth));
      assert (out_full_q == (count_q != '0));
      assert (more_q == (count_q > CountW'(1)));
      assert (ready_q == (count_q != CountW'(Depth)));
      assert (rd_q <= PtrLast && wr_q <= PtrLast);
      if (count_q <= CountW'(1)) assert (wr_q == rd_q);
      else assert ((CountW+1)'(wr_q) == (tail >= Rows ? tail - Rows : tail));
      if (marked_q) begin
        assert (ahead_q < count_q);
        assert (mark_data_q == (ahead_q == '0 ? out_q : mem_q[PtrW'(at >= Rows ? at - Rows : at)]));
      end
      if (!$past(rst_i) && $past(out_valid_o && !out_ready_i))
        assert (out_valid_o && $stable(out_data_o));
    end
  end
`endif
endmodule
