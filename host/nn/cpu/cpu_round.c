/* cpu_round.c : rounds floats by casting them to a format and back. */
#include "nn/cpu/cpu_ops.h"
#include "vec/vec.h"

enum { ROUND_BLOCK = 2048 };

/* y may be x. */
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

/* Only tests use doubles. */
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

CPU_HOT static void times(size_t n, real k, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = k * x[i];
}

CPU_HOT static void plus(size_t n, const real *a, real k, const real *b, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + k * b[i];
}

void cpu_step_round(const struct round_rule *rule, size_t n, real *x)
{
    if (rule)
        cpu_round_to(NULL, n, rule, x, x);
}

void cpu_step_times(const struct round_rule *rule, size_t n, real k, const real *x, real *y)
{
    times(n, k, x, y);
    cpu_step_round(rule, n, y);
}

void cpu_step_plus(const struct round_rule *rule, size_t n, const real *a, real k, const real *b,
                   real *y)
{
    plus(n, a, k, b, y);
    cpu_step_round(rule, n, y);
}
