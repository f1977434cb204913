/* cast_avx2.h : declares helpers of the AVX2 casts: signs, maxima, stores of 32 codes. */
#ifndef CAST_AVX2_H
#define CAST_AVX2_H
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86

CAST_INLINE __m256i all(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

CAST_INLINE __m256i right(__m256i x, unsigned n)
{
    return _mm256_srl_epi32(x, _mm_cvtsi32_si128((int)n));
}

CAST_INLINE __m256i choose(__m256i mask, __m256i yes, __m256i no)
{
    return _mm256_blendv_epi8(no, yes, mask);
}

/* Returns code's low bits, without its sign, below the sign of u. */
CAST_INLINE __m256i with_sign(const struct enc_plan *p, __m256i code, __m256i u)
{
    const __m256i sign = _mm256_andnot_si256(all(p->nan), right(u, p->sign_right));
    return _mm256_or_si256(_mm256_and_si256(all(p->nan), code), sign);
}

CAST_INLINE __m256i larger(__m256i v, __m256i w)
{
    return _mm256_max_epu32(v, w);
}

CAST_INLINE uint32_t largest(__m256i v)
{
    __m128i w = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    w = _mm_max_epu32(w, _mm_shuffle_epi32(w, 0x4e));
    w = _mm_max_epu32(w, _mm_shuffle_epi32(w, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(w);
}

CAST_INLINE __m256i narrow_16(__m256i a, __m256i b)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8); /* 0 2 1 3 */
}

CAST_INLINE __m256i narrow_8(const __m256i c[4])
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes =
        _mm256_packus_epi16(_mm256_packus_epi32(c[0], c[1]), _mm256_packus_epi32(c[2], c[3]));
    return _mm256_permutevar8x32_epi32(bytes, order);
}

CAST_INLINE __m128i narrow_4(const __m256i c[4])
{
    /* even + 16 * odd */
    const __m256i pairs = _mm256_maddubs_epi16(narrow_8(c), _mm256_set1_epi16(0x1001));
    return _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

CAST_INLINE void put(uint8_t *to, __m256i v, bool stream)
{
    if (stream)
        _mm256_stream_si256((void *)to, v);
    else
        _mm256_storeu_si256((void *)to, v);
}

CAST_INLINE void put_codes(enum cast_shape shape, const __m256i c[4], uint8_t *to, bool stream)
{
    if (shape == CAST_4 && stream) {
        _mm_stream_si128((void *)to, narrow_4(c));
    } else if (shape == CAST_4) {
        _mm_storeu_si128((void *)to, narrow_4(c));
    } else if (shape == CAST_8) {
        put(to, narrow_8(c), stream);
    } else if (shape == CAST_16) {
        put(to, narrow_16(c[0], c[1]), stream);
        put(to + 32, narrow_16(c[2], c[3]), stream);
    } else {
        for (int i = 0; i < 4; i++)
            put(to + 32 * i, c[i], stream);
    }
}

#endif
#endif
