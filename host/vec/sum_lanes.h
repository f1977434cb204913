/* sum_lanes.h : the arithmetic of sums on one lane, without branches, so that compilers make vectors of it.
 *
 * The same results as hls/mf.h, by other means: a format's values become fp32 (e <= 7, m <= 10) or doubles (any), are
 * added by the CPU, and are rounded on the bits. Rounding twice does no harm: the sum of two values of p bits, first
 * rounded to at least 2p + 2 bits, rounds to p bits as the exact one does, and below the smallest normal all sums of
 * two are exact. No operand or sum is ever subnormal, so flush-to-zero modes change nothing.
 * Source: S. A. Figueroa, When is double rounding innocuous?, 1995. */
#ifndef SUM_LANES_H
#define SUM_LANES_H
#include "hls/mf.h"
#include <string.h>

static inline float lane_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint32_t lane_u32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double lane_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint64_t lane_u64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- a + b ---- */

/* A format as the adders need it. Magnitudes are codes without their sign. */
struct lane_fmt {
    uint32_t all, inf, nan_above; /* magnitudes: of all ones; of inf, fn: of nan; nan is what lies above this one */
    uint32_t beyond;              /* what an overflow becomes */
    uint32_t normal;              /* the smallest normal */
    uint32_t odd;                 /* 1 for m = 0: ties go to the larger magnitude */
    unsigned sign, drop;          /* the sign's bit; mantissa bits of the lane's type less those of the format */
    uint64_t bias;                /* bits added to a normal's to make a lane's float; of a subnormal: one more binade */
    uint64_t low;                 /* bits of the float that turns small sums into units when it is added */
};

/* bits: of the mantissa of the lane's float, 23 or 52; exponent_bias: 127 or 1023. */
static inline struct lane_fmt lane_fmt(struct mf_fmt f, enum mf_overflow overflow, unsigned bits, int exponent_bias)
{
    const int bias = mf_bias(f);
    return (struct lane_fmt){
        .all = mf_nan(f),
        .inf = mf_inf(f),
        .nan_above = mf_inf(f) - f.fn,
        .beyond = overflow == MF_SATURATE ? mf_max(f) : mf_inf(f),
        .normal = 1u << f.m,
        .odd = f.m == 0,
        .sign = mf_width(f) - 1,
        .drop = bits - f.m,
        .bias = (uint64_t)(exponent_bias - bias) << bits,
        .low = (uint64_t)(exponent_bias + (int)bits + 1 - bias - f.m) << bits,
    };
}

static inline struct lane_fmt lane_fmt32(struct mf_fmt f, enum mf_overflow overflow)
{
    return lane_fmt(f, overflow, 23, 127);
}
static inline struct lane_fmt lane_fmt64(struct mf_fmt f, enum mf_overflow overflow)
{
    return lane_fmt(f, overflow, 52, 1023);
}
static inline int lane_fits32(struct mf_fmt f)
{
    return f.e <= 7 && f.m <= 10;
}

/* The code with rounded magnitude r: inf and nan among the addends decide, a zero has no sign. */
static inline uint32_t lane_special(const struct lane_fmt *k, uint32_t a, uint32_t b, uint32_t r, uint32_t negative)
{
    const uint32_t x = a & k->all, y = b & k->all, differ = (a ^ b) >> k->sign & 1;
    const uint32_t clash = (x == k->inf) & (y == k->inf) & differ;
    r = r > k->beyond ? k->beyond : r;
    r = (x >= k->inf) | (y >= k->inf) ? k->beyond : r;
    r |= (r != 0 ? negative : 0) << k->sign;
    return (x > k->nan_above) | (y > k->nan_above) | clash ? k->all : r;
}

