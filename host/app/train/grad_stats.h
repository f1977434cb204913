/* grad_stats.h : measures for --stats how a narrow format changes the gradients of selected steps,
 * layer by layer. README.md documents the JSON lines.
 *
 * A selected step costs a message of exponents, one message of counts a layer, and the fp64
 * sum of all gradients. Every other step costs one comparison. All ranks call these
 * functions in step; rank 0 writes. */
#ifndef GRAD_STATS_H
#define GRAD_STATS_H
#include "hls/arith/rules.h"
#include <stdbool.h>
#include <stddef.h>

struct train;
struct reducer_step;
struct grad_stats;

/* With --stats: allocates memory, opens the file and writes its first line. Returns 0 or a negative
 * errno after reporting it. */
int grad_stats_open(struct train *t);
void grad_stats_close(struct train *t);

/* Whether this step (t->state.step) is selected. If so, the complete gradients must exist
 * before any of them is sent. */
bool grad_stats_due(const struct train *t);

/* Call before the reducer and after the update; no effect in other steps. Return 0 or a negative
 * errno of comm.h. *file_rc: the result of the file, on rank 0. */
int grad_stats_before(struct train *t);
int grad_stats_after(struct train *t, double lr, const struct reducer_step *reduced, int *file_rc);

/* ---- histogram of a gradient's exponents, and losses of a cast ----
 *
 * All counts are doubles, so that comm_sum_f64() can add them over ranks. */

/* floor(log2|x|) of a finite fp32 that is not 0 */
enum { GRAD_EXPONENT_MIN = -149, GRAD_EXPONENT_MAX = 127, GRAD_BINS = 277 };

struct grad_counts {
    double zero, not_finite;
    double underflow, saturate; /* as in codec.h */
    double bins[GRAD_BINS];
};
enum { GRAD_COUNTS = GRAD_BINS + 4 }; /* doubles in struct grad_counts */

/* Counts n more values. */
void grad_counts_add(struct grad_counts *c, const float *x, size_t n);

/* Counts the values that the cast of x * 2^shift loses by underflow and saturation. at:
 * index of x[0] in its layer. */
void grad_counts_cast(struct grad_counts *c, const struct vec_cast *cast, int shift, const float *x,
                      size_t n, size_t at);

#endif
