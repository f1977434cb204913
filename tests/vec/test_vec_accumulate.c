/* test_vec_accumulate.c : the plain backend's sums equal the rules written over mf.h; wide
 * partial sums lose nothing. */
#include "base/bits.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "vec/pack.h"
#include "vec/vec.h"
#include <math.h>
#include <string.h>

enum { N = 777, MAX_P = 9, GUARD = 16, SEED = 3 };

static uint32_t fp32_sum(const struct vec_sum *s, const uint32_t *codes, int p, struct mf_fmt out)
{
    float acc = 0;
    for (int r = 0; r < p; r++)
        acc += float_of(mf_dec(s->in, codes[r], 0));
    return mf_enc(out, isnan(acc) ? 0x7fc00000 : bits_of(acc), 0, MF_NEAREST, s->overflow, 0);
}

static uint32_t negated(struct mf_fmt f, uint32_t code)
{
    return code ^ 1u << (f.e + f.m);
}

static uint32_t kahan_sum(const struct vec_sum *s, const uint32_t *codes, int p)
{
    const struct mf_fmt f = s->in;
    uint32_t sum = 0, excess = 0;
    for (int r = 0; r < p; r++) {
        uint32_t addend = mf_add(f, codes[r], negated(f, excess), s->overflow);
        uint32_t next = mf_add(f, sum, addend, s->overflow);
        uint32_t taken = mf_add(f, next, negated(f, sum), s->overflow);
        excess = mf_add(f, taken, negated(f, addend), s->overflow);
        sum = next;
    }
    return sum;
}

