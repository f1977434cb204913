/* emu_math.h : arithmetic of kernels, loads and stores. */
#ifndef EMU_MATH_H
#define EMU_MATH_H
#include "emu.h"
#include <cmath>

using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

template <class To, class From> static inline To emu_bits(From x)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To y;
    memcpy((void *)&y, (const void *)&x, sizeof y);
    return y;
}
static inline unsigned __float_as_uint(float x)
{
    return emu_bits<unsigned>(x);
}
static inline float __uint_as_float(unsigned x)
{
    return emu_bits<float>(x);
}
static inline long long __double_as_longlong(double x)
{
    return emu_bits<long long>(x);
}
static inline double __longlong_as_double(long long x)
{
    return emu_bits<double>(x);
}

/* A GPU's arithmetic gives one nan, without the operand's sign. */
static inline float emu_nan(float x)
{
    return x == x ? x : emu_bits<float>(0x7fffffffu);
}

/* Compiled without contraction: one rounding each. */
static inline float __fadd_rn(float a, float b)
{
    return emu_nan(a + b);
}
static inline float __fsub_rn(float a, float b)
{
    return emu_nan(a - b);
}
static inline float __fmul_rn(float a, float b)
{
    return emu_nan(a * b);
}
static inline float __fdiv_rn(float a, float b)
{
    return emu_nan(a / b);
}
static inline float __fsqrt_rn(float a)
{
    return emu_nan(sqrtf(a));
}
static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
static inline double __dmul_rn(double a, double b)
{
    return a * b;
}

/* Out of range saturates and nan gives 0, as in hardware. */
static inline float __uint2float_rn(unsigned x)
{
    return (float)x;
}
static inline float __double2float_rz(double x)
{
    const float nearest = (float)x;
    const bool above = fabs((double)nearest) > fabs(x);
    return emu_bits<float>(emu_bits<uint32_t>(nearest) - (above ? 1u : 0u));
}
/* Knuth's remainder shows if the double exceeds the exact sum. */
static inline float __fadd_rz(float a, float b)
{
    const double x = (double)a, y = (double)b, sum = x + y, of_y = sum - x,
                 rest = (x - (sum - of_y)) + (y - of_y);
    const bool above = rest != 0 && (rest < 0) == (sum > 0);
    return __double2float_rz(above ? nextafter(sum, 0.0) : sum);
}

static inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
/* The upper word of high:low, shifted left by `by` modulo 32, or (c) by at most 32. */
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by)
{
    const unsigned long long both = (unsigned long long)high << 32 | low;
    return by < 32 ? (unsigned)(both << by >> 32) : low;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return __funnelshift_lc(low, high, by % 32);
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned select)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned y = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned s = select >> (4 * i) & 15, byte = (unsigned)(bytes >> (8 * (s & 7))) & 255;
        y |= (s & 8 ? byte & 128 ? 255u : 0u : byte) << (8 * i);
    }
    return y;
}

#define EMU_MIN_MAX(t)            \
    static inline t min(t a, t b) \
    {                             \
        return b < a ? b : a;     \
    }                             \
    static inline t max(t a, t b) \
    {                             \
        return a < b ? b : a;     \
    }
EMU_MIN_MAX(int)
EMU_MIN_MAX(unsigned)
EMU_MIN_MAX(long)
EMU_MIN_MAX(unsigned long)
EMU_MIN_MAX(long long)
EMU_MIN_MAX(unsigned long long)
static inline float min(float a, float b)
{
    return fminf(a, b);
}
static inline float max(float a, float b)
{
    return fmaxf(a, b);
}
static inline double min(double a, double b)
{
    return fmin(a, b);
}
static inline double max(double a, double b)
{
    return fmax(a, b);
}

/* A cache hint has no effect; the address must be aligned as on a GPU. */
template <class T> static inline T __ldcs(const T *p)
{
    if ((uintptr_t)p % alignof(T))
        emu_die("access to %p, which is not aligned to %zu bytes", (const void *)p, alignof(T));
    return *p;
}

#endif
