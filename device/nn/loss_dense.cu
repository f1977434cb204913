/* loss_dense.cu : computes softmax cross-entropy of rows with one label each, in three launches:
 *
 *     rows        each block sums its share of the rows    -> parts, counts
 *     sum         one block                                -> result, confusion
 *     gradient                                             -> dlogits
 *
 * The loss is a mean over the rows with a valid label, so the gradient needs their number first.
 * The order of additions depends only on the number of rows. */
#include "device/nn/softmax.cuh"

enum { DENSE_THREADS = 256, DENSE_BLOCKS = 512 };

struct dense_part {
    double loss;
    int labels, hits, tops;
};

/* Scratch: parts[DENSE_BLOCKS], then counts[classes][classes]. */
static __host__ __device__ inline uint32_t *counts_of(void *scratch)
{
    return (uint32_t *)((dense_part *)scratch + DENSE_BLOCKS);
}

int nn_dense_plan(struct dev_nn *d, int classes, size_t *scratch_bytes)
{
    (void)d;
    *scratch_bytes = DENSE_BLOCKS * sizeof(struct dense_part) +
                     (size_t)classes * (size_t)classes * sizeof(uint32_t);
    return 0;
}

static __device__ inline void add(dense_part &to, const dense_part &other)
{
    to.loss += other.loss;
    to.labels += other.labels;
    to.hits += other.hits;
    to.tops += other.tops;
}

/* Returns the first class with the largest logit, or with a nan the first that is not the label.
 * The whole warp calls it. */
template <typename T>
static __device__ inline int taken_for(const T *z, int classes, int label, int lane, int lanes)
{
    float top = -INFINITY;
    int best = classes, bad = 0;
    for (int j = lane; j < classes; j += lanes) {
        const float v = act_float(z[j]);
        bad |= !(v == v);
        if (best == classes || v > top)
            top = v, best = j;
    }
    for (int over = lanes / 2; over > 0; over /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, top, over);
        const int at = __shfl_xor_sync(0xffffffffu, best, over);
        bad |= __shfl_xor_sync(0xffffffffu, bad, over);
        if (other > top || (other == top && at < best))
            top = other, best = at;
    }
    return bad ? label == 0 : best;
}

/* counts may be NULL. */
template <typename T>
static __global__ void __launch_bounds__(DENSE_THREADS)
    k_dense_rows(int rows, int classes, double smoothing, int lanes, const T *logits,
                 const int32_t *labels, dense_part *parts, uint32_t *counts)
{
    __shared__ dense_part shared[DENSE_THREADS];
    const int tid = (int)threadIdx.x, lane = tid % lanes, groups = DENSE_THREADS / lanes;
    dense_part mine = {0, 0, 0, 0};
    for (int first = (int)blockIdx.x * groups; first < rows; first += (int)gridDim.x * groups) {
        const int i = first + tid / lanes, label = i < rows ? labels[i] : -1;
        const bool there = label >= 0 && label < classes;
        const int n = there ? classes : 0;
        const T *z = logits + (size_t)(there ? i : 0) * (size_t)classes;
        const int place = n_before(z, n, there ? label : 0, lane, lanes);
        const int taken = counts ? taken_for(z, n, label, lane, lanes) : 0;
        const row r = row_of(z, n, lane, lanes);
        const double loss = row_loss(z, n, there ? label : 0, r, smoothing, lane, lanes);
        if (!there || lane > 0)
            continue;
        const dense_part one = {loss, 1, place == 0, place < NN_TOP};
        add(mine, one);
        if (counts)
            atomicAdd(&counts[label * classes + taken], 1u);
    }
    shared[tid] = mine;
    for (int half = DENSE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half)
            add(shared[tid], shared[tid + half]);
    }
    if (tid == 0)
        parts[blockIdx.x] = shared[0];
}

