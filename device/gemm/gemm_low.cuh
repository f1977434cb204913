/* gemm_low.cuh : rounded products whose sum over k is cut into runs, as the CPU's convolution cuts
 * its sums over pixels. */
#ifndef GEMM_LOW_CUH
#define GEMM_LOW_CUH
#include "device/run/cu.cuh"
#include "device/gemm/dev_gemm.h"

/* c [m][n] = a [k][m], transposed, * b [k][n]: a product for each `run` values of k, c = the first,
 * then c += the next, in order, each by one more rounded addition: what dev_gemm's gemm gives when
 * it is called for one run after the other. add: c is there already and all are added to it.
 *   parts   [max_parts][m][n] scratch, max_parts > 0: that many runs are computed at once */
int gemm_low_runs(const struct gemm_rule *rule, int m, int n, int k, int run, const float *a,
                  const float *b, bool add, float *c, float *parts, int max_parts, cudaStream_t s);

#endif
