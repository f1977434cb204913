/* sum_nibble.c : makes the tables of sum_nibble.h. */
#include "vec/sum/sum_nibble.h"
#include <pthread.h>

static struct sum_nibble tables[] = {
    {.fmt = {3, 0, 0}, .overflow = MF_SATURATE}, {.fmt = {3, 0, 0}, .overflow = MF_INF},
    {.fmt = {2, 1, 0}, .overflow = MF_SATURATE}, {.fmt = {2, 1, 0}, .overflow = MF_INF},
    {.fmt = {1, 2, 0}, .overflow = MF_SATURATE}, {.fmt = {1, 2, 0}, .overflow = MF_INF},
};
enum { N_TABLES = sizeof tables / sizeof tables[0], FLAGS = 62 };

static uint8_t round_to(const struct sum_nibble *t, uint64_t acc)
{
    return (uint8_t)mf_acc_round(t->fmt, acc, 0, t->fmt, t->overflow);
}

static void make(struct sum_nibble *t)
{
    for (uint32_t i = 0; i < 64; i++) {
        const uint64_t acc = mf_acc_add(t->fmt, 0, i & 15);
        const int64_t units = (int64_t)(acc << 2) >> 2; /* without the flags */
        t->seen[i] = (uint8_t)(acc >> FLAGS);
        t->value[i] = (uint8_t)(t->seen[i] ? NIBBLE_NONE : units);
        t->special[i] = round_to(t, (uint64_t)(i & 3) << FLAGS);
    }
    for (int i = 0; i < 128; i++) {
        const int64_t units = i > NIBBLE_MAX ? i + 2 * NIBBLE_LEAST : i;
        const uint64_t acc = (uint64_t)units;
        t->code.of[i] = round_to(t, acc & MF_ACC_SUM);
    }
    t->together = 127 / (int)(mf_acc_add(t->fmt, 0, mf_max(t->fmt)));
}

static void make_all(void)
{
    for (int i = 0; i < N_TABLES; i++)
        make(&tables[i]);
}

const struct sum_nibble *sum_nibble_of(struct mf_fmt fmt, enum mf_overflow overflow)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_all);
    for (int i = 0; i < N_TABLES; i++)
        if (mf_same(tables[i].fmt, fmt) && tables[i].overflow == overflow)
            return &tables[i];
    return NULL;
}

const struct sum_nibble *sum_nibble_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out,
                                         int shift)
{
    const bool fits =
        sum->rule == VEC_EXACT && n_parts <= NIBBLE_RANKS && mf_same(out, sum->in) && shift == 0;
    return fits ? sum_nibble_of(sum->in, sum->overflow) : NULL;
}
