/* mf.h : all minifloat arithmetic, for C, CUDA and HLS. The RTL is checked against it.
 *
 * A format eXmY has a sign, X = 1..8 exponent bits and Y = 0..23 mantissa bits:
 *
 *     e5m2    s eeeee mm     field eeeee = 0          subnormal   (0.mm)_2 * 2^(1 - bias)
 *             7 65432 10                 = 1 .. 30    normal      (1.mm)_2 * 2^(field - bias)
 *                                        = 31         mm = 0: inf, else nan
 *
 * bias = 2^(e-1) - 1. Code + 1 is the next larger magnitude, so a carry out of mm rounds correctly
 * into the exponent.
 *
 * Corner formats: m = 0 has no nan; its top code is inf. e = 1 has no normals. Two flavours use the
 * top field for numbers: eXmYfn has no inf, and all ones is nan; eXmYf has neither. fp32 is e8m23.
 *
 * code -mf_unpack-> sign, significand * 2^exponent -scale, add-> -mf_pack (rounds once)-> code
 *
 * All arithmetic is on integers; a CPU's handling of fp32 subnormals has no effect. Any uint32_t
 * is accepted as a code or as fp32 bits; bits above the format's width are ignored. A shift is the
 * exponent of a power of two, at most 2^20 in magnitude. Sources: APS paper 2.3 and 5 (formats),
 * IEEE 754-2019 4.3.1 (rounding), fp8 paper 3.1 (trunc). */
#ifndef MF_H
#define MF_H
#include <stdint.h>

#ifdef __CUDACC__
#define MF_FN static __host__ __device__ inline
#else
#define MF_FN static inline
#endif

enum mf_flavour {
    MF_IEEE,   /* eXmY */
    MF_NO_INF, /* eXmYfn, as e4m3fn of the OCP's FP8; m > 0 */
    MF_NUMBERS /* eXmYf, as e2m1f of its FP4: only numbers. nan and inf become the largest one, so
                  callers look for them before a cast. */
};

struct mf_fmt {
    uint8_t e, m;    /* exponent bits 1..8, but 1..7 without MF_IEEE; mantissa bits 0..23 */
    uint8_t flavour; /* enum mf_flavour */
};

enum mf_round {
    /* Ties go to even; if m = 0, to the larger magnitude, except that the tie between 0 and the
     * smallest value goes to 0. */
    MF_NEAREST,
    /* Up with probability (discarded part) / (one unit), to within 2^-32. Exact values stay. */
    MF_STOCHASTIC,
    /* Toward zero. A finite value becomes at most the largest finite one. */
    MF_ZERO
};

/* Result for a value beyond the largest finite one, after rounding as if exponents had no upper
 * limit. */
enum mf_overflow {
    MF_SATURATE, /* the largest finite value, also for an infinite input; nan stays nan */
    MF_INF       /* inf; MF_NO_INF: nan; MF_NUMBERS: as MF_SATURATE */
};

/* ---- Special codes, without their sign ---- */

MF_FN unsigned mf_width(struct mf_fmt f)
{
    return 1u + f.e + f.m;
}
MF_FN int mf_bias(struct mf_fmt f)
{
    return (1 << (f.e - 1)) - 1;
}
MF_FN int mf_same(struct mf_fmt a, struct mf_fmt b)
{
    return a.e == b.e && a.m == b.m && a.flavour == b.flavour;
}

/* The only nan in results: all ones (m = 0: the code of inf). Inputs may have other payloads. */
MF_FN uint32_t mf_nan(struct mf_fmt f)
{
    return (1u << (f.e + f.m)) - 1u;
}

/* The first code that is not a number. IEEE: inf, |1..1|0..0| */
MF_FN uint32_t mf_special(struct mf_fmt f)
{
    uint32_t nan = mf_nan(f);
    return f.flavour == MF_IEEE     ? nan ^ ((1u << f.m) - 1u)
           : f.flavour == MF_NO_INF ? nan
                                    : nan + 1u;
}

