/* lists_cuda.h : declares levels, signs, counts and ratios on the GPU, for vec_cuda.c. */
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

/* For codes in pinned memory: the CPU does small sums and divisions (vec_cuda.h), except of signs,
 * whose residuals are device memory. */
extern const struct vec_level_lists level_lists_pinned;
extern const struct vec_counts counts_pinned;
extern const struct vec_ratio_lists ratio_lists_pinned;

#endif
