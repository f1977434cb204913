/* model.h : runs networks forward and backward through a backend table (nn_ops.h). Weights,
 * gradients and running statistics are flat arrays. A param is a part of the weights, such as a
 * layer's bias. Params lie in forward order, so buckets, checkpoints and optimisers treat all
 * networks alike. Functions that can fail return 0, -EINVAL (reported), -ENOMEM or the backend's
 * error. */
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
    size_t offset, n; /* in elements */
    bool decay;       /* weight decay and LARS apply; false for norms and biases */
    bool bias;        /* of a convolution, linear layer or LSTM */
    bool kernel;      /* a convolution's weights */
    bool last;        /* of the classifier */
    /* Columns, which the codec onebit quantises separately: a row of a convolution kernel, the
     * weights from one input to all outputs, or a whole bias. A column has `column` elements,
     * `stride` apart; each run of column * stride elements holds `stride` interleaved columns. */
    size_t column, stride;
};

/* Return the math of a valid --precision spec. */
enum nn_math nn_math_of(const char *word);

/* Return the algorithm of a valid --conv spec. */
enum nn_conv nn_conv_of(const char *word);

/* Form of residual blocks (pure fp16 paper, 4). */
struct nn_block {
    bool swapped;    /* a block ends with relu(gamma * (shortcut + factor * normalised) + beta) */
    bool zero_gamma; /* gamma of a block's last norm starts at 0 */
    /* Multiplies the output of each norm of a block, after gamma and beta. If swapped, the last
     * norm's factor is where the formula above shows it. */
    double factor;
};
extern const char nn_block_help[];
/* Parse plain[:K], zero-gamma[:K] or swap[:K], 0 < K <= 1. */
int nn_block_spec(const char *word, struct nn_block *out);

/* Loss that training minimises. Evaluations do not smooth. */
struct nn_loss {
    const char *name; /* of a loss_kind; NULL: the network's own loss */
    double smoothing; /* share of a target spread evenly over all classes */
};
extern const char nn_loss_help[];
/* Parse auto, cross-entropy[:smoothing=X] or ctc, 0 <= X < 1. */
int nn_loss_spec(const char *word, struct nn_loss *out);

/* limits of samples; width 1: h time steps with c features */
enum { NN_SIDE_MIN = 28, NN_SIDE_MAX = 1024, NN_STEPS_MAX = 4096, NN_FEATURES_MAX = 4096 };

extern const char nn_model_help[];

extern const char nn_width_help[];
#define NN_WIDTH_MIN 0.01
#define NN_WIDTH_MAX 4

/* Open network `name` of models.def with weights drawn from seed, equal on every rank. setup: for
 * ops->open(). in: shape of an image (NN_SIDE_MIN to NN_SIDE_MAX pixels a side, 1 or 3 channels) or
 * a sequence. max_batch: most samples per call. */
int nn_model_open(const struct nn_ops *ops, const struct nn_setup *setup, const char *name,
                  struct nn_shape in, int n_classes, int max_batch, uint64_t seed,
                  struct nn_model **out);
void nn_model_close(struct nn_model *m);

/* List a network's params [*n_params] in forward order without opening it. The caller frees
 * them. */
int nn_model_list(const char *name, double width, struct nn_shape in, int n_classes,
                  struct nn_param **params, int *n_params);

/* Find the labels that a network's heads need per sample, without opening it. */
int nn_model_wants(const char *name, struct nn_shape in, int n_classes, struct nn_target *out);
/* Return the labels that an open model needs. */
struct nn_target nn_model_target(const struct nn_model *m);

const char *nn_model_loss(const struct nn_model *m);

/* Return the backend and its context, which optimiser and feed must use, so that all work runs in
 * order. */
const struct nn_ops *nn_model_ops(const struct nn_model *m);
void *nn_model_ctx(struct nn_model *m);

/* Add a span of each layer's forward and backward pass, and of the losses, to `trace` from now on;
 * NULL: no more. For backends that compute before they return, so not for a GPU. */
struct trace;
void nn_model_trace(struct nn_model *m, struct trace *trace);

/* Return the address of element i of an array of weights, gradients, velocities or statistics; only
 * the backend knows an element's size. */
real *nn_model_at(const struct nn_model *m, const real *array, size_t i);

/* Download such an array to host memory as reals, after all earlier work. */
int nn_model_get(struct nn_model *m, void *host, const real *from, size_t n);
/* Upload such an array; halves are rounded to nearest. */
int nn_model_put(struct nn_model *m, real *to, const void *host, size_t n);

/* Return the model's params, and its arrays in backend memory, all valid until close. */
const struct nn_param *nn_model_params(const struct nn_model *m, int *n_params);
real *nn_model_weights(struct nn_model *m, size_t *n);
real *nn_model_grads(struct nn_model *m);            /* [n weights] */
real *nn_model_stats(struct nn_model *m, size_t *n); /* running means and variances; *n may be 0 */

/* Make later passes use the caller's gradients and statistics, in backend memory and of the same
 * sizes. The model's own arrays stay valid. These passes are not recorded, because records contain
 * addresses. */
