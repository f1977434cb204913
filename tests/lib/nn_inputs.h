/* nn_inputs.h : makes random inputs of layers, and compares results. */
#ifndef NN_INPUTS_H
#define NN_INPUTS_H
#include "base/buf.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/nn_ops.h"
#include <math.h>
#include <stdlib.h>

static inline real *uniforms(size_t n, uint64_t key)
{
    real *x = buf_alloc((n + 1) * sizeof *x);
    if (!x)
        exit(1);
    for (size_t i = 0; i < n; i++)
        x[i] = (real)((double)philox_u32(key, i) * 0x1p-31 - 1);
    return x;
}

static inline void check_near(const char *what, const real *x, const double *want, size_t n,
                              double bound)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = check_max(worst, fabs((double)x[i] - want[i]));
    CHECK(worst <= bound, "%s: off by %.3g, allowed %.3g", what, worst, bound);
}

#endif
