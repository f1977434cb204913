/* sum_parts.cuh : how kernels walk over several packed vectors: chunks of 16 elements, a list of
 * pointers at hand. */
#ifndef SUM_PARTS_CUH
#define SUM_PARTS_CUH
#include "device/vec/sum_pack.cuh"
#include "device/vec/sum_round.cuh"

/* pointers in shared memory; blocks */
enum { PARTS_NEAR = 64, PARTS_PER_SM = 48 };

/* What all kernels of a sum are told. */
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

/* The list into shared memory, if it fits; all threads of the block. Returns where it is. */
static __device__ inline const uint8_t *const *parts_fetch(const struct sum_job &job,
                                                           const uint8_t **near)
{
    if (job.n_parts > PARTS_NEAR)
        return job.parts;
    for (int p = (int)threadIdx.x; p < job.n_parts; p += (int)blockDim.x)
        near[p] = job.parts[p];
    __syncthreads();
    return near;
}

/* Of a list that is near: are all parts aligned? All threads of the block. */
static __device__ inline bool parts_aligned(const struct sum_job &job, const uint8_t *const *near,
                                            unsigned align)
{
    const int p = (int)threadIdx.x;
    return __syncthreads_or(p < job.n_parts && ((uintptr_t)near[p] & (align - 1u)) != 0) == 0;
}

/* The sums of job, by its rule; those of partial sums with a format of their own, by `sum`, also into
 * accumulators. Return 0 or a launch's failure. */
int vec_gpu_sum_exact(const struct sum_job &job, cudaStream_t s);
int vec_gpu_sum_partial(const struct sum_job &job, const struct vec_sum *sum, cudaStream_t s);
int vec_gpu_fold_partial(const struct vec_sum *sum, uint32_t *acc, const uint8_t *codes, size_t n,
                         bool first, cudaStream_t s);

static inline size_t parts_chunks(size_t n)
{
    return (n + PACK_CODES - 1) / PACK_CODES;
}
/* Of a w-bit format, the byte where a chunk begins. */
static __device__ inline size_t parts_byte(size_t chunk, unsigned w)
{
    return chunk * (2u * w);
}
static __device__ inline size_t parts_left(size_t chunk, size_t n)
{
    return n - chunk * PACK_CODES;
}

#endif
