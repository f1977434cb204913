/* layer.h : defines the numbers and shapes that the passes of layers.def use on CPU and GPU. */
#ifndef LAYER_H
#define LAYER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/loss_scale.h"
#include "hls/arith/mf.h"

/* The type of layers: float; double in tests of gradients (-DNN_REAL_DOUBLE). */
#ifdef NN_REAL_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* Multiply without fusing the product into an FMA, as nvcc does with a * b + c. */
MF_FN real real_mul(real a, real b)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/* FP32: float. TF32: products of convolutions and linear layers have 10 bits of mantissa. FP16,
 * BF16: 16-bit activations and copies of the weights; float sums, weights and weight gradients.
 * FP16_PURE: halves throughout, including statistics and optimiser states. */
enum nn_math { NN_FP32, NN_TF32, NN_FP16, NN_BF16, NN_FP16_PURE };

struct nn_shape {
    int h, w, c;
};

MF_FN size_t shape_elements(struct nn_shape s)
{
    return (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

/* A k*k window sliding over an image: conv2d (out.c filters) or pooling (out.c = in.c, whose last
 * windows may reach over the image's end). */
struct nn_window {
    struct nn_shape in, out;
    int k, stride, pad;
    /* conv2d: groups of channels and filters, each a convolution of its own; 0 means 1 */
    int groups;
    /* conv2d: least pixels per product (conv_block.h). 0: as many as fit the nearest cache. Wide
     * filters need more, since CBLAS packs them again for every block */
    int block_least;
    /* conv2d: distance between neighbouring taps; 0 means 1 */
    int dilation;
};

MF_FN int window_dilation(struct nn_window g)
{
    return g.dilation > 1 ? g.dilation : 1;
}

MF_FN int window_weights(const struct nn_window *g)
{
    return g->k * g->k * (g->in.c / (g->groups ? g->groups : 1));
}

/* From the first to the last pixel under a window, along a side. */
MF_FN int window_reach(struct nn_window g)
{
    return (g.k - 1) * window_dilation(g);
}

/* Batch norm over n pixels of c channels, with the addition and ReLU
 * that may follow; k is `factor`:
 * y = relu(k * (gamma * (x - mean) / sqrt(var + eps) + beta) + addend), or, if swapped,
 * y = relu(gamma * (addend + k * (x - mean) / sqrt(var + eps)) + beta). */
struct nn_batch_norm {
    int c;
    bool relu;
    /* an addend joins before the ReLU, at the end of a residual block */
    bool addend;
    double eps; /* 1e-5 */
    /* 0.1: running = 0.9 * running + 0.1 * batch's; the variance is the unbiased one */
    double momentum;
    const real *gamma, *beta; /* [c]; these and the running ones are PAR (layers.def) */
    real *run_mean, *run_var; /* [c] */
    /* [c] each, of the batch, from forward to backward; eval may overwrite inv_std */
    real *mean, *inv_std;
    real factor;  /* 1: none */
    bool swapped; /* gamma and beta after the addition; needs an addend */
};

/* Layer norm's order of sums on every backend. Over a row's channels: lane j adds channels j, j +
 * LAYER_NORM_LANES, ... upward, then lane j + half for half the lanes, a quarter, ... Over rows:
 * runs of layer_norm_run(n) rows add upward, then the runs add in double. */
enum { LAYER_NORM_LANES = 32, LAYER_NORM_RUNS = 128 };
MF_FN size_t layer_norm_run(size_t n)
{
    return n / LAYER_NORM_RUNS + (n % LAYER_NORM_RUNS != 0);
}

/* Local response normalisation: channels on either side in the sum. */
enum { LRN_REACH = 2, LRN_CHANNELS = 2 * LRN_REACH + 1 };

/* An LSTM with peepholes and a projection (layers.def). */
struct nn_lstm {
    int steps, in, cells, out;
    const real *wx, *wr, *wp; /* [4 cells][in], [4 cells][out], [out][cells]; PAR (layers.def) */
    const real *peep, *bias;  /* [3 cells], [4 cells] */
};
struct nn_lstm_grads {
    real *wx, *wr, *wp, *peep, *bias;
};
enum { LSTM_GATES = 4, LSTM_PEEPS = 3, LSTM_KEPT = LSTM_GATES + 2 };

/* Most scratch bytes of a moments pass. */
enum { MOMENTS_SCRATCH = 4096 };

struct nn_result {
    double loss_sum; /* over the labels that count */
    int n_labels;    /* labels that count: one a sample, or one a pixel */
    int n_correct;
    int n_top;   /* labels among the NN_TOP largest logits */
    int n_edits; /* ctc: edits between decoded and wanted transcripts */
};
enum { NN_TOP = 5 };
enum { CTC_LABELS_MAX = 256 }; /* in a transcript */

#endif
