/* sum_steps.cu : sums of several packed vectors by the rules that round while adding: fp32,
 * nearest, kahan, trunc. */
#include "device/sum_e5m2.cuh"
#include "device/sum_parts.cuh"
#include "device/vec.cuh"

/* An accumulator: a code; fp32: the bits of a float, a sum of codes' floats (sum_round.cuh); kahan:
 * two codes. */
struct steps_acc {
    uint32_t sum, too_much;
};

static __device__ inline uint32_t steps_final(const struct sum_job &job, enum vec_rule rule,
                                              uint32_t acc)
{
    struct mf_num v = rule == VEC_FP32 ? mf_unpack(mf_fp32(), acc) : mf_unpack(job.in, acc);
    if (rule == VEC_FP32)
        v.exp += 127 - mf_bias(job.in);
    v.exp -= job.shift;
    return sum_final(v, job.out, job.overflow);
}

static __device__ inline uint32_t steps_add_fp32(const sum_fmt<float> &k, uint32_t acc,
                                                 uint32_t code)
{
    return __float_as_uint(__fadd_rn(__uint_as_float(acc), sum_value(k, code)));
}

/* Sixteen at a time, in registers: the common widths. */
template <int RULE, int W>
static __global__ void k_sum_steps(struct sum_job job, sum_fmt<float> k, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const unsigned w = mf_width(job.in), w_out = mf_width(job.out);
    parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n), at = parts_byte(c, w);
        uint32_t acc[PACK_CODES] = {};
#pragma unroll 1
        for (int p = 0; p < job.n_parts; p++) {
            pack_words<W> part;
            pack_load(parts_at(job, near, p) + at, w, left, &part);
#pragma unroll
            for (int i = 0; i < PACK_CODES; i++) {
                const uint32_t code = pack_code(part, i);
                acc[i] =
                    RULE == VEC_FP32 ? steps_add_fp32(k, acc[i], code) : sum_add(k, acc[i], code);
            }
        }
#pragma unroll
        for (int i = 0; i < PACK_CODES; i++)
            acc[i] = steps_final(job, (enum vec_rule)RULE, acc[i]);
        pack_store(job.codes + parts_byte(c, w_out), w_out, left, acc);
    }
}

/* One by one: any width and rule. */
template <class T>
static __device__ inline void steps_add(const sum_fmt<T> &k, const sum_fmt<float> &k32,
                                        enum vec_rule rule, uint32_t code, struct steps_acc *acc)
{
    if (rule == VEC_FP32) {
        acc->sum = steps_add_fp32(k32, acc->sum, code);
    } else if (rule == VEC_KAHAN) {
        const uint32_t s = acc->sum, y = sum_add(k, code, acc->too_much ^ k.minus),
                       t = sum_add(k, s, y);
        acc->too_much = sum_add(k, sum_add(k, t, s ^ k.minus), y ^ k.minus);
        acc->sum = t;
    } else {
        acc->sum =
            rule == VEC_TRUNC ? sum_add_trunc(k32, acc->sum, code) : sum_add(k, acc->sum, code);
    }
}

template <class T>
static __global__ void k_sum_each(struct sum_job job, sum_fmt<T> k, sum_fmt<float> k32,
                                  size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const unsigned w = mf_width(job.in);
    parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n);
        const unsigned bytes = pack_bytes(w, left);
        struct pack_writer to = pack_writer_at(job.codes, c, mf_width(job.out));
#pragma unroll 1
        for (size_t i = 0; i < PACK_CODES && i < left; i++) {
            struct steps_acc acc = {0, 0};
#pragma unroll 1
            for (int p = 0; p < job.n_parts; p++)
                steps_add(k, k32, job.rule,
                          pack_at(parts_at(job, near, p) + parts_byte(c, w), bytes, w, i), &acc);
            pack_write_code(&to, steps_final(job, job.rule, acc.sum));
        }
        pack_write_rest(&to);
    }
}

/* e5m2 in, e5m2 out. */
template <bool TRUNC> static __global__ void k_sum_e5m2(struct sum_job job, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n), at = c * PACK_CODES;
        uint32_t acc[4] = {};
#pragma unroll 1
        for (int p = 0; p < job.n_parts; p++) {
            pack_words<8> part;
            pack_load(parts_at(job, near, p) + at, 8, left, &part);
#pragma unroll
            for (int i = 0; i < 4; i++)
                acc[i] = e5m2_add4<TRUNC>(job.overflow, acc[i], part.w[i]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            acc[i] = e5m2_mend4(acc[i]);
        pack_put<4>(job.codes + at, acc, pack_bytes(8, left));
    }
}

static bool is_e5m2(struct mf_fmt f)
{
    return f.e == 5 && f.m == 2 && f.fn == 0;
}

static void launch_each(const struct sum_job &job, unsigned grid, size_t n_chunks, cudaStream_t s)
{
    const sum_fmt<float> k32 = sum_fmt_of<float>(job.in, job.overflow);
    if (job.in.m > 10) {
        const sum_fmt<double> k = sum_fmt_of<double>(job.in, job.overflow);
        k_sum_each<double><<<grid, CU_THREADS, 0, s>>>(job, k, k32, n_chunks);
    } else {
        k_sum_each<float><<<grid, CU_THREADS, 0, s>>>(job, k32, k32, n_chunks);
    }
}

int vec_gpu_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes, struct dev_stream *stream)
{
    const struct sum_job job = {parts,         n_parts,   n,     sum->in, out,
                                sum->overflow, sum->rule, shift, codes};
    const cudaStream_t s = cu_stream(stream);
    const size_t n_chunks = parts_chunks(n);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM);
    if (n == 0)
        return 0;
    if (job.rule == VEC_EXACT)
        return vec_gpu_sum_exact(job, s);
    if (sum->acc.e != 0)
        return vec_gpu_sum_partial(job, sum, s);
    const sum_fmt<float> k = sum_fmt_of<float>(job.in, job.overflow);
    const unsigned w = mf_width(job.in);
    if (job.rule == VEC_TRUNC && is_e5m2(job.in) && is_e5m2(out)) {
        k_sum_e5m2<true><<<grid, CU_THREADS, 0, s>>>(job, n_chunks);
    } else if (job.rule == VEC_NEAREST && is_e5m2(job.in) && is_e5m2(out) && shift == 0) {
        k_sum_e5m2<false><<<grid, CU_THREADS, 0, s>>>(job, n_chunks);
    } else if (job.rule == VEC_NEAREST && w == 8) {
        k_sum_steps<VEC_NEAREST, 8><<<grid, CU_THREADS, 0, s>>>(job, k, n_chunks);
    } else if (job.rule == VEC_NEAREST && w == 16 && job.in.m <= 10) {
        k_sum_steps<VEC_NEAREST, 16><<<grid, CU_THREADS, 0, s>>>(job, k, n_chunks);
    } else if (job.rule == VEC_FP32 && w == 8) {
        k_sum_steps<VEC_FP32, 8><<<grid, CU_THREADS, 0, s>>>(job, k, n_chunks);
    } else if (job.rule == VEC_FP32 && w == 16) {
        k_sum_steps<VEC_FP32, 16><<<grid, CU_THREADS, 0, s>>>(job, k, n_chunks);
    } else if (job.rule == VEC_FP32 && w == 32) {
        k_sum_steps<VEC_FP32, 32><<<grid, CU_THREADS, 0, s>>>(job, k, n_chunks);
    } else {
        launch_each(job, grid, n_chunks, s);
    }
    return cu_check("sum");
}
