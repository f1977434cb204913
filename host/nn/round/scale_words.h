/* scale_words.h : --loss-scale's word. */
#ifndef SCALE_WORDS_H
#define SCALE_WORDS_H
#include "nn/nn_ops.h"

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
