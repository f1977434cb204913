/* dev_gemm.h : matrix products whose every product and every partial sum is rounded to a chosen
 * format. Source: APS paper, 5 and Fig. 12. The twin in plain C: host/nn/cpu/gemm_low.h, same bits. */
#ifndef DEV_GEMM_H
#define DEV_GEMM_H
#include "device/run/dev.h"
#include "hls/arith/rules.h"

struct dev_gemm_ops {
    /* c [m][n] = op(a) [m][k] * op(b) [k][n] (+ c, if add: one more rounded addition), all
     * row-major fp32, device memory; ta: a is stored [k][m]; tb: b is stored [n][k]. lda, ldb, ldc:
     * elements from row to row. Sums run over k upward. */
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
