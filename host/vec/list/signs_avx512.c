/* signs_avx512.c : converts signs and means of columns with AVX-512.
 *
 * This file encodes buckets of up to 256 consecutive elements. signs_body.h does the rest. */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/list/signs_body.h"

enum { STREAM_MIN = 1 << 20 }; /* elements from which on residuals bypass the caches */

/* As in level_add(), a nan stays nan. */
CAST_INLINE __m512 clamp(__m512 x)
{
    const __m512 most = _mm512_set1_ps(LEVEL_FLT_MAX);
    return _mm512_min_ps(most, _mm512_max_ps(_mm512_sub_ps(_mm512_setzero_ps(), most), x));
}
CAST_INLINE __m512 plus(__m512 a, __m512 b)
{
    return clamp(_mm512_add_ps(a, b));
}

/* means of elements [i, i + 16) of the column whose codes begin at `from` */
CAST_INLINE __m512 meant(const uint8_t *from, size_t i, __m512 q_plus, __m512 q_minus)
{
    uint16_t signs;
    memcpy(&signs, from + 2 * sizeof(float) + i / 8, sizeof signs);
    return _mm512_mask_blend_ps(signs, q_plus, q_minus);
}

CAST_INLINE __m512 fetch(const struct signs_from *f, const struct signs_column *c, size_t i)
{
    __m512 v;
    if (f->x) {
        cast_prefetch(f->x + c->first + i);
        v = _mm512_loadu_ps(f->x + c->first + i);
    } else {
        v = _mm512_setzero_ps();
    }
    for (int p = 0; p < f->n_parts; p++) {
        const uint8_t *from = f->parts[p] + f->skip + c->place;
        v = plus(v, meant(from, i, _mm512_set1_ps(levels_float(from)),
                          _mm512_set1_ps(levels_float(from + sizeof(float)))));
    }
    if (!f->left.was)
        return v;
    cast_prefetch(f->left.was + c->first + i);
    return plus(v, _mm512_loadu_ps(f->left.was + c->first + i));
}

