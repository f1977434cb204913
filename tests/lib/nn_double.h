/* nn_double.h : declares the network and its CPU backend with `real` as double, like the objects
 * that the Makefile links (DOUBLE). Include it first. */
#ifndef NN_DOUBLE_H
#define NN_DOUBLE_H
#define NN_REAL_DOUBLE
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

#include "check.h"
#include "base/buf.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Uniform in [-1, 1). */
static inline double uniform(uint64_t key, uint64_t i)
{
    return (double)philox_u32(key, i) * 0x1p-31 - 1;
}

/* With third derivatives of order one the error is about h^2 = 1e-10, plus eps / h = 2e-11 of the
 * function's size. */
static const double STEP = 1e-5;
static const double MAX_ERROR = 1e-6;

static inline double rms(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return n ? sqrt(sum / (double)n) : 0;
}

/* Relative to the larger value, at least to a tenth of the tensor's typical gradient. nan if one of
 * both is. */
static inline double grad_error(double difference, double gradient, double typical)
{
    const double off = fabs(difference - gradient),
                 size = fmax(fmax(fabs(difference), fabs(gradient)), 0.1 * typical);
    return off == 0 ? 0 : off / size;
}

#endif
