/* sum_exact.cu : exact sums of several packed vectors, rounded once: accumulators are doubles in
 * registers.
 *
 *     code   | s | eeeee | mm |      ->      | s | 000000eeeee | mm 000...0 |   a double: the value times 2^(bias - 1023)
 *
 * Sums of such doubles are exact while mf_acc_bits() <= 53: all formats of e <= 5 and m <= 10, up
 * to 4096 of fp16. Three instructions make a code's upper word, one adds. Codes of inf and nan are
 * looked for many at a time; a chunk that has one, and whatever does not fit or has an odd width,
 * is added up in the words of hls/mf.h instead.
 *
 * The end, where it is e5m2 or e4m3fn, saturating, on chips that have the instruction: sum -> fp32
 * "rounded to odd" (toward zero, the last bit set if anything was lost) -> code in hardware. Else
 * the double's own bits are rounded. Source of rounding to odd: S. Boldo and G. Melquiond,
 * Emulation of FMA and correctly rounded sums, 2008. */
#include "device/sum_parts.cuh"
#include "device/vec.cuh"

enum { EXACT_BITS = 53, EXACT_SHIFT_MAX = 40, AT_ONCE = 4 };
enum exact_end { END_BITS, END_E5M2, END_E4M3FN };

struct exact_plan {
    /* 2^(20 - m); sign and magnitude in the upper word; first magnitude that is no number */
    uint32_t unit, mask, inf;
    double scale, value;   /* make the sum one on the out format's fields, or what it is */
    uint32_t beyond, sign; /* of the out format */
    unsigned drop;         /* mantissa bits of a double less those of the out format */
    bool no_mantissa;
    enum exact_end end;
};

/* ---- one chunk in the words of hls/mf.h, code by code ---- */

static __device__ __attribute__((noinline)) void
exact_slowly(const struct sum_job &job, const uint8_t *const *near, size_t chunk)
{
    const unsigned w = mf_width(job.in);
    const size_t left = parts_left(chunk, job.n);
    const unsigned bytes = pack_bytes(w, left);
    struct pack_writer to = pack_writer_at(job.codes, chunk, mf_width(job.out));
#pragma unroll 1
    for (size_t k = 0; k < PACK_CODES && k < left; k++) {
        uint64_t acc = 0;
#pragma unroll 1
        for (int p = 0; p < job.n_parts; p++)
            acc = mf_acc_add(job.in, acc,
                             pack_at(parts_at(job, near, p) + parts_byte(chunk, w), bytes, w, k));
        pack_write_code(&to, sum_final_acc(job.in, acc, job.shift, job.out, job.overflow));
    }
    pack_write_rest(&to);
}

static __global__ void k_sum_words(struct sum_job job, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x)
        exact_slowly(job, near, c);
}

/* ---- doubles ---- */

static __device__ inline double exact_value(const struct exact_plan &plan, uint32_t code)
{
    return __longlong_as_double((long long)((uint64_t)(code * plan.unit & plan.mask) << 32));
}

