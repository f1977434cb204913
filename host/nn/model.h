/* model.h : runs networks forward and backward through a backend table (nn_ops.h). Weights, their
 * gradients and the running statistics are three flat arrays. A param describes one part of the
 * weights, such as the weights or the bias of a layer. Params are in forward order, so buckets,
 * checkpoints and optimisers need not know the network. */
#ifndef MODEL_H
#define MODEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nn/nn_ops.h"
#include "nn/target.h"

struct nn_model;

struct nn_param {
    char name[32];    /* "s1b0.conv1.weight" */
    size_t offset, n; /* in elements, in the arrays of weights and gradients */
    bool decay;       /* weight decay and LARS apply to it; false for norms and biases */
    bool bias;        /* is the bias of a convolution or a linear layer */
    bool last;        /* belongs to the classifier */
    /* A column has `column` elements, which lie `stride` elements apart: a row of a kernel, all
     * outputs of one input, or a whole bias. Each run of column * stride elements consists of
     * `stride` interleaved columns. */
    size_t column, stride;
};

/* Return the math of a valid --precision spec: fp32, tf32, fp16, bf16, fp16-pure. */
enum nn_math nn_math_of(const char *word);

/* Return the algorithm of a valid --conv spec: auto, winograd, gemm. */
enum nn_conv nn_conv_of(const char *word);

/* The form of residual blocks. Source: pure fp16 paper, 4. */
struct nn_block {
    bool swapped;    /* a block ends with relu(gamma * (shortcut + factor * normalised) + beta) */
    bool zero_gamma; /* the gamma of a block's last norm starts at 0 */
    /* Multiplies the output of each norm of a block, after gamma and beta. If swapped, the factor
     * of the last norm is in the place shown above. */
    double factor;
};
/* Help text of the spec that nn_block_spec parses. */
extern const char nn_block_help[];
/* Parse the spec plain[:K], zero-gamma[:K] or swap[:K], where 0 < K <= 1. Returns 0 or -EINVAL
 * (reported). */
int nn_block_spec(const char *word, struct nn_block *out);

/* The loss that training minimises. Evaluations do not smooth. */
struct nn_loss {
    const char *name; /* name of a loss_kind; NULL: the network's own loss */
    double smoothing; /* share of a target that is spread evenly over all classes */
};
/* Help text of the spec that nn_loss_spec parses. */
extern const char nn_loss_help[];
/* Parse the spec auto, cross-entropy[:smoothing=X] or ctc, where 0 <= X < 1. Returns 0 or -EINVAL
 * (reported). */
int nn_loss_spec(const char *word, struct nn_loss *out);

/* Limits of samples. A sample of width 1 is a sequence of h time steps with c features each. */
enum { NN_SIDE_MIN = 28, NN_SIDE_MAX = 1024, NN_STEPS_MAX = 4096, NN_FEATURES_MAX = 4096 };

/* Help text that lists all names that nn_model_open accepts. */
extern const char nn_model_help[];

/* Help text and limits of the width in nn_setup. */
extern const char nn_width_help[];
#define NN_WIDTH_MIN 0.01
#define NN_WIDTH_MAX 4

/* Open network `name` of models.def with weights drawn from seed, the same on every rank.
 * setup: settings of the context; NULL means fp32. in: the shape of a sample, which is an image or
 * a sequence. Images have NN_SIDE_MIN to NN_SIDE_MAX pixels a side and 1 or 3 channels; from 64
 * pixels on, resnet18 and resnet50 start with a 7x7 convolution and a pooling. max_batch: the
 * largest number of samples per call. Returns 0, -EINVAL (reported), -ENOMEM, or the backend's
 * error. */
int nn_model_open(const struct nn_ops *ops, const struct nn_setup *setup, const char *name,
                  struct nn_shape in, int n_classes, int max_batch, uint64_t seed,
                  struct nn_model **out);
void nn_model_close(struct nn_model *m);

/* List a network's params [*n_params] in forward order without opening it; the caller frees them.
 * Returns 0, -EINVAL (reported) or -ENOMEM. */
int nn_model_list(const char *name, double width, struct nn_shape in, int n_classes,
                  struct nn_param **params, int *n_params);

/* Find which labels the heads need for each sample, before the model is opened. Returns 0, -EINVAL
 * (reported) or -ENOMEM. */
int nn_model_wants(const char *name, struct nn_shape in, int n_classes, struct nn_target *out);
/* Return the labels that the heads of an open model need for each sample. */
struct nn_target nn_model_target(const struct nn_model *m);

/* Return the name of the loss in use. */
const char *nn_model_loss(const struct nn_model *m);

/* Return the backend and its context. Optimiser and feed use the same context, so that all work
 * runs in one order. */
const struct nn_ops *nn_model_ops(const struct nn_model *m);
void *nn_model_ctx(struct nn_model *m);

/* Return the address of element i of an array of weights, gradients, velocities or statistics. Only
 * the backend knows the size of an element. */
real *nn_model_at(const struct nn_model *m, const real *array, size_t i);

/* Download an array of weights, gradients, velocities or statistics to host memory as reals, after
 * all earlier work. Returns 0 or the backend's failure. */
int nn_model_get(struct nn_model *m, void *host, const real *from, size_t n);
/* Upload such an array. Halves are rounded to nearest. Returns 0 or the backend's failure. */
int nn_model_put(struct nn_model *m, real *to, const void *host, size_t n);

/* Weights, their gradients and the running statistics are arrays in backend memory, valid until
 * close. */
