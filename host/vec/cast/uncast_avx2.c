/* uncast_avx2.c : decodes codes to fp32 with AVX2, 8 per register (cast_plan.h). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86

enum { STEP = 32 };

CAST_INLINE __m256i all(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

CAST_INLINE __m256i choose(__m256i mask, __m256i yes, __m256i no)
{
    return _mm256_blendv_epi8(no, yes, mask);
}

CAST_INLINE __m256 value_of(const struct dec_plan *p, __m256i code)
{
    const __m256i mag = _mm256_and_si256(code, all(p->nan));
    const __m256i up = _mm256_sll_epi32(mag, _mm_cvtsi32_si128((int)p->up));
    const __m256 units = _mm256_mul_ps(_mm256_cvtepi32_ps(mag), _mm256_set1_ps(p->unit));
    __m256i v = _mm256_add_epi32(up, all(p->rebias));
    v = choose(_mm256_cmpgt_epi32(all(p->normal), mag), _mm256_castps_si256(units), v);
    v = choose(_mm256_cmpeq_epi32(mag, all(p->special)), all(p->special_bits), v);
    v = choose(_mm256_cmpgt_epi32(mag, all(p->special)), all(0x7fffffff), v);
    const __m256i sign = _mm256_sll_epi32(code, _mm_cvtsi32_si128((int)p->sign_left));
    v = _mm256_or_si256(_mm256_and_si256(sign, all(0x80000000)), v);
    __m256 x = _mm256_castsi256_ps(v);
    for (int i = 0; i < 4 && p->scaled; i++)
        x = _mm256_mul_ps(x, _mm256_set1_ps(p->factor[i]));
    return p->divided ? _mm256_div_ps(x, _mm256_set1_ps(p->divisor)) : x;
}

CAST_INLINE __m256i get_codes(enum cast_shape shape, const uint8_t *from)
{
    if (shape == CAST_4) {
        int pairs;
        memcpy(&pairs, from, 4);
        const __m128i bytes = _mm_cvtsi32_si128(pairs), high = _mm_srli_epi16(bytes, 4);
        /* `bytes` has | odd : even |; the high bits are ignored */
        return _mm256_cvtepu8_epi32(_mm_unpacklo_epi8(bytes, high));
    }
    if (shape == CAST_8)
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)from));
    if (shape == CAST_16)
        return _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)from));
    return _mm256_loadu_si256((const void *)from);
}

CAST_INLINE void decode_step(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             float *x, bool stream)
{
    for (int i = 0; i < 4; i++) {
        const uint8_t *from = codes + cast_shape_bytes(shape, 8) * (size_t)i;
        const __m256 v = value_of(p, get_codes(shape, from));
        if (stream)
            _mm256_stream_ps(x + 8 * i, v);
        else
            _mm256_storeu_ps(x + 8 * i, v);
    }
}

#include "vec/cast/uncast_body.h"

void uncast_avx2(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                 float *x, bool stream)
{
    decode_loop(p, shape, codes, n, x, stream);
}

CAST_INLINE void scaled_loop(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             size_t n, const float *by, float *x)
{
    for (size_t i = 0; i < n; i += 8) {
        const __m256 v = value_of(p, get_codes(shape, codes + cast_shape_bytes(shape, i)));
        _mm256_storeu_ps(x + i, _mm256_mul_ps(v, _mm256_set1_ps(by[i / 8])));
    }
}

void uncast_scaled_avx2(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                        size_t n, const float *by, float *x)
{
    if (shape == CAST_8)
        scaled_loop(p, CAST_8, codes, n, by, x);
    else
        scaled_loop(p, CAST_4, codes, n, by, x);
}
#endif
