/* rows.cu : adds a bias to tensors of n rows of c channels, computes its gradient, and removes the
 * loss scale from weight gradients.
 *
 * A sum over rows has up to SUM_BLOCKS runs, whose length depends only on n, added in a fixed
 * order: bits do not depend on the chip. */
#include "device/nn/act.cuh"
#include "device/nn/conv.cuh"
#include "device/vec/element.cuh"

/* SUM_ROWS: fewest rows of a run. */
enum { SUM_LANES = 32, SUM_DEEP = 8, SUM_BLOCKS = 128, SUM_ROWS = 256 };

template <class T>
static __global__ void k_rows_add_bias(size_t n, int c, const void *bias, enum vec_type par, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i < n)
        y[i] = act<T>::of(act_float(y[i]) + element_get(bias, par, i % (size_t)c));
}

template <class T>
static int add_bias(struct dev_nn *d, size_t n_rows, int c, const void *bias, void *y)
{
    const size_t n = n_rows * (size_t)c;
    if (n == 0)
        return 0;
    k_rows_add_bias<T>
        <<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, c, bias, nn_par(d), (T *)y);
    return cu_check("bias");
}

int rows_add_bias(struct dev_nn *d, size_t n_rows, int c, const void *bias, void *y)
{
    return NN_BY_TYPE(d, add_bias, d, n_rows, c, bias, y);
}

/* A block sums SUM_LANES channels over run blockIdx.y; SUM_DEEP threads share each channel. */
template <class T>
static __global__ void k_rows_sum(size_t n_rows, size_t run, int c, const T *y, const float *scale,
                                  enum vec_type par, void *sums)
{
    __shared__ float part[SUM_DEEP][SUM_LANES];
    const int lane = (int)threadIdx.x % SUM_LANES, deep = (int)threadIdx.x / SUM_LANES;
    const int channel = (int)blockIdx.x * SUM_LANES + lane;
    const size_t first = (size_t)blockIdx.y * run,
                 end = first + run < n_rows ? first + run : n_rows;
    float sum = 0;
    if (channel < c)
        for (size_t i = first + (size_t)deep; i < end; i += SUM_DEEP)
            sum += act_float(y[i * (size_t)c + (size_t)channel]);
    part[deep][lane] = sum;
    __syncthreads();
    if (deep == 0 && channel < c) {
        for (int i = 1; i < SUM_DEEP; i++)
            sum += part[i][lane];
        element_put(sums, par, (size_t)blockIdx.y * (size_t)c + (size_t)channel,
                    scale ? sum / *scale : sum);
    }
}

template <class T>
static int sum_rows(struct dev_nn *d, size_t n_rows, int c, const void *y, void *sum,
                    float *partial)
{
    const unsigned wide_blocks = (unsigned)((c + SUM_LANES - 1) / SUM_LANES);
    size_t blocks = partial ? (n_rows + SUM_ROWS - 1) / SUM_ROWS : 1;
    blocks = blocks < 1 ? 1 : blocks > SUM_BLOCKS ? SUM_BLOCKS : blocks;
    const size_t run = (n_rows + blocks - 1) / blocks;
    const dim3 grid(wide_blocks, (unsigned)blocks), last(wide_blocks, 1);
    const bool two = blocks > 1;
    const enum vec_type par = nn_par(d);
    cudaStream_t s = cu_stream(d->s);
    k_rows_sum<T><<<grid, SUM_LANES * SUM_DEEP, 0, s>>>(n_rows, run, c, (const T *)y,
                                                        two ? NULL : d->scale,
                                                        two ? VEC_FLOAT : par, two ? partial : sum);
    if (two)
        k_rows_sum<float>
            <<<last, SUM_LANES * SUM_DEEP, 0, s>>>(blocks, blocks, c, partial, d->scale, par, sum);
    return cu_check("sum of rows");
}

size_t rows_partial_bytes(int c)
{
    return (size_t)SUM_BLOCKS * (size_t)c * sizeof(float);
}

int rows_sum(struct dev_nn *d, size_t n_rows, int c, const void *y, void *sum, float *partial)
{
    return NN_BY_TYPE(d, sum_rows, d, n_rows, c, y, sum, partial);
}

template <class T, class U>
static __global__ void k_rows_cast(size_t n, const T *x, const float *scale, U *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const float v = act_float(x[i]);
    y[i] = act<U>::of(scale ? v / *scale : v);
}

template <class T, class U>
static int cast(struct dev_nn *d, size_t n, const void *x, const float *scale, void *y,
                const char *what)
{
    if (n == 0)
        return 0;
    k_rows_cast<T, U>
        <<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, (const T *)x, scale, (U *)y);
    return cu_check(what);
}

template <class T>
static int widen(struct dev_nn *d, size_t n, const void *x, const float *scale, float *y)
{
    return cast<T, float>(d, n, x, scale, y, "cast of gradients");
}

int rows_widen(struct dev_nn *d, size_t n, const void *x, float *g)
{
    return NN_BY_TYPE(d, widen, d, n, x, d->scale, g);
}

template <class T> static int unscale(struct dev_nn *d, size_t n, void *g)
{
    return cast<T, T>(d, n, g, d->scale, g, "loss scale");
}

int rows_unscale(struct dev_nn *d, size_t n, void *g)
{
    return d->scale ? NN_BY_PAR(d, unscale, d, n, g) : 0;
}