static __device__ inline uint32_t exact_bits(const struct exact_plan &plan, double sum)
{
    const uint64_t bits = (uint64_t)__double_as_longlong(sum * plan.scale),
                   mag = bits & ~(1ull << 63);
    uint32_t code;
    if (plan.drop >= 34) { /* the lower word is but one bit, "not zero", for the rounding */
        const uint32_t high = (uint32_t)(mag >> 32) | ((uint32_t)mag != 0u ? 1u : 0u),
                       drop = plan.drop - 32;
        const uint32_t kept = high >> drop,
                       even = plan.no_mantissa ? (kept != 0u ? 1u : 0u) : kept & 1u;
        code = (high + (1u << (drop - 1)) - 1u + even) >> drop;
    } else {
        const uint64_t kept = mag >> plan.drop, even = kept & 1u;
        const uint64_t r = (mag + (1ull << (plan.drop - 1)) - 1 + even) >> plan.drop;
        code = (uint32_t)(r < plan.beyond ? r : plan.beyond);
    }
    code = code < plan.beyond ? code : plan.beyond;
    return (bits >> 63) != 0 && code != 0u ? code | plan.sign : code;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
enum { EXACT_CVT = 0 };
#else
enum { EXACT_CVT = 1 };
#endif

/* fp32 rounded to odd. */
static __device__ inline float exact_odd(double x)
{
#ifdef __CUDA_ARCH__
    const float toward_zero = __double2float_rz(x);
#else
    const float nearest = (float)x;
    const bool above = fabs((double)nearest) > fabs(x);
    const float toward_zero = __uint_as_float(__float_as_uint(nearest) - (above ? 1u : 0u));
#endif
    const uint32_t lost = (uint32_t)__double_as_longlong(x) & 0x1fffffffu;
    return __uint_as_float(__float_as_uint(toward_zero) | (lost != 0u ? 1u : 0u));
}

/* Codes of two numbers: to nearest, what is too large becomes the largest finite. */
static __device__ inline uint32_t exact_cvt2(enum exact_end end, float x0, float x1)
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

/* Codes of 4 sums in a word; no zero keeps a sign. */
static __device__ inline uint32_t exact_cvt4(const struct exact_plan &plan, const double *sum)
{
    float x[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = exact_odd(sum[i] * plan.value);
    const uint32_t word = exact_cvt2(plan.end, x[0], x[1]) | exact_cvt2(plan.end, x[2], x[3]) << 16;
    const uint32_t mags = word & 0x7f7f7f7fu;
    return mags | (word & (mags + 0x7f7f7f7fu) & 0x80808080u);
}

static __device__ inline void exact_store(const struct sum_job &job, const struct exact_plan &plan,
                                          const double *sum, size_t chunk)
{
    const unsigned w = mf_width(job.out);
    const size_t left = parts_left(chunk, job.n);
    uint8_t *to = job.codes + parts_byte(chunk, w);
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

/* sum += the codes of one part. Returns bits that are not 0 if one of them is no number. */
template <int W>
static __device__ inline uint32_t exact_part(const struct exact_plan &plan,
                                             const pack_words<W> &part, double *sum)
{
    uint32_t special = 0;
#pragma unroll
    for (int i = 0; i < pack_words<W>::N; i++)
        special |= pack_special<W>(part.w[i], plan.inf);
#pragma unroll
    for (int k = 0; k < PACK_CODES; k++) {
        const uint32_t code = pack_code(part, k);
        sum[k] = __dadd_rn(sum[k], exact_value(plan, code));
    }
    return special;
}

template <int W>
static __global__ void k_sum_exact(struct sum_job job, struct exact_plan plan, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const unsigned w = mf_width(job.in);
    parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n), at = parts_byte(c, w);
        double sum[PACK_CODES] = {};
        uint32_t special = 0;
        int p = 0;
        /* all their loads, then all their additions */
        for (; p + AT_ONCE <= job.n_parts; p += AT_ONCE) {
            pack_words<W> part[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                pack_load(parts_at(job, near, p + i) + at, w, left, &part[i]);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                special |= exact_part(plan, part[i], sum);
        }
#pragma unroll 1
        for (; p < job.n_parts; p++) {
            pack_words<W> part;
            pack_load(parts_at(job, near, p) + at, w, left, &part);
            special |= exact_part(plan, part, sum);
        }
        if (special != 0)
            exact_slowly(job, near, c);
        else
            exact_store(job, plan, sum, c);
    }
}

/* ---- which of them ---- */

static double power_of_two(int exp)
{
    const double two = exp < 0 ? 0.5 : 2.0;
    double x = 1;
    for (int i = exp < 0 ? -exp : exp; i > 0; i--)
        x *= two;
    return x;
}

/* Returns false where doubles are too short, or the scale would cost bits. */
static bool exact_fits(const struct sum_job &job, struct exact_plan *plan)
{
    const struct mf_fmt in = job.in, out = job.out;
    if (in.e > 5 || in.m > 10 || mf_acc_bits(in, (unsigned)job.n_parts) > EXACT_BITS)
        return false;
    plan->unit = 1u << (20 - in.m);
    plan->mask = 1u << 31 | mf_nan(in) << (20 - in.m);
    plan->inf = mf_inf(in);
    plan->beyond = job.overflow == MF_SATURATE ? mf_max(out) : mf_inf(out);
    plan->sign = 1u << (out.e + out.m);
    plan->drop = 52u - out.m;
    plan->no_mantissa = out.m == 0;
    const int scale = mf_bias(out) - mf_bias(in) - job.shift;
    if (job.shift > EXACT_SHIFT_MAX || job.shift < -EXACT_SHIFT_MAX || scale < in.m - 52)
        return false;
    plan->scale = power_of_two(scale);
    plan->value = power_of_two(1023 - EXACT_SHIFT_MAX - mf_bias(in)) *
                  power_of_two(EXACT_SHIFT_MAX - job.shift);
    plan->end = END_BITS;
    /* its power of two must be a double */
    if (job.overflow != MF_SATURATE || mf_bias(in) + job.shift < 0)
        return true;
    if (out.e == 5 && out.m == 2 && out.fn == 0)
        plan->end = END_E5M2;
    if (out.e == 4 && out.m == 3 && out.fn == 1)
        plan->end = END_E4M3FN;
    return true;
}

int vec_gpu_sum_exact(const struct sum_job &job, cudaStream_t s)
{
    const size_t n_chunks = parts_chunks(job.n);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM), w = mf_width(job.in);
    struct exact_plan plan;
    if (!exact_fits(job, &plan)) {
        k_sum_words<<<grid, CU_THREADS, 0, s>>>(job, n_chunks);
    } else if (w == 8) {
        k_sum_exact<8><<<grid, CU_THREADS, 0, s>>>(job, plan, n_chunks);
    } else if (w == 16) {
        k_sum_exact<16><<<grid, CU_THREADS, 0, s>>>(job, plan, n_chunks);
    } else if (w == 4) {
        k_sum_exact<4><<<grid, CU_THREADS, 0, s>>>(job, plan, n_chunks);
    } else {
        k_sum_words<<<grid, CU_THREADS, 0, s>>>(job, n_chunks);
    }
    return cu_check("sum");
}
