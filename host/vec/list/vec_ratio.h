/* vec_ratio.h : Divides vectors by their weights and scales them by a quantile, and
 * back, around casts.
 *
 * hls/arith/relative.h defines the arithmetic. */
#ifndef VEC_RATIO_H
#define VEC_RATIO_H
#include "hls/arith/relative_lists.h"

struct vec_ops;

/* One CPU backend, with the conventions of struct vec_ops. w: [n] weights, or NULL for no division;
 * eps is then unused. */
struct vec_ratio {
    /* out [n] = x scaled for sending (relative_sent()). share: 1 to 2^31 */
    void (*send)(const float *x, const float *w, size_t n, float eps, struct relative_scale s,
                 float share, float *out);

    /* x [n]: the inverse, applied to sums in place */
    void (*back)(const float *w, size_t n, float eps, struct relative_scale s, float *x);
};

extern const struct vec_ratio ratio_c;

/* The same for many vectors, one launch each on a GPU. ops: the table that they belong to. with
 * [n]: the other data of each vector. */
struct vec_ratio_lists {
    /* absmax: the quantile of |x|, or of |x| / (|w| + eps), where one is wanted and x is finite.
     * Else as absmax_all() of vec.h. */
    void (*quantile)(const struct vec_ops *ops, const struct relative_rule *r,
                     struct vec_span *spans, const struct relative_part *with, int n);

    /* codes = cast(scaled x), zero codes up to `padded`. scan: also absmax of x. */
    void (*encode)(const struct vec_ops *ops, const struct relative_rule *r,
                   const struct vec_cast *cast, struct vec_span *spans,
                   const struct relative_part *with, int n, bool scan);

    /* x = the inverse of what decode_all() makes of the codes */
    void (*decode)(const struct vec_ops *ops, const struct relative_rule *r, struct mf_fmt fmt,
                   const struct vec_out *outs, const struct relative_part *with, int n,
                   float divisor);

    /* One vector in place: codes [packed, n] = cast(fp32(code) / divisor), to nearest. */
    void (*divide)(const struct vec_ops *ops, const struct vec_cast *cast, uint8_t *codes, size_t n,
                   float divisor);
};

extern const struct vec_ratio_lists ratio_lists_each;

#endif
