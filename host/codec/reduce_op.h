/* reduce_op.h : defines the reduce op, the algorithms' interface to codes.
 *
 * A codec makes it and comm/ uses it. Ranks' ranges begin and end at multiples of `unit` elements,
 * thus at whole bytes. Codes of adjacent ranges are adjacent in memory.
 *
 *     codes in --add--> acc --part--> codes of a partial sum that travels on (ring)
 *                        |  --spill-> wide partial sum, not rounded (exact only) --add_wide--> acc
 *                        `----done--> codes of the result
 *     codes in of all parts --sum--> codes of part() or done(), in one go
 *     partial sums --merge--> the same; partial sum, codes in --hop--> the same */
#ifndef REDUCE_OP_H
#define REDUCE_OP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Properties of sums. Without any, all addends must be added in one place, in rank order. */
enum {
    REDUCE_PARTS = 1, /* part(): a rounded partial sum may travel and be added to */
    REDUCE_WIDE = 2,  /* spill(), add_wide() */
    REDUCE_NODES = 4, /* part() once for all addends of a node, then nodes' sums are added */
};

struct reduce_op;
struct reduce_op_kind {
    /* sum() stores state of the range (residuals) on this rank, so other ranks cannot repeat it */
    bool keeps;
    size_t (*in_bytes)(const struct reduce_op *f, size_t n);  /* of codes of n elements */
    size_t (*out_bytes)(const struct reduce_op *f, size_t n); /* of codes of n sums */
    size_t (*acc_bytes)(const struct reduce_op *f, size_t n); /* of accumulators of n elements */
    /* of part()'s sums that travel, at least in_bytes(). NULL without REDUCE_PARTS and
     * REDUCE_NODES, and so are hop and merge */
    size_t (*part_bytes)(const struct reduce_op *f, size_t n);
    /* Bytes saved in the bucket's first n elements, of codes and of sums, because a layer's last
     * unit is sent only in part. NULL: none, as in every table that has add(). */
    size_t (*spared)(const struct reduce_op *f, size_t n);
    /* of wide partial sums, or 0: there are none */
    size_t (*wide_bytes)(const struct reduce_op *f, size_t n);
    /* Adds codes to accumulators; `first` starts them. at: index of the range's first element in
     * the bucket. */
    void (*add)(const struct reduce_op *f, size_t at, void *acc, const uint8_t *codes, size_t n,
                bool first);
    void (*part)(const struct reduce_op *f, size_t at, const void *acc, size_t n, uint8_t *codes);
    void (*done)(const struct reduce_op *f, size_t at, const void *acc, size_t n, uint8_t *codes);
    /* codes = sum of n_parts > 0 vectors in this order: the result of add() of each vector, then
     * done() if `last`, else part(). codes may be one of the parts unless last. */
    void (*sum)(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes);
    /* Sum vectors of partial sums (merge), or one partial sum and one vector of codes (hop). codes
     * may be the partial sum unless last. */
    void (*merge)(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                  size_t n, bool last, uint8_t *codes);
    void (*hop)(const struct reduce_op *f, size_t at, const uint8_t *partial,
                const uint8_t *addends, size_t n, bool last, uint8_t *codes);
    /* Cast partial sums again before the next stage, with a new exponent for each layer
     * (algo_step.c). NULL if the codec never does.
     *
     *   scales    return the cleared list of exponents, to be all-reduced by max;
     *             *n_scales is 0 if there is nothing to do
     *   measure   raise it to what this rank's partial sums of elements [at, at + n) need
     *   rescale   cast them with the agreed exponents */
    int8_t *(*scales)(const struct reduce_op *f, size_t *n_scales);
    void (*measure)(const struct reduce_op *f, size_t at, const uint8_t *partial, size_t n);
    void (*rescale)(const struct reduce_op *f, size_t at, uint8_t *partial, size_t n);
    void (*spill)(const struct reduce_op *f, const void *acc, size_t n, uint8_t *wide);
    void (*add_wide)(const struct reduce_op *f, void *acc, const uint8_t *wide, size_t n,
                     bool first);
    /* In one pass: add() of each part, then spill(); and add_wide() of each, then done(). At least
     * one part. Return false, with anything written, if there is no fast loop. NULL: never. */
    bool (*sum_to_wide)(const struct reduce_op *f, const uint8_t *const *parts, int n_parts,
                        size_t n, uint8_t *wide);
    bool (*sum_of_wide)(const struct reduce_op *f, const uint8_t *const *wides, int n_parts,
                        size_t n, uint8_t *codes);
};
struct reduce_op {
    const struct reduce_op_kind *ops;
    const void *ctx; /* a struct codec_call, which outlives the reduce op */
    size_t unit;     /* elements */
    /* most addends of a wide partial sum, which gives its width; 0: the number of ranks */
    int wide_addends;
    size_t message_bytes; /* comm_message_bytes() */
};

static inline size_t reduce_op_spared(const struct reduce_op *f, size_t n)
{
    return f->ops->spared ? f->ops->spared(f, n) : 0;
}

/* Where codes (in) or sums (out) of element `at`, a multiple of the unit, begin in the bucket. */
static inline size_t reduce_op_in_at(const struct reduce_op *f, size_t at)
{
    return f->ops->in_bytes(f, at) - reduce_op_spared(f, at);
}
static inline size_t reduce_op_out_at(const struct reduce_op *f, size_t at)
{
    return f->ops->out_bytes(f, at) - reduce_op_spared(f, at);
}

#endif
