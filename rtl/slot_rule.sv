// slot_rule: decides a contribution's effect on its slot: hls/card/slot.h in gates. Combinational.
//
//  DONE(c)     c+1: claims the slot (FILLING(c+1), first)   c: the kept result again, if any
//  FILLING(c)  c, new rank: added, DONE(c) after the last   c, known rank: duplicate
//              c-1, rank not yet in: the kept result again
// All else is stale. Chunks are compared modulo 2^32.
module slot_rule (
  input  logic        filling_i,             // 1: FILLING, 0: DONE
  input  logic        kept_i,                // the slot keeps a result
  input  logic        known_i,               // FILLING: this rank is in
  input  logic        full_i,                // with this rank, all are in
  input  logic        is_same_i,             // its chunk is the slot's c
  input  logic        is_next_i,             // c + 1
  input  logic        is_prev_i,             // c - 1
  input  logic        same_desc_i,           // as the slot's
  output logic        add_o,                 // exactly one of these five
  output logic        resend_o,
  output logic        bad_desc_o,
  output logic        duplicate_o,
  output logic        stale_o,
  output logic        first_o,               // of its chunk
  output logic        last_o
);
  always_comb begin
    {add_o, resend_o, bad_desc_o, duplicate_o, stale_o} = '0;
    first_o     = !filling_i;
    last_o      = full_i;
    if (!filling_i && is_next_i) add_o = 1'b1;
    else if (!filling_i && is_same_i && kept_i) resend_o = 1'b1;
    else if (filling_i && is_same_i && known_i) duplicate_o = 1'b1;
    else if (filling_i && is_same_i && !same_desc_i) bad_desc_o = 1'b1;
    else if (filling_i && is_same_i) add_o = 1'b1;
    else if (filling_i && is_prev_i && !known_i && kept_i) resend_o = 1'b1;
    else stale_o = 1'b1;
  end

`ifdef FORMAL
  // The verdict is that of slot_take() (hls/card/slot.h), for any two chunks.
  (* anyseq *) logic [31:0] chunk, slot_chunk;
  logic        first, waits, kept_chunk_asked;
  logic [4:0]  verdict;                      // {add, resend, bad_desc, duplicate, stale}
  always_comb begin
    assume (is_same_i == (chunk == slot_chunk) && is_next_i == (chunk == slot_chunk + 32'd1));
    assume (is_prev_i == (chunk == slot_chunk - 32'd1));
    first            = !filling_i && chunk == slot_chunk + 32'd1;
    kept_chunk_asked = chunk == (filling_i ? slot_chunk - 32'd1 : slot_chunk);
    waits            = !filling_i || !known_i;
    if (first) verdict = 5'b10000;
    else if (kept_chunk_asked) verdict = kept_i && waits ? 5'b01000 : 5'b00001;
    else if (!filling_i || chunk != slot_chunk) verdict = 5'b00001;
    else if (known_i) verdict = 5'b00010;
    else if (!same_desc_i) verdict = 5'b00100;
    else verdict = 5'b10000;
    assert ({add_o, resend_o, bad_desc_o, duplicate_o, stale_o} == verdict);
    if (add_o) assert (first_o == first && last_o == full_i);
  end
`endif
endmodule
