/* sum_exact_neon.c : sums packed codes exactly with NEON. */
#include "vec/vec_isa.h"
#ifdef VEC_ARM
#include "vec/sum/sum_exact_neon.h"

/* Stores exact sums. */
EXACT_INLINE void store_floats(const struct sum_exact *p, const float32x4_t *sum, uint8_t *to,
                               size_t n)
{
    uint32_t all[LANES];
    for (int j = 0; j < 4; j++) {
        const uint32x4_t bits = vreinterpretq_u32_f32(vmulq_n_f32(sum[j], p->scale)),
                         mag = vandq_u32(bits, words(0x7fffffff)),
                         nan = vcgtq_u32(mag, words(0x7f800000));
        const uint32x4_t number =
            vbslq_u32(words(0x80000000), bits, vminq_u32(mag, words(p->beyond)));
        vst1q_u32(all + 4 * j, vbslq_u32(nan, words(0x7fffffff), number));
    }
    memcpy(to, all, n * sizeof *all);
}

EXACT_INLINE void sum_block(const struct sum_exact *p, const uint8_t *const *parts, int n_parts,
                            size_t i, size_t n, uint8_t *codes)
{
    float32x4_t low[4], high[4];
    uint16x8_t c[2];
    add_parts(p, parts, n_parts, i, n, low, high);
    if (p->out_width == 32) {
        store_floats(p, low, codes + 4 * i, n);
        return;
    }
    for (int j = 0; j < 4 && p->two; j++)
        low[j] = add_odd(low[j], high[j]);
    round_all(p, low, c);
    store_codes(p, c, codes + i * p->out_width / 8, n);
}

EXACT_INLINE void sum_block_halves(const struct sum_exact *p, const uint8_t *const *parts,
                                   int n_parts, size_t i, size_t n, uint8_t *codes)
{
    uint8_t rest[LANES] = {0};
    uint8_t *to = n < LANES / 2 ? rest : codes + i * p->out_width / 8;
    float64x2_t sum[4];
    for (int j = 0; j < 4; j++)
        sum[j] = vdupq_n_f64(0);
    for (int r = 0; r < n_parts; r++) {
        const uint8_t *from = parts[r] + 2 * i;
        if (n < LANES / 2)
            from = memcpy(rest, from, 2 * n);
        const float16x8_t x = as_halves(vld1q_u8(from));
        const float32x4_t low = vcvt_f32_f16(vget_low_f16(x)), high = vcvt_high_f32_f16(x);
        sum[0] = vaddq_f64(sum[0], vcvt_f64_f32(vget_low_f32(low)));
        sum[1] = vaddq_f64(sum[1], vcvt_high_f64_f32(low));
        sum[2] = vaddq_f64(sum[2], vcvt_f64_f32(vget_low_f32(high)));
        sum[3] = vaddq_f64(sum[3], vcvt_high_f64_f32(high));
    }
    const uint16x8_t c = round_sums(p, to_odd(sum[0], sum[1]), to_odd(sum[2], sum[3]));
    if (p->out_width == 16)
        vst1q_u8(to, vreinterpretq_u8_u16(c));
    else
        vst1_u8(to, vmovn_u16(c));
    if (n < LANES / 2)
        memcpy(codes + i * p->out_width / 8, rest, n * p->out_width / 8);
}

#define SUM_EXACT sum_exact_neon
#include "vec/sum/sum_exact_body.h"
#endif
