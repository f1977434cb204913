/* levels_avx2.c : converts buckets of levels with AVX2 (levels_hand.h). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/list/levels_pack.h"
#include "vec/list/vec_levels.h"

/* Returns the codes of 8 elements, by the operations of level_code_sign() (hls/arith/level.h). */
CAST_INLINE __m256i sign_codes(uint32_t bits, bool plain, const struct level_grid *g, float clip,
                               const float *x, const uint32_t *random)
{
    const __m256 v = _mm256_loadu_ps(x);
    __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
    if (!plain)
        size =
            _mm256_mul_ps(_mm256_min_ps(size, _mm256_set1_ps(clip)), _mm256_set1_ps(g->power.up));
    __m256 at = _mm256_mul_ps(size, _mm256_set1_ps(g->per));
    if (!plain)
        at = _mm256_min_ps(at, _mm256_set1_ps(g->top));
    const __m256 slack = _mm256_mul_ps(at, _mm256_set1_ps(0x1p-22f));
    const __m256i low = _mm256_cvttps_epi32(_mm256_add_ps(at, slack)),
                  word = _mm256_srli_epi32(_mm256_loadu_si256((const void *)random), 8);
    const __m256 rest = _mm256_sub_ps(at, _mm256_cvtepi32_ps(low)),
                 draw = _mm256_mul_ps(_mm256_cvtepi32_ps(word), _mm256_set1_ps(0x1p-24f));
    const __m256 up = _mm256_and_ps(_mm256_cmp_ps(rest, slack, _CMP_GT_OQ),
                                    _mm256_cmp_ps(draw, rest, _CMP_LT_OQ));
    const __m256i level = _mm256_sub_epi32(low, _mm256_castps_si256(up)),
                  sign =
                      _mm256_srl_epi32(_mm256_castps_si256(v), _mm_cvtsi32_si128(32 - (int)bits));
    return _mm256_or_si256(level, _mm256_and_si256(sign, _mm256_set1_epi32(1 << (bits - 1))));
}

/* 32 elements. Codes are joined in pairs until a byte is full. */
CAST_INLINE void sign_half(uint32_t bits, bool plain, const struct level_grid *g, float clip,
                           const float *x, const uint32_t *random, uint8_t *codes)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packs work per 128 bits */
    __m256i q[4];
    for (size_t k = 0; k < 4; k++)
        q[k] = sign_codes(bits, plain, g, clip, x + 8 * k, random + 8 * k);
    const __m256i ones = _mm256_permutevar8x32_epi32(
        _mm256_packus_epi16(_mm256_packus_epi32(q[0], q[1]), _mm256_packus_epi32(q[2], q[3])),
        order);
    const __m256i twos = _mm256_maddubs_epi16(ones, _mm256_set1_epi16((short)(1 | 256 << bits)));
    if (bits == 4) {
        _mm_storeu_si128((void *)codes, _mm_packus_epi16(_mm256_castsi256_si128(twos),
                                                         _mm256_extracti128_si256(twos, 1)));
        return;
    }
    const __m256i fours = _mm256_madd_epi16(twos, _mm256_set1_epi32(1 | 16 << 16));
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    _mm_storel_epi64((void *)codes, _mm_packus_epi16(words, words));
}

CAST_INLINE void sign_block(uint32_t bits, bool plain, const struct level_grid *g, float clip,
                            const float *x, const uint32_t *random, uint8_t *codes)
{
    sign_half(bits, plain, g, clip, x, random, codes);
    sign_half(bits, plain, g, clip, x + 32, random + 32, codes + 4 * bits);
}

enum { HAND_STEP = 256 };
#define HAND_KEYS uint64_t

CAST_INLINE void hand_begin(uint64_t *keys, uint64_t key)
{
    *keys = key;
}
CAST_INLINE bool hand_random(const uint64_t *keys, uint64_t block, uint32_t *random)
{
    philox_avx2(*keys, block, 0, HAND_STEP / 4, random);
    return true;
}

/* codes of elements [i, i + 8) of a bucket; bits above a code are undefined */
CAST_INLINE __m256i codes_at(uint32_t bits, const uint8_t *codes, size_t i)
{
    uint32_t word = 0;
    memcpy(&word, codes + i * bits / 8, bits);
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_srlv_epi32(_mm256_set1_epi32((int)word),
                             _mm256_mullo_epi32(lane, _mm256_set1_epi32((int)bits)));
}

CAST_INLINE void decode_bucket(uint32_t bits, const float values[16], const uint8_t *codes,
                               size_t n, float *x, bool stream)
{
    const __m256 low = _mm256_loadu_ps(values), high = _mm256_loadu_ps(values + 8);
    for (size_t i = 0; i < n; i += 8) {
        const __m256i code = codes_at(bits, codes, i);
        const __m256 v = _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, code),
                                          _mm256_permutevar8x32_ps(high, code),
                                          _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
        if (stream)
            _mm256_stream_ps(x + i, v);
        else
            _mm256_storeu_ps(x + i, v);
    }
}

#include "vec/list/levels_hand.h"

static void levels_random(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    philox_avx2(key, block, 0, n_blocks, words);
}

void levels_avx2_fill(struct vec_ops *ops)
{
    static const struct vec_levels levels = LEVELS_OPS(hand_decode);
    ops->levels = &levels;
}
#endif
