/* levels_body.h : converts buckets of levels in loops that compilers vectorise. Includers define
 * levels_random(). */
#ifndef LEVELS_BODY_H
#define LEVELS_BODY_H
#include "vec/fp_mode.h"
#include "vec/list/levels_pack.h"
#include "vec/list/vec_levels.h"

/* An includer may define faster loops for the sign scheme, with the same results. They encode the
 * first elements of n and return how many: a multiple of LEVELS_BLOCK / 2, or 0. */
#ifndef LEVELS_BY_HAND
#define LEVELS_BY_HAND(bits, grid, clip, x, n, at, key, codes) 0
#endif

/* words [4 * block, 4 * (block + n_blocks)) of the stream of philox.h */
static void levels_random(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words);

static uint32_t levels_absmax(const float *x, size_t n)
{
    int32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t bits = (int32_t)(levels_bits(&x[i]) & 0x7fffffff);
        max = bits > max ? bits : max;
    }
    return (uint32_t)max;
}

/* sum of the squares of x * p.up */
static float levels_squares(const float *x, size_t n, struct level_power p)
{
    float lanes[LEVEL_LANES] = {0};
    size_t i = 0;
    for (; i + LEVEL_LANES <= n; i += LEVEL_LANES)
        for (size_t k = 0; k < LEVEL_LANES; k++) {
            const float y = x[i + k] * p.up;
            lanes[k] += y * y;
        }
    for (size_t k = 0; i + k < n; k++) {
        const float y = x[i + k] * p.up;
        lanes[k] += y * y;
    }
    return level_join(lanes);
}

static float levels_norm2(const float *x, size_t n, float max)
{
    const struct level_power p = level_power_of(max);
    return level_norm(levels_squares(x, n, p), max, p);
}

/* Zeros fill up to `all` elements. Magnitudes above clip become clip. */
static inline void levels_codes(struct level_scheme scheme, const struct level_grid *g, float clip,
                                const float *x, size_t n, size_t all, size_t at, uint64_t key,
                                uint8_t *codes)
{
    const struct level_grid grid = *g;
    uint32_t random[LEVELS_BLOCK], words[LEVELS_BLOCK];
    size_t i = scheme.even ? 0 : LEVELS_BY_HAND(scheme.bits, g, clip, x, n, at, key, codes);
    for (; i < all; i += LEVELS_BLOCK) {
        const size_t whole = levels_less(all - i, LEVELS_BLOCK),
                     own = i < n ? levels_less(n - i, whole) : 0;
        levels_ahead(x + i, own);
        levels_random(key, (at + i) / 4, (own + 3) / 4, random);
        if (scheme.even)
            for (size_t k = 0; k < own; k++)
                words[k] = level_code_even(grid, x[i + k], random[k]);
        else
            for (size_t k = 0; k < own; k++) {
                const uint32_t v = levels_bits(&x[i + k]), bits = v & 0x7fffffff;
                const float size = levels_float(&bits), less = size < clip ? size : clip;
                words[k] = level_code_sign(scheme.bits, grid, less, v >> 31, random[k]);
            }
        memset(words + own, 0, (whole - own) * sizeof *words);
        levels_pack(scheme.bits, words, whole, codes + i / 8 * scheme.bits);
    }
}

static uint32_t levels_put(const struct levels_rule *r, const float *x, size_t n, size_t at,
                           uint64_t key, uint8_t *codes)
{
    const uint32_t absmax = levels_absmax(x, n);
    const float max = levels_float(&absmax), scale = r->norm2 ? levels_norm2(x, n, max) : max;
    const struct level_grid grid = level_grid_of(r->scheme, scale);
    memcpy(codes, &scale, sizeof scale);
    levels_codes(r->scheme, &grid, LEVEL_FLT_MAX, x, n, levels_codes_of(r, n), at, key,
                 codes + sizeof scale);
    return absmax;
}

enum levels_use { LEVELS_ADD, LEVELS_MEAN };

/* LEVELS_ADD: x += values of the codes; LEVELS_MEAN: x = values / divisor */
static inline void levels_get(const struct levels_rule *r, const uint8_t *codes, size_t n,
                              enum levels_use use, float divisor, float *x)
{
    const struct level_grid grid = level_grid_of(r->scheme, levels_float(codes));
    const uint32_t bits = r->scheme.bits;
    const size_t all = levels_codes_of(r, n);
    uint32_t words[LEVELS_BLOCK];
    float values[LEVELS_BLOCK];
    codes += sizeof(float);
    for (size_t i = 0; i < n; i += LEVELS_BLOCK) {
        const size_t own = levels_less(n - i, LEVELS_BLOCK);
        levels_unpack(bits, codes + i / 8 * bits, levels_less(all - i, LEVELS_BLOCK), words);
        if (r->scheme.even)
            for (size_t k = 0; k < own; k++)
                values[k] = level_value_even(grid, words[k]);
        else
            for (size_t k = 0; k < own; k++)
                values[k] = level_value_sign(bits, grid, words[k]);
        if (use == LEVELS_ADD)
            for (size_t k = 0; k < own; k++)
                x[i + k] = level_add(x[i + k], values[k]);
        else
            for (size_t k = 0; k < own; k++)
                x[i + k] = values[k] / divisor;
    }
}

