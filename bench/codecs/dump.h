/* dump.h : reads the dump of `narrowcast train --dump-gradients DIR` (app/train/grad_dump.h). */
#ifndef DUMP_H
#define DUMP_H
#include "base/err.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

struct dump_layer {
    char name[64];
    size_t offset, n;      /* elements */
    size_t column, stride; /* as in struct nn_param; 0: not in the dump */
};
struct dump {
    const char *dir;
    int n_ranks, n_layers;
    uint64_t n_steps, first;
    size_t n;                  /* elements of all layers */
    struct dump_layer *layers; /* [n_layers] */
};

/* dir must outlive the dump. */
int dump_open(struct dump *d, const char *dir);
void dump_close(struct dump *d);

/* Read n elements of a step's file; name: "rank0" or "weights". */
int dump_read_flat(const struct dump *d, uint64_t step, const char *name, float *x);
int dump_read_rank(const struct dump *d, uint64_t step, int rank, float *grads);

#endif
