/* enc_add_avx512.h : encodes by ENC_ADD of cast_plan.h with AVX-512, for casts and sums. */
#ifndef ENC_ADD_AVX512_H
#define ENC_ADD_AVX512_H
#include <immintrin.h>
#include "vec/cast/cast_plan.h"

/* Returns codes. Bits above a code are undefined. a: bits of |x|, not nan. */
static inline __attribute__((always_inline)) __m512i enc_add_avx512(const struct enc_plan *p,
                                                                    __m512i a)
{
    const __m512i x = _mm512_min_epu32(a, _mm512_set1_epi32((int)p->top));
    __m512i binade = _mm512_max_epi32(_mm512_sub_epi32(x, _mm512_set1_epi32((int)p->lowest)),
                                      _mm512_setzero_si512());
    binade = _mm512_and_si512(binade, _mm512_set1_epi32(0x7f800000));
    const __m512i lift = _mm512_add_epi32(binade, _mm512_set1_epi32((int)p->lift));
    const __m512 sum = _mm512_add_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(lift));
    return _mm512_add_epi32(_mm512_castps_si512(sum),
                            _mm512_srlv_epi32(binade, _mm512_set1_epi32((int)p->drop)));
}

#endif
