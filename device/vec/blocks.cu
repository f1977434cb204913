/* blocks.cu : makes and decodes results in blocks that have an exponent each (vec_sum.out_group).
 * A warp sums a block: lane i has elements i, i + 32, ... */
#include "device/vec/sum_pack.cuh"
#include "device/vec/uncast_tile.cuh"
#include "device/vec/vec.cuh"

enum { BLOCK_WARPS = 4, BLOCKS_PER_SM = 16, BLOCK_EACH = VEC_GROUP_MAX / 32 };

/* Returns code i of w bits; reads only its bytes. */
static __device__ uint32_t code_of(const uint8_t *codes, unsigned w, size_t i)
{
    const size_t bit = i * w;
    const unsigned low = bit % 8, n_bytes = (low + w + 7) / 8;
    uint64_t v = 0;
    for (unsigned b = 0; b < n_bytes; b++)
        v |= (uint64_t)codes[bit / 8 + b] << 8 * b;
    return (uint32_t)(v >> low) & (uint32_t)((1ull << w) - 1);
}

static __device__ size_t block_bytes(struct mf_fmt fmt, uint32_t block)
{
    return (size_t)block * mf_width(fmt) / 8 + 1;
}

/* Rounds a block's sums and stores them with their exponent. words: [VEC_GROUP_MAX] of the warp. */
static __device__ void store_block(const struct vec_sum *sum, const uint64_t *acc, uint32_t *words,
                                   uint8_t *to)
{
    const uint32_t lane = threadIdx.x % 32, block = sum->out_group;
    const unsigned w = mf_width(sum->out);
    uint64_t most = 0;
    for (uint32_t k = 0; k < BLOCK_EACH; k++) {
        const uint64_t here = vec_acc_magnitude(acc[k]);
        most = here > most ? here : most;
    }
    for (int by = 16; by > 0; by /= 2) {
        const uint64_t other = __shfl_xor_sync(0xffffffffu, most, by);
        most = other > most ? other : most;
    }
    const int8_t exponent = vec_block_exponent(sum->in, most, sum->out);
    /* Wait until the previous block's words are read. */
    __syncwarp();
    for (uint32_t k = 0; k < BLOCK_EACH; k++)
        if (lane + 32 * k < block)
            words[lane + 32 * k] = mf_acc_round(sum->in, acc[k], exponent, sum->out, sum->overflow);
    __syncwarp();
    for (uint32_t j = lane; j < block * w / 8; j += 32) {
        uint32_t byte = 0;
        for (uint32_t bit = 8 * j; bit < 8 * j + 8; bit++)
            byte |= (words[bit / w] >> bit % w & 1u) << bit % 8;
        to[j] = (uint8_t)byte;
    }
    if (lane == 0)
        to[block * w / 8] = (uint8_t)exponent;
}

/* parts: NULL if acc holds the sums. */
static __global__ void __launch_bounds__(32 * BLOCK_WARPS)
    k_blocks(struct vec_sum sum, const uint8_t *const *parts, int n_parts, const uint64_t *acc,
             size_t n_blocks, uint8_t *blocks)
{
    __shared__ uint32_t words[BLOCK_WARPS][VEC_GROUP_MAX];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned w = mf_width(sum.in);
    for (size_t b = (size_t)blockIdx.x * BLOCK_WARPS + warp; b < n_blocks;
         b += (size_t)gridDim.x * BLOCK_WARPS) {
        uint64_t own[BLOCK_EACH];
        for (uint32_t k = 0; k < BLOCK_EACH; k++) {
            const size_t i = b * sum.out_group + lane + 32 * k;
            own[k] = 0;
            if (lane + 32 * k >= sum.out_group)
                continue;
            if (!parts)
                own[k] = acc[i];
            for (int p = 0; parts && p < n_parts; p++)
                own[k] = mf_acc_add(sum.in, own[k], code_of(parts[p], w, i));
        }
        store_block(&sum, own, words[warp], blocks + b * block_bytes(sum.out, sum.out_group));
    }
}

static int launch(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                  const uint64_t *acc, size_t n, uint8_t *blocks, struct dev_stream *s)
{
    const size_t n_blocks = n / sum->out_group;
    const unsigned grid = cu_grid((n_blocks + BLOCK_WARPS - 1) / BLOCK_WARPS, BLOCKS_PER_SM);
    if (n_blocks == 0)
        return 0;
    k_blocks<<<grid, 32 * BLOCK_WARPS, 0, cu_stream(s)>>>(*sum, parts, n_parts, acc, n_blocks,
                                                          blocks);
    return cu_check("blocks of sums");
}

int vec_gpu_sum_blocks(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                       size_t n, uint8_t *blocks, struct dev_stream *s)
{
    return launch(sum, parts, n_parts, NULL, n, blocks, s);
}

int vec_gpu_finish_blocks(const struct vec_sum *sum, const uint64_t *acc, size_t n, uint8_t *blocks,
                          struct dev_stream *s)
{
    return launch(sum, NULL, 0, acc, n, blocks, s);
}

/* ---- blocks to floats: an element per thread ---- */

static __global__ void __launch_bounds__(UNCAST_THREADS)
    k_open_blocks(struct uncast u, const struct vec_out *spans, int n_spans)
{
    __shared__ struct span_list<struct vec_out> list;
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, false, UNCAST_THREADS);
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            const struct vec_out *out = &list.span[i];
            const struct uncast_shift by = uncast_shift_make(&u, out->shift);
            const size_t element = span_list_within(&list, i, tile) * UNCAST_THREADS + threadIdx.x,
                         bytes = block_bytes(u.fmt, out->block);
            if (element >= out->n)
                continue;
            const uint8_t *at = out->codes + element / out->block * bytes;
            float x = uncast_value(&u, &by, code_of(at, u.width, element % out->block));
            x = times(x, __uint_as_float(vec_group_factor((int8_t)at[bytes - 1], false)));
            if (out->group)
                x = times(x, __uint_as_float(vec_group_factor(
                                 out->exponents[(element + out->lead) / out->group], false)));
            element_put(out->x, out->type, element, x);
        }
        __syncthreads();
    }
}

int vec_gpu_decode_blocks(struct mf_fmt fmt, float divisor, const struct vec_out *spans,
                          int n_spans, size_t n_elems, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    const unsigned grid =
        span_list_grid(n_elems / UNCAST_THREADS + (size_t)n_spans, UNCAST_PER_SM, n_spans);
    k_open_blocks<<<grid, UNCAST_THREADS, 0, cu_stream(s)>>>(uncast_make(fmt, divisor), spans,
                                                             n_spans);
    return cu_check("values of blocks");
}
