/* test_block.c : tests the arithmetic of MX and NVFP4 words (hls/arith/block.h) on all pairs of
 * scale and element, and next to every boundary. Expected values are exact, in long double. */
#include "base/bits.h"
#include "check.h"
#include "hls/arith/block.h"
#include "hls/arith/philox.h"
#include <inttypes.h>
#include <math.h>

enum { SEED = 1616, SCALES = 127, DRAWS = 20000 };

static const long double sizes[] = {0, 0.5L, 1, 1.5L, 2, 3, 4, 6};

/* Returns the value of a scale, of e4m3fn's definition. */
static long double scale_value(uint32_t code)
{
    const uint32_t field = code >> 3, frac = code & 7;
    return field ? ldexpl(8 + frac, (int)field - 10) : ldexpl(frac, -9);
}

/* Returns the element nearest to x >= 0; ties go to even codes. */
static uint32_t nearest(long double x, const long double *values, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        const long double middle = (values[i - 1] + values[i]) / 2;
        if (x > middle || (x == middle && i % 2 == 0))
            best = i;
    }
    return best;
}

/* the proof of the bound in block.h */
static void check_bound(void)
{
    uint32_t largest = 0;
    for (uint32_t scale = 0; scale < SCALES; scale++)
        for (uint32_t e = 0; e < 16; e++) {
            const struct mf_num one = nvfp4_one(scale, block_num(1, 0));
            const int32_t units = (int32_t)nvfp4_units(e, one);
            const long double value = sizes[e & 7] * scale_value(scale) * (e & 8 ? -1 : 1);
            CHECK(ldexpl(units, NVFP4_UNIT) == value, "scale %x, element %x: %" PRId32 " units",
                  scale, e, units);
            CHECK(float_of(nvfp4_dec(e, one)) == (float)value, "scale %x, element %x", scale, e);
            const uint32_t size = (uint32_t)(units < 0 ? -units : units);
            largest = size > largest ? size : largest;
        }
    CHECK(largest == 2688 << 10, "the largest product is %u units", largest);
    CHECK((uint64_t)NVFP4_MAX_RANKS * largest <= INT32_MAX &&
              (uint64_t)(NVFP4_MAX_RANKS + 1) * largest > INT32_MAX,
          "%d is not the largest number of ranks", NVFP4_MAX_RANKS);
    CHECK(isnan(float_of(nvfp4_dec(1, nvfp4_one(127, block_num(1, 0))))), "nan as scale");
}

static void check_element(float x, uint32_t scale, int t)
{
    const struct mf_num one = nvfp4_one(scale, block_num(1, t));
    const long double step = ldexpl(scale_value(scale), t);
    const uint32_t want = scale ? nearest((long double)x / step, sizes, 8) : 0;
    CHECK(nvfp4_enc(mf_unpack(mf_fp32(), bits_of(x)), one) == want, "%a / (scale %x * 2^%d)",
          (double)x, scale, t);
    CHECK(nvfp4_enc(mf_unpack(mf_fp32(), bits_of(-x)), one) == (want | 8), "sign of %a", (double)x);
}

/* Elements grow with x, so the neighbours of each boundary stand for all floats. The quotient of
 * fp32, as torchao divides, rounds to the same element there. */
static void check_elements(void)
{
    static const int ts[] = {-126, -100, -1, 0, 3, 110};
    for (size_t k = 0; k < sizeof ts / sizeof *ts; k++)
        for (uint32_t scale = 0; scale < SCALES; scale++)
            for (int i = 1; i < 8; i++) {
                const long double step = ldexpl(scale_value(scale), ts[k]);
                const float x = (float)((sizes[i - 1] + sizes[i]) / 2 * step);
                const float near[] = {x, nextafterf(x, 0), nextafterf(x, INFINITY),
                                      (float)(sizes[i] * step)};
                for (int j = 0; j < 4; j++) {
                    check_element(near[j], scale, ts[k]);
                    if (ts[k] != 0 || !scale)
                        continue;
                    const float quotient = near[j] / (float)scale_value(scale);
                    CHECK(mf_enc(nvfp4_element(), bits_of(quotient), 0, MF_NEAREST, MF_SATURATE,
                                 0) == nearest((long double)near[j] / step, sizes, 8),
                          "fp32's quotient, %a by scale %x", (double)near[j], scale);
                }
            }
}

