/* test_mf_add.c : checks sums of two codes, rounded once: all pairs of 4- and 8-bit formats
 * against a search over all values, random pairs of wider ones, the fp8 paper's truncating add.
 * `quick`: fewer formats and pairs. */
#include "check.h"
#include "hls/arith/philox.h"
#include "mf_slow.h"

/* In units of the smallest subnormal, exact for every 8-bit format. */
static __int128 units(struct mf_fmt f, uint32_t mag)
{
    uint32_t field = mag >> f.m, frac = mag & ((1u << f.m) - 1);
    return field == 0 ? (__int128)frac : (__int128)(frac + (1u << f.m)) << (field - 1);
}

/* a >= 0: units. Returns slow_n_finite() on overflow. */
static uint32_t nearest(struct mf_fmt f, const __int128 *all, __int128 a)
{
    uint32_t best = 0;
    for (uint32_t mag = 1; mag <= slow_n_finite(f); mag++) {
        __int128 was = a > all[best] ? a - all[best] : all[best] - a,
                 is = a > all[mag] ? a - all[mag] : all[mag] - a;
        bool tie_goes_up = f.m == 0 ? best != 0 : mag % 2 == 0;
        if (is < was || (is == was && tie_goes_up))
            best = mag;
    }
    return best;
}

/* Like the CPU; nan is all ones. */
static uint32_t special(struct mf_fmt f, uint32_t a, uint32_t b, enum mf_overflow overflow)
{
    long double v = slow_dec(f, a) + slow_dec(f, b);
    struct slow s = {f, slow_n_finite(f), NULL, 0};
    return isnan(v) ? (1u << (f.e + f.m)) - 1 : slow_enc(&s, v, MF_NEAREST, overflow, 0);
}

static void check_all_pairs(struct mf_fmt f)
{
    uint32_t sign = 1u << (f.e + f.m), n = slow_n_finite(f);
    __int128 all[129];
    for (uint32_t mag = 0; mag <= n; mag++)
        all[mag] = units(f, mag);
    for (uint32_t a = 0; a < 2 * sign; a++)
        for (uint32_t b = 0; b < 2 * sign; b++) {
            bool finite = a % sign < n && b % sign < n;
            __int128 sum = 0;
            uint32_t mag = 0;
            if (finite) {
                sum += a >= sign ? -all[a % sign] : all[a % sign];
                sum += b >= sign ? -all[b % sign] : all[b % sign];
                mag = nearest(f, all, sum < 0 ? -sum : sum);
            }
            for (int o = MF_SATURATE; o <= MF_INF; o++) {
                enum mf_overflow overflow = (enum mf_overflow)o;
                uint32_t want = (sum < 0 ? sign : 0) + (mag == n ? slow_beyond(f, overflow) : mag);
                if (!finite)
                    want = special(f, a, b, overflow);
                uint32_t got = mf_add(f, a, b, overflow);
                CHECK(got == want, "e%um%u fn %u, overflow %d: %x + %x = %x, must be %x", f.e, f.m,
                      f.flavour, o, a, b, got, want);
            }
        }
}

/* Close exponents interact; long double is exact for e <= 5. */
static void check_random_pairs(struct mf_fmt f, uint64_t n_pairs)
{
    struct slow s = slow_open(f);
    uint64_t key = philox_key(1, f.e, f.m, f.flavour, 0);
    uint32_t mask = mf_nan(f) * 2 + 1, n = slow_n_finite(f);
    for (uint64_t i = 0; i < n_pairs; i++) {
        uint32_t a = philox_u32(key, 2 * i) & mask, b = philox_u32(key, 2 * i + 1) & mask;
        if (i % 2)
            b = (a ^ (b & (mask >> (1 + i % 8)))) ^ (b & (1u << (f.e + f.m)));
        uint32_t got = mf_add(f, a, b, MF_INF), want;
        if ((a & mf_nan(f)) >= n || (b & mf_nan(f)) >= n)
            want = special(f, a, b, MF_INF);
        else
            want = slow_enc(&s, slow_dec(f, a) + slow_dec(f, b), MF_NEAREST, MF_INF, 0);
        if (want == 1u << (f.e + f.m))
            want = 0; /* sums have no -0 */
        CHECK(got == want, "e%um%u: %x + %x = %x, must be %x", f.e, f.m, a, b, got, want);
    }
    slow_close(&s);
}

static void check_fp32_pairs(uint64_t n_pairs)
{
    struct mf_fmt fp32 = {8, 23, 0};
    uint64_t key = philox_key(2, 0, 0, 0, 0);
    for (uint64_t i = 0; i < n_pairs; i++) {
        uint32_t a = philox_u32(key, 2 * i), b = philox_u32(key, 2 * i + 1);
        if (i % 4)
            b = a ^ (b & 0x80000000 >> (i % 2)) ^ (b & 0x0fffffff >> (i % 23));
        float sum = float_of(a) + float_of(b);
        uint32_t want = isnan(sum) ? 0x7fffffff
                        : sum == 0 ? 0
                                   : bits_of(sum),
                 got = mf_add(fp32, a, b, MF_INF);
        CHECK(got == want, "fp32: %08x + %08x = %08x, must be %08x", a, b, got, want);
    }
}

/* The paper's rule: fp8 -> half -> fp32, add, fp32 -> half to nearest, drop the low byte. */
static uint32_t top_byte(struct slow *half, float sum)
{
    return slow_enc(half, sum, MF_NEAREST, MF_INF, 0) >> 8;
}

/* The rule's last step subtracts 1 if the exponent is all ones. */
static uint32_t no_inf(uint32_t code)
{
    return (code & 0x7c) == 0x7c ? code - 1 : code;
}

static float top_value(struct slow *half, uint32_t code)
{
    return (float)slow_dec(half->f, code << 8);
}

