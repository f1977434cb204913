/* map.cuh : defines the kernel of all element-wise layers. */
#ifndef MAP_CUH
#define MAP_CUH
#include "device/nn/act.cuh"

enum { MAP_EACH = 4 }; /* packs per thread */

/* b is read only if OP::TWO. y may be a or b. */
template <typename T, int V, typename OP>
static __global__ void __launch_bounds__(CU_THREADS)
    k_map(size_t n, OP op, const T *a, const T *b, T *y)
{
    const size_t whole = n / V, first = (size_t)blockIdx.x * (MAP_EACH * CU_THREADS) + threadIdx.x;
    act_pack<T, V> pa[MAP_EACH], pb[MAP_EACH];
#pragma unroll
    for (int u = 0; u < MAP_EACH; u++) {
        const size_t i = first + (size_t)u * CU_THREADS;
        if (i < whole) {
            pa[u] = act_load<T, V>(a + i * V);
            if (OP::TWO)
                pb[u] = act_load<T, V>(b + i * V);
        }
    }
#pragma unroll
    for (int u = 0; u < MAP_EACH; u++) {
        const size_t i = first + (size_t)u * CU_THREADS;
        if (i < whole) {
            float va[V], vb[V] = {};
            act_open<T, V>(pa[u], va);
            if (OP::TWO)
                act_open<T, V>(pb[u], vb);
#pragma unroll
            for (int j = 0; j < V; j++)
                va[j] = op(va[j], vb[j]);
            act_store<T, V>(y + i * V, va);
        }
    }
    const size_t last = whole * V + threadIdx.x;
    if (blockIdx.x == 0 && last < n)
        y[last] = act<T>::of(op(act_float(a[last]), OP::TWO ? act_float(b[last]) : 0));
}

static inline unsigned map_blocks(size_t n, int v)
{
    const size_t each = (size_t)MAP_EACH * CU_THREADS, blocks = (n / (size_t)v + each - 1) / each;
    return blocks ? (unsigned)blocks : 1;
}

template <typename T, typename OP>
static int map(struct dev_stream *s, size_t n, OP op, const void *va, const void *vb, void *vy,
               const char *what)
{
    const T *a = (const T *)va, *b = (const T *)vb;
    T *y = (T *)vy;
    const int v = ACT_LANES(T);
    if (n == 0)
        return 0;
    if (act_wide<T>(0, a, b, y))
        k_map<T, ACT_LANES(T), OP>
            <<<map_blocks(n, v), CU_THREADS, 0, cu_stream(s)>>>(n, op, a, b, y);
    else
        k_map<T, 1, OP><<<map_blocks(n, 1), CU_THREADS, 0, cu_stream(s)>>>(n, op, a, b, y);
    return cu_check(what);
}

#endif
