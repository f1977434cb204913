// sum_room: stops elaboration, by instantiating a missing module, if a sum has no room for a code
// of every rank, or a word has none for two 4-bit sums. For C, hls/core/beat.h checks the first.
module sum_room #(
  parameter int Sum = nc_pkg::CARD_SUM_BITS,
  parameter int Sum4 = nc_pkg::CARD_SUM4_BITS,
  parameter int Narrow = nc_pkg::CARD_NARROW_BITS,
  parameter int Ranks = nc_pkg::PKT_MAX_RANKS
);
  // Bits that the largest code needs in a sum, with sign: e3m0f 8, e2m5f 9, e5m2 33, e5m10 41.
  // format_check admits only as many ranks of e5m10 as fit.
  localparam int Log = $clog2(Ranks);
  if (8 + Log > Sum4 || 9 + Log > Narrow || 33 + Log > Sum || 41 > Sum) begin : g_ranks
    sums_have_no_room_for_all_ranks u_refused ();
  end
  // acc_lane: low sum, two flags and a gap lie below the high sum. fp_encode: the low sum lies
  // below the word's upper 32 bits.
  if (2 * Sum4 + 4 > Sum || Sum4 + 31 > Sum) begin : g_word
    word_has_no_room_for_two_sums u_refused ();
  end
endmodule
