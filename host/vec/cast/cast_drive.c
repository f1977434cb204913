/* cast_drive.c : splits a cast into calls of an instruction set's loops. */
#include "vec/cast/cast_drive.h"
#include "vec/fp_mode.h"

enum {
    /* elements: buffers stay in the first-level cache, and each block starts on a byte */
    BLOCK = 1024,
    /* output of this many bytes would not stay in the caches and bypasses them */
    STREAM_BYTES = 4u << 20,
};

static enum cast_shape shape_of(unsigned width)
{
    return width == 4 ? CAST_4 : width <= 8 ? CAST_8 : width <= 16 ? CAST_16 : CAST_32;
}

static bool is_shape(unsigned width)
{
    return width == 4 || width == 8 || width == 16 || width == 32;
}

static size_t block_at(size_t i, size_t n)
{
    return n - i < BLOCK ? n - i : BLOCK;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

enum { PER_PHILOX = 8, BLOCKS_MAX = BLOCK / PER_PHILOX + 1 };

/* Makes whole Philox blocks of words. Returns the first element's position in its block. */
static unsigned halves_of(const struct cast_loops *loops, uint64_t key, uint32_t half, uint64_t at,
                          size_t n, uint32_t words[4 * BLOCKS_MAX])
{
    const unsigned lead = (unsigned)(at % PER_PHILOX);
    loops->random(key, at / PER_PHILOX, half, (lead + n + PER_PHILOX - 1) / PER_PHILOX, words);
    return lead;
}

static const uint32_t *random_of(const struct cast_loops *loops, uint64_t key, uint64_t at,
                                 size_t n, uint32_t words[BLOCK + CAST_STEP])
{
    uint32_t upper[4 * BLOCKS_MAX], lower[4 * BLOCKS_MAX];
    const unsigned lead = halves_of(loops, key, 0, at, n, upper);
    halves_of(loops, key, 1, at, n, lower);
    /* A word holds the halves of two elements, the first one's in its low half. */
    for (size_t i = 0; i < (lead + n + 1) / 2; i++) {
        words[2 * i] = upper[i] << 16 | (lower[i] & 0xffff);
        words[2 * i + 1] = (upper[i] & 0xffff0000) | lower[i] >> 16;
    }
    return words + lead;
}

static uint32_t encode_blocks(const struct cast_loops *loops, const struct enc_plan *p,
                              const struct cast_draw *draw, const float *x, size_t n, uint64_t at,
                              uint8_t *codes)
{
    const struct vec_cast *cast = draw->cast;
    const unsigned width = mf_width(cast->fmt);
    const enum cast_shape shape = shape_of(width);
    uint32_t absmax = 0, buffer[BLOCK], words[BLOCK + CAST_STEP];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = block_at(i, n);
        uint8_t *packed = codes + i / 8 * width;
        void *to = is_shape(width) ? packed : (void *)buffer;
        uint32_t max;
        if (p->way == ENC_DRAW)
            max = loops->draw(p, draw, shape, x + i, k, at + i, to, false);
        else if (cast->round == MF_STOCHASTIC)
            max = loops->encode(p, shape, x + i, k, random_of(loops, cast->key, at + i, k, words),
                                to, false);
        else
            max = loops->encode(p, shape, x + i, k, NULL, to, false);
        absmax = larger(absmax, max);
        if (!is_shape(width))
            loops->pack(width, buffer, k, packed);
    }
    return absmax;
}

/* Keeps the upper byte of each fp16 code (fp8 paper). */
static uint32_t encode_trunc(const struct cast_loops *loops, const struct enc_plan *p,
                             const float *x, size_t n, uint8_t *codes)
{
    uint32_t absmax = 0;
    uint16_t halves[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = block_at(i, n);
        absmax = larger(absmax, loops->encode(p, CAST_16, x + i, k, NULL, halves, false));
        for (size_t j = 0; j < k; j++)
            codes[i + j] = (uint8_t)mf_e5m2_drop(halves[j]);
    }
    return absmax;
}

uint32_t cast_encode(const struct cast_loops *loops, const struct vec_cast *cast, const float *x,
                     size_t n, size_t at, int shift, uint8_t *codes)
{
    const unsigned width = mf_width(cast->fmt);
    const struct cast_draw draw = {cast, shift};
    struct enc_plan p = cast->trunc ? enc_plan_make(mf_half(), MF_NEAREST, MF_INF, shift)
                                    : enc_plan_make(cast->fmt, cast->round, cast->overflow, shift);
    if (p.way == ENC_DRAW && !loops->draw)
        p.way = ENC_ANY;
    const bool past = vec_bytes(cast->fmt, n) >= STREAM_BYTES;
    const uint64_t mode = fp_mode_ieee();
    uint32_t absmax;
    if (cast->trunc) {
        absmax = encode_trunc(loops, &p, x, n, codes);
    } else if (p.way == ENC_DRAW && is_shape(width)) {
        absmax = loops->draw(&p, &draw, shape_of(width), x, n, at, codes,
                             past && (uintptr_t)codes % 64 == 0);
    } else if (!is_shape(width) || cast->round == MF_STOCHASTIC) {
        absmax = encode_blocks(loops, &p, &draw, x, n, at, codes);
    } else {
        const bool stream = past && (uintptr_t)codes % (width < 8 ? 1 : width / 8) == 0;
        absmax = loops->encode(&p, shape_of(width), x, n, NULL, codes, stream);
    }
    fp_mode_back(mode);
    return absmax;
}

void cast_decode(const struct cast_loops *loops, struct mf_fmt fmt, const uint8_t *codes, size_t n,
                 int shift, float divisor, float *x)
{
    const unsigned width = mf_width(fmt);
    const enum cast_shape shape = shape_of(width);
    const struct dec_plan p = dec_plan_make(fmt, shift, divisor);
    const uint64_t mode = fp_mode_ieee();
    if (is_shape(width)) {
        loops->decode(&p, shape, codes, n, x, n * sizeof *x >= STREAM_BYTES);
    } else {
        uint32_t buffer[BLOCK];
        for (size_t i = 0; i < n; i += BLOCK) {
            const size_t k = block_at(i, n);
            loops->unpack(width, codes + i / 8 * width, k, buffer);
            loops->decode(&p, shape, buffer, k, x + i, false);
        }
    }
    fp_mode_back(mode);
}
