/* layer.h : numbers and shapes for the passes of layers.def, on CPU and GPU. */
#ifndef LAYER_H
#define LAYER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/loss_scale.h"
#include "hls/arith/mf.h"

/* float, or double in tests of gradients (-DNN_REAL_DOUBLE) */
#ifdef NN_REAL_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* Return a * b, never fused into an FMA, as nvcc does with a * b + c. */
MF_FN real real_mul(real a, real b)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/* NN_FP32: floats. NN_TF32: also floats, but factors in products of matrices and convolutions
 * have 10 bits of mantissa. NN_FP16, NN_BF16: activations and copies of the weights have 16 bits;
 * sums, weights and weight gradients are floats. NN_FP16_PURE: all are halves, also statistics and
 * optimiser states. */
enum nn_math { NN_FP32, NN_TF32, NN_FP16, NN_BF16, NN_FP16_PURE };

/* Return the word of --precision. */
MF_FN const char *nn_math_word(enum nn_math math)
{
    return math == NN_FP32   ? "fp32"
           : math == NN_TF32 ? "tf32"
           : math == NN_FP16 ? "fp16"
           : math == NN_BF16 ? "bf16"
                             : "fp16-pure";
}

struct nn_shape {
    int h, w, c;
};

MF_FN size_t shape_elements(struct nn_shape s)
{
    return (size_t)s.h * (size_t)s.w * (size_t)s.c;
}
MF_FN size_t batch_elements(struct nn_shape s, int batch)
{
    return (size_t)batch * shape_elements(s);
}

/* A k*k window that slides over an image, for conv2d (out.c filters) or pooling (out.c = in.c). The
 * last windows of pooling may reach over the image's end. */
struct nn_window {
    struct nn_shape in, out;
    int k, stride, pad;
    /* conv2d: groups; each convolves its own channels with its own filters. 0 means 1 */
    int groups;
    /* conv2d: fewest pixels per block (conv_block.h). 0: as many as fit the nearest cache. Wide
     * filters need more, since CBLAS packs them again for every block. */
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

/* Return the distance from the first to the last pixel under a window, along a side. */
MF_FN int window_reach(struct nn_window g)
{
    return (g.k - 1) * window_dilation(g);
}

/* Batch norm over n pixels of c channels, and the optional addition and ReLU after it; k is
 * `factor`:
 *
 *     y = relu(k * (gamma * (x - mean) / sqrt(var + eps) + beta) + addend), or, if swapped,
 *     y = relu(gamma * (addend + k * (x - mean) / sqrt(var + eps)) + beta) */
struct nn_batch_norm {
    int c;
    bool relu;
    /* added before the ReLU, at the end of a residual block */
    bool addend;
    double eps; /* 1e-5 */
    /* 0.1 means: running = 0.9 * running + 0.1 * batch's. The running variance is unbiased. */
    double momentum;
    const real *gamma, *beta; /* [c]; these and the next two have type PAR (layers.def) */
    real *run_mean, *run_var; /* [c] */
    /* [c] each: of the batch, kept from forward to backward; eval may overwrite inv_std */
    real *mean, *inv_std;
    real factor;  /* k; 1 has no effect */
    bool swapped; /* gamma and beta are applied after the addition; needs an addend */
};

/* The order of sums over a row, in layer norm and attention on every backend: lane j adds elements
 * j, j + ROW_LANES, ... in ascending order. Then the first half of the lanes adds the second half,
 * the first quarter the second quarter, and so on. */
enum { ROW_LANES = 32 };

/* The order of layer norm's sums over rows: runs of layer_norm_run(n) rows are added in ascending
 * order, then the runs' sums in double. */
enum { LAYER_NORM_RUNS = 128 };
MF_FN size_t layer_norm_run(size_t n)
{
    return n / LAYER_NORM_RUNS + (n % LAYER_NORM_RUNS != 0);
}

/* Local response normalisation sums a channel and LRN_REACH channels on either side. */
enum { LRN_REACH = 2, LRN_CHANNELS = 2 * LRN_REACH + 1 };

/* Self-attention (layers.def): each of the heads has `wide` channels of q, of k and of v. */
struct nn_attention {
    int steps, heads, wide;
};
/* There are 1, 2, 4 or 8 heads, so that slopes are exact: they divide ATTENTION_FALL. */
enum { ATTENTION_FALL = 8 };

/* Return how much head h's scores fall per step of distance: 2^(-8 (h + 1) / heads). Source: Press,
 * Smith, Lewis 2022, "Train Short, Test Long", 3. */
MF_FN real attention_slope(int heads, int h)
{
    return 1 / (real)(1 << ATTENTION_FALL / heads * (h + 1));
}

/* an LSTM with peepholes and a projection (layers.def) */
struct nn_lstm {
    int steps, in, cells, out;
    const real *wx, *wr, *wp;    /* [4 cells][in], [4 cells][out], [out][cells]; PAR (layers.def) */
    const real *peephole, *bias; /* [3 cells], [4 cells] */
};
struct nn_lstm_grads {
    real *wx, *wr, *wp, *peephole, *bias;
};
enum { LSTM_GATES = 4, LSTM_PEEPHOLES = 3, LSTM_KEPT = LSTM_GATES + 2 };

/* bytes of scratch of a moments pass */
enum { MOMENTS_SCRATCH = 4096 };

struct nn_result {
    double loss_sum; /* sum of the losses of the labels that count */
    int n_labels;    /* labels that count: one per sample, or one per pixel */
    int n_correct;   /* that were predicted */
    int n_top;       /* among the NN_TOP largest logits */
    int n_edits;     /* ctc: edits between decoded and wanted transcripts */
};
enum { NN_TOP = 5 };
enum { CTC_LABELS_MAX = 256 }; /* in a transcript */

#endif
