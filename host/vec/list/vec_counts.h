/* vec_counts.h : sums numbers -1, 0 and 1 of several ranks, for ternary codecs.
 *
 * A rank's numbers are 2-bit codes, as in level_code_sign(). A sum over at most n_ranks ranks, plus
 * n_ranks to be nonnegative, is stored in rule.bits bits, packed as in vec.h. The order of
 * additions does not matter. */
#ifndef VEC_COUNTS_H
#define VEC_COUNTS_H
#include "hls/arith/level_lists.h"

/* bits of a rank's code; elements whose codes always fill whole bytes */
enum { COUNTS_DRAW_BITS = 2, COUNTS_UNIT = 8 };

struct vec_ops;

/* One backend (conventions: struct vec_ops). Vectors begin on whole bytes of codes. */
struct vec_counts {
    /* codes = sum of all parts, which are 2-bit codes */
    void (*sum)(const struct counts_rule *r, const uint8_t *const *parts, int n_parts, size_t n,
                uint8_t *codes);

    /* acc[n] += codes: sums if `wide`, else 2-bit codes. first: overwrite acc. */
    void (*add)(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                size_t n, bool first);
    /* Encodes acc[n] as sums. */
    void (*spill)(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes);

    /* Decodes x of every element of outs, on a GPU in one launch. */
    void (*decode)(const struct counts_rule *r, const struct counts_out *outs, int n_outs);
};

extern const struct vec_counts counts_c;

#endif
