/* dev_gemm.h : matrix products that round every product and partial sum to a chosen format, with
 * the bits of host/nn/cpu/gemm_low.h. Source: APS paper, section 5 and Fig. 12. */
#ifndef DEV_GEMM_H
#define DEV_GEMM_H
#include "device/run/dev.h"
#include "hls/arith/rules.h"

struct dev_gemm_ops {
    /* Set c[m][n] = op(a)[m][k] * op(b)[k][n]. add: add to c, with one more rounded addition.
     * Matrices are row-major fp32 in device memory. ta: a is stored as [k][m]. tb: b is [n][k].
     * lda, ldb, ldc: elements from row to row. Sums run over ascending k. */
    int (*gemm)(const struct gemm_rule *rule, bool ta, bool tb, int m, int n, int k, const float *a,
                int lda, const float *b, int ldb, bool add, float *c, int ldc,
                struct dev_stream *s);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_gemm_ops dev_gemm;

#endif
