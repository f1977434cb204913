/* sum_exact.cu : exact sums of packed vectors, rounded once. Floating-point accumulators
 * (sum_exact_acc.cuh) stay in registers, one per code of a chunk of 16 or 8.
 *
 * On sm_90, eight parts take 3.9 instructions per code of e4m3 and 4.8 of e5m2, all included. The
 * loads of several parts' chunks are issued together: pointers are in shared memory, alignment is
 * checked before the loop (tests/device/test_gpu_build.sh).
 *
 * Chunks with inf or nan, sums that do not fit, odd widths, and more than PARTS_NEAR parts use the
 * accumulators of mf.h instead. */
#include "device/vec/sum_exact_acc.cuh"
#include "device/vec/sum_parts.cuh"
#include "device/vec/vec.cuh"

/* ---- sums to codes, to nearest even ----
 *
 * Sums may already be rounded to odd, as they have at least two bits more than the out format.
 * Where the chip can, an instruction casts floats to saturating e5m2 or e4m3fn. */

enum exact_end { END_BITS, END_E5M2, END_E4M3, END_E4M3FN };

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
    uint32_t mags = word & 0x7f7f7f7fu;
    const uint32_t minus = word & (mags + 0x7f7f7f7fu) & 0x80808080u;
    /* e4m3 has the codes of e4m3fn below its inf, 78. */
    if (plan.end == END_E4M3) {
        const uint32_t beyond = (mags + 0x08080808u) & 0x80808080u;
        mags = (mags | (beyond - (beyond >> 7))) & ~(beyond >> 4);
    }
    return mags | minus;
}

/* left: codes to the vector's end. */
template <int C, class REAL>
static __device__ inline void exact_store(const struct exact_plan &plan, const REAL *sum,
                                          uint8_t *to, unsigned w, size_t left)
{
    if (EXACT_CVT && plan.end != END_BITS && left >= C) {
        uint32_t words[C / 4];
#pragma unroll
        for (int i = 0; i < C / 4; i++)
            words[i] = exact_cvt4(plan, sum + 4 * i);
        pack_put<C / 4>(to, words, C);
        return;
    }
    uint32_t codes[C];
#pragma unroll
    for (int k = 0; k < C; k++)
        codes[k] = exact_bits(plan, sum[k]);
    pack_store(to, w, left, codes);
}

enum { EXACT_SHIFT_MAX = 40 };

/* c: codes of a chunk. */
static __device__ __attribute__((noinline)) void
exact_slowly(struct sum_job job, const uint8_t *const *parts, size_t chunk, unsigned c)
{
    const unsigned w = mf_width(job.in), w_out = mf_width(job.out);
    const size_t left = parts_left(chunk, job.n, c), at = parts_byte(chunk, w, c);
    const unsigned bytes = pack_bytes(w, left, c);
    struct pack_writer to = pack_writer_at(job.codes + parts_byte(chunk, w_out, c), 0, w_out);
#pragma unroll 1
    for (size_t k = 0; k < c && k < left; k++) {
        uint64_t acc = 0;
#pragma unroll 1
        for (int p = 0; p < job.n_parts; p++)
            acc = mf_acc_add(job.in, acc, pack_at(parts[p] + at, bytes, w, k));
        pack_write_code(&to, sum_final_acc(job.in, acc, job.shift, job.out, job.overflow));
    }
    pack_write_rest(&to);
}

static __global__ void k_sum_words(struct sum_job job, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const uint8_t *const *parts = parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x)
        exact_slowly(job, parts, c, PACK_CODES);
}

/* Returns nonzero bits if a code is inf or nan, unless sums tell that. */
template <int W, class ACC>
static __device__ inline uint32_t exact_two(const struct exact_plan &plan,
                                            const pack_words<W, ACC::CODES> &a,
                                            const pack_words<W, ACC::CODES> &b, ACC *acc)
{
    typedef pack_words<W, ACC::CODES> words;
    uint32_t special = 0;
#pragma unroll
    for (int i = 0; i < words::N; i++) {
        if (!ACC::TELLS)
            special |= pack_special<W>(a.w[i], plan.inf) | pack_special<W>(b.w[i], plan.inf);
        exact_add(plan, a, b, i, acc + i * words::PER);
    }
    return special;
}

