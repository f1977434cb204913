/* cast_neon.c : finds the largest magnitude and encodes fp32 with NEON, 4 floats per register. */
#include "vec/cast/cast_neon.h"
#ifdef VEC_ARM
#include "vec/fp_mode.h"

/* ---- the ways of cast_plan.h; a: bits of |x|; u: bits of x ---- */

CAST_INLINE uint32x4_t code_add(const struct enc_plan *p, uint32x4_t a, uint32x4_t u)
{
    const uint32x4_t x = vminq_u32(a, all(p->top));
    const uint32x4_t binade = vandq_u32(vqsubq_u32(x, all(p->lowest)), all(0x7f800000));
    const uint32x4_t sum = sum_bits(x, vaddq_u32(binade, all(p->lift)));
    return with_sign(p, vaddq_u32(sum, right(binade, p->drop)), u);
}

CAST_INLINE uint32x4_t code_cut(const struct enc_plan *p, uint32x4_t a, uint32x4_t u)
{
    const uint32x4_t x = vminq_u32(a, all(p->top));
    const uint32x4_t last = vandq_u32(right(x, p->drop), all(p->odd));
    return with_sign(p, right(vaddq_u32(vaddq_u32(x, all(p->half)), last), p->drop), u);
}

/* sig has 24 bits, the highest one set; 0 <= k < 64. A shift by 32 or more gives 0. */
CAST_INLINE uint32x4_t round_any(const struct enc_plan *p, uint32x4_t sig, int32x4_t k,
                                 const uint32_t *random)
{
    const uint32x4_t one = all(1);
    if (p->round == MF_ZERO)
        return vshlq_u32(sig, vnegq_s32(k));
    if (p->round == MF_STOCHASTIC) {
        /* the dropped bits, in 2^-32 of the last kept bit; to the right from k = 33 on */
        const uint32x4_t rest = vshlq_u32(sig, vsubq_s32(vdupq_n_s32(32), k));
        const uint32x4_t kept = vshlq_u32(sig, vnegq_s32(k));
        return vsubq_u32(kept, vcgtq_u32(rest, vld1q_u32(random))); /* - -1 */
    }
    sig = vshlq_n_u32(sig, 7); /* keeps a bit for half a unit even if nothing is dropped */
    k = vaddq_s32(k, vdupq_n_s32(7));
    const uint32x4_t half = vshlq_u32(one, vsubq_s32(k, vdupq_n_s32(1)));
    const uint32x4_t last = vandq_u32(vshlq_u32(sig, vnegq_s32(k)), one);
    const uint32x4_t less = vsubq_u32(vaddq_u32(half, last), one);
    return vshlq_u32(vaddq_u32(sig, less), vnegq_s32(k));
}

CAST_INLINE uint32x4_t code_any(const struct enc_plan *p, uint32x4_t a, uint32x4_t u,
                                const uint32_t *random)
{
    /* cast_c.c explains the normalisation of subnormals. */
    const uint32x4_t as_float = vreinterpretq_u32_f32(vcvtq_f32_s32(vreinterpretq_s32_u32(a)));
    const uint32x4_t wide =
        vbslq_u32(vcltq_u32(a, all(0x00800000)), vsubq_u32(as_float, all(149u << 23)), a);

    const uint32x4_t sig = vbslq_u32(all(0x007fffff), wide, all(0x00800000));
    const int32x4_t field =
        vaddq_s32(vshrq_n_s32(vreinterpretq_s32_u32(wide), 23), vdupq_n_s32(p->rebias));
    const int32x4_t zero = vdupq_n_s32(0), one = vdupq_n_s32(1);
    const int32x4_t below = vmaxq_s32(vsubq_s32(one, field), zero);
    const int32x4_t over = vmaxq_s32(vsubq_s32(field, one), zero);
    const int32x4_t binade = vminq_s32(over, vdupq_n_s32(p->binades));
    const int32x4_t go = vaddq_s32(below, vdupq_n_s32((int)p->drop));
    const uint32x4_t kept = round_any(p, sig, vminq_s32(go, vdupq_n_s32(63)), random);
    uint32x4_t code = vaddq_u32(left(vreinterpretq_u32_s32(binade), p->m), kept);
    code = vbicq_u32(vminq_u32(code, all(p->most)), vceqzq_u32(a));

    code = vbslq_u32(vceqq_u32(a, all(0x7f800000)), all(p->beyond), code);
    code = vbslq_u32(vcgtq_u32(a, all(0x7f800000)), all(p->nan), code);
    return with_sign(p, code, u);
}

CAST_INLINE uint32x4_t cast_loaded(const struct enc_plan *p, enum enc_way way,
                                   enum cast_shape shape, const uint32x4_t u[4],
                                   const uint32_t *random, uint8_t *codes)
{
    uint32x4_t a[4], c[4];
    for (int i = 0; i < 4; i++)
        a[i] = magnitude(u[i]);
    const uint32x4_t max = larger(larger(a[0], a[1]), larger(a[2], a[3]));
    if (way == ENC_ANY || __builtin_expect(largest(max) > 0x7f800000, 0))
        for (int i = 0; i < 4; i++)
            c[i] = code_any(p, a[i], u[i], random ? random + 4 * i : random);
    else
        for (int i = 0; i < 4; i++)
            c[i] = way == ENC_ADD ? code_add(p, a[i], u[i]) : code_cut(p, a[i], u[i]);
    put_codes(shape, c, codes);
    return max;
}

CAST_INLINE uint32x4_t load(const float *x)
{
    return vreinterpretq_u32_f32(vld1q_f32(x));
}

CAST_INLINE uint32x4_t step(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                            const float *x, const uint32_t *random, uint8_t *codes, bool stream)
{
    (void)stream; /* NEON has no store that bypasses the caches */
    const uint32x4_t u[4] = {load(x), load(x + 4), load(x + 8), load(x + 12)};
    return cast_loaded(p, way, shape, u, random, codes);
}

#include "vec/cast/cast_body.h"

/* Casts x[i] * by[i / 8]. n: a multiple of STEP. */
CAST_INLINE void scaled_loop(const struct enc_plan *p, enum cast_shape shape, const float *x,
                             size_t n, const float *by, uint8_t *codes)
{
    for (size_t i = 0; i < n; i += STEP, by += 2, codes += cast_shape_bytes(shape, STEP)) {
        uint32x4_t u[4];
        for (size_t k = 0; k < 4; k++)
            u[k] = vreinterpretq_u32_f32(vmulq_n_f32(vld1q_f32(x + i + 4 * k), by[k / 2]));
        (void)cast_loaded(p, ENC_ADD, shape, u, NULL, codes);
    }
}

static const struct cast_loops loops = {
    .encode = encode_loop,
    .decode = uncast_neon,
    .random = philox_neon,
    .draw = draw_neon,
    .pack = cast_c_pack,
    .unpack = cast_c_unpack,
};

#define UNCAST_SCALED uncast_scaled_neon
#include "vec/cast/cast_slots.h"

/* absmax stays plain C, which gcc vectorises. scale is not sped up. */
void cast_neon_fill(struct vec_ops *ops)
{
    ops->encode = slot_encode;
    ops->scan_encode = slot_scan_encode;
    ops->decode = slot_decode;
    ops->encode_scaled = slot_encode_scaled;
    ops->decode_scaled = slot_decode_scaled;
}
#endif
