/* cast_body.h : casts a vector of floats, using the step() of an instruction set.
 *
 * Codes that bypass the caches (`stream`) must be aligned, so a shorter first step precedes them.
 * Includers define:
 *
 *     VEC          the type of a register
 *     STEP         elements per step: 4 registers of floats; also bytes of a register
 *     step()       casts STEP elements to codes; returns the largest |x| in each lane
 *     larger()     the larger values of two registers, lane by lane
 *     largest()    the largest lane of a register */
#ifndef CAST_BODY_H
#define CAST_BODY_H
#include "vec/cast/cast_step.h"

CAST_INLINE VEC step_part(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                          const float *x, size_t n, const uint32_t *random, uint8_t *codes)
{
    float in[STEP] = {0};
    uint8_t out[STEP * 4];
    memcpy(in, x, n * sizeof *x);
    const VEC max = step(p, way, shape, in, random, out, false);
    memcpy(codes, out, cast_shape_bytes(shape, n));
    return max;
}

CAST_INLINE uint32_t loop(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                          const float *x, size_t n, const uint32_t *random, uint8_t *codes,
                          bool stream, bool prefetch)
{
    size_t i = 0;
    VEC max = {0};
    if (stream) { /* aligns codes; stream implies no random bits */
        const size_t bytes = -(uintptr_t)codes % (shape == CAST_4 ? STEP / 2 : STEP);
        i = shape == CAST_4 ? bytes * 2 : bytes >> (shape - CAST_8);
        max = step_part(p, way, shape, x, i < n ? i : n, random, codes);
    }
    uint8_t *to = codes + cast_shape_bytes(shape, i);
    for (; i + STEP <= n; i += STEP, to += cast_shape_bytes(shape, STEP)) {
        for (size_t line = 0; line < STEP && prefetch; line += 16)
            cast_prefetch(x + i + line);
        max = larger(max, step(p, way, shape, x + i, random ? random + i : random, to, stream));
    }
    if (i < n)
        max = larger(max, step_part(p, way, shape, x + i, n - i, random ? random + i : random, to));
    if (stream)
        cast_streamed();
    return largest(max);
}

/* Constant arguments give each way and shape its own loop. */
#define WAYS(shape)                                                                       \
    (p->way == ENC_ADD   ? loop(p, ENC_ADD, shape, x, n, random, codes, stream, prefetch) \
     : p->way == ENC_CUT ? loop(p, ENC_CUT, shape, x, n, random, codes, stream, prefetch) \
                         : loop(p, ENC_ANY, shape, x, n, random, codes, stream, prefetch))
CAST_INLINE uint32_t encode_any(const struct enc_plan *p, enum cast_shape shape, const float *x,
                                size_t n, const uint32_t *random, void *codes, bool stream,
                                bool prefetch)
{
    switch (shape) {
    case CAST_4:
        return WAYS(CAST_4);
    case CAST_8:
        return WAYS(CAST_8);
    case CAST_16:
        return WAYS(CAST_16);
    default:
        return WAYS(CAST_32);
    }
}
#undef WAYS

static uint32_t encode_loop(const struct enc_plan *p, enum cast_shape shape, const float *x,
                            size_t n, const uint32_t *random, void *codes, bool stream)
{
    const struct enc_plan plan = *p; /* stays in registers, as codes cannot alias it */
    return encode_any(&plan, shape, x, n, random, codes, stream, true);
}

#endif