const struct nn_param *nn_model_params(const struct nn_model *m, int *n_params);
real *nn_model_weights(struct nn_model *m, size_t *n);
real *nn_model_grads(struct nn_model *m);            /* [n weights] */
real *nn_model_stats(struct nn_model *m, size_t *n); /* running means and variances; *n may be 0 */

/* Make later passes use the caller's arrays of gradients and statistics, which are in backend
 * memory and have the same sizes. The model's own arrays stay valid. Passes are no longer recorded,
 * since a record keeps the addresses of its arrays. */
void nn_model_use(struct nn_model *m, real *grads, real *stats);

/* Callback, called in backward order when the gradients of params [first, first + n) are final.
 * Every pass reports every param, even if the backend fails. */
typedef void nn_grad_ready(void *ctx, int first, int n);

/* A batch that was uploaded in advance (nn/data/feed.h). If meanwhile is not NULL, it is called
 * once while the pass runs. */
struct nn_sent {
    int slot; /* slot of the feed in nn_ops.h */
    void (*meanwhile)(void *ctx);
    void *ctx;
};

/* The batch of a pass. Its arrays are in host memory and may change once the pass has returned. */
struct nn_batch {
    int n;                      /* samples */
    const real *x;              /* [n, h, w, c]; NULL: use `sent` */
    const struct nn_sent *sent; /* NULL: use x */
    const int32_t *labels;      /* [n, nn_model_target] each 0 to n_classes-1, or NN_IGNORED */
    const int32_t *lengths;     /* [n] time steps, 1 to h; NULL: h for each sample */
};

/* Run forward and backward. The gradients are those of the mean loss over the labels that count.
 * key: random key of the step's dropout (philox_key). ready may be NULL. A CPU cannot fail. If
 * another backend fails, it reports the error, the loss is nan and nn_model_failed returns the
 * code. */
struct nn_result nn_model_train(struct nn_model *m, const struct nn_batch *b, uint64_t key,
                                nn_grad_ready *ready, void *ctx);

/* Run forward with the running statistics, without dropout and without smoothing labels. */
struct nn_result nn_model_eval(struct nn_model *m, const struct nn_batch *b);

/* Return the confusion matrix of the last evaluation, valid until close. Its index is label *
 * n_classes + predicted. Returns NULL if samples have one label each, or if there are more than
 * NN_MAP_CLASSES_MAX classes. */
const uint32_t *nn_model_confusion(const struct nn_model *m, int *n_classes);

/* Return the code of the backend's first failure in a pass, or 0. */
int nn_model_failed(const struct nn_model *m);

/* The output of a node, for statistics. Index i counts nodes in forward order, without the
 * input. */
struct nn_output {
    const char *kind; /* "conv" */
    char name[32];    /* name of its weights' layer ("s1b0.norm1"), or kind and i ("relu3") */
    size_t n;         /* elements per sample */
    size_t variance;  /* for a norm: offset of its running variances [channels] in the statistics */
    int channels;     /* 0 if the node is not a norm */
};
int nn_model_n_outputs(const struct nn_model *m);
struct nn_output nn_model_output(const struct nn_model *m, int i);
/* Set *largest to the largest magnitude in output i over the first `batch` samples of the last
 * pass. *largest is inf or nan if an element is. scratch: [n] floats. Returns 0 or the backend's
 * failure. */
int nn_model_largest(struct nn_model *m, int i, int batch, float *scratch, size_t n,
                     float *largest);

/* The loss scale of fp16 (or setup->scaled). A fixed scale keeps its value. A moving scale is
 * halved if a step's gradients are not finite, and doubled after 2000 finite steps. The value is 1
 * if each layer has its own scale. The scale is part of a run's state, and is equal on all ranks if
 * they get the same updates. */
struct nn_loss_scale {
    double value;
    /* Number of finite steps in a row. With adaptive scales: number of steps since the refresh. */
    uint32_t n_good;
    bool moving;
};
struct nn_loss_scale *nn_model_loss_scale(struct nn_model *m);
/* Update the loss scale; call after every step. finite: the gradients were finite on all ranks. */
void nn_model_loss_scale_update(struct nn_model *m, bool finite);

/* The adaptive scales that a rank keeps from step to step, an array [n] in host memory. n is 0 if
 * scales are not adaptive. Call these functions only between passes. put accepts the array that get
 * wrote. */
size_t nn_model_n_scales(const struct nn_model *m);
void nn_model_scales_get(const struct nn_model *m, float *to);
void nn_model_scales_put(struct nn_model *m, const float *from);

/* Statistics of the gradient that a convolution, linear layer or LSTM passes back to its input. */
struct nn_back {
    const char *name; /* name of the layer's weights, "s1b0.conv1.weight" */
    /* S, s and S * s of hls/nn/loss_scale.h; with one scale for all layers s is 1 */
    float given, own, carried;
    /* histogram of the gradient that carries S * s, before rounding */
    const struct scale_tally *tally;
};
/* Switch counting of these gradients on or off for later passes. Needs setup->watched; passes that
 * count are not recorded. */
void nn_model_watch(struct nn_model *m, bool on);
/* Set *out to the i-th of these gradients in the last pass, in backward order. Returns false if
 * there are fewer. */
bool nn_model_back(const struct nn_model *m, int i, struct nn_back *out);

/* Return the seconds spent in the backend's GEMMs since open. */
double nn_model_gemm_s(const struct nn_model *m);

#endif
