/* quantise.h : --quantise: which layers travel by the codec, and which are too small to pay for it. */
#ifndef QUANTISE_H
#define QUANTISE_H
#include "reduce/reducer.h"

/* all, large, or auto (NULL is the same): as the kind of codec has it. Returns 0 or -EINVAL with a
 * line. */
int quantise_parse(const char *word, const struct codec *codec, bool *leaves_small);

/* Marks the smallest layers that together have less than 1 % of all elements: they travel in
 * fp32. */
void quantise_leave_small(struct reducer_layer *layers, int n_layers);

#endif
