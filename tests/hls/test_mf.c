/* test_mf.c : checks mf_enc and mf_dec in every format where the result changes. Up to 16 bits:
 * each code's value and the midpoint to the next, +-2 ulp of fp32. Wider formats: around sampled
 * codes of every binade. `quick`: formats of up to 10 bits. */
#include "check.h"
#include "mf_slow.h"

#define N_RANDOM 5
static const uint32_t random_bits[N_RANDOM] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
static const enum mf_overflow policies[2] = {MF_SATURATE, MF_INF};

static uint64_t n_checked;

/* v: x * 2^shift, computed once for all roundings. */
static void check_enc(struct slow *s, uint32_t x, int shift, long double v, enum mf_round round,
                      enum mf_overflow overflow)
{
    struct mf_fmt f = s->f;
    uint32_t random = random_bits[n_checked++ % N_RANDOM];
    uint32_t got = mf_enc(f, x, shift, round, overflow, random),
             want = slow_enc(s, v, round, overflow, random);
    CHECK(got == want,
          "e%um%u fn %u: %08x * 2^%d, round %d, overflow %d, random %08x: %x, must be %x", f.e, f.m,
          f.flavour, x, shift, round, overflow, random, got, want);
}

/* everything: by both overflow policies; else they alternate, since only the top needs both. */
static void check_roundings(struct slow *s, uint32_t x, int shift, bool everything)
{
    long double v = ldexpl(float_of(x), shift);
    for (int round = MF_NEAREST; round <= MF_ZERO; round++) {
        check_enc(s, x, shift, v, (enum mf_round)round, policies[n_checked % 2]);
        if (everything)
            check_enc(s, x, shift, v, (enum mf_round)round, policies[n_checked % 2]);
    }
}

static void check_near(struct slow *s, long double target, int shift, bool at_top)
{
    uint32_t x = bits_of((float)ldexpl(target, -shift));
    for (uint32_t near = x < 2 ? 0 : x - 2; near <= x + 2; near++) {
        check_roundings(s, near, shift, at_top);
        check_roundings(s, near | 0x80000000, shift, at_top);
    }
}

/* Shifts: none, and ones that make x small, about 1, an fp32 subnormal, or nearly too large for
 * fp32. */
static void check_code(struct slow *s, uint32_t mag)
{
    long double low = slow_magnitude(s->f, mag), high = slow_magnitude(s->f, mag + 1);
    int top = ilogbl(high), shifts[4] = {top + 10, top, top + 140, top - 126};
    bool at_top = mag + 2 >= s->n;
    check_near(s, low, 0, at_top);
    check_near(s, (low + high) / 2, 0, at_top);
    check_near(s, (low + high) / 2, shifts[mag % 4], at_top);
}

/* All codes of a small format; of a wide one the ends and middle of each binade, and some
 * between. */
static void check_boundaries(struct mf_fmt f)
{
    struct slow s = slow_open(f);
    if (s.value)
        for (uint32_t mag = 0; mag <= s.n; mag++)
            check_code(&s, mag);
    else
        for (uint32_t field = 0; field < s.n >> f.m; field++) {
            uint32_t half = 1u << f.m >> 1, last = 2 * half - 1;
            uint32_t fracs[] = {0, 1, half / 3, half - 1, half, half + half / 7, last - 1, last};
            for (size_t i = 0; i < sizeof fracs / sizeof *fracs; i++)
                check_code(&s, (field << f.m) + fracs[i]);
        }
    static const uint32_t odd[] = {0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff,
                                   0x7f7fffff, 0x00000001, 0x007fffff, 0};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int shift = -400; shift <= 400; shift += 40) {
            check_roundings(&s, odd[i], shift, true);
            check_roundings(&s, odd[i] | 0x80000000, shift, true);
        }
    slow_close(&s);
}

