/* emu_math.h : arithmetic of kernels, loads and stores. */
#ifndef EMU_MATH_H
#define EMU_MATH_H
#include "emu.h"
#include <cmath>
#include <time.h>

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
static inline int __float_as_int(float x)
{
    return emu_bits<int>(x);
}
static inline float __uint_as_float(unsigned x)
{
    return emu_bits<float>(x);
}
static inline float __int_as_float(int x)
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

/* Compiled without contraction: one rounding each. */
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __fsub_rn(float a, float b)
{
    return a - b;
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
static inline float __frcp_rn(float a)
{
    return 1.0f / a;
}
static inline float __fsqrt_rn(float a)
{
    return sqrtf(a);
}
static inline float __frsqrt_rn(float a)
{
    return (float)(1.0 / sqrt((double)a));
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
static inline double __dsub_rn(double a, double b)
{
    return a - b;
}
static inline double __dmul_rn(double a, double b)
{
    return a * b;
}
static inline double __ddiv_rn(double a, double b)
{
    return a / b;
}
static inline double __dsqrt_rn(double a)
{
    return sqrt(a);
}
static inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}
static inline float rsqrtf(float a)
{
    return 1.0f / sqrtf(a);
}
static inline double rsqrt(double a)
{
    return 1.0 / sqrt(a);
}
#define __expf expf /* the C library itself uses such names */
#define __logf logf
#define __powf powf
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __saturatef(float a)
{
    return a > 0 ? a < 1 ? a : 1 : 0;
}

/* Out of range saturates and nan gives 0, as in hardware. */
template <class To> static inline To emu_to_int(double x)
{
    const To least = std::is_signed<To>::value ? (To)((To)1 << (8 * sizeof(To) - 1)) : (To)0,
             most = (To)~least;
    return std::isnan(x) ? (To)0 : x >= (double)most ? most : x <= (double)least ? least : (To)x;
}
static inline int __float2int_rn(float x)
{
    return emu_to_int<int>(nearbyint(x));
}
static inline int __float2int_rz(float x)
{
    return emu_to_int<int>(trunc(x));
}
static inline int __float2int_rd(float x)
{
    return emu_to_int<int>(floor(x));
}
static inline int __float2int_ru(float x)
{
    return emu_to_int<int>(ceil(x));
}
static inline unsigned __float2uint_rn(float x)
{
    return emu_to_int<unsigned>(nearbyint(x));
}
static inline unsigned __float2uint_rz(float x)
{
    return emu_to_int<unsigned>(trunc(x));
}
static inline long long __float2ll_rn(float x)
{
    return emu_to_int<long long>(nearbyint(x));
}
static inline long long __float2ll_rz(float x)
{
    return emu_to_int<long long>(trunc(x));
}
static inline unsigned long long __float2ull_rn(float x)
{
    return emu_to_int<unsigned long long>(nearbyint(x));
}
static inline unsigned long long __float2ull_rz(float x)
{
    return emu_to_int<unsigned long long>(trunc(x));
}
static inline int __double2int_rn(double x)
{
    return emu_to_int<int>(nearbyint(x));
}
static inline int __double2int_rz(double x)
{
    return emu_to_int<int>(trunc(x));
}
static inline long long __double2ll_rn(double x)
{
    return emu_to_int<long long>(nearbyint(x));
}
static inline float __int2float_rn(int x)
{
    return (float)x;
}
static inline float __uint2float_rn(unsigned x)
{
    return (float)x;
}
static inline float __ll2float_rn(long long x)
{
    return (float)x;
}
static inline float __ull2float_rn(unsigned long long x)
{
    return (float)x;
}
static inline double __ll2double_rn(long long x)
{
    return (double)x;
}
static inline double __ull2double_rn(unsigned long long x)
{
    return (double)x;
}
static inline float __double2float_rn(double x)
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

static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline int __mulhi(int a, int b)
{
    return (int)((int64_t)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline unsigned __brev(unsigned x)
{
    unsigned y = 0;
    for (int i = 0; i < 32; i++)
        y |= (x >> i & 1) << (31 - i);
    return y;
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
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned by)
{
    return (unsigned)(((uint64_t)hi << 32 | lo) << (by & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned by)
{
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (by & 31));
}
static inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned by)
{
    return by >= 32 ? lo : __funnelshift_l(lo, hi, by);
}
static inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned by)
{
    return by >= 32 ? hi : __funnelshift_r(lo, hi, by);
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

/* Ignores cache hints. 16-byte accesses must be aligned as on a GPU. */
static inline void emu_aligned(const void *p, size_t bytes)
{
    if ((uintptr_t)p % bytes)
        emu_die("access to %p, which is not aligned to %zu bytes", p, bytes);
}
#define EMU_LOAD(name)                                  \
    template <class T> static inline T name(const T *p) \
    {                                                   \
        emu_aligned((const void *)p, alignof(T));       \
        return *p;                                      \
    }
#define EMU_STORE(name)                                   \
    template <class T> static inline void name(T *p, T x) \
    {                                                     \
        emu_aligned((const void *)p, alignof(T));         \
        *p = x;                                           \
    }
EMU_LOAD(__ldg)
EMU_LOAD(__ldcs)
EMU_LOAD(__ldcg)
EMU_LOAD(__ldca)
EMU_LOAD(__ldlu)
EMU_LOAD(__ldcv)
EMU_STORE(__stcs)
EMU_STORE(__stcg)
EMU_STORE(__stwb)
EMU_STORE(__stwt)

static inline long long clock64()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline void __nanosleep(unsigned ns)
{
    const struct timespec t = {0, (long)ns};
    nanosleep(&t, nullptr);
}
static inline void __trap()
{
    __builtin_trap();
}

#endif