static uint32_t want_sum(const struct vec_sum *s, const uint32_t *codes, int p, struct mf_fmt out,
                         int shift)
{
    uint64_t exact = 0;
    uint32_t acc = 0;
    if (s->rule == VEC_FP32)
        return fp32_sum(s, codes, p, out);
    if (s->rule == VEC_KAHAN)
        acc = kahan_sum(s, codes, p);
    for (int r = 0; r < p; r++) {
        if (s->rule == VEC_EXACT)
            exact = mf_acc_add(s->in, exact, codes[r]);
        if (s->rule == VEC_NEAREST)
            acc = mf_add(s->in, acc, codes[r], s->overflow);
        if (s->rule == VEC_TRUNC)
            acc = mf_e5m2_trunc_add(acc, codes[r]);
    }
    if (s->rule == VEC_EXACT)
        return mf_acc_round(s->in, exact, shift, out, s->overflow);
    uint32_t bits = mf_dec(s->in, acc, 0);
    return mf_enc(out, (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits, -shift, MF_NEAREST,
                  s->overflow, 0);
}

static uint32_t codes[MAX_P][N];
static uint8_t packed[MAX_P][N * 4 + 1];

static void fill(struct mf_fmt fmt, bool any)
{
    for (int r = 0; r < MAX_P; r++) {
        for (size_t i = 0; i < N; i++) {
            codes[r][i] =
                philox_u32(SEED + fmt.e * 32u + fmt.m, (uint64_t)r * N + i) >> (32 - mf_width(fmt));
            if (!any && (codes[r][i] & mf_nan(fmt)) > mf_max(fmt))
                codes[r][i] = 1;
            if (i == 5)
                codes[r][i] = 1u << (mf_width(fmt) - 1); /* -0 on every rank */
        }
        pack_write(mf_width(fmt), codes[r], N, packed[r] + 1);
    }
}

static void *acc_of(const struct vec_sum *s)
{
    size_t bytes = vec_acc_bytes(s, N);
    uint8_t *acc = aligned_alloc(8, (bytes + 2 * GUARD + 7) & ~(size_t)7);
    return memset(acc, 0xa5, bytes + GUARD); /* `first` overwrites old contents */
}

static void check_finish(const struct vec_sum *s, const void *acc, int p, struct mf_fmt out,
                         int shift)
{
    uint8_t box[N * 4 + GUARD];
    uint32_t got[N];
    memset(box, 0xa5, sizeof box);
    vec_plain.finish(s, acc, N, out, shift, box + 1);
    pack_read(mf_width(out), box + 1, N, got);
    for (size_t i = 0; i < N; i++) {
        uint32_t column[MAX_P];
        for (int r = 0; r < p; r++)
            column[r] = codes[r][i];
        uint32_t want = want_sum(s, column, p, out, shift);
        if ((want & mf_nan(out)) == 0)
            want = 0; /* a zero sum is +0, also after rounding */
        CHECK(got[i] == want, "rule %d e%um%u -> e%um%u shift %d p %d: %zu is %x, want %x",
              (int)s->rule, s->in.e, s->in.m, out.e, out.m, shift, p, i, got[i], want);
    }
    for (size_t i = vec_bytes(out, N) + 1; i < sizeof box; i++)
        CHECK(box[i] == 0xa5, "finish wrote byte %zu", i);
}

static void check_peak(struct mf_fmt f)
{
    uint32_t want = 0;
    for (size_t i = 0; i < N; i++)
        want = (codes[0][i] & mf_nan(f)) > want ? codes[0][i] & mf_nan(f) : want;
    CHECK(vec_plain.peak(f, packed[0] + 1, N) == want, "the peak of e%um%u is %x, want %x", f.e,
          f.m, vec_plain.peak(f, packed[0] + 1, N), want);
}

static void check_rule(struct vec_sum s, int p, int shift)
{
    uint8_t *acc = acc_of(&s);
    fill(s.in, s.rule != VEC_TRUNC); /* trunc is not defined for nan */
    check_peak(s.in);
    for (int r = 0; r < p; r++)
        vec_plain.accumulate(&s, acc, packed[r] + 1, N, r == 0);
    for (size_t i = vec_acc_bytes(&s, N); i < vec_acc_bytes(&s, N) + GUARD; i++)
        CHECK(acc[i] == 0xa5, "accumulate wrote beyond");
    check_finish(&s, acc, p, s.out, shift);
    check_finish(&s, acc, p, s.in, 0);
    free(acc);
}

static void check_rules(void)
{
    static const struct mf_fmt ins[] = {{5, 2, 0}, {4, 3, 0}, {4, 3, 1},  {3, 0, 0}, {2, 1, 0},
                                        {1, 1, 0}, {3, 2, 0}, {5, 10, 0}, {8, 7, 0}, {8, 23, 0},
                                        {6, 9, 0}, {2, 5, 2}, {2, 1, 2},  {3, 2, 2}, {5, 2, 1}};
    static const struct mf_fmt outs[] = {{4, 3, 0}, {8, 23, 0}, {3, 0, 0}, {5, 2, 0}, {2, 5, 2}};
    for (unsigned i = 0; i < sizeof ins / sizeof ins[0]; i++)
        for (unsigned o = 0; o < 5; o++)
            for (int p = 1; p <= MAX_P; p += 4)
                for (int policy = 0; policy < 2; policy++) {
                    struct vec_sum s = {.overflow = policy ? MF_INF : MF_SATURATE,
                                        .in = ins[i],
                                        .out = outs[o],
                                        .n_ranks = p};
                    for (s.rule = VEC_EXACT; s.rule < VEC_TRUNC; s.rule++)
                        if (s.rule != VEC_EXACT || s.in.e <= 5)
                            check_rule(s, p,
                                       s.rule == VEC_EXACT     ? p / 4
                                       : s.rule == VEC_NEAREST ? p / 4 - 1
                                                               : 0);
                    s.rule = VEC_TRUNC;
                    if (i == 0)
                        check_rule(s, p, 0);
                }
}

static void check_wide(struct mf_fmt fmt, int n_ranks)
{
    const struct vec_sum s = {.rule = VEC_EXACT, .in = fmt, .out = fmt, .n_ranks = n_ranks};
    uint64_t *one = acc_of(&s), *group = acc_of(&s), *merged = acc_of(&s);
    uint8_t *wide = malloc(vec_wide_bytes(&s, N) + GUARD);
    const int p = n_ranks < MAX_P ? n_ranks : MAX_P, half = (p + 1) / 2;
    fill(fmt, n_ranks % 2);
    for (int r = 0; r < p; r++)
        vec_plain.accumulate(&s, one, packed[r] + 1, N, r == 0);
    for (int g = 0; g < p; g += half) {
        for (int r = g; r < p && r < g + half; r++)
            vec_plain.accumulate(&s, group, packed[r] + 1, N, r == g);
        memset(wide, 0xa5, vec_wide_bytes(&s, N) + GUARD);
        vec_plain.spill(&s, group, N, wide);
        for (size_t i = 0; i < GUARD; i++)
            CHECK(wide[vec_wide_bytes(&s, N) + i] == 0xa5, "spill wrote beyond");
        vec_plain.accumulate_wide(&s, merged, wide, N, g == 0);
    }
    for (size_t i = 0; i < N; i++) /* a wide word of inf or nan drops the finite addends */
        CHECK(one[i] >> 62 ? one[i] >> 62 == merged[i] >> 62 : one[i] == merged[i],
              "e%um%u, %d ranks: sum %zu: %llx became %llx", fmt.e, fmt.m, n_ranks, i,
              (unsigned long long)one[i], (unsigned long long)merged[i]);
    free(one), free(group), free(merged), free(wide);
}

static void check_wide_limits(struct mf_fmt fmt, int n_ranks)
{
    const struct vec_sum s = {.rule = VEC_EXACT, .in = fmt, .out = fmt, .n_ranks = n_ranks};
    const uint64_t mask = ((uint64_t)1 << 62) - 1;
    const uint64_t top = (mf_acc_add(fmt, 0, mf_max(fmt)) & mask) * (uint64_t)n_ranks;
    const uint64_t acc[] = {top, (0 - top) & mask, (uint64_t)1 << 62, (uint64_t)2 << 62,
                            (uint64_t)3 << 62};
    enum { N_ACC = sizeof acc / sizeof acc[0] };
    uint64_t back[N_ACC];
    uint8_t wide[N_ACC * 8];
    vec_plain.spill(&s, acc, N_ACC, wide);
    vec_plain.accumulate_wide(&s, back, wide, N_ACC, true);
    CHECK(memcmp(acc, back, sizeof acc) == 0, "e%um%u of %d ranks at the limit: %llx became %llx",
          fmt.e, fmt.m, n_ranks, (unsigned long long)acc[1], (unsigned long long)back[1]);
}

static void check_wide_bytes(struct mf_fmt fmt, int n_ranks, size_t bits)
{
    const struct vec_sum s = {.rule = VEC_EXACT, .in = fmt, .n_ranks = n_ranks};
    CHECK(vec_wide_bytes(&s, 8) == bits && vec_wide_bytes(&s, 1001) == (1001 * bits + 7) / 8,
          "e%um%u of %d ranks: %zu bits, want %zu", fmt.e, fmt.m, n_ranks, vec_wide_bytes(&s, 8),
          bits);
}

int main(void)
{
    printf("seed %d\n", SEED);
    const struct mf_fmt e5m2 = {5, 2, 0}, e4m3 = {4, 3, 0}, e4m3fn = {4, 3, 1}, e3m0 = {3, 0, 0},
                        half = {5, 10, 0};
    check_rules();
    const struct mf_fmt wide[] = {e5m2, e4m3, e4m3fn, e3m0, half, {1, 1, 0}};
    for (unsigned i = 0; i < sizeof wide / sizeof wide[0]; i++)
        for (int p = 1; p <= 33; p++) {
            check_wide(wide[i], p);
            check_wide_limits(wide[i], p);
        }
    check_wide_limits(half, 1 << 21);
    check_wide_bytes(e5m2, 1, 34); /* as for 2 ranks */
    check_wide_bytes(e5m2, 2, 34);
    check_wide_bytes(e5m2, 8, 36);
    check_wide_bytes(e5m2, 33, 39);
    check_wide_bytes(e4m3, 8, 21);
    check_wide_bytes(e4m3fn, 8, 22);
    check_wide_bytes(e3m0, 8, 10);
    check_wide_bytes(half, 32, 46);
    check_wide_bytes(half, 1 << 21, 62);
    DONE();
}
