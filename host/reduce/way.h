/* way.h : Interface of the card path: sums by cards in the network instead of MPI. It may fail in
 * the middle of a step, and on some ranks only.
 *
 *     step, on every rank:  begin -> max -> sum of each bucket, in ascending order -> vote -> end
 *
 * A rank that cannot go on abandons the path (comm_give_up()), returns WAY_GAVE_UP, and still takes
 * part in the vote. The reducer then repeats over MPI what any rank has missed, from the same
 * codes, which stay unchanged until the vote. */
#ifndef WAY_H
#define WAY_H
#include "comm/algo/algo.h"

enum { WAY_GAVE_UP = 1 };

/* One bucket. Buffers belong to the reducer. */
struct way_sum {
    const struct codec *codec; /* settled, exact */
    size_t n;                  /* elements, padding to units included */
    const uint8_t *codes;      /* [packed, n] of this rank; 8 bytes after them are readable */
    uint8_t *result;           /* [packed, n] out, in codec->out */
    /* CRC32C of step, bucket, codec and all exponents;
     * packets extend it (offload/window/frame.h) */
    uint32_t tag;
    /* sum() has called need() for the whole bucket when
     * it returns, even if it abandoned the path. */
    struct algo_flow flow;
};

struct way_count {
    /* packets: sent for the first time; resent: sent again; stale: answers to no outstanding
     * packet */
    uint64_t packets, resent, pings, stale;
    uint64_t sent_bytes, received_bytes; /* payloads of datagrams, frame headers included */
    double rtt_s;                        /* smoothed; 0 before the first PING is answered */
};

struct way_ops {
    /* Begins a step on all ranks. Returns 1 if the path is open and 0 if it is closed, the same on
     * all ranks. A negative errno ends the job. */
    int (*begin)(void *way);
    /* x [n]: replaces it by the largest over ranks. Returns 0,
     * WAY_GAVE_UP, or a negative errno that ends the job. */
    int (*max)(void *way, uint32_t tag, int8_t *x, size_t n);
    /* Returns as max(). */
    int (*sum)(void *way, const struct way_sum *sum);
    /* Digest of all results that this rank has received since the path
     * was opened, in any order. If ranks' digests differ, none of the
     * step's results count. 0: results of this path cannot differ. */
    uint64_t (*digest)(const void *way);
    /* Ends a step after the vote of all ranks. failed: some rank abandoned the path or digests
     * differ, so the path is closed until a later begin() opens it again. */
    int (*end)(void *way, bool failed);
    struct way_count (*counted)(const void *way); /* since the path was opened */
};

#endif
