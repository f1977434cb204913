/* model.h : a network as a list of nodes over a backend table: forward, backward, one flat array of
 * weights.
 *
 * Images are NHWC (channels last): a row of a matrix is a pixel, conv2d is im2row + one GEMM, batch
 * norm runs along rows. Weights, their gradients and the batch norms' running statistics are three
 * flat arrays; params describe their parts in forward order, so that buckets, checkpoints and
 * optimisers never walk the network. */
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
    size_t offset, n; /* elements, into weights and gradients */
    bool decay;       /* weight decay and LARS apply: false for norms and biases */
    bool bias;        /* of a convolution or a linear layer */
    bool last;        /* belongs to the classifier */
    /* Its columns: so many elements, so far apart, side by side in runs of column * stride; a
     * kernel's width, all outputs of one input, a whole bias. */
    size_t column, stride;
};

/* The math of --precision's word: fp32, tf32, fp16, bf16, fp16-pure; no other word. */
enum nn_math nn_math_of(const char *word);

/* Likewise of --conv: auto, winograd, gemm. */
enum nn_conv nn_conv_of(const char *word);

/* The form of residual blocks. Source: pure fp16 paper, 4. */
struct nn_block {
    bool swapped;    /* relu(gamma * (shortcut + factor * normalised) + beta) ends a block */
    bool zero_gamma; /* the last gamma of a block begins at 0 */
    double factor;   /* of every norm of a block, behind gamma and beta, but as above in swapped */
};
/* What nn_block_words reads: a sentence. */
extern const char nn_block_help[];
/* plain[:K], zero-gamma[:K] or swap[:K], K above 0 and up to 1. Returns 0 or -EINVAL with a line. */
int nn_block_words(const char *word, struct nn_block *out);

/* Of images; a sample of width 1 is a sequence: so many time steps (h) of so many features (c). */
enum { NN_SIDE_MIN = 28, NN_SIDE_MAX = 1024, NN_STEPS_MAX = 4096, NN_FEATURES_MAX = 4096 };

/* All names that nn_model_open takes: a sentence. */
extern const char nn_model_help[];

/* What nn_setup's width does: a sentence. Its bounds. */
extern const char nn_width_help[];
#define NN_WIDTH_MIN 0.01
#define NN_WIDTH_MAX 4

/* setup: of the backend's context; NULL: fp32. name: one of models.def. in:
 * NN_SIDE_MIN..NN_SIDE_MAX pixels a side, 1 or 3 channels (from 64 on resnet18 and resnet50 begin
 * with a 7x7 convolution and a pooling), or a sequence. max_batch: samples a call at most. seed: of the weights; the
 * same on every rank. Returns 0, -EINVAL with a line, -ENOMEM, or what the backend returns. */
int nn_model_open(const struct nn_ops *ops, const struct nn_setup *setup, const char *name,
                  struct nn_shape in, int n_classes, int max_batch, uint64_t seed,
                  struct nn_model **out);
void nn_model_close(struct nn_model *m);

/* What it would have to learn, and nothing is opened: params [*n_params], in forward order, that
 * free() gives back. Returns 0, -EINVAL with a line, -ENOMEM. */
int nn_model_list(const char *name, double width, struct nn_shape in, int n_classes,
                  struct nn_param **params, int *n_params);

/* The labels of a sample that its heads want, before it is opened and after. wants: returns 0,
 * -EINVAL with a line, -ENOMEM. */
int nn_model_wants(const char *name, struct nn_shape in, int n_classes, struct nn_target *out);
struct nn_target nn_model_target(const struct nn_model *m);

/* The backend and its one context: the optimiser's and the feed's too, so that all work stands in
 * one order. */
const struct nn_ops *nn_model_ops(const struct nn_model *m);
void *nn_model_ctx(struct nn_model *m);

/* Element i of weights, gradients, velocities or statistics, whose elements only the backend knows. */
real *nn_model_at(const struct nn_model *m, const real *array, size_t i);

/* From weights, gradients, velocities or statistics to host memory, reals, after all work before it;
 * and back, where halves are rounded to nearest. Return 0 or the backend's failure. */
int nn_model_get(struct nn_model *m, void *host, const real *from, size_t n);
int nn_model_put(struct nn_model *m, real *to, const void *host, size_t n);

/* Weights, gradients, statistics: memory of the backend, alive until close. */
const struct nn_param *nn_model_params(const struct nn_model *m, int *n_params);
real *nn_model_weights(struct nn_model *m, size_t *n);
real *nn_model_grads(struct nn_model *m);            /* [n weights] */
real *nn_model_stats(struct nn_model *m, size_t *n); /* running means and variances; n may be 0 */

