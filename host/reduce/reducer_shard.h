/* reducer_shard.h : declares the ranks' ranges of a reduce-scatter and an all-gather. */
#ifndef REDUCER_SHARD_H
#define REDUCER_SHARD_H
#include "reduce/reducer_inside.h"

/* Outs of a decoding beyond one per layer: for units that belong to a rank only in part. */
enum { SHARD_OUTS = 2 };

struct edge {
    float *to;
    size_t skip, n; /* elements of the decoded unit */
};

struct shard {
    size_t *start;    /* [P + 1] first element of each range, of all layers end to end */
    size_t *layer_at; /* [n_layers] first element of each layer */
    struct algo_range *ranges[2]; /* [n_buckets][P] of each plan */
    float *to;
    float *edges; /* [SHARD_OUTS][unit] decoded units */
    size_t unit;  /* the longest */
    struct edge edge[SHARD_OUTS];
    int n_edges;
    float *values; /* for codec_call.values */
};

/* range: [P] of reducer_spec. shard_open() is called before the layers are cut into
 * buckets. Returns 0, -ENOMEM, or reports -EINVAL. shard_close(NULL) is legal. */
int shard_open(struct reducer *r, const size_t *range);
void shard_close(struct reducer *r);

/* Turn the layers of the plan's buckets round, to forward order: a range of the layers' elements is
 * then one range of each bucket. */
void shard_turn(struct plan *p);

/* Compute the ranks' ranges of all buckets, and allocate memory unless the reducer is only
 * measured. Returns 0 or -ENOMEM. */
int shard_cut(struct reducer *r, bool owns);

/* Return [P] ranks' ranges of a bucket of the plan in use, for algo_call.cut. */
const struct algo_range *shard_ranges(const struct reducer *r, const struct bucket *b);

/* Return the elements of the longest range of a bucket. */
size_t shard_longest(const struct reducer *r, bool all_fp32, int bucket);

/* Store the means of elements [from, end) of layer i as out k of the next decoding. from: a
 * multiple of the unit. */
void bucket_out(const struct bucket_flow *f, int i, size_t from, size_t end, void *to, int k);

/* As bucket_out(), for the part of [from, end) in this rank's range. Returns the next k: at most
 * one more out per layer, and SHARD_OUTS. */
int shard_outs(const struct bucket_flow *f, int i, size_t from, size_t end, int k);

/* After decoding: copy units that only in part belong to this rank. */
void shard_copy_edges(struct reducer *r);

/* ---- reducer_gather.c ---- */

/* Run the all-gather begun by reducer_begin_gather(). */
int gather_run(struct reducer *r);
void gather_close(struct reducer *r);

#endif
