/* model.h : runs networks forward and backward over a backend table. conv2d is im2row and one
 * GEMM, whose matrix rows are pixels. Weights, their gradients and the running statistics are
 * three flat arrays. Params describe the parts in forward order, so buckets, checkpoints and
 * optimisers need not know the network. */
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
    size_t offset, n; /* elements, in weights and gradients */
    bool decay;       /* weight decay and LARS apply; false for norms and biases */
    bool bias;        /* of a convolution or a linear layer */
    bool last;        /* belongs to the classifier */
    /* Columns of `column` elements, `stride` apart, interleaved in runs of column * stride: a row
     * of a kernel, all outputs of one input, or a whole bias. */
    size_t column, stride;
};

/* Return the math of a valid --precision spec: fp32, tf32, fp16, bf16, fp16-pure. */
enum nn_math nn_math_of(const char *word);

/* Return the algorithm of a valid --conv spec: auto, winograd, gemm. */
enum nn_conv nn_conv_of(const char *word);

/* The form of residual blocks. Source: pure fp16 paper, 4. */
struct nn_block {
    bool swapped;    /* a block ends in relu(gamma * (shortcut + factor * normalised) + beta) */
    bool zero_gamma; /* the last gamma of a block starts at 0 */
    /* on all norms of a block, after gamma and beta; in the last one, if swapped, as above */
    double factor;
};
/* Help text of nn_block_words' spec. */
extern const char nn_block_help[];
/* Parse plain[:K], zero-gamma[:K] or swap[:K], 0 < K <= 1. Returns 0 or -EINVAL (reported). */
int nn_block_words(const char *word, struct nn_block *out);

/* The loss that training minimises. Evaluations do not smooth. */
struct nn_loss {
    const char *name; /* of a loss_kind; NULL: the network's own */
    double smoothing; /* share of a target that is spread evenly over all classes */
};
/* Help text of nn_loss_words' spec. */
extern const char nn_loss_help[];
/* Parse auto, cross-entropy[:smoothing=X], 0 <= X < 1, or ctc. Returns 0 or -EINVAL (reported). */
int nn_loss_words(const char *word, struct nn_loss *out);

/* A sample of width 1 is a sequence of h time steps of c features. */
enum { NN_SIDE_MIN = 28, NN_SIDE_MAX = 1024, NN_STEPS_MAX = 4096, NN_FEATURES_MAX = 4096 };

/* Help text: all names that nn_model_open accepts. */
extern const char nn_model_help[];

/* Help text of nn_setup's width, and its limits. */
extern const char nn_width_help[];
#define NN_WIDTH_MIN 0.01
#define NN_WIDTH_MAX 4

/* Open network `name` of models.def with weights drawn from seed, the same on every rank.
 * setup: of the context; NULL: fp32. in: an image (NN_SIDE_MIN..NN_SIDE_MAX pixels a side, 1
 * or 3 channels; resnet18 and resnet50 start with a 7x7 convolution and a pooling from 64
 * on) or a sequence. max_batch: most samples per call. Returns 0, -EINVAL (reported),
 * -ENOMEM, or the backend's error. */
int nn_model_open(const struct nn_ops *ops, const struct nn_setup *setup, const char *name,
                  struct nn_shape in, int n_classes, int max_batch, uint64_t seed,
                  struct nn_model **out);
void nn_model_close(struct nn_model *m);

/* List a network's params [*n_params] in forward order without opening it; the caller frees them.
 * Returns 0, -EINVAL (reported) or -ENOMEM. */
int nn_model_list(const char *name, double width, struct nn_shape in, int n_classes,
                  struct nn_param **params, int *n_params);

/* Return the labels of a sample that the heads need: before opening (0, -EINVAL
 * (reported), -ENOMEM) and after. */
int nn_model_wants(const char *name, struct nn_shape in, int n_classes, struct nn_target *out);
struct nn_target nn_model_target(const struct nn_model *m);

/* Return the name of the loss in use. */
const char *nn_model_loss(const struct nn_model *m);

/* The backend and its context, shared with optimiser and feed so that all work has one order. */
const struct nn_ops *nn_model_ops(const struct nn_model *m);
void *nn_model_ctx(struct nn_model *m);

/* Element i of weights, gradients, velocities or statistics, whose size only the backend knows. */
real *nn_model_at(const struct nn_model *m, const real *array, size_t i);

/* Download an array of weights, gradients, velocities or statistics to host memory as reals, after
 * all earlier work; upload one (halves: rounded to nearest). Return 0 or the backend's failure. */
int nn_model_get(struct nn_model *m, void *host, const real *from, size_t n);
int nn_model_put(struct nn_model *m, real *to, const void *host, size_t n);

