/* fold.h : all that an all-reduce algorithm knows about codes: how long they are and how they add.
 *
 * A codec makes a fold, comm/ uses it. Elements are counted in units (ranges that an algorithm
 * hands to ranks begin and end on a multiple of `unit`, so on a byte); codes of neighbouring ranges
 * are neighbours in memory.
 *
 *     codes in --add--> acc --part--> codes of a partial sum that travels on (ring)
 *                        |  --spill-> wide partial sum, nothing rounded (exact only) --add_wide--> acc
 *                        `----done--> codes of the result
 *     codes in of all parts --sum--> codes of part() or done(), in one go
 *     partial sums --merge--> the same; partial sum, codes in --hop--> the same */
#ifndef FOLD_H
#define FOLD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What sums may have besides being right where all addends meet in rank order. */
enum {
    FOLD_PARTS = 1, /* part(): a partial sum that was rounded may travel on, and be added to */
    FOLD_WIDE = 2,  /* spill(), add_wide() */
    FOLD_NODES = 4, /* part(), once, of all addends of a node: sums of nodes are added up then */
};

struct fold;
struct fold_ops {
    /* sum() keeps something of the range on the rank whose fold it is: one's sum is not another's. */
    bool keeps;
    size_t (*in_bytes)(const struct fold *f, size_t n);  /* codes of n elements */
    size_t (*out_bytes)(const struct fold *f, size_t n); /* codes of n summed elements */
    size_t (*acc_bytes)(const struct fold *f, size_t n); /* accumulators of n elements */
    /* partial sums that travel, of part(): at least in_bytes(). NULL, with hop and merge: without
     * FOLD_PARTS and FOLD_NODES */
    size_t (*part_bytes)(const struct fold *f, size_t n);
    /* bytes that the bucket's first n elements take less on the wire, codes and sums alike, for
     * layers whose last unit is sent in part; NULL: none do. Where there is add(), none */
    size_t (*spared)(const struct fold *f, size_t n);
    /* wide partial sums; 0 where there are none */
    size_t (*wide_bytes)(const struct fold *f, size_t n);
    /* at: index of the range's first element in the bucket */
    void (*add)(const struct fold *f, size_t at, void *acc, const uint8_t *codes, size_t n,
                bool first);
    void (*part)(const struct fold *f, size_t at, const void *acc, size_t n, uint8_t *codes);
    void (*done)(const struct fold *f, size_t at, const void *acc, size_t n, uint8_t *codes);
    /* codes = the sum of n_parts > 0 vectors, in this order: what add() of each and then done()
     * (last) or part() make. codes may be one of the parts unless last. */
    void (*sum)(const struct fold *f, size_t at, const uint8_t *const *parts, int n_parts, size_t n,
                bool last, uint8_t *codes);
    /* The same of vectors that are partial sums; and of one that is and one more of codes in. codes
     * may be the partial sum unless last. */
    void (*merge)(const struct fold *f, size_t at, const uint8_t *const *parts, int n_parts,
                  size_t n, bool last, uint8_t *codes);
    void (*hop)(const struct fold *f, size_t at, const uint8_t *partial, const uint8_t *addends,
                size_t n, bool last, uint8_t *codes);
    /* Partial sums that are cast again before the next stage adds them up, so that each layer of theirs
     * has an exponent of its own (algo_step.c). NULL, all three: never.
     *   scales    the list to agree on, the largest of all ranks, cleared; how many. 0: nothing to do
     *   measure   into it: what this rank's partial sums of elements at..at+n ask for
     *   rescale   casts them by what was agreed on */
    int8_t *(*scales)(const struct fold *f, size_t *n_scales);
    void (*measure)(const struct fold *f, size_t at, const uint8_t *partial, size_t n);
    void (*rescale)(const struct fold *f, size_t at, uint8_t *partial, size_t n);
    void (*spill)(const struct fold *f, const void *acc, size_t n, uint8_t *wide);
    void (*add_wide)(const struct fold *f, void *acc, const uint8_t *wide, size_t n, bool first);
};
struct fold {
    const struct fold_ops *ops;
    const void *ctx; /* the codec's struct codec_call; outlives the fold */
    size_t unit;     /* elements */
};

static inline size_t fold_spared(const struct fold *f, size_t n)
{
    return f->ops->spared ? f->ops->spared(f, n) : 0;
}

/* Where codes, and sums, of the bucket's element `at` begin, a multiple of the unit. */
static inline size_t fold_in_at(const struct fold *f, size_t at)
{
    return f->ops->in_bytes(f, at) - fold_spared(f, at);
}
static inline size_t fold_out_at(const struct fold *f, size_t at)
{
    return f->ops->out_bytes(f, at) - fold_spared(f, at);
}

#endif
