/* levels_avx2.c : converts buckets of levels with AVX2. */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/list/levels_body.h"

static void levels_random(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    philox_avx2(key, block, 0, n_blocks, words);
}

void levels_avx2_fill(struct vec_ops *ops)
{
    static const struct vec_levels levels = LEVELS_OPS(levels_decode);
    ops->levels = &levels;
}
#endif