/* Weights, gradients and statistics are in backend memory, valid until close. */
const struct nn_param *nn_model_params(const struct nn_model *m, int *n_params);
real *nn_model_weights(struct nn_model *m, size_t *n);
real *nn_model_grads(struct nn_model *m);            /* [n weights] */
real *nn_model_stats(struct nn_model *m, size_t *n); /* running means and variances; n may be 0 */

/* Make later passes use these gradients and statistics: the caller's, in backend memory, of the
 * same sizes. The model's own stay valid. Recording stops, since records keep their arrays. */
void nn_model_use(struct nn_model *m, real *grads, real *stats);

/* Called in backward order when the gradients of params [first, first + n) are final. Every pass
 * reports every param, even if the backend fails. */
typedef void nn_grad_ready(void *ctx, int first, int n);

/* A batch that the backend has (nn/data/feed.h). meanwhile: called once
 * while the pass runs, unless NULL. */
struct nn_sent {
    int slot; /* of nn_ops.h's feed */
    void (*meanwhile)(void *ctx);
    void *ctx;
};

/* The batch of a pass, in host memory that may change on return. */
struct nn_batch {
    int n;                      /* samples */
    const real *x;              /* [n, h, w, c]; NULL: use `sent` */
    const struct nn_sent *sent; /* NULL: use x */
    const int32_t *labels;      /* [n, nn_model_target] in 0..n_classes-1, or NN_IGNORED */
    const int32_t *lengths;     /* [n] time steps, 1..h; NULL: h each */
};

/* Run forward and backward; gradients = d(mean loss over the labels that count). key: of the step's
 * dropout (philox_key). ready may be NULL. If the backend fails, which a CPU cannot, it reports the
 * error, the loss is nan and nn_model_failed returns the code. */
struct nn_result nn_model_train(struct nn_model *m, const struct nn_batch *b, uint64_t key,
                                nn_grad_ready *ready, void *ctx);

/* Run forward with running statistics, without dropout or smoothed labels. */
struct nn_result nn_model_eval(struct nn_model *m, const struct nn_batch *b);

/* Confusion matrix of the last evaluation, valid until close: [label * n_classes + predicted]. NULL
 * if there is none: one label a sample, or more than NN_MAP_CLASSES_MAX classes. */
const uint32_t *nn_model_confusion(const struct nn_model *m, int *n_classes);

/* Return the backend's first failure in a pass; 0: none. */
int nn_model_failed(const struct nn_model *m);

/* The i-th node's output in forward order, without the input, for statistics. */
struct nn_output {
    const char *kind; /* "conv" */
    char name[32];    /* layer of its weights, "s1b0.norm1", else kind and i, "relu3" */
    size_t n;         /* elements a sample */
    size_t variance;  /* norm: offset of its running variances [channels] in the statistics */
    int channels;     /* 0: no norm */
};
int nn_model_n_outputs(const struct nn_model *m);
struct nn_output nn_model_output(const struct nn_model *m, int i);
/* Set *largest to the largest magnitude in output i over the first `batch` samples of the last
 * pass; not finite if an element is not. scratch [n]. Returns 0 or the backend's failure. */
int nn_model_largest(struct nn_model *m, int i, int batch, float *scratch, size_t n,
                     float *largest);

/* The loss scale of fp16 (or setup->scaled): fixed, or moving: halved if a step's gradients
 * are not finite, doubled after 2000 finite steps. 1 if layers have scales. Part of a run's
 * state, equal on ranks updated alike. */
struct nn_loss_scale {
    double value;
    /* finite steps in a row; adaptive: steps since the scales were refreshed */
    uint32_t n_good;
    bool moving;
};
struct nn_loss_scale *nn_model_loss_scale(struct nn_model *m);
/* Update after every step; finite: the gradients were finite on all ranks. */
void nn_model_loss_scale_update(struct nn_model *m, bool finite);

/* Adaptive scales [n] that a rank keeps from step to step, in host memory; n 0: not adaptive. Call
 * between passes. put accepts the output of get. */
size_t nn_model_n_scales(const struct nn_model *m);
void nn_model_scales_get(const struct nn_model *m, float *to);
void nn_model_scales_put(struct nn_model *m, const float *from);

/* Statistics of the gradients that convolutions, linear layers and LSTMs pass back. watch:
 * count them in later passes, unrecorded (needs setup->watched). back: the i-th of the last
 * pass in backward order; false: none. */
struct nn_back {
    const char *name; /* of its weights, "s1b0.conv1.weight" */
    /* S, s and S * s (hls/nn/loss_scale.h); with one scale for all, s is 1 */
    float given, own, carried;
    const struct scale_tally *tally; /* of the gradient that carries S * s, before rounding */
};
void nn_model_watch(struct nn_model *m, bool on);
bool nn_model_back(const struct nn_model *m, int i, struct nn_back *out);

/* Seconds spent in the backend's GEMMs since open. */
double nn_model_gemm_s(const struct nn_model *m);

#endif
