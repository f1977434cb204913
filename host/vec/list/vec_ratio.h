/* vec_ratio.h : Divides vectors by their weights and scales them by a quantile before a cast, and
 * inverts that after decoding.
 *
 * hls/arith/relative.h defines the arithmetic. */
#ifndef VEC_RATIO_H
#define VEC_RATIO_H
#include "hls/arith/relative_lists.h"

struct vec_ops;

/* One CPU backend, with the conventions of struct vec_ops. w: [n] weights. If w is NULL, nothing is
 * divided by weights, and eps is unused. */
struct vec_ratio {
    /* out [n] = x scaled for sending by relative_sent(). share: 1 to 2^31. */
    void (*send)(const float *x, const float *w, size_t n, float eps, struct relative_scale s,
                 float share, float *out);

    /* Inverts the scaling of the sums x [n], in place. */
    void (*back)(const float *w, size_t n, float eps, struct relative_scale s, float *x);
};

extern const struct vec_ratio ratio_c;

/* The same operations on many vectors, on a GPU one launch per call. ops: the table that contains
 * this one. with [n]: the weights, scale and rank of each vector. */
struct vec_ratio_lists {
    /* Sets the absmax of every span. If with->rank is not 0 and x is finite, it is a quantile of
     * |x| / (|w| + eps), or of |x| without weights. Otherwise it is the value of absmax_all(). */
    void (*quantile)(const struct vec_ops *ops, const struct relative_rule *r,
                     struct vec_span *spans, const struct relative_part *with, int n);

    /* codes = cast(scaled x), followed by zero codes up to `padded`. scan: also set absmax, of the
     * x before scaling. */
    void (*encode)(const struct vec_ops *ops, const struct relative_rule *r,
                   const struct vec_cast *cast, struct vec_span *spans,
                   const struct relative_part *with, int n, bool scan);

    /* Decodes as decode_all(), then inverts the scaling. */
    void (*decode)(const struct vec_ops *ops, const struct relative_rule *r, struct mf_fmt fmt,
                   const struct vec_out *outs, const struct relative_part *with, int n,
                   float divisor);

    /* Divides n packed codes of one vector in place: code = cast(fp32(code) / divisor), to
     * nearest. */
    void (*divide)(const struct vec_ops *ops, const struct vec_cast *cast, uint8_t *codes, size_t n,
                   float divisor);
};

extern const struct vec_ratio_lists ratio_lists_each;

#endif
