/* peak.cu : finds the largest magnitude among packed codes. */
#include "device/vec/cast_item.cuh"
#include "device/vec/cast_list.cuh"
#include "device/vec/sum_pack.cuh"
#include "device/vec/vec.cuh"

enum { PEAK_PER_SM = 4 };

static __global__ void k_peak(struct mf_fmt fmt, const uint8_t *codes, size_t n, size_t n_chunks,
                              uint32_t *largest)
{
    __shared__ uint32_t warps[32];
    const unsigned w = mf_width(fmt);
    const uint32_t all = mf_nan(fmt);
    uint32_t most = 0;
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = n - c * PACK_CODES;
        const unsigned bytes = pack_bytes(w, left);
#pragma unroll 1
        for (size_t i = 0; i < PACK_CODES && i < left; i++)
            most = max(most, pack_at(codes + c * (2u * w), bytes, w, i) & all);
    }
    block_max_to(largest, most, warps);
}

int vec_gpu_peak(struct mf_fmt fmt, const uint8_t *codes, size_t n, uint32_t *largest,
                 struct dev_stream *s)
{
    const size_t n_chunks = (n + PACK_CODES - 1) / PACK_CODES;
    if (n == 0)
        return 0;
    k_peak<<<cu_blocks_most(n_chunks, PEAK_PER_SM), CU_THREADS, 0, cu_stream(s)>>>(
        fmt, codes, n, n_chunks, largest);
    return cu_check("largest code");
}