/* The largest number. For e = 1 in IEEE's flavour it is 2 - 2^(1-m), the largest subnormal; for
 * e = 1, m = 0 only 0 is left. */
MF_FN uint32_t mf_max(struct mf_fmt f)
{
    return mf_special(f) - 1u;
}

/* The code of inf. MF_NO_INF: of nan. MF_NUMBERS: of the largest number. */
MF_FN uint32_t mf_inf(struct mf_fmt f)
{
    return f.flavour == MF_IEEE ? mf_special(f) : mf_nan(f);
}

/* Magnitudes above it are nans. */
MF_FN uint32_t mf_last_not_nan(struct mf_fmt f)
{
    return f.flavour == MF_IEEE ? mf_special(f) : mf_max(f);
}

/* 1 if the top field holds numbers, else 0. */
MF_FN int mf_uses_top(struct mf_fmt f)
{
    return f.flavour != MF_IEEE ? 1 : 0;
}

/* ---- Unpack, normalise, pack ---- */

enum mf_kind { MF_FINITE, MF_INFINITE, MF_NAN };
struct mf_num {
    uint64_t sig; /* value = sig * 2^exp; 0 is zero; meaningless unless finite */
    int exp;
    uint32_t negative; /* 0 or 1 */
    enum mf_kind kind;
};

MF_FN struct mf_fmt mf_fp32(void)
{
    struct mf_fmt f = {8, 23, MF_IEEE};
    return f;
}

/*     | s | field | frac |   ->   (field ? 1 : 0).frac * 2^(max(field, 1) - bias)
 * The result is an integer times 2^exp. */
MF_FN struct mf_num mf_unpack(struct mf_fmt f, uint32_t code)
{
    uint32_t mag = code & mf_nan(f), field = mag >> f.m, frac = mag & ((1u << f.m) - 1u);
    struct mf_num v;
    v.sig = field != 0u ? frac | (1u << f.m) : frac;
    v.exp = (field != 0u ? (int)field : 1) - mf_bias(f) - f.m;
    v.negative = (code >> (f.e + f.m)) & 1u;
    v.kind = mag < mf_special(f) ? MF_FINITE : mag > mf_last_not_nan(f) ? MF_NAN : MF_INFINITE;
    return v;
}

/*     sig = 0..0 1xxx   ->   1xxx 0..0
 * exp is lowered by the number of places. Zero stays zero. */
MF_FN struct mf_num mf_normalise(struct mf_num v)
{
    for (int i = 5; i >= 0; i--)
        if (v.sig >> (64 - (1 << i)) == 0u) {
            v.sig <<= 1 << i;
            v.exp -= 1 << i;
        }
    return v;
}

/* Round v to a code of f; no other function rounds. random: 32 random bits, for MF_STOCHASTIC only.
 * Zero and nan keep their sign. */
MF_FN uint32_t mf_pack(struct mf_fmt f, struct mf_num v, enum mf_round round,
                       enum mf_overflow overflow, uint32_t random)
{
    uint32_t sign = v.negative << (f.e + f.m);
    uint32_t beyond = overflow == MF_SATURATE ? mf_max(f) : mf_inf(f);
    if (v.kind != MF_FINITE)
        return sign | (v.kind == MF_NAN ? mf_nan(f) : beyond);
    if (v.sig == 0u)
        return sign;

    /* v = 1.xxx * 2^top. Binade 0 holds the subnormals and the first normals, which have the same
     * unit. */
    v = mf_normalise(v);
    int top = v.exp + 63, lowest = 1 - mf_bias(f), binade = top > lowest ? top - lowest : 0;
    if (binade > 1 << f.e)
        binade = 1 << f.e; /* overflows anyway; keeps the code in 32 bits */

