/* cast_neon.h : declares the NEON loops, and helpers for signs, maxima, and stores of 16 codes. */
#ifndef CAST_NEON_H
#define CAST_NEON_H
#include "vec/cast/cast_step.h"
#include "vec/vec_isa.h"

#ifdef VEC_ARM
#include <arm_neon.h>

uint32_t draw_neon(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                   const float *x, size_t n, uint64_t at, void *codes, bool stream);
void philox_neon(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words);
void uncast_neon(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                 float *x, bool stream);

/* x = value(codes) * by[i / 8], for codes of 4 or 8 bits. n: a multiple of 16. */
void uncast_scaled_neon(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                        size_t n, const float *by, float *x);

#define VEC uint32x4_t
enum { STEP = 16 }; /* elements per step of the loops; bytes of a register */

CAST_INLINE uint32x4_t all(uint32_t x)
{
    return vdupq_n_u32(x);
}

/* n < 128; 0 for n >= 32 */
CAST_INLINE uint32x4_t right(uint32x4_t x, unsigned n)
{
    return vshlq_u32(x, vdupq_n_s32(-(int)n));
}

CAST_INLINE uint32x4_t left(uint32x4_t x, unsigned n)
{
    return vshlq_u32(x, vdupq_n_s32((int)n));
}

CAST_INLINE uint32x4_t magnitude(uint32x4_t x)
{
    return vreinterpretq_u32_f32(vabsq_f32(vreinterpretq_f32_u32(x)));
}

CAST_INLINE uint32x4_t sum_bits(uint32x4_t a, uint32x4_t b)
{
    return vreinterpretq_u32_f32(vaddq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}

/* Returns code's low bits, without its sign, below the sign of u. */
CAST_INLINE uint32x4_t with_sign(const struct enc_plan *p, uint32x4_t code, uint32x4_t u)
{
    return vbslq_u32(all(p->nan), code, right(u, p->sign_right));
}

CAST_INLINE uint32x4_t larger(uint32x4_t v, uint32x4_t w)
{
    return vmaxq_u32(v, w);
}

CAST_INLINE uint32_t largest(uint32x4_t v)
{
    return vmaxvq_u32(v);
}

CAST_INLINE uint16x8_t narrow_16(uint32x4_t a, uint32x4_t b)
{
    return vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
}

CAST_INLINE uint8x16_t narrow_8(const uint32x4_t c[4])
{
    return vuzp1q_u8(vreinterpretq_u8_u16(narrow_16(c[0], c[1])),
                     vreinterpretq_u8_u16(narrow_16(c[2], c[3])));
}

CAST_INLINE uint8x8_t narrow_4(const uint32x4_t c[4])
{
    const uint16x8_t pairs = vreinterpretq_u16_u8(narrow_8(c));
    return vmovn_u16(vsraq_n_u16(pairs, pairs, 4)); /* even + 16 * odd */
}

CAST_INLINE void put_codes(enum cast_shape shape, const uint32x4_t c[4], uint8_t *to)
{
    if (shape == CAST_4) {
        vst1_u8(to, narrow_4(c));
    } else if (shape == CAST_8) {
        vst1q_u8(to, narrow_8(c));
    } else if (shape == CAST_16) {
        vst1q_u8(to, vreinterpretq_u8_u16(narrow_16(c[0], c[1])));
        vst1q_u8(to + 16, vreinterpretq_u8_u16(narrow_16(c[2], c[3])));
    } else {
        for (int i = 0; i < 4; i++)
            vst1q_u8(to + 16 * i, vreinterpretq_u8_u32(c[i]));
    }
}

#endif
#endif
