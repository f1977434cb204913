/* gemm_bf16.h : multiplies matrices on CPUs with AMX or AVX512-BF16: operands are rounded to bf16,
 * products are added in fp32. Subnormal operands and products count as 0.
 *
 *     host/nn --round, pack--> bf16 --libnarrowcast_dnnl.so (gemm_dnnl.c)--> oneDNN
 *
 * The library is separate, because few machines have oneDNN, and it is large. */
#ifndef GEMM_BF16_H
#define GEMM_BF16_H
#include <stdbool.h>
#include <stdint.h>

struct gemm_bf16;

/* Opens *out, with this many threads. Returns 0; or a negative code, reported: -ENODEV if the CPU
 * has no bf16 products, -ENOENT if there is no library, -ENOMEM, or -EIO if oneDNN fails. */
int gemm_bf16_open(int n_threads, struct gemm_bf16 **out);
void gemm_bf16_close(struct gemm_bf16 *g);

/* c [m][n] (+)= op(a) [m][k] * op(b) [k][n], row-major. ta: a is [k][m]. tb: b is [n][k]. ld*: row
 * pitches. c must not overlap a or b. Returns false, with c unchanged, if m, n or k is 0, or, after
 * one warning, if there is no memory for the rounded operands. (oneDNN 2.6 crashes if it has no
 * memory for its own code.) */
bool gemm_bf16(struct gemm_bf16 *g, bool ta, bool tb, int m, int n, int k, const float *a, int lda,
               const float *b, int ldb, bool add, float *c, int ldc);

/* ---- the library's table ---- */

enum { GEMM_DNNL_VERSION = 1 };

struct dnnl_shape {
    bool ta, tb, add;
    int m, n, k, ldc;
};

struct gemm_dnnl {
    int version;
    void *(*open)(int n_threads); /* returns NULL if oneDNN cannot start */
    void (*close)(void *ctx);
    /* as gemm_bf16(), without gaps in the rows of a and b. Returns 0, or oneDNN's code. */
    int (*multiply)(void *ctx, const struct dnnl_shape *s, const uint16_t *a, const uint16_t *b,
                    float *c);
};

#endif
