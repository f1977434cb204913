/* level.h : all arithmetic of levels, for C and CUDA. A vector is cut into buckets. Each number of
 * a bucket is sent as one of a few evenly spaced values (the grid) from -scale to scale. There are
 * two schemes:
 *
 *     sign   values -scale .. scale in steps of scale / s, with s = 2^(bits-1) - 1; one is 0
 *            code: | sign | level, 0 .. s |
 *     even   2^bits values: the ends of 2^bits - 1 equal intervals of -scale .. scale; none is 0
 *            code: | number of the value, counted from the lowest |
 *
 * A number between two values is rounded up or down at random. The probability of rounding up is
 * its distance from the lower value, in steps, so the expected decoded value is the number itself.
 * A number that differs from a value only by rounding errors becomes that value. Each operation is
 * rounded to fp32, so every machine in IEEE mode gives the same bits. No result is inf or nan
 * unless an argument is.
 *
 * Sums over a bucket use 16 partial sums: element i is added to lane i mod 16, and level_join()
 * adds the lanes. Sources: Alistarh et al., "QSGD", NIPS 2017; paper 3 of README.md, section 3. */
#ifndef LEVEL_H
#define LEVEL_H
#include <stdint.h>

#ifdef __CUDACC__
#define LEVEL_FN static __host__ __device__ inline
#else
#define LEVEL_FN static inline
#endif

enum {
    LEVEL_LANES = 16,
    LEVEL_BUCKET_UNIT = 32,     /* elements; bucket sizes are multiples of it */
    LEVEL_BUCKET_MAX = 1 << 14, /* elements of the largest bucket */
};

#define LEVEL_FLT_MAX 0x1.fffffep127f

/* Return a * b, which no compiler fuses with an addition. */
LEVEL_FN float level_times(float a, float b)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/* Return a + b, clamped to the largest finite magnitude. */
LEVEL_FN float level_add(float a, float b)
{
    const float sum = a + b;
    const float low = sum < -LEVEL_FLT_MAX ? -LEVEL_FLT_MAX : sum;
    return low > LEVEL_FLT_MAX ? LEVEL_FLT_MAX : low;
}

/* Return the sum of 16 lanes: adds lanes 8 apart, then 4, 2 and 1. Overwrites lanes. */
LEVEL_FN float level_join(float *lanes)
{
    for (int apart = LEVEL_LANES / 2; apart > 0; apart /= 2)
        for (int i = 0; i < apart; i++)
            lanes[i] = level_add(lanes[i], lanes[i + apart]);
    return lanes[0];
}

LEVEL_FN float level_mean(float sum, uint32_t n)
{
    return n != 0u ? sum / (float)n : 0.0f;
}

/* ---- a power of two that makes the squares of numbers fit fp32 ---- */

struct level_power {
    float up, down; /* 1 / up */
};

/* Return the power for numbers of at most max in magnitude:
 *
 *      max         2^-95           2^-40           2^40
 *        x 2^110     |    x 2^68     |    x 1        |    x 2^-88     all end in 2^-40 .. 2^40 */
LEVEL_FN struct level_power level_power_of(float max)
{
    struct level_power p = {1.0f, 1.0f};
    if (max > 0x1p40f) {
        p.up = 0x1p-88f;
        p.down = 0x1p88f;
    } else if (max < 0x1p-95f) {
        p.up = 0x1p110f;
        p.down = 0x1p-110f;
    } else if (max < 0x1p-40f) {
        p.up = 0x1p68f;
        p.down = 0x1p-68f;
    }
    return p;
}

/* Return the square root of x, to an ulp, for x from 2^-80 to 2^126: reduces x to 1 .. 4, then
 * applies Heron's rule. */
LEVEL_FN float level_sqrt(float x)
{
    const int small = x < 1.0f;
    float root = small ? 0x1p-48f : 1.0f;
    x = small ? level_times(x, 0x1p96f) : x;
    for (int bits = 32; bits > 0; bits /= 2) {
        const float step = (float)((uint64_t)1 << bits);
        const int over = x >= step * step;
        x = over ? x / step / step : x;
        root = over ? root * step : root;
    }
    float y = 0.5f * (1.0f + x);
    for (int i = 0; i < 4; i++)
        y = 0.5f * (y + x / y);
    return level_times(root, y);
}

/* Return the 2-norm of a bucket, finite and at least max. squares: sum of squares of its elements,
 * each multiplied by level_power_of(max).up. */
