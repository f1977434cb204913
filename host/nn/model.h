/* model.h : a network as a list of nodes over a backend table: forward, backward, one flat array of weights.
 *
 * Images are NHWC (channels last): a row of a matrix is a pixel, conv2d is im2row + one GEMM, batch norm runs along
 * rows. Weights, their gradients and the batch norms' running statistics are three flat arrays; params describe their
 * parts in forward order, so that buckets, checkpoints and optimisers never walk the network. */
#ifndef MODEL_H
#define MODEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nn/nn_ops.h"
#include "nn/real.h"

struct nn_model;

struct nn_param {
    char name[32];    /* "s1b0.conv1.weight" */
    size_t offset, n; /* elements, into weights and gradients */
    bool decay;       /* weight decay and LARS apply: false for norms and biases */
    bool last;        /* belongs to the classifier */
};

/* name: mlp lenet5 resnet8 resnet20 resnet32 resnet44 resnet56 resnet110 (nn_model_names lists them).
 * in: 28..64 pixels a side, 1 or 3 channels. max_batch: images a call at most. seed: of the weights; the same on every
 * rank. Returns 0, -EINVAL with a line, -ENOMEM. */
int nn_model_open(const struct nn_ops *ops, const char *name, struct nn_shape in, int n_classes, int max_batch,
                  uint64_t seed, struct nn_model **out);
void nn_model_close(struct nn_model *m);
const char *nn_model_names(void);

/* Weights, gradients, statistics: memory of the backend, alive until close. */
const struct nn_param *nn_model_params(const struct nn_model *m, int *n_params);
real *nn_model_weights(struct nn_model *m, size_t *n);
real *nn_model_grads(struct nn_model *m);            /* [n weights] */
real *nn_model_stats(struct nn_model *m, size_t *n); /* running means and variances; n may be 0 */

/* Called in backward order as soon as the gradients of params [first, first + n) are final; NULL for none. */
typedef void nn_grad_ready(void *ctx, int first, int n);

/* Forward and backward over x [batch, h, w, c], labels [batch] in 0..n_classes-1, both in host memory; gradients =
 * d(mean loss over this batch). key: of this step's dropout (philox_key). Cannot fail on a CPU: sizes were checked by
 * open. A backend that fails on the way says one line, and the loss is not a number. */
struct nn_result nn_model_train(struct nn_model *m, const real *x, const int32_t *labels, int batch, uint64_t key,
                                nn_grad_ready *ready, void *ctx);

/* Forward in evaluation mode (running statistics, no dropout). */
struct nn_result nn_model_eval(struct nn_model *m, const real *x, const int32_t *labels, int batch);

/* Seconds spent inside the backend's GEMMs since open, for the bench's share. */
double nn_model_gemm_s(const struct nn_model *m);

#endif
