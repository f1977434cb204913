/* sum_walk.cuh : provides two loops over packed parts, for rules that add code after code. A rule
 * is a kernel argument with two functions:
 *
 *     rule_add(job, rule, code, &acc)     adds one code; acc begins as zeros
 *     rule_end(job, rule, acc)            returns the sum's code */
#ifndef SUM_WALK_CUH
#define SUM_WALK_CUH
#include "device/vec/sum_parts.cuh"

/* W: a common width; chunks stay in registers. */
template <int W, class RULE>
static __global__ void k_walk_sixteen(struct sum_job job, RULE rule, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const unsigned w = mf_width(job.in), w_out = mf_width(job.out);
    const uint8_t *const *parts = parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n), at = parts_byte(c, w);
        struct sum_acc acc[PACK_CODES] = {};
        uint32_t codes[PACK_CODES];
#pragma unroll 1
        for (int p = 0; p < job.n_parts; p++) {
            pack_words<W> part;
            pack_load(parts[p] + at, w, left, &part);
#pragma unroll
            for (int i = 0; i < PACK_CODES; i++)
                rule_add(job, rule, pack_code(part, i), &acc[i]);
        }
#pragma unroll
        for (int i = 0; i < PACK_CODES; i++)
            codes[i] = rule_end(job, rule, acc[i]);
        pack_store(job.codes + parts_byte(c, w_out), w_out, left, codes);
    }
}

template <class RULE>
static __global__ void k_walk_each(struct sum_job job, RULE rule, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const unsigned w = mf_width(job.in);
    const uint8_t *const *parts = parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n);
        const unsigned bytes = pack_bytes(w, left);
        struct pack_writer to = pack_writer_at(job.codes, c, mf_width(job.out));
#pragma unroll 1
        for (size_t i = 0; i < PACK_CODES && i < left; i++) {
            struct sum_acc acc = {0, 0};
#pragma unroll 1
            for (int p = 0; p < job.n_parts; p++)
                rule_add(job, rule, pack_at(parts[p] + parts_byte(c, w), bytes, w, i), &acc);
            pack_write_code(&to, rule_end(job, rule, acc));
        }
        pack_write_rest(&to);
    }
}

template <int W, class RULE>
static void walk_sixteen(const struct sum_job &job, const RULE &rule, cudaStream_t s)
{
    const size_t n_chunks = parts_chunks(job.n);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM);
    k_walk_sixteen<W, RULE><<<grid, CU_THREADS, 0, s>>>(job, rule, n_chunks);
}

template <class RULE>
static void walk_each(const struct sum_job &job, const RULE &rule, cudaStream_t s)
{
    const size_t n_chunks = parts_chunks(job.n);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM);
    k_walk_each<RULE><<<grid, CU_THREADS, 0, s>>>(job, rule, n_chunks);
}

#endif
