/* vec_ratio.h : divides vectors by their weights, scales them by a quantile, and inverts both after
 * decoding (hls/arith/relative.h). */
#ifndef VEC_RATIO_H
#define VEC_RATIO_H
#include "hls/arith/relative_lists.h"

struct vec_ops;

/* One CPU backend (conventions: struct vec_ops). w: [n] weights; NULL: none, and eps is unused. */
struct vec_ratio {
    /* out[n] = relative_sent(x / (|w| + eps)), or relative_sent(x) if w is NULL. share: 1 to
     * 2^31. */
    void (*send)(const float *x, const float *w, size_t n, float eps, struct relative_scale s,
                 float share, float *out);

    /* Inverts the scaling of the sums x[n], in place. */
    void (*back)(const float *w, size_t n, float eps, struct relative_scale s, float *x);
};

extern const struct vec_ratio ratio_c;

/* Operations on n vectors. with[i]: weights, scale and quantile's rank of vector i. */
struct vec_ratio_lists {
    /* Sets every absmax: if with->rank is not 0 and x is finite, to a quantile of |x| / (|w| +
     * eps), or of |x| without weights; else as absmax_all(). */
    void (*quantile)(const struct vec_ops *ops, const struct relative_rule *r,
                     struct vec_span *spans, const struct relative_part *with, int n);

    /* codes = cast(scaled x), then zero codes up to `padded`. scan: also set absmax, of the
     * unscaled x. */
    void (*encode)(const struct vec_ops *ops, const struct relative_rule *r,
                   const struct vec_cast *cast, struct vec_span *spans,
                   const struct relative_part *with, int n, bool scan);

    /* decode_all(), then inverts the scaling. */
    void (*decode)(const struct vec_ops *ops, const struct relative_rule *r, struct mf_fmt fmt,
                   const struct vec_out *outs, const struct relative_part *with, int n,
                   float divisor);

    /* Divides n packed codes in place: code = cast(fp32(code) / divisor), to nearest. */
    void (*divide)(const struct vec_ops *ops, const struct vec_cast *cast, uint8_t *codes, size_t n,
                   float divisor);
};

extern const struct vec_ratio_lists ratio_lists_each;

#endif
