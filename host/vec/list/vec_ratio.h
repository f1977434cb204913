/* vec_ratio.h : vectors as multiples of a quantile, and of the weights beside them: what is cast, and
 * what casts are made back of. The numbers are those of hls/arith/relative.h, whatever the instruction set. */
#ifndef VEC_RATIO_H
#define VEC_RATIO_H
#include "hls/arith/relative_lists.h"

struct vec_ops;

/* One of the CPU's backends; as a struct vec_ops says of its own. w: [n], or NULL: x is sent as it is, and eps
 * means nothing. */
struct vec_ratio {
    /* out [n] = what is sent of x [n]; share: 1 to 2^31 */
    void (*send)(const float *x, const float *w, size_t n, float eps, struct relative_scale s,
                 float share, float *out);

    /* x [n]: of what the sums gave, in place */
    void (*back)(const float *w, size_t n, float eps, struct relative_scale s, float *x);
};

/* In plain C, for every CPU. */
extern const struct vec_ratio ratio_c;

/* The same over many vectors, for codecs: a launch each on a GPU. ops: the table that they are of;
 * with [n]: what else there is of each. */
struct vec_ratio_lists {
    /* absmax: the quantile of the magnitudes of what is sent of each vector, where one is sought and
     * all of x is finite; else as absmax_all() of vec.h. */
    void (*quantile)(const struct vec_ops *ops, const struct relative_rule *r,
                     struct vec_span *spans, const struct relative_part *with, int n);

    /* codes = cast(what is sent of x), zero codes up to padded; scan: and absmax of x on the way. */
    void (*encode)(const struct vec_ops *ops, const struct relative_rule *r,
                   const struct vec_cast *cast, struct vec_span *spans,
                   const struct relative_part *with, int n, bool scan);

    /* x = back of what decode_all() makes of the codes */
    void (*decode)(const struct vec_ops *ops, const struct relative_rule *r, struct mf_fmt fmt,
                   const struct vec_out *outs, const struct relative_part *with, int n,
                   float divisor);

    /* codes [packed, n] = cast(fp32(code) / divisor), to nearest, in place: of one vector. */
    void (*divide)(const struct vec_ops *ops, const struct vec_cast *cast, uint8_t *codes, size_t n,
                   float divisor);
};

/* Loops over the CPU's own operations. */
extern const struct vec_ratio_lists ratio_lists_each;

#endif
