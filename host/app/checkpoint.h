/* checkpoint.h : --save and --resume: the whole state of a run in one file, so that it goes on to the same bits.
 *
 *     head (struct checkpoint_head) | text: the options that matter for bits, "name=value" lines | weights | velocities |
 *     per rank: sums of the epoch so far, statistics of the batch norms | crc32 of all before       little endian
 *
 * Rank 0 reads and writes. A file is written whole or not at all. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

struct train;

/* Can --save write at all? Better now than after an hour. Returns 0 or a negative errno with a line. */
int checkpoint_check(struct train *t);

/* Saves the state after t->state.step steps; all ranks call it. *file_rc: 0, or why rank 0 could not write, with a line.
 * Returns 0 or a negative errno (ranks gone). */
int checkpoint_save(struct train *t, int *file_rc);

/* Loads the state; all ranks call it. Foreign, damaged and truncated files, and other options than it was made with, are
 * refused. Returns 0 or a negative errno, agreed upon by all ranks. */
int checkpoint_load(struct train *t);

#endif
