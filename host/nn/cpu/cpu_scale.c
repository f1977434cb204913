/* cpu_scale.c : scales gradients by powers of two, and computes their moments and histograms. */
#include "base/bits.h"
#include "nn/cpu/cpu_ops.h"

enum { LANES = 8 };

CPU_HOT static void gather(size_t n, const real *x, double *sum, real *most)
{
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const real v = x[i + (size_t)j], size = v < 0 ? -v : v;
            sum[j] += (double)v * (double)v;
            most[j] = size > most[j] ? size : most[j];
        }
}

static struct scale_moments moments_of(size_t n, const real *x)
{
    double sum[LANES] = {0};
    real most[LANES] = {0}, rest[LANES] = {0};
    const size_t whole = n / LANES * LANES;
    for (size_t i = whole; i < n; i++)
        rest[i - whole] = x[i];
    gather(n, x, sum, most);
    gather(LANES, rest, sum, most);
    for (int j = 1; j < LANES; j++) {
        sum[0] += sum[j];
        most[0] = most[j] > most[0] ? most[j] : most[0];
    }
    return (struct scale_moments){n ? sum[0] / (double)n : 0, (float)most[0]};
}

void cpu_moments(void *ctx, size_t n, const real *x, const uint32_t *wanted,
                 struct scale_moments *to, void *scratch)
{
    (void)ctx, (void)scratch;
    if (*wanted)
        *to = moments_of(n, x);
}

void cpu_weight_moments(void *ctx, size_t n, const real *w, const uint32_t *wanted,
                        struct scale_moments *to, void *scratch)
{
    cpu_moments(ctx, n, w, wanted, to, scratch);
}

void cpu_scale_layer(void *ctx, const struct scale_rule *rule, double terms, bool add,
                     const uint32_t *wanted, struct node_scale *node, struct node_scale *in)
{
    (void)ctx;
    scale_layer(rule, terms, add, *wanted != 0, node, in);
}

void cpu_scale_hand_on(void *ctx, struct node_scale *node, struct node_scale *in,
                       struct node_scale *addend)
{
    (void)ctx;
    scale_hand_on(node, in, addend);
}

CPU_HOT static void multiply(size_t n, real k, real *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= k;
}

void cpu_scale_by(void *ctx, size_t n, const float *k, const struct round_rule *rule, real *x)
{
    if (*k == 1)
        return;
    multiply(n, (real)*k, x);
    if (rule)
        cpu_round_to(ctx, n, rule, x, x);
}

CPU_HOT static void divide(size_t n, real k, real *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] /= k;
}

void cpu_unscale(const struct cpu *cpu, size_t n, real *g)
{
    if (g && cpu->scale && *cpu->scale != 1)
        divide(n, (real)*cpu->scale, g);
}

void cpu_tally(void *ctx, size_t n, const real *x, struct scale_tally *to)
{
    (void)ctx;
    *to = (struct scale_tally){.zero = 0};
    for (size_t i = 0; i < n; i++) {
        const int bin = tally_bin(bits_of((float)x[i]));
        if (bin < 0)
            to->zero++;
        else
            to->bins[bin]++;
    }
}
