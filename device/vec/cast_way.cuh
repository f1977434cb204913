/* cast_way.cuh : casts an fp32 to a code in a few 32-bit operations, with the bits of mf_enc().
 *
 * |x| * 2^shift becomes a code without sign in one of these ways:
 *
 *   WAY_ADD    nearest; formats inside the range of fp32. Adding a large enough float rounds x:
 *                unit = 2^max(exponent of x, lowest)              x's binade; subnormals share one
 *                unit * 2^(23-m) + x = | exponent | 0000 1xx.x |  the adder rounds to nearest even
 *                code = 1xx.x + ((unit's bits >> (23-m)) - base)  significand, field above it
 *              lowest and top are the format's limits / 2^shift, so x is not scaled.
 *   WAY_CUT    nearest; e = 8: exponents are those of fp32. The fraction is cut after m bits:
 *                code = (x * 2^shift + half - 1 + last kept bit) >> (23-m)
 *              An inexact product (an fp32 subnormal) goes to WAY_ANY.
 *   WAY_HARD   nearest, saturating, e5m2 or e4m3fn, where the chip has the instruction. An
 *              fp32-subnormal x * 2^shift is rounded twice, but has code 0.
 *   WAY_DRAW   stochastic; the formats of WAY_ADD, with half of the random bits:
 *                x + lowest, if x < lowest, rounded to zero       subnormals in place
 *                code = (bits of x + ~random >> (9+m)) >> (23-m)  carries if the cut part exceeds
 *                                                                 the random bits; m is a constant
 *                                                                 for whole tiles of 8 bits
 *              An item goes to WAY_ANY if bits decide that are not in this sum.
 *   WAY_ANY    everything else, in integers: significand >> (23 - m + distance below the normals)
 *
 * WAY_ADD first limits |x|, WAY_CUT |x| * 2^shift, to `top`, whose code is `beyond`. Items with inf
 * or nan go to WAY_ANY. Bits above a code from WAY_ADD are undefined. */
#ifndef CAST_WAY_CUH
#define CAST_WAY_CUH
#include "device/run/cu.cuh"
#include "hls/arith/rules.h"

#define CAST_FN static __device__ __forceinline__
#ifdef __CUDACC__
/* Not inlined, to save the fast code's registers. */
#define CAST_APART static __device__ __noinline__
#else
#define CAST_APART static __device__
#endif

enum { ANY_M = -1 }; /* the bits of the fraction are known at run time */

enum way { WAY_ADD, WAY_CUT, WAY_HARD, WAY_DRAW, WAY_ANY };

struct cast_way {
    enum way way;
    enum mf_round round; /* WAY_ANY, WAY_DRAW; the others round to nearest */
    bool trunc;          /* the code is a half's, mf_e5m2_drop() follows */
    float top;           /* WAY_ADD: beyond / 2^shift; WAY_CUT: beyond */
    float lowest, lift;  /* WAY_ADD, WAY_DRAW: 2^(1-bias) / 2^shift; 2^(23-m) */
    float scale, back;   /* WAY_CUT, WAY_HARD: 2^shift; WAY_CUT: 2^-shift */
    bool e5m2;           /* WAY_HARD: e5m2, else e4m3fn */
    uint32_t base;       /* WAY_ADD, WAY_DRAW: bits of lowest >> drop */
    uint32_t base_above; /* WAY_DRAW: the same for values above lowest: less one binade */
    uint32_t cut, doubt; /* WAY_DRAW: 32 - drop; see struct cast_doubt */
    uint32_t half, odd;  /* WAY_CUT: half a unit less one; 1, or 0 if nothing is cut */
    uint32_t nan;        /* code of nan, and mask of all codes */
    uint32_t beyond;     /* code of inf and of larger values than top */
    /* WAY_ANY, WAY_DRAW: beyond, or in WAY_ANY toward zero the largest finite value's code */
    uint32_t most;
    uint32_t sign_right; /* right shift of fp32 bits that puts the sign above the code */
    uint32_t drop, m;    /* 23 - m */
    int32_t rebias;      /* WAY_ANY: exponent field of the code less the fp32's */
    int32_t binades;     /* WAY_ANY: 2^e, more than any exponent field of the format */
};

CAST_FN float cast_power(int exponent) /* -126..127 */
{
    return __uint_as_float((uint32_t)(127 + exponent) << 23);
}

