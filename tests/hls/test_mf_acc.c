/* test_mf_acc.c : compares exact sums with __int128, and exponents for scaling with their
 * definitions: all pairs of 4- and 8-bit codes; 2..300 random terms of every format with e <= 5
 * and m <= 10, in any order and along any tree. `quick`: fewer of each. */
#include "check.h"
#include "hls/arith/philox.h"
#include "mf_slow.h"

#define MAX_TERMS 300

struct random {
    uint64_t key, at;
};
static uint32_t draw(struct random *r, uint32_t below)
{
    return (uint32_t)(philox_u32(r->key, r->at++) % below);
}

/* In units of the smallest subnormal. */
static int64_t units(struct mf_fmt f, uint32_t code)
{
    uint32_t sign = 1u << (f.e + f.m);
    int64_t v = (int64_t)ldexpl(slow_magnitude(f, code % sign), f.m - slow_lowest(f));
    return code & sign ? -v : v;
}

/* Rounds units / 2^shift to nearest in out's format; zero is +0. */
static uint32_t round_by_definition(struct mf_fmt in, __int128 sum, int shift, struct slow *out,
                                    enum mf_overflow overflow)
{
    long double v = ldexpl((long double)(int64_t)sum, slow_lowest(in) - in.m - shift);
    uint32_t code = slow_enc(out, v, MF_NEAREST, overflow, 0);
    return code == 1u << (out->f.e + out->f.m) ? 0 : code;
}

/* mf_add's own test covers all values. */
static void check_all_pairs(struct mf_fmt f)
{
    uint32_t n_codes = 1u << mf_width(f), sign = n_codes / 2;
    for (uint32_t a = 0; a < n_codes; a++)
        for (uint32_t b = 0; b < n_codes; b++) {
            uint64_t acc = mf_acc_add(f, mf_acc_add(f, 0, a), b);
            for (int o = MF_SATURATE; o <= MF_INF; o++) {
                uint32_t got = mf_acc_round(f, acc, 0, f, (enum mf_overflow)o),
                         want = mf_add(f, a, b, (enum mf_overflow)o);
                CHECK(got == want, "e%um%u fn %u, overflow %d: %x + %x = %x, must be %x", f.e, f.m,
                      f.flavour, o, a, b, got, want);
            }
            if (a % sign < slow_n_finite(f) && b % sign < slow_n_finite(f)) {
                uint64_t want = (uint64_t)(units(f, a) + units(f, b)) & MF_ACC_SUM;
                CHECK(acc == want, "e%um%u: %x + %x = %llx units", f.e, f.m, a, b,
                      (unsigned long long)acc);
            }
        }
}

static uint64_t tree(struct mf_fmt f, const uint32_t *code, uint32_t n, struct random *r)
{
    if (n == 1)
        return mf_acc_add(f, 0, code[0]);
    uint32_t cut = 1 + draw(r, n - 1);
    uint64_t left = tree(f, code, cut, r), right = tree(f, code + cut, n - cut, r);
    return mf_acc_merge(left, right);
}

/* kind 0: any code; 1: large, of one sign; 2: small; 3: pairs that cancel, except the last. */
static void draw_terms(struct mf_fmt f, uint32_t *code, uint32_t n, uint32_t kind, struct random *r)
{
    uint32_t sign = 1u << (f.e + f.m), n_finite = slow_n_finite(f);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t mag = draw(r, n_finite);
        if (kind == 1)
            mag = n_finite - 1 - mag / 8;
        if (kind == 2)
            mag /= 16;
        code[i] = mag + (kind != 1 && draw(r, 2) ? sign : 0);
        if (kind == 3 && i % 2)
            code[i] = code[i - 1] ^ sign;
    }
}

static void shuffle(uint32_t *code, uint32_t n, struct random *r)
{
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = draw(r, i + 1), t = code[i];
        code[i] = code[j];
        code[j] = t;
    }
}

