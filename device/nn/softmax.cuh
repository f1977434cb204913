/* softmax.cuh : computes the cross-entropy of a row of logits by a group of a warp's lanes. */
#ifndef SOFTMAX_CUH
#define SOFTMAX_CUH
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"

struct row {
    float top;  /* largest logit */
    double sum; /* of exp(logit - top) */
};

/* The whole warp calls it. A group without a row passes classes = 0. */
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

/* smoothing: see layers.def. The whole warp calls it. */
template <typename T>
static __device__ inline double row_loss(const T *z, int classes, int label, row r,
                                         double smoothing, int lane, int lanes)
{
    const double own = (double)(act_float(z[label]) - r.top);
    if (smoothing == 0)
        return log(r.sum) - own;
    double sum = 0;
    for (int j = lane; j < classes; j += lanes)
        sum += (double)(act_float(z[j]) - r.top);
    for (int over = lanes / 2; over > 0; over /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, over);
    return log(r.sum) - ((1 - smoothing) * own + smoothing * (sum / classes));
}

/* The target's probability of the label, or of another class. */
static __device__ inline double target_share(bool is_label, int classes, double smoothing)
{
    const double rest = smoothing / classes;
    return is_label ? 1 - smoothing + rest : rest;
}

/* Returns how many logits are larger than the label's, or equal with a smaller index; NN_TOP or
 * more if any is nan. The whole warp calls it. */
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
