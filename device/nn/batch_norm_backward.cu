/* batch_norm_backward.cu : computes batch norm backward.
 *
 *     dbeta = sum(dy)   dgamma = sum(dy * (x - mean)) * inv_std
 *     dx = gamma * inv_std *
 *          (dy - sum(dy) / n - (x - mean) * inv_std^2 * sum(dy * (x - mean)) / n)
 *
 * All are multiplied by the factor. In the swapped form, gamma multiplies after the addition:
 * gamma * dy, the addend's gradient, replaces dy, and dgamma is a third sum: of dy times the value
 * that gamma multiplies. */
#include "device/nn/nn.cuh"
#include "device/nn/batch_norm.cuh"

/* The gate of the ReLU after the norm sets dy to 0 where the ReLU's output y is 0:
 *   NONE          no ReLU
 *   X             y is recomputed from x
 *   Y             y is read (with an addend); the first pass stores the gated dy in dy
 *   SWAPPED       the addend is read; the first pass stores the gated dy times gamma
 *   SWAPPED_ALL   the same without a ReLU */
enum norm_gate { GATE_NONE, GATE_X, GATE_Y, GATE_SWAPPED, GATE_SWAPPED_ALL };
static __host__ __device__ constexpr bool gate_swapped(enum norm_gate g)
{
    return g == GATE_SWAPPED || g == GATE_SWAPPED_ALL;
}

enum { BACK_ROWS = 2 }; /* loaded at once */

template <typename T, int V> struct back_rows {
    act_pack<T, V> x[BACK_ROWS], y[BACK_ROWS], dy[BACK_ROWS];
};

template <typename T, int V, enum norm_gate GATE>
static __device__ inline void gate(const float *x, const float *y, const norm_affine<V> &f,
                                   float *dy)
{
#pragma unroll
    for (int j = 0; j < V; j++) {
        if (GATE == GATE_X)
            dy[j] = norm_value(__fsub_rn(x[j], norm_get<V>(f.mean, j)), norm_get<V>(f.scale, j),
                               norm_get<V>(f.shift, j)) > act<T>::least()
                        ? dy[j]
                        : 0;
        if (GATE == GATE_Y)
            dy[j] = y[j] > 0 ? dy[j] : 0;
    }
}

/* mix: sum of g times the value that gamma multiplies. */
template <typename T, int V, enum norm_gate GATE>
static __device__ inline void gate_mix(const float *x, const float *addend, const norm_affine<V> &f,
                                       float *g, float *mix)
{
#pragma unroll
    for (int j = 0; j < V; j++) {
        const float d = __fsub_rn(x[j], norm_get<V>(f.mean, j));
        const float y = norm_swapped(d, norm_get<V>(f.scale, j), addend[j], norm_get<V>(f.outer, j),
                                     norm_get<V>(f.shift, j));
        g[j] = GATE == GATE_SWAPPED_ALL || y > act<T>::least() ? g[j] : 0;
        mix[j] += g[j] * (addend[j] + d * norm_get<V>(f.scale, j));
    }
}

template <typename T, int V>
static __device__ inline void store_outer(const norm_affine<V> &f, const float *g, T *dy)
{
    float outer[V];
#pragma unroll
    for (int j = 0; j < V; j++)
        outer[j] = __fmul_rn(norm_get<V>(f.outer, j), g[j]);
    act_store<T, V>(dy, outer);
}

template <int V>
static __device__ inline void fold_lines(const norm_place &p, int c, const float *sum,
                                         const float *dot, float2 *partial)
{
    __shared__ float sums[V][CU_THREADS], dots[V][CU_THREADS];
    const unsigned tid = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
    for (int j = 0; j < V; j++) {
        sums[j][tid] = sum[j];
        dots[j][tid] = dot[j];
    }
    for (unsigned half = CU_THREADS / 2; half >= blockDim.x; half /= 2) {
        __syncthreads();
        if (tid < half)
#pragma unroll
            for (int j = 0; j < V; j++) {
                sums[j][tid] += sums[j][tid + half];
                dots[j][tid] += dots[j][tid + half];
            }
    }
    if (p.in && threadIdx.y == 0)
#pragma unroll
        for (int j = 0; j < V; j++)
            partial[(size_t)blockIdx.y * (size_t)c + (size_t)(p.at + j)] =
                make_float2(sums[j][tid], dots[j][tid]);
}

