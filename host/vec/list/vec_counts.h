/* vec_counts.h : sums of numbers that are -1, 0 or 1: draws of 2 bits, as level_code_sign() has them,
 * and sums of those of n_ranks ranks at most, plus n_ranks: rule.bits each, packed as vec.h packs.
 * Whole numbers, so their order changes nothing. */
#ifndef VEC_COUNTS_H
#define VEC_COUNTS_H
#include "hls/arith/level_lists.h"

enum { COUNTS_DRAW_BITS = 2, COUNTS_UNIT = 8 /* elements: their codes are whole bytes */ };

struct vec_ops;

/* One backend; as a struct vec_ops says of its own. Vectors begin on whole bytes of codes. */
struct vec_counts {
    /* codes = the sum of all parts, which are draws */
    void (*sum)(const struct counts_rule *r, const uint8_t *const *parts, int n_parts, size_t n,
                uint8_t *codes);

    /* acc [n] += codes, which are draws, or sums (wide); first: acc holds nothing yet. */
    void (*add)(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                size_t n, bool first);
    void (*spill)(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes);

    /* A launch on a GPU. */
    void (*decode)(const struct counts_rule *r, const struct counts_out *outs, int n_outs);
};

/* In plain C, for every CPU. */
extern const struct vec_counts counts_c;

#endif