static void check_random_sum(struct mf_fmt f, struct slow *out, struct random *r)
{
    uint32_t code[MAX_TERMS], n = 2 + draw(r, MAX_TERMS - 1);
    draw_terms(f, code, n, draw(r, 4), r);
    __int128 sum = 0;
    uint64_t in_order = 0, shuffled = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += units(f, code[i]);
        in_order = mf_acc_add(f, in_order, code[i]);
    }
    shuffle(code, n, r);
    for (uint32_t i = 0; i < n; i++)
        shuffled = mf_acc_add(f, shuffled, code[i]);
    CHECK(in_order == ((uint64_t)sum & MF_ACC_SUM), "e%um%u: sum of %u terms", f.e, f.m, n);
    CHECK(in_order == shuffled, "e%um%u: order matters", f.e, f.m);
    CHECK(in_order == tree(f, code, n, r), "e%um%u: the tree matters", f.e, f.m);
    __int128 half_range = (__int128)1 << (mf_acc_bits(f, n) - 1);
    CHECK(-half_range <= sum && sum < half_range, "e%um%u: %u terms need more than %d bits", f.e,
          f.m, n, mf_acc_bits(f, n));
    for (int shift = 0; shift < 10; shift++) {
        enum mf_overflow overflow = shift % 2 ? MF_INF : MF_SATURATE;
        uint32_t got = mf_acc_round(f, in_order, shift, out->f, overflow);
        uint32_t want = round_by_definition(f, sum, shift, out, overflow);
        CHECK(got == want, "e%um%u: %lld units / 2^%d into e%um%u: %x, must be %x", f.e, f.m,
              (long long)sum, shift, out->f.e, out->f.m, got, want);
    }
}

static void check_random_sums(int n_outs, int n_sums)
{
    for (uint8_t e = 1; e <= 5; e++)
        for (uint8_t m = 0; m <= 10; m++)
            for (uint8_t flavour = MF_IEEE; flavour <= (m > 0 ? MF_NUMBERS : MF_IEEE); flavour++) {
                struct mf_fmt f = {e, m, flavour};
                struct random r = {philox_key(3, e, m, flavour, 0), 0};
                for (int i = 0; i < n_outs; i++) {
                    struct mf_fmt to[] = {f,          {4, 3, 0}, {4, 3, 1}, {2, 5, 2},
                                          {8, 23, 0}, {5, 2, 0}, {0, 0, 0}};
                    to[6].e = (uint8_t)(1 + draw(&r, 8));
                    to[6].m = (uint8_t)draw(&r, 24);
                    struct slow out = slow_open(to[i < 7 ? i : 6]);
                    for (int k = 0; k < n_sums; k++)
                        check_random_sum(f, &out, &r);
                    slow_close(&out);
                }
            }
}

/* Sums in formats with up to 23 mantissa bits, which have too many codes for mf_slow.h; they fit 62
 * bits, and gcc converts int64 to float with one rounding to nearest. */
static void check_long_mantissas(int n_sums)
{
    for (uint8_t e = 2; e <= 5; e++)
        for (uint8_t m = 11; m <= 23; m++) {
            const struct mf_fmt f = {e, m, 0};
            struct random r = {philox_key(7, e, m, 0, 0), 0};
            const int unit = 1 - mf_bias(f) - m;
            for (int k = 0; k < n_sums; k++) {
                const uint32_t n = 1 + draw(&r, 64);
                uint64_t acc = 0;
                int64_t sum = 0;
                for (uint32_t i = 0; i < n; i++) {
                    const uint32_t code = draw(&r, mf_special(f)) | draw(&r, 2) << (e + m);
                    acc = mf_acc_add(f, acc, code);
                    sum += (int64_t)ldexp(float_of(mf_dec(f, code, 0)), -unit);
                }
                const float want = ldexpf((float)sum, unit);
                const float got = float_of(mf_acc_round(f, acc, 0, mf_fp32(), MF_SATURATE));
                CHECK(got == want, "e%um%u: %lld units: %a, must be %a", e, m, (long long)sum,
                      (double)got, (double)want);
            }
        }
}

