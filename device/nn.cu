/* nn.cu : the context of a network on the GPU, 16-bit copies of its weights, and the table of its
 * layers. */
#include "device/conv.cuh"
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

int nn_open(enum dev_math math, struct dev_stream *s, struct dev_nn **out)
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

int nn_weights_open(struct dev_nn *d, const float *w, size_t n)
{
    void *narrow = NULL;
    if (nn_bytes(d) == 2 && n) {
        const cudaError_t e = cudaMalloc(&narrow, 2 * n);
        if (e != cudaSuccess)
            return cu_say(-ENOMEM, "gpu: cannot get %zu MiB for 16-bit copies of the weights: %s",
                          2 * n >> 20, cudaGetErrorString(e));
    }
    cudaFree(d->narrow);
    d->narrow = narrow;
    d->weights = w;
    d->n_weights = n;
    return 0;
}

int nn_weights(struct dev_nn *d)
{
    return d->narrow ? nn_to_math(d, d->n_weights, d->weights, d->narrow) : 0;
}

void nn_loss_scale(struct dev_nn *d, const float *scale)
{
    d->scale = scale;
}

int nn_gemm(struct dev_nn *d, const struct gemm_rule *rule)
{
    if (rule && d->math != DEV_FP32)
        return cu_say(-EINVAL, "gpu: products that are rounded to a format need fp32 activations");
    d->is_low = rule != NULL;
    if (rule)
        d->rule = *rule;
    return 0;
}

/* In the order of the struct. */
extern "C" const struct dev_nn_ops dev_nn = {
    nn_open,
    nn_close,
    nn_weights_open,
    nn_weights,
    nn_loss_scale,
    nn_gemm,
    nn_conv_plan,
    nn_conv_forward,
    nn_conv_backward,
    nn_linear_forward,
    nn_linear_backward,
    nn_norm_plan,
    nn_norm_forward,
    nn_norm_eval,
    nn_norm_backward,
    nn_relu_forward,
    nn_relu_backward,
    nn_add,
    nn_scale,
    nn_pool_max_forward,
    nn_pool_max_backward,
    nn_pool_avg_forward,
    nn_pool_avg_backward,
    nn_mean_forward,
    nn_mean_backward,
    nn_shortcut_forward,
    nn_shortcut_backward,
    nn_dropout,
    nn_softmax_loss,
    nn_sgd,
    nn_feed,
    nn_to_math,
    nn_from_math,
};
