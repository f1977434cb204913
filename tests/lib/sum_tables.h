/* sum_tables.h : compares sums by every vector table of this CPU with vec_plain, bit for bit. */
#ifndef SUM_TABLES_H
#define SUM_TABLES_H
#include "sum_codes.h"

static uint8_t box_want[N * 4 + GUARD], box_got[N * 4 + GUARD];
static uint64_t acc_want[N + 1], acc_got[N + 1];

static void compare(const struct vec_ops *t, const struct vec_sum *s, const char *what, int p,
                    size_t n, struct mf_fmt out, int shift)
{
    CHECK(memcmp(box_want, box_got, vec_bytes(out, n) + GUARD) == 0,
          "%s: %s: rule %d e%um%u fn %u in e%um%u of %d ranks, n %zu -> e%um%u shift %d overflow "
          "%d",
          t->name, what, (int)s->rule, s->in.e, s->in.m, s->in.flavour, s->acc.e, s->acc.m, p, n,
          out.e, out.m, shift, (int)s->overflow);
}

/* Checks the first n codes of p ranks (from fill()) and returns pointers to them. */
static const uint8_t **check_tables(const struct vec_sum *s, int p, size_t n, struct mf_fmt out,
                                    int shift)
{
    static const uint8_t *parts[MAX_P];
    for (int r = 0; r < p; r++)
        parts[r] = packed[r] + 1;
    memset(acc_want, CANARY, sizeof acc_want);
    memset(box_want, CANARY, sizeof box_want);
    for (int r = 0; r < p; r++)
        vec_plain.accumulate(s, acc_want, parts[r], n, r == 0);
    vec_plain.finish(s, acc_want, n, out, shift, box_want + 1);
    for (int i = 0; i < n_tables; i++) {
        const struct vec_ops *t = &tables[i];
        CHECK(t->peak(s->in, parts[0], n) == vec_plain.peak(s->in, parts[0], n),
              "%s: the peak of %zu codes of e%um%u is %x", t->name, n, s->in.e, s->in.m,
              t->peak(s->in, parts[0], n));
        memset(acc_got, CANARY, sizeof acc_got);
        memset(box_got, CANARY, sizeof box_got);
        for (int r = 0; r < p; r++)
            t->accumulate(s, acc_got, parts[r], n, r == 0);
        if (s->rule != VEC_FP32) /* nans of fp32 may have any payload */
            CHECK(memcmp(acc_want, acc_got, sizeof acc_got) == 0,
                  "%s: accumulate: rule %d e%um%u fn %u in e%um%u of %d ranks, n %zu", t->name,
                  (int)s->rule, s->in.e, s->in.m, s->in.flavour, s->acc.e, s->acc.m, p, n);
        t->finish(s, acc_got, n, out, shift, box_got + 1);
        compare(t, s, "finish", p, n, out, shift);
        memset(box_got, CANARY, sizeof box_got);
        t->sum(s, parts, p, n, out, shift, box_got + 1);
        compare(t, s, "sum", p, n, out, shift);
        if (mf_width(out) == mf_width(s->in)) { /* overwrites the last part */
            memcpy(box_got + 1, parts[p - 1], vec_bytes(out, n));
            parts[p - 1] = box_got + 1;
            t->sum(s, parts, p, n, out, shift, box_got + 1);
            parts[p - 1] = packed[p - 1] + 1;
            compare(t, s, "sum in place", p, n, out, shift);
        }
    }
    return parts;
}

#endif
