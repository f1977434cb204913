/* sum_dot.c : makes the tables of sum_dot.h and decides whether a sum fits its windows. */
#include "vec/sum/sum_dot.h"
#include <pthread.h>

enum {
    FP32_BITS = 24,
    WORD_BITS = 31,
    POWER_BITS = 6,    /* 2^i is at most 2^6 */
    LAST_OF_THREE = 18 /* start of window 3 for e = 5: below it, sums of 16 ranks fit 24 bits */
};

static struct sum_dot_tables tables[] = {
    {.fmt = {5, 2, 0}}, {.fmt = {4, 3, 0}}, {.fmt = {4, 3, 1}}, {.fmt = {4, 3, 2}},
    {.fmt = {3, 4, 0}}, {.fmt = {3, 4, 2}}, {.fmt = {2, 5, 0}}, {.fmt = {2, 5, 2}},
    {.fmt = {1, 6, 0}}, {.fmt = {1, 6, 2}},
};
enum { N_TABLES = sizeof tables / sizeof tables[0] };

/* shift of the significands of the largest magnitudes */
static int top_shift(struct mf_fmt f)
{
    const int field = (int)(mf_max(f) >> f.m);
    return field > 1 ? field - 1 : 0;
}

static void make(struct sum_dot_tables *t)
{
    const struct mf_fmt f = t->fmt;
    int most = 0; /* largest j */
    while ((2 << f.m) - 1 <= 255 >> (most + 1))
        most++;
    const int step = most + POWER_BITS + 1; /* shifts in a window */
    t->n_windows = f.e == 5 ? 3 : 2;
    t->start[1] = step;
    t->start[2] = LAST_OF_THREE;
    t->special = (int)mf_special(f);
    t->nan = t->special + (f.flavour == MF_IEEE);
    for (int mag = 0; mag < t->special; mag++) {
        const int field = mag >> f.m, shift = field > 1 ? field - 1 : 0;
        const int sig = (mag & ((1 << f.m) - 1)) | (field > 0) << f.m;
        int window = t->n_windows - 1;
        while (shift < t->start[window])
            window--;
        const int left = shift - t->start[window], j = left < most ? left : most;
        t->sig.of[mag] = (uint8_t)(sig << j);
        for (int i = field; i < 64; i += 1 << f.e) {
            const bool minus = i >> f.e & 1;
            t->power[window][i] = (uint8_t)(minus ? -(1 << (left - j)) : 1 << (left - j));
        }
    }
}

static void make_all(void)
{
    for (int i = 0; i < N_TABLES; i++)
        make(&tables[i]);
}

const struct sum_dot_tables *sum_dot_tables_of(struct mf_fmt fmt)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_all);
    for (int i = 0; i < N_TABLES; i++)
        if (mf_same(tables[i].fmt, fmt))
            return &tables[i];
    return NULL;
}

static bool fits(struct mf_fmt f, int n_parts, int shift, int bits)
{
    return (int64_t)n_parts * (((int64_t)(2 << f.m) - 1) << shift) < (int64_t)1 << bits;
}

/* first bit of the largest significand in the lower two windows */
static int below(const struct sum_dot_tables *t)
{
    return t->n_windows == 3 ? t->start[2] - 1 : top_shift(t->fmt);
}

bool sum_dot_fits(const struct sum_dot_tables *t, int n_parts)
{
    return fits(t->fmt, n_parts, below(t), WORD_BITS);
}

bool sum_dot_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                  struct sum_dot *plan)
{
    const struct mf_fmt f = sum->in;
    const struct sum_dot_tables *t = sum_dot_tables_of(f);
    if (sum->rule != VEC_EXACT || !t || mf_width(out) != 8)
        return false;
    const bool exact = fits(f, n_parts, below(t), FP32_BITS);
    if (!sum_dot_fits(t, n_parts))
        return false;
    plan->way = exact ? SUM_DOT_EXACT : SUM_DOT_ODD;
    if (t->n_windows == 3) {
        plan->way = exact ? SUM_DOT_HIGH : SUM_DOT_CARRY;
        /* one more bit for the carry, which is smaller than the window's own sum */
        if (!fits(f, n_parts, top_shift(f) - t->start[2] + 1, FP32_BITS))
            return false;
    }
    plan->t = t;
    plan->code = enc_plan_make(out, MF_NEAREST, sum->overflow, 1 - mf_bias(f) - f.m - shift);
    return plan->code.way == ENC_ADD;
}
