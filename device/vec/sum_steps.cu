/* sum_steps.cu : makes sums of packed vectors by rules that round at each step: fp32, nearest,
 * kahan and trunc. */
#include "device/vec/sum_e5m2.cuh"
#include "device/vec/sum_walk.cuh"
#include "device/vec/vec.cuh"

/* For the rule fp32, a sum is the bits of the sum of the codes' floats, else a code. */
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

template <int RULE> struct steps_known {
    sum_fmt<float> k;
};

template <int RULE>
static __device__ inline void rule_add(const struct sum_job &, const steps_known<RULE> &r,
                                       uint32_t code, struct sum_acc *acc)
{
    acc->sum =
        RULE == VEC_FP32 ? steps_add_fp32(r.k, acc->sum, code) : sum_add(r.k, acc->sum, code);
}

template <int RULE>
static __device__ inline uint32_t rule_end(const struct sum_job &job, const steps_known<RULE> &,
                                           struct sum_acc acc)
{
    return steps_final(job, (enum vec_rule)RULE, acc.sum);
}

template <class T> struct steps_any {
    sum_fmt<T> k;
    sum_fmt<float> k32;
};

template <class T>
static __device__ inline void rule_add(const struct sum_job &job, const steps_any<T> &r,
                                       uint32_t code, struct sum_acc *acc)
{
    if (job.rule == VEC_FP32)
        acc->sum = steps_add_fp32(r.k32, acc->sum, code);
    else if (job.rule == VEC_KAHAN)
        sum_kahan(r.k, sum_add(r.k, code, acc->too_much ^ r.k.minus), acc);
    else if (job.rule == VEC_TRUNC)
        acc->sum = sum_add_trunc(r.k32, acc->sum, code);
    else
        acc->sum = sum_add(r.k, acc->sum, code);
}

template <class T>
static __device__ inline uint32_t rule_end(const struct sum_job &job, const steps_any<T> &,
                                           struct sum_acc acc)
{
    return steps_final(job, job.rule, acc.sum);
}

template <bool TRUNC> static __global__ void k_sum_e5m2(struct sum_job job, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const uint8_t *const *parts = parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n), at = c * PACK_CODES;
        uint32_t acc[4] = {};
#pragma unroll 1
        for (int p = 0; p < job.n_parts; p++) {
            pack_words<8> part;
            pack_load(parts[p] + at, 8, left, &part);
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
    return mf_same(f, mf_e5m2());
}

template <int W, int RULE> static void launch_known(const struct sum_job &job, cudaStream_t s)
{
    const steps_known<RULE> rule = {sum_fmt_of<float>(job.in, job.overflow)};
    walk_sixteen<W>(job, rule, s);
}

template <class T> static void launch_any(const struct sum_job &job, cudaStream_t s)
{
    const steps_any<T> rule = {sum_fmt_of<T>(job.in, job.overflow),
                               sum_fmt_of<float>(job.in, job.overflow)};
    walk_each(job, rule, s);
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
    const unsigned w = mf_width(job.in);
    if (job.rule == VEC_TRUNC && is_e5m2(job.in) && is_e5m2(out)) {
        k_sum_e5m2<true><<<grid, CU_THREADS, 0, s>>>(job, n_chunks);
    } else if (job.rule == VEC_NEAREST && is_e5m2(job.in) && is_e5m2(out) && shift == 0) {
        k_sum_e5m2<false><<<grid, CU_THREADS, 0, s>>>(job, n_chunks);
    } else if (job.rule == VEC_NEAREST && w == 8) {
        launch_known<8, VEC_NEAREST>(job, s);
    } else if (job.rule == VEC_NEAREST && w == 16 && job.in.m <= 10) {
        launch_known<16, VEC_NEAREST>(job, s);
    } else if (job.rule == VEC_FP32 && w == 8) {
        launch_known<8, VEC_FP32>(job, s);
    } else if (job.rule == VEC_FP32 && w == 16) {
        launch_known<16, VEC_FP32>(job, s);
    } else if (job.rule == VEC_FP32 && w == 32) {
        launch_known<32, VEC_FP32>(job, s);
    } else if (job.in.m > 10) {
        launch_any<double>(job, s);
    } else {
        launch_any<float>(job, s);
    }
    return cu_check("sum");
}
