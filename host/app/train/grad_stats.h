/* grad_stats.h : --stats: what narrow floats do to the gradients of some steps, layer by layer, as
 * JSON lines. README.md says what stands in a line.
 *
 * A step that is looked at costs a message of exponents, one of counts a layer, and the sum of all
 * gradients in fp64; any other step costs a comparison. All ranks call, in step; rank 0 writes. */
#ifndef GRAD_STATS_H
#define GRAD_STATS_H
#include "hls/arith/rules.h"
#include <stdbool.h>
#include <stddef.h>

struct train;
struct reducer_step;
struct grad_stats;

/* With --stats: memory, the file and its first line. Returns 0 or a negative errno with a line. */
int grad_stats_open(struct train *t);
void grad_stats_close(struct train *t);

/* Is this step (t->state.step) one to look at? Then its gradients must be there in whole before any
 * of them travels. */
bool grad_stats_due(const struct train *t);

/* In front of the reducer, and behind the update; nothing in other steps. Return 0 or a negative
 * errno of comm.h; *file_rc: what became of the file, on rank 0. */
int grad_stats_before(struct train *t);
int grad_stats_after(struct train *t, double lr, const struct reducer_step *reduced, int *file_rc);

/* ---- what a layer's gradient is made of: how many values of each exponent, and what a
 * cast to a narrow format loses of them. All counts are doubles, so that ranks add them up ---- */

/* floor(log2|x|) of an fp32 that is finite and not 0 */
enum { GRAD_EXPONENT_MIN = -149, GRAD_EXPONENT_MAX = 127, GRAD_BINS = 277 };

struct grad_counts {
    double zero, not_finite;
    double underflow, saturate; /* as codec.h has them */
    double bins[GRAD_BINS];
};
enum { GRAD_COUNTS = GRAD_BINS + 4 }; /* doubles in it */

/* n more values. */
void grad_counts_add(struct grad_counts *c, const float *x, size_t n);

/* What the cast of x * 2^shift loses: underflow, saturate. at: index of x[0] in its layer. */
void grad_counts_cast(struct grad_counts *c, const struct vec_cast *cast, int shift, const float *x,
                      size_t n, size_t at);

#endif
