/* grad_stats_inside.h : what the files of --stats share. */
#ifndef GRAD_STATS_INSIDE_H
#define GRAD_STATS_INSIDE_H
#include "app/train/grad_stats.h"
#include "app/train/train.h"
#include "base/jsonl.h"
#include "vec/round_off.h"

/* Of a layer, or of all. */
struct grad_outcome {
    struct round_off error; /* of the mean over ranks */
    double updates, lost;   /* updates that are not 0; those that leave their weight as it is */
};

/* Of what a node has made, on rank 0. */
struct grad_output {
    float largest;
    double variance_least; /* norm: of its running variances; nan else */
    double underflow;      /* the share of these that are no normal number of e5m10 */
};

struct grad_stats {
    float *piece; /* of a vector, as it passes */
    double *wide;
    int8_t *exponents;         /* [n_params] over all ranks */
    struct grad_counts counts; /* of a layer, as they add up */

    /* rank 0 alone */
    struct jsonl file;
    int back_rc;                   /* what became of the lines of the way back */
    double *exact;                 /* [n_weights] the sum over ranks */
    struct grad_counts *own, *all; /* [n_params] of rank 0, of all ranks */
    struct grad_outcome layer, network;
    struct grad_output *outputs; /* [nodes] */
};

/* grad_stats_write.c : a line each. Return 0 or a negative errno with a line (disk full). */
int grad_stats_write_layer(struct train *t, struct grad_stats *s, int i, bool skipped);
int grad_stats_write_network(struct train *t, struct grad_stats *s, double lr, bool skipped);

/* grad_stats_write.c : what nodes have made in the last pass is looked at before another pass, and
 * written as a line each. open, look: 0 or a negative errno, and likewise. */
int grad_outputs_open(struct train *t, struct grad_stats *s);
int grad_outputs_look(struct train *t, struct grad_stats *s, size_t piece);
int grad_outputs_write(struct train *t, struct grad_stats *s);

#endif
