/* sum_look.c : makes the tables of sum_look.h from mf.h, on first use. */
#include "vec/sum/sum_look.h"
#include <pthread.h>

/* zero: the number of 0 */
static int number_of(struct mf_fmt f, int mag, int zero)
{
    if (mag == 0)
        return zero;
    if (mag >= 1 << f.m)
        return mag;
    int k = 0;
    while (mag >> (k + 1) != 0)
        k++;
    const int up = f.m - k; /* leading zeros */
    return (mag << up) - (up << f.m);
}

/* Makes steps from sums in the middle of the format, which neither overflow nor are subnormal. */
static void make_step(struct sum_look *t)
{
    const struct mf_fmt f = t->fmt;
    const int units = 1 << f.m, base = t->inf / 2 / units * units;
    for (int i = 0; i < 128; i++) {
        const int apart = i & 15, a = base + (i >> 4 & 3), differ = i >> 6;
        const uint32_t b = (uint32_t)(a - apart) | (uint32_t)differ << 7;
        const int sum = (int)(mf_add(f, (uint32_t)a, b, MF_INF) & 127);
        t->step.of[i] = (uint8_t)(differ && apart == 0 ? -128 : sum - a);
    }
    for (int mag = 1; mag <= t->max; mag++)
        t->code.of[number_of(f, mag, 0) & 127] = (uint8_t)mag;
}

/* Returns number(A + B) - (binade of A) for w of sum_look.h, rounded to nearest even at 3 bits
 * after the leading bit. */
static int round_w(int w)
{
    int k = 0;
    while (w >> (k + 1) != 0)
        k++;
    const int drop = k - 3;
    int kept = drop > 0 ? w >> drop : w << -drop;
    if (drop > 0) {
        const int rest = w & ((1 << drop) - 1), half = 1 << (drop - 1);
        kept += rest > half || (rest == half && kept % 2 != 0);
    }
    return 8 * (k - 6) + kept - LOOK_SIGNIFICAND;
}

static void make_aligned(struct sum_look *t)
{
    for (int i = 0; i < 128; i++) {
        const int r = (i & 63) > 7 ? (i & 63) - 64 : i & 63;
        const int below = r < 0 ? (7 - r) / 8 : 0;
        const int sig = (LOOK_SIGNIFICAND + (r & 7)) * 8;
        int aligned = below < 6 ? sig >> below : 0;
        if (below < 6 && (sig & ((1 << below) - 1)) != 0)
            aligned |= 1;
        t->aligned.of[i] = (uint8_t)(i >> 6 ? -aligned : aligned);
    }
    for (int w = 0; w < 256; w++)
        t->rounded[w / 128].of[w % 128] = (uint8_t)(w == 0 ? -128 : round_w(w));
    for (int mag = 1; mag < LOOK_NORMAL_3; mag++)
        t->code_low[number_of(t->fmt, mag, 0) & 63] = (uint8_t)mag;
}

static struct sum_look tables[] = {
    {.fmt = {5, 2, 0}}, {.fmt = {6, 1, 0}}, {.fmt = {7, 0, 0}},
    {.fmt = {4, 3, 0}}, {.fmt = {4, 3, 1}},
};
enum { N_TABLES = sizeof tables / sizeof tables[0] };

static void make_all(void)
{
    for (struct sum_look *t = tables; t < tables + N_TABLES; t++) {
        const struct mf_fmt f = t->fmt;
        const int zero = f.m == 3 ? 2 * LOOK_FAR_3 : -52; /* far below all numbers */
        t->lowest = number_of(f, 1, 0);
        t->max = (int)mf_max(f);
        t->inf = (int)mf_inf(f);
        for (int mag = 0; mag < 128; mag++)
            t->number.of[mag] = (uint8_t)number_of(f, mag, zero);
        if (f.m == 3)
            make_aligned(t);
        else
            make_step(t);
    }
}

const struct sum_look *sum_look_of(struct mf_fmt fmt)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_all);
    for (const struct sum_look *t = tables; t < tables + N_TABLES; t++)
        if (mf_same(t->fmt, fmt))
            return t;
    return NULL;
}
