/* uncast_avx2.c : decodes codes to fp32 with AVX2 and F16C, 8 per register (cast_plan.h). */
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

/* before the factors and the divisor */
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
    return _mm256_castsi256_ps(v);
}

CAST_INLINE __m256 scaled_value(const struct dec_plan *p, __m256 x)
{
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

/* Values of STEP codes as halves. Returns false if some are inf or nan. */
CAST_INLINE bool values_of_halves(const struct dec_plan *p, enum cast_shape shape,
                                  const uint8_t *codes, __m256 v[4])
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i special, h[2]; /* elements 0..7 and 16..23, 8..15 and 24..31 */
    if (shape == CAST_16) {
        const __m256i a = _mm256_loadu_si256((const void *)codes),
                      b = _mm256_loadu_si256((const void *)(codes + 32));
        const __m256i most = _mm256_max_epi16(_mm256_and_si256(a, _mm256_set1_epi16(0x7fff)),
                                              _mm256_and_si256(b, _mm256_set1_epi16(0x7fff)));
        special = _mm256_cmpgt_epi16(most, _mm256_set1_epi16((short)(p->special - 1)));
        h[0] = _mm256_permute2x128_si256(a, b, 0x20);
        h[1] = _mm256_permute2x128_si256(a, b, 0x31);
    } else {
        __m256i bytes;
        if (shape == CAST_4) {
            const __m256i pairs = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)codes));
            bytes = _mm256_or_si256(pairs, _mm256_slli_epi16(pairs, 4));
            bytes = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
        } else {
            bytes = _mm256_loadu_si256((const void *)codes);
        }
        const __m256i mag = _mm256_and_si256(bytes, _mm256_set1_epi8((char)p->nan));
        special = _mm256_cmpgt_epi8(mag, _mm256_set1_epi8((char)(p->special - 1)));
        if (shape == CAST_4)
            bytes = _mm256_shuffle_epi8(
                _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p->half_of)), bytes);
        h[0] = _mm256_unpacklo_epi8(zero, bytes);
        h[1] = _mm256_unpackhi_epi8(zero, bytes);
        const __m256i kept = _mm256_set1_epi16((short)(0x8000 | 0x7fff >> p->right));
        for (int j = 0; j < 2 && shape == CAST_8; j++)
            h[j] = _mm256_and_si256(_mm256_sra_epi16(h[j], _mm_cvtsi32_si128((int)p->right)), kept);
    }
    if (__builtin_expect(!_mm256_testz_si256(special, special), 0))
        return false;
    v[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(h[0]));
    v[1] = _mm256_cvtph_ps(_mm256_castsi256_si128(h[1]));
    v[2] = _mm256_cvtph_ps(_mm256_extracti128_si256(h[0], 1));
    v[3] = _mm256_cvtph_ps(_mm256_extracti128_si256(h[1], 1));
    for (int j = 0; j < 4; j++)
        v[j] = _mm256_mul_ps(v[j], _mm256_set1_ps(p->per_half));
    return true;
}

/* Values of STEP codes with fp32's exponents. Returns false if some are nan. */
CAST_INLINE bool values_of_fp32(const struct dec_plan *p, enum cast_shape shape,
                                const uint8_t *codes, __m256 v[4])
{
    __m256i nan = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++) {
        const __m256i code = get_codes(shape, codes + cast_shape_bytes(shape, 8) * (size_t)i);
        const __m256i mag = _mm256_and_si256(code, all(p->nan));
        nan = _mm256_or_si256(nan, _mm256_cmpgt_epi32(mag, all(p->special)));
        v[i] = _mm256_castsi256_ps(_mm256_sll_epi32(code, _mm_cvtsi32_si128((int)p->up)));
    }
    return __builtin_expect(_mm256_testz_si256(nan, nan), 1);
}

CAST_INLINE bool quick_values(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                              __m256 v[4])
{
    if (shape >= CAST_16 && p->normal == 0)
        return values_of_fp32(p, shape, codes, v);
    return shape <= CAST_16 && p->per_half != 0 && values_of_halves(p, shape, codes, v);
}

CAST_INLINE void values_of_step(const struct dec_plan *p, enum cast_shape shape,
                                const uint8_t *codes, __m256 v[4])
{
    if (!quick_values(p, shape, codes, v))
        for (int i = 0; i < 4; i++)
            v[i] = value_of(p, get_codes(shape, codes + cast_shape_bytes(shape, 8) * (size_t)i));
    for (int i = 0; i < 4; i++)
        v[i] = scaled_value(p, v[i]);
}

CAST_INLINE void decode_step(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             float *x, bool stream)
{
    __m256 v[4];
    values_of_step(p, shape, codes, v);
    for (int i = 0; i < 4; i++)
        if (stream)
            _mm256_stream_ps(x + 8 * i, v[i]);
        else
            _mm256_storeu_ps(x + 8 * i, v[i]);
}

CAST_INLINE void scaled_loop(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                             size_t n, const float *by, float *x)
{
    for (size_t i = 0; i < n; i += STEP, by += 4) {
        __m256 v[4];
        values_of_step(p, shape, codes + cast_shape_bytes(shape, i), v);
        for (int j = 0; j < 4; j++)
            _mm256_storeu_ps(x + i + 8 * j, _mm256_mul_ps(v[j], _mm256_set1_ps(by[j])));
    }
}

#define UNCAST_SCALED uncast_scaled_avx2
#include "vec/cast/uncast_body.h"

void uncast_avx2(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                 float *x, bool stream)
{
    decode_loop(p, shape, codes, n, x, stream);
}
#endif
