/* grad_counts.c : counts over a gradient. */
#include "app/grad_counts.h"
#include "vec/vec.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static_assert(sizeof(struct grad_counts) == GRAD_COUNTS * sizeof(double), "counts are doubles");

void grad_counts_add(struct grad_counts *c, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        const uint32_t field = bits >> 23 & 255;
        if (bits << 1 == 0)
            c->zero++;
        else if (field == 255)
            c->not_finite++;
        else if (field > 0)
            c->bins[(int)field - 127 - GRAD_EXPONENT_MIN]++;
        else
            c->bins[ilogbf(x[i]) - GRAD_EXPONENT_MIN]++;
    }
}

/* By `trunc`, which never makes inf, what is beyond e5m2's largest finite shows before the cast: a
 * half's inf begins here. */
static const double TRUNC_BEYOND = 65520;

void grad_counts_cast(struct grad_counts *c, const struct vec_cast *cast, int shift, const float *x,
                      size_t n, size_t at)
{
    enum { BLOCK = 512 };
    const struct vec_ops *vec = vec_best();
    struct vec_cast open = *cast;
    uint8_t codes[BLOCK * sizeof(float)];
    float y[BLOCK];
    open.overflow = MF_INF; /* so that it shows */
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = n - i < BLOCK ? n - i : BLOCK;
        vec->encode(&open, x + i, k, at + i, shift, codes);
        vec->decode(cast->fmt, codes, k, 0, 1, y);
        for (size_t j = 0; j < k; j++) {
            const float v = x[i + j];
            if (v == 0 || !isfinite(v))
                continue;
            c->underflow += y[j] == 0;
            c->saturate +=
                cast->trunc ? ldexp(fabs((double)v), shift) >= TRUNC_BEYOND : !isfinite(y[j]);
        }
    }
}
