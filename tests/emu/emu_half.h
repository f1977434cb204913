/* emu_half.h : rounds to 16-bit floats, to nearest even, for cuda_fp16.h and cuda_bf16.h. */
#ifndef EMU_HALF_H
#define EMU_HALF_H
#include "cuda_runtime.h"

/* Rounding to odd makes a second rounding, to fewer bits, equal to a single one. */
static inline float emu_odd(double x)
{
    const float near = (float)x;
    if ((double)near == x || std::isnan(x) || std::isinf(near))
        return near;
    unsigned b = emu_bits<unsigned>(near);
    const bool away = fabs((double)near) > fabs(x);
    return emu_bits<float>((b - (away ? 1u : 0u)) | 1u); /* neighbour that ends in 1 */
}
/* Rounds to odd: the product of two 16-bit floats is exact in double, and so is the error of the
 * sum. */
static inline float emu_odd_fma(float a, float b, float c)
{
    const double p = (double)a * b, s = p + c, back = s - p, error = (p - (s - back)) + (c - back);
    if (!std::isfinite(s) || error == 0)
        return emu_odd(s);
    uint64_t bits = emu_bits<uint64_t>(s);
    if (!(bits & 1))
        bits = (s > 0) == (error > 0) ? bits + 1 : bits - 1;
    return emu_odd(emu_bits<double>(bits));
}

