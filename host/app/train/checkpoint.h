/* checkpoint.h : saves and resumes the whole state of a run (--save, --resume), so that a resumed
 * run ends with the same bits. Rank 0 reads and writes the file (checkpoint_file.h). */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

struct train;

/* Checks, at the start of a run, that the file of --save can be written. */
int checkpoint_check(struct train *t);

/* Saves the state after t->state.step steps; all ranks call it. *file_rc: set to 0, or to the
 * reported error of rank 0 in writing. Returns 0 or a negative errno. After a negative errno the
 * job must end, because ranks are gone, or because only this rank has failed and the others wait
 * for it. */
int checkpoint_save(struct train *t, int *file_rc);

/* Loads the state; all ranks call it and agree on the result. Refuses foreign, damaged and
 * truncated files, and files made with other options. */
int checkpoint_load(struct train *t);

#endif