/* level_join() of a is in element 0 of the result, that of b in element 8. */
CAST_INLINE __m512 join_two(__m512 a, __m512 b)
{
    __m512 x = plus(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    x = plus(x, _mm512_shuffle_f32x4(x, x, 0xb1)); /* 4 apart */
    x = plus(x, _mm512_permute_ps(x, 0x4e));       /* 2 */
    return plus(x, _mm512_permute_ps(x, 0xb1));    /* 1 */
}

/* c->n is a multiple of 16, at most 256. stream: the residual bypasses the caches */
CAST_INLINE void encode_bucket(const struct signs_from *f, const struct signs_column *c,
                               bool stream, uint8_t *codes)
{
    const __m512 zero = _mm512_setzero_ps();
    __m512 sum_plus = zero, sum_minus = zero, v[LEVELS_BLOCK / 16];
    __mmask16 negative[LEVELS_BLOCK / 16] = {0};
    uint32_t n_minus = 0;
    for (size_t i = 0; i < c->n / 16; i++) {
        v[i] = fetch(f, c, 16 * i);
        negative[i] = _mm512_cmp_ps_mask(v[i], zero, _CMP_LT_OQ);
        n_minus += (uint32_t)__builtin_popcount(negative[i]);
        sum_plus = plus(sum_plus, _mm512_mask_mov_ps(v[i], negative[i], zero));
        sum_minus = plus(sum_minus, _mm512_maskz_mov_ps(negative[i], v[i]));
    }
    const __m512 sums = join_two(sum_plus, sum_minus);
    const float q[2] = {
        level_mean(_mm512_cvtss_f32(sums), (uint32_t)c->n - n_minus),
        level_mean(_mm512_cvtss_f32(_mm512_shuffle_f32x4(sums, sums, 0x4e)), n_minus)};
    const __m512 q_plus = _mm512_set1_ps(q[0]), q_minus = _mm512_set1_ps(q[1]);
    memcpy(codes + c->place, q, sizeof q);
    for (size_t i = 0; i < c->n / 16; i++) {
        const uint16_t signs = negative[i];
        memcpy(codes + c->place + sizeof q + 2 * i, &signs, sizeof signs);
        const __m512 left = _mm512_sub_ps(v[i], _mm512_mask_blend_ps(signs, q_plus, q_minus));
        float *to = f->left.next ? f->left.next + c->first + 16 * i : NULL;
        if (stream)
            _mm512_stream_ps(to, left);
        else if (to)
            _mm512_storeu_ps(to, left);
    }
}

static bool by_hand(const struct signs_rule *r)
{
    return r->stride == 1 && r->column % 32 == 0 && r->column <= LEVELS_BLOCK;
}

static __attribute__((noinline)) void
encode_whole(const struct signs_rule *r, const struct signs_from *f, size_t n, uint8_t *codes)
{
    const size_t bytes = signs_column_bytes(r);
    const bool stream = f->left.next && n >= STREAM_MIN && (uintptr_t)f->left.next % 64 == 0;
    struct signs_column c = {.stride = 1, .n = r->column};
    for (; c.first < n; c.first += r->column, c.place += bytes)
        if (r->column == 64) /* the usual length, as a constant */
            c.n = 64, encode_bucket(f, &c, stream, codes);
        else
            encode_bucket(f, &c, stream, codes);
    if (stream)
        _mm_sfence();
}

static void encode(const struct signs_rule *r, const struct signs_from *f, size_t n, size_t padded,
                   uint8_t *codes)
{
    const size_t whole = by_hand(r) ? n / r->column * r->column : 0, done = signs_bytes(r, whole);
    const uint64_t was = fp_mode_ieee();
    encode_whole(r, f, whole, codes);
    fp_mode_back(was);
    struct signs_from rest = *f;
    rest.x = f->x ? f->x + whole : NULL;
    rest.skip += done;
    rest.left.was = f->left.was ? f->left.was + whole : NULL;
    rest.left.next = f->left.next ? f->left.next + whole : NULL;
    signs_encode_all(r, &rest, n - whole, padded - whole, codes + done);
}

static void avx512_encode(const struct signs_rule *r, const float *x, size_t n, size_t padded,
                          struct signs_left left, uint8_t *codes)
{
    const struct signs_from from = {.x = x, .left = left};
    encode(r, &from, n, padded, codes);
}

static void avx512_sum(const struct signs_rule *r, const uint8_t *const *parts, int n_parts,
                       size_t skip, size_t n, size_t padded, struct signs_left left, uint8_t *codes)
{
    const struct signs_from from = {.parts = parts, .n_parts = n_parts, .skip = skip, .left = left};
    encode(r, &from, n, padded, codes);
}

static __attribute__((noinline)) void decode_whole(const struct signs_rule *r, const uint8_t *codes,
                                                   size_t n, float divisor, float *x)
{
    for (size_t e = 0; e < n; e += r->column, codes += signs_column_bytes(r)) {
        const __m512 q_plus = _mm512_set1_ps(levels_float(codes) / divisor),
                     q_minus = _mm512_set1_ps(levels_float(codes + sizeof(float)) / divisor);
        for (size_t i = 0; i < r->column; i += 16)
            _mm512_storeu_ps(x + e + i, meant(codes, i, q_plus, q_minus));
    }
}

static void avx512_decode(const struct signs_rule *r, const uint8_t *codes, size_t n, float divisor,
                          float *x)
{
    const size_t whole = r->stride == 1 && r->column % 32 == 0 ? n / r->column * r->column : 0;
    const uint64_t was = fp_mode_ieee();
    decode_whole(r, codes, whole, divisor, x);
    fp_mode_back(was);
    signs_decode(r, codes + signs_bytes(r, whole), n - whole, divisor, x + whole);
}

void signs_avx512_fill(struct vec_ops *ops)
{
    static const struct vec_signs signs = {
        .encode = avx512_encode, .decode = avx512_decode, .sum = avx512_sum};
    ops->signs = &signs;
}
#endif
