/* round_ops.h : emulates narrow numbers between layers: a backend table that calls another one and
 * rounds its results. Source: APS paper, 5 (CPD).
 *
 *   act      every layer's output, including the last one's; images stay as they are
 *   weight   weights and biases of convolutions and linear layers, in a copy made before each pass;
 *            the optimiser's weights, gammas and betas stay fp32
 *   error    the gradient of every output: that of the loss, and those that layers pass back
 *
 * A layer's result is rounded once, after all operations; a batch norm includes its addition and
 * ReLU. Statistics of batch norm, running ones included, are fp32 values of its rounded input. A
 * ReLU, also one inside batch norm, passes gradients where its rounded output is above zero. Layers
 * that only copy values (ReLU, max pooling, shortcut) do not round. The loss reads rounded logits
 * and computes in fp32. Weight gradients are fp32 products of rounded factors.
 *
 * Pure fp16 (round_pure) keeps every tensor in e5m10, so weights need no copy; on GPUs NN_FP16_PURE
 * stores halves instead. Besides act and error it rounds
 *
 *   input    images, as layers see them
 *   grad     weight gradients, and their sums over micro-batches
 *   state    weights, optimiser states (each operation: nn_ops.h's nn_optim), running statistics,
 *            and all uploads
 *
 * Source: pure fp16 paper, 4. round_pure_wide lists the values that stay wider.
 *
 * Rounding is to nearest even. Overflow gives the largest finite number, or with overflow=inf
 * IEEE's inf (e4m3fn: nan). `error` is rounded as if the loss were multiplied by the loss scale, a
 * power of two. */
#ifndef ROUND_OPS_H
#define ROUND_OPS_H
#include "hls/arith/rules.h"
#include "nn/nn_ops.h"

enum round_what {
    ROUND_ACT,
    ROUND_WEIGHT,
    ROUND_ACT_GRAD,
    ROUND_SPEC,
    ROUND_INPUT = ROUND_SPEC,
    ROUND_GRAD,
    ROUND_STATE,
    ROUND_WHATS
};

struct round_setup {
    const struct nn_ops *below; /* the backend that computes; set by the caller */
    struct {
        bool on;
        struct round_rule rule; /* the caller sets the shift of `error`; others: 0 */
    } of[ROUND_WHATS];
};

/* Parse a --quant spec: "none", or act=F, weight=F, error=F and overflow=saturate|inf in any order,
 * comma-separated. Returns 1, 0 for "none" (*out unchanged), or -EINVAL (reported). */
int round_spec(const char *word, struct round_setup *out);

/* Set up pure fp16: e5m10, to nearest even, with IEEE's inf, for all but weight copies. */
void round_pure(struct round_setup *out);
/* for `info` */
extern const char round_pure_wide[], round_pure_wide_cuda[];

/* The rounding table. Open it with setup->round; `below` gets the same setup. */
extern const struct nn_ops nn_round;

/* Kind of factor on activation gradients. AUTO: moving in fp16, else 1. */
enum scale_kind { SCALE_AUTO, SCALE_FIXED, SCALE_MOVING, SCALE_ADAPTIVE };
struct scale_choice {
    enum scale_kind kind;
    double fixed; /* of SCALE_FIXED, else 0 */
    /* of SCALE_ADAPTIVE; scale_format() sets the format's numbers */
    struct scale_setup adaptive;
};

/* Parse a --loss-scale spec: auto, none, a power of two, dynamic, or
 * adaptive[:T[,every[,A[,max]]]]. Returns 0 or -EINVAL (reported). */
int scale_spec(const char *word, struct scale_choice *out);

/* Set the rule's least and largest number to the format's. */
void scale_format(struct scale_rule *rule, struct mf_fmt fmt);

#endif