    /* 63           drop         0
     * | 1xx....x    | yyyyyyyyy |     kept = 1xx..x, units of the last mantissa place, <= m+1 bits
     *  kept           rest            rest = yyyyyyyyy as a fraction of one unit, in 2^-64
     *
     * A subnormal drops more, up to all of sig and beyond:
     * | 0 | 1xx....xyyyy | -> rest = 0001xx..xyy */
    int drop = 63 - f.m + (top < lowest ? lowest - top : 0); /* >= 40 */
    uint64_t kept = drop < 64 ? v.sig >> (drop & 63) : 0u;
    uint64_t rest = drop < 64    ? v.sig << ((64 - drop) & 63)
                    : drop < 128 ? v.sig >> ((drop - 64) & 63)
                                 : 0u;
    uint64_t half = 1ull << 63, up = 0u;
    if (round == MF_NEAREST)
        up = rest > half || (rest == half && (kept & 1u) != 0u);
    if (round == MF_STOCHASTIC)
        up = rest >> 32 > random;

    /* The leading 1 of kept adds one to the field; a carry from rounding adds another one. */
    uint32_t mag = ((uint32_t)binade << f.m) + (uint32_t)(kept + up);
    if (mag > mf_max(f))
        mag = round == MF_ZERO ? mf_max(f) : beyond;
    return sign | mag;
}

/* ---- fp32 to codes and back ---- */

/* Return the code of x * 2^shift, rounded once. x_bits: an fp32, subnormals included; random: as in
 * mf_pack(). */
MF_FN uint32_t mf_enc(struct mf_fmt f, uint32_t x_bits, int shift, enum mf_round round,
                      enum mf_overflow overflow, uint32_t random)
{
    struct mf_num v = mf_unpack(mf_fp32(), x_bits);
    v.exp += shift;
    return mf_pack(f, v, round, overflow, random);
}

/* Return the fp32 bits of value * 2^shift. Exact, except that an fp32 subnormal is rounded once to
 * nearest and a value beyond fp32 becomes inf. */
MF_FN uint32_t mf_dec(struct mf_fmt f, uint32_t code, int shift)
{
    struct mf_num v = mf_unpack(f, code);
    v.exp += shift;
    return mf_pack(mf_fp32(), v, MF_NEAREST, MF_INF, 0u);
}

/* ---- Sum of two codes, rounded to nearest ---- */

/* Return a + b, ready to be rounded to nearest; both unpacked from the same format. inf - inf is
 * nan, a zero sum is +0, nan has no sign. The sum is exact unless bits of `small` are shifted out;
 * `small` is then too far below `big` to reach half a unit, so the rounded result is right. */
MF_FN struct mf_num mf_sum(struct mf_num a, struct mf_num b)
{
    struct mf_num v = a;
    if (a.kind != MF_FINITE || b.kind != MF_FINITE) {
        uint32_t clash = a.kind == b.kind && a.negative != b.negative;
        if (a.kind == MF_NAN || b.kind == MF_NAN || clash != 0u) {
            v.kind = MF_NAN;
            v.negative = 0u;
        } else if (a.kind == MF_FINITE) {
            v = b;
        }
        return v;
    }

    /*     big    | 0 xxxx | 000000000000000 |    significands of at most 24 bits, 38 places spare
     *     small  | 0 000x | xxx000000000000 |    shifted right by the difference of exponents */
    uint32_t swap = a.exp < b.exp || (a.exp == b.exp && a.sig < b.sig);
    struct mf_num big = swap != 0u ? b : a, small = swap != 0u ? a : b;
    int apart = big.exp - small.exp;
    uint64_t high = big.sig << 38, low = apart < 64 ? (small.sig << 38) >> (apart & 63) : 0u;
    v.sig = big.negative == small.negative ? high + low : high - low;
    v.exp = big.exp - 38;
    v.negative = v.sig != 0u ? big.negative : 0u;
    return v;
}

MF_FN uint32_t mf_add(struct mf_fmt f, uint32_t a, uint32_t b, enum mf_overflow overflow)
{
    return mf_pack(f, mf_sum(mf_unpack(f, a), mf_unpack(f, b)), MF_NEAREST, overflow, 0u);
}

/* ---- A format inside another ---- */

