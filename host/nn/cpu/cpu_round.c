/* cpu_round.c : floats rounded to a format on the CPU: cast and back, in blocks that stay in the
 * nearest cache. */
#include "nn/cpu/cpu_ops.h"
#include "vec/vec.h"

enum { ROUND_BLOCK = 2048 };

/* x [n] to y [n], which may be x. */
static inline void round_floats(size_t n, const struct round_rule *rule, const float *x, float *y)
{
    const struct vec_ops *vec = vec_best();
    const struct vec_cast cast = {.fmt = rule->fmt, .overflow = rule->overflow};
    uint8_t codes[ROUND_BLOCK * sizeof(float)];
    for (size_t at = 0; at < n; at += ROUND_BLOCK) {
        const size_t k = n - at < ROUND_BLOCK ? n - at : ROUND_BLOCK;
        vec->encode(&cast, x + at, k, 0, rule->shift, codes);
        vec->decode(rule->fmt, codes, k, -rule->shift, 1, y + at);
    }
}

/* real may be the double of tests. */
static inline void round_doubles(size_t n, const struct round_rule *rule, const double *x,
                                 double *y)
{
    float block[ROUND_BLOCK];
    for (size_t at = 0; at < n; at += ROUND_BLOCK) {
        const size_t k = n - at < ROUND_BLOCK ? n - at : ROUND_BLOCK;
        for (size_t i = 0; i < k; i++)
            block[i] = (float)x[at + i];
        round_floats(k, rule, block, block);
        for (size_t i = 0; i < k; i++)
            y[at + i] = block[i];
    }
}

void cpu_round_to(void *ctx, size_t n, const struct round_rule *rule, const real *x, real *y)
{
    (void)ctx;
    _Generic(y, float * : round_floats, double * : round_doubles)(n, rule, x, y);
}
