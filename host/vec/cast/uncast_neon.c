/* uncast_neon.c : decodes codes to fp32 with NEON, 4 per register (cast_plan.h). */
#include "vec/cast/cast_neon.h"
#ifdef VEC_ARM

CAST_INLINE float32x4_t value_of(const struct dec_plan *p, uint32x4_t code)
{
    const uint32x4_t mag = vandq_u32(code, all(p->nan)), special = all(p->special);
    const float32x4_t units = vmulq_n_f32(vcvtq_f32_s32(vreinterpretq_s32_u32(mag)), p->unit);
    uint32x4_t v = vaddq_u32(left(mag, p->up), all(p->rebias));
    v = vbslq_u32(vcltq_u32(mag, all(p->normal)), vreinterpretq_u32_f32(units), v);
    v = vbslq_u32(vceqq_u32(mag, special), all(p->special_bits), v);
    v = vbslq_u32(vcgtq_u32(mag, special), all(0x7fffffff), v);
    v = vorrq_u32(v, vandq_u32(left(code, p->sign_left), all(0x80000000)));
    float32x4_t x = vreinterpretq_f32_u32(v);
    for (int i = 0; i < 4 && p->scaled; i++)
        x = vmulq_n_f32(x, p->factor[i]);
    return p->divided ? vdivq_f32(x, vdupq_n_f32(p->divisor)) : x;
}

/* The bits above a code of 4 bits are ignored. */
CAST_INLINE void get_codes(enum cast_shape shape, const uint8_t *from, uint32x4_t c[4])
{
    if (shape == CAST_32) {
        for (int i = 0; i < 4; i++)
            c[i] = vreinterpretq_u32_u8(vld1q_u8(from + 16 * i));
        return;
    }
    uint16x8_t low, high;
    if (shape == CAST_16) {
        low = vreinterpretq_u16_u8(vld1q_u8(from));
        high = vreinterpretq_u16_u8(vld1q_u8(from + 16));
    } else {
        uint8x16_t bytes;
        if (shape == CAST_4) {
            const uint8x8_t pairs = vld1_u8(from), odd = vshr_n_u8(pairs, 4);
            bytes = vcombine_u8(vzip1_u8(pairs, odd), vzip2_u8(pairs, odd));
        } else {
            bytes = vld1q_u8(from);
        }
        low = vmovl_u8(vget_low_u8(bytes));
        high = vmovl_high_u8(bytes);
    }
    c[0] = vmovl_u16(vget_low_u16(low));
    c[1] = vmovl_high_u16(low);
    c[2] = vmovl_u16(vget_low_u16(high));
    c[3] = vmovl_high_u16(high);
}

CAST_INLINE void decode_step(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             float *x, bool stream)
{
    (void)stream; /* NEON has no store that bypasses the caches */
    uint32x4_t c[4];
    get_codes(shape, codes, c);
    for (int i = 0; i < 4; i++)
        vst1q_f32(x + 4 * i, value_of(p, c[i]));
}

CAST_INLINE void scaled_loop(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             size_t n, const float *by, float *x)
{
    for (size_t i = 0; i < n; i += STEP) {
        uint32x4_t c[4];
        get_codes(shape, codes + cast_shape_bytes(shape, i), c);
        for (size_t k = 0; k < 4; k++)
            vst1q_f32(x + i + 4 * k, vmulq_n_f32(value_of(p, c[k]), by[(i + 4 * k) / 8]));
    }
}

#define UNCAST_SCALED uncast_scaled_neon
#include "vec/cast/uncast_body.h"

/* ---- formats of 4, 8 and 16 bits whose values, scaled, are fp32 normals ----
 *
 * Shifted so that sign, exponent field and fraction lie where fp32's do, a code is its value times
 * a power of two, also if it is subnormal:
 *
 *     fp32   | s eeeeeeee mmm...   |       e5m2, arithmetic shift by 3   | s sss eeeee mm 0... |
 *                                          copies of the sign cleared    | s 000 eeeee mm 0... | */

struct quick {
    int32x4_t right;  /* -(8 - e) */
    uint32x4_t keep;  /* mask of the sign and of what follows its copies */
    float32x4_t by;   /* the inverse of that power of two, times the scale */
    uint32_t special; /* first magnitude that is not a number, at the top of a byte or half */
};