CAST_FN bool cast_hard(struct mf_fmt f, const struct vec_cast *cast)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    const bool e5m2 = mf_same(f, mf_e5m2()),
               e4m3fn = f.e == 4 && f.m == 3 && f.flavour == MF_NO_INF;
    return !cast->trunc && cast->round == MF_NEAREST && cast->overflow == MF_SATURATE &&
           (e5m2 || e4m3fn);
#else
    return (void)f, (void)cast, false;
#endif
}

/* WAY_ADD needs fp32 normals: the smallest value, and the largest plus the float that rounds it. */
CAST_FN bool cast_adds(struct mf_fmt f, int rebias)
{
    const int highest = (1 << f.e) - 1 - rebias;
    return f.e + f.m <= 23 && 1 - rebias - f.m >= 1 && highest + 23 - f.m <= 254;
}

CAST_FN struct cast_way cast_way_make(const struct vec_cast *cast, int shift, bool fast)
{
    shift = min(max(shift, -1000), 1000); /* beyond: all is 0 or too large */
    const bool trunc = cast->trunc;
    const struct mf_fmt f = trunc ? mf_half() : cast->fmt;
    const uint32_t beyond = !trunc && cast->overflow == MF_SATURATE ? mf_max(f) : mf_inf(f);
    struct cast_way w;
    w.way = WAY_ANY;
    w.round = trunc ? MF_NEAREST : cast->round;
    w.trunc = trunc;
    w.nan = mf_nan(f);
    w.beyond = beyond;
    w.most = w.round == MF_ZERO ? mf_max(f) : beyond;
    w.sign_right = 31u - f.e - f.m;
    w.m = f.m;
    w.drop = 23u - f.m;
    w.rebias = shift + mf_bias(f) - 127;
    w.binades = 1 << f.e;
    w.top = w.lift = w.scale = w.back = 0;
    w.half = w.odd = 0;
    w.e5m2 = f.e == 5;
    w.lowest = cast_power(min(max(1 - w.rebias - 127, -126), 127));
    w.base = (uint32_t)(1 - w.rebias) << f.m;
    w.base_above = (uint32_t)-w.rebias << f.m;
    w.cut = 9 + f.m;
    w.doubt = min(0xffff0000u, (uint32_t)(~0ull << w.cut));
    if (w.round == MF_STOCHASTIC)
        w.way = cast_adds(f, w.rebias) ? WAY_DRAW : WAY_ANY;
    if (w.round != MF_NEAREST)
        return w;
    if (fast && cast_hard(f, cast) && shift >= -126 && shift <= 126) {
        w.way = WAY_HARD;
        w.scale = cast_power(shift);
    } else if (f.e == 8 && f.m > 0 && shift >= -126 && shift <= 126) {
        w.way = WAY_CUT;
        w.top = __uint_as_float(beyond << w.drop);
        w.odd = w.drop > 0;
        w.half = w.drop > 0 ? (1u << (w.drop - 1)) - 1 : 0;
        w.scale = cast_power(shift);
        w.back = cast_power(-shift);
    } else if (cast_adds(f, w.rebias)) {
        const uint32_t field = beyond >> f.m;
        w.way = WAY_ADD;
        w.top = field > 0 ? __uint_as_float((beyond << w.drop) - ((uint32_t)w.rebias << 23))
                          : (float)beyond * cast_power(1 - w.rebias - f.m - 127); /* e = 1 */
        w.lift = cast_power((int)w.drop);
    }
    return w;
}

/* *odd becomes nonzero if x is inf or nan. */
CAST_FN uint32_t cast_code_add(const struct cast_way *w, float x, float *odd)
{
    *odd = fmaf(x, 0.0f, *odd);
    const float cut = fminf(fabsf(x), w->top);
    const uint32_t unit = __float_as_uint(fmaxf(cut, w->lowest)) & 0x7f800000u;
    const float sum = fmaf(__uint_as_float(unit), w->lift, cut);
    return __float_as_uint(sum) + (unit >> w->drop) - w->base;
}

/* *odd also becomes nonzero if a product is inexact. */
CAST_FN uint32_t cast_code_cut(const struct cast_way *w, float x, float *odd)
{
    const float y = __fmul_rn(x, w->scale);
    *odd = __fadd_rn(*odd, fabsf(fmaf(y, w->back, -x)));
    const uint32_t cut = __float_as_uint(fminf(fabsf(y), w->top));
    return (cut + w->half + ((cut >> w->drop) & w->odd)) >> w->drop;
}

