/* batch_norm_forward.cu : computes batch norm forward: mean and variance, then the output. */
#include "device/nn/nn.cuh"
#include "device/nn/batch_norm.cuh"
#include <math.h>

/* Values are relative to the channel's first, so that sums stay small. m2: sum of (x - mean)^2. */
template <int V> struct moments {
    float count, mean[V], m2[V];
};

/* Merge values with this mean and m2. weight: their share of the new count, which the caller sets.
 * Source: Chan, Golub, LeVeque 1983. */
template <int V>
static __device__ inline void moments_merge(moments<V> &m, int j, float weight, float mean,
                                            float m2)
{
    const float d = mean - m.mean[j];
    m.mean[j] += d * weight;
    m.m2[j] += m2 + d * d * m.count * weight;
}

template <typename T, int V>
static __device__ inline void moments_of_rows(moments<V> &m, const float *base, const T *x,
                                              size_t pitch)
{
    act_pack<T, V> rows[NORM_ROWS];
    float v[NORM_ROWS][V];
#pragma unroll
    for (int i = 0; i < NORM_ROWS; i++)
        rows[i] = act_load<T, V>(x + (size_t)i * pitch);
#pragma unroll
    for (int i = 0; i < NORM_ROWS; i++)
        act_open<T, V>(rows[i], v[i]);
    const float weight = NORM_ROWS / (m.count + NORM_ROWS);
#pragma unroll
    for (int j = 0; j < V; j++) {
        const float a = v[0][j] - base[j], b = v[1][j] - base[j], c = v[2][j] - base[j],
                    d = v[3][j] - base[j];
        const float mean = ((a + b) + (c + d)) * (1.0f / NORM_ROWS);
        const float m2 = ((a - mean) * (a - mean) + (b - mean) * (b - mean)) +
                         ((c - mean) * (c - mean) + (d - mean) * (d - mean));
        moments_merge<V>(m, j, weight, mean, m2);
    }
    m.count += NORM_ROWS;
}

template <typename T, int V>
static __device__ inline void moments_of_row(moments<V> &m, const float *base, const T *x)
{
    float v[V];
    act_read<T, V>(x, v);
    const float weight = 1 / (m.count + 1);
#pragma unroll
    for (int j = 0; j < V; j++)
        moments_merge<V>(m, j, weight, v[j] - base[j], 0);
    m.count += 1;
}

/* The whole block calls it; threads with threadIdx.y == 0 get the result. */
template <int V> static __device__ inline void moments_of_block(moments<V> &m)
{
    __shared__ float count[CU_THREADS / 2], mean[V][CU_THREADS / 2], m2[V][CU_THREADS / 2];
    const unsigned tx = blockDim.x, tid = threadIdx.y * tx + threadIdx.x;
    for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
        if (threadIdx.y >= half && threadIdx.y < 2 * half) {
            const unsigned to = tid - half * tx;
            count[to] = m.count;
#pragma unroll
            for (int j = 0; j < V; j++) {
                mean[j][to] = m.mean[j];
                m2[j][to] = m.m2[j];
            }
        }
        __syncthreads();
        if (threadIdx.y < half && count[tid] > 0) {
            const float weight = count[tid] / (m.count + count[tid]);
#pragma unroll
            for (int j = 0; j < V; j++)
                moments_merge<V>(m, j, weight, mean[j][tid], m2[j][tid]);
            m.count += count[tid];
        }
        __syncthreads();
    }
}

/* Makes mean - x[0] and m2 per line of blocks. */
template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS, 3)
    k_norm_moments(size_t n, int c, const T *x, float2 *partial)
{
    const norm_place p = norm_place_of<V>(c);
    const size_t pitch = p.step * (size_t)c;
    moments<V> m = {};
    if (p.in) {
        float base[V];
        act_read<T, V>(x + p.at, base);
        size_t row = p.row;
        for (; row < n && n - row > (NORM_ROWS - 1) * p.step; row += NORM_ROWS * p.step)
            moments_of_rows<T, V>(m, base, x + row * (size_t)c + p.at, pitch);
        for (; row < n; row += p.step)
            moments_of_row<T, V>(m, base, x + row * (size_t)c + p.at);
    }
    moments_of_block<V>(m);
    if (p.in && threadIdx.y == 0)
#pragma unroll
        for (int j = 0; j < V; j++)
            partial[(size_t)blockIdx.y * (size_t)c + (size_t)(p.at + j)] =
                make_float2(m.mean[j], m.m2[j]);
}

