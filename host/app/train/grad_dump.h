/* grad_dump.h : writes all ranks' raw gradients of selected steps (--dump-gradients), for studies
 * of formats outside training.
 *
 *     DIR/meta.txt                one line: "ranks P steps S first F"
 *     DIR/layers.txt              one line per layer, in forward order: name, offset and length in
 *                                 elements, length and stride of its columns
 *     DIR/stepNNNNNN.rankR.f32    flat gradient of rank R before the all-reduce, little-endian fp32
 *     DIR/stepNNNNNN.weights.f32  flat weights in that step, the same on all ranks */
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
