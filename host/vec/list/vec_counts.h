/* vec_counts.h : Sums numbers -1, 0 and 1 of several ranks, for ternary codecs.
 *
 * A rank's numbers are codes of 2 bits, as in level_code_sign(). A sum over at most n_ranks ranks,
 * plus n_ranks, takes rule.bits. vec.h describes the packing. The order of additions is
 * irrelevant. */
#ifndef VEC_COUNTS_H
#define VEC_COUNTS_H
#include "hls/arith/level_lists.h"

enum { COUNTS_DRAW_BITS = 2, COUNTS_UNIT = 8 /* elements whose codes are whole bytes */ };

struct vec_ops;

/* One backend, with the conventions of struct vec_ops. Vectors begin on whole bytes of codes. */
struct vec_counts {
    /* codes = sum of all parts, which are 2-bit codes */
    void (*sum)(const struct counts_rule *r, const uint8_t *const *parts, int n_parts, size_t n,
                uint8_t *codes);

    /* acc [n] += codes: 2-bit ones, or sums if wide. first: overwrites acc. spill: acc to sums. */
    void (*add)(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                size_t n, bool first);
    void (*spill)(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes);

    /* x of every out; one launch on a GPU */
    void (*decode)(const struct counts_rule *r, const struct counts_out *outs, int n_outs);
};

extern const struct vec_counts counts_c;

#endif
