/* grad_stats_inside.h : declares what the files of --stats share. */
#ifndef GRAD_STATS_INSIDE_H
#define GRAD_STATS_INSIDE_H
#include "app/train/grad_stats.h"
#include "app/train/train.h"
#include "base/jsonl.h"
#include "vec/round_off.h"

struct grad_outcome {
    struct round_off error; /* of the mean over ranks */
    double updates, lost;   /* updates that are not 0; those that do not change the weight */
};

struct grad_output {
    float largest;
    double variance_least; /* norm: least running variance; else nan */
    double underflow;      /* norm: share of variances below the normals of e5m10 */
};

struct grad_stats {
    float *piece; /* scratch: a piece of a vector */
    double *wide;
    int8_t *exponents;         /* [n_params] maximum over all ranks */
    struct grad_counts counts; /* of the current layer */

    /* The rest is rank 0's only. */
    struct jsonl file;
    int back_rc;                   /* result of writing the backward lines */
    double *exact;                 /* [n_weights] sum over ranks */
    struct grad_counts *own, *all; /* [n_params] rank 0's; all ranks' */
    struct grad_outcome layer, network;
    struct grad_output *outputs; /* [nodes] */
};

/* Write one line each (grad_stats_write.c). */
int grad_stats_write_layer(struct train *t, struct grad_stats *s, int i, bool skipped);
int grad_stats_write_network(struct train *t, struct grad_stats *s, double lr, bool skipped);

/* Node outputs (grad_stats_write.c): look reads those of the last pass, before the next;
 * write writes a line a node. */
int grad_outputs_open(struct train *t, struct grad_stats *s);
int grad_outputs_look(struct train *t, struct grad_stats *s, size_t piece);
int grad_outputs_write(struct train *t, struct grad_stats *s);

#endif
