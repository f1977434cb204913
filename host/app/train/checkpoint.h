/* checkpoint.h : saves and resumes the whole state of a run (--save, --resume), so that a resumed
 * run ends with the same bits. Rank 0 reads and writes the file (checkpoint_file.h). */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

struct train;

/* Checks at the start that --save can be written. */
int checkpoint_check(struct train *t);

/* Saves the state after t->state.step steps; all ranks call it. *file_rc: 0, or rank 0's error in
 * writing, reported. Returns 0 or a negative errno. On a negative errno ranks are gone, or only
 * this rank failed and the others wait for it: the job must end. */
int checkpoint_save(struct train *t, int *file_rc);

/* Loads the state; all ranks call it and agree on the result. Refuses foreign, damaged and
 * truncated files, and files made with other options. */
int checkpoint_load(struct train *t);

#endif