/* N parts; all loads are issued before the additions. */
template <int W, int N, class ACC>
static __device__ inline uint32_t exact_parts(const struct exact_plan &plan,
                                              const uint8_t *const *near, size_t at, ACC *acc)
{
    uint32_t special = 0;
    pack_words<W, ACC::CODES> part[N + N % 2] = {};
#pragma unroll
    for (int i = 0; i < N; i++)
        pack_fetch(near[i] + at, &part[i]);
#pragma unroll
    for (int i = 0; i < N; i += 2)
        special |= exact_two<W>(plan, part[i], part[i + 1], acc);
    return special;
}

template <int W, class ACC>
static __device__ inline uint32_t exact_whole(const struct sum_job &job,
                                              const struct exact_plan &plan,
                                              const uint8_t *const *near, size_t at, ACC *acc)
{
    uint32_t special = 0;
    int p = 0;
    for (; p + ACC::PARTS <= job.n_parts; p += ACC::PARTS)
        special |= exact_parts<W, ACC::PARTS>(plan, near + p, at, acc);
    if (ACC::PARTS > 4 && (job.n_parts & 4) != 0) {
        special |= exact_parts<W, 4>(plan, near + p, at, acc);
        p += 4;
    }
    if ((job.n_parts & 2) != 0)
        special |= exact_parts<W, 2>(plan, near + p, at, acc);
    if ((job.n_parts & 1) != 0)
        special |= exact_parts<W, 1>(plan, near + job.n_parts - 1, at, acc);
    return special;
}

template <int W, class ACC>
static __device__ inline uint32_t
exact_any(const struct sum_job &job, const struct exact_plan &plan, const uint8_t *const *near,
          size_t at, size_t left, ACC *acc)
{
    const pack_words<W, ACC::CODES> none = {};
    uint32_t special = 0;
#pragma unroll 1
    for (int p = 0; p < job.n_parts; p++) {
        pack_words<W, ACC::CODES> part;
        pack_load(near[p] + at, W, left, &part);
        __syncwarp();
        special |= exact_two<W>(plan, part, none, acc);
    }
    return special;
}

/* Whether a sum is inf or nan. */
template <int C, class REAL> static __device__ inline bool exact_spoilt(const REAL (&sum)[C])
{
    REAL zero = 0;
#pragma unroll
    for (int k = 0; k < C; k++)
        zero += sum[k] * 0;
    return !(zero == 0);
}

/* A warp's threads take turns together, also beyond the last chunk, as tensor cores need all. */
template <int W, class ACC>
static __global__ void __launch_bounds__(CU_THREADS, ACC::PER_SM)
    k_sum_exact(struct sum_job job, struct exact_plan plan, size_t n_chunks)
{
    static_assert((int)PARTS_NEAR <= (int)CU_THREADS, "");
    __shared__ const uint8_t *near[PARTS_NEAR];
    const int C = ACC::CODES;
    const unsigned w_out = mf_width(job.out);
    parts_fetch(job, near);
    const bool aligned = parts_aligned(job, near, pack_words<W, C>::ALIGN);
    if (ACC::TELLS)
        plan.lower = exact_diagonal(ACC::TIMES != 0 ? ACC::TIMES : plan.lower);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; (c & ~(size_t)31) < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = c < n_chunks ? parts_left(c, job.n, C) : 0, at = parts_byte(c, W, C);
        ACC acc[C];
#pragma unroll
        for (int k = 0; k < C; k++)
            exact_open(&acc[k]);
        __syncwarp();
        const uint32_t special = aligned && (c | 31) < job.n / C
                                     ? exact_whole<W>(job, plan, near, at, acc)
                                     : exact_any<W>(job, plan, near, at, left, acc);
        decltype(exact_close(acc[0])) sum[C];
#pragma unroll
        for (int k = 0; k < C; k++)
            sum[k] = exact_close(acc[k]);
        if (left != 0 && (special != 0 || (ACC::TELLS && exact_spoilt(sum))))
            exact_slowly(job, near, c, C);
        else
            exact_store<C>(plan, sum, job.codes + parts_byte(c, w_out, C), w_out, left);
    }
}

static double power_of_two(int exp)
{
    const double two = exp < 0 ? 0.5 : 2.0;
    double x = 1;
    for (int i = exp < 0 ? -exp : exp; i > 0; i--)
        x *= two;
    return x;
}

struct real {
    int bits, bias, least; /* of the significand; bias; log2 of the smallest number */
};

/* Values of codes are scaled by 2^raised. Returns false if a power of two does not fit the sums'
 * type or would lose bits. */
