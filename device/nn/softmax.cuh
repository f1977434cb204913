/* softmax.cuh : computes the maximum, the sum of exponentials and the cross-entropy of a row of
 * logits, with a group of lanes of a warp. */
#ifndef SOFTMAX_CUH
#define SOFTMAX_CUH
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"

/* The maximum of a row of logits, and its sum of exponentials. */
struct row {
    float top;
    double sum; /* of exp(z - top) */
};

/* Return the maximum and sum of a row, for each group of `lanes` lanes. All lanes of a warp call
 * it. A group without a row passes classes = 0. */
template <typename T>
static __device__ inline row row_of(const T *z, int classes, int lane, int lanes)
{
    row r = {lane < classes ? act_float(z[lane]) : -INFINITY, 0};
    for (int j = lane + lanes; j < classes; j += lanes) {
        const float v = act_float(z[j]);
        r.top = v > r.top ? v : r.top;
    }
    for (int over = lanes / 2; over > 0; over /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, r.top, over);
        r.top = other > r.top ? other : r.top;
    }
    for (int j = lane; j < classes; j += lanes)
        r.sum += (double)expf(act_float(z[j]) - r.top);
    for (int over = lanes / 2; over > 0; over /= 2)
        r.sum += __shfl_xor_sync(0xffffffffu, r.sum, over);
    return r;
}

/* Return the cross-entropy of a row. smoothing: see layers.def. All lanes of a warp call it. */
template <typename T>
static __device__ inline double row_loss(const T *z, int classes, int label, row r,
                                         double smoothing, int lane, int lanes)
{
    const double own = (double)(act_float(z[label]) - r.top);
    if (smoothing == 0)
        return log(r.sum) - own;
    double sum = 0; /* of z - top */
    for (int j = lane; j < classes; j += lanes)
        sum += (double)(act_float(z[j]) - r.top);
    for (int over = lanes / 2; over > 0; over /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, over);
    return log(r.sum) - ((1 - smoothing) * own + smoothing * (sum / classes));
}

/* Return the probability that the target has for the label, or for another class. */
static __device__ inline double target_share(bool is_label, int classes, double smoothing)
{
    const double rest = smoothing / classes;
    return is_label ? 1 - smoothing + rest : rest;
}

/* Return how many logits are larger than that of the label; of equal logits, those with a smaller
 * index count too. Return NN_TOP or more if any logit is nan. All lanes of a warp call it. */
template <typename T>
static __device__ inline int n_before(const T *z, int classes, int label, int lane, int lanes)
{
    int before = 0;
    for (int j = lane; j < classes; j += lanes) {
        const float v = act_float(z[j]), own = act_float(z[label]);
        if (!(j < label ? v < own : v <= own))
            before += v > own || v == own ? 1 : NN_TOP;
    }
    for (int over = lanes / 2; over > 0; over /= 2)
        before += __shfl_xor_sync(0xffffffffu, before, over);
    return before;
}

#endif
