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

/* t: type; t2: pair; raw: struct of its bits; n: half, bfloat16; to, from: casts of float. */
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
    static inline float __##n##2float(t x)                                \
    {                                                                     \
        return (float)x;                                                  \
    }                                                                     \
    static inline unsigned short __##n##_as_ushort(t x)                   \
    {                                                                     \
        return x.__x;                                                     \
    }                                                                     \
    static inline t __ushort_as_##n(unsigned short x)                     \
    {                                                                     \
        return t(raw{x});                                                 \
    }                                                                     \
    static inline t2 __floats2##n##2_rn(float a, float b)                 \
    {                                                                     \
        return t2(t(a), t(b));                                            \
    }

#endif
