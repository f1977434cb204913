/* sum_exact_neon.h : turns codes into fp32 sums, and those into codes, with NEON, 16 elements in
 * registers, four in each vector. */
#ifndef SUM_EXACT_NEON_H
#define SUM_EXACT_NEON_H
#include "vec/sum/sum_neon.h"
#include <string.h>

#define EXACT_INLINE static inline __attribute__((always_inline))

enum { LANES = 16 };

EXACT_INLINE uint32x4_t words(uint32_t x)
{
    return vdupq_n_u32(x);
}

/* One code per byte, with zeros after n. A 4-bit code becomes the high byte of its half. */
EXACT_INLINE uint8x16_t load_codes(const struct sum_exact *p, const uint8_t *codes, size_t n)
{
    uint8_t rest[LANES] = {0};
    if (n < LANES)
        codes = memcpy(rest, codes, p->nibbles ? (n + 1) / 2 : n);
    if (!p->nibbles)
        return vld1q_u8(codes);
    const uint8x8_t pairs = vld1_u8(codes);
    const uint8x8x2_t nibbles = vzip_u8(vand_u8(pairs, vdup_n_u8(15)), vshr_n_u8(pairs, 4));
    return vqtbl1q_u8(vld1q_u8(p->half_of), vcombine_u8(nibbles.val[0], nibbles.val[1]));
}

/* Returns the halves of elements 0..7, then 8..15. A half's high byte is the code shifted right
 * with its sign, its low byte holds the bits shifted out. */
EXACT_INLINE uint8x16x2_t to_halves(const struct sum_exact *p, uint8x16_t codes)
{
    uint8x16_t low = vdupq_n_u8(0), high = codes;
    if (!p->two && !p->nibbles) { /* else halves already */
        const uint8x16_t mag = vandq_u8(codes, vdupq_n_u8(0x7f)),
                         special = vcgeq_u8(mag, vdupq_n_u8((uint8_t)p->special));
        const uint8x16_t kept = vdupq_n_u8((uint8_t)(0x80 | 0x7f >> p->right));
        const int8x16_t shifted =
            vshlq_s8(vreinterpretq_s8_u8(codes), vdupq_n_s8((int8_t)-p->right));
        high = vaddq_u8(vandq_u8(vreinterpretq_u8_s8(shifted), kept),
                        vandq_u8(special, vdupq_n_u8((uint8_t)(p->special_add >> 8))));
        low = vshlq_u8(codes, vdupq_n_s8((int8_t)(8 - p->right)));
    }
    return vzipq_u8(low, high);
}

/* With two windows, the part of |x| up to 2 goes to low, the rest or a nan to high: vminnm of a nan
 * and 2 is 2. */
EXACT_INLINE void add_floats(const struct sum_exact *p, float32x4_t x, float32x4_t *low,
                             float32x4_t *high)
{
    const float32x4_t part =
        p->two ? vmaxnmq_f32(vminnmq_f32(x, vdupq_n_f32(2)), vdupq_n_f32(-2)) : x;
    *low = vaddq_f32(*low, part);
    if (p->two)
        *high = vaddq_f32(*high, vsubq_f32(x, part));
}

EXACT_INLINE float16x8_t as_halves(uint8x16_t bytes)
{
    return vreinterpretq_f16_u8(bytes);
}

/* Sets low and high to the sums of elements i..i+n-1 of all parts. */
EXACT_INLINE void add_parts(const struct sum_exact *p, const uint8_t *const *parts, int n_parts,
                            size_t i, size_t n, float32x4_t *low, float32x4_t *high)
{
    const size_t at = p->nibbles ? i / 2 : i;
    for (int j = 0; j < 4; j++)
        low[j] = high[j] = vdupq_n_f32(0);
    for (int r = 0; r < n_parts; r++) {
        const uint8x16x2_t halves = to_halves(p, load_codes(p, parts[r] + at, n));
        for (int j = 0; j < 2; j++) {
            const float16x8_t x = as_halves(halves.val[j]);
            add_floats(p, vcvt_f32_f16(vget_low_f16(x)), &low[2 * j], &high[2 * j]);
            add_floats(p, vcvt_high_f32_f16(x), &low[2 * j + 1], &high[2 * j + 1]);
        }
    }
}

