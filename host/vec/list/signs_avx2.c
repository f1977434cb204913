/* signs_avx2.c : converts signs and means of columns with AVX2 (signs_hand.h). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/list/signs_body.h"

struct row {
    __m256 low, high;
};
struct row_mask {
    __m256 low, high; /* in the sign bits */
};

CAST_INLINE struct row row_all(float x)
{
    return (struct row){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
CAST_INLINE struct row row_load(const float *x)
{
    return (struct row){_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};
}
CAST_INLINE void row_store(float *x, struct row a, bool stream)
{
    if (stream)
        _mm256_stream_ps(x, a.low), _mm256_stream_ps(x + 8, a.high);
    else
        _mm256_storeu_ps(x, a.low), _mm256_storeu_ps(x + 8, a.high);
}

/* As in level_add(), a nan stays nan. */
CAST_INLINE __m256 add(__m256 a, __m256 b)
{
    const __m256 most = _mm256_set1_ps(LEVEL_FLT_MAX);
    return _mm256_min_ps(most, _mm256_max_ps(_mm256_set1_ps(-LEVEL_FLT_MAX), _mm256_add_ps(a, b)));
}
CAST_INLINE struct row row_add(struct row a, struct row b)
{
    return (struct row){add(a.low, b.low), add(a.high, b.high)};
}
CAST_INLINE struct row row_sub(struct row a, struct row b)
{
    return (struct row){_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}

CAST_INLINE struct row_mask row_negative(struct row a)
{
    const __m256 zero = _mm256_setzero_ps();
    return (struct row_mask){_mm256_cmp_ps(a.low, zero, _CMP_LT_OQ),
                             _mm256_cmp_ps(a.high, zero, _CMP_LT_OQ)};
}
CAST_INLINE struct row row_choose(struct row_mask m, struct row yes, struct row no)
{
    return (struct row){_mm256_blendv_ps(no.low, yes.low, m.low),
                        _mm256_blendv_ps(no.high, yes.high, m.high)};
}
CAST_INLINE uint16_t row_bits(struct row_mask m)
{
    return (uint16_t)(_mm256_movemask_ps(m.low) | _mm256_movemask_ps(m.high) << 8);
}
CAST_INLINE struct row_mask row_mask_of(uint16_t bits)
{
    const __m256i up = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24),
                  all = _mm256_set1_epi32(bits);
    return (struct row_mask){_mm256_castsi256_ps(_mm256_sllv_epi32(all, up)),
                             _mm256_castsi256_ps(_mm256_sllv_epi32(_mm256_srli_epi32(all, 8), up))};
}

/* Both sums share the steps: that of a is in element 0, that of b in element 4. */
CAST_INLINE void row_join(struct row a, struct row b, float sums[2])
{
    const __m256 a8 = add(a.low, a.high), b8 = add(b.low, b.high); /* 8 apart */
    __m256 x = add(_mm256_permute2f128_ps(a8, b8, 0x20), _mm256_permute2f128_ps(a8, b8, 0x31));
    x = add(x, _mm256_permute_ps(x, 0x4e)); /* 2, after 4 */
    x = add(x, _mm256_permute_ps(x, 0xb1)); /* 1 */
    sums[0] = _mm256_cvtss_f32(x);
    sums[1] = _mm_cvtss_f32(_mm256_extractf128_ps(x, 1));
}

#include "vec/list/signs_hand.h"

void signs_avx2_fill(struct vec_ops *ops)
{
    static const struct vec_signs signs = SIGNS_HAND_OPS;
    ops->signs = &signs;
}
#endif
