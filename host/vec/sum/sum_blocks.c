/* sum_blocks.c : sums vectors of codes by blocks whose accumulators stay in the nearest cache. */
#include "vec/sum/sum_blocks.h"

#include <string.h>

enum { BLOCK = 1024 }; /* elements: 8 KiB of accumulators */

void sum_blocks(void (*accumulate)(const struct vec_sum *, void *, const uint8_t *, size_t, bool),
                void (*finish)(const struct vec_sum *, const void *, size_t, struct mf_fmt, int,
                               uint8_t *),
                const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes)
{
    uint64_t acc[BLOCK];
    for (size_t i = 0, k; i < n; i += k) {
        k = n - i < BLOCK ? n - i : BLOCK;
        for (int p = 0; p < n_parts; p++)
            accumulate(sum, acc, parts[p] + vec_bytes(sum->in, i), k, p == 0);
        finish(sum, acc, k, out, shift, codes + vec_bytes(out, i));
    }
}

/* True if nans must be replaced by mf.h's nan, which has no sign: trunc makes another nan, and
 * overflow of a format without inf makes a nan with a sign. */
static bool nan_to_mend(const struct vec_sum *sum)
{
    return sum->rule == VEC_TRUNC || sum->in.flavour == MF_NO_INF;
}

static void mend_nan(struct mf_fmt fmt, uint8_t *codes, size_t n)
{
    const uint32_t nan = mf_nan(fmt), above = mf_last_not_nan(fmt);
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint8_t)((codes[i] & nan) > above ? nan : codes[i]);
}

static bool sum_packs(const struct vec_sum *sum, struct mf_fmt out, int shift)
{
    const bool same = mf_same(out, sum->in) && sum->acc.e == 0 && shift == 0;
    const bool adds = sum->rule == VEC_NEAREST || sum->rule == VEC_TRUNC;
    return same && adds && (!nan_to_mend(sum) || mf_width(out) == 8);
}

bool sum_packed(void (*add)(const struct vec_sum *, uint8_t *, const uint8_t *, size_t),
                const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes)
{
    uint8_t acc[BLOCK * sizeof(uint32_t)];
    if (!sum_packs(sum, out, shift))
        return false;
    for (size_t i = 0, k; i < n; i += k) {
        k = n - i < BLOCK ? n - i : BLOCK;
        const size_t at = vec_bytes(sum->in, i), bytes = vec_bytes(sum->in, k);
        memset(acc, 0, bytes);
        for (int p = 0; p < n_parts; p++)
            add(sum, acc, parts[p] + at, k);
        if (nan_to_mend(sum))
            mend_nan(sum->in, acc, k);
        memcpy(codes + at, acc, bytes);
    }
    return true;
}
