/* loss_scale.cu : computes and applies per-layer loss scales. They stay in device memory, so the
 * host never waits for them.
 *
 * Up to MOMENTS_BLOCKS blocks each sum a run of elements, then these sums are added in a fixed
 * order. A run's length depends only on n, so results do not depend on the chip. */
#include "device/nn/act.cuh"
#include "device/nn/nn.cuh"
#include "hls/arith/rules.h"

/* MOMENTS_RUN: fewest elements of a run. */
enum { MOMENTS_BLOCKS = 128, MOMENTS_RUN = 4096, SCALE_PER_SM = 8 };

static_assert(MOMENTS_BLOCKS * sizeof(scale_moments) <= MOMENTS_SCRATCH, "moments' scratch");

/* The results are thread 0's. */
static __device__ inline void fold_block(double *sum, float *most)
{
    __shared__ double sums[CU_THREADS];
    __shared__ float mosts[CU_THREADS];
    const unsigned tid = threadIdx.x;
    sums[tid] = *sum;
    mosts[tid] = *most;
    for (unsigned half = CU_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half) {
            sums[tid] += sums[tid + half];
            mosts[tid] = mosts[tid + half] > mosts[tid] ? mosts[tid + half] : mosts[tid];
        }
    }
    *sum = sums[tid];
    *most = mosts[tid];
}

/* Sums of squares are not divided by n yet. */
template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_moments(size_t n, size_t run, const T *x, const uint32_t *wanted, scale_moments *part)
{
    if (*wanted == 0)
        return;
    const size_t first = (size_t)blockIdx.x * run, end = first + run < n ? first + run : n;
    double sum = 0;
    float most = 0;
    for (size_t i = first + threadIdx.x; i < end; i += CU_THREADS) {
        const float v = act_float(x[i]), size = v < 0 ? -v : v;
        sum += (double)v * (double)v;
        most = size > most ? size : most;
    }
    fold_block(&sum, &most);
    if (threadIdx.x == 0)
        part[blockIdx.x] = {sum, most};
}

static __global__ void __launch_bounds__(CU_THREADS)
    k_moments_fold(size_t n, int n_parts, const scale_moments *part, const uint32_t *wanted,
                   scale_moments *to)
{
    if (*wanted == 0)
        return;
    const int i = (int)threadIdx.x;
    double sum = i < n_parts ? part[i].square : 0;
    float most = i < n_parts ? part[i].largest : 0;
    fold_block(&sum, &most);
    if (i == 0)
        *to = {n ? sum / (double)n : 0, most};
}

template <typename T>
static int moments_of(struct dev_nn *d, size_t n, const void *x, const uint32_t *wanted,
                      scale_moments *to, void *scratch)
{
    size_t blocks = (n + MOMENTS_RUN - 1) / MOMENTS_RUN;
    blocks = blocks < 1 ? 1 : blocks > MOMENTS_BLOCKS ? MOMENTS_BLOCKS : blocks;
    const size_t run = (n + blocks - 1) / blocks;
    scale_moments *part = (scale_moments *)scratch;
    k_moments<T>
        <<<(unsigned)blocks, CU_THREADS, 0, cu_stream(d->s)>>>(n, run, (const T *)x, wanted, part);
    k_moments_fold<<<1, CU_THREADS, 0, cu_stream(d->s)>>>(n, (int)blocks, part, wanted, to);
    return cu_check("moments");
}

int nn_moments(struct dev_nn *d, size_t n, const void *x, const uint32_t *wanted,
               struct scale_moments *to, void *scratch)
{
    return NN_BY_TYPE(d, moments_of, d, n, x, wanted, to, scratch);
}

int nn_weight_moments(struct dev_nn *d, size_t n, const void *w, const uint32_t *wanted,
                      struct scale_moments *to, void *scratch)
{
    return NN_BY_PAR(d, moments_of, d, n, w, wanted, to, scratch);
}

static __global__ void k_scale_layer(scale_rule rule, double terms, bool add,
                                     const uint32_t *wanted, node_scale *node, node_scale *in)
{
    scale_layer(&rule, terms, add, *wanted != 0, node, in);
}

int nn_scale_layer(struct dev_nn *d, const struct scale_rule *rule, double terms, bool add,
                   const uint32_t *wanted, struct node_scale *node, struct node_scale *in)
{
    k_scale_layer<<<1, 1, 0, cu_stream(d->s)>>>(*rule, terms, add, wanted, node, in);
    return cu_check("scale of a layer");
}

static __global__ void k_scale_hand_on(node_scale *node, node_scale *in, node_scale *addend)
{
    scale_hand_on(node, in, addend);
}

int nn_scale_hand_on(struct dev_nn *d, struct node_scale *node, struct node_scale *in,
                     struct node_scale *addend)
{
    k_scale_hand_on<<<1, 1, 0, cu_stream(d->s)>>>(node, in, addend);
    return cu_check("scale that is handed on");
}

template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_scale_by(size_t n, const float *factor, bool rounds, round_rule r, T *x)
{
    const float k = *factor;
    if (k == 1)
        return;
    for (size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x; i < n;
         i += (size_t)gridDim.x * CU_THREADS) {
        const float v = act_float(x[i]) * k;
        x[i] = act<T>::of(rounds ? act_round(r, v) : v);
    }
}

template <typename T>
static int scale_all(struct dev_nn *d, size_t n, const float *k, const struct round_rule *rule,
                     void *x)
{
    const round_rule none = {};
    if (n == 0)
        return 0;
    k_scale_by<T><<<cu_blocks_most(n, SCALE_PER_SM), CU_THREADS, 0, cu_stream(d->s)>>>(
        n, k, rule != NULL, rule ? *rule : none, (T *)x);
    return cu_check("scale of gradients");
}

int nn_scale_by(struct dev_nn *d, size_t n, const float *k, const struct round_rule *rule, void *x)
{
    return NN_BY_TYPE(d, scale_all, d, n, k, rule, x);
}

template <typename T>
static __global__ void __launch_bounds__(CU_THREADS) k_tally(size_t n, const T *x, scale_tally *to)
{
    __shared__ uint32_t bins[TALLY_BINS + 1]; /* the last counts zeros */
    for (unsigned i = threadIdx.x; i <= TALLY_BINS; i += CU_THREADS)
        bins[i] = 0;
    __syncthreads();
    for (size_t i = threadIdx.x; i < n; i += CU_THREADS) {
        const int bin = tally_bin(__float_as_uint(act_float(x[i])));
        atomicAdd(&bins[bin < 0 ? TALLY_BINS : bin], 1u);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < TALLY_BINS; i += CU_THREADS)
        to->bins[i] = bins[i];
    if (threadIdx.x == 0)
        to->zero = bins[TALLY_BINS];
}

template <typename T>
static int tally_of(struct dev_nn *d, size_t n, const void *x, scale_tally *to)
{
    k_tally<T><<<1, CU_THREADS, 0, cu_stream(d->s)>>>(n, (const T *)x, to);
    return cu_check("tally");
}

int nn_tally(struct dev_nn *d, size_t n, const void *x, struct scale_tally *to)
{
    return NN_BY_TYPE(d, tally_of, d, n, x, to);
}
