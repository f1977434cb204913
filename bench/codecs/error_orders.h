/* error_orders.h : declares what bench_error's tables share: tallies of errors of means, with the
 * steps' mean L2, and mean and median of all quotients (vec/round_off.h). */
#ifndef ERROR_ORDERS_H
#define ERROR_ORDERS_H
#include "vec/round_off.h"

struct tally {
    double l2, slope; /* sums over steps */
    struct round_off off;
};

int tally_open(struct tally *t);
void tally_close(struct tally *t);
void tally_add(struct tally *t, const double *ref, const float *mean, size_t n);
double tally_l2(const struct tally *t, uint64_t n_steps);
double tally_slope(const struct tally *t, uint64_t n_steps);

/* Prints the error of the mean by layer (`bench_error DIR --algo A,B,...`). argv: without the
 * program's name. Returns the exit status. */
int orders_main(int argc, char **argv);

#endif
