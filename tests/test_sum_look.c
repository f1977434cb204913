/* test_sum_look.c : every entry of the tables that bytes are added by matters: with any one of them
 * wrong, all pairs or sums of a few ranks are no longer mf.h's. */
#include "check.h"
#include "vec/sum_look.h"
#include "vec/vec_isa.h"
#include <string.h>

enum { PAIRS = 1 << 16 };

static struct vec_ops ops;

/* Wrong sums of all pairs, up to one; want: of each pair. */
static bool pairs_differ(const struct vec_sum *s, const uint8_t *want)
{
    static uint8_t a[PAIRS], b[PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        a[i] = (uint8_t)(i >> 8);
        b[i] = (uint8_t)i;
    }
    ops.add(s, a, b, PAIRS);
    return memcmp(a, want, PAIRS) != 0;
}

/* Each entry of a table in turn is one too large. At least `live` of them must be noticed: the others
 * belong to no pair. */
static void mutate_pairs(const struct vec_sum *s, const char *what, const uint8_t *table, size_t n,
                         int live)
{
    static uint8_t want[PAIRS];
    uint8_t *entry = (uint8_t *)(uintptr_t)table; /* constant to all but the one who made it */
    int caught = 0;
    for (size_t i = 0; i < PAIRS; i++)
        want[i] = (uint8_t)mf_add(s->in, (uint32_t)i >> 8, i & 255, s->overflow);
    CHECK(!pairs_differ(s, want), "e%um%u: pairs differ without a mutant", s->in.e, s->in.m);
    for (size_t i = 0; i < n; i++) {
        entry[i]++;
        caught += pairs_differ(s, want);
        entry[i]--;
    }
    CHECK(caught >= live, "e%um%u fn %u: %s: %d of %zu wrong entries are noticed, want %d", s->in.e,
          s->in.m, s->in.fn, what, caught, n, live);
}

static void check_adds(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0}, {6, 1, 0}, {7, 0, 0}, {4, 3, 0}, {4, 3, 1}};
    for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct vec_sum s = {.rule = VEC_NEAREST, .overflow = MF_INF, .in = formats[i]};
        const struct sum_look *t = sum_look_of(s.in);
        mutate_pairs(&s, "number", t->number.of, 128, t->max + 1);
        if (s.in.m < 3) {
            mutate_pairs(&s, "step", t->step.of, 128, 124);
            mutate_pairs(&s, "code", t->code.of, 128, t->max);
        } else {
            mutate_pairs(&s, "aligned", t->aligned.of, 128, 60);
            mutate_pairs(&s, "rounded below 128", t->rounded[0].of, 128, 95);
            mutate_pairs(&s, "rounded from 128 on", t->rounded[1].of, 128, 32);
            mutate_pairs(&s, "code", t->code_low, 64, 8);
        }
    }
}

int main(void)
{
    if (!vec_isa_table(VEC_AVX512VBMI, &ops))
        SKIP("this CPU has no AVX-512 with VBMI and VNNI");
    check_adds();
    DONE();
}
