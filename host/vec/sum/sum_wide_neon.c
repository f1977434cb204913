/* sum_wide_neon.c : converts sums of codes to wide words and back with NEON. */
#include "vec/vec_isa.h"
#ifdef VEC_ARM
#include "vec/sum/sum_exact_neon.h"
#include "vec/sum/sum_wide.h"

/* Where the words of vector j lie in 16 bytes: four of one window begin at bit 0 or 4, depending on
 * j % 2, and two of two windows at bit 0, 2, 4 or 6, depending on j % 4. */
struct word_places {
    uint8x16_t bytes[2], long_bytes[4]; /* of each word in turn, 4 and 8 */
    int32x4_t up[2];                    /* left shifts that move a word to the top */
    int64x2_t long_up[4];
};

EXACT_INLINE struct word_places word_places(int bits)
{
    uint8_t bytes[16];
    int32_t up[4];
    int64_t long_up[2];
    struct word_places places;
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < 16; i++) {
            const int bit = i / 4 * bits + 4 * j * bits % 8;
            bytes[i] = (uint8_t)(bit / 8 + i % 4);
            up[i / 4] = 32 - bits - bit % 8;
        }
        places.bytes[j] = vld1q_u8(bytes);
        places.up[j] = vld1q_s32(up);
    }
    for (int j = 0; j < 4; j++) {
        for (int i = 0; i < 16; i++) {
            const int bit = i / 8 * bits + 2 * j * bits % 8;
            bytes[i] = (uint8_t)(bit / 8 + i % 8);
            long_up[i / 8] = 64 - bits - bit % 8;
        }
        places.long_bytes[j] = vld1q_u8(bytes);
        places.long_up[j] = vld1q_s64(long_up);
    }
    return places;
}

/* Writes n words, and up to WIDE_SLACK bytes beyond. */
EXACT_INLINE void pack_words(const uint64_t *from, int n, int bits, uint8_t *to)
{
    uint64_t held = 0;
    int have = 0; /* bits, at most 7 + LONG_MAX */
    for (int i = 0; i < n; i++) {
        held |= from[i] << have;
        have += bits;
        memcpy(to, &held, sizeof held);
        to += have / 8;
        held >>= have & ~7;
        have &= 7;
    }
}

/* Sums divided by p->unit are integers. Conversions to integers turn nan to 0. */
EXACT_INLINE void store_words(const struct sum_exact *p, const float32x4_t *sums, int bits,
                              const struct word_places *places, uint8_t *to)
{
    (void)places;
    uint32_t block[LANES];
    uint64_t pairs[LANES / 2];
    const uint32x4_t lowest = words(1u << (bits - 1)), all = words((1u << bits) - 1);
    const float32x4_t inf = vreinterpretq_f32_u32(words(0x7f800000));
    for (int j = 0; j < 4; j++) {
        const float32x4_t x = vmulq_n_f32(sums[j], 1 / p->unit);
        const uint32x4_t plus = vceqq_f32(x, inf), minus = vceqq_f32(x, vnegq_f32(inf)),
                         number = vceqq_f32(x, x);
        uint32x4_t word = vreinterpretq_u32_s32(vcvtnq_s32_f32(x));
        word = vbslq_u32(plus, vsubq_u32(lowest, words(1)), word);
        word = vbslq_u32(minus, vaddq_u32(lowest, words(1)), word);
        vst1q_u32(block + 4 * j, vandq_u32(vbslq_u32(number, word, lowest), all));
    }
    for (int j = 0; j < LANES / 2; j++)
        pairs[j] = block[2 * j] | (uint64_t)block[2 * j + 1] << bits;
    pack_words(pairs, LANES / 2, 2 * bits, to);
}

/* Adds words to sums. Reads up to 16 bytes beyond the LANES words. */
EXACT_INLINE void add_words(const struct sum_exact *p, const uint8_t *from, int bits,
                            const struct word_places *places, float32x4_t *sums)
{
    const int32x4_t down = vdupq_n_s32(bits - 32), lowest = vdupq_n_s32(-(1 << (bits - 1)));
    for (int j = 0; j < 4; j++) {
        const uint8x16_t loaded = vqtbl1q_u8(vld1q_u8(from + j * bits / 2), places->bytes[j % 2]);
        const int32x4_t word =
            vshlq_s32(vshlq_s32(vreinterpretq_s32_u8(loaded), places->up[j % 2]), down);
        const uint32x4_t nan = vceqq_s32(word, lowest),
                         minus = vceqq_s32(word, vaddq_s32(lowest, vdupq_n_s32(1))),
                         plus = vceqq_s32(word, vmvnq_s32(lowest));
        uint32x4_t x = vreinterpretq_u32_f32(vmulq_n_f32(vcvtq_f32_s32(word), p->unit));
        x = vbslq_u32(nan, words(0x7fc00000), x);
        x = vbslq_u32(minus, words(0xff800000), x);
        x = vbslq_u32(plus, words(0x7f800000), x);
        sums[j] = vaddq_f32(sums[j], vreinterpretq_f32_u32(x));
    }
}