static void check_reference(struct mf_fmt f)
{
    struct slow s = slow_open(f), wide = s;
    wide.value = NULL;
    for (uint32_t mag = 0; s.value && mag <= s.n; mag++)
        for (int part = 0; part < 8; part++)
            for (int round = MF_NEAREST; round <= MF_ZERO; round++) {
                long double low = slow_magnitude(f, mag),
                            x = low + (slow_magnitude(f, mag + 1) - low) * part / 8;
                uint32_t a = slow_enc(&s, x, (enum mf_round)round, MF_INF, 0x7fffffff);
                uint32_t b = slow_enc(&wide, x, (enum mf_round)round, MF_INF, 0x7fffffff);
                CHECK(a == b, "e%um%u fn %u: slow references differ on %Lg: %x, %x", f.e, f.m,
                      f.flavour, x, a, b);
            }
    slow_close(&s);
}

/* mf_enc undoes mf_dec. Wide formats: every 9973rd code. */
static void check_dec(struct mf_fmt f)
{
    static const int shifts[] = {0,    1,   -1,   20,  -20,  126, -126, 140,
                                 -140, 160, -160, 300, -300, 400, -400};
    uint32_t step = mf_width(f) > 16 ? 9973 : 1;
    uint64_t end = 1ull << mf_width(f);
    for (uint64_t code = 0; code < end; code += step) {
        uint32_t c = (uint32_t)code, x = mf_dec(f, c, 0),
                 back = mf_enc(f, x, 0, MF_NEAREST, MF_INF, 0);
        long double v = slow_dec(f, c);
        n_checked++;
        if (isnan(v)) {
            CHECK(isnan(float_of(x)) && (back & mf_nan(f)) == mf_nan(f), "nan %x: %08x, %x", c, x,
                  back);
            continue;
        }
        CHECK(x == bits_of((float)v), "e%um%u: code %x is %08x, must be %Lg", f.e, f.m, c, x, v);
        CHECK(back == c, "e%um%u: code %x came back as %x", f.e, f.m, c, back);
        for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++)
            if (i == c % (sizeof shifts / sizeof *shifts) || mf_width(f) <= 8) {
                uint32_t want = bits_of((float)ldexpl(v, shifts[i])), got = mf_dec(f, c, shifts[i]);
                CHECK(got == want, "e%um%u: code %x * 2^%d: %08x, must be %08x", f.e, f.m, c,
                      shifts[i], got, want);
            }
    }
}

/* Small random words round up. Their share is the lost fraction of a unit, within one of 2^32
 * words. Bisection covers all words. */
static void check_stochastic(struct mf_fmt f, uint32_t x, int shift)
{
    uint32_t down = mf_enc(f, x, shift, MF_ZERO, MF_INF, 0);
    long double v = ldexpl(float_of(x), shift), low = slow_magnitude(f, down),
                high = slow_magnitude(f, down + 1);
    if (v >= high || (f.flavour == MF_NUMBERS && down == mf_max(f)))
        return; /* beyond the largest finite number */
    uint64_t from = 0, to = 1ull << 32;
    while (from < to) {
        uint64_t mid = (from + to) / 2;
        if (mf_enc(f, x, shift, MF_STOCHASTIC, MF_INF, (uint32_t)mid) != down)
            from = mid + 1;
        else
            to = mid;
    }
    long double want = (v - low) / (high - low) * 4294967296.0L;
    CHECK(fabsl((long double)from - want) < 1,
          "e%um%u: %08x * 2^%d goes up for %llu words, must be %.3Lf", f.e, f.m, x, shift,
          (unsigned long long)from, want);
    CHECK(v != low || from == 0, "an exact value moves");
}

