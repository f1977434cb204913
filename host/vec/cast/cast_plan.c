/* cast_plan.c : selects the way of a cast and computes its constants. */
#include "vec/cast/cast_plan.h"
#include <math.h>

static int clamp(int x, int limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

/* fp32 bits of number / 2^shift, as if no code were special; the code is a normal */
static int64_t number_bits(struct mf_fmt f, uint32_t code, int shift)
{
    const int64_t up = (int64_t)code << (23 - f.m);
    return up + (int64_t)(127 - mf_bias(f) - shift) * (1 << 23);
}

/* ENC_ADD needs limits of the format that are fp32 normals with 23 - m binades of room for the
 * lift. fp32's subnormals must be below half the smallest value: 2^-126 <= 2^(field of lowest -
 * 127) * 2^-m / 2. */
static bool adds(struct mf_fmt f, uint32_t beyond, int shift)
{
    const int lowest_field = 127 + 1 - mf_bias(f) - shift;
    return f.e >= 2 && f.e + f.m <= 23 && lowest_field >= f.m + 2 &&
           (number_bits(f, beyond, shift) >> 23) + 23 - f.m <= 254;
}

/* fp32 bits of the smallest normal / 2^shift */
static uint32_t lowest_bits(struct mf_fmt f, int shift)
{
    return (uint32_t)(127 + 1 - mf_bias(f) - shift) << 23;
}

struct enc_plan enc_plan_make(struct mf_fmt f, enum mf_round round, enum mf_overflow overflow,
                              int shift)
{
    shift = clamp(shift, 1000); /* beyond it every code is zero or overflows */
    const uint32_t beyond = overflow == MF_SATURATE ? mf_max(f) : mf_inf(f);
    struct enc_plan p = {
        .way = ENC_ANY,
        .round = round,
        .nan = mf_nan(f),
        .beyond = beyond,
        .most = round == MF_ZERO ? mf_max(f) : beyond,
        .sign_right = 31u - f.e - f.m,
        .drop = 23u - f.m,
        .rebias = shift + mf_bias(f) - 127,
        .binades = 1 << f.e,
        .m = f.m,
    };
    enum { DRAWN = 16 }; /* random bits used first; at least as many must be dropped */
    if (round == MF_STOCHASTIC && p.drop >= DRAWN && adds(f, beyond, shift)) {
        p.way = ENC_DRAW;
        p.lowest = lowest_bits(f, shift);
    }
    if (round != MF_NEAREST)
        return p;
    if (f.e == 8 && f.m > 0 && shift == 0) {
        p.way = ENC_CUT;
        p.top = beyond << p.drop;
        p.odd = p.drop > 0;
        p.half = p.drop > 0 ? (1u << (p.drop - 1)) - 1 : 0;
    } else if (adds(f, beyond, shift)) {
        p.way = ENC_ADD;
        p.top = (uint32_t)number_bits(f, beyond, shift);
        p.lowest = lowest_bits(f, shift);
        p.lift = p.lowest + (p.drop << 23);
    }
    return p;
}

/* The three factors are fp32 normals, the last as large as possible. An earlier multiplication can
 * then round only if the final result is zero. */
static void set_factors(struct dec_plan *p, int shift)
{
    shift = clamp(shift, 378);
    for (int i = 2; i >= 0; i--) {
        int part = clamp(shift, 126);
        p->factor[i] = ldexpf(1, part);
        shift -= part;
    }
}

static int log2_exact(float x)
{
    int e;
    return x > 0 && isnormal(x) && frexpf(x, &e) == 0.5f ? e - 1 : INT32_MAX;
}

/* All values of f * 2^shift must be fp32 normals or zero. */
static bool stays_normal(struct mf_fmt f, int shift)
{
    const int bias = mf_bias(f);
    return 1 - bias - f.m + shift >= -126 && (1 << f.e) - 1 - bias + shift <= 127;
}

uint32_t dec_half_of(struct mf_fmt f, uint32_t code)
{
    const uint32_t mag = code & mf_nan(f), sign = (code >> (mf_width(f) - 1) & 1) << 15;
    if (mag >= mf_special(f))
        return sign | (mag > mf_last_not_nan(f) ? 0x7e00u : 0x7c00u);
    return sign | mag << (10 - f.m);
}

static void set_halves(struct dec_plan *p, struct mf_fmt f, int inside)
{
    const unsigned width = mf_width(f);
    const int exp = 15 - mf_bias(f) + inside;
    if (f.e > 5 || (f.e == 5 && f.flavour != MF_IEEE) || exp < -126 || exp > 127 ||
        (width != 4 && width != 8 && !mf_same(f, mf_half())))
        return;
    p->per_half = ldexpf(1, exp);
    p->right = width == 8 ? f.m - 2u : 0;
    for (uint32_t code = 0; code < 16 && width == 4; code++)
        p->half_of[code] = (uint8_t)(dec_half_of(f, code) >> 8);
}

struct dec_plan dec_plan_make(struct mf_fmt f, int shift, float divisor)
{
    const struct vec_quotient q = vec_quotient_of(f, clamp(shift, 1000), divisor);
    shift = q.shift;
    const int by = log2_exact(q.divisor); /* in -126..126 the inverse is a normal too */
    struct dec_plan p = {
        .nan = mf_nan(f),
        .special = mf_special(f),
        .special_bits = f.flavour == MF_IEEE ? 0x7f800000 : 0x7fffffff,
        .sign_left = 31u - f.e - f.m,
        .up = 23u - f.m,
        .divided = by < -126 || by > 126,
        .factor[3] = 1,
        .divisor = q.divisor,
    };
    int inside = 0, outside = shift; /* parts of shift: applied by rebias and unit; by factor */
    if (f.e < 8 && stays_normal(f, shift)) {
        inside = shift;
        outside = 0;
    }
    if (!p.divided && f.e < 8 && outside == 0 && stays_normal(f, shift - by))
        inside -= by;
    else if (!p.divided)
        p.factor[3] = ldexpf(1, -by);
    if (f.e < 8) {
        p.normal = 1u << f.m;
        p.rebias = (uint32_t)(127 - mf_bias(f) + inside) << 23;
        p.unit = ldexpf(1, 1 - mf_bias(f) - f.m + inside);
    }
    p.scaled = outside != 0 || p.factor[3] != 1;
    set_factors(&p, outside);
    set_halves(&p, f, inside);
    return p;
}
