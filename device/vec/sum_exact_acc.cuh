/* sum_exact_acc.cuh : exact floating-point accumulators of finite codes: three types, chosen by
 * format and number of addends. Each has exact_open(), exact_add() (adds the codes of word i, one
 * to each accumulator) and exact_close() (returns the sum times a power of 2, rounded to odd).
 *
 * exact_double, exact_single: a code's fields become those of a double or float, which is the
 * code's value times a power of two. Additions are exact while sums have at most 53 or 24 bits.
 *
 *     code   | s | eeeee | mm |      ->      | s | 000eeeee | mm 000...0 |
 *
 * exact_pair: two floats for e5m2, whose sums have 32 bits and more. `high` begins at C = 3 * 2^M,
 * where |sum| < 2^M, so its unit u is always 2^(M - 22). An addition rounds x to a multiple of u
 * and adds the rest to `low`:
 *
 *     next = high + x        in 2^(M+1) .. 2^(M+2): rounded to a multiple of u
 *     took = next - high     exact: a multiple of u, below 2^24 of them
 *     low += x - took        exact: |x - took| <= u / 2 and a multiple of 2^-16, as e5m2 is
 *
 * For 2^L addends (M = L + 16), |low| <= 2^L * u / 2, exact with 24 bits above 2^-16 while
 * 2 L + 32 <= 47. L must be one less, so that high - C + low, rounded once to odd, is exact even if
 * low is larger than high - C. Rounding to odd: S. Boldo and G. Melquiond, Emulation of FMA and
 * correctly rounded sums, 2008. */
#ifndef SUM_EXACT_ACC_CUH
#define SUM_EXACT_ACC_CUH
#include "device/vec/sum_pack.cuh"

enum { DOUBLE_BITS = 53, SINGLE_BITS = 24, PAIR_BITS = 46 };

struct exact_plan {
    /* unit: 2^(20 - m), for floats 2^(23 - m); mask: its sign and magnitude */
    uint32_t unit, mask;
    uint32_t inf; /* first magnitude that is not a number */
    float high;   /* exact_pair: C */
    /* factors from the sum to the out format's fields, and to its value */
    double scale, value;
    uint32_t beyond, sign; /* of the out format */
    unsigned drop;         /* mantissa bits of the sum's type less the out format's */
    bool no_mantissa;
    int end; /* enum exact_end */
};

/* PER_SM: blocks per multiprocessor, few enough that four parts fit the registers. */
struct exact_double {
    enum { PER_SM = 2 };
    double sum;
};
struct exact_single {
    enum { PER_SM = 3 };
    float sum;
};
struct exact_pair {
    enum { PER_SM = 2 };
    float high, low;
};

static __device__ inline float exact_half(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((uint16_t)bits));
    return x;
#else
    const float up = __uint_as_float(0x77800000u); /* 2^112 */
    return __uint_as_float((bits & 0x8000u) << 16 | (bits & 0x7fffu) << 13) * up;
#endif
}

static __device__ inline void exact_open(const struct exact_plan &plan, struct exact_double *acc)
{
    (void)plan;
    acc->sum = 0;
}
static __device__ inline void exact_open(const struct exact_plan &plan, struct exact_single *acc)
{
    (void)plan;
    acc->sum = 0;
}
static __device__ inline void exact_open(const struct exact_plan &plan, struct exact_pair *acc)
{
    acc->high = plan.high;
    acc->low = 0;
}

template <int W>
static __device__ inline void exact_add(const struct exact_plan &plan, const pack_words<W> &part,
                                        int i, struct exact_double *acc)
{
#pragma unroll
    for (int k = 0; k < pack_words<W>::PER; k++) {
        const uint32_t code = pack_code(part, i * pack_words<W>::PER + k);
        acc[k].sum = __dadd_rn(
            acc[k].sum,
            __longlong_as_double((long long)((uint64_t)(code * plan.unit & plan.mask) << 32)));
    }
}

template <int W>
static __device__ inline void exact_add(const struct exact_plan &plan, const pack_words<W> &part,
                                        int i, struct exact_single *acc)
{
#pragma unroll
    for (int k = 0; k < pack_words<W>::PER; k++) {
        const uint32_t code = pack_code(part, i * pack_words<W>::PER + k);
        acc[k].sum = __fadd_rn(acc[k].sum, __uint_as_float(code * plan.unit & plan.mask));
    }
}

/* An e5m2 code is the upper byte of a half. */
template <int W>
static __device__ inline void exact_add(const struct exact_plan &plan, const pack_words<W> &part,
                                        int i, struct exact_pair *acc)
{
    (void)plan;
    const uint32_t two[2] = {__byte_perm(part.w[i], 0, 0x1404), __byte_perm(part.w[i], 0, 0x3424)};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float x = exact_half(two[k / 2] >> (16 * (k % 2)) & 0xffffu);
        const float next = __fadd_rn(acc[k].high, x), took = __fsub_rn(next, acc[k].high);
        acc[k].low = __fadd_rn(acc[k].low, __fsub_rn(x, took));
        acc[k].high = next;
    }
}

static __device__ inline double exact_close(const struct exact_plan &plan,
                                            const struct exact_double &acc)
{
    (void)plan;
    return acc.sum;
}
static __device__ inline float exact_close(const struct exact_plan &plan,
                                           const struct exact_single &acc)
{
    (void)plan;
    return acc.sum;
}
/* s, high - C + low rounded toward zero, is exact if it contains all of low. */
static __device__ inline float exact_close(const struct exact_plan &plan,
                                           const struct exact_pair &acc)
{
    const float high = __fsub_rn(acc.high, plan.high);
    const float s = __fadd_rz(high, acc.low), took = __fsub_rn(s, high);
    return __uint_as_float(__float_as_uint(s) | (took != acc.low ? 1u : 0u));
}

#endif
