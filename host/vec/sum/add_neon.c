/* add_neon.c : adds codes with NEON: as halves, which become fp32s, and their sum a half. Values of
 * 4-bit codes are looked up.
 *
 * Rounding to fp32 before that to halves is harmless (sum_lanes.h). Codes of 8 bits with m > 2
 * become halves of the same exponent bits (sum_exact.h). Their sum is rounded to a half, then to m
 * bits. A half has 11 significant bits: enough for m = 3, whose sums need 2p + 2 = 10, and sums of
 * two codes with e <= 3 are exact. Half and code have the same subnormals, so that shifting a
 * magnitude rounds it. */
#include "vec/vec_isa.h"
#ifdef VEC_ARM
#include "vec/fp_mode.h"
#include "vec/sum/sum_exact_neon.h"
#include "vec/sum/sum_nibble.h"

EXACT_INLINE uint16x8_t add_halves(float16x8_t a, float16x8_t b)
{
    const float32x4_t low = vaddq_f32(vcvt_f32_f16(vget_low_f16(a)), vcvt_f32_f16(vget_low_f16(b)));
    const float32x4_t high = vaddq_f32(vcvt_high_f32_f16(a), vcvt_high_f32_f16(b));
    return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(low), high));
}

/* Zero and nan have no sign. */
EXACT_INLINE uint8x16_t add_eight(const struct sum_exact *p, uint8x16_t a, uint8x16_t b)
{
    const uint16x8_t sum = add_halves(as_halves(a), as_halves(b)), all = vdupq_n_u16(0x7fff);
    const uint16x8_t mag = vandq_u16(sum, all), nan = vcgtq_u16(mag, vdupq_n_u16(0x7c00));
    const uint16x8_t code = vbslq_u16(all, vminq_u16(mag, vdupq_n_u16((uint16_t)p->beyond)), sum);
    return vreinterpretq_u8_u16(vbslq_u16(nan, all, vandq_u16(code, vtstq_u16(mag, mag))));
}

/* Returns magnitudes of codes; a nan's magnitude is arbitrary. */
EXACT_INLINE uint8x16_t round_halves(const struct sum_exact *p, uint16x8_t sum)
{
    const uint16x8_t mag = vandq_u16(sum, vdupq_n_u16(0x7fff));
    const int16x8_t right = vdupq_n_s16((int16_t)(13 - (int)p->drop));
    /* 1 if a tie rounds down; the rounding shift takes ties up */
    const uint16x8_t even = vbicq_u16(vdupq_n_u16(1), vshlq_u16(mag, right));
    return vreinterpretq_u8_u16(
        vminq_u16(vrshlq_u16(vqsubq_u16(mag, even), right), vdupq_n_u16((uint16_t)p->beyond)));
}

EXACT_INLINE uint8x16_t add_bytes(const struct sum_exact *p, uint8x16_t a, uint8x16_t b)
{
    const uint8x16x2_t x = to_halves(p, a), y = to_halves(p, b);
    const uint16x8_t low = add_halves(as_halves(x.val[0]), as_halves(y.val[0])),
                     high = add_halves(as_halves(x.val[1]), as_halves(y.val[1]));
    const uint8x16_t mag = vuzp1q_u8(round_halves(p, low), round_halves(p, high)),
                     top = vuzp2q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high)),
                     all = vdupq_n_u8(0x7f);
    /* nans are quiet: the upper 8 bits exceed those of inf */
    const uint8x16_t nan = vcgtq_u8(vandq_u8(top, all), vdupq_n_u8(0x7c));
    const uint8x16_t code = vandq_u8(vbslq_u8(all, mag, top), vtstq_u8(mag, mag));
    return vbslq_u8(nan, vdupq_n_u8((uint8_t)p->nan), code);
}

EXACT_INLINE void add_lanes(const struct sum_exact *p, bool halves, uint8_t *acc,
                            const uint8_t *codes)
{
    const uint8x16_t a = vld1q_u8(acc), b = vld1q_u8(codes);
    vst1q_u8(acc, halves ? add_eight(p, a, b) : add_bytes(p, a, b));
}

/* Constant arguments give each kind of codes its own loop. */
EXACT_INLINE void add_all(struct sum_exact plan, bool halves, uint8_t *acc, const uint8_t *codes,
                          size_t bytes)
{
    plan.two = plan.nibbles = false;
    size_t i = 0;
    for (; i + LANES <= bytes; i += LANES)
        add_lanes(&plan, halves, acc + i, codes + i);
    if (i < bytes) {
        uint8_t a[LANES] = {0}, b[LANES] = {0};
        memcpy(a, acc + i, bytes - i);
        memcpy(b, codes + i, bytes - i);
        add_lanes(&plan, halves, a, b);
        memcpy(acc + i, a, bytes - i);
    }
}

