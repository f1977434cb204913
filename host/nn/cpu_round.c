/* cpu_round.c : floats rounded to a format on the CPU: cast and back, in blocks that stay in the
 * nearest cache. */
#include "nn/cpu_ops.h"
#include "vec/vec.h"

enum { ROUND_BLOCK = 1024 };

void cpu_round_to(void *ctx, size_t n, const struct round_rule *rule, const real *x, real *y)
{
    (void)ctx;
    const struct vec_ops *vec = vec_best();
    const struct vec_cast cast = {.fmt = rule->fmt, .overflow = rule->overflow};
    uint8_t codes[ROUND_BLOCK * sizeof(float)];
    float block[ROUND_BLOCK];
    for (size_t at = 0; at < n; at += ROUND_BLOCK) {
        const size_t k = n - at < ROUND_BLOCK ? n - at : ROUND_BLOCK;
        for (size_t i = 0; i < k; i++) /* real may be the double of tests */
            block[i] = (float)x[at + i];
        vec->encode(&cast, block, k, 0, rule->shift, codes);
        vec->decode(rule->fmt, codes, k, -rule->shift, 1, block);
        for (size_t i = 0; i < k; i++)
            y[at + i] = (real)block[i];
    }
}
