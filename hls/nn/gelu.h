/* gelu.h : computes the exact GELU with the same bits on CPU and GPU.
 *
 *     y = x Phi(x)      dy/dx = Phi(x) + x phi(x)
 *     Phi(x) = (1 + erf(x / sqrt 2)) / 2      phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
 *
 * For a = |x|, Phi(-a) = exp(-a^2 / 2) t p(t - 21/32) with t = 4 / (4 + a). The polynomial p
 * interpolates erfcx(a / sqrt 2) / (2 t) at the 11 Chebyshev nodes of t for a from 0 to 9: relative
 * error at most 4e-10. For a >= GELU_END, Phi(-a), below 2e-19, is taken as 0. Source: Hendrycks,
 * Gimpel 2016, "Gaussian Error Linear Units (GELUs)", 2. */
#ifndef GELU_H
#define GELU_H
#include "hls/nn/squash.h"

enum { GELU_END = 9 };

struct gelu {
    real share, slope; /* Phi(x); dy/dx */
};

MF_FN struct gelu gelu_at(real x)
{
    static const real p[] = {
        (real)-0.01679607075091613902, (real)0.0088103787558276956301,
        (real)0.039320937720503742583, (real)-0.018874393254372144059,
        (real)-0.09820258259316728436, (real)-0.014715749660102325067,
        (real)0.2620443228712515656,   (real)0.5335053454435107695,
        (real)0.59909734588884237122,  (real)0.4560812034884312261,
        (real)0.24733654364070912291,
    };
    const real a = x < 0 ? -x : x, t = 4 / (4 + a), s = t - (real)0.65625;
    const real bell = a < (real)GELU_END ? squash_exp(real_mul((real)-0.5, real_mul(a, a))) : 0;
    real sum = p[0];
    for (int i = 1; i < (int)(sizeof p / sizeof *p); i++)
        sum = real_mul(sum, s) + p[i];
    const real tail = real_mul(bell, real_mul(t, sum));
    struct gelu g;
    g.share = x < 0 ? tail : 1 - tail;
    g.slope = g.share + real_mul(x, real_mul(bell, (real)0.39894228040143267794));
    return g;
}

#endif
