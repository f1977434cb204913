/* grad_stats_inside.h : declares the state and functions that grad_stats*.c and back_stats.c
 * share. */
#ifndef GRAD_STATS_INSIDE_H
#define GRAD_STATS_INSIDE_H
#include "app/train/grad_stats.h"
#include "app/train/train.h"
#include "base/jsonl.h"
#include "vec/round_off.h"

struct grad_outcome {
    struct round_off error; /* of the mean over ranks */
    /* nonzero updates, and those of them that do not change the weight */
    double updates, lost;
};

struct grad_output {
    float largest;
    double variance_least; /* of a norm: least running variance; else nan */
    double underflow;      /* of a norm: share of variances below the normal numbers of e5m10 */
};

struct grad_stats {
    float *piece; /* scratch */
    double *wide;
    int8_t *exponents;         /* [n_params] maximum over all ranks */
    struct grad_counts counts; /* of the layer */

    /* only for rank 0 */
    struct jsonl file;
    int back_rc;                   /* of writing the backward lines */
    double *exact;                 /* [n_weights] sum over ranks */
    struct grad_counts *own, *all; /* [n_params] of rank 0; of all ranks */
    struct grad_outcome layer, network;
    struct grad_output *outputs; /* [number of nodes] */
};

/* Write a line (grad_stats_write.c). */
int grad_stats_write_layer(struct train *t, struct grad_stats *s, int i, bool skipped);
int grad_stats_write_network(struct train *t, struct grad_stats *s, double lr, bool skipped);

/* Measure the outputs of nodes (grad_stats_write.c). look must be called between the last pass and
 * the next; write writes a line for each node. */
int grad_outputs_open(struct train *t, struct grad_stats *s);
int grad_outputs_look(struct train *t, struct grad_stats *s, size_t piece);
int grad_outputs_write(struct train *t, struct grad_stats *s);

/* Writes size and scale of the activation gradients that layers return (back_stats.c): a line for
 * each convolution, linear layer or LSTM of this rank's last pass, in backward order, which
 * nn_model_watch() must have watched. app/README.md has the keys. */
int back_stats_write(const struct train *t, struct jsonl *j);

#endif