static __attribute__((noinline)) void add_in_ieee(const struct sum_exact *plan, uint8_t *acc,
                                                  const uint8_t *codes, size_t bytes)
{
    if (plan->halves)
        add_all(*plan, true, acc, codes, bytes);
    else
        add_all(*plan, false, acc, codes, bytes);
}

bool add_neon(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    struct sum_exact plan = {.halves = mf_same(sum->in, mf_half()),
                             .beyond =
                                 sum->overflow == MF_SATURATE ? mf_max(sum->in) : mf_inf(sum->in)};
    if (plan.halves ? sum->rule != VEC_NEAREST : !sum_exact_add_plan(sum, &plan))
        return false;
    const uint64_t mode = fp_mode_ieee();
    add_in_ieee(&plan, acc, codes, vec_bytes(sum->in, n));
    fp_mode_back(mode);
    return true;
}

/* ---- codes of 4 bits (sum_nibble.h) ---- */

struct nibble_neon {
    int8x16_t value;
    uint8x16_t seen, special;
    uint8x16x4_t code;
};

/* 16 sums of codes, and the OR of their flags */
struct nibble_sums {
    int16x8_t low, high;
    uint8x16_t seen;
};

/* codes: one per byte */
EXACT_INLINE void add_values(const struct nibble_neon *t, uint8x16_t codes, struct nibble_sums *s)
{
    const int8x16_t value = vqtbl1q_s8(t->value, codes);
    s->low = vaddw_s8(s->low, vget_low_s8(value));
    s->high = vaddw_high_s8(s->high, value);
    s->seen = vorrq_u8(s->seen, vqtbl1q_u8(t->seen, codes));
}

/* Sums never round to zero. */
EXACT_INLINE uint8x16_t nibble_codes(const struct nibble_neon *t, const struct nibble_sums *s)
{
    const int8x16_t sum = vqmovn_high_s16(vqmovn_s16(s->low), s->high);
    const uint8x16_t size = vminq_u8(vreinterpretq_u8_s8(vqabsq_s8(sum)), vdupq_n_u8(NIBBLE_MAX));
    const uint8x16_t sign = vandq_u8(vshrq_n_u8(vreinterpretq_u8_s8(sum), 4), vdupq_n_u8(8)),
                     code = vorrq_u8(vqtbl4q_u8(t->code, size), sign);
    return vbslq_u8(vtstq_u8(s->seen, s->seen), vqtbl1q_u8(t->special, s->seen), code);
}

/* Sums n bytes of all parts, at most LANES, from byte i on. */
EXACT_INLINE void sum_pairs(const struct nibble_neon *t, const uint8_t *const *parts, int n_parts,
                            size_t i, size_t n, uint8_t *codes)
{
    const struct nibble_sums zero = {vdupq_n_s16(0), vdupq_n_s16(0), vdupq_n_u8(0)};
    struct nibble_sums s[2] = {zero, zero};
    uint8_t rest[LANES] = {0};
    for (int r = 0; r < n_parts; r++) {
        const uint8_t *from = parts[r] + i;
        if (n < LANES)
            from = memcpy(rest, from, n);
        const uint8x16_t pairs = vld1q_u8(from);
        add_values(t, vandq_u8(pairs, vdupq_n_u8(15)), &s[0]);
        add_values(t, vshrq_n_u8(pairs, 4), &s[1]);
    }
    const uint8x16_t both = vsliq_n_u8(nibble_codes(t, &s[0]), nibble_codes(t, &s[1]), 4);
    if (n < LANES)
        memcpy(codes + i, &both, n);
    else
        vst1q_u8(codes + i, both);
}

static void sum_nibbles(const struct sum_nibble *s, const uint8_t *const *parts, int n_parts,
                        size_t n, uint8_t *codes)
{
    const struct nibble_neon t = {vreinterpretq_s8_u8(vld1q_u8(s->value)),
                                  vld1q_u8(s->seen),
                                  vld1q_u8(s->special),
                                  {{vld1q_u8(s->code.of), vld1q_u8(s->code.of + 16),
                                    vld1q_u8(s->code.of + 32), vld1q_u8(s->code.of + 48)}}};
    const size_t bytes = (n + 1) / 2;
    size_t i = 0;
    for (; i + LANES <= bytes; i += LANES)
        sum_pairs(&t, parts, n_parts, i, LANES, codes);
    if (i < bytes)
        sum_pairs(&t, parts, n_parts, i, bytes - i, codes);
    if (n % 2)
        codes[n / 2] &= 15;
}

bool add_nibble_neon(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    const struct sum_nibble *s = sum_nibble_of(sum->in, sum->overflow);
    if (sum->rule != VEC_NEAREST || !s)
        return false;
    sum_nibbles(s, (const uint8_t *const[]){acc, codes}, 2, n, acc);
    return true;
}

bool sum_nibble_neon(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes)
{
    const struct sum_nibble *s = sum_nibble_plan(sum, n_parts, out, shift);
    if (!s)
        return false;
    sum_nibbles(s, parts, n_parts, n, codes);
    return true;
}
#endif