/* The worst case fits; a power of two needs every bit. */
static void check_bits_of(struct mf_fmt f, uint32_t n)
{
    __int128 most = (__int128)units(f, slow_n_finite(f) - 1) * n;
    int bits = mf_acc_bits(f, n);
    CHECK(most < (__int128)1 << (bits - 1), "e%um%u: %u terms do not fit %d bits", f.e, f.m, n,
          bits);
    if ((n & (n - 1)) == 0 && f.m > 1)
        CHECK(most >= (__int128)1 << (bits - 2), "e%um%u: %u terms fit less than %d bits", f.e, f.m,
              n, bits);
}

static void check_bits(void)
{
    for (uint8_t e = 1; e <= 5; e++)
        for (uint8_t m = 1; m <= 10; m++)
            for (uint8_t flavour = MF_IEEE; flavour <= MF_NUMBERS; flavour++)
                for (uint32_t n = 1; n <= 1u << 17; n *= 2) {
                    check_bits_of((struct mf_fmt){e, m, flavour}, n);
                    check_bits_of((struct mf_fmt){e, m, flavour}, n + 1);
                    check_bits_of((struct mf_fmt){e, m, flavour}, 2 * n - 1);
                }
    CHECK(mf_acc_bits((struct mf_fmt){5, 2, 0}, 1) == 33, "e5m2 takes 33 bits + log2 P");
    CHECK(mf_acc_bits((struct mf_fmt){4, 3, 0}, 1) == 18, "e4m3 takes 18 bits + log2 P");
    CHECK(mf_acc_bits((struct mf_fmt){5, 2, 0}, 8192) == 46, "e5m2 of 8192 ranks fits a card");
    CHECK(mf_acc_bits((struct mf_fmt){5, 10, 0}, 32) == 46, "e5m10 of 32 ranks fits a card");
}

/* Places inf and nan among numbers; also converts into other formats. */
static void check_flags(void)
{
    struct mf_fmt e5m2 = {5, 2, 0},
                  outs[] = {{5, 2, 0}, {4, 3, 1}, {3, 0, 0}, {8, 23, 0}, {2, 3, 2}};
    static const uint32_t term[] = {0x3c, 0x7c, 0xfc, 0x7d, 0xff}; /* 1, inf, -inf, nan, -nan */
    static const uint64_t flag[] = {0, MF_ACC_PINF, MF_ACC_NINF, MF_ACC_PINF | MF_ACC_NINF,
                                    MF_ACC_PINF | MF_ACC_NINF};
    for (int i = 0; i < 5 * 5 * 5; i++) {
        int a = i % 5, b = i / 5 % 5, c = i / 25;
        uint64_t acc = mf_acc_add(
            e5m2, mf_acc_merge(mf_acc_add(e5m2, 0, term[a]), mf_acc_add(e5m2, 0, term[b])),
            term[c]);
        uint64_t seen = flag[a] | flag[b] | flag[c];
        CHECK((acc & ~MF_ACC_SUM) == seen, "flags of %x, %x, %x", term[a], term[b], term[c]);
        for (int o = 0; seen && o < 5; o++) {
            uint32_t all_ones = mf_nan(outs[o]), sign = all_ones + 1;
            uint32_t saturated = mf_acc_round(e5m2, acc, o, outs[o], MF_SATURATE),
                     inf = mf_acc_round(e5m2, acc, o, outs[o], MF_INF);
            if (seen == (MF_ACC_PINF | MF_ACC_NINF)) {
                CHECK(saturated == all_ones && inf == all_ones, "nan became %x and %x", saturated,
                      inf);
                continue;
            }
            uint32_t negative = seen == MF_ACC_NINF ? sign : 0;
            CHECK(saturated == negative + slow_beyond(outs[o], MF_SATURATE), "inf saturates to %x",
                  saturated);
            CHECK(inf == negative + slow_beyond(outs[o], MF_INF), "inf stays %x", inf);
        }
    }
    CHECK(mf_acc_round(e5m2, 0, 0, e5m2, MF_INF) == 0, "the empty sum is +0");
    CHECK(mf_acc_round(e5m2, mf_acc_add(e5m2, 0, 0x80), 0, e5m2, MF_INF) == 0, "-0 sums to +0");
    CHECK(mf_acc_round(e5m2, mf_acc_add(e5m2, 0, 0x81), 9, e5m2, MF_INF) == 0,
          "a sum that rounds to zero is +0");
}