struct statistics {
    double momentum, eps;
    void *run_mean, *run_var;
    float *mean, *inv_std;
    enum vec_type par; /* of run_mean and run_var */
};

static __device__ inline void run_on(void *run, const statistics &f, int i, double now)
{
    const float was = element_get(run, f.par, (size_t)i);
    element_put(run, f.par, (size_t)i, was + (float)(f.momentum * (now - (double)was)));
}

template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_norm_statistics(size_t n, int c, const T *x, const float2 *partial, unsigned lines,
                      unsigned ty, statistics f)
{
    const int i = (int)(blockIdx.x * NORM_FOLD + threadIdx.x);
    const double2 sum = norm_fold(partial, lines, c, i, true, n, ty);
    if (threadIdx.y > 0 || i >= c)
        return;
    const double count = (double)n, off = sum.x / count, mean = (double)act_float(x[i]) + off;
    const double m2 = sum.y - sum.x * off, var = m2 > 0 ? m2 / count : 0,
                 unbiased = n > 1 ? count / (count - 1) : 1;
    f.mean[i] = (float)mean;
    f.inv_std[i] = (float)(1 / sqrt(var + f.eps));
    run_on(f.run_mean, f, i, mean);
    run_on(f.run_var, f, i, var * unbiased);
}

static __global__ void k_norm_inv_std(int c, const void *var, enum vec_type par, double eps,
                                      float *inv_std)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < c)
        inv_std[i] = (float)(1 / sqrt((double)element_get(var, par, (size_t)i) + eps));
}

/* ADDS: gamma multiplies before the addend is added; SWAPPED: after it. */
enum norm_form { FORM_ALONE, FORM_ADDS, FORM_SWAPPED };

/* y = (x - mean) * scale + shift + addend, or in the swapped form (addend + (x - mean) * scale) *
 * outer + shift, then ReLU. Last row first, as the end of x is still cached. */
template <typename T, int V, enum norm_form FORM>
static __global__ void __launch_bounds__(CU_THREADS, FORM == FORM_ALONE  ? 4
                                                     : FORM == FORM_ADDS ? 3
                                                                         : 2)
    k_norm_apply(size_t n, int c, norm_arrays arrays, float floor, const T *x, const T *addend,
                 T *y)
{
    __shared__ norm_affine<V> f;
    const norm_place p = norm_place_of<V>(c);
    norm_affine_load<V>(arrays, c, f);
    if (!p.in)
        return;
    for (size_t row = p.row; row < n; row += NORM_ROWS * p.step) {
        act_pack<T, V> px[NORM_ROWS], pa[NORM_ROWS];
#pragma unroll
        for (int i = 0; i < NORM_ROWS; i++) {
            const size_t r = row + (size_t)i * p.step, at = (n - 1 - r) * (size_t)c + (size_t)p.at;
            if (r < n) {
                px[i] = act_load<T, V>(x + at);
                if (FORM != FORM_ALONE)
                    pa[i] = act_load<T, V>(addend + at);
            }
        }
#pragma unroll
        for (int i = 0; i < NORM_ROWS; i++) {
            const size_t r = row + (size_t)i * p.step, at = (n - 1 - r) * (size_t)c + (size_t)p.at;
            float v[V], a[V];
            if (r >= n)
                break;
            act_open<T, V>(px[i], v);
            if (FORM != FORM_ALONE)
                act_open<T, V>(pa[i], a);
#pragma unroll
            for (int j = 0; j < V; j++) {
                const float d = __fsub_rn(v[j], norm_get<V>(f.mean, j));
                v[j] = FORM == FORM_SWAPPED
                           ? norm_swapped(d, norm_get<V>(f.scale, j), a[j], norm_get<V>(f.outer, j),
                                          norm_get<V>(f.shift, j))
                           : norm_value(d, norm_get<V>(f.scale, j), norm_get<V>(f.shift, j));
                if (FORM == FORM_ADDS)
                    v[j] = __fadd_rn(v[j], a[j]);
                v[j] = v[j] < floor ? floor : v[j];
            }
            act_store<T, V>(y + at, v);
        }
    }
}

