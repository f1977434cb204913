/* round_off.h : measures a vector against its reference: L2 error, cosine, slope, mean, median.
 *
 *     L2        sqrt(sum (x - ref)^2 / sum ref^2)
 *     mean      of the quotients |x - ref| / |ref| over elements with ref != 0: the average
 *               round-off error (APS paper, eq. 5). Its distribution has a heavy tail
 *     median    of the same quotients, to 0.4 %
 *     cosine    sum x ref / sqrt(sum x^2 sum ref^2)
 *     slope     sum x ref / sum ref^2: the length of x along ref, relative to ref's */
#ifndef ROUND_OFF_H
#define ROUND_OFF_H
#include <stddef.h>
#include <stdint.h>

struct round_off {
    double diff2, ref2, x2, dot; /* sums of (x - ref)^2, ref^2, x^2 and x ref */
    double quotients;
    uint64_t n_quotients;
    /* [ROUND_OFF_BINS] histogram of the quotients, by the 16 bits below the sign of their fp32 */
    uint64_t *bins;
};
enum { ROUND_OFF_BINS = 1 << 16 };

/* Returns 0, or -ENOMEM after printing an error. */
int round_off_open(struct round_off *r);
void round_off_close(struct round_off *r); /* *r may be all zeros */
void round_off_clear(struct round_off *r);

void round_off_add(struct round_off *r, const double *ref, const float *x, size_t n);

/* Return nan if the divisor is zero. Exception: L2 is then 0 if x equals ref, and inf otherwise. */
double round_off_l2(const struct round_off *r);
double round_off_mean(const struct round_off *r);
double round_off_median(const struct round_off *r);
double round_off_cosine(const struct round_off *r);
double round_off_slope(const struct round_off *r);

#endif
