/* draw_neon.c : rounds stochastically with NEON (cast_plan.h's ENC_DRAW). */
#include "vec/cast/cast_neon.h"
#ifdef VEC_ARM
#include "vec/cast/draw_bits.h"
#include "vec/fp_mode.h"

/* u: bits of 4 elements; a: u without signs; halves: 16 random bits per element; *open: all ones in
 * lanes that the halves do not decide. The rounding mode must be toward zero. */
CAST_INLINE uint32x4_t draw_4(const struct enc_plan *p, uint32x4_t u, uint32x4_t a,
                              uint16x4_t halves, uint32x4_t *open)
{
    const unsigned up = p->drop - 16;
    const uint32x4_t lowest = all(p->lowest), small = vcltq_u32(a, lowest);
    const uint32x4_t aligned = vbslq_u32(small, sum_bits(a, lowest), a);
    const uint32x4_t rest = vsubq_u32(aligned, left(vmovl_u16(halves), up));
    *open = vceqzq_u32(vandq_u32(rest, left(all(0xffff), up)));
    const uint32x4_t one_less = all((p->lowest >> p->drop) - (1u << p->m) - 1);
    uint32x4_t code = vsubq_u32(right(rest, p->drop), one_less);
    code = vsubq_u32(code, vandq_u32(small, all(1u << p->m)));
    return with_sign(p, vminq_u32(code, all(p->beyond)), u);
}

CAST_INLINE uint32x4_t nan_4(const struct enc_plan *p, uint32x4_t u, uint32x4_t code)
{
    const uint32x4_t nan = vcgtq_u32(magnitude(u), all(0x7f800000));
    return vbslq_u32(nan, with_sign(p, all(p->nan), u), code);
}

static __attribute__((noinline)) void decide(const struct cast_draw *d, const float *x, uint64_t at,
                                             const uint32x4_t open[4], uint32x4_t c[4])
{
    uint32_t words[STEP], lanes[STEP];
    uint64_t which = 0;
    for (int j = 0; j < 4; j++) {
        vst1q_u32(words + 4 * j, c[j]);
        vst1q_u32(lanes + 4 * j, open[j]);
    }
    for (int i = 0; i < STEP; i++)
        which |= (uint64_t)(lanes[i] & 1) << i;
    by_all_bits(d, x, at, which, words);
    for (int j = 0; j < 4; j++)
        c[j] = vld1q_u32(words + 4 * j);
}

CAST_INLINE uint32x4_t step(const struct enc_plan *p, const struct cast_draw *d,
                            enum cast_shape shape, const float *x, uint64_t at,
                            const uint16_t *halves, uint8_t *codes, bool stream)
{
    (void)stream; /* NEON has no store that bypasses the caches */
    uint32x4_t c[4], u[4], open[4], max = all(0), some = all(0);
    for (size_t j = 0; j < 4; j++) {
        u[j] = vreinterpretq_u32_f32(vld1q_f32(x + 4 * j));
        const uint32x4_t a = magnitude(u[j]);
        c[j] = draw_4(p, u[j], a, vld1_u16(halves + 4 * j), &open[j]);
        max = larger(max, a);
        some = vorrq_u32(some, open[j]);
    }
    if (__builtin_expect(largest(max) > 0x7f800000, 0))
        for (size_t j = 0; j < 4; j++)
            c[j] = nan_4(p, u[j], c[j]);
    if (__builtin_expect(largest(some) != 0, 0))
        decide(d, x, at, open, c);
    put_codes(shape, c, codes);
    return max;
}

#define draw_words philox_neon
#include "vec/cast/draw_body.h"

uint32_t draw_neon(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                   const float *x, size_t n, uint64_t at, void *codes, bool stream)
{
    const uint64_t mode = fp_mode_to_zero();
    const uint32_t absmax = draw_loop(p, d, shape, x, n, at, codes, stream);
    fp_mode_back(mode);
    return absmax;
}
#endif