static inline unsigned short emu_to_half(float x)
{
    const unsigned b = emu_bits<unsigned>(x), sign = b >> 16 & 0x8000, mag = b & 0x7fffffff;
    if (mag > 0x7f800000)
        return 0x7fff;
    if (mag >= 0x477ff000) /* 65520 and more */
        return (unsigned short)(sign | 0x7c00);
    if (mag < 0x33000001) /* 2^-25 and less */
        return (unsigned short)sign;
    const int e = (int)(mag >> 23) - 112;
    const unsigned m = (mag & 0x7fffff) | 0x800000;
    const int drop = e >= 1 ? 13 : 14 - e;
    const unsigned kept = m >> drop, rest = m & ((1u << drop) - 1), tie = 1u << (drop - 1);
    const unsigned up = rest > tie || (rest == tie && (kept & 1)) ? 1 : 0;
    return (unsigned short)(sign | (kept + up + (e >= 1 ? (unsigned)(e - 1) << 10 : 0)));
}
static inline float emu_from_half(unsigned short h)
{
    const unsigned sign = (unsigned)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31)
        return emu_bits<float>(m ? 0x7fffffffu : sign | 0x7f800000);
    if (e)
        return emu_bits<float>(sign | (e + 112) << 23 | m << 13);
    const float x = (float)m * 0x1p-24f;
    return sign ? -x : x;
}
static inline unsigned short emu_to_bf16(float x)
{
    const unsigned b = emu_bits<unsigned>(x);
    if ((b & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (unsigned short)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
static inline float emu_from_bf16(unsigned short h)
{
    return emu_bits<float>((unsigned)h << 16);
}

/* h: prefix of the type's functions; t: type; t2: pair; n: half, bfloat16. */
#define EMU_16_BIT(t, t2, raw, n, to, from)                               \
    struct raw {                                                          \
        unsigned short x;                                                 \
    };                                                                    \
    struct t {                                                            \
        unsigned short __x;                                               \
        t() = default;                                                    \
        constexpr t(raw r) : __x(r.x) {}                                  \
        t(float f) : __x(to(f)) {}                                        \
        t(double f) : __x(to(emu_odd(f))) {}                              \
        t(int i) : t((double)i) {}                                        \
        t(unsigned i) : t((double)i) {}                                   \
        t(long long i) : t((double)i) {}                                  \
        t(unsigned long long i) : t((double)i) {}                         \
        operator float() const { return from(__x); }                      \
        operator raw() const { return {__x}; }                            \
        t &operator+=(t o) { return *this = t((float)*this + (float)o); } \
        t &operator-=(t o) { return *this = t((float)*this - (float)o); } \
        t &operator*=(t o) { return *this = t((float)*this * (float)o); } \
        t &operator/=(t o) { return *this = t((float)*this / (float)o); } \
    };                                                                    \
    struct __attribute__((aligned(4))) t2 {                               \
        t x, y;                                                           \
        t2() = default;                                                   \
        t2(t a, t b) : x(a), y(b) {}                                      \
    };                                                                    \
    static inline t operator+(t a, t b)                                   \
    {                                                                     \
        return t((float)a + (float)b);                                    \
    }                                                                     \
    static inline t operator-(t a, t b)                                   \
    {                                                                     \
        return t((float)a - (float)b);                                    \
    }                                                                     \
    static inline t operator*(t a, t b)                                   \
    {                                                                     \
        return t((float)a * (float)b);                                    \
    }                                                                     \
    static inline t operator/(t a, t b)                                   \
    {                                                                     \
        return t((float)a / (float)b);                                    \
    }                                                                     \
    static inline t operator-(t a)                                        \
    {                                                                     \
        return t(raw{(unsigned short)(a.__x ^ 0x8000)});                  \
    }                                                                     \
    static inline bool operator==(t a, t b)                               \
    {                                                                     \
        return (float)a == (float)b;                                      \
    }                                                                     \
    static inline bool operator!=(t a, t b)                               \
    {                                                                     \
        return (float)a != (float)b;                                      \
    }                                                                     \
    static inline bool operator<(t a, t b)                                \
    {                                                                     \
        return (float)a < (float)b;                                       \
    }                                                                     \
    static inline bool operator>(t a, t b)                                \
    {                                                                     \
        return (float)a > (float)b;                                       \
    }                                                                     \
    static inline bool operator<=(t a, t b)                               \
    {                                                                     \
        return (float)a <= (float)b;                                      \
    }                                                                     \
    static inline bool operator>=(t a, t b)                               \
    {                                                                     \
        return (float)a >= (float)b;                                      \
    }                                                                     \
    static inline t2 operator+(t2 a, t2 b)                                \
    {                                                                     \
        return t2(a.x + b.x, a.y + b.y);                                  \
    }                                                                     \
    static inline t2 operator-(t2 a, t2 b)                                \
    {                                                                     \
        return t2(a.x - b.x, a.y - b.y);                                  \
    }                                                                     \
    static inline t2 operator*(t2 a, t2 b)                                \
    {                                                                     \
        return t2(a.x * b.x, a.y * b.y);                                  \
    }                                                                     \
    static inline t __float2##n(float x)                                  \
    {                                                                     \
        return t(x);                                                      \
    }                                                                     \
    static inline t __float2##n##_rn(float x)                             \
    {                                                                     \
        return t(x);                                                      \
    }                                                                     \
    static inline t __double2##n(double x)                                \
    {                                                                     \
        return t(x);                                                      \
    }                                                                     \
    static inline t __int2##n##_rn(int x)                                 \
    {                                                                     \
        return t(x);                                                      \
    }                                                                     \
    static inline t __uint2##n##_rn(unsigned x)                           \
    {                                                                     \
        return t(x);                                                      \
    }                                                                     \
    static inline float __##n##2float(t x)                                \
    {                                                                     \
        return (float)x;                                                  \
    }                                                                     \
    static inline int __##n##2int_rn(t x)                                 \
    {                                                                     \
        return __float2int_rn((float)x);                                  \
    }                                                                     \
    static inline int __##n##2int_rz(t x)                                 \
    {                                                                     \
        return __float2int_rz((float)x);                                  \
    }                                                                     \
    static inline unsigned short __##n##_as_ushort(t x)                   \
    {                                                                     \
        return x.__x;                                                     \
    }                                                                     \
    static inline short __##n##_as_short(t x)                             \
    {                                                                     \
        return (short)x.__x;                                              \
    }                                                                     \
    static inline t __ushort_as_##n(unsigned short x)                     \
    {                                                                     \
        return t(raw{x});                                                 \
    }                                                                     \
    static inline t __short_as_##n(short x)                               \
    {                                                                     \
        return t(raw{(unsigned short)x});                                 \
    }                                                                     \
    static inline t2 __floats2##n##2_rn(float a, float b)                 \
    {                                                                     \
        return t2(t(a), t(b));                                            \
    }                                                                     \
    static inline t2 __float2##n##2_rn(float a)                           \
    {                                                                     \
        return t2(t(a), t(a));                                            \
    }                                                                     \
    static inline t2 __float22##n##2_rn(float2 a)                         \
    {                                                                     \
        return t2(t(a.x), t(a.y));                                        \
    }                                                                     \
    static inline float2 __##n##22float2(t2 a)                            \
    {                                                                     \
        return make_float2((float)a.x, (float)a.y);                       \
    }                                                                     \
    static inline t2 __##n##2##n##2(t a)                                  \
    {                                                                     \
        return t2(a, a);                                                  \
    }                                                                     \
    static inline t2 __halves2##n##2(t a, t b)                            \
    {                                                                     \
        return t2(a, b);                                                  \
    }                                                                     \
    static inline float __low2float(t2 a)                                 \
    {                                                                     \
        return (float)a.x;                                                \
    }                                                                     \
    static inline float __high2float(t2 a)                                \
    {                                                                     \
        return (float)a.y;                                                \
    }                                                                     \
    static inline t __low2##n(t2 a)                                       \
    {                                                                     \
        return a.x;                                                       \
    }                                                                     \
    static inline t __high2##n(t2 a)                                      \
    {                                                                     \
        return a.y;                                                       \
    }                                                                     \
    static inline bool __hisnan(t a)                                      \
    {                                                                     \
        return std::isnan((float)a);                                      \
    }                                                                     \
    static inline int __hisinf(t a)                                       \
    {                                                                     \
        return std::isinf((float)a) ? (float)a > 0 ? 1 : -1 : 0;          \
    }                                                                     \
    static inline t __hadd(t a, t b)                                      \
    {                                                                     \
        return a + b;                                                     \
    }                                                                     \
    static inline t __hsub(t a, t b)                                      \
    {                                                                     \
        return a - b;                                                     \
    }                                                                     \
    static inline t __hmul(t a, t b)                                      \
    {                                                                     \
        return a * b;                                                     \
    }                                                                     \
    static inline t __hdiv(t a, t b)                                      \
    {                                                                     \
        return a / b;                                                     \
    }                                                                     \
    static inline t __hneg(t a)                                           \
    {                                                                     \
        return -a;                                                        \
    }                                                                     \
    static inline t __habs(t a)                                           \
    {                                                                     \
        return t(raw{(unsigned short)(a.__x & 0x7fff)});                  \
    }                                                                     \
    static inline t __hfma(t a, t b, t c)                                 \
    {                                                                     \
        return t(emu_odd_fma((float)a, (float)b, (float)c));              \
    }                                                                     \
    static inline t __hmax(t a, t b)                                      \
    {                                                                     \
        return t(fmaxf((float)a, (float)b));                              \
    }                                                                     \
    static inline t __hmin(t a, t b)                                      \
    {                                                                     \
        return t(fminf((float)a, (float)b));                              \
    }                                                                     \
    static inline bool __hgt(t a, t b)                                    \
    {                                                                     \
        return a > b;                                                     \
    }                                                                     \
    static inline bool __hge(t a, t b)                                    \
    {                                                                     \
        return a >= b;                                                    \
    }                                                                     \
    static inline bool __hlt(t a, t b)                                    \
    {                                                                     \
        return a < b;                                                     \
    }                                                                     \
    static inline bool __hle(t a, t b)                                    \
    {                                                                     \
        return a <= b;                                                    \
    }                                                                     \
    static inline bool __heq(t a, t b)                                    \
    {                                                                     \
        return a == b;                                                    \
    }                                                                     \
    static inline bool __hne(t a, t b)                                    \
    {                                                                     \
        return a != b;                                                    \
    }                                                                     \
    static inline t hsqrt(t a)                                            \
    {                                                                     \
        return t(sqrtf((float)a));                                        \
    }                                                                     \
    static inline t2 __hadd2(t2 a, t2 b)                                  \
    {                                                                     \
        return a + b;                                                     \
    }                                                                     \
    static inline t2 __hsub2(t2 a, t2 b)                                  \
    {                                                                     \
        return a - b;                                                     \
    }                                                                     \
    static inline t2 __hmul2(t2 a, t2 b)                                  \
    {                                                                     \
        return a * b;                                                     \
    }                                                                     \
    static inline t2 __hfma2(t2 a, t2 b, t2 c)                            \
    {                                                                     \
        return t2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));          \
    }                                                                     \
    static inline t2 __hmax2(t2 a, t2 b)                                  \
    {                                                                     \
        return t2(__hmax(a.x, b.x), __hmax(a.y, b.y));                    \
    }                                                                     \
    static inline t2 __hmin2(t2 a, t2 b)                                  \
    {                                                                     \
        return t2(__hmin(a.x, b.x), __hmin(a.y, b.y));                    \
    }

#endif