/* mixes: the swapped form's third sum, and 0. */
template <typename T, int V, enum norm_gate GATE>
static __global__ void __launch_bounds__(CU_THREADS, gate_swapped(GATE) ? 2 : 3)
    k_norm_sums(size_t n, int c, norm_arrays arrays, const T *x, const T *y, T *dy, float2 *partial,
                float2 *mixes)
{
    __shared__ norm_affine<V> f;
    const norm_place p = norm_place_of<V>(c);
    float sum[V] = {}, dot[V] = {}, mix[V] = {}, none[V] = {};
    norm_affine_load<V>(arrays, c, f);
    if (p.in) {
        for (size_t row = p.row; row < n; row += BACK_ROWS * p.step) {
            back_rows<T, V> rows;
#pragma unroll
            for (int i = 0; i < BACK_ROWS; i++) {
                const size_t r = row + (size_t)i * p.step, at = r * (size_t)c + (size_t)p.at;
                if (r < n) {
                    rows.x[i] = act_load<T, V>(x + at);
                    rows.dy[i] = act_load<T, V>(dy + at);
                    if (GATE == GATE_Y || gate_swapped(GATE))
                        rows.y[i] = act_load<T, V>(y + at);
                }
            }
#pragma unroll
            for (int i = 0; i < BACK_ROWS; i++) {
                const size_t r = row + (size_t)i * p.step, at = r * (size_t)c + (size_t)p.at;
                float vx[V], vy[V], g[V];
                if (r >= n)
                    break;
                act_open<T, V>(rows.x[i], vx);
                act_open<T, V>(rows.dy[i], g);
                if (GATE == GATE_Y || gate_swapped(GATE))
                    act_open<T, V>(rows.y[i], vy);
                if (gate_swapped(GATE))
                    gate_mix<T, V, GATE>(vx, vy, f, g, mix);
                else
                    gate<T, V, GATE>(vx, vy, f, g);
                if (GATE == GATE_Y)
                    act_store<T, V>(dy + at, g);
                if (gate_swapped(GATE))
                    store_outer<T, V>(f, g, dy + at);
#pragma unroll
                for (int j = 0; j < V; j++) {
                    sum[j] += g[j];
                    dot[j] += g[j] * (vx[j] - norm_get<V>(f.mean, j));
                }
            }
        }
    }
    fold_lines<V>(p, c, sum, dot, partial);
    if (gate_swapped(GATE)) {
        __syncthreads();
        fold_lines<V>(p, c, mix, none, mixes);
    }
}

/* Gradients are without the loss scale. */
static __global__ void __launch_bounds__(CU_THREADS)
    k_norm_gradients(size_t n, int c, const float2 *partial, const float2 *mixes, unsigned lines,
                     norm_arrays f, const float *scale, void *dgamma, void *dbeta, float *level,
                     float *slope)
{
    const int i = (int)(blockIdx.x * NORM_FOLD + threadIdx.x);
    const double2 sum = norm_fold(partial, lines, c, i, false, n, 1);
    double mix = 0;
    if (f.swapped) {
        __syncthreads();
        mix = norm_fold(mixes, lines, c, i, false, n, 1).x;
    }
    if (threadIdx.y > 0 || i >= c)
        return;
    const double inv = (double)f.inv_std[i], k = scale ? (double)*scale : 1;
    const double outer = f.swapped ? (double)element_get(f.gamma, f.par, (size_t)i) : 1,
                 factor = (double)f.factor;
    element_put(dbeta, f.par, (size_t)i, (float)((f.swapped ? sum.x : sum.x * factor) / k));
    element_put(dgamma, f.par, (size_t)i, (float)((f.swapped ? mix : sum.y * inv * factor) / k));
    level[i] = (float)(sum.x * outer / (double)n);
    slope[i] = (float)(sum.y * inv * inv * outer / (double)n);
}