static bool quick_plan(const struct dec_plan *p, enum cast_shape shape, struct quick *q)
{
    const unsigned width = 32 - p->sign_left, e = width - 1 - (23 - p->up);
    const uint32_t field = (p->rebias >> 23) + 127; /* of the power */
    if (p->scaled || p->divided || shape == CAST_32 || width != 4u << shape || field > 254)
        return false;
    q->right = vdupq_n_s32(-(int)(8 - e));
    q->keep = all(0x80000000 | 0x7fffffffu >> (8 - e));
    q->by = vreinterpretq_f32_u32(all(field << 23));
    q->special = shape == CAST_4 ? p->special << 4 : p->special;
    return true;
}

CAST_INLINE void quick_put(const struct quick *q, uint16x8_t codes, float *x)
{
    const uint32x4_t c[2] = {vshll_n_u16(vget_low_u16(codes), 16), vshll_high_n_u16(codes, 16)};
    for (int i = 0; i < 2; i++) {
        const int32x4_t moved = vshlq_s32(vreinterpretq_s32_u32(c[i]), q->right);
        const uint32x4_t v = vandq_u32(vreinterpretq_u32_s32(moved), q->keep);
        vst1q_f32(x + 4 * i, vmulq_f32(vreinterpretq_f32_u32(v), q->by));
    }
}

/* Returns false, with nothing written, if one of the 16 codes is not a number. */
CAST_INLINE bool quick_step(const struct quick *q, enum cast_shape shape, const uint8_t *codes,
                            float *x)
{
    if (shape == CAST_16) {
        const uint16x8_t low = vreinterpretq_u16_u8(vld1q_u8(codes)),
                         high = vreinterpretq_u16_u8(vld1q_u8(codes + 16)),
                         mag = vdupq_n_u16(0x7fff);
        if (vmaxvq_u16(vmaxq_u16(vandq_u16(low, mag), vandq_u16(high, mag))) >= q->special)
            return false;
        quick_put(q, low, x);
        quick_put(q, high, x + 8);
        return true;
    }
    uint8x16_t bytes;
    if (shape == CAST_4) {
        const uint8x8_t pairs = vld1_u8(codes), even = vshl_n_u8(pairs, 4),
                        odd = vand_u8(pairs, vdup_n_u8(0xf0));
        bytes = vcombine_u8(vzip1_u8(even, odd), vzip2_u8(even, odd));
    } else {
        bytes = vld1q_u8(codes);
    }
    if (vmaxvq_u8(vandq_u8(bytes, vdupq_n_u8(0x7f))) >= q->special)
        return false;
    quick_put(q, vshll_n_u8(vget_low_u8(bytes), 8), x);
    quick_put(q, vshll_high_n_u8(bytes, 8), x + 8);
    return true;
}

CAST_INLINE void quick_shape(const struct quick *q, const struct dec_plan *p, enum cast_shape shape,
                             const uint8_t *codes, size_t n, float *x)
{
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        const uint8_t *from = codes + cast_shape_bytes(shape, i);
        cast_prefetch(from);
        if (!quick_step(q, shape, from, x + i))
            decode_step(p, shape, from, x + i, false);
    }
    if (i < n)
        decode_part(p, shape, codes + cast_shape_bytes(shape, i), n - i, x + i);
}

static __attribute__((noinline)) void quick_loop(struct quick q, const struct dec_plan *p,
                                                 enum cast_shape shape, const uint8_t *codes,
                                                 size_t n, float *x)
{
    if (shape == CAST_4)
        quick_shape(&q, p, CAST_4, codes, n, x);
    else if (shape == CAST_8)
        quick_shape(&q, p, CAST_8, codes, n, x);
    else
        quick_shape(&q, p, CAST_16, codes, n, x);
}

void uncast_neon(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                 float *x, bool stream)
{
    struct quick q;
    if (quick_plan(p, shape, &q))
        quick_loop(q, p, shape, codes, n, x);
    else
        decode_loop(p, shape, codes, n, x, stream);
}
#endif
