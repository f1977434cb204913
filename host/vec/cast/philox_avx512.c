/* philox_avx512.c : makes words of the stream of philox.h with AVX-512. */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/cast/philox_avx512.h"

void philox_avx512(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words)
{
    struct philox_keys keys;
    philox_keys_init(&keys, key);
    for (; n_blocks >= PHILOX_STEP && philox_step_ok(block);
         n_blocks -= PHILOX_STEP, block += PHILOX_STEP) {
        philox_step(&keys, block, half, words);
        words += 4 * PHILOX_STEP;
    }
    philox_avx2(key, block, half, n_blocks, words);
}
#endif