/* dx = scale * (gated dy - level - (x - mean) * slope), last row first. dx may be dy. */
template <typename T, int V, enum norm_gate GATE>
static __global__ void __launch_bounds__(CU_THREADS, 3)
    k_norm_dx(size_t n, int c, norm_arrays arrays, const float *level, const float *slope,
              const T *x, const T *dy, T *dx)
{
    __shared__ norm_affine<V> f;
    __shared__ norm_values<V> low, tilt;
    const norm_place p = norm_place_of<V>(c);
    norm_values_load<V>(level, c, low);
    norm_values_load<V>(slope, c, tilt);
    norm_affine_load<V>(arrays, c, f);
    if (!p.in)
        return;
    for (size_t row = p.row; row < n; row += BACK_ROWS * p.step) {
        back_rows<T, V> rows;
#pragma unroll
        for (int i = 0; i < BACK_ROWS; i++) {
            const size_t r = row + (size_t)i * p.step, at = (n - 1 - r) * (size_t)c + (size_t)p.at;
            if (r < n) {
                rows.x[i] = act_load<T, V>(x + at);
                rows.dy[i] = act_load<T, V>(dy + at);
            }
        }
#pragma unroll
        for (int i = 0; i < BACK_ROWS; i++) {
            const size_t r = row + (size_t)i * p.step, at = (n - 1 - r) * (size_t)c + (size_t)p.at;
            float vx[V], g[V];
            if (r >= n)
                break;
            act_open<T, V>(rows.x[i], vx);
            act_open<T, V>(rows.dy[i], g);
            gate<T, V, GATE>(vx, NULL, f, g);
#pragma unroll
            for (int j = 0; j < V; j++) {
                const float down =
                    __fmul_rn(__fsub_rn(vx[j], norm_get<V>(f.mean, j)), norm_get<V>(tilt, j));
                g[j] = __fmul_rn(norm_get<V>(f.scale, j),
                                 __fsub_rn(__fsub_rn(g[j], norm_get<V>(low, j)), down));
            }
            act_store<T, V>(dx + at, g);
        }
    }
}

struct back {
    struct dev_nn *d;
    const struct nn_batch_norm *f;
    size_t n;
    void *dgamma, *dbeta;
    void *scratch;
};

template <typename T, int V, enum norm_gate FIRST, enum norm_gate SECOND>
static int back_gated(const struct back *b, const T *x, const T *y, T *dy, T *dx)
{
    const struct nn_batch_norm *f = b->f;
    const cudaStream_t s = cu_stream(b->d->s);
    const norm_arrays arrays = norm_arrays_of(b->d, f, false);
    const struct norm_grid g = norm_grid(b->n, f->c, V, NORM_BLOCKS),
                           wide = norm_grid(b->n, f->c, V, 2 * NORM_BLOCKS);
    const dim3 fold_grid((unsigned)(f->c + NORM_FOLD - 1) / NORM_FOLD),
        fold_block(NORM_FOLD, CU_THREADS / NORM_FOLD);
    float2 *partial = (float2 *)b->scratch;
    float2 *mixes = partial + norm_partials(f->c);
    float *level = (float *)(mixes + norm_partials(f->c)), *slope = level + f->c;
    k_norm_sums<T, V, FIRST>
        <<<g.grid, g.block, 0, s>>>(b->n, f->c, arrays, x, y, dy, partial, mixes);
    k_norm_gradients<<<fold_grid, fold_block, 0, s>>>(b->n, f->c, partial, mixes, g.grid.y, arrays,
                                                      b->d->scale, b->dgamma, b->dbeta, level,
                                                      slope);
    k_norm_dx<T, V, SECOND>
        <<<wide.grid, wide.block, 0, s>>>(b->n, f->c, arrays, level, slope, x, dy, dx);
    return cu_check("batch norm backward");
}

template <typename T, int V>
static int back_wide(const struct back *b, const T *x, const T *y, T *dy, T *dx)
{
    if (b->f->swapped && b->f->relu)
        return back_gated<T, V, GATE_SWAPPED, GATE_NONE>(b, x, y, dy, dx);
    if (b->f->swapped)
        return back_gated<T, V, GATE_SWAPPED_ALL, GATE_NONE>(b, x, y, dy, dx);
    if (!b->f->relu)
        return back_gated<T, V, GATE_NONE, GATE_NONE>(b, x, y, dy, dx);
    if (b->f->addend)
        return back_gated<T, V, GATE_Y, GATE_NONE>(b, x, y, dy, dx);
    return back_gated<T, V, GATE_X, GATE_X>(b, x, y, dy, dx);
}

template <typename T>
static int back_typed(const struct back *b, const void *x, const void *y, void *dy, void *dx)
{
    if (act_wide<T>((size_t)b->f->c, x, y, dy, dx))
        return back_wide<T, ACT_LANES(T)>(b, (const T *)x, (const T *)y, (T *)dy, (T *)dx);
    return back_wide<T, 1>(b, (const T *)x, (const T *)y, (T *)dy, (T *)dx);
}

int nn_batch_norm_backward(struct dev_nn *d, const struct nn_batch_norm *f, size_t n, const void *x,
                           const void *addend, const void *y, void *dy, void *dx, void *dgamma,
                           void *dbeta, void *scratch)
{
    if (n == 0)
        return 0;
    const struct back b = {d, f, n, dgamma, dbeta, scratch};
    return NN_BY_TYPE(d, back_typed, &b, x, f->swapped ? addend : y, dy, dx);
}