/* A subnormal |0|frac| is read as 1.frac * 2^(1-bias), less 2^(1-bias). */
static inline float lane_value32(const struct lane_fmt *k, uint32_t code)
{
    const uint32_t mag = code & k->all, bias = (uint32_t)k->bias, one = bias + (1u << 23);
    const uint32_t bits = (mag << k->drop) + (mag < k->normal ? one : bias), less = mag < k->normal ? one : 0;
    const float x = lane_f32(bits) - lane_f32(less);
    return lane_f32(lane_u32(x) | (code >> k->sign & 1) << 31);
}
static inline double lane_value64(const struct lane_fmt *k, uint32_t code)
{
    const uint64_t mag = code & k->all, one = k->bias + (1ull << 52);
    const uint64_t bits = (mag << k->drop) + (mag < k->normal ? one : k->bias), less = mag < k->normal ? one : 0;
    const double x = lane_f64(bits) - lane_f64(less);
    return lane_f64(lane_u64(x) | (uint64_t)(code >> k->sign & 1) << 63);
}

/* Code of a + b, as mf_add(). */
static inline uint32_t lane_add32(const struct lane_fmt *k, uint32_t a, uint32_t b)
{
    const uint32_t bits = lane_u32(lane_value32(k, a) + lane_value32(k, b)), mag = bits & 0x7fffffff;
    const uint32_t even = (mag >> k->drop & 1) | k->odd, first = (uint32_t)k->bias + (1u << 23);
    const uint32_t normal = ((mag + (1u << (k->drop - 1)) - 1 + even) >> k->drop) - ((uint32_t)k->bias >> k->drop);
    const uint32_t low = (uint32_t)k->low, units = lane_u32(lane_f32(mag) + lane_f32(low)) - low;
    return lane_special(k, a, b, mag < first ? units : normal, bits >> 31);
}
static inline uint32_t lane_add64(const struct lane_fmt *k, uint32_t a, uint32_t b)
{
    const uint64_t bits = lane_u64(lane_value64(k, a) + lane_value64(k, b)), mag = bits & ~(1ull << 63);
    const uint64_t even = (mag >> k->drop & 1) | k->odd, first = k->bias + (1ull << 52);
    const uint64_t normal = ((mag + (1ull << (k->drop - 1)) - 1 + even) >> k->drop) - (k->bias >> k->drop);
    const uint64_t units = lane_u64(lane_f64(mag) + lane_f64(k->low)) - k->low;
    return lane_special(k, a, b, (uint32_t)(mag < first ? units : normal), (uint32_t)(bits >> 63));
}

/* Code of a + b, as mf_e5m2_trunc_add(). k: of e5m2, saturating. The fp32 sum rounds to the half that the exact sum
 * rounds to: both addends have 3 bits. */
static inline uint32_t lane_trunc_add(const struct lane_fmt *k, uint32_t a, uint32_t b)
{
    const uint32_t bits = lane_u32(lane_value32(k, a) + lane_value32(k, b)), mag = bits & 0x7fffffff;
    const uint32_t normal = ((mag + 0xfff + (mag >> 13 & 1)) >> 13) - (112u << 10);
    const uint32_t units = lane_u32(lane_f32(mag) + 0.5f) - 0x3f000000; /* of 2^-24 */
    const uint32_t half = mag < 113u << 23 ? units : normal;
    const uint32_t code = lane_special(k, a, b, half >> 8, bits >> 31);
    return code == k->all ? k->all - 1 : code; /* its nan */
}

/* ---- exact sums: words of mf.h ---- */

/* acc + code, as mf_acc_add(). k: of any lane type. */
static inline uint64_t lane_acc_add(const struct lane_fmt *k, unsigned m, uint64_t acc, uint32_t code)
{
    const uint64_t mag = code & k->all, field = mag >> m, normal = field != 0;
    const uint64_t sig = (mag & ((1ull << m) - 1)) | normal << m;
    const uint64_t units = sig << ((field - normal) & 63), negative = code >> k->sign & 1;
    const uint64_t term = ((units ^ (0 - negative)) + negative) & MF_ACC_SUM;
    const uint64_t one = negative ? MF_ACC_NINF : MF_ACC_PINF;
    const uint64_t flags = mag > k->nan_above ? MF_ACC_NINF | MF_ACC_PINF : one;
    const uint64_t t = mag >= k->inf ? flags : term;
    return ((acc + t) & MF_ACC_SUM) | ((acc | t) & ~MF_ACC_SUM);
}

