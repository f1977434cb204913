/* softmax.cuh : what a group of lanes of a warp finds out about a row of logits. */
#ifndef SOFTMAX_CUH
#define SOFTMAX_CUH
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"

struct row { /* of logits, as a group of lanes knows it */
    float top;
    double sum; /* of exp(z - top) */
};

/* Every lane of a warp comes here; groups of `lanes` share a row. classes 0: no row, only the
 * company. */
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

/* How many logits stand before the label's by size, the first of equals first; if any is nan, NN_TOP
 * or more. Every lane of a warp comes here. */
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
