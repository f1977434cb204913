/* loss.cu : computes softmax cross-entropy. Block 0 adds losses and hits, in an order that depends
 * only on the batch size and the number of classes; other blocks write gradients. Lanes of a warp
 * share a row of logits. */
#include "device/nn/softmax.cuh"

enum { LOSS_THREADS = 512 };

template <typename T>
static __device__ inline void add_up(int batch, int classes, double smoothing, int lanes,
                                     const T *logits, const int32_t *labels, nn_result *result)
{
    __shared__ double loss[LOSS_THREADS];
    __shared__ int hits[LOSS_THREADS], tops[LOSS_THREADS];
    const int tid = (int)threadIdx.x, lane = tid % lanes, groups = LOSS_THREADS / lanes;
    double my_loss = 0;
    int my_hits = 0, my_tops = 0;
    for (int first = 0; first < batch; first += groups) {
        const int b = first + tid / lanes, there = b < batch, n = there ? classes : 0;
        const T *z = logits + (size_t)(there ? b : 0) * (size_t)classes;
        const int label = there ? labels[b] : 0, place = n_before(z, n, label, lane, lanes);
        const row r = row_of(z, n, lane, lanes);
        const double one = row_loss(z, n, label, r, smoothing, lane, lanes);
        if (there && lane == 0) {
            my_loss += one;
            my_hits += place == 0;
            my_tops += place < NN_TOP;
        }
    }
    loss[tid] = my_loss;
    hits[tid] = my_hits;
    tops[tid] = my_tops;
    for (int half = LOSS_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half) {
            loss[tid] += loss[tid + half];
            hits[tid] += hits[tid + half];
            tops[tid] += tops[tid + half];
        }
    }
    if (tid == 0) {
        result->loss_sum = loss[0];
        result->n_labels = batch;
        result->n_correct = hits[0];
        result->n_top = tops[0];
    }
}

template <typename T>
static __global__ void __launch_bounds__(LOSS_THREADS)
    k_softmax_loss(int batch, int classes, double smoothing, int lanes, const T *logits,
                   const int32_t *labels, T *dlogits, const float *scale, nn_result *result)
{
    if (blockIdx.x == 0) {
        add_up(batch, classes, smoothing, lanes, logits, labels, result);
        return;
    }
    const int groups = LOSS_THREADS / lanes, lane = (int)threadIdx.x % lanes;
    const int b = ((int)blockIdx.x - 1) * groups + (int)threadIdx.x / lanes,
              n = b < batch ? classes : 0;
    const size_t at = (size_t)(b < batch ? b : 0) * (size_t)classes;
    const row r = row_of(logits + at, n, lane, lanes);
    const double k = scale ? (double)*scale : 1;
    const int label = b < batch ? labels[b] : 0;
    for (int j = lane; j < n; j += lanes) {
        const double share = (double)expf(act_float(logits[at + j]) - r.top) / r.sum;
        const double want = target_share(j == label, classes, smoothing);
        dlogits[at + j] = act<T>::of((float)((share - want) / batch * k));
    }
}

template <typename T>
static int loss_of(struct dev_nn *d, int batch, int classes, double smoothing, const void *logits,
                   const int32_t *labels, void *dlogits, struct nn_result *result)
{
    const int lanes = classes <= 32 ? 4 : 32, groups = LOSS_THREADS / lanes;
    const unsigned blocks = dlogits ? (unsigned)((batch + groups - 1) / groups) + 1 : 1;
    const T *z = (const T *)logits;
    k_softmax_loss<T><<<blocks, LOSS_THREADS, 0, cu_stream(d->s)>>>(
        batch, classes, smoothing, lanes, z, labels, (T *)dlogits, d->scale, result);
    return cu_check("softmax cross-entropy");
}

int nn_softmax_loss(struct dev_nn *d, int batch, int classes, double smoothing, const void *logits,
                    const int32_t *labels, void *dlogits, struct nn_result *result)
{
    return NN_BY_TYPE(d, loss_of, d, batch, classes, smoothing, logits, labels, dlogits, result);
}