static bool plan_end(const struct sum_job &job, struct real type, int raised,
                     struct exact_plan *plan)
{
    const struct mf_fmt in = job.in, out = job.out;
    /* field: exponent field of the out format less the type's */
    const int field = mf_bias(out) - type.bias - job.shift, quantum = 1 - mf_bias(in) - (int)in.m,
              value = -raised - job.shift;
    if (job.shift > EXACT_SHIFT_MAX || job.shift < -EXACT_SHIFT_MAX ||
        (int)out.m + 2 > type.bits - 1 || quantum + field < type.least ||
        field - raised <= -type.bias || field - raised > type.bias)
        return false;
    plan->drop = (unsigned)(type.bits - 1) - out.m;
    plan->scale = power_of_two(field - raised);
    plan->end = END_BITS;
    if (job.overflow != MF_SATURATE || value > type.bias)
        return true;
    plan->value = power_of_two(value);
    if (mf_same(out, mf_e5m2()))
        plan->end = END_E5M2;
    if (out.e == 4 && out.m == 3 && out.flavour != MF_NUMBERS)
        plan->end = out.flavour == MF_IEEE ? END_E4M3 : END_E4M3FN;
    return true;
}

enum exact_way { WAY_WORDS, WAY_SINGLE, WAY_E4M3, WAY_E5M2, WAY_DOUBLE };

static enum exact_way exact_choose(const struct sum_job &job, struct exact_plan *plan)
{
    static const struct real single = {24, 127, -149}, twice = {53, 1023, -1074};
    const struct mf_fmt in = job.in, out = job.out;
    const int bits = mf_acc_bits(in, (unsigned)job.n_parts) - 1;
    if (job.n_parts > PARTS_NEAR || in.e > 5 || in.m > 10)
        return WAY_WORDS;
    plan->inf = mf_special(in);
    plan->beyond = job.overflow == MF_SATURATE ? mf_max(out) : mf_inf(out);
    plan->sign = 1u << (out.e + out.m);
    plan->no_mantissa = out.m == 0;
    if (mf_same(in, mf_e5m2()) && plan_end(job, single, 0, plan))
        return WAY_E5M2;
    if (in.e == 4 && in.m == 3 && in.flavour != MF_NUMBERS && plan_end(job, single, 0, plan)) {
        plan->raise = in.flavour == MF_IEEE ? 0x5c005c00u : 0x3c003c00u; /* 2^8 or 1 */
        plan->lower = in.flavour == MF_IEEE ? 0x1c00u : 0x3c00u;
        return WAY_E4M3;
    }
    if (bits <= SINGLE_BITS && plan_end(job, single, mf_bias(in) - single.bias, plan)) {
        plan->unit = 1u << (23 - in.m);
        plan->mask = 1u << 31 | mf_nan(in) << (23 - in.m);
        return WAY_SINGLE;
    }
    if (bits > DOUBLE_BITS || !plan_end(job, twice, mf_bias(in) - twice.bias, plan))
        return WAY_WORDS;
    plan->unit = 1u << (20 - in.m);
    plan->mask = 1u << 31 | mf_nan(in) << (20 - in.m);
    return WAY_DOUBLE;
}

template <int W, class ACC>
static void exact_launch(const struct sum_job &job, const struct exact_plan &plan, cudaStream_t s)
{
    const size_t n_chunks = parts_chunks(job.n, ACC::CODES);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM);
    k_sum_exact<W, ACC><<<grid, CU_THREADS, 0, s>>>(job, plan, n_chunks);
}

int vec_gpu_sum_exact(const struct sum_job &job, cudaStream_t s)
{
    const size_t n_chunks = parts_chunks(job.n);
    const unsigned w = mf_width(job.in);
    struct exact_plan plan = {};
    const enum exact_way way = exact_choose(job, &plan);
    if (way == WAY_SINGLE && w == 4)
        exact_launch<4, exact_single>(job, plan, s);
    else if (way == WAY_SINGLE && w == 8)
        exact_launch<8, exact_single>(job, plan, s);
    else if (way == WAY_E4M3)
        exact_launch<8, exact_e4m3>(job, plan, s);
    else if (way == WAY_E5M2)
        exact_launch<8, exact_e5m2>(job, plan, s);
    else if (way == WAY_DOUBLE && w == 8)
        exact_launch<8, exact_double>(job, plan, s);
    else if (way == WAY_DOUBLE && w == 16)
        exact_launch<16, exact_double>(job, plan, s);
    else
        k_sum_words<<<cu_blocks_most(n_chunks, PARTS_PER_SM), CU_THREADS, 0, s>>>(job, n_chunks);
    return cu_check("sum");
}
