/* grad_stats.h : measures for --stats how a narrow format changes each layer's gradients.
 * app/README.md has the lines and the cost. All ranks call these functions in step; rank 0
 * writes. */
#ifndef GRAD_STATS_H
#define GRAD_STATS_H
#include "hls/arith/rules.h"
#include <stdbool.h>
#include <stddef.h>

struct train;
struct reducer_step;
struct grad_stats;

/* Allocates memory and, on rank 0, opens the file of --stats. No effect without --stats. */
int grad_stats_open(struct train *t);
void grad_stats_close(struct train *t);

/* Returns true if t->state.step is selected. Its gradients must not be sent before all are
 * complete. */
bool grad_stats_due(const struct train *t);

/* Measure a selected step, before the reducer and after the update; no effect in other steps.
 * *file_rc: set on rank 0 to the result of writing. Both return 0 or a negative errno of comm.h. */
int grad_stats_before(struct train *t);
int grad_stats_after(struct train *t, double lr, const struct reducer_step *reduced, int *file_rc);

/* ---- histogram of exponents, and losses of a cast; doubles for comm_sum_f64() ---- */

/* range of floor(log2|x|) for finite fp32 x other than 0 */
enum { GRAD_EXPONENT_MIN = -149, GRAD_EXPONENT_MAX = 127, GRAD_BINS = 277 };

struct grad_counts {
    double zero, not_finite;
    double underflow, saturate; /* counts, as defined in codec.h */
    double bins[GRAD_BINS];
};
enum { GRAD_COUNTS = GRAD_BINS + 4 }; /* doubles in struct grad_counts */

void grad_counts_add(struct grad_counts *c, const float *x, size_t n);

#endif