/* Counts differences between the rule and rounding to nearest (saturating): over all 65,536 pairs,
 * with inf kept and nan equal to nan; then with the complete rule, over pairs of finite codes. */
static void check_trunc(void)
{
    struct mf_fmt e5m2 = {5, 2, 0};
    struct slow half = slow_open((struct mf_fmt){5, 10, 0});
    int differ_all = 0, differ_finite = 0, n_finite = 0;
    for (uint32_t a = 0; a < 256; a++)
        for (uint32_t b = 0; b < 256; b++) {
            bool nan = (a & 0x7f) > 0x7c || (b & 0x7f) > 0x7c,
                 finite = (a & 0x7f) < 0x7c && (b & 0x7f) < 0x7c;
            float sum = top_value(&half, a) + top_value(&half, b);
            sum = isnan(sum) ? NAN : sum == 0 ? 0 : sum; /* without the sign of nan and zero */
            uint32_t got = mf_e5m2_trunc_add(a, b), top = top_byte(&half, sum);
            CHECK(nan || got == no_inf(top), "trunc: %02x + %02x = %02x, must be %02x", a, b, got,
                  no_inf(top));
            CHECK(!nan || (got & 0x7f) > 0x7c, "trunc: %02x + %02x = %02x, no nan", a, b, got);
            uint32_t nearest_sum = mf_add(e5m2, a, b, MF_SATURATE);
            differ_all += top != nearest_sum;
            differ_finite += finite && got != nearest_sum;
            n_finite += finite;
        }
    printf("trunc differs from nearest on %d of 65536 pairs before inf is mended, on %d of the %d "
           "finite pairs after\n",
           differ_all, differ_finite, n_finite);
    CHECK(differ_all == 16194 && differ_finite == 15112, "these numbers were different once");
    for (uint64_t i = 0; i < 1ull << 32; i += 30011) {
        uint32_t x = (uint32_t)i, got = mf_e5m2_trunc_enc(x, 0), scaled = mf_e5m2_trunc_enc(x, 7);
        uint32_t want = no_inf(top_byte(&half, float_of(x)));
        CHECK(got == want, "trunc of %08x: %02x, must be %02x", x, got, want);
        want = no_inf(top_byte(&half, float_of(x) * 128));
        CHECK(scaled == want, "trunc of %08x * 2^7: %02x, must be %02x", x, scaled, want);
    }
    slow_close(&half);
}

static bool same_number(long double a, long double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_holds(struct mf_fmt to, struct mf_fmt from)
{
    bool lost = false;
    for (uint32_t code = 0; code < 1u << mf_width(from); code++) {
        const long double x = slow_dec(from, code);
        const uint32_t wide = mf_pack(to, mf_unpack(from, code), MF_NEAREST, MF_INF, 0);
        if (mf_holds(to, from))
            CHECK(same_number(slow_dec(to, wide), x) &&
                      wide >> (mf_width(to) - 1) == code >> (mf_width(from) - 1),
                  "e%um%u of e%um%u: %x is %x", to.e, to.m, from.e, from.m, code, wide);
        const uint32_t bits = mf_dec(from, code, 0);
        lost = lost || !same_number(slow_dec(to, mf_enc(to, bits, 0, MF_NEAREST, MF_INF, 0)), x);
    }
    /* e = 1 has no normals: its few numbers may fit a shorter mantissa */
    CHECK(lost == !mf_holds(to, from) || from.e == 1, "e%um%u of e%um%u fn %u", to.e, to.m, from.e,
          from.m, from.flavour);
}

static void check_all_holds(void)
{
    const struct mf_fmt e4m3 = {4, 3, 0}, e4m3fn = {4, 3, 1}; /* e4m3fn has no inf */
    check_holds(e4m3fn, e4m3);
    check_holds(e4m3fn, e4m3fn);
    for (uint8_t to_e = 1; to_e <= 8; to_e++)
        for (uint8_t to_m = 0; to_m <= 12; to_m++) {
            const struct mf_fmt to = {to_e, to_m, 0};
            if (to_e + to_m < 2)
                continue;
            for (uint8_t e = 1; e <= 7; e++)
                for (uint8_t m = e == 1; e + m <= 7; m++)
                    for (uint8_t flavour = MF_IEEE; flavour <= MF_NUMBERS; flavour++)
                        if (m > 0 || flavour != MF_NO_INF)
                            check_holds(to, (struct mf_fmt){e, m, flavour});
        }
}

int main(int argc, char **argv)
{
    (void)argv;
    bool quick = argc > 1;
    uint64_t n_pairs = quick ? 300 : 20000;
    for (uint8_t e = quick ? 5 : 1; e <= (quick ? 5 : 7); e++)
        check_all_pairs((struct mf_fmt){e, (uint8_t)(7 - e), 0});
    for (uint8_t e = 1; e <= 3; e++)
        check_all_pairs((struct mf_fmt){e, (uint8_t)(3 - e), 0});
    for (uint8_t flavour = MF_NO_INF; flavour <= MF_NUMBERS; flavour++)
        for (uint8_t e = 1; e <= 5; e++)
            for (uint8_t m = e == 1 || flavour == MF_NO_INF; e + m <= (quick ? 5 : 7); m++)
                check_all_pairs((struct mf_fmt){e, m, flavour});
    for (uint8_t e = 1; e <= 5; e++)
        for (uint8_t m = 0; m <= 23; m++)
            for (uint8_t flavour = MF_IEEE; flavour <= (m > 0 ? MF_NUMBERS : MF_IEEE); flavour++)
                check_random_pairs((struct mf_fmt){e, m, flavour}, n_pairs);
    check_fp32_pairs(100 * n_pairs);
    check_trunc();
    check_all_holds();
    DONE();
}
