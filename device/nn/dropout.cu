/* dropout.cu : computes dropout with the CPU's choices: word i of a random stream, selected by key
 * and node, decides about value i. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"
#include "hls/arith/philox.h"
#include <math.h>

/* limit: number of the 2^32 words that drop their value. */
template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_dropout(size_t n, uint64_t limit, float scale, const uint64_t *seed, uint32_t node,
              const T *x, T *y)
{
    enum { FOUR = V < 4 ? V : 4 };
    const size_t i = ((size_t)blockIdx.x * CU_THREADS + threadIdx.x) * V;
    if (i >= n)
        return;
    const uint64_t key = philox_key(*seed, node, 0, 0, 0);
    if (n - i >= V) {
        float v[V];
        act_read<T, V>(x + i, v);
#pragma unroll
        for (int j = 0; j < V; j += FOUR) {
            const uint64_t at = (i + (size_t)j) / 4;
            const struct philox_block counter = {{(uint32_t)at, (uint32_t)(at >> 32), 0, 0}};
            const struct philox_block words = philox_rounds(key, counter);
#pragma unroll
            for (int u = 0; u < FOUR; u++) {
                const uint32_t w = FOUR == 4 ? words.w[u] : words.w[i % 4];
                v[j + u] = w < limit ? 0 : __fmul_rn(v[j + u], scale);
            }
        }
        act_store<T, V>(y + i, v);
        return;
    }
    for (size_t j = i; j < n; j++)
        y[j] = act<T>::of(philox_u32(key, j) < limit ? 0 : __fmul_rn(act_float(x[j]), scale));
}

template <typename T>
static int dropout(struct dev_nn *d, size_t n, double p, const uint64_t *key, uint32_t node,
                   const T *x, T *y)
{
    const uint64_t limit = (uint64_t)ceil(p * 0x1p32);
    const float scale = (float)(1 / (1 - p));
    const int v = ACT_LANES(T);
    const size_t wide = (n + (size_t)v - 1) / (size_t)v;
    const cudaStream_t s = cu_stream(d->s);
    if (act_wide<T>(0, x, y))
        k_dropout<T, ACT_LANES(T)>
            <<<cu_blocks(wide), CU_THREADS, 0, s>>>(n, limit, scale, key, node, x, y);
    else
        k_dropout<T, 1><<<cu_blocks(n), CU_THREADS, 0, s>>>(n, limit, scale, key, node, x, y);
    return cu_check("dropout");
}

template <typename T>
static int dropout_of(struct dev_nn *d, size_t n, double p, const uint64_t *key, uint32_t node,
                      const void *x, void *y)
{
    return dropout<T>(d, n, p, key, node, (const T *)x, (T *)y);
}

int nn_dropout(struct dev_nn *d, size_t n, double p, const uint64_t *key, uint32_t node,
               const void *x, void *y)
{
    return n == 0 ? 0 : NN_BY_TYPE(d, dropout_of, d, n, p, key, node, x, y);
}
