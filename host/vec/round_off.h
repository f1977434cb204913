/* round_off.h : Measures a vector against its reference: L2 error, cosine, slope, mean, median.
 *
 *     L2        sqrt(sum (x - ref)^2 / sum ref^2)
 *     mean      of |x - ref| / |ref| over ref != 0: the average round-off error (APS paper, eq. 5);
 *               heavy-tailed
 *     median    of the same quotients, to 0.4 %
 *     cosine    sum x ref / sqrt(sum x^2 sum ref^2)
 *     slope     sum x ref / sum ref^2: the length of x along ref; below 1, x is too short */
#ifndef ROUND_OFF_H
#define ROUND_OFF_H
#include <stddef.h>
#include <stdint.h>

struct round_off {
    double diff2, ref2, x2, dot; /* sums */
    double quotients;
    uint64_t n_quotients;
    /* [ROUND_OFF_BINS] counts of quotients, by the upper 16 of the lower 31 bits of their fp32 */
    uint64_t *bins;
};
enum { ROUND_OFF_BINS = 1 << 16 };

int round_off_open(struct round_off *r);   /* 0, or -ENOMEM after printing an error */
void round_off_close(struct round_off *r); /* legal when zeroed */
void round_off_clear(struct round_off *r);

/* Adds n elements. x, ref: [n]. */
void round_off_add(struct round_off *r, const double *ref, const float *x, size_t n);

/* Return nan where the divisor is zero. L2 is inf where ref is all zero and x is not. */
double round_off_l2(const struct round_off *r);
double round_off_mean(const struct round_off *r);
double round_off_median(const struct round_off *r);
double round_off_cosine(const struct round_off *r);
double round_off_slope(const struct round_off *r);

#endif
