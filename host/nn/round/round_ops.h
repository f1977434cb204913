/* round_ops.h : a network whose numbers between layers are narrow: a backend's table in front of
 * another, which rounds what passes from layer to layer and leaves the arithmetic to it. Source:
 * APS paper, 5 (CPD).
 *
 *     act      every output of a layer, the last one too; images come as they are
 *     weight   weights and biases of convolutions and linear layers, as layers read them: a copy,
 *              made before each pass. The optimiser's own stay fp32; so do gammas and betas
 *     error    the gradient of every output: the loss's first, then what each layer hands back
 *
 * A layer rounds what it makes, once, behind all that it does: batch norm (statistics, running ones
 * too, are of its rounded input, in fp32) with the addition and the ReLU inside it; so their own
 * outputs in front of an addition are not rounded. A ReLU lets gradients pass where its rounded
 * output is above zero, inside batch norm as well. Layers that hand on values they were given (ReLU,
 * largest of a window, shortcut) round nothing. The loss reads rounded logits and computes in fp32.
 * Gradients of weights are what the products of rounded factors give: fp32, for the reducer.
 *
 * Pure fp16 (round_pure) has every tensor in e5m10, so weights need no copy; a GPU does without this
 * table, as all is halves there (NN_FP16_PURE). Besides act and error
 *
 *     input    images, as layers see them
 *     grad     gradients of weights, and their sums over micro-batches
 *     state    what lives from step to step: weights, velocities (each operation of a step is
 *              rounded, nn_ops.h's nn_optim), running statistics; and all that is put
 *
 * Source: pure fp16 paper, 4. What stays wider is inside one operation: round_pure_wide.
 *
 * Rounding is to nearest even; what is too large becomes the largest finite number, or with
 * overflow=inf what IEEE has: inf (e4m3fn: nan). error has a power of two of its own, the loss's
 * scale: it is rounded as if the loss were so many times as large. */
#ifndef ROUND_OPS_H
#define ROUND_OPS_H
#include "hls/arith/rules.h"
#include "nn/nn_ops.h"

enum round_what {
    ROUND_ACT,
    ROUND_WEIGHT,
    ROUND_ERROR,
    ROUND_WORDS, /* those that --quant has words for */
    ROUND_INPUT = ROUND_WORDS,
    ROUND_GRAD,
    ROUND_STATE,
    ROUND_WHATS
};

struct round_setup {
    const struct nn_ops *below; /* the backend that computes; filled by the caller */
    struct {
        bool on;
        struct round_rule rule; /* error's shift: filled by the caller; else 0 */
    } of[ROUND_WHATS];
};

/* Reads --quant's word: "none", or act=F, weight=F, error=F, overflow=saturate|inf, in any order,
 * commas between them. Returns 1; 0 for "none", where *out stays; -EINVAL with a line. */
int round_words(const char *word, struct round_setup *out);

/* Everything but weights' copies to e5m10, to nearest even, with IEEE's inf. */
void round_pure(struct round_setup *out);
/* What is wider in pure fp16, a list; and what is another on a GPU. */
extern const char round_pure_wide[], round_pure_wide_cuda[];

/* Opened with setup->round; it goes to `below` with the rest of the setup. */
extern const struct nn_ops nn_round;

/* ---- --loss-scale's word ---- */

/* What gradients of activations are multiplied by. auto: moving where the math is fp16, else 1. */
enum scale_kind { SCALE_AUTO, SCALE_FIXED, SCALE_MOVING, SCALE_ADAPTIVE };
struct scale_choice {
    enum scale_kind kind;
    double fixed; /* SCALE_FIXED: the factor; else 0 */
    /* SCALE_ADAPTIVE, but for the format's numbers: scale_format() */
    struct scale_setup adaptive;
};

/* Reads auto, none, a power of two, dynamic, or adaptive[:T[,every[,A[,max]]]]. Returns 0 or -EINVAL with a
 * line. */
int scale_words(const char *word, struct scale_choice *out);

/* The rule's least and largest number: the format's. */
void scale_format(struct scale_rule *rule, struct mf_fmt fmt);

#endif
