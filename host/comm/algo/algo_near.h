/* algo_near.h : passes codes of K near (consecutive) ranks to the lowest of them, the master, and
 * results back. The caller makes the results, for example with a card. Segments of the vector
 * overlap:
 *
 *     other ranks                              master
 *     need -> codes of a segment ------------> algo_near_parts(), sum, ...
 *     have <- results of a segment <---------- algo_near_give()
 *
 * All messages are posted at the start, so the others never wait for the master to take codes. They
 * all complete, whatever becomes of the results: algo_near_end() sends the rest as it is, and the
 * master's verdict. */
#ifndef ALGO_NEAR_H
#define ALGO_NEAR_H
#include "comm/algo/algo_step.h"

struct algo_near {
    /* The caller fills these. Bits are of one code and one result. */
    struct comm *comm;
    int group;                    /* K > 1, divides P */
    size_t n, in_bits, out_bits;  /* n: elements */
    const uint8_t *codes;         /* [n] of this rank */
    uint8_t *result;              /* [n] */
    uint8_t *store;               /* [algo_near_store_bytes()], on the master */
    const struct algo_flow *flow; /* of this rank */
    /* private */
    struct algo_set set;
    size_t each, n_segments, places; /* elements of a segment; places of one message */
    size_t needed, had;              /* segments */
    uint8_t verdict;
};

/* Return the bytes in which the master keeps the others' codes. */
size_t algo_near_store_bytes(size_t n, size_t in_bits, int group);

/* Post all receives. Returns 0 or a negative errno of comm.h, like the others. */
int algo_near_begin(struct algo_near *a);

/* Master: wait for all ranks' codes of the next segment, of which there must be one. *r: out: its
 * elements. parts: [K] out: where they are, valid until the next call. */
int algo_near_parts(struct algo_near *a, struct algo_range *r, const uint8_t *const **parts);

/* Master: elements up to `to` of the result are final. Pass whole segments on. */
int algo_near_give(struct algo_near *a, size_t to);

/* Master: *verdict goes to the others. algo_near_parts() must have returned all segments. Others:
 * send all codes, take all results, and set *verdict. All messages are done on return. */
int algo_near_end(struct algo_near *a, uint8_t *verdict);

/* Replace x[n] on the master by the largest values of its near ranks. store: [(K - 1) n] on the
 * master. Then pass x and the verdict from the master to them. */
int algo_near_max(struct comm *c, int group, int8_t *x, size_t n, uint8_t *store);
int algo_near_tell(struct comm *c, int group, int8_t *x, size_t n, uint8_t *verdict);

#endif
