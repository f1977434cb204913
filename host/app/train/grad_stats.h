/* grad_stats.h : measures for --stats how a narrow format changes the gradients of selected steps,
 * layer by layer. app/README.md documents the lines.
 *
 * A selected step costs a message of exponents, a message of counts for each layer, and the fp64
 * sum of all gradients. Any other step costs one comparison. All ranks call these functions in
 * step; rank 0 writes. */
#ifndef GRAD_STATS_H
#define GRAD_STATS_H
#include "hls/arith/rules.h"
#include <stdbool.h>
#include <stddef.h>

struct train;
struct reducer_step;
struct grad_stats;

/* With --stats: allocates memory, opens the file and writes its first line. */
int grad_stats_open(struct train *t);
void grad_stats_close(struct train *t);

/* Returns whether this step (t->state.step) is selected. In a selected step gradients must not be
 * sent before all of them are complete. */
bool grad_stats_due(const struct train *t);

/* Measure a selected step, before the reducer and after the update. Calls in other steps have no
 * effect. *file_rc: set on rank 0 to the result of writing the file. Both return 0 or a negative
 * errno of comm.h. */
int grad_stats_before(struct train *t);
int grad_stats_after(struct train *t, double lr, const struct reducer_step *reduced, int *file_rc);

/* ---- histogram of exponents, and losses of a cast ----
 *
 * Counts are doubles, so that comm_sum_f64() can add them over ranks. */

/* range of floor(log2|x|) for finite fp32 numbers other than 0 */
enum { GRAD_EXPONENT_MIN = -149, GRAD_EXPONENT_MAX = 127, GRAD_BINS = 277 };

struct grad_counts {
    double zero, not_finite;
    double underflow, saturate; /* counts, as defined in codec.h */
    double bins[GRAD_BINS];
};
enum { GRAD_COUNTS = GRAD_BINS + 4 }; /* doubles in struct grad_counts */

void grad_counts_add(struct grad_counts *c, const float *x, size_t n);

/* Adds underflow and saturation in the cast of x * 2^shift to *c. at: index of x[0] in its
 * layer. */
void grad_counts_cast(struct grad_counts *c, const struct vec_cast *cast, int shift, const float *x,
                      size_t n, size_t at);

#endif
