/* test_card_near.c : sums of near ranks, added by a card, have the bits of the sum of all codes, in
 * every format that card_near() accepts; and it accepts those whose sums fit a card's format. */
#include "check.h"
#include "hls/arith/philox.h"
#include "hls/core/beat.h"
#include "offload/window/frame.h"

enum { MASTERS = 3, MAX_NEAR = 16 };
static uint64_t n_pairs, n_sums;

static uint32_t sum_of(const struct vec_sum *s, const uint32_t *codes, int n)
{
    uint64_t acc = 0;
    for (int i = 0; i < n; i++)
        acc = mf_acc_add(s->in, acc, codes[i]);
    return mf_acc_round(s->in, acc, s->out_shift, s->out, s->overflow);
}

/* Round 0: the largest number everywhere; 1: the lowest; 2: numbers; 3: any codes. */
static uint32_t draw(struct mf_fmt f, uint64_t key, uint64_t i, int round)
{
    const uint32_t any = philox_u32(key, i), sign = 1u << (f.e + f.m);
    if (round < 2)
        return mf_max(f) | (round ? sign : 0);
    return round == 2 ? any % (mf_max(f) + 1) | (any >> 31 ? sign : 0) : any % (2 * sign);
}

static void compare(const struct vec_sum *sum, int k, const struct vec_sum *near,
                    const struct vec_sum *all)
{
    uint32_t codes[MASTERS * MAX_NEAR], sums[MASTERS];
    const uint64_t key = philox_key(2711, sum->in.e, sum->in.m, (uint32_t)k, sum->out.m);
    for (int round = 0; round < 4; round++)
        for (uint64_t t = 0; t < (round < 2 ? 1 : 60); t++, n_sums++) {
            for (int i = 0; i < MASTERS * k; i++)
                codes[i] = draw(sum->in, key, t * MASTERS * MAX_NEAR + (uint64_t)i, round);
            for (int i = 0; i < MASTERS; i++)
                sums[i] = sum_of(near, codes + i * k, k);
            const uint32_t got = sum_of(all, sums, MASTERS), want = sum_of(sum, codes, MASTERS * k);
            CHECK(got == want, "e%dm%d flavour %d, %d ranks, / 2^%d: %x, not %x", sum->in.e,
                  sum->in.m, sum->in.flavour, k, sum->out_shift, got, want);
        }
}

static unsigned larger(struct mf_fmt a, struct mf_fmt b)
{
    return mf_width(a) > mf_width(b) ? mf_width(a) : mf_width(b);
}

static void try_all(void)
{
    static const struct mf_fmt outs[] = {
        {4, 3, MF_IEEE}, {3, 0, MF_IEEE}, {2, 5, MF_NUMBERS}, {5, 10, MF_IEEE}, {1, 6, MF_NUMBERS}};
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int k = 1; k <= MAX_NEAR; k++)
            for (int i = 0; i < 5 * 4 * 2 && beat_format(byte).width; i++) {
                const struct vec_sum sum = {.rule = VEC_EXACT,
                                            .overflow = i % 2 ? MF_INF : MF_SATURATE,
                                            .in = beat_format(byte).fmt,
                                            .out = outs[i / 2 % 5],
                                            .out_shift = i / 10 * 2,
                                            .n_ranks = MASTERS * k};
                struct vec_sum near, all;
                if (!card_near(&sum, MASTERS * k, k, false, &near, &all))
                    continue;
                n_pairs++;
                CHECK(k > 1 && larger(near.out, sum.out) < (unsigned)k * larger(sum.in, sum.out),
                      "more bits");
                compare(&sum, k, &near, &all);
            }
}

/* Bits of the sums of k near ranks of n, or 0. */
static unsigned bits_of(struct mf_fmt in, struct mf_fmt out, int shift, int k, int n, bool grouped)
{
    const struct vec_sum sum = {
        .rule = VEC_EXACT, .in = in, .out = out, .out_shift = shift, .n_ranks = n};
    struct vec_sum near, all;
    return card_near(&sum, n, k, grouped, &near, &all) ? mf_width(near.out) : 0;
}
static unsigned bits(struct mf_fmt in, struct mf_fmt out, int shift, int k, int n)
{
    return bits_of(in, out, shift, k, n, false);
}

int main(void)
{
    const struct mf_fmt e3m0 = {3, 0, MF_IEEE}, e4m3 = {4, 3, MF_IEEE}, e3m4 = {3, 4, MF_IEEE},
                        e5m10 = {5, 10, MF_IEEE}, e2m5f = {2, 5, MF_NUMBERS},
                        e2m1f = {2, 1, MF_NUMBERS};
    try_all();
    CHECK(bits(e3m0, e3m0, 0, 4, 8) == 0 && bits(e3m0, e3m0, 0, 5, 10) == 16 &&
              bits(e3m0, e3m0, 0, 64, 128) == 16 && bits(e3m0, e3m0, 0, 65, 130) == 0,
          "e3m0");
    CHECK(bits(e3m0, e4m3, 0, 2, 4) == 0 && bits(e3m0, e4m3, 0, 3, 6) == 16 &&
              bits_of(e3m0, e4m3, 0, 3, 6, true) == 0 && bits_of(e3m0, e4m3, 0, 5, 10, true) == 16,
          "longer results; one for all");
    CHECK(bits(e2m5f, e2m5f, 0, 2, 4) == 0 && bits(e2m5f, e2m5f, 0, 3, 6) == 16 &&
              bits(e2m5f, e2m5f, 0, 8, 16) == 16 && bits(e2m5f, e2m5f, 0, 9, 18) == 0,
          "e2m5f");
    CHECK(bits(e3m4, e3m4, 0, 2, 4) == 0 && bits(e3m4, e5m10, 0, 2, 4) == 16 &&
              bits(e3m4, e3m4, 0, 3, 6) == 0,
          "e3m4");
    CHECK(bits(e2m1f, e4m3, 0, 2, 4) == 8 && bits(e2m1f, e2m1f, 3, 4, 8) == 8 &&
              bits(e2m1f, e2m1f, 0, 4, 8) == 0,
          "e2m1f");
    CHECK(bits(e4m3, e4m3, 0, 3, 6) == 0 && bits(e2m5f, e2m5f, 0, 3, 7) == 0,
          "longer sums; a rank left over");
    CHECK(bits(e2m5f, e2m5f, 0, 2, 64) == 0 && bits(e3m4, e3m4, 0, 2, 64) == 0 &&
              bits(e3m0, e3m0, 0, 4, 128) == 16 && bits(e3m0, e3m0, 0, 4, 132) == 0 &&
              bits(e2m1f, e2m1f, 4, 2, 128) == 8 && bits(e2m1f, e2m1f, 4, 2, 130) == 0,
          "more than 64 ranks: 32 sums in fp16, 64 in other formats");
    printf("%llu formats and numbers of ranks, %llu sums\n", (unsigned long long)n_pairs,
           (unsigned long long)n_sums);
    CHECK(n_pairs > 300, "too few");
    DONE();
}
