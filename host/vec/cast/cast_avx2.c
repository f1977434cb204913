/* cast_avx2.c : finds the largest magnitude and encodes fp32 with AVX2, 8 floats per register. */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/cast/cast_avx2.h"
#include "vec/cast/enc_add_avx2.h"
#include "vec/fp_mode.h"

#define VEC __m256i
enum { STEP = 32 }; /* elements per step: a register of bytes */

/* ---- the ways of cast_plan.h; a: bits of |x|, compared as signed; u: bits of x ---- */

CAST_INLINE __m256i code_add(const struct enc_plan *p, __m256i a, __m256i u)
{
    return with_sign(p, enc_add_avx2(p, a), u);
}

CAST_INLINE __m256i code_cut(const struct enc_plan *p, __m256i a, __m256i u)
{
    const __m256i x = _mm256_min_epu32(a, all(p->top));
    const __m256i last = _mm256_and_si256(right(x, p->drop), all(p->odd));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(x, all(p->half)), last);
    return with_sign(p, right(sum, p->drop), u);
}

/* sig has 24 bits, the highest one set; k >= 0. */
CAST_INLINE __m256i round_any(const struct enc_plan *p, __m256i sig, __m256i k,
                              const uint32_t *random)
{
    const __m256i one = all(1);
    if (p->round == MF_ZERO)
        return _mm256_srlv_epi32(sig, k);
    /* rest: the dropped bits, in 2^-32 of the last kept bit; shifts by 32 or more give 0 */
    if (p->round == MF_STOCHASTIC) {
        const __m256i kept = _mm256_srlv_epi32(sig, k),
                      rest_left = _mm256_sllv_epi32(sig, _mm256_sub_epi32(all(32), k));
        const __m256i rest =
            _mm256_or_si256(rest_left, _mm256_srlv_epi32(sig, _mm256_sub_epi32(k, all(32))));
        const __m256i words = _mm256_loadu_si256((const void *)random);
        /* -1 where rest <= random */
        const __m256i stays = _mm256_cmpeq_epi32(_mm256_max_epu32(rest, words), words);
        return _mm256_add_epi32(_mm256_add_epi32(kept, one), stays);
    }
    sig = _mm256_slli_epi32(sig, 7); /* keeps a bit for half a unit even if nothing is dropped */
    k = _mm256_add_epi32(k, all(7));
    const __m256i half = _mm256_sllv_epi32(one, _mm256_sub_epi32(k, one));
    const __m256i last = _mm256_and_si256(_mm256_srlv_epi32(sig, k), one);
    const __m256i less = _mm256_sub_epi32(_mm256_add_epi32(half, last), one);
    return _mm256_srlv_epi32(_mm256_add_epi32(sig, less), k);
}

CAST_INLINE __m256i code_any(const struct enc_plan *p, __m256i a, __m256i u, const uint32_t *random)
{
    /* cast_c.c explains the normalisation of subnormals. */
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

CAST_INLINE __m256i cast_loaded(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                                const __m256i u[4], const uint32_t *random, uint8_t *codes,
                                bool stream)
{
    __m256i a[4], c[4];
    for (int i = 0; i < 4; i++)
        a[i] = _mm256_and_si256(u[i], all(0x7fffffff));
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

CAST_INLINE __m256i step(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                         const float *x, const uint32_t *random, uint8_t *codes, bool stream)
{
    __m256i u[4];
    for (int i = 0; i < 4; i++)
        u[i] = _mm256_loadu_si256((const void *)(x + 8 * i));
    return cast_loaded(p, way, shape, u, random, codes, stream);
}

#include "vec/cast/cast_body.h"

/* Casts x[i] * by[i / 8]. n: a multiple of STEP. */
CAST_INLINE void scaled_loop(const struct enc_plan *p, enum cast_shape shape, const float *x,
                             size_t n, const float *by, uint8_t *codes)
{
    for (size_t i = 0; i < n; i += STEP, by += 4, codes += cast_shape_bytes(shape, STEP)) {
        __m256i u[4];
        cast_prefetch(x + i), cast_prefetch(x + i + 16);
        for (size_t k = 0; k < 4; k++)
            u[k] = _mm256_castps_si256(
                _mm256_mul_ps(_mm256_loadu_ps(x + i + 8 * k), _mm256_set1_ps(by[k])));
        (void)cast_loaded(p, ENC_ADD, shape, u, NULL, codes, false);
    }
}

static uint32_t avx2_absmax(const float *x, size_t n)
{
    const __m256i mask = all(0x7fffffff);
    __m256i max[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                      _mm256_setzero_si256()};
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        cast_prefetch(x + i);
        cast_prefetch(x + i + 16);
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

static __attribute__((noinline)) void scale_in_ieee(const float *x, size_t n, const float *by,
                                                    float *to)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256 low = _mm256_loadu_ps(x + i), high = _mm256_loadu_ps(x + i + 8);
        _mm256_storeu_ps(to + i, _mm256_mul_ps(low, _mm256_set1_ps(by[i / 8])));
        _mm256_storeu_ps(to + i + 8, _mm256_mul_ps(high, _mm256_set1_ps(by[i / 8 + 1])));
    }
    for (; i < n; i++)
        to[i] = x[i] * by[i / 8];
}

static void avx2_scale(const float *x, size_t n, const float *by, float *to)
{
    const uint64_t mode = fp_mode_ieee();
    scale_in_ieee(x, n, by, to);
    fp_mode_back(mode);
}

static const struct cast_loops loops = {
    .encode = encode_loop,
    .decode = uncast_avx2,
    .random = philox_avx2,
    .draw = draw_avx2,
    .pack = pack_bmi2_write,
    .unpack = pack_bmi2_read,
};

#define UNCAST_SCALED uncast_scaled_avx2
#include "vec/cast/cast_slots.h"

void cast_avx2_fill(struct vec_ops *ops)
{
    ops->absmax = avx2_absmax;
    ops->encode = slot_encode;
    ops->scan_encode = slot_scan_encode;
    ops->decode = slot_decode;
    ops->scale = avx2_scale;
    ops->encode_scaled = slot_encode_scaled;
    ops->decode_scaled = slot_decode_scaled;
}
#endif