/* ---- rounding a sum ---- */

/* A sum on its way into a format: units * 2^exp, units < 2^62, or inf or nan. */
struct lane_num {
    uint64_t units, negative, inf, nan; /* the last three: 0 or 1 */
    int64_t exp;
};
struct lane_out {
    uint64_t all, max, beyond;
    int64_t lowest, top; /* exponents: of the smallest normal; 1 << e */
    unsigned m, sign;
};

static inline struct lane_out lane_out(struct mf_fmt f, enum mf_overflow overflow)
{
    return (struct lane_out){.all = mf_nan(f),
                             .max = mf_max(f),
                             .beyond = overflow == MF_SATURATE ? mf_max(f) : mf_inf(f),
                             .lowest = 1 - mf_bias(f),
                             .top = 1 << f.e,
                             .m = f.m,
                             .sign = mf_width(f) - 1};
}

/* Code of a sum, rounded to nearest; zero and nan without a sign.
 *
 *     units < 2^53, or its last 10 bits made one sticky bit   ->   double 1.xxx * 2^top, whose bits are rounded */
static inline uint32_t lane_round(const struct lane_out *o, struct lane_num v)
{
    const uint64_t long_ = v.units >> 53 != 0, sticky = (v.units & 1023) != 0;
    const uint64_t u = long_ ? v.units >> 10 | sticky : v.units;
    /* u = high * 2^32 + low, each set behind the leading bit of a double */
    const double high = lane_f64(u >> 32 | 0x4530000000000000ull),
                 low = lane_f64((u & 0xffffffff) | 0x4330000000000000ull);
    const uint64_t bits = lane_u64((high - 0x1.00000001p84) + low);
    const int64_t top = (int64_t)(bits >> 52) - 1023 + (long_ ? 10 : 0) + v.exp;
    const int64_t above = top > o->lowest ? top - o->lowest : 0, below = top < o->lowest ? o->lowest - top : 0;
    const uint64_t binade = (uint64_t)(above > o->top ? o->top : above),
                   full = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    const uint64_t far = (uint64_t)(below > 54 ? 54 : below) + 52 - o->m, drop = far > 54 ? 54 : far;
    const uint64_t even = full >> drop & 1, kept = (full + (1ull << (drop - 1)) - 1 + even) >> drop;
    uint64_t mag = (binade << o->m) + kept;
    mag = mag > o->max ? o->beyond : mag;
    mag = u == 0 ? 0 : mag;
    mag = v.inf ? o->beyond : mag;
    mag |= (mag != 0 ? v.negative : 0) << o->sign;
    return (uint32_t)(v.nan ? o->all : mag);
}

/* An exact sum, in units of 2^exp. */
static inline struct lane_num lane_of_acc(uint64_t acc, int64_t exp)
{
    const uint64_t flags = acc >> 62, below = acc >> 61 & 1, negative = flags != 0 ? flags >> 1 : below;
    return (struct lane_num){.units = ((acc ^ (0 - below)) + below) & MF_ACC_SUM,
                             .negative = negative,
                             .inf = flags != 0,
                             .nan = flags == 3,
                             .exp = exp};
}

/* A code of a format with m mantissa bits, whose subnormals are units of 2^exp. */
static inline struct lane_num lane_of_code(const struct lane_fmt *k, unsigned m, int64_t exp, uint32_t code)
{
    const uint64_t mag = code & k->all, field = mag >> m, normal = field != 0;
    return (struct lane_num){.units = (mag & ((1ull << m) - 1)) | normal << m,
                             .negative = code >> k->sign & 1,
                             .inf = mag >= k->inf,
                             .nan = mag > k->nan_above,
                             .exp = exp + (int64_t)(field - normal)};
}

#endif
