/* card_path.h : declares the interface of the card path: cards in the network compute the sums
 * instead of MPI. The path may fail within a step, and on some ranks only.
 *
 *     step, on every rank:  begin -> max -> sum of each bucket, in ascending order -> vote -> end
 *
 * A rank that cannot go on abandons the path (comm_abandon()), returns CARD_PATH_ABANDONED, and
 * still takes part in the vote. The reducer then repeats over MPI what any rank has missed, with
 * the same codes, which stay unchanged until the vote. */
#ifndef CARD_PATH_H
#define CARD_PATH_H
#include "base/crc.h"
#include "comm/algo/algo.h"

enum { CARD_PATH_ABANDONED = 1 };

/* One bucket to sum. The buffers are the reducer's. */
struct card_path_sum {
    const struct codec *codec; /* settled, exact; NULL: in the card's formats */
    size_t n;                  /* elements; a multiple of the unit, or any number if none follow */
    const uint8_t *codes;      /* [packed, n] of this rank; 8 bytes after them are readable */
    uint8_t *result;           /* [packed, n] out */
    /* CRC32C of the exponents that came with this bucket, the step, bucket, n and codec. The
     * checksums of packets continue it (offload/window/frame.h). */
    uint32_t tag;
    /* sum() must have called need() for the whole bucket on return, even if it abandoned the
     * path. */
    struct algo_flow flow;
};

/* Return crc extended by four numbers, for a tag. */
static inline uint32_t card_path_tag(uint32_t crc, const uint64_t words[4])
{
    uint8_t bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
    return crc_more(crc, bytes, sizeof bytes);
}

struct card_path_count {
    /* packets: sent for the first time; stale: answers to no outstanding packet */
    uint64_t packets, resent, pings, stale;
    uint64_t sent_bytes, received_bytes; /* payloads of datagrams, with frame headers */
    /* smoothed round-trip time; 0 before the first PING is answered */
    double rtt_s;
};

struct card_path_ops {
    /* Begin a step on all ranks. Returns 1 if the path is open, 0 if closed, the same on all ranks.
     * A negative errno ends the job. */
    int (*begin)(void *card_path);
    /* Replace x[n] by the largest values over all ranks. Returns 0, CARD_PATH_ABANDONED, or a
     * negative errno that ends the job. */
    int (*max)(void *card_path, uint32_t tag, int8_t *x, size_t n);
    /* Sum one bucket over all ranks. Returns as max(). */
    int (*sum)(void *card_path, const struct card_path_sum *sum);
    /* Return a digest of all results received since the path was opened, whatever their order. If
     * ranks' digests differ, all results of the step are discarded. 0 if results cannot differ
     * between ranks. */
    uint64_t (*digest)(const void *card_path);
    /* End a step after the vote. failed: some rank abandoned the path, or digests differ. The path
     * is then closed until a later begin() opens it again. */
    int (*end)(void *card_path, bool failed);
    /* since the path was opened */
    struct card_path_count (*counted)(const void *card_path);
};

#endif
