/* levels_avx512.c : converts buckets of levels with AVX-512 (levels_hand.h). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/list/levels_pack.h"
#include "vec/cast/philox_avx512.h"
#include "vec/list/vec_levels.h"

/* The operations are those of level_code_sign() (hls/arith/level.h). */
CAST_INLINE __m512i sign_codes(uint32_t bits, const struct level_grid *g, float clip,
                               const float *x, const uint32_t *random)
{
    const __m512 v = _mm512_loadu_ps(x),
                 size = _mm512_min_ps(_mm512_abs_ps(v), _mm512_set1_ps(clip)),
                 scaled = _mm512_mul_ps(_mm512_mul_ps(size, _mm512_set1_ps(g->power.up)),
                                        _mm512_set1_ps(g->per)),
                 at = _mm512_min_ps(scaled, _mm512_set1_ps(g->top)),
                 slack = _mm512_mul_ps(at, _mm512_set1_ps(0x1p-22f));
    const __m512i low = _mm512_cvttps_epi32(_mm512_add_ps(at, slack)),
                  word = _mm512_srli_epi32(_mm512_loadu_si512(random), 8);
    const __m512 rest = _mm512_sub_ps(at, _mm512_cvtepi32_ps(low)),
                 draw = _mm512_mul_ps(_mm512_cvtepi32_ps(word), _mm512_set1_ps(0x1p-24f));
    const __mmask16 up = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(rest, slack, _CMP_GT_OQ), draw,
                                                 rest, _CMP_LT_OQ);
    const __m512i level = _mm512_mask_add_epi32(low, up, low, _mm512_set1_epi32(1)),
                  negative = _mm512_srli_epi32(_mm512_castps_si512(v), 31);
    return _mm512_or_si512(level, _mm512_sllv_epi32(negative, _mm512_set1_epi32((int)bits - 1)));
}

/* Gives the codes of sign_codes() if the grid's power is 1, no magnitude is above the grid, nothing
 * is clipped and no x is nan. Computes at + slack as at * (1 + 2^-22), and tests `rest > slack` as
 * (at - slack, rounded up) > low, and `draw < rest` as (low + draw, rounded down) < at. */
CAST_INLINE __m512i plain_codes(uint32_t bits, const struct level_grid *g, const float *x,
                                const uint32_t *random)
{
    enum { UP = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC };
    enum { DOWN = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC };
    const __m512 v = _mm512_loadu_ps(x),
                 at = _mm512_mul_ps(_mm512_abs_ps(v), _mm512_set1_ps(g->per)),
                 less = _mm512_mul_round_ps(at, _mm512_set1_ps(1 - 0x1p-22f), UP);
    const __m512i low = _mm512_cvttps_epi32(_mm512_mul_ps(at, _mm512_set1_ps(1 + 0x1p-22f))),
                  word = _mm512_srli_epi32(_mm512_loadu_si512(random), 8);
    const __m512 base = _mm512_cvtepi32_ps(low),
                 drawn = _mm512_fmadd_round_ps(_mm512_cvtepi32_ps(word), _mm512_set1_ps(0x1p-24f),
                                               base, DOWN);
    const __mmask16 up =
        _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(less, base, _CMP_GT_OQ), drawn, at, _CMP_LT_OQ);
    const __m512i level = _mm512_mask_add_epi32(low, up, low, _mm512_set1_epi32(1)),
                  sign = _mm512_srli_epi32(_mm512_castps_si512(v), 32 - bits);
    return _mm512_ternarylogic_epi32(level, sign, _mm512_set1_epi32(1 << (bits - 1)),
                                     0xf8); /* level | sign & bit */
}

/* Codes are joined in pairs until a byte is full. */
CAST_INLINE void sign_block(uint32_t bits, bool plain, const struct level_grid *g, float clip,
                            const float *x, const uint32_t *random, uint8_t *codes)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i q[4];
    for (size_t k = 0; k < 4; k++)
        q[k] = plain ? plain_codes(bits, g, x + 16 * k, random + 16 * k)
                     : sign_codes(bits, g, clip, x + 16 * k, random + 16 * k);
    const __m512i ones =
        _mm512_permutexvar_epi32(/* the packs work per 128 bits */
                                 order, _mm512_packus_epi16(_mm512_packus_epi32(q[0], q[1]),
                                                            _mm512_packus_epi32(q[2], q[3])));
    const __m512i twos = _mm512_maddubs_epi16(ones, _mm512_set1_epi16((short)(1 | 256 << bits)));
    if (bits == 4) {
        _mm256_storeu_si256((__m256i *)(void *)codes, _mm512_cvtepi16_epi8(twos));
        return;
    }
    const __m512i fours = _mm512_madd_epi16(twos, _mm512_set1_epi32(1 | 16 << 16));
    _mm_storeu_si128((__m128i *)(void *)codes, _mm512_cvtepi32_epi8(fours));
}

enum { HAND_STEP = 4 * PHILOX_STEP };
#define HAND_KEYS  struct philox_keys
#define hand_begin philox_keys_init

CAST_INLINE bool hand_random(struct philox_keys *keys, uint64_t block, uint32_t *random)
{
    if (!philox_step_ok(block))
        return false;
    philox_step(keys, block, 0, random);
    return true;
}

/* codes of elements [i, i + 16) of a bucket; bits above a code are undefined */
CAST_INLINE __m512i codes_at(uint32_t bits, const uint8_t *codes, size_t i)
{
    if (bits == 4) { /* a byte goes to both lanes of a pair, shifted */
        const __m512i bytes =
            _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(codes + i / 2)));
        return _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
    }
    int32_t word;
    memcpy(&word, codes + i / 4, sizeof word);
    const __m512i by = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_srlv_epi32(_mm512_set1_epi32(word), by);
}

CAST_INLINE void decode_bucket(uint32_t bits, const float values[16], const uint8_t *codes,
                               size_t n, float *x, bool stream)
{
    const __m512 table = _mm512_loadu_ps(values);
    for (size_t i = 0; i < n; i += 16) {
        const __m512 v = _mm512_permutexvar_ps(codes_at(bits, codes, i), table);
        if (stream)
            _mm512_stream_ps(x + i, v);
        else
            _mm512_storeu_ps(x + i, v);
    }
}

#include "vec/list/levels_hand.h"

static void levels_random(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    philox_avx512(key, block, 0, n_blocks, words);
}

void levels_avx512_fill(struct vec_ops *ops)
{
    static const struct vec_levels levels = LEVELS_OPS(hand_decode);
    ops->levels = &levels;
}
#endif