void nn_model_use(struct nn_model *m, real *grads, real *stats);

/* Called in backward order when the gradients of params [first, first + n) are final. Every pass
 * reports every param, even if the backend fails. */
typedef void nn_grad_ready(void *ctx, int first, int n);

/* A batch uploaded in advance (nn/data/feed.h). meanwhile, if not NULL, is called once during the
 * pass. */
struct nn_sent {
    int slot; /* slot of the feed in nn_ops.h */
    void (*meanwhile)(void *ctx);
    void *ctx;
};

/* A batch in host memory, which may change after the pass. */
struct nn_batch {
    int n;                      /* samples */
    const real *x;              /* [n, h, w, c]; NULL: use `sent` */
    const struct nn_sent *sent; /* NULL: use x */
    const int32_t *labels;      /* [n, nn_model_target] 0 to n_classes-1, or NN_IGNORED */
    const int32_t *lengths;     /* [n] time steps, 1 to h; NULL: h for all */
};

/* Run forward and backward. Gradients are those of the mean loss over the labels that count (ctc:
 * over the samples). key: random key of the step's dropout (philox_key). ready may be NULL. On a
 * backend failure (reported; never on a CPU) the loss is nan, and nn_model_failed returns the
 * code. */
struct nn_result nn_model_train(struct nn_model *m, const struct nn_batch *b, uint64_t key,
                                nn_grad_ready *ready, void *ctx);

/* Run forward with running statistics, without dropout and label smoothing. */
struct nn_result nn_model_eval(struct nn_model *m, const struct nn_batch *b);

/* Return the confusion matrix of the last evaluation, valid until close; index: label * n_classes +
 * predicted. NULL if samples have one label each or there are more than NN_MAP_CLASSES_MAX
 * classes. */
const uint32_t *nn_model_confusion(const struct nn_model *m, int *n_classes);

/* Set labels [h * w] to the class of the largest logit at each pixel of sample i of the last
 * evaluation, of which the confusion matrix counts the same classes. scratch: room for
 * nn_model_logits() reals. */
size_t nn_model_logits(const struct nn_model *m);
int nn_model_classes(struct nn_model *m, int i, float *scratch, uint8_t *labels);

/* Return the code of the backend's first failure in a pass, or 0. */
int nn_model_failed(const struct nn_model *m);

/* A node's output, for statistics. Index i counts nodes in forward order, without the input. */
struct nn_output {
    const char *kind; /* "conv" */
    char name[32];    /* of its weights' layer ("s1b0.norm1"), or kind and i ("relu3") */
    size_t n;         /* elements per sample */
    size_t variance;  /* norm: offset of its running variances [channels] in the statistics */
    int channels;     /* 0 for nodes other than norms */
};
int nn_model_n_outputs(const struct nn_model *m);
struct nn_output nn_model_output(const struct nn_model *m, int i);
/* Set *largest to the largest magnitude in output i over the first `batch` samples of the last
 * pass; inf or nan if an element is. scratch: [n] floats. */
int nn_model_largest(struct nn_model *m, int i, int batch, float *scratch, size_t n,
                     float *largest);

/* Loss scale of fp16 (or setup->scaled), part of a run's state. A moving scale is halved after a
 * step with gradients that are not finite, and doubled after 2000 finite steps. value is 1 if each
 * layer has its own scale. Equal on all ranks if they get the same updates. */
struct nn_loss_scale {
    double value;
    /* steps in a row with finite gradients; adaptive scales: steps since they were last chosen */
    uint32_t n_good;
    bool moving;
};
struct nn_loss_scale *nn_model_loss_scale(struct nn_model *m);
/* Call after every step. finite: the gradients were finite on all ranks. */
void nn_model_loss_scale_update(struct nn_model *m, bool finite);

/* Adaptive scales that a rank keeps between steps: [n] in host memory, n = 0 if not adaptive. Call
 * only between passes. put accepts the array that get wrote. */
size_t nn_model_n_scales(const struct nn_model *m);
void nn_model_scales_get(const struct nn_model *m, float *to);
void nn_model_scales_put(struct nn_model *m, const float *from);

/* The gradient that a convolution, linear layer or LSTM passes to its input. */
struct nn_back {
    const char *name; /* "s1b0.conv1.weight", the layer's weights */
    /* S, s, S * s of hls/nn/loss_scale.h; s = 1 if layers share one scale */
    float given, own, carried;
    /* histogram of the gradient times S * s, before rounding */
    const struct scale_tally *tally;
};
/* Count these gradients in later passes, or stop. Needs setup->watched; counting passes are not
 * recorded. */
void nn_model_watch(struct nn_model *m, bool on);
/* Set *out to the i-th such gradient of the last pass, in backward order. Returns false if there
 * are fewer. */
bool nn_model_back(const struct nn_model *m, int i, struct nn_back *out);

/* Return the seconds in the backend's GEMMs since open. */
double nn_model_gemm_s(const struct nn_model *m);

#endif
