/* round.cu : rounds activations to a format, by hls/arith/mf.h. */
#include "device/nn/map.cuh"
#include "device/nn/nn.cuh"
#include "hls/arith/rules.h"

struct op_round {
    enum { TWO = 0 };
    struct round_rule r;
    __device__ float operator()(float x, float) const { return act_round(r, x); }
};

int nn_round_to(struct dev_nn *d, size_t n, const struct round_rule *rule, const void *x, void *y)
{
    const op_round op = {*rule};
    if (nn_bytes(d) != sizeof(float))
        return cu_say(-EINVAL, "gpu: activations that are rounded to a format need to be fp32");
    return map<float>(d->s, n, op, x, NULL, y, "rounding of activations");
}