static void check_scales(void)
{
    long double values[SCALES];
    for (uint32_t i = 0; i < SCALES; i++)
        values[i] = scale_value(i);
    for (uint32_t i = 1; i < SCALES; i++) {
        const float x = (float)((values[i - 1] + values[i]) / 2 * 6);
        const float near[] = {x, nextafterf(x, 0), nextafterf(x, INFINITY)};
        for (int j = 0; j < 3; j++) {
            const struct mf_num max = mf_unpack(mf_fp32(), bits_of(near[j]));
            const uint32_t want = nearest((long double)near[j] / 6, values, SCALES);
            CHECK(nvfp4_scale(max, block_num(1, 0)) == want, "scale of %a", (double)near[j]);
            CHECK(mf_enc(nvfp4_scale_fmt(), bits_of(near[j] / 6), 0, MF_NEAREST, MF_SATURATE, 0) ==
                      want,
                  "fp32's quotient, scale of %a", (double)near[j]);
        }
    }
}

/* The scale and the element of a mean are those of the exact quotient sum / P. */
static void check_means(void)
{
    static const uint32_t ranks[] = {2, 3, 7, 16, 100, 779, 780};
    long double values[SCALES];
    for (uint32_t i = 0; i < SCALES; i++)
        values[i] = scale_value(i);
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
        for (uint32_t i = 0; i < DRAWS; i++) {
            const uint32_t p = ranks[k], most = p * (2688u << 10),
                           max = i ? philox_u32(SEED + k, 2 * i) % most >> i % 28 : most,
                           sum = philox_u32(SEED + k, 2 * i + 1) % (max + 1);
            const struct mf_num tensor = block_num(p, 0);
            const uint32_t scale = nvfp4_scale(nvfp4_sum(max), tensor);
            const long double mean = ldexpl(max, NVFP4_UNIT) / p;
            CHECK(scale == nearest(mean / 6, values, SCALES), "scale of %u / %u", max, p);
            /* x = sum / P / scale; compared without division: 2 * sum and P * scale * boundary */
            const struct mf_num one = nvfp4_one(scale, tensor);
            uint32_t want = 0;
            for (uint32_t e = 1; e < 8 && scale; e++) {
                const long double at = (sizes[e - 1] + sizes[e]) / 2 * scale_value(scale) * p,
                                  x = ldexpl(sum, NVFP4_UNIT);
                want = x > at || (x == at && e % 2 == 0) ? e : want;
            }
            CHECK(nvfp4_enc(nvfp4_sum(sum), one) == want, "%u / %u by scale %x", sum, p, scale);
            CHECK(nvfp4_enc(nvfp4_sum(0u - sum), one) == (sum ? want | 8 : 0), "-%u / %u", sum, p);
        }
}

static void check_exponents(void)
{
    for (int t = -140; t <= 116; t++) {
        const float top = (float)ldexpl(2688, t);
        const float near[] = {top, nextafterf(top, INFINITY)};
        for (int j = 0; j < 2; j++) {
            const int got = nvfp4_exponent(bits_of(near[j]));
            CHECK(got == t + j, "exponent of %a: %d", (double)near[j], got);
            CHECK(nvfp4_scale(mf_unpack(mf_fp32(), bits_of(near[j])), block_num(1, got)) < SCALES,
                  "scale of %a", (double)near[j]);
        }
    }
}

static void check_mx(void)
{
    static const struct {
        struct mf_fmt fmt;
        int top; /* exponent of the largest number */
    } formats[] = {{{4, 3, MF_NO_INF}, 8},
                   {{5, 2, MF_IEEE}, 15},
                   {{2, 3, MF_NUMBERS}, 2},
                   {{3, 2, MF_NUMBERS}, 4},
                   {{2, 1, MF_NUMBERS}, 2}};
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        for (int e = -149; e <= 127; e++) {
            const float x = ldexpf(1, e), near[] = {x, nextafterf(x, 0), nextafterf(x, INFINITY)};
            for (int j = 0; j < 3; j++) {
                const int floor = near[j] > 0 ? ilogbf(near[j]) : -149,
                          byte = floor - formats[k].top + 127, want = byte < 0 ? 0 : byte;
                CHECK(mx_scale(formats[k].fmt, bits_of(near[j])) == (uint32_t)want, "scale of %a",
                      (double)near[j]);
            }
        }
        CHECK(mx_scale(formats[k].fmt, 0) == 0 && mx_scale(formats[k].fmt, 0x7f800000) == MX_NAN &&
                  mx_scale(formats[k].fmt, 0x7fc00000) == MX_NAN,
              "scales of 0, inf and nan");
    }
}

int main(void)
{
    printf("seed %d\n", SEED);
    check_bound();
    check_elements();
    check_scales();
    check_means();
    check_exponents();
    check_mx();
    DONE();
}
