/* sum_lanes.h : adds and rounds single codes without branches, so that loops over them vectorise.
 *
 * Gives the results of hls/arith/mf.h. A format's values become fp32 (e <= 8, m <= 10) or doubles
 * (any format). The CPU adds them, and integer operations round the bits of the sum. Rounding twice
 * is harmless: the sum of two values of p bits, first rounded to at least 2p + 2 bits, rounds to p
 * bits like the exact sum. Below the smallest normal, all sums of two values are exact. Source: S.
 * A. Figueroa, When is double rounding innocuous?, 1995.
 *
 * Operands and sums are subnormal only with fp32's own exponents (e = 8). The CPU must not flush
 * these to zero. */
#ifndef SUM_LANES_H
#define SUM_LANES_H
#include "base/bits.h"
#include "hls/arith/mf.h"
#include <stdbool.h>
#include <string.h>

/* Choices use masks of all ones or zero: compilers vectorise neither `condition ? a : b` around
 * arithmetic nor, before AVX-512, comparisons. Subtractions make the masks. Compared numbers are
 * below 2^31, or 2^63 for 64-bit lanes. */
static inline uint32_t lane_above32(uint32_t a, uint32_t b) /* a > b */
{
#ifdef __AVX512F__
    return a > b ? UINT32_MAX : 0;
#else
    return 0u - ((b - a) >> 31);
#endif
}
static inline uint64_t lane_above64(uint64_t a, uint64_t b)
{
#ifdef __AVX512F__
    return a > b ? UINT64_MAX : 0;
#else
    return 0ull - ((b - a) >> 63);
#endif
}
static inline uint32_t lane_pick32(uint32_t mask, uint32_t a, uint32_t b)
{
#ifdef __AVX512F__
    return mask != 0 ? a : b;
#else
    return b ^ ((a ^ b) & mask);
#endif
}
static inline uint64_t lane_pick64(uint64_t mask, uint64_t a, uint64_t b)
{
    return b ^ ((a ^ b) & mask);
}

/* a format's constants for the adders; magnitudes are codes without sign */
struct lane_fmt {
    /* magnitudes: mask of all ones; the first that is not a number; the largest that is not nan */
    uint32_t all, special, nan_above;
    uint32_t beyond; /* magnitude of an overflow */
    uint32_t normal; /* smallest normal */
    /* 1 for m = 0, where ties go to the larger magnitude, or if nothing is dropped (half = -1) */
    uint32_t odd;
    /* position of the sign; mantissa bits of the lane's float less the format's */
    unsigned sign, drop;
    /* added to the bits of a normal to make the lane's float; for a subnormal, one is added to the
     * exponent too */
    uint64_t bias;
    uint64_t half; /* half a unit in the lane's mantissa, less one */
    /* bits of a float; adding it to a small sum gives the sum in units of the smallest value */
    uint64_t low;
};