template <typename T, int V>
static int apply_wide(struct dev_nn *d, const struct nn_batch_norm *f, bool eval, size_t n,
                      const T *x, const T *addend, T *y)
{
    const struct norm_grid g = norm_grid(n, f->c, V, 2 * NORM_BLOCKS);
    const norm_arrays p = norm_arrays_of(d, f, eval);
    const float floor = f->relu ? 0 : -INFINITY;
    if (f->swapped)
        k_norm_apply<T, V, FORM_SWAPPED>
            <<<g.grid, g.block, 0, cu_stream(d->s)>>>(n, f->c, p, floor, x, addend, y);
    else if (f->addend)
        k_norm_apply<T, V, FORM_ADDS>
            <<<g.grid, g.block, 0, cu_stream(d->s)>>>(n, f->c, p, floor, x, addend, y);
    else
        k_norm_apply<T, V, FORM_ALONE>
            <<<g.grid, g.block, 0, cu_stream(d->s)>>>(n, f->c, p, floor, x, addend, y);
    return cu_check("batch norm");
}

template <typename T>
static int apply(struct dev_nn *d, const struct nn_batch_norm *f, bool eval, size_t n,
                 const void *x, const void *addend, void *y)
{
    if (act_wide<T>((size_t)f->c, x, f->addend ? addend : NULL, y))
        return apply_wide<T, ACT_LANES(T)>(d, f, eval, n, (const T *)x, (const T *)addend, (T *)y);
    return apply_wide<T, 1>(d, f, eval, n, (const T *)x, (const T *)addend, (T *)y);
}

template <typename T, int V>
static int train_wide(struct dev_nn *d, const struct nn_batch_norm *f, size_t n, const T *x,
                      float2 *partial)
{
    const struct norm_grid g = norm_grid(n, f->c, V, NORM_BLOCKS);
    const statistics out = {(float)f->momentum, (float)f->eps, f->run_mean, f->run_var, f->mean,
                            f->inv_std,         nn_par(d)};
    const dim3 fold_grid((unsigned)(f->c + NORM_FOLD - 1) / NORM_FOLD),
        fold_block(NORM_FOLD, CU_THREADS / NORM_FOLD);
    k_norm_moments<T, V><<<g.grid, g.block, 0, cu_stream(d->s)>>>(n, f->c, x, partial);
    k_norm_statistics<T><<<fold_grid, fold_block, 0, cu_stream(d->s)>>>(n, f->c, x, partial,
                                                                        g.grid.y, g.block.y, out);
    return cu_check("statistics of batch norm");
}

template <typename T>
static int train(struct dev_nn *d, const struct nn_batch_norm *f, size_t n, const void *x,
                 const void *addend, void *y, void *scratch)
{
    const int rc = act_wide<T>((size_t)f->c, x)
                       ? train_wide<T, ACT_LANES(T)>(d, f, n, (const T *)x, (float2 *)scratch)
                       : train_wide<T, 1>(d, f, n, (const T *)x, (float2 *)scratch);
    return rc < 0 ? rc : apply<T>(d, f, false, n, x, addend, y);
}

int nn_batch_norm_plan(struct dev_nn *d, int c, size_t *scratch_bytes)
{
    (void)d;
    *scratch_bytes = 2 * norm_partials(c) * sizeof(float2) + (size_t)c * 2 * sizeof(float);
    return 0;
}

int nn_batch_norm_forward(struct dev_nn *d, const struct nn_batch_norm *f, size_t n, const void *x,
                          const void *addend, void *y, void *scratch)
{
    if (n == 0)
        return 0;
    return NN_BY_TYPE(d, train, d, f, n, x, addend, y, scratch);
}

int nn_batch_norm_eval(struct dev_nn *d, const struct nn_batch_norm *f, size_t n, const void *x,
                       const void *addend, void *y, void *scratch)
{
    (void)scratch;
    if (n == 0)
        return 0;
    k_norm_inv_std<<<cu_blocks((size_t)f->c), CU_THREADS, 0, cu_stream(d->s)>>>(
        f->c, f->run_var, nn_par(d), (float)f->eps, f->inv_std);
    return NN_BY_TYPE(d, apply, d, f, true, n, x, addend, y);
}