static void check_known(void)
{
    static const struct {
        struct mf_fmt f;
        double largest, smallest;
    } known[] = {{{5, 2, 0}, 57344, 0x1p-16},
                 {{4, 3, 0}, 240, 0x1p-9},
                 {{4, 3, 1}, 448, 0x1p-9},
                 {{5, 10, 0}, 65504, 0x1p-24},
                 {{6, 9, 0}, 4290772992.0, 0x1p-39},
                 {{3, 0, 0}, 8, 0x1p-2},
                 {{2, 1, 2}, 6, 0.5},
                 {{2, 3, 2}, 7.5, 0.125},
                 {{3, 2, 2}, 28, 0.0625},
                 {{5, 2, 1}, 98304, 0x1p-16},
                 {{1, 0, 2}, 2, 2},
                 {{2, 5, 2}, 7.875, 0x1p-5},
                 {{8, 7, 0}, 0x1.fep127, 0x1p-133},
                 {{1, 4, 0}, 1.875, 0x1p-3},
                 {{8, 23, 0}, FLT_MAX, 0x1p-149}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct mf_fmt f = known[i].f;
        CHECK(float_of(mf_dec(f, mf_max(f), 0)) == (float)known[i].largest, "largest of e%um%u",
              f.e, f.m);
        CHECK(float_of(mf_dec(f, 1, 0)) == (float)known[i].smallest, "smallest of e%um%u", f.e,
              f.m);
        CHECK(mf_enc(f, 0x80000000, 0, MF_NEAREST, MF_SATURATE, 0) == 1u << (mf_width(f) - 1),
              "-0 of e%um%u", f.e, f.m);
    }
    struct mf_fmt e5m2 = {5, 2, 0}, e4m3 = {4, 3, 0}, fn = {4, 3, 1}, e3m0 = {3, 0, 0},
                  e1m0 = {1, 0, 0}, e2m1f = {2, 1, 2};
    CHECK(mf_width(e5m2) == 8 && mf_bias(e5m2) == 15 && mf_bias(e1m0) == 0, "width and bias");
    CHECK(mf_max(e5m2) == 0x7b && mf_inf(e5m2) == 0x7c && mf_nan(e5m2) == 0x7f, "codes of e5m2");
    CHECK(mf_max(e4m3) == 0x77 && mf_inf(e4m3) == 0x78 && mf_nan(e4m3) == 0x7f, "codes of e4m3");
    CHECK(mf_max(fn) == 0x7e && mf_inf(fn) == 0x7f && mf_nan(fn) == 0x7f, "codes of e4m3fn");
    CHECK(mf_max(e3m0) == 6 && mf_inf(e3m0) == 7 && mf_nan(e3m0) == 7, "codes of e3m0");
    CHECK(mf_max(e2m1f) == 7 && mf_inf(e2m1f) == 7 && mf_nan(e2m1f) == 7 && mf_special(e2m1f) == 8,
          "codes of e2m1f");
    CHECK(mf_max(e1m0) == 0 && mf_inf(e1m0) == 1, "codes of e1m0");
    CHECK(mf_enc(fn, bits_of(464), 0, MF_NEAREST, MF_INF, 0) == 0x7e,
          "464 is a tie and 448 is even");
    CHECK(mf_enc(fn, bits_of(464.1f), 0, MF_NEAREST, MF_INF, 0) == 0x7f, "beyond 464 is nan");
    CHECK(mf_enc(e5m2, bits_of(61440), 0, MF_NEAREST, MF_INF, 0) == 0x7c,
          "61440 is a tie and inf is even");
    CHECK(mf_enc(e3m0, bits_of(0.125f), 0, MF_NEAREST, MF_INF, 0) == 0,
          "half the smallest value goes to 0");
    CHECK(mf_enc(e3m0, bits_of(0.375f), 0, MF_NEAREST, MF_INF, 0) == 2, "another tie goes up");
}

static void check_format(struct mf_fmt f)
{
    check_boundaries(f);
    check_reference(f);
    check_dec(f);
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t x = i * 0x9e3779b9u & 0x007fffff, lowest = (uint32_t)(slow_lowest(f) + 127);
        /* a subnormal, or between 0 and 1 unit */
        check_stochastic(f, x | 127u << 23, slow_lowest(f) - 1);
        check_stochastic(f, x | 127u << 23, slow_lowest(f) - f.m - (int)i);
        check_stochastic(f, x | (lowest ? lowest : 1) << 23, 0);
    }
}

int main(int argc, char **argv)
{
    unsigned widest = argc > 1 && !strcmp(argv[1], "quick") ? 10 : 32;
    check_known();
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = 0; m <= 23; m++) {
            struct mf_fmt f = {e, m, MF_IEEE};
            if (mf_width(f) <= widest)
                check_format(f);
            for (f.flavour = MF_NO_INF; f.flavour <= MF_NUMBERS && e < 8; f.flavour++)
                if (mf_width(f) <= widest && (m > 0 || f.flavour == MF_NUMBERS))
                    check_format(f);
        }
    printf("%llu casts checked\n", (unsigned long long)n_checked);
    DONE();
}
