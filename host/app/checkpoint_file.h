/* checkpoint_file.h : a checkpoint on the disk: written whole or not at all, read as bytes that
 * anybody may have made.
 *
 *     head (struct checkpoint_head) | text: the options that matter for bits, "name=value" lines | weights | velocities |
 *     per rank: sums of the epoch so far, statistics of the batch norms | crc32 of all before       little endian */
#ifndef CHECKPOINT_FILE_H
#define CHECKPOINT_FILE_H
#include "hls/layer.h"
#include <stddef.h>
#include <stdint.h>

/* How far a run has come. */
struct checkpoint_state {
    uint64_t step, skipped, skipped_in_row;
    double loss_scale;        /* fp16 */
    uint64_t loss_scale_good; /* steps since it moved */
};

/* A run's memory. All of it goes to a file; of a file all but `state` and the three arrays must be
 * what the run has. */
struct checkpoint_file {
    const char *text;
    uint32_t n_ranks;
    uint64_t n_weights, n_stats, n_steps; /* n_steps: of the whole run, at which it ends */
    size_t rank_bytes;
    struct checkpoint_state state;
    real *weights, *velocities; /* [n_weights] */
    uint8_t *ranks;             /* [n_ranks * rank_bytes] */
};

/* Return 0 or a negative errno with a line. What cannot be read leaves state as it was, the arrays
 * perhaps not. */
int checkpoint_file_write(const char *path, const struct checkpoint_file *c);
int checkpoint_file_read(const char *path, struct checkpoint_file *c);

#endif
