/* layer.h : what the passes of layers.def speak of, on the CPU and on a GPU: numbers and shapes. */
#ifndef LAYER_H
#define LAYER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/loss_scale.h"
#include "hls/arith/mf.h"

/* The number that layers compute in: float, or double in the tests that hold every gradient against
 * central differences (-DNN_REAL_DOUBLE). */
#ifdef NN_REAL_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* A product that no compiler makes one rounding of with a sum, as nvcc does with a * b + c. */
MF_FN real real_mul(real a, real b)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/* What conv and linear compute with: float; float whose products take 10 bits of mantissa; 16-bit
 * activations and copies of the weights, with float sums, float weights and float gradients of
 * weights; halves everywhere, weights, their gradients, statistics and velocities too. */
enum nn_math { NN_FP32, NN_TF32, NN_FP16, NN_BF16, NN_FP16_PURE };

struct nn_shape {
    int h, w, c;
};

/* Of one sample. */
MF_FN size_t shape_elements(struct nn_shape s)
{
    return (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

/* A window of k*k pixels that walks over an image: conv2d (out.c filters) and pooling (out.c =
 * in.c). The last windows may reach over the image's end, as those of pooling do that rounds up. */
struct nn_window {
    struct nn_shape in, out;
    int k, stride, pad;
    /* conv2d: channels and filters fall into so many parts, each a conv2d of its own; 0 is 1 */
    int groups;
    /* conv2d: pixels that its products take at once, at least (conv_block.h). 0: what the nearest
     * cache holds, which suits narrow layers; CBLAS has to pack wide filters for every block */
    int block_least;
    /* conv2d: the k*k pixels lie so far apart in either direction; 0 is 1: side by side */
    int dilation;
};

MF_FN int window_dilation(struct nn_window g)
{
    return g.dilation > 1 ? g.dilation : 1;
}

/* Weights of each filter of a conv2d. */
MF_FN int window_weights(const struct nn_window *g)
{
    return g->k * g->k * (g->in.c / (g->groups ? g->groups : 1));
}

/* From the first pixel under a window to the last, along a side. */
MF_FN int window_reach(struct nn_window g)
{
    return (g.k - 1) * window_dilation(g);
}

/* Batch norm over n pixels of c channels, with what may follow it:
 * y = relu(k * (gamma * (x - mean) / sqrt(var + eps) + beta) + addend), or, swapped,
 * y = relu(gamma * (addend + k * (x - mean) / sqrt(var + eps)) + beta); k is the factor. */
struct nn_batch_norm {
    int c;
    bool relu;
    /* a second tensor is added before the ReLU: the end of a residual block */
    bool addend;
    double eps; /* 1e-5 */
    /* 0.1: running = 0.9 * running + 0.1 * batch's (variance: the unbiased one) */
    double momentum;
    const real *gamma, *beta; /* [c]; these four of PAR (layers.def) */
    real *run_mean, *run_var; /* [c] */
    /* [c] each: of the batch, from forward to backward; eval may overwrite inv_std */
    real *mean, *inv_std;
    real factor;  /* 1: none */
    bool swapped; /* gamma and beta stand behind the addition, which there is */
};

/* Layer norm's order of sums, on every backend. Over a row's channels: lane j adds channels j, j +
 * LAYER_NORM_LANES, ... upward; then lane j adds lane j + half, for half the lanes, a quarter, ...
 * Over rows: each run of so many adds upward, then the runs in double. */
enum { LAYER_NORM_LANES = 32, LAYER_NORM_RUNS = 128 };
MF_FN size_t layer_norm_run(size_t n)
{
    return n / LAYER_NORM_RUNS + (n % LAYER_NORM_RUNS != 0);
}

/* Local response normalisation: neighbours on either side of a channel that count in its sum. */
enum { LRN_REACH = 2, LRN_CHANNELS = 2 * LRN_REACH + 1 };

/* An LSTM with peepholes and a projection (layers.def has its equations) over sequences of at most so
 * many steps. */
struct nn_lstm {
    int steps, in, cells, out;
    const real *wx, *wr, *wp; /* [4 cells][in], [4 cells][out], [out][cells]; of PAR (layers.def) */
    const real *peep, *bias;  /* [3 cells], [4 cells] */
};
/* Gradients of those. */
struct nn_lstm_grads {
    real *wx, *wr, *wp, *peep, *bias;
};
enum { LSTM_GATES = 4, LSTM_PEEPS = 3, LSTM_KEPT = LSTM_GATES + 2 };

/* What the passes that take moments may leave behind. */
enum { MOMENTS_SCRATCH = 4096 };

struct nn_result {
    double loss_sum; /* over the labels that count: one a sample, or one for each pixel */
    int n_labels;    /* so many */
    int n_correct;
    int n_top;   /* labels among the NN_TOP largest */
    int n_edits; /* ctc: between transcripts found and wanted */
};
enum { NN_TOP = 5 };
enum { CTC_LABELS_MAX = 256 }; /* of a transcript */

#endif
