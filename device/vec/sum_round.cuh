/* sum_round.cuh : additions that round to a format, and the final rounding of exact sums, with the
 * bits of mf.h.
 *
 * A code's fields become the low exponent bits and high mantissa bits of a float or double:
 *
 *     e5m2    | s | eeeee | mm |   ->   | s | 000eeeee | mm 000...0 |
 *
 * The float is the code's value times 2^(15 - 127), the factor of all values and sums of the
 * format. So no exponent is computed, subnormals are the float's, and rounding is an integer
 * addition. Rounding twice is harmless: floats keep at least 2 (m + 1) + 2 bits for m <= 10,
 * doubles for m <= 23 (S. A. Figueroa, When is double rounding innocuous?, 1995). */
#ifndef SUM_ROUND_CUH
#define SUM_ROUND_CUH
#include "device/run/cu.cuh"
#include "hls/arith/rules.h"

template <class T> struct lane;
template <> struct lane<float> {
    typedef uint32_t bits;
    enum { M = 23, E = 8 };
    static __device__ inline uint32_t get(float x) { return __float_as_uint(x); }
    static __device__ inline float put(uint32_t b) { return __uint_as_float(b); }
    static __device__ inline float add(float a, float b) { return __fadd_rn(a, b); }
};
template <> struct lane<double> {
    typedef uint64_t bits;
    enum { M = 52, E = 11 };
    static __device__ inline uint64_t get(double x) { return (uint64_t)__double_as_longlong(x); }
    static __device__ inline double put(uint64_t b) { return __longlong_as_double((long long)b); }
    static __device__ inline double add(double a, double b) { return __dadd_rn(a, b); }
};

/* Arguments and results are sign-extended codes. */
template <class T> struct sum_fmt {
    typename lane<T>::bits mask, limit, /* first magnitude that is not a number */
        special;                        /* bits that turn it into the float's inf or nan */
    uint32_t nan, beyond, minus;        /* codes of nan and of overflows; the sign */
    unsigned drop;                      /* mantissa bits of the float less the format's */
    bool no_mantissa;                   /* m = 0: ties go to the larger magnitude, but 0 stays 0 */
};

template <class T> static inline sum_fmt<T> sum_fmt_of(struct mf_fmt f, enum mf_overflow overflow)
{
    typedef typename lane<T>::bits bits;
    const bits one = 1;
    const unsigned m = lane<T>::M, e = lane<T>::E, drop = m - f.m;
    sum_fmt<T> k;
    k.mask = one << (m + e) | (bits)mf_nan(f) << drop;
    k.limit = (bits)mf_special(f) << drop;
    k.special = ((one << e) - 1) << m | (f.flavour != MF_IEEE ? one << (m - 1) : 0);
    k.nan = mf_nan(f);
    k.beyond = overflow == MF_SATURATE ? mf_max(f) : mf_inf(f);
    k.minus = ~mf_nan(f);
    k.drop = drop;
    k.no_mantissa = f.m == 0;
    return k;
}

template <class T> static __device__ inline T sum_value(const sum_fmt<T> &k, uint32_t code)
{
    typedef typename lane<T>::bits bits;
    const bits b = ((bits)(int64_t)(int32_t)code << k.drop) & k.mask;
    const bits mag = b & ~((bits)1 << (lane<T>::M + lane<T>::E));
    return lane<T>::put(mag >= k.limit ? b | k.special : b);
}

/* As mf_add(): inf counts as too large, nan and zero have no sign. */
template <class T> static __device__ inline uint32_t sum_code(const sum_fmt<T> &k, T sum)
{
    typedef typename lane<T>::bits bits;
    const bits b = lane<T>::get(sum), mag = b & ~((bits)1 << (lane<T>::M + lane<T>::E));
    const bits infinite = (((bits)1 << lane<T>::E) - 1) << lane<T>::M,
               half = ((bits)1 << k.drop) >> 1;
    const bits kept = mag >> k.drop, even = k.no_mantissa ? (bits)(kept != 0) : kept & 1;
    const bits r = k.drop != 0 ? (mag + half - 1 + even) >> k.drop : mag;
    uint32_t code = r < k.beyond ? (uint32_t)r : k.beyond;
    if (b != mag && code != 0)
        code |= k.minus;
    return mag > infinite ? k.nan : code;
}

