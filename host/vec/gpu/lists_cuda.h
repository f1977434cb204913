/* lists_cuda.h : levels, signs, counts and multiples of a quantile on the GPU, for vec_cuda.c's
 * tables: each call one launch or a few, and a wait. */
#ifndef LISTS_CUDA_H
#define LISTS_CUDA_H
#include "vec/list/vec_counts.h"
#include "vec/list/vec_levels.h"
#include "vec/list/vec_ratio.h"
#include "vec/list/vec_signs.h"

extern const struct vec_level_lists level_lists_cuda;
extern const struct vec_sign_lists sign_lists_cuda;
extern const struct vec_counts counts_cuda;
extern const struct vec_ratio_lists ratio_lists_cuda;

/* For codes in pinned memory: little sums and divisions are the CPU's (vec_cuda.h). Signs have what is left of
 * sums on the device, so theirs are the GPU's. */
extern const struct vec_level_lists level_lists_pinned;
extern const struct vec_counts counts_pinned;
extern const struct vec_ratio_lists ratio_lists_pinned;

#endif
