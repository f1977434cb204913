/* layer_norm.cu : computes layer norm, with the bits of host/nn/layers/layer_layer_norm.c. A warp
 * computes a row, with the lanes of hls/nn/layer.h. A thread sums a channel's dgamma and dbeta
 * over a run of rows, then one adds all runs. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"
#include "device/vec/element.cuh"

enum { ROWS = CU_THREADS / ROW_LANES };

struct layer_norm {
    size_t n;
    int c;
    float eps;
    const void *gamma, *beta;
    enum vec_type par;
};
struct layer_norm_row {
    float mean, inv_std;
};

static __device__ inline float row_mean(float lane, int c)
{
    return __fdiv_rn(act_row_sum(lane), (float)c);
}

template <typename T>
static __device__ inline layer_norm_row row_of(const layer_norm &f, const T *x, int lane)
{
    layer_norm_row r;
    float sum = 0, squares = 0;
    for (int i = lane; i < f.c; i += ROW_LANES)
        sum = __fadd_rn(sum, act_float(x[i]));
    r.mean = row_mean(sum, f.c);
    for (int i = lane; i < f.c; i += ROW_LANES) {
        const float v = __fsub_rn(act_float(x[i]), r.mean);
        squares = __fadd_rn(squares, __fmul_rn(v, v));
    }
    r.inv_std = __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(row_mean(squares, f.c), f.eps)));
    return r;
}

static __device__ inline float centered(float x, const layer_norm_row &r)
{
    return __fmul_rn(__fsub_rn(x, r.mean), r.inv_std);
}

template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_layer_norm(struct layer_norm f, const T *x, T *y)
{
    const size_t row = (size_t)blockIdx.x * ROWS + threadIdx.x / ROW_LANES;
    const int lane = (int)threadIdx.x % ROW_LANES;
    if (row >= f.n)
        return;
    x += row * (size_t)f.c, y += row * (size_t)f.c;
    const layer_norm_row r = row_of(f, x, lane);
    for (int i = lane; i < f.c; i += ROW_LANES) {
        const float gamma = element_get(f.gamma, f.par, (size_t)i),
                    beta = element_get(f.beta, f.par, (size_t)i);
        y[i] = act<T>::of(__fadd_rn(__fmul_rn(centered(act_float(x[i]), r), gamma), beta));
    }
}

/* rows[n]: statistics, written here. dx may be NULL. */
template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_layer_norm_back(struct layer_norm f, const T *x, const T *dy, T *dx, bool add,
                      layer_norm_row *rows)
{
    const size_t row = (size_t)blockIdx.x * ROWS + threadIdx.x / ROW_LANES;
    const int lane = (int)threadIdx.x % ROW_LANES;
    if (row >= f.n)
        return;
    x += row * (size_t)f.c, dy += row * (size_t)f.c;
    const layer_norm_row r = row_of(f, x, lane);
    if (lane == 0)
        rows[row] = r;
    if (!dx)
        return;
    dx += row * (size_t)f.c;
    float level = 0, slope = 0;
    for (int i = lane; i < f.c; i += ROW_LANES) {
        const float g = __fmul_rn(act_float(dy[i]), element_get(f.gamma, f.par, (size_t)i));
        level = __fadd_rn(level, g);
        slope = __fadd_rn(slope, __fmul_rn(g, centered(act_float(x[i]), r)));
    }
    level = row_mean(level, f.c), slope = row_mean(slope, f.c);
    for (int i = lane; i < f.c; i += ROW_LANES) {
        const float g = __fmul_rn(act_float(dy[i]), element_get(f.gamma, f.par, (size_t)i)),
                    v = centered(act_float(x[i]), r);
        const float d = __fmul_rn(r.inv_std, __fsub_rn(__fsub_rn(g, level), __fmul_rn(v, slope)));
        dx[i] = act<T>::of(add ? __fadd_rn(act_float(dx[i]), d) : d);
    }
}

