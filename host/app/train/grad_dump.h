/* grad_dump.h : writes all ranks' raw gradients of selected steps (--dump-gradients), for studies
 * of formats outside training. app/README.md has the files. */
#ifndef GRAD_DUMP_H
#define GRAD_DUMP_H

struct train;

/* Rank 0 makes the folder (its parent must exist), locks it until grad_dump_close(), and writes the
 * text files. Reports -EINVAL if the run ends before the first step to dump. */
int grad_dump_open(struct train *t);
void grad_dump_close(struct train *t);

/* After a run: corrects meta.txt if the run stopped early. */
int grad_dump_end(struct train *t);

/* Writes this rank's gradients, on rank 0 also the weights, if t->state.step is selected. */
int grad_dump_step(struct train *t);

#endif
