/* round_off.c : accumulates the sums and the histogram of a vector's errors. */
#include "vec/round_off.h"
#include "base/bits.h"
#include "base/buf.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int round_off_open(struct round_off *r)
{
    *r = (struct round_off){.bins = buf_alloc(ROUND_OFF_BINS * sizeof *r->bins)};
    return r->bins ? 0 : -ENOMEM;
}

void round_off_close(struct round_off *r)
{
    free(r->bins);
    r->bins = NULL;
}

void round_off_clear(struct round_off *r)
{
    memset(r->bins, 0, ROUND_OFF_BINS * sizeof *r->bins);
    *r = (struct round_off){.bins = r->bins};
}

void round_off_add(struct round_off *r, const double *ref, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i], diff = fabs(v - ref[i]);
        r->diff2 += diff * diff;
        r->ref2 += ref[i] * ref[i];
        r->x2 += v * v;
        r->dot += v * ref[i];
        if (ref[i] == 0)
            continue;
        const float quotient = (float)(diff / fabs(ref[i]));
        r->bins[bits_of(quotient) << 1 >> 16]++;
        r->quotients += (double)quotient;
        r->n_quotients++;
    }
}

double round_off_l2(const struct round_off *r)
{
    return r->diff2 == 0 ? 0 : sqrt(r->diff2 / r->ref2);
}

double round_off_mean(const struct round_off *r)
{
    return r->n_quotients ? r->quotients / (double)r->n_quotients : (double)NAN;
}

double round_off_median(const struct round_off *r)
{
    uint64_t below = 0;
    uint32_t bin = 0;
    if (!r->n_quotients)
        return (double)NAN;
    while (bin < ROUND_OFF_BINS - 1 && 2 * (below + r->bins[bin]) < r->n_quotients)
        below += r->bins[bin++];
    const uint32_t bits = bin == 0 ? 0 : bin << 15 | 1 << 14;
    float quotient;
    memcpy(&quotient, &bits, sizeof quotient);
    return (double)quotient;
}

double round_off_cosine(const struct round_off *r)
{
    return r->x2 > 0 && r->ref2 > 0 ? r->dot / (sqrt(r->x2) * sqrt(r->ref2)) : (double)NAN;
}

double round_off_slope(const struct round_off *r)
{
    return r->ref2 > 0 ? r->dot / r->ref2 : (double)NAN;
}