static void check_ends(void)
{
    struct mf_fmt e5m10 = {5, 10, 0};
    struct slow fp32 = slow_open((struct mf_fmt){8, 23, 0});
    for (int bit = 0; bit <= 61; bit++)
        for (int64_t near = -2; near <= 2; near++)
            for (int64_t sign = -1; sign <= 1; sign += 2) {
                int64_t sum = sign * ((1ll << bit) + near);
                if (sum < -(1ll << 61) || sum >= 1ll << 61)
                    continue;
                uint32_t got =
                    mf_acc_round(e5m10, (uint64_t)sum & MF_ACC_SUM, bit % 10, fp32.f, MF_INF);
                uint32_t want = round_by_definition(e5m10, sum, bit % 10, &fp32, MF_INF);
                CHECK(got == want, "%lld units: %08x, must be %08x", (long long)sum, got, want);
            }
    slow_close(&fp32);
}

/* t is right if |x| <= limit * 2^t, but not for t - 1. */
static void check_exponents(uint32_t x)
{
    static const struct mf_fmt fmts[] = {{5, 2, 0}, {4, 3, 0},  {4, 3, 1}, {3, 0, 0},
                                         {1, 3, 0}, {8, 23, 0}, {2, 1, 0}, {2, 1, 2},
                                         {5, 1, 1}, {4, 0, 2},  {1, 6, 2}};
    static const uint32_t factor[] = {1, 2, 3, 6, 256, 1000003, 0x80000001, 0xffffffff};
    long double v = float_of(x);
    int t = mf_exp_up_times(x, 1);
    CHECK(v <= ldexpl(1, t) && v > ldexpl(1, t - 1), "exp_up of %08x: %d", x, t);
    uint32_t p = factor[x % 8];
    t = mf_exp_up_times(x, p);
    CHECK(v * p <= ldexpl(1, t) && v * p > ldexpl(1, t - 1), "exp_up of %u * %08x: %d", p, x, t);
    for (size_t i = 0; i < sizeof fmts / sizeof *fmts; i++) {
        long double largest = slow_magnitude(fmts[i], slow_n_finite(fmts[i]) - 1);
        largest = ldexpl(largest, -ilogbl(largest));
        t = mf_exp_tight(fmts[i], x);
        CHECK(v <= ldexpl(largest, t) && v > ldexpl(largest, t - 1),
              "exp_tight of %08x for e%um%u: %d", x, fmts[i].e, fmts[i].m, t);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    bool quick = argc > 1;
    for (uint8_t e = quick ? 5 : 1; e <= 5; e++)
        check_all_pairs((struct mf_fmt){e, (uint8_t)(7 - e), 0});
    for (uint8_t e = 1; e <= 3; e++)
        check_all_pairs((struct mf_fmt){e, (uint8_t)(3 - e), 0});
    for (uint8_t flavour = MF_NO_INF; flavour <= MF_NUMBERS; flavour++)
        for (uint8_t e = 1; e <= 5; e++)
            for (uint8_t m = e == 1 || flavour == MF_NO_INF; e + m <= (quick ? 5 : 7); m++)
                check_all_pairs((struct mf_fmt){e, m, flavour});
    check_random_sums(quick ? 3 : 10, quick ? 10 : 60);
    check_long_mantissas(quick ? 20 : 500);
    check_bits();
    check_flags();
    check_ends();
    for (uint32_t x = 1; x < 0x7f800000; x += quick ? 99991 : 2003)
        check_exponents(x);
    for (uint32_t field = 0; field < 255; field++)
        for (uint32_t near = 0; near < 64; near++) {
            uint32_t x = (field << 23) + ((near / 8) << 20) + near % 8 - 3;
            if (x - 1 < 0x7f7fffff)
                check_exponents(x);
        }
    DONE();
}