/* Rounds to fp32, to odd. */
EXACT_INLINE float32x4_t to_odd(float64x2_t a, float64x2_t b)
{
    return vcvtx_high_f32_f64(vcvtx_f32_f64(a), b);
}

/* a + b rounded to odd; the sum is exact in fp64. */
EXACT_INLINE float32x4_t add_odd(float32x4_t a, float32x4_t b)
{
    return to_odd(vaddq_f64(vcvt_f64_f32(vget_low_f32(a)), vcvt_f64_f32(vget_low_f32(b))),
                  vaddq_f64(vcvt_high_f64_f32(a), vcvt_high_f64_f32(b)));
}

/* Returns magnitudes of codes; a nan's magnitude is arbitrary. */
EXACT_INLINE uint32x4_t round_mag(const struct sum_exact *p, float32x4_t sum)
{
    const float32x4_t x = vmulq_n_f32(vabsq_f32(sum), p->scale);
    const uint32x4_t a = vreinterpretq_u32_f32(x), low = words(p->low);
    const int32x4_t right = vdupq_n_s32(-(int32_t)p->drop);
    /* 1 if a tie rounds down; the rounding shift takes ties up */
    const uint32x4_t even = vbicq_u32(words(1 - p->odd), vshlq_u32(a, right));
    const uint32x4_t normal = vsubq_u32(vrshlq_u32(vsubq_u32(a, even), right), words(p->rebias));
    const uint32x4_t units =
        vsubq_u32(vreinterpretq_u32_f32(vaddq_f32(x, vreinterpretq_f32_u32(low))), low);
    return vminq_u32(vbslq_u32(vcgtq_u32(words(p->first), a), units, normal), words(p->beyond));
}

/* Returns the codes of two vectors of sums. Zero and nan have no sign. */
EXACT_INLINE uint16x8_t round_sums(const struct sum_exact *p, float32x4_t a, float32x4_t b)
{
    const uint16x8_t mag =
        vuzp1q_u16(vreinterpretq_u16_u32(round_mag(p, a)), vreinterpretq_u16_u32(round_mag(p, b)));
    const uint16x8_t top = vuzp2q_u16(vreinterpretq_u16_f32(a), vreinterpretq_u16_f32(b));
    /* nans are quiet: the upper 16 bits exceed those of inf */
    const uint16x8_t nan = vcgtq_u16(vandq_u16(top, vdupq_n_u16(0x7fff)), vdupq_n_u16(0x7f80));
    const uint16x8_t signs = vshlq_u16(top, vdupq_n_s16((int16_t)((int)p->out_width - 16))),
                     code =
                         vbslq_u16(vdupq_n_u16((uint16_t)(1u << (p->out_width - 1))), signs, mag);
    return vbslq_u16(nan, vdupq_n_u16((uint16_t)p->nan), vandq_u16(code, vtstq_u16(mag, mag)));
}

/* c: codes of elements 0..7, 8..15 */
EXACT_INLINE void round_all(const struct sum_exact *p, const float32x4_t *sums, uint16x8_t *c)
{
    c[0] = round_sums(p, sums[0], sums[1]);
    c[1] = round_sums(p, sums[2], sums[3]);
}

/* c: as from round_all() */
EXACT_INLINE void store_codes(const struct sum_exact *p, const uint16x8_t *c, uint8_t *codes,
                              size_t n)
{
    uint8_t rest[2 * LANES] = {0};
    uint8_t *to = n < LANES ? rest : codes;
    const uint8x16_t bytes = vuzp1q_u8(vreinterpretq_u8_u16(c[0]), vreinterpretq_u8_u16(c[1]));
    if (p->out_width == 16) {
        vst1q_u8(to, vreinterpretq_u8_u16(c[0]));
        vst1q_u8(to + LANES, vreinterpretq_u8_u16(c[1]));
    } else if (p->out_width == 8) {
        vst1q_u8(to, bytes);
    } else {
        const uint16x8_t pairs = vreinterpretq_u16_u8(bytes);
        vst1_u8(to, vmovn_u16(vsraq_n_u16(pairs, pairs, 4)));
    }
    if (n < LANES && p->out_width == 4 && n % 2)
        rest[n / 2] &= 15;
    if (n < LANES)
        memcpy(codes, rest, sum_exact_bytes(p->out_width, n));
}

#endif
