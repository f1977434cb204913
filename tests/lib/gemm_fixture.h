/* gemm_fixture.h : makes matrices of odd shapes and their products in low precision, by mf.h. */
#ifndef GEMM_FIXTURE_H
#define GEMM_FIXTURE_H
#include "base/bits.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/cpu/gemm_low.h"
#include <string.h>

enum { GEMM_SEED = 23, GEMM_MAX = 96 * 200, GEMM_BORDER = 0x4b4b4b4b };

static float gemm_a[GEMM_MAX], gemm_b[GEMM_MAX], gemm_c[GEMM_MAX], gemm_want[GEMM_MAX];

struct gemm_shape {
    bool ta, tb, add;
    int m, n, k, more; /* more: columns added to lda, ldb, ldc */
};

static inline int gemm_lda(const struct gemm_shape *s)
{
    return (s->ta ? s->m : s->k) + s->more;
}
static inline int gemm_ldb(const struct gemm_shape *s)
{
    return (s->tb ? s->k : s->n) + s->more;
}

/* kind 0: around 1, as in training; 1: few bits, many ties; 2: exponents near the format's ends; 3:
 * like 2, with inf and nan. */
static inline float gemm_number(struct mf_fmt f, int kind, uint64_t i)
{
    const uint32_t r = philox_u32(GEMM_SEED + (uint64_t)kind, i), sign = r & 0x80000000u,
                   frac = r & 0x7fffff;
    if (kind == 0)
        return float_of(sign | (uint32_t)(127 - (int)(r >> 24 & 3)) << 23 | frac);
    if (kind == 1)
        return float_of(sign | (uint32_t)(127 - (int)(r >> 24 & 3)) << 23 | (frac & 0x700000));
    if (kind == 3 && r >> 24 == 7)
        return float_of(sign | 0x7f800000u | (r & 0x100000u));
    const int half = (mf_bias(f) + (int)f.m) / 2 + 1,
              exp = 127 + (int)(r >> 23 & 0xff) % (2 * half + 1) - half;
    return float_of(sign | (uint32_t)exp << 23 | (r & 0x800 ? frac & 0x600000 : frac));
}

static inline void gemm_fill(struct mf_fmt f, int kind, uint64_t key)
{
    for (int i = 0; i < GEMM_MAX; i++) {
        gemm_a[i] = gemm_number(f, kind, key + 3 * (uint64_t)i);
        gemm_b[i] = gemm_number(f, kind, key + 3 * (uint64_t)i + 1);
        gemm_want[i] = gemm_c[i] = gemm_number(f, kind, key + 3 * (uint64_t)i + 2);
    }
}

static inline uint32_t slow_product(const struct gemm_rule *r, float a, float b)
{
    const struct mf_num x = mf_unpack(mf_fp32(), bits_of(a)), y = mf_unpack(mf_fp32(), bits_of(b));
    struct mf_num v = {x.sig * y.sig, x.exp + y.exp, x.negative ^ y.negative, MF_FINITE};
    const bool zero = (x.kind == MF_FINITE && x.sig == 0) || (y.kind == MF_FINITE && y.sig == 0);
    if (x.kind != MF_FINITE || y.kind != MF_FINITE)
        v.kind = x.kind == MF_NAN || y.kind == MF_NAN || zero ? MF_NAN : MF_INFINITE;
    if (v.kind == MF_NAN)
        v.negative = 0; /* m = 0: nan becomes inf with this sign */
    return mf_pack(r->fmt, v, MF_NEAREST, r->overflow, 0);
}

/* Returns the code of c + s for any fp32 c. Bits shifted out of the smaller term become one
 * sticky bit. */
