/* gemm_low.h : multiplies matrices like hardware with a narrow accumulator: every product and
 * partial sum is rounded to a format. Rounding only the finished dot product would hide the loss of
 * accuracy.
 *
 *     r(x)      x rounded once, to nearest, to a value of the format; overflow as the rule says
 *     plain     s = +0;          for p = 0 .. k-1:  s = r(s + r(a[p] * b[p]))
 *     kahan     s = +0, c = +0;  for p = 0 .. k-1:  y = r(r(a[p] * b[p]) - c);  t = r(s + y);
 *                                                   c = r(r(t - s) - y);  s = t
 *     add       s = r(c_old + s), at the end
 *
 * Operands are fp32 and not rounded first; results are values of the format in fp32. nan is
 * 0x7fffffff; a format of m = 0 has no nan and uses +inf, as in hls/arith/mf.h. Source: APS paper,
 * 5 and Fig. 12. The GPU's twin, device/nn/gemm_low.cu, gives the same bits. */
#ifndef GEMM_LOW_H
#define GEMM_LOW_H
#include "hls/arith/rules.h"

/* Parse a --gemm spec: "fp32", a format's name or eXmY, with or without "+kahan". Overflow
 * saturates. Returns 1, 0 for "fp32" (*out unchanged), or -EINVAL (reported). */
int gemm_low_parse(const char *word, struct gemm_rule *out);

/* c [m][n] (+)= op(a) [m][k] * op(b) [k][n], row-major. ta: a is [k][m]. tb: b is [n][k]. ld*: row
 * pitches. c must not overlap a or b. */
void gemm_low(const struct gemm_rule *rule, bool ta, bool tb, int m, int n, int k, const float *a,
              int lda, const float *b, int ldb, bool add, float *c, int ldc);

#endif
