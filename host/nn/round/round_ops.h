/* round_ops.h : emulates narrow numbers between layers: a backend table that rounds another's
 * results. Source: APS paper, 5 (CPD).
 *
 *   act      every layer's output, including the last; images stay as they are
 *   weight   weights and biases of convolutions and linear layers, in a copy made before each pass;
 *            the optimiser's weights, gammas and betas stay fp32
 *   error    the gradient of every output: first the loss's, then those that layers pass back
 *
 * A layer's result is rounded once, after all of its operations: batch norm's after the addition
 * and ReLU inside. Its statistics (running ones too) are fp32 values of its rounded input. A ReLU,
 * inside batch norm too, passes gradients where its rounded output is above zero. Layers that only
 * copy values (ReLU, max pooling, shortcut) round nothing. The loss reads rounded logits and
 * computes in fp32. Weight gradients are fp32, of rounded factors.
 *
 * Pure fp16 (round_pure) keeps every tensor in e5m10, so weights need no copy; on GPUs NN_FP16_PURE
 * stores halves instead. Besides act and error it rounds
 *
 *   input    images, as layers see them
 *   grad     weight gradients, and their sums over micro-batches
 *   state    weights, optimiser states (each operation: nn_ops.h's nn_optim), running statistics,
 *            and all uploads
 *
 * Source: pure fp16 paper, 4. round_pure_wide lists what stays wider.
 *
 * Rounding is to nearest even. Overflow gives the largest finite number, or with
 * overflow=inf IEEE's inf (e4m3fn: nan). `error` is rounded as if the loss were multiplied
 * by the loss scale, a power of two. */
#ifndef ROUND_OPS_H
#define ROUND_OPS_H
#include "hls/arith/rules.h"
#include "nn/nn_ops.h"

enum round_what {
    ROUND_ACT,
    ROUND_WEIGHT,
    ROUND_ERROR,
    ROUND_WORDS, /* those that --quant names */
    ROUND_INPUT = ROUND_WORDS,
    ROUND_GRAD,
    ROUND_STATE,
    ROUND_WHATS
};

struct round_setup {
    const struct nn_ops *below; /* the backend that computes; set by the caller */
    struct {
        bool on;
        struct round_rule rule; /* error's shift is set by the caller, else 0 */
    } of[ROUND_WHATS];
};

/* Parse a --quant spec: "none", or act=F, weight=F, error=F, overflow=saturate|inf in any order,
 * with commas. Returns 1, 0 for "none" (*out unchanged), or -EINVAL (reported). */
int round_words(const char *word, struct round_setup *out);

/* Set up pure fp16: all but weight copies in e5m10, to nearest even, with IEEE's inf. */
void round_pure(struct round_setup *out);
/* Lists for `info` of what stays wider in pure fp16, and what differs on a GPU. */
extern const char round_pure_wide[], round_pure_wide_cuda[];

/* The rounding table; open it with setup->round, `below` gets the setup too. */
extern const struct nn_ops nn_round;

/* ---- --loss-scale's spec ---- */

/* The factor on activation gradients. AUTO: moving if the math is fp16, else 1. */
enum scale_kind { SCALE_AUTO, SCALE_FIXED, SCALE_MOVING, SCALE_ADAPTIVE };
struct scale_choice {
    enum scale_kind kind;
    double fixed; /* SCALE_FIXED: the factor; else 0 */
    /* SCALE_ADAPTIVE; scale_format() sets the format's numbers */
    struct scale_setup adaptive;
};

/* Parse auto, none, a power of two, dynamic, or adaptive[:T[,every[,A[,max]]]].
 * Returns 0 or -EINVAL (reported). */
int scale_words(const char *word, struct scale_choice *out);

/* Set the rule's least and largest number to the format's. */
void scale_format(struct scale_rule *rule, struct mf_fmt fmt);

#endif
