/* way.h : another way for sums than MPI: cards in the network. It may fail in the middle of a step,
 * on some ranks only.
 *
 *     step, on every rank:  begin -> max -> sum of each bucket, in ascending order -> the ranks' vote -> end
 *
 * A rank that cannot go on gives up (comm_give_up()), says so by WAY_GAVE_UP, and still takes part
 * in the vote; the reducer then does over MPI what any rank has missed, from the contributions,
 * which stay as they are until the vote. */
#ifndef WAY_H
#define WAY_H
#include "comm/algo/algo.h"

enum { WAY_GAVE_UP = 1 };

/* One bucket. Buffers are the reducer's. */
struct way_sum {
    const struct codec *codec; /* settled, exact */
    size_t n;                  /* elements, a multiple of unit but for nothing behind it */
    const uint8_t *codes;      /* [packed, n] this rank's; 8 bytes behind them may be read */
    uint8_t *result;           /* [packed, n] out, in codec->out */
    /* CRC32C of step, bucket, codec and all exponents; packets go on with more (offload/window/frame.h) */
    uint32_t tag;
    /* need() has been called for all of the bucket when sum returns, even if it gave up */
    struct algo_flow flow;
};

struct way_count {
    /* sent for the first time, again; stale: answers to nothing outstanding */
    uint64_t packets, resent, pings, stale;
    uint64_t sent_bytes, received_bytes; /* payloads of datagrams, headers of frames included */
    double rtt_s;                        /* smoothed; 0 before the first PING was answered */
};

struct way_ops {
    /* A step begins; all ranks. 1: the way is open, on all ranks; 0: closed, on all ranks; a
     * negative errno ends the job. */
    int (*begin)(void *way);
    /* x [n], in place: the largest over ranks. 0, WAY_GAVE_UP, or a negative errno that ends the
     * job. */
    int (*max)(void *way, uint32_t tag, int8_t *x, size_t n);
    /* Returns as max. */
    int (*sum)(void *way, const struct way_sum *sum);
    /* Of all results that this rank has got since it was opened, in whatever order; ranks whose digests differ have got
     * different results, and none of the step's counts. 0: what comes this way cannot differ. */
    uint64_t (*digest)(const void *way);
    /* All ranks have voted; failed: some rank gave up, or digests differ, so the way is closed until a later begin()
     * opens it again. */
    int (*end)(void *way, bool failed);
    struct way_count (*counted)(const void *way); /* since it was opened */
};

#endif
