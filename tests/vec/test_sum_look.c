/* test_sum_look.c : any wrong entry in a table for adding bytes makes sums differ from mf.h's. */
#include "check.h"
#include "hls/arith/philox.h"
#include "vec/sum/sum_dot.h"
#include "vec/sum/sum_nibble.h"
#include "vec/vec_isa.h"
#include <string.h>

enum { PAIRS = 1 << 16, RANKS = 5, SEED = 3 };

static struct vec_ops ops;

static uint8_t codes[RANKS][PAIRS], want[PAIRS];

static void sum_all(const struct vec_ops *by, const struct vec_sum *s, uint8_t *out)
{
    const uint8_t *parts[RANKS];
    for (int r = 0; r < RANKS; r++)
        parts[r] = codes[r];
    if (s->rule == VEC_NEAREST) {
        memcpy(out, codes[0], PAIRS);
        by->add(s, out, codes[1], PAIRS);
    } else if (mf_width(s->in) == 8) {
        by->sum(s, parts, 2, PAIRS, s->in, 0, out);
    } else {
        by->sum(s, parts, RANKS, 2 * PAIRS, s->in, 0, out);
    }
}

static bool differs(const struct vec_sum *s)
{
    static uint8_t got[PAIRS];
    sum_all(&ops, s, got);
    return memcmp(got, want, PAIRS) != 0;
}

/* Makes each entry in turn one too large. At least `live` changes must be noticed; no sum uses the
 * other entries. */
static void mutate(const struct vec_sum *s, const char *what, const uint8_t *table, size_t n,
                   int live)
{
    uint8_t *entry = (uint8_t *)(uintptr_t)table; /* the table is not const */
    int caught = 0;
    sum_all(&vec_plain, s, want);
    CHECK(!differs(s), "e%um%u: sums differ without a mutant", s->in.e, s->in.m);
    for (size_t i = 0; i < n; i++) {
        entry[i]++;
        caught += differs(s);
        entry[i]--;
    }
    CHECK(caught >= live, "e%um%u fn %u: %s: %d of %zu wrong entries are noticed, want %d", s->in.e,
          s->in.m, s->in.flavour, what, caught, n, live);
}

static void check_adds(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0}, {6, 1, 0}, {7, 0, 0}, {4, 3, 0}, {4, 3, 1}};
    for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct vec_sum s = {.rule = VEC_NEAREST, .overflow = MF_INF, .in = formats[i]};
        const struct sum_look *t = sum_look_of(s.in);
        mutate(&s, "number", t->number.of, 128, t->max + 1);
        if (s.in.m < 3) {
            mutate(&s, "step", t->step.of, 128, 124);
            mutate(&s, "code", t->code.of, 128, t->max);
        } else {
            mutate(&s, "aligned", t->aligned.of, 128, 60);
            mutate(&s, "rounded below 128", t->rounded[0].of, 128, 95);
            mutate(&s, "rounded from 128 on", t->rounded[1].of, 128, 32);
            mutate(&s, "code", t->code_low, 64, 8);
        }
    }
}

static void check_dots(void)
{
    static const struct mf_fmt formats[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1}, {3, 4, 0}, {2, 5, 0}};
    for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct vec_sum s = {
            .rule = VEC_EXACT, .in = formats[i], .out = formats[i], .n_ranks = 2};
        const struct sum_dot_tables *t = sum_dot_tables_of(s.in);
        const int specials = s.in.flavour == MF_IEEE ? 64 >> s.in.e : 0; /* times sig 0 */
        mutate(&s, "sig", t->sig.of, 128, t->special);
        for (int v = 0; v < t->n_windows; v++)
            mutate(&s, "power", t->power[v], 64, 64 - specials);
    }
}

static void check_nibbles(void)
{
    static const struct mf_fmt formats[] = {{3, 0, 0}, {2, 1, 0}, {1, 2, 0}};
    static const int sums[] = {128, 54, 26}; /* entries that sums of RANKS codes reach */
    for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct vec_sum s = {
            .rule = VEC_EXACT, .in = formats[i], .out = formats[i], .n_ranks = RANKS};
        const struct sum_nibble *t = sum_nibble_of(s.in, s.overflow);
        mutate(&s, "value", t->value, 64, 8 * (int)(mf_max(s.in) + 1));
        mutate(&s, "seen", t->seen, 64, 64);
        mutate(&s, "special", t->special, 64, 3);
        mutate(&s, "code", t->code.of, 128, sums[i]);
    }
}

int main(void)
{
    if (!vec_isa_table(VEC_AVX512VBMI, &ops))
        SKIP("this CPU has no AVX-512 with VBMI and VNNI");
    printf("seed %d\n", SEED);
    for (uint32_t i = 0; i < PAIRS; i++) {
        codes[0][i] = (uint8_t)(i >> 8);
        codes[1][i] = (uint8_t)i;
        for (uint32_t r = 2; r < RANKS; r++)
            codes[r][i] = (uint8_t)philox_u32(SEED, r * PAIRS + i);
    }
    check_adds();
    check_dots();
    check_nibbles();
    DONE();
}