/* ---- vectors: noinline, as they run in IEEE mode (fp_mode.h) ---- */

static __attribute__((noinline)) uint32_t levels_encode_all(const struct levels_rule *r,
                                                            const float *x, size_t n, size_t at,
                                                            uint64_t key, uint8_t *codes)
{
    uint32_t absmax = 0;
    for (size_t i = 0; i < n; i += r->bucket) {
        const size_t own = levels_less(n - i, r->bucket);
        const uint32_t max = levels_put(r, x + i, own, at + i, key, codes + levels_bytes(r, i));
        absmax = max > absmax ? max : absmax;
    }
    return absmax;
}

static __attribute__((noinline)) void levels_decode_all(const struct levels_rule *r,
                                                        const uint8_t *codes, size_t n,
                                                        float divisor, float *x)
{
    for (size_t i = 0; i < n; i += r->bucket)
        levels_get(r, codes + levels_bytes(r, i), levels_less(n - i, r->bucket), LEVELS_MEAN,
                   divisor, x + i);
}

static __attribute__((noinline)) void levels_sum_all(const struct levels_rule *r,
                                                     const uint8_t *const *parts, int n_parts,
                                                     size_t skip, size_t n, size_t at, uint64_t key,
                                                     uint8_t *codes)
{
    float acc[LEVEL_BUCKET_MAX];
    for (size_t i = 0; i < n; i += r->bucket) {
        const size_t own = levels_less(n - i, r->bucket), place = levels_bytes(r, i);
        memset(acc, 0, own * sizeof *acc);
        for (int p = 0; p < n_parts; p++)
            levels_get(r, parts[p] + skip + place, own, LEVELS_ADD, 1, acc);
        levels_put(r, acc, own, at + i, key, codes + place);
    }
}

static uint32_t levels_encode(const struct levels_rule *r, const float *x, size_t n, size_t at,
                              uint64_t key, uint8_t *codes)
{
    const uint64_t was = fp_mode_ieee();
    const uint32_t absmax = levels_encode_all(r, x, n, at, key, codes);
    fp_mode_back(was);
    return absmax;
}

static void levels_decode(const struct levels_rule *r, const uint8_t *codes, size_t n,
                          float divisor, float *x)
{
    const uint64_t was = fp_mode_ieee();
    levels_decode_all(r, codes, n, divisor, x);
    fp_mode_back(was);
}

static void levels_sum(const struct levels_rule *r, const uint8_t *const *parts, int n_parts,
                       size_t skip, size_t n, size_t at, uint64_t key, uint8_t *codes)
{
    const uint64_t was = fp_mode_ieee();
    levels_sum_all(r, parts, n_parts, skip, n, at, key, codes);
    fp_mode_back(was);
}

static __attribute__((noinline)) void levels_draw_all(uint32_t bits, float scale, float clip,
                                                      const float *x, size_t n, size_t padded,
                                                      size_t at, uint64_t key, uint8_t *codes)
{
    const struct level_scheme scheme = {bits, 0};
    const struct level_grid grid = level_grid_of(scheme, scale);
    levels_codes(scheme, &grid, clip, x, n, padded, at, key, codes);
}

static void levels_draw(uint32_t bits, float scale, float clip, const float *x, size_t n,
                        size_t padded, size_t at, uint64_t key, uint8_t *codes)
{
    const uint64_t was = fp_mode_ieee();
    levels_draw_all(bits, scale, clip, x, n, padded, at, key, codes);
    fp_mode_back(was);
}

static __attribute__((noinline)) float levels_deviations_all(const float *x, size_t n, float max,
                                                             float times)
{
    const struct level_power p = level_power_of(max);
    return max > 0 ? level_deviations(times, levels_squares(x, n, p), (float)n, p) : 0;
}

static float levels_deviations(const float *x, size_t n, float max, float times)
{
    const uint64_t was = fp_mode_ieee();
    const float deviations = levels_deviations_all(x, n, max, times);
    fp_mode_back(was);
    return deviations;
}

/* clang-format off */
#define LEVELS_OPS(decode_) \
    {.encode = levels_encode, .decode = decode_, .draw = levels_draw, \
     .deviations = levels_deviations, .sum = levels_sum}
/* clang-format on */

#endif
