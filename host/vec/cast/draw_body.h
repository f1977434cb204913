/* draw_body.h : rounds a vector of floats stochastically, using the step() of an instruction set.
 *
 * Includers define:
 *
 *     VEC             the type of a register
 *     STEP            elements per step: 4 registers of floats
 *     draw_words()    the slot random of cast_drive.h
 *     step()          casts STEP elements of a layer, from element `at` on; returns the largest |x|
 *                     in each lane
 *     larger()        the larger values of two registers, lane by lane
 *     largest()       the largest lane of a register */
#ifndef DRAW_BODY_H
#define DRAW_BODY_H
#include "vec/cast/cast_step.h"

/* elements per call of draw_words(), and per Philox block */
enum { CHUNK = 1024, PER_PHILOX = 8 };

CAST_INLINE VEC step_part(const struct enc_plan *p, const struct cast_draw *d,
                          enum cast_shape shape, const float *x, size_t n, uint64_t at,
                          const uint16_t *halves, uint8_t *codes)
{
    float in[STEP] = {0};
    uint16_t draws[STEP];
    uint8_t out[STEP * 4];
    memcpy(in, x, n * sizeof *x);
    memset(draws, 0xff, sizeof draws); /* so that zeros after n need no 32-bit draw */
    memcpy(draws, halves, n * sizeof *draws);
    const VEC max = step(p, d, shape, in, at, draws, out, false);
    memcpy(codes, out, cast_shape_bytes(shape, n));
    return max;
}

CAST_INLINE uint32_t loop(const struct enc_plan *p, const struct cast_draw *d,
                          enum cast_shape shape, const float *x, size_t n, uint64_t at,
                          uint8_t *codes, bool stream)
{
    uint32_t words[4 * (CHUNK / PER_PHILOX + 1)];
    VEC max = {0};
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t left = n - first, k = left < CHUNK ? left : CHUNK,
                     lead = (at + first) % PER_PHILOX;
        const uint16_t *halves = (const uint16_t *)words + lead;
        draw_words(d->cast->key, (at + first) / PER_PHILOX, 0,
                   (lead + k + PER_PHILOX - 1) / PER_PHILOX, words);
        for (size_t i = first; i < first + k; i += STEP, halves += STEP) {
            uint8_t *to = codes + cast_shape_bytes(shape, i);
            for (size_t line = 0; line < STEP; line += 16)
                cast_prefetch(x + i + line);
            if (n - i < STEP)
                max = larger(max, step_part(p, d, shape, x + i, n - i, at + i, halves, to));
            else
                max = larger(max, step(p, d, shape, x + i, at + i, halves, to, stream));
        }
    }
    if (stream)
        cast_streamed();
    return largest(max);
}

/* Constant arguments give each shape its own loop. */
static __attribute__((noinline)) uint32_t draw_loop(const struct enc_plan *p,
                                                    const struct cast_draw *d,
                                                    enum cast_shape shape, const float *x, size_t n,
                                                    uint64_t at, void *codes, bool stream)
{
    const struct enc_plan plan = *p; /* stays in registers, as codes cannot alias it */
    switch (shape) {
    case CAST_4:
        return loop(&plan, d, CAST_4, x, n, at, codes, stream);
    case CAST_8:
        return loop(&plan, d, CAST_8, x, n, at, codes, stream);
    default:
        return loop(&plan, d, CAST_16, x, n, at, codes, stream);
    }
}

#endif
