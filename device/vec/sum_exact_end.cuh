/* sum_exact_end.cuh : rounds sums to codes, to nearest even. Sums may already be rounded to odd,
 * as they have at least two bits more than the out format. Where the chip can, an instruction
 * casts floats to saturating e5m2 or e4m3fn. */
#ifndef SUM_EXACT_END_CUH
#define SUM_EXACT_END_CUH
#include "device/vec/sum_exact_acc.cuh"

enum exact_end { END_BITS, END_E5M2, END_E4M3FN };

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
enum { EXACT_CVT = 0 };
#else
enum { EXACT_CVT = 1 };
#endif

static __device__ inline uint32_t exact_code(const struct exact_plan &plan, uint32_t code,
                                             bool sign)
{
    code = code < plan.beyond ? code : plan.beyond;
    return sign && code != 0u ? code | plan.sign : code;
}

static __device__ inline uint32_t exact_rounded(const struct exact_plan &plan, uint32_t bits,
                                                unsigned drop)
{
    const uint32_t kept = bits >> drop,
                   even = plan.no_mantissa ? (kept != 0u ? 1u : 0u) : kept & 1u;
    return (bits + (1u << (drop - 1)) - 1u + even) >> drop;
}

static __device__ inline uint32_t exact_bits(const struct exact_plan &plan, float sum)
{
    const uint32_t bits = __float_as_uint(sum * (float)plan.scale);
    return exact_code(plan, exact_rounded(plan, bits & 0x7fffffffu, plan.drop), bits >> 31 != 0u);
}

static __device__ inline uint32_t exact_bits(const struct exact_plan &plan, double sum)
{
    const uint64_t bits = (uint64_t)__double_as_longlong(sum * plan.scale),
                   mag = bits & ~(1ull << 63);
    uint32_t code;
    /* Only whether the lower word is zero matters. */
    if (plan.drop >= 34) {
        const uint32_t high = (uint32_t)(mag >> 32) | ((uint32_t)mag != 0u ? 1u : 0u);
        code = exact_rounded(plan, high, plan.drop - 32);
    } else {
        const uint64_t kept = mag >> plan.drop, even = kept & 1u;
        const uint64_t r = (mag + (1ull << (plan.drop - 1)) - 1 + even) >> plan.drop;
        code = (uint32_t)(r < plan.beyond ? r : plan.beyond);
    }
    return exact_code(plan, code, bits >> 63 != 0);
}

static __device__ inline float exact_odd(float x)
{
    return x;
}
static __device__ inline float exact_odd(double x)
{
    const uint32_t lost = (uint32_t)__double_as_longlong(x) & 0x1fffffffu;
    return __uint_as_float(__float_as_uint(__double2float_rz(x)) | (lost != 0u ? 1u : 0u));
}

static __device__ inline uint32_t exact_cvt2(int end, float x0, float x1)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t two;
    if (end == END_E5M2)
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(x1), "f"(x0));
    else
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(x1), "f"(x0));
    return two;
#else
    const struct mf_fmt e4m3fn = {4, 3, 1}, f = end == END_E5M2 ? mf_e5m2() : e4m3fn;
    return mf_enc(f, __float_as_uint(x0), 0, MF_NEAREST, MF_SATURATE, 0) |
           mf_enc(f, __float_as_uint(x1), 0, MF_NEAREST, MF_SATURATE, 0) << 8;
#endif
}

template <class REAL>
static __device__ inline uint32_t exact_cvt4(const struct exact_plan &plan, const REAL *sum)
{
    float x[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = exact_odd(sum[i] * (REAL)plan.value);
    const uint32_t word = exact_cvt2(plan.end, x[0], x[1]) | exact_cvt2(plan.end, x[2], x[3]) << 16;
    const uint32_t mags = word & 0x7f7f7f7fu;
    return mags | (word & (mags + 0x7f7f7f7fu) & 0x80808080u);
}

/* left: codes to the vector's end. */
template <class REAL>
static __device__ inline void exact_store(const struct exact_plan &plan, const REAL *sum,
                                          uint8_t *to, unsigned w, size_t left)
{
    if (EXACT_CVT && plan.end != END_BITS && left >= PACK_CODES) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            words[i] = exact_cvt4(plan, sum + 4 * i);
        pack_put<4>(to, words, PACK_CODES);
        return;
    }
    uint32_t codes[PACK_CODES];
#pragma unroll
    for (int k = 0; k < PACK_CODES; k++)
        codes[k] = exact_bits(plan, sum[k]);
    pack_store(to, w, left, codes);
}

#endif
