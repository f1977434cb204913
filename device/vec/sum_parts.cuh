/* sum_parts.cuh : walks over packed vectors in chunks of 16 elements, or c, addresses in shared
 * memory. */
#ifndef SUM_PARTS_CUH
#define SUM_PARTS_CUH
#include "device/vec/sum_pack.cuh"
#include "device/vec/sum_round.cuh"

/* PARTS_NEAR: most addresses in shared memory, no more than a block's threads. PARTS_PER_SM: blocks
 * per SM. */
enum { PARTS_NEAR = 64, PARTS_PER_SM = 48 };

struct sum_job {
    const uint8_t *const *parts;
    int n_parts;
    size_t n;
    struct mf_fmt in, out;
    enum mf_overflow overflow;
    enum vec_rule rule;
    int shift;
    uint8_t *codes;
};

/* Copies the list of parts if it fits; returns where it is. The whole block calls it. */
static __device__ inline const uint8_t *const *parts_fetch(const struct sum_job &job,
                                                           const uint8_t **near)
{
    if (job.n_parts > PARTS_NEAR)
        return job.parts;
    if ((int)threadIdx.x < job.n_parts)
        near[threadIdx.x] = job.parts[threadIdx.x];
    __syncthreads();
    return near;
}

/* The whole block calls it. */
static __device__ inline bool parts_aligned(const struct sum_job &job, const uint8_t *const *near,
                                            unsigned align)
{
    const int p = (int)threadIdx.x;
    return __syncthreads_or(p < job.n_parts && ((uintptr_t)near[p] & (align - 1u)) != 0) == 0;
}

/* The _partial functions are for accumulators of their own format. Return 0 or the launch's
 * failure. */
int vec_gpu_sum_exact(const struct sum_job &job, cudaStream_t s);
int vec_gpu_sum_partial(const struct sum_job &job, const struct vec_sum *sum, cudaStream_t s);
int vec_gpu_accumulate_partial(const struct vec_sum *sum, uint32_t *acc, const uint8_t *codes,
                               size_t n, bool first, cudaStream_t s);

static inline size_t parts_chunks(size_t n, unsigned c = PACK_CODES)
{
    return (n + c - 1) / c;
}
static __device__ inline size_t parts_byte(size_t chunk, unsigned w, unsigned c = PACK_CODES)
{
    return chunk * (c / 8u * w);
}
static __device__ inline size_t parts_left(size_t chunk, size_t n, unsigned c = PACK_CODES)
{
    return n - chunk * c;
}

#endif
