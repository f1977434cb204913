// slot_rule: what becomes of a contribution that passed every other check, and of its slot. Combinational; hls/slot.h in gates.
//
//   DONE(c)     c+1: claims the slot (FILLING(c+1), first)   c: the kept result again, if there is one
//   FILLING(c)  c, new rank: added, DONE(c) when it was the last   c, known rank: duplicate
//               c-1, rank not yet in: the kept result again
//   everything else is stale; chunks are compared mod 2^32.
module slot_rule (
  input  logic        filling_i,             // FILLING, else DONE
  input  logic        kept_i,                // a result is kept
  input  logic [63:0] bitmap_i,              // ranks that are in, FILLING
  input  logic        is_same_i,             // the contribution's chunk is the slot's c,
  input  logic        is_next_i,             // c + 1,
  input  logic        is_prev_i,             // c - 1
  input  logic        same_desc_i,           // its description is the latched one
  input  logic [63:0] rank_bit_i,            // one-hot: the rank
  input  logic [63:0] all_i,                 // all ranks of the job
  output logic        add_o,                 // exactly one of these five is set
  output logic        resend_o,
  output logic        bad_desc_o,
  output logic        duplicate_o,
  output logic        stale_o,
  output logic        first_o,               // with add: it is the first of its chunk,
  output logic        last_o,                // the last
  output logic [63:0] bitmap_o               // with add: the ranks that are in now
);
  logic known;

  always_comb begin
    known       = (bitmap_i & rank_bit_i) != '0;
    {add_o, resend_o, bad_desc_o, duplicate_o, stale_o} = '0;
    first_o     = !filling_i;
    bitmap_o    = (filling_i ? bitmap_i : 64'd0) | rank_bit_i;
    last_o      = bitmap_o == all_i;
    if (!filling_i && is_next_i) add_o = 1'b1;
    else if (!filling_i && is_same_i && kept_i) resend_o = 1'b1;
    else if (filling_i && is_same_i && known) duplicate_o = 1'b1;
    else if (filling_i && is_same_i && !same_desc_i) bad_desc_o = 1'b1;
    else if (filling_i && is_same_i) add_o = 1'b1;
    else if (filling_i && is_prev_i && !known && kept_i) resend_o = 1'b1;
    else stale_o = 1'b1;
  end

`ifdef FORMAL
  // The verdict of slot_take() of hls/slot.h, in its own order and words, for any two chunks.
  (* anyseq *) logic [31:0] chunk, slot_chunk;
  (* anyseq *) logic [5:0]  rank;
  logic        first, waits, kept_chunk_asked;
  logic [63:0] bitmap;
  logic [4:0]  verdict;                      // {add, resend, bad_desc, duplicate, stale}
  always_comb begin
    assume (is_same_i == (chunk == slot_chunk) && is_next_i == (chunk == slot_chunk + 32'd1));
    assume (is_prev_i == (chunk == slot_chunk - 32'd1) && rank_bit_i == 64'd1 << rank);
    first            = !filling_i && chunk == slot_chunk + 32'd1;
    kept_chunk_asked = chunk == (filling_i ? slot_chunk - 32'd1 : slot_chunk);
    waits            = !filling_i || !bitmap_i[rank];
    bitmap           = first ? 64'd0 : bitmap_i;
    bitmap[rank]     = 1'b1;
    if (first) verdict = 5'b10000;
    else if (kept_chunk_asked) verdict = kept_i && waits ? 5'b01000 : 5'b00001;
    else if (!filling_i || chunk != slot_chunk) verdict = 5'b00001;
    else if (bitmap_i[rank]) verdict = 5'b00010;
    else if (!same_desc_i) verdict = 5'b00100;
    else verdict = 5'b10000;
    assert ({add_o, resend_o, bad_desc_o, duplicate_o, stale_o} == verdict);
    if (add_o) assert (first_o == first && bitmap_o == bitmap && last_o == (bitmap == all_i));
  end
`endif
endmodule
