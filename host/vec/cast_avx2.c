/* cast_avx2.c : largest magnitude and fp32 to codes with AVX2: cast_plan.h's three ways, 8 floats a
 * register. */
#include "vec/cast_x86.h"
#ifdef VEC_X86

#define VEC __m256i
enum { STEP = 32 }; /* elements at a time: a register of bytes */

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

/* The code's bits from `code`, the sign above them from u. What code has above is dropped. */
CAST_INLINE __m256i with_sign(const struct enc_plan *p, __m256i code, __m256i u)
{
    const __m256i sign = _mm256_andnot_si256(all(p->nan), right(u, p->sign_right));
    return _mm256_or_si256(_mm256_and_si256(all(p->nan), code), sign);
}

/* ---- the three ways: a = |x|'s bits, u = x's bits; signed comparisons will do for a ---- */

CAST_INLINE __m256i code_add(const struct enc_plan *p, __m256i a, __m256i u)
{
    const __m256i x = _mm256_min_epu32(a, all(p->top));
    __m256i binade = _mm256_max_epi32(_mm256_sub_epi32(x, all(p->lowest)), _mm256_setzero_si256());
    binade = _mm256_and_si256(binade, all(0x7f800000));
    const __m256i lift = _mm256_add_epi32(binade, all(p->lift));
    const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(lift));
    return with_sign(p, _mm256_add_epi32(_mm256_castps_si256(sum), right(binade, p->drop)), u);
}

CAST_INLINE __m256i code_cut(const struct enc_plan *p, __m256i a, __m256i u)
{
    const __m256i x = _mm256_min_epu32(a, all(p->top));
    const __m256i last = _mm256_and_si256(right(x, p->drop), all(p->odd));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(x, all(p->half)), last);
    return with_sign(p, right(sum, p->drop), u);
}

/* kept + 1 where what is dropped asks for it. sig: 24 bits; k: bits that go, >= 0. */
CAST_INLINE __m256i round_any(const struct enc_plan *p, __m256i sig, __m256i k,
                              const uint32_t *random)
{
    const __m256i one = all(1);
    if (p->round == MF_ZERO)
        return _mm256_srlv_epi32(sig, k);
    /* the rest in units of 2^-32 of the kept unit; counts of 32 and more give 0 */
    if (p->round == MF_STOCHASTIC) {
        const __m256i kept = _mm256_srlv_epi32(sig, k),
                      rest_left = _mm256_sllv_epi32(sig, _mm256_sub_epi32(all(32), k));
        const __m256i rest =
            _mm256_or_si256(rest_left, _mm256_srlv_epi32(sig, _mm256_sub_epi32(k, all(32))));
        const __m256i words = _mm256_loadu_si256((const void *)random);
        /* rest <= random: -1 */
        const __m256i stays = _mm256_cmpeq_epi32(_mm256_max_epu32(rest, words), words);
        return _mm256_add_epi32(_mm256_add_epi32(kept, one), stays);
    }
    sig = _mm256_slli_epi32(sig, 7); /* so that half a unit is a bit even where nothing goes */
    k = _mm256_add_epi32(k, all(7));
    const __m256i half = _mm256_sllv_epi32(one, _mm256_sub_epi32(k, one));
    const __m256i last = _mm256_and_si256(_mm256_srlv_epi32(sig, k), one);
    const __m256i less = _mm256_sub_epi32(_mm256_add_epi32(half, last), one);
    return _mm256_srlv_epi32(_mm256_add_epi32(sig, less), k);
}

