/* mf_slow.h : slow reference of hls/arith/mf.h with long doubles and a list of all values.
 *
 * A format of up to 16 bits is a sorted list of its finite magnitudes, plus the value that would
 * follow if the exponent were unbounded. Rounding searches the list; overflow is the last entry.
 * rintl() rounds wider formats; test_mf.c compares both. Exact for at most 64 significant bits.
 * Uses mf.h's types, not its functions. */
#ifndef MF_SLOW_H
#define MF_SLOW_H
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/bits.h"
#include "hls/arith/mf.h"

_Static_assert(LDBL_MANT_DIG >= 64, "the slow reference needs a long double of 64 bits");

struct slow {
    struct mf_fmt f;
    uint32_t n;         /* finite magnitudes: codes 0 .. n-1 */
    long double *value; /* [n+1], ascending; NULL: too many */
    /* slow_find()'s last result; the next value is often near */
    uint32_t at;
};

/* Exponent of the smallest normal, or of the only binade if e = 1. */
static inline int slow_lowest(struct mf_fmt f)
{
    return 2 - (1 << (f.e - 1));
}

/* Codes of inf and nan also give a number, as if exponents went on. */
static inline long double slow_magnitude(struct mf_fmt f, uint32_t mag)
{
    uint32_t per_binade = 1u << f.m, field = mag / per_binade, frac = mag % per_binade;
    if (field == 0)
        return ldexpl(frac, slow_lowest(f) - f.m);
    return ldexpl(1 + (long double)frac / per_binade, slow_lowest(f) + (int)field - 1);
}

static inline uint32_t slow_n_finite(struct mf_fmt f)
{
    const uint32_t all = 1u << (f.e + f.m);
    return f.flavour == MF_IEEE ? all - (1u << f.m) : f.flavour == MF_NO_INF ? all - 1 : all;
}

/* The magnitude of an overflow. */
static inline uint32_t slow_beyond(struct mf_fmt f, enum mf_overflow overflow)
{
    return slow_n_finite(f) - (overflow == MF_SATURATE || f.flavour == MF_NUMBERS);
}

static inline long double slow_dec(struct mf_fmt f, uint32_t code)
{
    uint32_t sign = 1u << (f.e + f.m), mag = code % sign, n = slow_n_finite(f);
    long double v = mag < n                            ? slow_magnitude(f, mag)
                    : mag == n && f.flavour == MF_IEEE ? (long double)INFINITY
                                                       : (long double)NAN;
    return code & sign ? -v : v;
}

static inline struct slow slow_open(struct mf_fmt f)
{
    struct slow s = {f, slow_n_finite(f), NULL, 0};
    if (1 + f.e + f.m > 16)
        return s;
    s.value = malloc((s.n + 1) * sizeof *s.value);
    if (!s.value)
        abort();
    for (uint32_t k = 0; k <= s.n; k++)
        s.value[k] = slow_magnitude(f, k);
    return s;
}

static inline void slow_close(struct slow *s)
{
    free(s->value);
}

/* The largest k with value[k] <= a < value[n]. */
static inline uint32_t slow_find(struct slow *s, long double a)
{
    if (!(s->value[s->at] <= a && a < s->value[s->at + 1])) {
        uint32_t low = 0, high = s->n;
        while (high - low > 1) {
            uint32_t mid = low + (high - low) / 2;
            if (s->value[mid] <= a)
                low = mid;
            else
                high = mid;
        }
        s->at = low;
    }
    return s->at;
}

/* a is low + part * (high - low), part in [0, 1). */
static inline bool slow_goes_up(long double a, long double low, long double high, bool tie_goes_up,
                                enum mf_round round, uint32_t random)
{
    if (round == MF_ZERO)
        return false;
    if (round == MF_STOCHASTIC)
        return random < floorl((a - low) / (high - low) * 4294967296.0L);
    return a + a > low + high || (a + a == low + high && tie_goes_up);
}

/* Returns the code; n: overflow. */
static inline uint32_t slow_mag_listed(struct slow *s, long double a, enum mf_round round,
                                       uint32_t random)
{
    if (a >= s->value[s->n])
        return s->n;
    uint32_t k = slow_find(s, a);
    bool tie_goes_up = s->f.m == 0 ? k != 0 : k % 2 == 1;
    return k + slow_goes_up(a, s->value[k], s->value[k + 1], tie_goes_up, round, random);
}

static inline uint32_t slow_mag_wide(struct mf_fmt f, long double a, enum mf_round round,
                                     uint32_t random)
{
    int lowest = slow_lowest(f), top = a > 0 ? ilogbl(a) : lowest;
    long double unit = ldexpl(1, (top > lowest ? top : lowest) - f.m), units = floorl(a / unit);
    if (round == MF_NEAREST)
        units = rintl(a / unit);
    else
        units += slow_goes_up(a / unit, units, units + 1, false, round, random);
    a = units * unit;
    if (a >= slow_magnitude(f, slow_n_finite(f)))
        return slow_n_finite(f);
    top = a > 0 ? ilogbl(a) : lowest - 1;
    if (top < lowest)
        return (uint32_t)ldexpl(a, f.m - lowest);
    return ((uint32_t)(top - lowest + 1) << f.m) + (uint32_t)ldexpl(a - ldexpl(1, top), f.m - top);
}

static inline uint32_t slow_enc(struct slow *s, long double x, enum mf_round round,
                                enum mf_overflow overflow, uint32_t random)
{
    struct mf_fmt f = s->f;
    uint32_t sign = signbit(x) ? 1u << (f.e + f.m) : 0, all_ones = (1u << (f.e + f.m)) - 1,
             mag = s->n;
    long double a = fabsl(x);
    if (a <= LDBL_MAX)
        mag = s->value ? slow_mag_listed(s, a, round, random) : slow_mag_wide(f, a, round, random);
    else if (isnan(x))
        return sign + all_ones;
    if (mag < s->n)
        return sign + mag;
    if (round == MF_ZERO && a <= LDBL_MAX)
        return sign + s->n - 1;
    return sign + slow_beyond(f, overflow);
}

#endif
