/* levels_hand.h : encodes buckets of 2 and 4 bits in scheme `sign` (hls/arith/level.h), and decodes
 * them in both schemes, by loops of the including file:
 *
 *     HAND_STEP         elements per step of random words
 *     HAND_KEYS         type of an expanded key
 *     hand_begin()      expands a key
 *     hand_random()     makes the words of a step; returns false if it cannot
 *     sign_block()      encodes 64 elements of level_code_sign(); plain: the grid's power is 1, no
 *                       magnitude is above the grid, nothing is clipped and no x is nan
 *     decode_bucket()   decodes n codes by a table of 16 values; n: a multiple of
 *                       LEVEL_BUCKET_UNIT
 *
 * levels_body.h does the rest. Include levels_pack.h and cast_step.h first. */
#ifndef LEVELS_HAND_H
#define LEVELS_HAND_H

/* Encodes whole steps of random words. Returns the number of elements encoded. */
CAST_INLINE size_t sign_steps(uint32_t bits, bool plain, const struct level_grid *grid, float clip,
                              const float *x, size_t n, size_t at, uint64_t key, uint8_t *codes)
{
    const struct level_grid g = *grid;
    HAND_KEYS keys;
    uint32_t random[HAND_STEP];
    hand_begin(&keys, key);
    size_t i = 0;
    for (; i + HAND_STEP <= n && hand_random(&keys, (at + i) / 4, random); i += HAND_STEP) {
        levels_ahead(x + i, HAND_STEP);
        for (size_t k = 0; k < HAND_STEP; k += 64)
            sign_block(bits, plain, &g, clip, x + i + k, random + k, codes + (i + k) / 8 * bits);
    }
    return i;
}

/* LEVELS_BY_HAND() of levels_body.h. A nan makes the scale, and so g->most, a nan. */
static size_t by_hand(uint32_t bits, const struct level_grid *g, float clip, const float *x,
                      size_t n, size_t at, uint64_t key, uint8_t *codes)
{
    const bool plain = clip == LEVEL_FLT_MAX && g->power.up == 1 && g->most <= 0x1p40f;
    if (bits == 4)
        return plain ? sign_steps(4, true, g, clip, x, n, at, key, codes)
                     : sign_steps(4, false, g, clip, x, n, at, key, codes);
    if (bits == 2)
        return plain ? sign_steps(2, true, g, clip, x, n, at, key, codes)
                     : sign_steps(2, false, g, clip, x, n, at, key, codes);
    return 0;
}
#define LEVELS_BY_HAND by_hand
#include "vec/list/levels_body.h"

/* values / divisor of all codes; the 4 values of 2-bit codes four times */
static void hand_table(struct level_scheme scheme, float scale, float divisor, float values[16])
{
    const struct level_grid grid = level_grid_of(scheme, scale);
    const uint32_t last = (1u << scheme.bits) - 1;
    for (uint32_t i = 0; i < 16; i++)
        values[i] = (scheme.even ? level_value_even(grid, i & last)
                                 : level_value_sign(scheme.bits, grid, i & last)) /
                    divisor;
}

static __attribute__((noinline)) void
decode_whole(const struct levels_rule *r, const uint8_t *codes, size_t n, float divisor, float *x)
{
    enum { STREAM_MIN = 1 << 20 }; /* elements from which on results bypass the caches */
    const bool stream = n >= STREAM_MIN && (uintptr_t)x % 64 == 0;
    for (size_t e = 0; e < n; e += r->bucket, codes += levels_bytes(r, r->bucket)) {
        float table[16];
        hand_table(r->scheme, levels_float(codes), divisor, table);
        if (r->scheme.bits == 4)
            decode_bucket(4, table, codes + sizeof(float), r->bucket, x + e, stream);
        else
            decode_bucket(2, table, codes + sizeof(float), r->bucket, x + e, stream);
        cast_prefetch(codes);
    }
    if (stream)
        _mm_sfence();
}

static void hand_decode(const struct levels_rule *r, const uint8_t *codes, size_t n, float divisor,
                        float *x)
{
    const bool by_table = r->scheme.bits == 2 || r->scheme.bits == 4;
    const size_t whole = by_table ? n / r->bucket * r->bucket : 0;
    const uint64_t was = fp_mode_ieee();
    decode_whole(r, codes, whole, divisor, x);
    fp_mode_back(was);
    levels_decode(r, codes + levels_bytes(r, whole), n - whole, divisor, x + whole);
}

#endif