/* Return 1 if `to` has all numbers of `from`, and an inf and a nan if `from` has them. */
MF_FN int mf_holds(struct mf_fmt to, struct mf_fmt from)
{
    return mf_same(to, from) ||
           (to.flavour == MF_IEEE && to.m >= from.m && to.e >= from.e + mf_uses_top(from));
}

/* ---- The fp8 paper's rule `trunc` for e5m2: drop the low byte of a half ---- */

MF_FN struct mf_fmt mf_e5m2(void)
{
    struct mf_fmt f = {5, 2, MF_IEEE};
    return f;
}
MF_FN struct mf_fmt mf_half(void)
{
    struct mf_fmt f = {5, 10, MF_IEEE};
    return f;
}

/*     half  | s eeeee mm | mmmmmmmm |   ->   | s eeeee mm |   minus 1 if eeeee is all ones
 *
 * Subtracting 1 turns inf into the largest finite value. A nan, which the paper does not define,
 * stays a nan. */
MF_FN uint32_t mf_e5m2_drop(uint32_t half)
{
    uint32_t code = half >> 8;
    return code - ((code & 0x7cu) == 0x7cu ? 1u : 0u);
}

/* Return the code of x * 2^shift: rounds to half, nearest-even, then drops the low byte. */
MF_FN uint32_t mf_e5m2_trunc_enc(uint32_t x_bits, int shift)
{
    return mf_e5m2_drop(mf_enc(mf_half(), x_bits, shift, MF_NEAREST, MF_INF, 0u));
}

/* Return the code of a + b by the rule `trunc`. The paper's sum, in fp32, rounds to the same half
 * as the exact sum. */
MF_FN uint32_t mf_e5m2_trunc_add(uint32_t a, uint32_t b)
{
    struct mf_num v = mf_sum(mf_unpack(mf_e5m2(), a), mf_unpack(mf_e5m2(), b));
    return mf_e5m2_drop(mf_pack(mf_half(), v, MF_NEAREST, MF_INF, 0u));
}

/* ---- Exponents of magnitudes, for scaling ---- */

/* Return ceil(log2(p * |x|)). abs_bits: fp32 bits of |x|, finite and not 0; p > 0. The product is
 * exact: 24 + 32 bits. */
MF_FN int mf_exp_up_times(uint32_t abs_bits, uint32_t p)
{
    struct mf_num v = mf_unpack(mf_fp32(), abs_bits);
    v.sig *= p;
    v = mf_normalise(v);
    return v.exp + 63 + (v.sig > 1ull << 63 ? 1 : 0);
}

/* Return the smallest t with |x| <= L * 2^t, where L in [1, 2) is the significand of the largest
 * finite value: 2 - 2^-m, or 2 - 2^(1-m) if it is a subnormal or its successor is nan (1.75 for
 * e4m3fn). abs_bits: fp32 bits of |x|, finite and not 0. Not for a format whose only number is
 * 0. */
MF_FN int mf_exp_tight(struct mf_fmt f, uint32_t abs_bits)
{
    struct mf_num v = mf_normalise(mf_unpack(mf_fp32(), abs_bits));
    struct mf_num largest = mf_normalise(mf_unpack(f, mf_max(f)));
    return v.exp + 63 + (v.sig > largest.sig ? 1 : 0);
}

/* ---- Exact sums ----
 *
 *     63    62    61                          0
 *     | -inf | +inf | sum, two's complement   |   in units of the smallest subnormal; 0: empty sum
 *
 * The flags record the infinities added so far; a nan sets both. Addition never rounds, so the
 * order does not matter. A sum of n codes is exact if mf_acc_bits(f, n) <= 62. A card keeps fewer
 * bits of the sum. */

#define MF_ACC_SUM  0x3fffffffffffffffull
#define MF_ACC_PINF (1ull << 62)
#define MF_ACC_NINF (1ull << 63)

/* Return the bits of the exact sum of n_terms codes (> 0): 2^e - 1 + m + ceil(log2 n_terms), and
 * one more if the top field holds numbers. */
