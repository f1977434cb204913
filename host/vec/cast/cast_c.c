/* cast_c.c : casts in plain C loops that gcc and clang vectorise for any target.
 *
 * Choices use masks, because compilers do not vectorise a choice between an integer and a float
 * sum. */
#include "base/bits.h"
#include "hls/arith/philox.h"
#include "vec/cast/cast_drive.h"
#include "vec/pack.h"
#include "vec/vec_isa.h"
#include <string.h>

enum { BLOCK = 256 };

static size_t block_at(size_t i, size_t n)
{
    return n - i < BLOCK ? n - i : BLOCK;
}

static uint32_t choose(uint32_t mask, uint32_t yes, uint32_t no)
{
    return no ^ ((no ^ yes) & mask);
}

/* Return a mask of a < b. Both are below 2^31, because signed comparisons vectorise best. */
static uint32_t below(uint32_t a, uint32_t b)
{
    return -(uint32_t)((int32_t)a < (int32_t)b);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return choose(below(a, b), a, b);
}

/* ---- the ways of cast_plan.h; x: fp32 bits; codes[n]: one per word ---- */

static uint32_t with_sign(const struct enc_plan *p, uint32_t code, uint32_t x)
{
    return choose(p->nan, code, x >> p->sign_right);
}

static void codes_add(const struct enc_plan *plan, const uint32_t *x, size_t n, uint32_t *codes)
{
    const struct enc_plan p = *plan;
    for (size_t i = 0; i < n; i++) {
        const uint32_t a = smaller(x[i] & 0x7fffffff, p.top), over = a - p.lowest;
        const uint32_t binade = over & ~below(a, p.lowest) & 0x7f800000;
        const float sum = float_of(a) + float_of(binade + p.lift);
        codes[i] = with_sign(&p, bits_of(sum) + (binade >> p.drop), x[i]);
    }
}

static void codes_cut(const struct enc_plan *plan, const uint32_t *x, size_t n, uint32_t *codes)
{
    const struct enc_plan p = *plan;
    for (size_t i = 0; i < n; i++) {
        const uint32_t a = smaller(x[i] & 0x7fffffff, p.top);
        codes[i] = with_sign(&p, (a + p.half + ((a >> p.drop) & p.odd)) >> p.drop, x[i]);
    }
}

static void codes_any(const struct enc_plan *plan, const uint32_t *x, const uint32_t *random,
                      size_t n, uint32_t *codes)
{
    const struct enc_plan p = *plan;
    for (size_t i = 0; i < n; i++) {
        /* Writes a subnormal, a * 2^-149, as a normal number whose exponent field may be 0 or less;
         * (float)a is exact. */
        const uint32_t a = x[i] & 0x7fffffff, as_float = bits_of((float)(int32_t)a) - (149u << 23);
        const uint32_t wide = choose(below(a, 0x00800000), as_float, a);
        const int32_t field = ((int32_t)wide >> 23) + p.rebias;
        const int32_t lower = field < 1 ? 1 - field : 0, over = field > 1 ? field - 1 : 0;
        const uint32_t binade = (uint32_t)(over < p.binades ? over : p.binades);

        /* rest: the dropped bits, in 2^-32 of the last kept bit. Bits lost here are far below half
         * that bit. */
        const uint32_t go = p.drop + (uint32_t)lower;
        const uint64_t sig = (uint64_t)((wide & 0x007fffff) | 0x00800000) << 32,
                       split = sig >> (go < 63 ? go : 63);
        const uint32_t kept = (uint32_t)(split >> 32), rest = (uint32_t)split;
        /* ties to even: an odd number is rounded up from exactly half on */
        const uint32_t half = 0x80000000 - (kept & 1);
        const uint32_t up =
            p.round == MF_ZERO ? 0 : rest > (p.round == MF_NEAREST ? half : random[i]);
        uint32_t code = (binade << p.m) + kept + up;
        code = code < p.most ? code : p.most;
        code = a == 0 ? 0 : a == 0x7f800000 ? p.beyond : a > 0x7f800000 ? p.nan : code;
        codes[i] = with_sign(&p, code, x[i]);
    }
}

static void narrow(enum cast_shape shape, const uint32_t *words, size_t n, uint8_t *to)
{
    if (shape == CAST_4) {
        for (size_t i = 0; i < n / 2; i++)
            to[i] = (uint8_t)(words[2 * i] | words[2 * i + 1] << 4);
        if (n % 2)
            to[n / 2] = (uint8_t)words[n - 1];
    } else if (shape == CAST_8) {
        for (size_t i = 0; i < n; i++)
            to[i] = (uint8_t)words[i];
    } else if (shape == CAST_16) {
        uint16_t halves[BLOCK];
        for (size_t i = 0; i < n; i++)
            halves[i] = (uint16_t)words[i];
        memcpy(to, halves, n * sizeof *halves);
    } else {
        memcpy(to, words, n * sizeof *words);
    }
}