LEVEL_FN float level_norm(float squares, float max, struct level_power p)
{
    const float norm = max > 0.0f ? level_times(level_sqrt(squares), p.down) : 0.0f;
    const float most = norm > LEVEL_FLT_MAX ? LEVEL_FLT_MAX : norm;
    return most > max ? most : max;
}

/* Return `times` * the standard deviation of n numbers about 0. squares, p: as in level_norm(). */
LEVEL_FN float level_deviations(float times, float squares, float n, struct level_power p)
{
    const float deviation = level_sqrt(squares) / level_sqrt(n);
    return level_times(level_times(times, deviation), p.down);
}

/* ---- the grid of a bucket ---- */

struct level_scheme {
    uint32_t bits; /* 1 (`even` only), 2, 4, 8 or 16 */
    uint32_t even; /* 1: scheme `even`, 0: scheme `sign` */
};

struct level_grid {
    struct level_power power;
    float most; /* the scale, times power.up */
    float half; /* steps from 0 to the scale: s, or half the number of intervals */
    float per;  /* steps per unit of (number * power.up) */
    float step; /* size of a step, times power.up */
    float top;  /* sign: largest level, s; even: number of the last value */
};

/* Return the grid of a bucket. scale >= 0; if 0, all values are 0. */
LEVEL_FN struct level_grid level_grid_of(struct level_scheme scheme, float scale)
{
    struct level_grid g;
    const float codes = (float)((1u << (scheme.even != 0u ? scheme.bits : scheme.bits - 1u)) - 1u);
    g.power = level_power_of(scale);
    g.top = codes;
    g.half = scheme.even != 0u ? 0.5f * codes : codes;
    g.most = level_times(scale, g.power.up);
    g.step = g.most / g.half;
    g.per = scale > 0.0f ? g.half / g.most : 0.0f;
    return g;
}

/* Return min(at, top); top if `at` is nan. */
LEVEL_FN float level_at_most(float at, float top)
{
    return at < top ? at : top;
}

/* Round `at` at random to the integer below or above; if one is within `slack` (the bound on
 * rounding errors), always to that. */
LEVEL_FN uint32_t level_draw(float at, float slack, uint32_t random)
{
    const int32_t low = (int32_t)(at + slack);
    const float rest = at - (float)low;
    const float draw = level_times((float)(int32_t)(random >> 8), 0x1p-24f);
    return (uint32_t)low + (uint32_t)((rest > slack) & (draw < rest));
}

/* Return the code in scheme `sign` of magnitude `size` (at most the grid's scale) and sign
 * `negative` (0 or 1). random: 32 random bits. */
LEVEL_FN uint32_t level_code_sign(uint32_t bits, struct level_grid g, float size, uint32_t negative,
                                  uint32_t random)
{
    const float at = level_at_most(level_times(level_times(size, g.power.up), g.per), g.top);
    return level_draw(at, level_times(at, 0x1p-22f), random) | negative << (bits - 1u);
}

/* Return the place of v * power.up among the values of scheme `even`, from 0 to g.top. */
LEVEL_FN float level_at_even(struct level_grid g, float v)
{
    const float at = level_at_most(level_times(v, g.per) + g.half, g.top);
    return at > 0.0f ? at : 0.0f;
}

/* Return v's code in scheme `even`. |v| is at most the grid's scale. random: 32 random bits. */
LEVEL_FN uint32_t level_code_even(struct level_grid g, float v, uint32_t random)
{
    const float at = level_at_even(g, level_times(v, g.power.up));
    return level_draw(at, level_times(g.top, 0x1p-22f), random);
}

/* Return the value at `steps` grid steps from 0; |steps| is at most g.half. */
LEVEL_FN float level_value_of(struct level_grid g, float steps)
{
    const float x = level_times(steps, g.step);
    const float low = x < g.most ? x : g.most;
    return level_times(low > -g.most ? low : -g.most, g.power.down);
}

LEVEL_FN float level_value_sign(uint32_t bits, struct level_grid g, uint32_t code)
{
    const uint32_t negative = code >> (bits - 1u);
    const float size = level_value_of(g, (float)(int32_t)(code & ((1u << (bits - 1u)) - 1u)));
    return (negative != 0u ? -size : size) + 0.0f; /* no -0 */
}

LEVEL_FN float level_value_even(struct level_grid g, uint32_t code)
{
    return level_value_of(g, (float)(int32_t)code - g.half) + 0.0f;
}

#endif
