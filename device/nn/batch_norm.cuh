/* batch_norm.cuh : distributes batch norm's values x[n][c] over threads and adds sums of blocks.
 *
 *            <- tx threads, V channels each ->
 *     ty rows  [ block (i, s) ]
 *
 * Line s of blocks has row groups s, s + lines, s + 2 lines, ... of ty rows each. Each block
 * stores two numbers per channel, a partial, in scratch; a small kernel adds all lines' partials
 * in a fixed order, in double. The distribution depends only on n and c, so results are the same
 * on every GPU. */
#ifndef BATCH_NORM_CUH
#define BATCH_NORM_CUH
#include "device/nn/act.cuh"
#include "device/vec/element.cuh"
#include "device/nn/nn.cuh"

/* BLOCKS: most blocks of a pass. ACROSS: largest tx. ROWS: rows a thread loads at once. */
enum { NORM_BLOCKS = 1024, NORM_ACROSS = 32, NORM_ROWS = 4 };
/* Channels of a block that adds partials: a sector of memory. */
enum { NORM_FOLD = 4 };

struct norm_grid {
    dim3 grid, block;
};

static inline struct norm_grid norm_grid(size_t n, int c, int v, int most_blocks)
{
    const int cols = c / v;
    int tx = 1;
    while (tx < cols && tx < NORM_ACROSS)
        tx *= 2;
    const unsigned ty = (unsigned)(CU_THREADS / tx), gx = (unsigned)((cols + tx - 1) / tx);
    const size_t want = (n + NORM_ROWS * ty - 1) / (NORM_ROWS * ty);
    const size_t most = gx < (unsigned)most_blocks ? (unsigned)most_blocks / gx : 1;
    struct norm_grid g = {dim3(gx, (unsigned)(want < most ? want : most)), dim3((unsigned)tx, ty)};
    return g;
}

struct norm_place {
    int at;
    bool in;
    size_t row, step;
};
template <int V> static __device__ inline norm_place norm_place_of(int c)
{
    norm_place p;
    p.at = (int)(blockIdx.x * blockDim.x + threadIdx.x) * V;
    p.in = p.at < c;
    p.step = (size_t)gridDim.y * blockDim.y;
    p.row = (size_t)blockIdx.y * blockDim.y + threadIdx.y;
    return p;
}

static __device__ inline double norm_rows(size_t n, unsigned lines, unsigned ty, unsigned s)
{
    const size_t step = (size_t)lines * ty, whole = n / step * ty, rest = n % step,
                 before = (size_t)s * ty;
    const size_t last = rest <= before ? 0 : rest - before < ty ? rest - before : ty;
    return (double)(whole + last);
}

/* A channel's values in shared memory, because the loaded rows need the registers. */
template <int V> struct norm_values {
    float at[V][NORM_ACROSS];
};

/* In the swapped form, gamma multiplies after the addition and is in outer. */
template <int V> struct norm_affine {
    norm_values<V> mean, scale, shift, outer;
};
struct norm_arrays {
    const void *mean; /* the batch's (float) or running mean */
    const float *inv_std;
    const void *gamma, *beta;
    float factor;
    bool swapped;
    enum vec_type mean_type, par;
};

/* Loops over the channels that this thread loads: i is the (i % V)-th of thread i / V across. */
#define NORM_LOADS(V, i, c)                                                                 \
    for (int i = (int)(threadIdx.y * blockDim.x + threadIdx.x), end_ = norm_channels<V>(c); \
         i < end_; i += CU_THREADS)

template <int V> static __device__ inline int norm_channels(int c)
{
    const int first = (int)(blockIdx.x * blockDim.x) * V, wide = (int)blockDim.x * V;
    return c - first < wide ? c - first : wide;
}

/* The whole block calls it. It ends with a barrier. */
template <int V>
static __device__ inline void norm_affine_load(const norm_arrays &p, int c, norm_affine<V> &f)
{
    const int first = (int)(blockIdx.x * blockDim.x) * V;
    NORM_LOADS(V, i, c)
    {
        const size_t at = (size_t)(first + i);
        const float gamma = element_get(p.gamma, p.par, at);
        f.mean.at[i % V][i / V] = element_get(p.mean, p.mean_type, at);
        f.outer.at[i % V][i / V] = gamma;
        f.scale.at[i % V][i / V] =
            __fmul_rn(__fmul_rn(p.swapped ? 1 : gamma, p.inv_std[at]), p.factor);
        f.shift.at[i % V][i / V] =
            __fmul_rn(element_get(p.beta, p.par, at), p.swapped ? 1 : p.factor);
    }
    __syncthreads();
}

/* The caller synchronises the block before it reads v. */
template <int V>
static __device__ inline void norm_values_load(const float *x, int c, norm_values<V> &v)
{
    const int first = (int)(blockIdx.x * blockDim.x) * V;
    NORM_LOADS(V, i, c) v.at[i % V][i / V] = x[first + i];
}

template <int V> static __device__ inline float norm_get(const norm_values<V> &v, int j)
{
    return v.at[j][threadIdx.x];
}

static inline norm_arrays norm_arrays_of(const struct dev_nn *d, const struct nn_batch_norm *f,
                                         bool eval)
{
    const norm_arrays p = {
        eval ? f->run_mean : f->mean, f->inv_std, f->gamma, f->beta, f->factor, f->swapped,
        eval ? nn_par(d) : VEC_FLOAT, nn_par(d)};
    return p;
}

/* Rounds as the CPU does. d: x - mean. */
static __device__ inline float norm_value(float d, float scale, float shift)
{
    return __fadd_rn(__fmul_rn(d, scale), shift);
}

static __device__ inline float norm_swapped(float d, float scale, float addend, float outer,
                                            float shift)
{
    return norm_value(__fadd_rn(addend, __fmul_rn(d, scale)), outer, shift);
}

/* weighted: sum rows * a and b + rows * a^2 of the partials (a, b). A block of (NORM_FOLD,
 * CU_THREADS / NORM_FOLD) calls it; the sums are returned where threadIdx.y == 0. */
static __device__ inline double2 norm_fold(const float2 *partial, unsigned lines, int c,
                                           int channel, bool weighted, size_t n, unsigned ty)
{
    __shared__ double sa[CU_THREADS], sb[CU_THREADS];
    const unsigned tid = threadIdx.y * NORM_FOLD + threadIdx.x;
    double a = 0, b = 0;
    for (unsigned s = threadIdx.y; channel < c && s < lines; s += CU_THREADS / NORM_FOLD) {
        const float2 p = partial[(size_t)s * (size_t)c + (size_t)channel];
        const double rows = weighted ? norm_rows(n, lines, ty, s) : 1;
        a += rows * (double)p.x;
        b += weighted ? (double)p.y + rows * (double)p.x * (double)p.x : (double)p.y;
    }
    sa[tid] = a;
    sb[tid] = b;
    for (unsigned half = CU_THREADS / 2; half >= NORM_FOLD; half /= 2) {
        __syncthreads();
        if (tid < half) {
            sa[tid] += sa[tid + half];
            sb[tid] += sb[tid + half];
        }
    }
    return make_double2(sa[tid], sb[tid]);
}

/* Scratch: the partials of all lines, those of a swapped norm's third sum, then two floats per
 * channel for the second pass. */

/* Enough for any n. */
static inline size_t norm_partials(int c)
{
    const size_t wide = NORM_ACROSS * 8, width = (size_t)c < wide ? (size_t)c : wide;
    return width * NORM_BLOCKS > (size_t)c ? width * NORM_BLOCKS : (size_t)c;
}

#endif