template <class T>
static __device__ inline uint32_t sum_add(const sum_fmt<T> &k, uint32_t a, uint32_t b)
{
    return sum_code(k, lane<T>::add(sum_value(k, a), sum_value(k, b)));
}

/* For the rule fp32, sum holds a float's bits. too_much: Kahan's excess. */
struct sum_acc {
    uint32_t sum, too_much;
};

/* y: the addend minus too_much. */
template <class T>
static __device__ inline void sum_kahan(const sum_fmt<T> &k, uint32_t y, struct sum_acc *acc)
{
    const uint32_t s = acc->sum, t = sum_add(k, s, y);
    acc->too_much = sum_add(k, sum_add(k, t, s ^ k.minus), y ^ k.minus);
    acc->sum = t;
}

/* As mf_e5m2_trunc_add(). Addends have 3 significant bits, so the fp32 sum rounds to the same half
 * as the exact sum. Half and float have the same fields here. */
static __device__ inline uint32_t sum_add_trunc(const sum_fmt<float> &k, uint32_t a, uint32_t b)
{
    const uint32_t sum = __float_as_uint(__fadd_rn(sum_value(k, a), sum_value(k, b))),
                   mag = sum & 0x7fffffffu;
    uint32_t half = (mag + 0xfffu + (mag >> 13 & 1u)) >> 13;
    half = mag > 0x7f800000u ? 0x7fffu : half < 0x7c00u ? half : 0x7c00u;
    uint32_t code = half >> 8;
    code -= code >= 0x7cu ? 1u : 0u;
    return sum >> 31 != 0 && mag != 0 && mag <= 0x7f800000u ? code | ~0x7fu : code;
}

/* As mf_acc_round(), but counts leading zeros with one instruction: a zero is +0, nan has no sign,
 * bits above the code are 0. */
static __device__ inline uint32_t sum_final(struct mf_num v, struct mf_fmt out,
                                            enum mf_overflow overflow)
{
    const uint32_t beyond = overflow == MF_SATURATE ? mf_max(out) : mf_inf(out),
                   sign = v.negative << (out.e + out.m);
    if (v.kind == MF_NAN)
        return mf_nan(out);
    uint32_t mag = beyond;
    if (v.kind == MF_FINITE) {
        const int zeros = v.sig != 0 ? __clzll((long long)v.sig) : 0, lowest = 1 - mf_bias(out);
        const uint64_t sig = v.sig << zeros;
        const int top = v.exp - zeros + 63, under = top < lowest ? lowest - top : 0;
        int binade = top > lowest ? top - lowest : 0;
        binade = binade > 1 << out.e ? 1 << out.e : binade;
        const int drop = 63 - out.m + (under < 128 ? under : 128);
        const uint64_t kept = drop < 64 ? sig >> drop : 0;
        const uint64_t rest = drop < 64 ? sig << (64 - drop) : drop < 128 ? sig >> (drop - 64) : 0;
        const uint64_t half = 1ull << 63;
        const uint32_t up = rest > half || (rest == half && (kept & 1) != 0) ? 1u : 0u;
        mag = ((uint32_t)binade << out.m) + (uint32_t)kept + up;
        mag = v.sig == 0 ? 0u : mag > mf_max(out) ? beyond : mag;
    }
    return mag != 0 ? sign | mag : 0u;
}

static __device__ inline uint32_t sum_final_acc(struct mf_fmt in, uint64_t acc, int shift,
                                                struct mf_fmt out, enum mf_overflow overflow)
{
    struct mf_num v;
    const uint64_t flags = acc >> 62;
    v.negative = (uint32_t)(acc >> 61) & 1u;
    v.sig = (v.negative != 0 ? 0u - acc : acc) & MF_ACC_SUM;
    v.exp = 1 - mf_bias(in) - in.m - shift;
    v.kind = flags == 0 ? MF_FINITE : flags == 3 ? MF_NAN : MF_INFINITE;
    if (flags != 0)
        v.negative = flags == 2;
    return sum_final(v, out, overflow);
}

#endif
