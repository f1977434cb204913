/* grad_counts.c : counts over a gradient. */
#include "app/train/grad_counts.h"
#include "codec/codec_lost.h"
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

void grad_counts_cast(struct grad_counts *c, const struct vec_cast *cast, int shift, const float *x,
                      size_t n, size_t at)
{
    struct codec_lost lost = {.underflow = 0};
    codec_lost_add(&lost, cast, shift, x, n, at);
    c->underflow += (double)lost.underflow;
    c->saturate += (double)lost.saturated;
}