/* Returns the signed codes of x (low) and y. */
CAST_FN uint32_t cast_codes_hard(const struct cast_way *w, float x, float y, float *odd)
{
    *odd = fmaf(y, 0.0f, fmaf(x, 0.0f, *odd));
    uint16_t codes = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    const float low = __fmul_rn(x, w->scale), high = __fmul_rn(y, w->scale);
    if (w->e5m2)
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    else
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
#else
    (void)w;
#endif
    return codes;
}

/* Reasons for which an item's codes may be wrong. */
struct cast_doubt {
    uint32_t largest; /* from 0x7f800000: inf or nan */
    uint32_t nearest; /* from w->doubt: a part that is cut off has the upper random bits */
};

/* Cuts the significand of an fp32 normal where the code ends. field: the code's exponent field, or
 * less than 1 for subnormals.
 *
 *     | kept (returned) | *rest in units of 2^-32 of the kept unit |   lost bits decide nothing */
CAST_FN uint32_t cast_split(const struct cast_way *w, int32_t field, uint32_t bits, uint32_t *rest)
{
    const uint32_t go = min((uint32_t)max((int32_t)w->drop + 1 - field, (int32_t)w->drop), 63u);
    const uint64_t split = (uint64_t)((bits & 0x007fffffu) | 0x00800000u) << 32 >> go;
    *rest = (uint32_t)split;
    return (uint32_t)(split >> 32);
}

/* Returns the code without sign of a rounded significand. */
CAST_FN uint32_t cast_join(const struct cast_way *w, int32_t field, uint32_t kept)
{
    const uint32_t binade = (uint32_t)min(max(field - 1, 0), w->binades);
    return min((binade << w->m) + kept, w->most);
}

CAST_FN bool cast_doubtful(const struct cast_way *w, const struct cast_doubt *doubt)
{
    return doubt->largest >= 0x7f800000u || doubt->nearest >= w->doubt;
}

/* not_random: its upper or lower half is inverted random bits. M: the format's m, up to 7, or
 * ANY_M. */
template <int M>
CAST_FN uint32_t cast_code_draw(const struct cast_way *w, float x, uint32_t not_random, bool upper,
                                struct cast_doubt *doubt)
{
    const float v = fabsf(x);
    const bool under = v < w->lowest;
    const uint32_t bits = __float_as_uint(__fadd_rz(v, under ? w->lowest : 0.0f));
    const uint32_t cut = M == ANY_M ? w->cut : 9 + M, drop = M == ANY_M ? w->drop : 23 - M;
    /* Two instructions if the half is a byte permutation; nvcc makes three of two shifts. */
    const uint32_t sum =
        bits + (M == ANY_M ? (upper ? not_random & 0xffff0000u : not_random << 16) >> cut
                           : __byte_perm(not_random, 0, upper ? 0x4432 : 0x4410) << (7 - M));
    doubt->largest = max(doubt->largest, bits);
    doubt->nearest = max(doubt->nearest, sum << cut);
    return min((sum >> drop) - (under ? w->base : w->base_above), w->most);
}

/* *apart: XOR of the dropped part and `random`. The lower 16 bits decide only if it is below
 * 2^16. */
CAST_FN uint32_t cast_code_any(const struct cast_way *w, float x, uint32_t random, uint32_t *apart)
{
    /* A subnormal a * 2^-149 becomes a normal with a field of 0 or less; converting a is exact. */
    const uint32_t a = __float_as_uint(x) & 0x7fffffffu;
    int32_t wide = (int32_t)a;
    if (a < 0x00800000u)
        wide = (int32_t)(__float_as_uint(__uint2float_rn(a)) - (149u << 23));
    const int32_t field = (wide >> 23) + w->rebias;
    uint32_t rest;
    const uint32_t kept = cast_split(w, field, (uint32_t)wide, &rest);
    /* ties to even: an odd number rounds up from half */
    const uint32_t half = 0x80000000u - (kept & 1u);
    const uint32_t limit = w->round == MF_NEAREST ? half
                           : w->round == MF_ZERO  ? 0xffffffffu
                                                  : random;
    *apart = rest ^ random;
    uint32_t code = cast_join(w, field, kept + (rest > limit ? 1u : 0u));
    code = a == 0 ? 0 : code;
    return a < 0x7f800000u ? code : a == 0x7f800000u ? w->beyond : w->nan;
}

CAST_FN uint32_t cast_signed(const struct cast_way *w, uint32_t code, float x)
{
    const uint32_t whole = (code & w->nan) | ((__float_as_uint(x) >> w->sign_right) & ~w->nan);
    return w->trunc ? mf_e5m2_drop(whole) : whole;
}

#endif
