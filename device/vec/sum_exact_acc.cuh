/* sum_exact_acc.cuh : exact floating-point accumulators of finite codes: four types, chosen by
 * format and number of addends. Each has exact_open(), exact_add() (adds the codes of word i of two
 * parts, one of each to each accumulator) and exact_close() (returns the sum times a power of 2,
 * rounded to odd).
 *
 * exact_double, exact_single: a code's fields become those of a double or float, which is the
 * code's value times a power of two. Additions are exact while sums have at most 53 or 24 bits.
 *
 *     code   | s | eeeee | mm |      ->      | s | 000eeeee | mm 000...0 |
 *
 * exact_e4m3, exact_e5m2: codes become halves, and a warp's tensor cores add them to floats. The
 * matrix of halves, 16 x 16, is multiplied by two diagonals of 8 x 8, so that a thread's sums are
 * those of its own codes:
 *
 *     | words of part p : words of part q |  *  | I |  =  p + q, added to 16 x 8 floats
 *                                               | I |
 *
 * Products and partial sums are exact, in any order: the tensor cores keep at least single
 * precision, and all sums of PARTS_NEAR codes are below 2^24 units. So are those of e5m2, as codes
 * of 1 and more are added to `large` and others to `small`:
 *
 *     large: units of 2^-2,  below 64 * 2^16   24 bits
 *     small: units of 2^-16, below 64 * 1      22 bits
 *
 * large + small, rounded once to odd, is exact even if small is larger: then both are below 64.
 * Rounding to odd: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums, 2008.
 *
 * inf and nan make sums inf or nan, those of other threads too, as products with 0 are nan. */
#ifndef SUM_EXACT_ACC_CUH
#define SUM_EXACT_ACC_CUH
#include "device/vec/sum_pack.cuh"

enum { DOUBLE_BITS = 53, SINGLE_BITS = 24 };

struct exact_plan {
    /* unit: 2^(20 - m), for floats 2^(23 - m); mask: its sign and magnitude */
    uint32_t unit, mask;
    uint32_t inf; /* first magnitude that is not a number */
    /* raise: a half, twice, whose products with e4m3's inf and nan are too large for a half.
     * lower: 1 / raise; in a kernel, the thread's part of the diagonals. */
    uint32_t raise, lower;
    /* factors from the sum to the out format's fields, and to its value */
    double scale, value;
    uint32_t beyond, sign; /* of the out format */
    unsigned drop;         /* mantissa bits of the sum's type less the out format's */
    bool no_mantissa;
    int end; /* enum exact_end */
};

/* The diagonals' elements for e4m3, as a half; 0: plan.lower. Older chips make halves of 2^-8 times
 * the values. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
enum { E4M3_TIMES = 0 };
#else
enum { E4M3_TIMES = 0x5c00 }; /* 2^8 */
#endif

/* CODES: of a thread's chunk. PARTS: parts whose loads are issued together. PER_SM: blocks per
 * multiprocessor, few enough that these loads fit the registers. TELLS: a sum tells whether a code
 * was inf or nan. TIMES: the diagonals' elements, as a half. */
struct exact_double {
    enum { CODES = 16, PARTS = 4, PER_SM = 2, TELLS = 0, TIMES = 0 };
    double sum;
};
struct exact_single {
    enum { CODES = 16, PARTS = 4, PER_SM = 3, TELLS = 0, TIMES = 0 };
    float sum;
};
struct exact_e4m3 {
    enum { CODES = 8, PARTS = 8, PER_SM = 4, TELLS = 1, TIMES = E4M3_TIMES };
    float sum;
};
struct exact_e5m2 {
    enum { CODES = 8, PARTS = 8, PER_SM = 4, TELLS = 1, TIMES = 0x3c00 };
    float large, small;
};

/* ---- doubles and floats ---- */

static __device__ inline void exact_open(struct exact_double *acc)
{
    acc->sum = 0;
}
static __device__ inline void exact_open(struct exact_single *acc)
{
    acc->sum = 0;
}

static __device__ inline void exact_add_bits(uint32_t bits, struct exact_double *acc)
{
    acc->sum = __dadd_rn(acc->sum, __longlong_as_double((long long)((uint64_t)bits << 32)));
}
static __device__ inline void exact_add_bits(uint32_t bits, struct exact_single *acc)
{
    acc->sum = __fadd_rn(acc->sum, __uint_as_float(bits));
}

template <int W, int C, class ACC>
static __device__ inline void exact_add(const struct exact_plan &plan, const pack_words<W, C> &a,
                                        const pack_words<W, C> &b, int i, ACC *acc)
{
#pragma unroll
    for (int k = 0; k < pack_words<W, C>::PER; k++) {
        const int at = i * pack_words<W, C>::PER + k;
        exact_add_bits(pack_code(a, at) * plan.unit & plan.mask, &acc[k]);
        exact_add_bits(pack_code(b, at) * plan.unit & plan.mask, &acc[k]);
    }
}

static __device__ inline double exact_close(const struct exact_double &acc)
{
    return acc.sum;
}
static __device__ inline float exact_close(const struct exact_single &acc)
{
    return acc.sum;
}

/* ---- halves and tensor cores ---- */

/* The thread's two elements of a diagonal of 8 x 8 halves, kept in a register. */
static __device__ inline uint32_t exact_diagonal(uint32_t half)
{
#ifdef __CUDA_ARCH__
    const unsigned row = threadIdx.x % 4 * 2, column = threadIdx.x % 32 / 4;
    uint32_t two = row == column ? half : row + 1 == column ? half << 16 : 0u;
    asm volatile("" : "+r"(two));
    return two;
#else
    return half;
#endif
}

