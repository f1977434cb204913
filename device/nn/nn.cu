/* nn.cu : opens a network's context, copies weights to 16 bits, and defines the table of layers. */
#include "device/nn/conv.cuh"
#include "device/run/run.cuh"
#include <stdlib.h>

void nn_close(struct dev_nn *d)
{
    if (!d)
        return;
    linear_close(d);
    conv_close(d);
    cudaFree(d->narrow);
    free(d);
}

int nn_open(enum nn_math math, struct dev_stream *s, struct dev_nn **out)
{
    struct dev_nn *d = (struct dev_nn *)calloc(1, sizeof *d);
    if (!d)
        return cu_say(-ENOMEM, "gpu: no memory for a network's context");
    d->math = math;
    d->s = s;
    int rc = conv_open(d);
    if (rc == 0)
        rc = linear_open(d);
    if (rc < 0) {
        nn_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

int nn_weights_open(struct dev_nn *d, const void *w, size_t n)
{
    void *narrow = NULL;
    if (nn_bytes(d) == 2 && !nn_pure(d) && n && !(narrow = run_alloc(2 * n)))
        return -ENOMEM;
    cudaFree(d->narrow);
    d->narrow = narrow;
    d->weights = w;
    d->n_weights = n;
    return 0;
}

int nn_weights(struct dev_nn *d)
{
    return d->narrow ? nn_to_math(d, d->n_weights, (const float *)d->weights, d->narrow) : 0;
}

void nn_loss_scale(struct dev_nn *d, const float *scale)
{
    d->scale = scale;
}

int nn_gemm(struct dev_nn *d, const struct gemm_rule *rule)
{
    if (rule && d->math != NN_FP32)
        return cu_say(-EINVAL, "gpu: products that are rounded to a format need fp32 activations");
    d->is_low = rule != NULL;
    if (rule)
        d->rule = *rule;
    return 0;
}

extern "C" const struct dev_nn_ops dev_nn = {
    .open = nn_open,
    .close = nn_close,
    .weights_open = nn_weights_open,
    .weights = nn_weights,
    .loss_scale = nn_loss_scale,
    .gemm = nn_gemm,
    .gemm_low = nn_gemm_low,
#define PASS(name, params, args, makes) .name = nn_##name,
#include "hls/nn/layers.def"
    .conv_apart = nn_conv_apart,
    .add_divide = nn_add_divide,
    .optim =
        {
#define OPTIMISER(name, takes, states, update, help) nn_##name,
#include "hls/nn/optimisers.def"
        },
    .feed = nn_feed,
    .to_math = nn_to_math,
};
