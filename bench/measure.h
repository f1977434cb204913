/* measure.h : provides benches with memory in large pages, CPU time of a thread, gradients and
 * medians. */
#ifndef MEASURE_H
#define MEASURE_H
#include "base/opt/opt.h"
#include <stdlib.h>

/* Allocate zeroed memory for free(). Without `small`, pages of 2 MiB if possible, so that the page
 * table is not measured. NULL after reporting an error. */
void *measure_alloc_pages(size_t bytes, bool small);
void *measure_alloc(size_t bytes);

double measure_cpu_s(void);

/* Exit with 1, after reporting it, if standard output could not be written. Call it once, first. */
void measure_check_output(void);

/* Call measure_check_output() and parse main()'s arguments. Returns -1, or the exit status: 2, or 0
 * after printing --help. */
int measure_options(const struct opt_command *command, int argc, char **argv, void *options,
                    struct opt_parsed *parsed);

/* x[n]: a sign and 2^N(-12, 4), like gradients. */
void measure_gradients(float *x, size_t n);

/* Sorts x[n]. */
double measure_median(double *x, size_t n);

#endif
