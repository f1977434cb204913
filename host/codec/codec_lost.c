/* codec_lost.c : casts done once more, in blocks that nobody sends. */
#include "codec/codec_lost.h"
#include <math.h>

/* By `trunc`, which never makes inf, what is beyond e5m2's largest finite shows before the cast: a
 * half's inf begins here. */
static const double TRUNC_BEYOND = 65520;

void codec_lost_add(struct codec_lost *lost, const struct vec_cast *cast, int shift, const float *x,
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
            lost->underflow += y[j] == 0;
            lost->saturated +=
                cast->trunc ? ldexp(fabs((double)v), shift) >= TRUNC_BEYOND : !isfinite(y[j]);
        }
    }
}