MF_FN int mf_acc_bits(struct mf_fmt f, unsigned n_terms)
{
    int log2_n = 0;
    for (int i = 0; i < 32; i++)
        log2_n += (n_terms - 1u) >> i != 0u ? 1 : 0;
    return (1 << f.e) - 1 + f.m + mf_uses_top(f) + log2_n;
}

/* ---- Wide words: exact sums as messages carry them ----
 *
 * A wide word is the sum in two's complement. Sums of n_terms codes leave at least three words
 * free: the lowest means nan, the next -inf, and the highest +inf. */

/* Return the bits of a wide word. For one term, a format with e = 1 would leave one word free. */
MF_FN int mf_wide_bits(struct mf_fmt f, unsigned n_terms)
{
    return mf_acc_bits(f, n_terms < 2u ? 2u : n_terms);
}

/* Return the wide word, of `bits` bits, of an exact sum. */
MF_FN uint64_t mf_wide_word(uint64_t acc, int bits)
{
    const uint64_t lowest = 1ull << (bits - 1);
    uint64_t word = acc;
    if ((acc & ~MF_ACC_SUM) != 0u)
        word = (acc & MF_ACC_NINF) == 0u   ? lowest - 1u
               : (acc & MF_ACC_PINF) == 0u ? lowest + 1u
                                           : lowest;
    return word & (2u * lowest - 1u);
}

/* Return the exact sum of a wide word. */
MF_FN uint64_t mf_wide_acc(uint64_t word, int bits)
{
    const uint64_t lowest = 1ull << (bits - 1);
    return word == lowest        ? MF_ACC_NINF | MF_ACC_PINF
           : word == lowest + 1u ? MF_ACC_NINF
           : word == lowest - 1u ? MF_ACC_PINF
                                 : ((word ^ lowest) - lowest) & MF_ACC_SUM;
}

MF_FN uint64_t mf_acc_merge(uint64_t a, uint64_t b)
{
    return ((a + b) & MF_ACC_SUM) | ((a | b) & ~MF_ACC_SUM);
}

/* Return acc + code, for formats with e <= 5: wider exponents do not fit 62 bits. */
MF_FN uint64_t mf_acc_add(struct mf_fmt f, uint64_t acc, uint32_t code)
{
    struct mf_num v = mf_unpack(f, code);
    uint64_t units = v.sig << ((v.exp - (1 - mf_bias(f) - f.m)) & 63);
    uint64_t term = (v.negative != 0u ? 0u - units : units) & MF_ACC_SUM;
    if (v.kind == MF_INFINITE)
        term = v.negative != 0u ? MF_ACC_NINF : MF_ACC_PINF;
    if (v.kind == MF_NAN)
        term = MF_ACC_NINF | MF_ACC_PINF;
    return mf_acc_merge(acc, term);
}

/* Return acc / 2^shift as a code of format out, rounded once to nearest. `in`: format of the
 * addends. Zero is +0, even if a negative sum rounds to zero. One inf flag gives that inf (or
 * the largest number, by `overflow`); both give nan. */
MF_FN uint32_t mf_acc_round(struct mf_fmt in, uint64_t acc, int shift, struct mf_fmt out,
                            enum mf_overflow overflow)
{
    struct mf_num v;
    v.negative = (uint32_t)(acc >> 61) & 1u;
    v.sig = (v.negative != 0u ? 0u - acc : acc) & MF_ACC_SUM;
    v.exp = 1 - mf_bias(in) - in.m - shift;
    v.kind = MF_FINITE;
    if ((acc & ~MF_ACC_SUM) != 0u) {
        v.kind = (acc & ~MF_ACC_SUM) == (MF_ACC_NINF | MF_ACC_PINF) ? MF_NAN : MF_INFINITE;
        v.negative = acc >> 62 == 2u;
    }
    uint32_t code = mf_pack(out, v, MF_NEAREST, overflow, 0u);
    return (code & mf_nan(out)) != 0u ? code : 0u;
}

#endif
