/* gemm_low.h : matrix products as hardware with a narrow accumulator makes them: every product and
 * every partial sum is rounded to a chosen format. Rounding only the finished dot product is
 * another thing, and hides the loss.
 *
 *     r(x)      x rounded once, to nearest, to a value of the format; beyond its range by the
 *               overflow policy
 *     plain     s = +0;          for p = 0 .. k-1:  s = r(s + r(a[p] * b[p]))
 *     kahan     s = +0, c = +0;  for p = 0 .. k-1:  y = r(r(a[p] * b[p]) - c);  t = r(s + y);
 *                                                   c = r(r(t - s) - y);  s = t
 *     add       s = r(c_old + s), at the end
 *
 * Operands are fp32 as they are, not rounded first; results are values of the format, as fp32. nan
 * is 0x7fffffff; a format of m = 0 has none and takes +inf, as in hls/arith/mf.h. Source: APS paper, 5
 * and Fig. 12. The GPU's twin: device/gemm/dev_gemm.h, same bits. */
#ifndef GEMM_LOW_H
#define GEMM_LOW_H
#include "hls/arith/rules.h"

/* Reads --gemm's word: "fp32", or a format's name or eXmY, with "+kahan" behind it or not. overflow
 * becomes saturate. Returns 1; 0 for "fp32", where no rule is wanted and *out stays; -EINVAL with a
 * line. */
int gemm_low_parse(const char *word, struct gemm_rule *out);

/* c [m][n] = op(a) [m][k] * op(b) [k][n], all row-major; ta: a is stored [k][m]; tb: b is stored
 * [n][k]; lda, ldb, ldc: elements from row to row. c overlaps neither operand. */
void gemm_low(const struct gemm_rule *rule, bool ta, bool tb, int m, int n, int k, const float *a,
              int lda, const float *b, int ldb, bool add, float *c, int ldc);

#endif
