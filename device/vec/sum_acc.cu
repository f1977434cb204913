/* sum_acc.cu : adds codes to accumulators in memory, and rounds or converts them.
 *
 * Accumulators are host/vec's: for the rule exact a word of mf.h, for fp32 a float, for kahan the
 * codes of the sum and its excess, else a code. All bits 0 are an empty sum. */
#include "device/vec/sum_parts.cuh"
#include "device/vec/vec.cuh"

struct acc_job {
    enum vec_rule rule;
    enum mf_overflow overflow;
    struct mf_fmt in, out;
    int shift;
    bool first;
    float unit; /* from the float of a code to its value */
    size_t n;
};

/* T: float if the format allows, else double. */
template <class T>
static __global__ void k_accumulate(struct acc_job job, sum_fmt<T> k, sum_fmt<float> k32, void *acc,
                                    const uint8_t *codes)
{
    const unsigned w = mf_width(job.in);
    const size_t bytes = (job.n * w + 7) / 8;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < job.n;
         i += (size_t)gridDim.x * blockDim.x) {
        /* A byte that begins a code keeps bit offsets within 32 bits. */
        const size_t at = i / 8 * w;
        const uint32_t code =
            pack_at(codes + at, (unsigned)(bytes - at < 64 ? bytes - at : 64), w, i % 8);
        if (job.rule == VEC_EXACT) {
            uint64_t *a = (uint64_t *)acc + i;
            *a = mf_acc_add(job.in, job.first ? 0 : *a, code);
        } else if (job.rule == VEC_FP32) {
            float *a = (float *)acc + i;
            *a = __fadd_rn(job.first ? 0.0f : *a, __fmul_rn(sum_value(k32, code), job.unit));
        } else if (job.rule == VEC_KAHAN) {
            uint32_t *a = (uint32_t *)acc + 2 * i;
            struct sum_acc both = {job.first ? 0 : pack_spread(job.in, a[0]),
                                   job.first ? 0 : pack_spread(job.in, a[1])};
            sum_kahan(k, sum_add(k, code, both.too_much ^ k.minus), &both);
            a[0] = pack_own_bits(job.in, both.sum);
            a[1] = pack_own_bits(job.in, both.too_much);
        } else {
            uint32_t *a = (uint32_t *)acc + i;
            const uint32_t s = job.first ? 0 : pack_spread(job.in, *a);
            *a = pack_own_bits(job.in, job.rule == VEC_TRUNC ? sum_add_trunc(k32, s, code)
                                                             : sum_add(k, s, code));
        }
    }
}

static __global__ void k_finish(struct acc_job job, const void *acc, uint8_t *codes,
                                size_t n_chunks)
{
    const unsigned w = mf_width(job.out);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n), first = c * PACK_CODES;
        uint32_t out[PACK_CODES];
#pragma unroll
        for (int k = 0; k < PACK_CODES; k++) {
            const size_t i = first + (size_t)k;
            out[k] = 0;
            if ((size_t)k >= left)
                continue;
            if (job.rule == VEC_EXACT) {
                out[k] = sum_final_acc(job.in, ((const uint64_t *)acc)[i], job.shift, job.out,
                                       job.overflow);
            } else {
                const uint32_t word = ((const uint32_t *)acc)[job.rule == VEC_KAHAN ? 2 * i : i];
                struct mf_num v = mf_unpack(job.rule == VEC_FP32 ? mf_fp32() : job.in, word);
                v.exp -= job.shift;
                out[k] = sum_final(v, job.out, job.overflow);
            }
        }
        pack_store(codes + parts_byte(c, w), w, left, out);
    }
}

/* ---- wide words, packed: each thread makes one byte, or adds one word ---- */

