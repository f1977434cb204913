/* checkpoint.h : --save and --resume: the whole state of a run in one file (checkpoint_file.h), so
 * that it goes on to the same bits. Rank 0 reads and writes. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

struct train;

/* Can --save write at all? Better now than after an hour. Returns 0 or a negative errno with a
 * line. */
int checkpoint_check(struct train *t);

/* Saves the state after t->state.step steps; all ranks call it. *file_rc: 0, or why rank 0 could
 * not write, with a line. Returns 0 or a negative errno: ranks are gone, or this one failed alone
 * and the others wait for it, so the job must end. */
int checkpoint_save(struct train *t, int *file_rc);

/* Loads the state; all ranks call it. Foreign, damaged and truncated files, and other options than
 * it was made with, are refused. Returns 0 or a negative errno, agreed upon by all ranks. */
int checkpoint_load(struct train *t);

#endif
