/* uncast_body.h : decodes a vector of codes, using the decode_step() of an instruction set.
 *
 * Floats that bypass the caches (`stream`) must be aligned, so a shorter first step precedes them.
 * Includers define:
 *
 *     STEP             elements per step: 4 registers of floats; also bytes of a register
 *     decode_step()    decodes STEP codes to floats
 *     scaled_loop()    x[i] = value(codes[i]) * by[i / 8]. n: a multiple of STEP
 *     UNCAST_SCALED    the function that does so for codes of 4 and 8 bits (cast_slots.h) */
#ifndef UNCAST_BODY_H
#define UNCAST_BODY_H
#include "vec/cast/cast_step.h"

CAST_INLINE void decode_part(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             size_t n, float *x)
{
    uint8_t in[STEP * 4] = {0};
    float out[STEP];
    memcpy(in, codes, cast_shape_bytes(shape, n));
    decode_step(p, shape, in, out, false);
    memcpy(x, out, n * sizeof *x);
}

CAST_INLINE void decode_shape(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                              size_t n, float *x, bool stream)
{
    size_t i = -(uintptr_t)x % STEP / sizeof *x; /* elements before the first aligned one */
    stream = stream && !(shape == CAST_4 && i % 2);
    i = stream ? i : 0;
    if (i > 0)
        decode_part(p, shape, codes, i < n ? i : n, x);
    for (; i + STEP <= n; i += STEP) {
        cast_prefetch(codes + cast_shape_bytes(shape, i));
        decode_step(p, shape, codes + cast_shape_bytes(shape, i), x + i, stream);
    }
    if (i < n)
        decode_part(p, shape, codes + cast_shape_bytes(shape, i), n - i, x + i);
    if (stream)
        cast_streamed();
}

/* Constant arguments give each shape its own loop. */
CAST_INLINE void decode_loop(const struct dec_plan *plan, enum cast_shape shape, const void *codes,
                             size_t n, float *x, bool stream)
{
    const struct dec_plan p = *plan; /* stays in registers, as x cannot alias it */
    switch (shape) {
    case CAST_4:
        decode_shape(&p, CAST_4, codes, n, x, stream);
        break;
    case CAST_8:
        decode_shape(&p, CAST_8, codes, n, x, stream);
        break;
    case CAST_16:
        decode_shape(&p, CAST_16, codes, n, x, stream);
        break;
    default:
        decode_shape(&p, CAST_32, codes, n, x, stream);
    }
}

void UNCAST_SCALED(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes, size_t n,
                   const float *by, float *x)
{
    if (shape == CAST_8)
        scaled_loop(p, CAST_8, codes, n, by, x);
    else
        scaled_loop(p, CAST_4, codes, n, by, x);
}

#endif
