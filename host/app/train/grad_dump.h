/* grad_dump.h : --dump-gradients: every rank's gradients of some steps, raw, for judging formats
 * apart from training.
 *
 *     DIR/meta.txt                  "ranks P steps S first F"
 *     DIR/layers.txt                a line a layer, forward order: name, offset and length in
 *                                   elements, its columns' length and stride
 *     DIR/stepNNNNNN.rankR.f32      the flat gradient of that rank before the all-reduce,
 *                                   little-endian fp32
 *     DIR/stepNNNNNN.weights.f32    the flat weights that it is of, the same on all ranks */
#ifndef GRAD_DUMP_H
#define GRAD_DUMP_H

struct train;

/* Rank 0 makes the folder (its parent must be there), locks it until grad_dump_close(), and writes
 * the two text files. Returns 0 or a negative errno with a line. */
int grad_dump_open(struct train *t);
void grad_dump_close(struct train *t);

/* Writes this rank's gradients, rank 0 the weights as well, if this step (t->state.step) is one to
 * dump. Returns 0 or a negative
 * errno with a line. */
int grad_dump_step(struct train *t);

#endif