static __global__ void k_spill(unsigned bits, const uint64_t *acc, size_t n, uint8_t *wide)
{
    const size_t n_bits = n * bits, stride = (size_t)gridDim.x * blockDim.x;
    for (size_t b = (size_t)blockIdx.x * blockDim.x + threadIdx.x; 8 * b < n_bits; b += stride) {
        uint32_t byte = 0;
        for (size_t i = 8 * b / bits; i < n && i * bits < 8 * b + 8; i++) {
            const uint64_t word = mf_wide_word(acc[i], (int)bits);
            byte |= (uint32_t)(i * bits < 8 * b ? word >> (8 * b - i * bits)
                                                : word << (i * bits - 8 * b));
        }
        wide[b] = (uint8_t)byte;
    }
}

static __global__ void k_accumulate_wide(unsigned bits, uint64_t *acc, const uint8_t *wide,
                                         size_t n, bool first)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        const size_t at = i * bits;
        const unsigned skip = (unsigned)(at % 8);
        uint64_t word = (uint64_t)wide[at / 8] >> skip;
        for (unsigned have = 8 - skip, b = 1; have < bits; have += 8, b++)
            word |= (uint64_t)wide[at / 8 + b] << have;
        acc[i] =
            mf_acc_merge(first ? 0 : acc[i], mf_wide_acc(word & ((1ull << bits) - 1), (int)bits));
    }
}

static struct acc_job job_of(const struct vec_sum *sum, struct mf_fmt out, int shift, bool first,
                             size_t n)
{
    struct acc_job job = {sum->rule, sum->overflow, sum->in, out, shift, first, 1.0f, n};
    for (int i = mf_bias(sum->in); i < 127; i++)
        job.unit *= 2.0f;
    return job;
}

int vec_gpu_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                       bool first, struct dev_stream *stream)
{
    const struct acc_job job = job_of(sum, sum->in, 0, first, n);
    const sum_fmt<float> k32 = sum_fmt_of<float>(sum->in, sum->overflow);
    const cudaStream_t s = cu_stream(stream);
    const unsigned grid = cu_blocks_most(n, PARTS_PER_SM);
    if (n == 0)
        return 0;
    if (sum->acc.e != 0)
        return vec_gpu_accumulate_partial(sum, (uint32_t *)acc, codes, n, first, s);
    if (sum->in.m > 10) {
        const sum_fmt<double> k = sum_fmt_of<double>(sum->in, sum->overflow);
        k_accumulate<double><<<grid, CU_THREADS, 0, s>>>(job, k, k32, acc, codes);
    } else {
        k_accumulate<float><<<grid, CU_THREADS, 0, s>>>(job, k32, k32, acc, codes);
    }
    return cu_check("accumulate");
}

int vec_gpu_finish(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                   int shift, uint8_t *codes, struct dev_stream *stream)
{
    const struct vec_sum held = vec_sum_of_partials(sum);
    const struct acc_job job = job_of(&held, out, shift, false, n);
    const size_t n_chunks = parts_chunks(n);
    if (n == 0)
        return 0;
    k_finish<<<cu_blocks_most(n_chunks, PARTS_PER_SM), CU_THREADS, 0, cu_stream(stream)>>>(
        job, acc, codes, n_chunks);
    return cu_check("finish");
}

static unsigned wide_bits(const struct vec_sum *sum)
{
    return (unsigned)mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
}

int vec_gpu_spill(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide,
                  struct dev_stream *stream)
{
    const unsigned bits = wide_bits(sum), grid = cu_blocks_most((n * bits + 7) / 8, PARTS_PER_SM);
    if (n == 0)
        return 0;
    k_spill<<<grid, CU_THREADS, 0, cu_stream(stream)>>>(bits, (const uint64_t *)acc, n, wide);
    return cu_check("spill");
}

int vec_gpu_accumulate_wide(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                            bool first, struct dev_stream *stream)
{
    const unsigned grid = cu_blocks_most(n, PARTS_PER_SM);
    if (n == 0)
        return 0;
    k_accumulate_wide<<<grid, CU_THREADS, 0, cu_stream(stream)>>>(wide_bits(sum), (uint64_t *)acc,
                                                                  wide, n, first);
    return cu_check("accumulate_wide");
}