#ifndef __CUDA_ARCH__
static __device__ inline float exact_half(uint32_t bits)
{
    const float up = __uint_as_float(0x77800000u); /* 2^112 */
    return (bits & 0x7fffu) >= 0x7c00u
               ? __uint_as_float(0x7fc00000u)
               : __uint_as_float((bits & 0x8000u) << 16 | (bits & 0x7fffu) << 13) * up;
}
#endif

/* Adds the four halves of a and of b, times the diagonal's element, to s0 .. s3. The whole warp
 * calls it. */
static __device__ inline void exact_mma(const uint32_t a[2], const uint32_t b[2], uint32_t diagonal,
                                        float *s0, float *s1, float *s2, float *s3)
{
#ifdef __CUDA_ARCH__
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %8}, {%0, %1, %2, %3};"
        : "+f"(*s0), "+f"(*s1), "+f"(*s2), "+f"(*s3)
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(diagonal));
#else
    float *const s[4] = {s0, s1, s2, s3};
    for (int k = 0; k < 4; k++)
        *s[k] += (exact_half(a[k / 2] >> 16 * (k % 2)) + exact_half(b[k / 2] >> 16 * (k % 2))) *
                 exact_half(diagonal);
#endif
}

static __device__ inline void exact_open(struct exact_e4m3 *acc)
{
    acc->sum = 0;
}
static __device__ inline void exact_open(struct exact_e5m2 *acc)
{
    acc->large = acc->small = 0;
}

/* Four codes as halves. Older chips: 2^-8 times the value; one inf or nan makes all nan. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
static __device__ inline void exact_halves(const struct exact_plan &plan, uint32_t word,
                                           uint32_t two[2])
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two[i]) : "h"((uint16_t)(word >> 16 * i)));
        asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(two[i]) : "r"(two[i]), "r"(plan.raise));
    }
}
#else
static __device__ inline void exact_halves(const struct exact_plan &plan, uint32_t word,
                                           uint32_t two[2])
{
    const uint32_t nan = pack_special<8>(word, plan.inf) != 0u ? 0x7fff7fffu : 0u;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t x = __byte_perm(word, 0, i == 0 ? 0x1404 : 0x3424);
        two[i] = (x & 0x80008000u) | (x & 0x7f007f00u) >> 1 | nan;
    }
}
#endif

template <int C>
static __device__ inline void exact_add(const struct exact_plan &plan, const pack_words<8, C> &a,
                                        const pack_words<8, C> &b, int i, struct exact_e4m3 *acc)
{
    uint32_t x[2], y[2];
    exact_halves(plan, a.w[i], x);
    exact_halves(plan, b.w[i], y);
    exact_mma(x, y, plan.lower, &acc[0].sum, &acc[1].sum, &acc[2].sum, &acc[3].sum);
}

/* Splits two halves by magnitude: `large` gets 2^-14 times one of 1 and more, as smaller products
 * are subnormal and flushed to 0; `small` gets the rest. exact_joined() returns large + small,
 * rounded toward zero; exact_taken(), what that contains of small. */
#ifdef __CUDA_ARCH__
static __device__ inline void exact_split(uint32_t x, uint32_t *large, uint32_t *small)
{
    asm("mul.rn.ftz.f16x2 %0, %1, %2;" : "=r"(*large) : "r"(x), "r"(0x04000400u)); /* 2^-14 */
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(*small) : "r"(*large), "r"(0xf400f400u), "r"(x));
}
static __device__ inline float exact_joined(float large, float small)
{
    return __fmaf_rz(large, 16384.0f, small);
}
static __device__ inline float exact_taken(float joined, float large)
{
    return __fmaf_rn(large, -16384.0f, joined);
}
#else
static __device__ inline void exact_split(uint32_t x, uint32_t *large, uint32_t *small)
{
    *large = ((x & 0x7fffu) >= 0x3c00u ? x & 0xffffu : 0u) |
             ((x >> 16 & 0x7fffu) >= 0x3c00u ? x & 0xffff0000u : 0u);
    *small = x ^ *large;
}
static __device__ inline float exact_joined(float large, float small)
{
    return __fadd_rz(large, small);
}
static __device__ inline float exact_taken(float joined, float large)
{
    return joined - large;
}
#endif

/* An e5m2 code is the upper byte of a half. */
template <int C>
static __device__ inline void exact_add(const struct exact_plan &plan, const pack_words<8, C> &a,
                                        const pack_words<8, C> &b, int i, struct exact_e5m2 *acc)
{
    uint32_t x[2], y[2], u[2], v[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
        exact_split(__byte_perm(a.w[i], 0, k == 0 ? 0x1404 : 0x3424), &x[k], &u[k]);
        exact_split(__byte_perm(b.w[i], 0, k == 0 ? 0x1404 : 0x3424), &y[k], &v[k]);
    }
    exact_mma(x, y, plan.lower, &acc[0].large, &acc[1].large, &acc[2].large, &acc[3].large);
    exact_mma(u, v, plan.lower, &acc[0].small, &acc[1].small, &acc[2].small, &acc[3].small);
}

static __device__ inline float exact_close(const struct exact_e4m3 &acc)
{
    return acc.sum;
}
static __device__ inline float exact_close(const struct exact_e5m2 &acc)
{
    const float s = exact_joined(acc.large, acc.small), took = exact_taken(s, acc.large);
    return __uint_as_float(__float_as_uint(s) | (took != acc.small ? 1u : 0u));
}

#endif
