/* uncast_avx512.c : decodes codes to fp32 with AVX-512, 16 per register (cast_plan.h). */
#include "vec/cast/cast_avx512.h"
#ifdef VEC_X86

enum { STEP = 64 };

CAST_INLINE __m512 value_of(const struct dec_plan *p, __m512i code)
{
    const __m512i mag = _mm512_and_si512(code, _mm512_set1_epi32((int)p->nan));
    const __m512i up = _mm512_sllv_epi32(mag, _mm512_set1_epi32((int)p->up));
    const __m512 units = _mm512_mul_ps(_mm512_cvtepi32_ps(mag), _mm512_set1_ps(p->unit));
    __m512i v = _mm512_add_epi32(up, _mm512_set1_epi32((int)p->rebias));
    v = _mm512_mask_mov_epi32(v, _mm512_cmplt_epu32_mask(mag, _mm512_set1_epi32((int)p->normal)),
                              _mm512_castps_si512(units));
    v = _mm512_mask_mov_epi32(v, _mm512_cmpeq_epu32_mask(mag, _mm512_set1_epi32((int)p->special)),
                              _mm512_set1_epi32((int)p->special_bits));
    v = _mm512_mask_mov_epi32(v, _mm512_cmpgt_epu32_mask(mag, _mm512_set1_epi32((int)p->special)),
                              _mm512_set1_epi32(0x7fffffff));
    const __m512i sign = _mm512_sllv_epi32(code, _mm512_set1_epi32((int)p->sign_left));
    /* 0x7fffffff ? v : sign */
    v = _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x7fffffff), v, sign, 0xca);
    __m512 x = _mm512_castsi512_ps(v);
    for (int i = 0; i < 4 && p->scaled; i++)
        x = _mm512_mul_ps(x, _mm512_set1_ps(p->factor[i]));
    return p->divided ? _mm512_div_ps(x, _mm512_set1_ps(p->divisor)) : x;
}

CAST_INLINE __m512i get_codes(enum cast_shape shape, const uint8_t *from)
{
    if (shape == CAST_4) {
        uint64_t pairs;
        memcpy(&pairs, from, 8);
        const __m128i bytes = _mm_cvtsi64_si128((long long)pairs), high = _mm_srli_epi16(bytes, 4);
        /* `bytes` has | odd : even |; the high bits are ignored */
        return _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(bytes, high));
    }
    if (shape == CAST_8)
        return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)from));
    if (shape == CAST_16)
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)from));
    return _mm512_loadu_si512(from);
}

CAST_INLINE void decode_step(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             float *x, bool stream)
{
    for (int i = 0; i < 4; i++) {
        const uint8_t *from = codes + cast_shape_bytes(shape, 16) * (size_t)i;
        const __m512 v = value_of(p, get_codes(shape, from));
        if (stream)
            _mm512_stream_ps(x + 16 * i, v);
        else
            _mm512_storeu_ps(x + 16 * i, v);
    }
}

CAST_INLINE void scaled_loop(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             size_t n, const float *by, float *x)
{
    for (size_t i = 0; i < n; i += 16) {
        const __m512 v = value_of(p, get_codes(shape, codes + cast_shape_bytes(shape, i)));
        _mm512_storeu_ps(x + i, _mm512_mul_ps(v, cast_two_factors(by + i / 8)));
    }
}

#define UNCAST_SCALED uncast_scaled_avx512
#include "vec/cast/uncast_body.h"

void uncast_avx512(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                   float *x, bool stream)
{
    decode_loop(p, shape, codes, n, x, stream);
}
#endif