CAST_INLINE __m256i code_any(const struct enc_plan *p, __m256i a, __m256i u, const uint32_t *random)
{
    /* Subnormals as normals whose exponent field is 0 or less: a counts 2^-149, and its float is
     * exact. */
    const __m256i zero = _mm256_setzero_si256(), one = all(1);
    const __m256i as_float = _mm256_castps_si256(_mm256_cvtepi32_ps(a));
    const __m256i small = _mm256_cmpgt_epi32(all(0x00800000), a);
    const __m256i wide = choose(small, _mm256_sub_epi32(as_float, all(149u << 23)), a);

    const __m256i sig = _mm256_or_si256(_mm256_and_si256(wide, all(0x007fffff)), all(0x00800000));
    const __m256i field = _mm256_add_epi32(_mm256_srai_epi32(wide, 23), all((uint32_t)p->rebias));
    const __m256i below = _mm256_max_epi32(_mm256_sub_epi32(one, field), zero);
    __m256i binade = _mm256_max_epi32(_mm256_sub_epi32(field, one), zero);
    binade = _mm256_min_epi32(binade, all((uint32_t)p->binades));
    const __m256i kept = round_any(p, sig, _mm256_add_epi32(below, all(p->drop)), random);
    __m256i code = _mm256_add_epi32(_mm256_sll_epi32(binade, _mm_cvtsi32_si128((int)p->m)), kept);
    code = _mm256_andnot_si256(_mm256_cmpeq_epi32(a, zero), _mm256_min_epu32(code, all(p->most)));

    code = choose(_mm256_cmpeq_epi32(a, all(0x7f800000)), all(p->beyond), code);
    code = choose(_mm256_cmpgt_epi32(a, all(0x7f800000)), all(p->nan), code);
    return with_sign(p, code, u);
}

/* ---- 32 codes of 32 bits each into their shape ---- */

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

/* ---- loops ---- */

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

/* STEP elements; returns the lanes' largest |x|. */
CAST_INLINE __m256i step(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                         const float *x, const uint32_t *random, uint8_t *codes, bool stream)
{
    __m256i u[4], a[4], c[4];
    for (int i = 0; i < 4; i++) {
        u[i] = _mm256_loadu_si256((const void *)(x + 8 * i));
        a[i] = _mm256_and_si256(u[i], all(0x7fffffff));
    }
    const __m256i max = larger(larger(a[0], a[1]), larger(a[2], a[3]));
    const __m256i nan = _mm256_cmpgt_epi32(max, all(0x7f800000));
    if (way == ENC_ANY || __builtin_expect(!_mm256_testz_si256(nan, nan), 0))
        for (int i = 0; i < 4; i++)
            c[i] = code_any(p, a[i], u[i], random ? random + 8 * i : random);
    else
        for (int i = 0; i < 4; i++)
            c[i] = way == ENC_ADD ? code_add(p, a[i], u[i]) : code_cut(p, a[i], u[i]);
    put_codes(shape, c, codes, stream);
    return max;
}

#include "vec/cast_body.h"

/* ---- largest magnitude ---- */

static uint32_t avx2_absmax(const float *x, size_t n)
{
    const __m256i mask = all(0x7fffffff);
    __m256i max[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                      _mm256_setzero_si256()};
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        cast_ahead(x + i);
        cast_ahead(x + i + 16);
        for (size_t j = 0; j < 4; j++) {
            const __m256i u = _mm256_loadu_si256((const void *)(x + i + 8 * j));
            max[j] = larger(max[j], _mm256_and_si256(u, mask));
        }
    }
    uint32_t rest = 0;
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        rest = bits > rest ? bits : rest;
    }
    max[0] = larger(larger(max[0], max[1]), larger(max[2], max[3]));
    return largest(larger(max[0], all(rest)));
}

/* ---- the slots ---- */

static const struct cast_loops loops = {
    .encode = encode_loop,
    .decode = uncast_avx2,
    .random = philox_avx2,
    .pack = pack_bmi2_write,
    .unpack = pack_bmi2_read,
};

static uint32_t avx2_scan_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                                 int shift, uint8_t *codes)
{
    return cast_encode(&loops, cast, x, n, at, shift, codes);
}

static void avx2_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift,
                        uint8_t *codes)
{
    cast_encode(&loops, cast, x, n, at, shift, codes);
}

static void avx2_decode(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                        float *x)
{
    cast_decode(&loops, fmt, codes, n, shift, divisor, x);
}

void cast_avx2_fill(struct vec_ops *ops)
{
    ops->absmax = avx2_absmax;
    ops->encode = avx2_encode;
    ops->scan_encode = avx2_scan_encode;
    ops->decode = avx2_decode;
}
#endif