/* bits: mantissa bits of the lane's float, 23 or 52. exponent_bias: 127 or 1023. */
static inline struct lane_fmt lane_fmt(struct mf_fmt f, enum mf_overflow overflow, unsigned bits,
                                       int exponent_bias)
{
    const int bias = mf_bias(f);
    return (struct lane_fmt){
        .all = mf_nan(f),
        .special = mf_special(f),
        .nan_above = mf_last_not_nan(f),
        .beyond = overflow == MF_SATURATE ? mf_max(f) : mf_inf(f),
        .normal = (uint32_t)(1ull << f.m),
        .odd = f.m == 0 || f.m == bits,
        .sign = mf_width(f) - 1,
        .drop = bits - f.m,
        .bias = (uint64_t)(exponent_bias - bias) << bits,
        .half = ((1ull << (bits - f.m)) >> 1) - 1,
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
/* Returns whether the format is fp32, or has its exponents and at most 10 mantissa bits. */
static inline int lane_is_fp32(struct mf_fmt f)
{
    return f.e == 8 && (f.m <= 10 || f.m == 23);
}

/* Returns the code of a sum with the rounded magnitude r. Zero has no sign. The last three
 * arguments are masks. special: an addend is inf or nan. nan: an addend is nan, or both are inf of
 * different signs. */
static inline uint32_t lane_code(const struct lane_fmt *k, uint32_t r, uint32_t special,
                                 uint32_t nan, uint32_t negative)
{
    r = lane_pick32(lane_above32(r, k->beyond) | special, k->beyond, r);
    r |= (negative & lane_above32(r, 0)) << k->sign;
    return lane_pick32(nan, k->all, r);
}
static inline uint32_t lane_special(const struct lane_fmt *k, uint32_t a, uint32_t b, uint32_t r,
                                    uint32_t negative)
{
    const uint32_t x = a & k->all, y = b & k->all, differ = 0u - ((a ^ b) >> k->sign & 1);
    const uint32_t x_special = lane_above32(x, k->special - 1),
                   y_special = lane_above32(y, k->special - 1);
    const uint32_t nan = lane_above32(x, k->nan_above) | lane_above32(y, k->nan_above);
    return lane_code(k, r, x_special | y_special, nan | (x_special & y_special & differ), negative);
}
/* a: of the format k, b: of `from`. An inf determines the sign, because the inf of `from`, read as
 * a number, may be less than a number of k. */
static inline uint32_t lane_special_to(const struct lane_fmt *k, const struct lane_fmt *from,
                                       uint32_t a, uint32_t b, uint32_t r, uint32_t negative)
{
    const uint32_t x = a & k->all, y = b & from->all,
                   differ = 0u - ((a >> k->sign ^ b >> from->sign) & 1);
    const uint32_t x_special = lane_above32(x, k->special - 1),
                   y_special = lane_above32(y, from->special - 1);
    const uint32_t nan = lane_above32(x, k->nan_above) | lane_above32(y, from->nan_above);
    negative = lane_pick32(y_special, b >> from->sign & 1, negative);
    return lane_code(k, r, x_special | y_special, nan | (x_special & y_special & differ), negative);
}

/* Returns the value of a code. A subnormal |0|frac| is 1.frac * 2^(1-bias) - 2^(1-bias). */
static inline float lane_value32(const struct lane_fmt *k, uint32_t code)
{
    const uint32_t mag = code & k->all, bias = (uint32_t)k->bias, one = 1u << 23;
    const uint32_t small = lane_above32(k->normal, mag);
    const float x =
        float_of((mag << k->drop) + bias + (small & one)) - float_of(small & (bias + one));
    return float_of(bits_of(x) | (code >> k->sign & 1) << 31);
}
static inline double lane_value64(const struct lane_fmt *k, uint32_t code)
{
    const uint64_t mag = code & k->all, one = 1ull << 52, small = lane_above64(k->normal, mag);
    const double x =
        double_of((mag << k->drop) + k->bias + (small & one)) - double_of(small & (k->bias + one));
    return double_of(double_bits(x) | (uint64_t)(code >> k->sign & 1) << 63);
}

static inline uint32_t lane_nearest32(const struct lane_fmt *k, uint32_t mag)
{
    const uint32_t even = (mag >> k->drop & 1) | k->odd, bias = (uint32_t)k->bias,
                   low = (uint32_t)k->low;
    const uint32_t normal = ((mag + (uint32_t)k->half + even) >> k->drop) - (bias >> k->drop);
    const uint32_t units = bits_of(float_of(mag) + float_of(low)) - low,
                   small = lane_above32(bias + (1u << 23), mag);
    return lane_pick32(small, units, normal);
}
static inline uint32_t lane_nearest64(const struct lane_fmt *k, uint64_t mag)
{
    const uint64_t even = (mag >> k->drop & 1) | k->odd;
    const uint64_t normal = ((mag + k->half + even) >> k->drop) - (k->bias >> k->drop);
    const uint64_t units = double_bits(double_of(mag) + double_of(k->low)) - k->low;
    const uint64_t small = lane_above64(k->bias + (1ull << 52), mag);
    return (uint32_t)lane_pick64(small, units, normal);
}

/* Returns a + b, as mf_add(). */
static inline uint32_t lane_add32(const struct lane_fmt *k, uint32_t a, uint32_t b)
{
    const uint32_t bits = bits_of(lane_value32(k, a) + lane_value32(k, b));
    return lane_special(k, a, b, lane_nearest32(k, bits & 0x7fffffff), bits >> 31);
}
static inline uint32_t lane_add64(const struct lane_fmt *k, uint32_t a, uint32_t b)
{
    const uint64_t bits = double_bits(lane_value64(k, a) + lane_value64(k, b));
    return lane_special(k, a, b, lane_nearest64(k, bits & ~(1ull << 63)), (uint32_t)(bits >> 63));
}
/* Returns the value of a code with fp32's exponents, where inf and nan need no care. */
static inline float lane_value_fp32(const struct lane_fmt *k, uint32_t code)
{
    return float_of((code & k->all) << k->drop | (code >> k->sign & 1) << 31);
}
static inline uint32_t lane_add_fp32(const struct lane_fmt *k, uint32_t a, uint32_t b)
{
    const uint32_t bits = bits_of(lane_value_fp32(k, a) + lane_value_fp32(k, b));
    const uint32_t mag = bits & 0x7fffffff, even = (mag >> k->drop & 1) | k->odd;
    const uint32_t r = (mag + (uint32_t)k->half + even) >> k->drop;
    return lane_code(k, r, 0, lane_above32(mag, 0x7f800000), bits >> 31);
}

/* Returns a + b. a has the format k, and b the format `from`, whose values k holds (mf_holds()). */
static inline uint32_t lane_add_to32(const struct lane_fmt *k, const struct lane_fmt *from,
                                     uint32_t a, uint32_t b)
{
    const uint32_t bits = bits_of(lane_value32(k, a) + lane_value32(from, b));
    return lane_special_to(k, from, a, b, lane_nearest32(k, bits & 0x7fffffff), bits >> 31);
}
static inline uint32_t lane_add_to64(const struct lane_fmt *k, const struct lane_fmt *from,
                                     uint32_t a, uint32_t b)
{
    const uint64_t bits = double_bits(lane_value64(k, a) + lane_value64(from, b));
    return lane_special_to(k, from, a, b, lane_nearest64(k, bits & ~(1ull << 63)),
                           (uint32_t)(bits >> 63));
}

/* Returns a + b, as mf_e5m2_trunc_add(). k: e5m2, saturating. Both addends have 3 significant bits,
 * so the fp32 sum rounds to the same half as the exact sum. */
static inline uint32_t lane_trunc_add(const struct lane_fmt *k, uint32_t a, uint32_t b)
{
    const uint32_t bits = bits_of(lane_value32(k, a) + lane_value32(k, b)), mag = bits & 0x7fffffff;
    const uint32_t normal = ((mag + 0xfff + (mag >> 13 & 1)) >> 13) - (112u << 10);
    const uint32_t units = bits_of(float_of(mag) + 0.5f) - 0x3f000000; /* of 2^-24 */
    const uint32_t half = lane_pick32(lane_above32(113u << 23, mag), units, normal);
    const uint32_t code = lane_special(k, a, b, half >> 8, bits >> 31);
    /* trunc's nan is one less */
    return code + (lane_above32(code, k->all - 1) & lane_above32(k->all + 1, code));
}

/* Returns acc + code, as mf_acc_add(). k: constants for either type of lane. */
static inline uint64_t lane_acc_add(const struct lane_fmt *k, unsigned m, uint64_t acc,
                                    uint32_t code)
{
    const uint64_t mag = code & k->all, field = mag >> m, normal = lane_above64(field, 0) & 1;
    const uint64_t sig = (mag & ((1ull << m) - 1)) | normal << m, exp = field - normal;
    const uint64_t negative = code >> k->sign & 1;
    const uint64_t term = (((sig << exp) ^ (0 - negative)) + negative) & MF_ACC_SUM;
    const uint64_t flags =
        (MF_ACC_PINF + (negative << 62)) | (lane_above64(mag, k->nan_above) & ~MF_ACC_SUM);
    const uint64_t t = lane_pick64(lane_above64(mag, k->special - 1ull), flags, term);
    return ((acc + t) & MF_ACC_SUM) | ((acc | t) & ~MF_ACC_SUM);
}

/* the format that sums are rounded to */
struct lane_out {
    uint64_t all, max, beyond;
    uint64_t lowest, top; /* exponents, two's complement: smallest normal; 1 << e */
    unsigned m, sign;
};

static inline struct lane_out lane_out(struct mf_fmt f, enum mf_overflow overflow)
{
    return (struct lane_out){.all = mf_nan(f),
                             .max = mf_max(f),
                             .beyond = overflow == MF_SATURATE ? mf_max(f) : mf_inf(f),
                             .lowest = (uint64_t)(1 - mf_bias(f)),
                             .top = 1ull << f.e,
                             .m = f.m,
                             .sign = mf_width(f) - 1};
}

/* Returns the code of units * 2^exp, rounded to nearest. units < 2^62; exp: two's complement.
 * negative, inf, nan: masks. Zero and nan have no sign. If units >= 2^53, its last 10 bits are
 * joined to one sticky bit, so that a double holds it. */
static inline uint32_t lane_round(const struct lane_out *o, uint64_t units, uint64_t exp,
                                  uint64_t negative, uint64_t inf, uint64_t nan)
{
    const uint64_t is_long = lane_above64(units, (1ull << 53) - 1),
                   sticky = lane_above64(units & 1023, 0) & 1;
    const uint64_t u = lane_pick64(is_long, units >> 10 | sticky, units);
    /* high = 2^84 + (u's upper 32 bits) * 2^32, low = 2^52 + (u's lower 32 bits), both exact */
    const double high = double_of(u >> 32 | 0x4530000000000000ull);
    const double low = double_of((u & 0xffffffff) | 0x4330000000000000ull);
    const uint64_t bits = double_bits((high - 0x1.00000001p84) + low);
    const uint64_t up = (bits >> 52) - 1023 + (is_long & 10) + exp - o->lowest,
                   under = 0ull - (up >> 63);
    const uint64_t above = up & ~under, below = (0 - up) & under;
    const uint64_t binade = lane_pick64(lane_above64(above, o->top), o->top, above);
    const uint64_t full = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    /* keep one bit more, and a sticky bit for all below */
    const uint64_t far = lane_pick64(lane_above64(below, 54), 54, below) + 51 - o->m;
    const uint64_t drop = lane_pick64(lane_above64(far, 53), 53, far);
    const uint64_t twice = full >> drop, rest = lane_above64(full, twice << drop),
                   kept = twice >> 1;
    uint64_t mag = (binade << o->m) + kept + (twice & (kept | rest) & 1);
    mag = lane_pick64(lane_above64(mag, o->max) | inf, o->beyond, mag) & (lane_above64(u, 0) | inf);
    mag |= (negative & lane_above64(mag, 0)) << o->sign;
    return (uint32_t)lane_pick64(nan, o->all, mag);
}

/* Returns the code of an exact sum in units of 2^exp, as mf_acc_round(). */
static inline uint32_t lane_round_acc(const struct lane_out *o, uint64_t exp, uint64_t acc)
{
    const uint64_t flags = acc >> 62, below = acc >> 61 & 1,
                   units = ((acc ^ (0 - below)) + below) & MF_ACC_SUM;
    const uint64_t special = lane_above64(flags, 0);
    return lane_round(o, units, exp, lane_pick64(special, flags >> 1, below), special,
                      lane_above64(flags, 2));
}

/* Converts `code` from format k, with m mantissa bits and subnormals in units of 2^exp, to format
 * o. */
static inline uint32_t lane_round_code(const struct lane_out *o, const struct lane_fmt *k,
                                       unsigned m, uint64_t exp, uint32_t code)
{
    const uint64_t mag = code & k->all, field = mag >> m, normal = lane_above64(field, 0) & 1;
    const uint64_t units = (mag & ((1ull << m) - 1)) | normal << m;
    return lane_round(o, units, exp + field - normal, code >> k->sign & 1,
                      lane_above64(mag, k->special - 1ull), lane_above64(mag, k->nan_above));
}

#endif
