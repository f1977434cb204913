/* sum_e5m2.cuh : adds e5m2 codes, four per word, as the upper bytes of halves.
 *
 *     word  | c3 : c2 : c1 : c0 |   ->   | c1 00 : c0 00 |  | c3 00 : c2 00 |   two half additions
 *
 * A half has 11 bits, more than 2 * 3 + 2, so rounding twice is harmless. Sums that overflow a
 * half overflow e5m2 too. hls/arith/mf.h adds words with inf or nan. */
#ifndef SUM_E5M2_CUH
#define SUM_E5M2_CUH
#include "device/vec/sum_pack.cuh"
#include "device/vec/sum_round.cuh"

#ifndef __CUDA_ARCH__
static __device__ inline uint32_t e5m2_half_add(uint32_t a, uint32_t b)
{
    const float x = __uint_as_float((a & 0x8000u) << 16 | (a & 0x7fffu) << 13);
    const float y = __uint_as_float((b & 0x8000u) << 16 | (b & 0x7fffu) << 13);
    const uint32_t sum = __float_as_uint(__fadd_rn(x, y)), mag = sum & 0x7fffffffu;
    const uint32_t half = (mag + 0xfffu + (mag >> 13 & 1u)) >> 13;
    return sum >> 31 << 15 | (half < 0x7c00u ? half : 0x7c00u);
}
#endif

static __device__ inline uint32_t e5m2_halves_add(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
    uint32_t sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    return e5m2_half_add(a >> 16, b >> 16) << 16 | e5m2_half_add(a & 0xffffu, b & 0xffffu);
#endif
}

template <bool TRUNC>
static __device__ __attribute__((noinline)) uint32_t e5m2_add4_slowly(enum mf_overflow overflow,
                                                                      uint32_t a, uint32_t b)
{
    uint32_t word = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i += 8) {
        const uint32_t x = a >> i & 0xffu, y = b >> i & 0xffu;
        word |= (TRUNC ? mf_e5m2_trunc_add(x, y) : mf_add(mf_e5m2(), x, y, overflow)) << i;
    }
    return word;
}

/* TRUNC: adds as mf_e5m2_trunc_add(), else as mf_add(). */
template <bool TRUNC>
static __device__ inline uint32_t e5m2_add4(enum mf_overflow overflow, uint32_t a, uint32_t b)
{
    if ((pack_special<8>(a, 0x7cu) | pack_special<8>(b, 0x7cu)) != 0u)
        return e5m2_add4_slowly<TRUNC>(overflow, a, b);
    uint32_t low = e5m2_halves_add(__byte_perm(a, 0, 0x1404), __byte_perm(b, 0, 0x1404));
    uint32_t high = e5m2_halves_add(__byte_perm(a, 0, 0x3424), __byte_perm(b, 0, 0x3424));
    /* Nearest even. A magnitude is at most inf, so no carry reaches the sign. */
    if (!TRUNC) {
        low += 0x007f007fu + (low >> 8 & 0x00010001u);
        high += 0x007f007fu + (high >> 8 & 0x00010001u);
    }
    const uint32_t word = __byte_perm(low, high, 0x7531);
    uint32_t mags = word & 0x7f7f7f7fu;
    /* The largest finite code is inf - 1. */
    if (TRUNC || overflow == MF_SATURATE)
        mags -= (mags + 0x04040404u & 0x80808080u) >> 7;
    /* A zero has no sign. */
    return mags | (word & (mags + 0x7f7f7f7fu) & 0x80808080u);
}

/* Every nan becomes that of results. */
static __device__ inline uint32_t e5m2_mend4(uint32_t word)
{
    const uint32_t nan = ((word & 0x7f7f7f7fu) + 0x03030303u) & 0x80808080u; /* above 7c */
    return (word & ~(nan | (nan - (nan >> 7)))) | (nan - (nan >> 7));
}

#endif