static inline uint32_t slow_last(const struct gemm_rule *r, float c, uint32_t s)
{
    struct mf_num x = mf_unpack(mf_fp32(), bits_of(c)), y = mf_unpack(r->fmt, s);
    if (x.kind != MF_FINITE || y.kind != MF_FINITE)
        return mf_pack(r->fmt, mf_sum(x, y), MF_NEAREST, r->overflow, 0);
    if (x.sig == 0 || y.sig == 0) /* a sum s is never -0 */
        return mf_pack(r->fmt, x.sig == 0 ? y : x, MF_NEAREST, r->overflow, 0);
    x = mf_normalise(x), y = mf_normalise(y);
    const bool swap = x.exp < y.exp;
    const struct mf_num big = swap ? y : x, small = swap ? x : y;
    const int apart = big.exp - small.exp;
    const unsigned __int128 high = (unsigned __int128)big.sig << 60;
    unsigned __int128 low = apart < 120 ? ((unsigned __int128)small.sig << 60) >> apart : 0;
    if (apart >= 120 || (low << apart) >> 60 != small.sig)
        low |= 1;
    unsigned __int128 sum = big.negative == small.negative ? high + low
                            : high > low                   ? high - low
                                                           : low - high;
    struct mf_num v = {0, big.exp - 60, high >= low ? big.negative : small.negative, MF_FINITE};
    bool lost = false;
    for (; sum >> 63 != 0; sum >>= 1, v.exp++)
        lost = lost || (sum & 1) != 0;
    v.sig = (uint64_t)sum << 1 | lost, v.exp--;
    v.negative = sum != 0 ? v.negative : 0;
    return mf_pack(r->fmt, v, MF_NEAREST, r->overflow, 0);
}

static inline float slow_dot(const struct gemm_rule *r, const struct gemm_shape *s, const float *a,
                             const float *b, int i, int j, float old)
{
    const struct mf_fmt f = r->fmt;
    const uint32_t minus = 1u << (mf_width(f) - 1);
    const enum mf_overflow o = r->overflow;
    uint32_t sum = 0, c = 0;
    for (int p = 0; p < s->k; p++) {
        const float x = a[s->ta ? p * gemm_lda(s) + i : i * gemm_lda(s) + p];
        const float y = b[s->tb ? j * gemm_ldb(s) + p : p * gemm_ldb(s) + j];
        const uint32_t product = slow_product(r, x, y);
        if (!r->kahan) {
            sum = mf_add(f, sum, product, o);
            continue;
        }
        const uint32_t less = mf_add(f, product, c ^ minus, o), t = mf_add(f, sum, less, o);
        c = mf_add(f, mf_add(f, t, sum ^ minus, o), less ^ minus, o);
        sum = t;
    }
    const uint32_t code = s->add ? slow_last(r, old, sum) : sum, bits = mf_dec(f, code, 0);
    return float_of((bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits);
}

static inline void slow_gemm(const struct gemm_rule *r, const struct gemm_shape *s, float *c)
{
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) {
            float *to = c + i * (s->n + s->more) + j;
            *to = slow_dot(r, s, gemm_a, gemm_b, i, j, *to);
        }
}

static inline void gemm_compare(const char *what, const struct gemm_rule *r,
                                const struct gemm_shape *s, const float *got, const float *want)
{
    for (int i = 0; i < GEMM_MAX; i++)
        CHECK(bits_of(got[i]) == bits_of(want[i]),
              "%s: e%um%u fn %u overflow %d kahan %d, %d x %d x %d, ta %d tb %d add %d: [%d] = %a, "
              "want %a",
              what, r->fmt.e, r->fmt.m, r->fmt.flavour, (int)r->overflow, r->kahan, s->m, s->n,
              s->k, s->ta, s->tb, s->add, i, (double)got[i], (double)want[i]);
}

static const struct gemm_shape gemm_shapes[] = {
    {.m = 1, .n = 1, .k = 1},
    {.m = 17, .n = 33, .k = 19, .more = 3},
    {.ta = true, .m = 5, .n = 70, .k = 66},
    {.tb = true, .m = 65, .n = 3, .k = 40, .more = 1},
    {.ta = true, .tb = true, .m = 31, .n = 66, .k = 17},
    {.add = true, .m = 16, .n = 64, .k = 32},
    {.ta = true, .tb = true, .add = true, .m = 7, .n = 9, .k = 130, .more = 2},
    {.m = 3, .n = 5, .k = 0},
    {.add = true, .m = 80, .n = 80, .k = 2},
};
enum { GEMM_SHAPES = sizeof gemm_shapes / sizeof gemm_shapes[0] };

#endif
