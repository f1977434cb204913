/* enc_add_avx2.h : encodes by ENC_ADD of cast_plan.h with AVX2, for casts and sums. */
#ifndef ENC_ADD_AVX2_H
#define ENC_ADD_AVX2_H
#include <immintrin.h>
#include "vec/cast/cast_plan.h"

/* Returns codes. Bits above a code are undefined. a: bits of |x|, not nan. */
static inline __attribute__((always_inline)) __m256i enc_add_avx2(const struct enc_plan *p,
                                                                  __m256i a)
{
    const __m256i x = _mm256_min_epu32(a, _mm256_set1_epi32((int)p->top));
    __m256i binade = _mm256_max_epi32(_mm256_sub_epi32(x, _mm256_set1_epi32((int)p->lowest)),
                                      _mm256_setzero_si256());
    binade = _mm256_and_si256(binade, _mm256_set1_epi32(0x7f800000));
    const __m256i lift = _mm256_add_epi32(binade, _mm256_set1_epi32((int)p->lift));
    const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(lift));
    return _mm256_add_epi32(_mm256_castps_si256(sum),
                            _mm256_srl_epi32(binade, _mm_cvtsi32_si128((int)p->drop)));
}

#endif