static __global__ void __launch_bounds__(DENSE_THREADS)
    k_dense_sum(int n_parts, int classes, const dense_part *parts, const uint32_t *counts,
                uint32_t *confusion, nn_result *result)
{
    __shared__ dense_part shared[DENSE_THREADS];
    const int tid = (int)threadIdx.x;
    dense_part mine = {0, 0, 0, 0};
    for (int i = tid; i < n_parts; i += DENSE_THREADS)
        add(mine, parts[i]);
    shared[tid] = mine;
    for (int half = DENSE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half)
            add(shared[tid], shared[tid + half]);
    }
    for (int i = tid; confusion && i < classes * classes; i += DENSE_THREADS)
        confusion[i] = counts[i];
    if (tid == 0) {
        result->loss_sum = shared[0].loss;
        result->n_labels = shared[0].labels;
        result->n_correct = shared[0].hits;
        result->n_top = shared[0].tops;
    }
}

template <typename T>
static __global__ void __launch_bounds__(DENSE_THREADS)
    k_dense_gradient(int rows, int classes, double smoothing, int lanes, const T *logits,
                     const int32_t *labels, const nn_result *result, const float *scale, T *dlogits)
{
    const int groups = DENSE_THREADS / lanes, lane = (int)threadIdx.x % lanes;
    const int i = (int)blockIdx.x * groups + (int)threadIdx.x / lanes,
              label = i < rows ? labels[i] : -1, n = i < rows ? classes : 0;
    const bool there = label >= 0 && label < classes;
    const size_t at = (size_t)(i < rows ? i : 0) * (size_t)classes;
    const row r = row_of(logits + at, there ? n : 0, lane, lanes);
    const double k = scale ? (double)*scale : 1, n_labels = result->n_labels;
    for (int j = lane; j < n; j += lanes) {
        const double share = there ? (double)expf(act_float(logits[at + j]) - r.top) / r.sum : 0;
        const double want = target_share(j == label, classes, smoothing);
        dlogits[at + j] = act<T>::of(there ? (float)((share - want) / n_labels * k) : 0.0f);
    }
}

template <typename T>
static int dense_of(struct dev_nn *d, int rows, int classes, double smoothing, const void *logits,
                    const int32_t *labels, void *dlogits, uint32_t *confusion,
                    struct nn_result *result, void *scratch)
{
    const int lanes = classes <= 32 ? 4 : 32, groups = DENSE_THREADS / lanes;
    const int each = (rows + groups - 1) / groups,
              blocks = each < DENSE_BLOCKS ? each : DENSE_BLOCKS;
    const T *z = (const T *)logits;
    dense_part *parts = (dense_part *)scratch;
    uint32_t *counts = confusion ? counts_of(scratch) : NULL;
    cudaStream_t s = cu_stream(d->s);
    if (counts) {
        const size_t bytes = (size_t)classes * (size_t)classes * sizeof *counts;
        const int rc = cu_try(cudaMemsetAsync(counts, 0, bytes, s), "counts of the confusion");
        if (rc < 0)
            return rc;
    }
    k_dense_rows<T><<<(unsigned)blocks, DENSE_THREADS, 0, s>>>(rows, classes, smoothing, lanes, z,
                                                               labels, parts, counts);
    k_dense_sum<<<1, DENSE_THREADS, 0, s>>>(blocks, classes, parts, counts, confusion, result);
    if (dlogits)
        k_dense_gradient<T><<<(unsigned)each, DENSE_THREADS, 0, s>>>(
            rows, classes, smoothing, lanes, z, labels, result, d->scale, (T *)dlogits);
    return cu_check("softmax cross-entropy of rows");
}

int nn_dense_loss(struct dev_nn *d, int rows, int classes, double smoothing, const void *logits,
                  const int32_t *labels, void *dlogits, uint32_t *confusion,
                  struct nn_result *result, void *scratch)
{
    return NN_BY_TYPE(d, dense_of, d, rows, classes, smoothing, logits, labels, dlogits, confusion,
                      result, scratch);
}