static void widen(enum cast_shape shape, const uint8_t *from, size_t n, uint32_t *words)
{
    if (shape == CAST_4) {
        for (size_t i = 0; i < n / 2; i++) {
            words[2 * i] = from[i] & 15;
            words[2 * i + 1] = from[i] >> 4;
        }
        if (n % 2)
            words[n - 1] = from[n / 2] & 15;
    } else if (shape == CAST_8) {
        for (size_t i = 0; i < n; i++)
            words[i] = from[i];
    } else if (shape == CAST_16) {
        uint16_t halves[BLOCK];
        memcpy(halves, from, n * sizeof *halves);
        for (size_t i = 0; i < n; i++)
            words[i] = halves[i];
    } else {
        memcpy(words, from, n * sizeof *words);
    }
}

static size_t shape_bytes(enum cast_shape shape, size_t n)
{
    return shape == CAST_4 ? n / 2 : n << (shape - CAST_8);
}

static enum cast_shape roomy_shape(unsigned width)
{
    return width <= 8 ? CAST_8 : width <= 16 ? CAST_16 : CAST_32;
}

void cast_c_pack(unsigned width, const void *codes, size_t n, uint8_t *bytes)
{
    const enum cast_shape shape = roomy_shape(width);
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        widen(shape, (const uint8_t *)codes + shape_bytes(shape, i), block_at(i, n), words);
        pack_write(width, words, block_at(i, n), bytes + i / 8 * width);
    }
}

void cast_c_unpack(unsigned width, const uint8_t *bytes, size_t n, void *codes)
{
    const enum cast_shape shape = roomy_shape(width);
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        pack_read(width, bytes + i / 8 * width, block_at(i, n), words);
        narrow(shape, words, block_at(i, n), (uint8_t *)codes + shape_bytes(shape, i));
    }
}

static uint32_t absmax_c(const float *x, size_t n)
{
    int32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t a = (int32_t)(bits_of(x[i]) & 0x7fffffff);
        max = a > max ? a : max;
    }
    return (uint32_t)max;
}

static uint32_t encode_loop(const struct enc_plan *p, enum cast_shape shape, const float *x,
                            size_t n, const uint32_t *random, void *codes, bool stream)
{
    (void)stream;
    uint32_t absmax = 0, bits[BLOCK], words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = block_at(i, n);
        const uint32_t max = absmax_c(x + i, k);
        memcpy(bits, x + i, k * sizeof *x);
        if (p->way == ENC_ANY || max > 0x7f800000)
            codes_any(p, bits, random ? random + i : random, k, words);
        else if (p->way == ENC_ADD)
            codes_add(p, bits, k, words);
        else
            codes_cut(p, bits, k, words);
        narrow(shape, words, k, (uint8_t *)codes + shape_bytes(shape, i));
        absmax = max > absmax ? max : absmax;
    }
    return absmax;
}

static void values(const struct dec_plan *plan, const uint32_t *codes, size_t n, float *x)
{
    const struct dec_plan p = *plan;
    for (size_t i = 0; i < n; i++) {
        const uint32_t mag = codes[i] & p.nan;
        const uint32_t units = bits_of((float)(int32_t)mag * p.unit),
                       moved = (mag << p.up) + p.rebias;
        uint32_t v = choose(below(mag, p.normal), units, moved);
        v = choose(~below(mag, p.special), p.special_bits, v);
        v = choose(below(p.special, mag), 0x7fffffff, v);
        x[i] = float_of(v | (codes[i] << p.sign_left & 0x80000000));
    }
    for (int f = 0; f < 4 && p.scaled; f++)
        for (size_t i = 0; i < n; i++)
            x[i] *= p.factor[f];
    for (size_t i = 0; i < n && p.divided; i++)
        x[i] /= p.divisor;
}

static void decode_loop(const struct dec_plan *p, enum cast_shape shape, const void *codes,
                        size_t n, float *x, bool stream)
{
    (void)stream;
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = block_at(i, n);
        widen(shape, (const uint8_t *)codes + shape_bytes(shape, i), k, words);
        values(p, words, k, x + i);
    }
}

static void random_words(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks,
                         uint32_t *words)
{
    for (size_t b = 0; b < n_blocks; b++) {
        const struct philox_block counter = {
            {(uint32_t)(block + b), (uint32_t)((block + b) >> 32), half, 0}};
        memcpy(words + 4 * b, philox_rounds(key, counter).w, 16);
    }
}

static const struct cast_loops loops = {
    .encode = encode_loop,
    .decode = decode_loop,
    .random = random_words,
    .pack = cast_c_pack,
    .unpack = cast_c_unpack,
};

#include "vec/cast/cast_slots.h"

void cast_c_fill(struct vec_ops *ops)
{
    ops->absmax = absmax_c;
    ops->encode = slot_encode;
    ops->scan_encode = slot_scan_encode;
    ops->decode = slot_decode;
}