/* sums[runs][2][c]: of dy * v and of dy, where v is the normalised x. */
template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_layer_norm_runs(size_t n, int c, size_t run, const T *x, const T *dy,
                      const layer_norm_row *rows, float *sums)
{
    const int i = (int)(blockIdx.x * CU_THREADS + threadIdx.x);
    if (i >= c)
        return;
    const size_t first = (size_t)blockIdx.y * run, end = first + run < n ? first + run : n;
    float dgamma = 0, dbeta = 0;
    for (size_t row = first; row < end; row++) {
        const size_t at = row * (size_t)c + (size_t)i;
        const float d = act_float(dy[at]);
        dgamma = __fadd_rn(dgamma, __fmul_rn(d, centered(act_float(x[at]), rows[row])));
        dbeta = __fadd_rn(dbeta, d);
    }
    sums += (size_t)blockIdx.y * 2 * (size_t)c;
    sums[i] = dgamma, sums[c + i] = dbeta;
}

static __global__ void __launch_bounds__(CU_THREADS)
    k_layer_norm_fold(int runs, int c, const float *sums, const float *scale, enum vec_type par,
                      void *dgamma, void *dbeta)
{
    const int i = (int)(blockIdx.x * CU_THREADS + threadIdx.x);
    if (i >= 2 * c)
        return;
    double all = 0;
    for (int run = 0; run < runs; run++)
        all += (double)sums[(size_t)run * 2 * (size_t)c + (size_t)i];
    const float sum = (float)all;
    element_put(i < c ? dgamma : dbeta, par, (size_t)(i < c ? i : i - c),
                scale ? sum / *scale : sum);
}

int nn_layer_norm_plan(struct dev_nn *d, size_t max_n, int c, size_t *scratch_bytes)
{
    (void)d;
    *scratch_bytes =
        max_n * sizeof(layer_norm_row) + (size_t)LAYER_NORM_RUNS * 2 * (size_t)c * sizeof(float);
    return 0;
}

template <typename T>
static int forward(struct dev_nn *d, const struct layer_norm &f, const void *x, void *y)
{
    const unsigned blocks = (unsigned)((f.n + ROWS - 1) / ROWS);
    k_layer_norm<T><<<blocks, CU_THREADS, 0, cu_stream(d->s)>>>(f, (const T *)x, (T *)y);
    return cu_check("layer norm");
}

int nn_layer_norm_forward(struct dev_nn *d, size_t n, int c, double eps, const void *x,
                          const void *gamma, const void *beta, void *y)
{
    const struct layer_norm f = {n, c, (float)eps, gamma, beta, nn_par(d)};
    return n == 0 ? 0 : NN_BY_TYPE(d, forward, d, f, x, y);
}

template <typename T>
static int backward(struct dev_nn *d, const struct layer_norm &f, const void *x, const void *dy,
                    void *dx, bool add, void *dgamma, void *dbeta, void *scratch)
{
    const unsigned blocks = (unsigned)((f.n + ROWS - 1) / ROWS);
    const size_t run = layer_norm_run(f.n), runs = (f.n + run - 1) / run;
    const dim3 grid(cu_blocks((size_t)f.c), (unsigned)runs);
    const cudaStream_t s = cu_stream(d->s);
    float *sums = (float *)scratch;
    layer_norm_row *rows = (layer_norm_row *)(sums + (size_t)LAYER_NORM_RUNS * 2 * (size_t)f.c);
    k_layer_norm_back<T>
        <<<blocks, CU_THREADS, 0, s>>>(f, (const T *)x, (const T *)dy, (T *)dx, add, rows);
    k_layer_norm_runs<T>
        <<<grid, CU_THREADS, 0, s>>>(f.n, f.c, run, (const T *)x, (const T *)dy, rows, sums);
    k_layer_norm_fold<<<cu_blocks(2 * (size_t)f.c), CU_THREADS, 0, s>>>(
        (int)runs, f.c, sums, d->scale, f.par, dgamma, dbeta);
    return cu_check("layer norm backward");
}

int nn_layer_norm_backward(struct dev_nn *d, size_t n, int c, double eps, const void *x,
                           const void *gamma, const void *dy, void *dx, bool add, void *dgamma,
                           void *dbeta, void *scratch)
{
    const struct layer_norm f = {n, c, (float)eps, gamma, NULL, nn_par(d)};
    return n == 0 ? 0 : NN_BY_TYPE(d, backward, d, f, x, dy, dx, add, dgamma, dbeta, scratch);
}
