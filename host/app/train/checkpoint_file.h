/* checkpoint_file.h : declares the file format of checkpoints. Files are written whole or not at
 * all, and read as untrusted bytes.
 *
 *     struct checkpoint_head | id of the run
 *     | text: the options that matter for bits, "name=value" lines
 *     | struct checkpoint_entry of each section
 *     | uint32_t number of layers | struct checkpoint_layer of each
 *     | sections in the same order; a section has its parts rank after rank
 *     | crc32 of all bytes before it                              (little endian) */
#ifndef CHECKPOINT_FILE_H
#define CHECKPOINT_FILE_H
#include "base/file.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHECKPOINT_ENTRIES_MAX = 16, CHECKPOINT_RUN_BYTES = 16 };

/* Text line that exists if the schedule depends on the number of steps. */
#define CHECKPOINT_STEPS "steps in all"

struct checkpoint_entry {
    char name[20];    /* zero-padded, at least one zero */
    uint32_t n_parts; /* 1, or one for each rank */
    uint64_t bytes;   /* of one part */
};

/* A layer of the section "weights". */
struct checkpoint_layer {
    char name[32];           /* zero-padded, at least one zero */
    uint64_t at, n;          /* first element, elements */
    uint64_t column, stride; /* as in struct nn_param */
};

/* Resuming needs the same contents, except for the id. */
struct checkpoint_plan {
    char run[CHECKPOINT_RUN_BYTES]; /* hex digits without a terminating zero */
    const char *text;
    uint32_t n_ranks, n_entries;
    struct checkpoint_entry entries[CHECKPOINT_ENTRIES_MAX];
    struct checkpoint_layer *layers; /* [n_layers] */
    uint32_t n_layers;
};

struct checkpoint_out {
    struct file_out file;
    uint32_t crc;
};

/* Write a checkpoint: open, put all parts of all sections in the plan's order, commit or discard.
 * After a reported failure, further calls fail without a report. */
int checkpoint_out_open(struct checkpoint_out *out, const char *path,
                        const struct checkpoint_plan *plan);
int checkpoint_out_put(struct checkpoint_out *out, const void *from, size_t bytes);
int checkpoint_out_commit(struct checkpoint_out *out);
void checkpoint_out_discard(struct checkpoint_out *out); /* also after commit, or if zeroed */

/* Read a checkpoint: open, which checks the file against the plan, then get the parts in its order.
 * run: set to the writing run's id. */
int checkpoint_in_open(struct file_in *in, const char *path, const struct checkpoint_plan *plan,
                       char run[CHECKPOINT_RUN_BYTES]);
/* True if the file's head says that it is a checkpoint of this run. Reports nothing. */
bool checkpoint_is_of(const char *path, const char run[CHECKPOINT_RUN_BYTES]);
int checkpoint_in_get(struct file_in *in, void *to, size_t bytes);

/* The weights in a checkpoint of any run, read by checkpoint_weights_read(). */
struct checkpoint_weights {
    struct checkpoint_layer *layers; /* [n_layers] */
    uint32_t n_layers;
    float *values; /* perhaps inf or nan */
};
int checkpoint_weights_read(const char *path, struct checkpoint_weights *out);
void checkpoint_weights_free(struct checkpoint_weights *w); /* legal if zeroed */

#endif