/* ---- two windows ---- */

/* high and the words of two sums; only high may be inf or nan. */
EXACT_INLINE uint64x2_t mend_words(float32x2_t high, uint64x2_t lowest, uint64x2_t word)
{
    const float64x2_t x = vcvt_f64_f32(high), inf = vdupq_n_f64(INFINITY);
    const uint64x2_t one = vdupq_n_u64(1);
    word = vbslq_u64(vceqq_f64(x, inf), vsubq_u64(lowest, one), word);
    word = vbslq_u64(vceqq_f64(x, vnegq_f64(inf)), vaddq_u64(lowest, one), word);
    return vbslq_u64(vceqq_f64(x, x), word, lowest);
}

EXACT_INLINE void store_long_words(const struct sum_exact *p, const float32x4_t *low,
                                   const float32x4_t *high, int bits,
                                   const struct word_places *places, uint8_t *to)
{
    (void)places;
    uint64_t block[LANES];
    const uint64x2_t lowest = vdupq_n_u64(1ull << (bits - 1)),
                     all = vdupq_n_u64((1ull << bits) - 1);
    for (int j = 0; j < 4; j++) {
        const int32x4_t l = vcvtnq_s32_f32(vmulq_n_f32(low[j], 1 / p->unit)),
                        h = vcvtnq_s32_f32(vmulq_n_f32(high[j], 1 / (p->unit * (1 << LOW_BITS))));
        uint64x2_t a = vreinterpretq_u64_s64(
                       vaddw_s32(vshll_n_s32(vget_low_s32(h), LOW_BITS), vget_low_s32(l))),
                   b = vreinterpretq_u64_s64(vaddw_high_s32(vshll_high_n_s32(h, LOW_BITS), l));
        a = mend_words(vget_low_f32(high[j]), lowest, a);
        b = mend_words(vget_high_f32(high[j]), lowest, b);
        vst1q_u64(block + 4 * j, vandq_u64(a, all));
        vst1q_u64(block + 4 * j + 2, vandq_u64(b, all));
    }
    pack_words(block, LANES, bits, to);
}

/* Adds words to sums, but inf and nan to special. Reads up to 16 bytes beyond the LANES words. */
EXACT_INLINE void add_long_words(const uint8_t *from, int bits, const struct word_places *places,
                                 int64_t *sums, float *special)
{
    const int64x2_t down = vdupq_n_s64(bits - 64);
    const uint64x2_t largest = vdupq_n_u64((1ull << 63) - (1ull << (64 - bits))),
                     range = vdupq_n_u64(3ull << (64 - bits));
    int64x2_t sum[LANES / 2];
    uint64x2_t specials = vdupq_n_u64(0);
    for (int j = 0; j < LANES / 2; j++) {
        const uint8x16_t loaded =
            vqtbl1q_u8(vld1q_u8(from + j * bits / 4), places->long_bytes[j % 4]);
        /* inf, nan and -inf are neighbours. Bits below the word belong to the one before. */
        const int64x2_t word = vshlq_s64(vreinterpretq_s64_u8(loaded), places->long_up[j % 4]);
        specials =
            vorrq_u64(specials, vcltq_u64(vsubq_u64(vreinterpretq_u64_s64(word), largest), range));
        sum[j] = vaddq_s64(vld1q_s64(sums + 2 * j), vshlq_s64(word, down));
    }
    if (__builtin_expect((vgetq_lane_u64(specials, 0) | vgetq_lane_u64(specials, 1)) != 0, 0)) {
        add_each_word(from, bits, sums, special);
        return;
    }
    for (int j = 0; j < LANES / 2; j++)
        vst1q_s64(sums + 2 * j, sum[j]);
}

/* special: infs and nans */
EXACT_INLINE float64x2_t long_sums(const int64_t *sums, const float *special, float unit)
{
    return vaddq_f64(vmulq_n_f64(vcvtq_f64_s64(vld1q_s64(sums)), unit),
                     vcvt_f64_f32(vld1_f32(special)));
}

EXACT_INLINE void round_long_sums(const struct sum_exact *p, const int64_t *sums,
                                  const float *special, uint16x8_t *c)
{
    float32x4_t odd[4];
    for (int j = 0; j < 4; j++)
        odd[j] = to_odd(long_sums(sums + 4 * j, special + 4 * j, p->unit),
                        long_sums(sums + 4 * j + 2, special + 4 * j + 2, p->unit));
    round_all(p, odd, c);
}

#define WIDE_NAME(way) sum_##way##_wide_neon
#define WIDE_FLOATS    float32x4_t
#define WIDE_ZERO      vdupq_n_f32(0)
#define WIDE_CODES     uint16x8_t
#define WIDE_ROOM      (3 * LANES)
#include "vec/sum/sum_wide_body.h"
#endif
