/* gemm_low.cuh : declares rounded products whose sum over k is cut into runs. nn_gemm_low() of
 * nn.cuh makes whole ones. */
#ifndef GEMM_LOW_CUH
#define GEMM_LOW_CUH
#include "device/nn/nn.cuh"

/* Set c[m][n] = a^T * b, with a[k][m] and b[k][n], added in order from one product per `run` values
 * of k. add: also add to the previous c.
 *   parts   [max_parts][m][n] scratch, max_parts > 0: runs computed at once */
int gemm_low_runs(const struct gemm_rule *rule, int m, int n, int k, int run, const float *a,
                  const float *b, bool add, float *c, float *parts, int max_parts, cudaStream_t s);

#endif
