/* levels_c.c : converts buckets of levels in plain C. */
#include "hls/arith/philox.h"
#include "vec/list/levels_body.h"

static void levels_random(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    for (size_t b = 0; b < n_blocks; b++, block++) {
        const struct philox_block counter = {{(uint32_t)block, (uint32_t)(block >> 32)}};
        const struct philox_block x = philox_rounds(key, counter);
        memcpy(words + 4 * b, x.w, sizeof x.w);
    }
}

const struct vec_levels levels_c = LEVELS_OPS(levels_decode);
