/* signs_avx512.c : converts signs and means of columns with AVX-512 (signs_hand.h). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/list/signs_body.h"

struct row {
    __m512 v;
};
struct row_mask {
    __mmask16 m;
};

CAST_INLINE struct row row_all(float x)
{
    return (struct row){_mm512_set1_ps(x)};
}
CAST_INLINE struct row row_load(const float *x)
{
    return (struct row){_mm512_loadu_ps(x)};
}
CAST_INLINE void row_store(float *x, struct row a, bool stream)
{
    if (stream)
        _mm512_stream_ps(x, a.v);
    else
        _mm512_storeu_ps(x, a.v);
}

/* As in level_add(), a nan stays nan. */
CAST_INLINE __m512 add(__m512 a, __m512 b)
{
    const __m512 most = _mm512_set1_ps(LEVEL_FLT_MAX);
    return _mm512_min_ps(most, _mm512_max_ps(_mm512_set1_ps(-LEVEL_FLT_MAX), _mm512_add_ps(a, b)));
}
CAST_INLINE struct row row_add(struct row a, struct row b)
{
    return (struct row){add(a.v, b.v)};
}
CAST_INLINE struct row row_sub(struct row a, struct row b)
{
    return (struct row){_mm512_sub_ps(a.v, b.v)};
}

CAST_INLINE struct row_mask row_negative(struct row a)
{
    return (struct row_mask){_mm512_cmp_ps_mask(a.v, _mm512_setzero_ps(), _CMP_LT_OQ)};
}
CAST_INLINE struct row row_choose(struct row_mask m, struct row yes, struct row no)
{
    return (struct row){_mm512_mask_blend_ps(m.m, no.v, yes.v)};
}
CAST_INLINE uint16_t row_bits(struct row_mask m)
{
    return m.m;
}
CAST_INLINE struct row_mask row_mask_of(uint16_t bits)
{
    return (struct row_mask){bits};
}

/* Both sums share the steps: that of a is in element 0, that of b in element 8. */
CAST_INLINE void row_join(struct row a, struct row b, float sums[2])
{
    __m512 x = add(_mm512_shuffle_f32x4(a.v, b.v, 0x44), _mm512_shuffle_f32x4(a.v, b.v, 0xee));
    x = add(x, _mm512_shuffle_f32x4(x, x, 0xb1)); /* 4 apart */
    x = add(x, _mm512_permute_ps(x, 0x4e));       /* 2 */
    x = add(x, _mm512_permute_ps(x, 0xb1));       /* 1 */
    sums[0] = _mm512_cvtss_f32(x);
    sums[1] = _mm512_cvtss_f32(_mm512_shuffle_f32x4(x, x, 0x4e));
}

#include "vec/list/signs_hand.h"

void signs_avx512_fill(struct vec_ops *ops)
{
    static const struct vec_signs signs = SIGNS_HAND_OPS;
    ops->signs = &signs;
}
#endif
