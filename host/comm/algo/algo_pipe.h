/* algo_pipe.h : declares the pipeline of `direct` and `group-scatter`. Nodes are groups of K
 * consecutive ranks. Segments of the vector pass through it one after another:
 *
 *     need -> codes --------> node's sum --------> result --------> results --------> have
 *                    to members           to nodes         to nodes          to members
 *
 * Member k of each node adds part k of a segment. Member k of node j then adds range j of part k
 * over all nodes. With one node, only codes and results travel: this is `direct`. */
#ifndef ALGO_PIPE_H
#define ALGO_PIPE_H
#include "comm/algo/algo_step.h"

/* Halves of the pipeline: one half only with algo_call.cut, for run() and allgather() of
 * algo_scatter. Its segments are pieces of each rank's range. */
enum { ALGO_PIPE_REDUCE = 1, ALGO_PIPE_GATHER = 2, ALGO_PIPE_BOTH = 3 };

/* Run `halves` of a call of algo.h. group: K, a divisor of P; P with a cut. Returns 0 or a negative
 * errno of comm.h. */
int algo_pipe_run(struct comm *c, const struct algo_call *call, int group, unsigned halves);

/* As algo.h's slots. */
size_t algo_pipe_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group);
int algo_pipe_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                     struct algo_phase *phases);

/* Return the scratch of ALGO_PIPE_REDUCE with algo_call.cut, whose longest range has n elements. */
size_t algo_pipe_cut_bytes(const struct reduce_op *f, size_t n, int n_ranks);

/* ---- algo_pipe_phases.c ---- */

/* Return the elements of a segment of n, a multiple of n_ranks units, and the number of segments of
 * `each`. halves: those whose messages count. */
size_t algo_pipe_segment(const struct reduce_op *f, size_t n, int n_ranks, int group,
                         unsigned halves);
size_t algo_pipe_segments(size_t n, size_t each);

/* Return the reduce op for the sums of nodes: those that travel have K addends. */
struct reduce_op algo_pipe_op(const struct reduce_op *f, int group);

/* Return the form of a node's sum of codes in messages. */
enum algo_form algo_pipe_form(const struct reduce_op *f);

#endif
