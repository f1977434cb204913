// frame_fifo: buffers a frame's beats, which arrive without a handshake, until its end. A good end
// releases all beats since the previous end; a bad end, or a beat without room, discards them.
// in_end_i comes with the frame's last beat or later, before the next frame's first beat. If full_o
// is 1 then, the frame is dropped for lack of room, whatever in_good_i is.
// A released beat is at the output two clocks later, once earlier beats have left. Data and
// valid come from registers. Frames are not delimited.
module frame_fifo #(
  parameter int W     = 8,
  parameter int Depth = 256,                 // beats, a power of two, at least 2
  localparam int PtrW = $clog2(Depth)
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [W-1:0] in_data_i,
  input  logic         in_valid_i,
  input  logic         in_end_i,
  input  logic         in_good_i,
  output logic         full_o,
  output logic [W-1:0] out_data_o,
  output logic         out_valid_o,
  input  logic         out_ready_i
);
  power_of_two #(.N(Depth), .Least(2)) u_depth ();
  (* ram_style = "block" *) logic [W-1:0] mem_q [Depth];
  logic [W-1:0]  out_q;
  // wr: next write; end: first unreleased beat. The top bit tells full from empty.
  logic [PtrW:0] wr_q, wr_d, end_q, end_d;
  logic [PtrW:0] rd_q, rd_d;
  logic          over_q;                     // a beat of this frame found no room
  logic          valid_q;                    // a beat released a clock ago is at the output
  logic          room, put;

  assign room        = wr_q != {~rd_q[PtrW], rd_q[PtrW-1:0]};
  // harmless after a beat without room: the frame's end discards all
  assign put         = in_valid_i && room;
  assign full_o      = over_q || (in_valid_i && !room);
  assign out_valid_o = valid_q;
  assign out_data_o  = out_q;
  assign rd_d        = out_valid_o && out_ready_i ? rd_q + 1'b1 : rd_q;

  always_comb begin
    wr_d  = put ? wr_q + 1'b1 : wr_q;
    end_d = end_q;
    if (in_end_i) begin
      if (in_good_i && !full_o) end_d = wr_d;
      else wr_d = end_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (put) mem_q[wr_q[PtrW-1:0]] <= in_data_i;
    out_q   <= put && wr_q[PtrW-1:0] == rd_d[PtrW-1:0] ? 'x : mem_q[rd_d[PtrW-1:0]];
  end

  always_ff @(posedge clk_i) begin
    wr_q   <= wr_d;
    end_q  <= end_d;
    rd_q   <= rd_d;
    over_q <= full_o && !in_end_i;
    // beats released in the clock of their write are not readable yet
    valid_q <= rd_d != end_q;
    if (rst_i) begin
      wr_q   <= '0;
      end_q  <= '0;
      rd_q   <= '0;
      over_q <= 1'b0;
      valid_q <= 1'b0;
    end
  end

`ifdef FORMAL
  // The proof counts beats without pointers. A marked beat comes out unchanged after the earlier
  // ones, unless its frame was bad.
  (* anyseq *) logic mark;
  logic          past_q = 1'b0, lost_q, lost, take, got, marked_q, free_q;
  // n_new_q: released in the last clock
  logic [PtrW:0] n_free_q, n_new_q, n_open_q, ahead_q, place;
  logic [W-1:0]  mark_data_q;
  assign lost  = lost_q || (in_valid_i && n_free_q + n_open_q == (PtrW+1)'(Depth));
  assign take  = in_valid_i && !lost;
  assign got   = out_valid_o && out_ready_i;
  assign place = rd_q + ahead_q;
  always_ff @(posedge clk_i) begin
    past_q   <= 1'b1;
    lost_q   <= lost && !in_end_i;
    n_open_q <= in_end_i ? '0 : n_open_q + (PtrW+1)'(take);
    n_new_q  <= in_end_i && in_good_i && !lost ? n_open_q + (PtrW+1)'(take) : '0;
    n_free_q <= n_free_q - (PtrW+1)'(got)
                + (in_end_i && in_good_i && !lost ? n_open_q + (PtrW+1)'(take) : '0);
    if (!marked_q && take && mark) begin
      marked_q    <= !(in_end_i && !in_good_i);
      free_q      <= in_end_i;
      ahead_q     <= n_free_q + n_open_q - (PtrW+1)'(got);
      mark_data_q <= in_data_i;
    end else if (marked_q) begin
      ahead_q <= ahead_q - (PtrW+1)'(got);
      if (in_end_i && in_good_i && !lost) free_q <= 1'b1;
      if (in_end_i && (lost || !in_good_i) && !free_q) marked_q <= 1'b0;
      if (got && ahead_q == '0) marked_q <= 1'b0;
    end
    if (rst_i) begin
      lost_q   <= 1'b0;
      n_open_q <= '0;
      n_free_q <= '0;
      n_new_q  <= '0;
      marked_q <= 1'b0;
    end
    if (!past_q) assume (rst_i);
    if (past_q) begin
      assert (full_o == lost);
      assert (out_valid_o == (n_free_q != n_new_q) && n_free_q >= n_new_q);
      if (marked_q && free_q && ahead_q == '0 && out_valid_o) assert (out_data_o == mark_data_q);
      if (got) assert (!marked_q || ahead_q != '0 || free_q);
      if (!$past(rst_i) && $past(out_valid_o && !out_ready_i))
        assert (out_valid_o && $stable(out_data_o));
      assert (over_q == lost_q);
      assert (n_free_q == end_q - rd_q && (lost_q || n_open_q == wr_q - end_q)
              && n_open_q <= wr_q - end_q);
      assert ({1'b0, n_free_q} + {1'b0, wr_q - end_q} <= (PtrW+2)'(Depth));
      if (marked_q) begin
        assert (mem_q[place[PtrW-1:0]] == mark_data_q);
        assert (free_q ? ahead_q < n_free_q : ahead_q >= n_free_q && ahead_q < n_free_q + n_open_q);
      end
      assert (!valid_q || out_q == mem_q[rd_q[PtrW-1:0]]);
    end
  end
`endif
endmodule
