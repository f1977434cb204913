/* sum_blocks.h : sums vectors of codes by blocks, with the operations of a backend. */
#ifndef SUM_BLOCKS_H
#define SUM_BLOCKS_H
#include "vec/vec.h"

/* vec_ops.sum by its definition, with a backend's accumulate and finish. */
void sum_blocks(void (*accumulate)(const struct vec_sum *, void *, const uint8_t *, size_t, bool),
                void (*finish)(const struct vec_sum *, const void *, size_t, struct mf_fmt, int,
                               uint8_t *),
                const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes);

/* vec_ops.sum with packed additions only, by a backend's slot add. Returns false, with nothing
 * written, unless the sum is by nearest or trunc, to the addends' format. */
bool sum_packed(void (*add)(const struct vec_sum *, uint8_t *, const uint8_t *, size_t),
                const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes);

#endif
