/* cast_avx512.h : declares helpers of the AVX-512 casts: signs, maxima, stores of 64 codes. */
#ifndef CAST_AVX512_H
#define CAST_AVX512_H
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86

CAST_INLINE __m512i all(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

/* Shift with a count for each lane: one operation, where Intel takes two for a single count. */
CAST_INLINE __m512i right(__m512i x, unsigned n)
{
    return _mm512_srlv_epi32(x, all(n));
}
CAST_INLINE __m512i left(__m512i x, unsigned n)
{
    return _mm512_sllv_epi32(x, all(n));
}

/* the factors of 16 elements, one for each eight */
CAST_INLINE __m512 cast_two_factors(const float *by)
{
    return _mm512_mask_broadcastss_ps(_mm512_set1_ps(by[0]), 0xff00, _mm_load_ss(by + 1));
}

CAST_INLINE __m512i with_sign(const struct enc_plan *p, __m512i code, __m512i u)
{
    return _mm512_ternarylogic_epi32(all(p->nan), code, right(u, p->sign_right),
                                     0xca); /* nan ? code : sign */
}

CAST_INLINE __m512i larger(__m512i v, __m512i w)
{
    return _mm512_max_epu32(v, w);
}

CAST_INLINE uint32_t largest(__m512i v)
{
    return _mm512_reduce_max_epu32(v);
}

CAST_INLINE __m512i narrow_16(__m512i a, __m512i b)
{
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return _mm512_permutexvar_epi64(order, _mm512_packus_epi32(a, b));
}

/* bytes: in each 16, elements 4k .. 4k + 3 of every 16 elements, as packing leaves them */
CAST_INLINE __m512i in_order(__m512i bytes)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
}

CAST_INLINE __m512i narrow_8(const __m512i c[4])
{
    return in_order(
        _mm512_packus_epi16(_mm512_packus_epi32(c[0], c[1]), _mm512_packus_epi32(c[2], c[3])));
}

CAST_INLINE void put(uint8_t *to, __m512i v, bool stream)
{
    if (stream)
        _mm512_stream_si512((void *)to, v);
    else
        _mm512_storeu_si512(to, v);
}

/* shape: CAST_4 or CAST_8. codes: one in each byte */
CAST_INLINE void put_bytes(enum cast_shape shape, __m512i codes, uint8_t *to, bool stream)
{
    if (shape == CAST_8) {
        put(to, codes, stream);
        return;
    }
    /* even + 16 * odd */
    const __m512i pairs = _mm512_maddubs_epi16(codes, _mm512_set1_epi16(0x1001));
    const __m256i bytes = _mm512_cvtepi16_epi8(pairs);
    if (stream)
        _mm256_stream_si256((void *)to, bytes);
    else
        _mm256_storeu_si256((void *)to, bytes);
}

CAST_INLINE void put_codes(enum cast_shape shape, const __m512i c[4], uint8_t *to, bool stream)
{
    if (shape <= CAST_8) {
        put_bytes(shape, narrow_8(c), to, stream);
    } else if (shape == CAST_16) {
        put(to, narrow_16(c[0], c[1]), stream);
        put(to + 64, narrow_16(c[2], c[3]), stream);
    } else {
        for (int i = 0; i < 4; i++)
            put(to + 64 * i, c[i], stream);
    }
}

#endif
#endif