/* From now on passes write these gradients, read and write these statistics: [as long as those],
 * memory of the backend that the caller keeps. Those above stay where they are, for a later call. A
 * recorded pass knows none but those it was made with: after the first other ones none is recorded. */
void nn_model_use(struct nn_model *m, real *grads, real *stats);

/* Called in backward order as soon as the gradients of params [first, first + n) are final; NULL
 * for none. Every param is told of in every pass, also when the backend fails on the way. */
typedef void nn_grad_ready(void *ctx, int first, int n);

/* Where samples are that the backend already has: nn/data/feed.h makes them.
 * meanwhile: called once while the pass is under way; NULL: nothing to do. */
struct nn_sent {
    int slot; /* as nn_ops.h's */
    void (*meanwhile)(void *ctx);
    void *ctx;
};

/* What a pass goes over; all of it in host memory, and the caller's again as soon as the pass
 * returns. */
struct nn_batch {
    int n;                      /* samples */
    const real *x;              /* [n, h, w, c]; NULL: they were sent */
    const struct nn_sent *sent; /* NULL: x is there */
    const int32_t *labels;      /* [n, nn_model_target] in 0..n_classes-1, or NN_IGNORED */
    const int32_t *lengths;     /* [n] time steps of a sample, 1..h; NULL: h of each */
};

/* Forward and backward over a batch; gradients = d(mean loss over its labels that count). key: of this
 * step's dropout (philox_key).
 * Cannot fail on a CPU: sizes were checked by open. A backend that fails on the way says one line,
 * the loss is not a number, and nn_model_failed tells why. */
struct nn_result nn_model_train(struct nn_model *m, const struct nn_batch *b, uint64_t key,
                                nn_grad_ready *ready, void *ctx);

/* Forward in evaluation mode (running statistics, no dropout). */
struct nn_result nn_model_eval(struct nn_model *m, const struct nn_batch *b);

/* Of the last evaluation, alive until close: labels of class i that were taken for class j stand at
 * i * n_classes + j. NULL: none is made (one label a sample, or more than NN_MAP_CLASSES_MAX
 * classes). */
const uint32_t *nn_model_confusion(const struct nn_model *m, int *n_classes);

/* The first failure of the backend in a pass; 0: none. */
int nn_model_failed(const struct nn_model *m);

/* What a node makes, for statistics: nodes 0..n-1 in forward order, without the images. */
struct nn_output {
    const char *kind; /* "conv" */
    char name[32];    /* of the layer of its weights, "s1b0.norm1"; else its kind and i: "relu3" */
    size_t n;         /* elements an image */
    size_t variance;  /* norm: where its running variances [channels] begin in the statistics */
    int channels;     /* 0: no norm */
};
int nn_model_n_outputs(const struct nn_model *m);
struct nn_output nn_model_output(const struct nn_model *m, int i);
/* *largest = the largest magnitude in output i of the last pass, over its first `batch` images; not
 * finite when one of them is not. scratch [n] float. Returns 0 or the backend's failure. */
int nn_model_largest(struct nn_model *m, int i, int batch, float *scratch, size_t n,
                     float *largest);

/* The factor on the loss in fp16 (and where setup says scaled): fixed, or moving: halved when a
 * step's gradients are not finite, doubled after 2000 good ones in a row. Where layers have scales of
 * their own: 1. Part of a run's state; the same on all ranks if they are told the same. */
struct nn_loss_scale {
    double value;
    uint32_t n_good; /* steps in a row; adaptive: since the layers' scales were refreshed */
    bool moving;
};
struct nn_loss_scale *nn_model_loss_scale(struct nn_model *m);
/* After every step: were the gradients finite (on all ranks)? */
void nn_model_loss_scale_update(struct nn_model *m, bool finite);

/* Adaptive: the layers' own scales [n], what a rank keeps of them from step to step; n 0 elsewhere.
 * In host memory, between passes; put takes what get gave. */
size_t nn_model_n_scales(const struct nn_model *m);
void nn_model_scales_get(const struct nn_model *m, float *to);
void nn_model_scales_put(struct nn_model *m, const float *from);

/* The gradients that convolutions, linear layers and LSTMs hand back are counted in the passes that follow
 * (setup's watched; such a pass is not recorded). back: of the last one, the i-th in backward order; false: there
 * is none. */
struct nn_back {
    const char *name;          /* of its weights: "s1b0.conv1.weight" */
    float given, own, carried; /* S, s and S * s (hls/nn/loss_scale.h); one scale for all: s is 1 */
    const struct scale_tally *tally; /* of what carries the last, before it was rounded */
};
void nn_model_watch(struct nn_model *m, bool on);
bool nn_model_back(const struct nn_model *m, int i, struct nn_back *out);

/* Seconds spent inside the backend's GEMMs since open, for the bench's share. */
double nn_model_gemm_s(const struct nn_model *m);

#endif
