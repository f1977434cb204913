/* cast_avx512.c : finds the largest magnitude and encodes fp32 with AVX-512, 16 floats at once. */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/cast/cast_avx512.h"
#include "vec/cast/enc_add_avx512.h"

#define VEC __m512i
enum { STEP = 64 };

/* ---- the ways of cast_plan.h, as in cast_avx2.c ---- */

CAST_INLINE __m512i code_add(const struct enc_plan *p, __m512i a, __m512i u)
{
    return with_sign(p, enc_add_avx512(p, a), u);
}

CAST_INLINE __m512i code_cut(const struct enc_plan *p, __m512i a, __m512i u)
{
    const __m512i x = _mm512_min_epu32(a, all(p->top));
    const __m512i last = _mm512_and_si512(right(x, p->drop), all(p->odd));
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(x, all(p->half)), last);
    return with_sign(p, right(sum, p->drop), u);
}

CAST_INLINE __m512i round_any(const struct enc_plan *p, __m512i sig, __m512i k,
                              const uint32_t *random)
{
    const __m512i one = all(1);
    if (p->round == MF_ZERO)
        return _mm512_srlv_epi32(sig, k);
    if (p->round == MF_STOCHASTIC) {
        const __m512i kept = _mm512_srlv_epi32(sig, k),
                      rest_left = _mm512_sllv_epi32(sig, _mm512_sub_epi32(all(32), k));
        const __m512i rest =
            _mm512_or_si512(rest_left, _mm512_srlv_epi32(sig, _mm512_sub_epi32(k, all(32))));
        const __mmask16 up = _mm512_cmpgt_epu32_mask(rest, _mm512_loadu_si512(random));
        return _mm512_mask_add_epi32(kept, up, kept, one);
    }
    sig = _mm512_slli_epi32(sig, 7);
    k = _mm512_add_epi32(k, all(7));
    const __m512i half = _mm512_sllv_epi32(one, _mm512_sub_epi32(k, one));
    const __m512i last = _mm512_and_si512(_mm512_srlv_epi32(sig, k), one);
    const __m512i less = _mm512_sub_epi32(_mm512_add_epi32(half, last), one);
    return _mm512_srlv_epi32(_mm512_add_epi32(sig, less), k);
}

CAST_INLINE __m512i code_any(const struct enc_plan *p, __m512i a, __m512i u, const uint32_t *random)
{
    const __m512i zero = _mm512_setzero_si512(), one = all(1);
    const __mmask16 small = _mm512_cmplt_epu32_mask(a, all(0x00800000));
    const __m512i as_float = _mm512_castps_si512(_mm512_cvtepi32_ps(a));
    const __m512i wide = _mm512_mask_sub_epi32(a, small, as_float, all(149u << 23));

    const __m512i sig = _mm512_or_si512(_mm512_and_si512(wide, all(0x007fffff)), all(0x00800000));
    const __m512i field = _mm512_add_epi32(_mm512_srai_epi32(wide, 23), all((uint32_t)p->rebias));
    const __m512i below = _mm512_max_epi32(_mm512_sub_epi32(one, field), zero);
    __m512i binade = _mm512_max_epi32(_mm512_sub_epi32(field, one), zero);
    binade = _mm512_min_epi32(binade, all((uint32_t)p->binades));
    const __m512i kept = round_any(p, sig, _mm512_add_epi32(below, all(p->drop)), random);
    __m512i code = _mm512_add_epi32(left(binade, p->m), kept);
    code = _mm512_maskz_min_epu32(_mm512_test_epi32_mask(a, a), code, all(p->most));

    code = _mm512_mask_mov_epi32(code, _mm512_cmpeq_epu32_mask(a, all(0x7f800000)), all(p->beyond));
    code = _mm512_mask_mov_epi32(code, _mm512_cmpgt_epu32_mask(a, all(0x7f800000)), all(p->nan));
    return with_sign(p, code, u);
}

CAST_INLINE __m512i cast_loaded(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                                const __m512i u[4], const uint32_t *random, uint8_t *codes,
                                bool stream)
{
    __m512i a[4], c[4];
    for (int i = 0; i < 4; i++)
        a[i] = _mm512_and_si512(u[i], all(0x7fffffff));
    const __m512i max = larger(larger(a[0], a[1]), larger(a[2], a[3]));
    if (way == ENC_ANY || __builtin_expect(_mm512_cmpgt_epu32_mask(max, all(0x7f800000)) != 0, 0))
        for (int i = 0; i < 4; i++)
            c[i] = code_any(p, a[i], u[i], random ? random + 16 * i : random);
    else
        for (int i = 0; i < 4; i++)
            c[i] = way == ENC_ADD ? code_add(p, a[i], u[i]) : code_cut(p, a[i], u[i]);
    put_codes(shape, c, codes, stream);
    return max;
}

CAST_INLINE __m512i step(const struct enc_plan *p, enum enc_way way, enum cast_shape shape,
                         const float *x, const uint32_t *random, uint8_t *codes, bool stream)
{
    __m512i u[4];
    for (int i = 0; i < 4; i++)
        u[i] = _mm512_loadu_si512(x + 16 * i);
    return cast_loaded(p, way, shape, u, random, codes, stream);
}

#include "vec/cast/cast_body.h"

/* Casts x[i] * by[i / 8]. n: a multiple of STEP. */
CAST_INLINE void scaled_loop(const struct enc_plan *p, enum cast_shape shape, const float *x,
                             size_t n, const float *by, uint8_t *codes)
{
    for (size_t i = 0; i < n; i += STEP, by += STEP / 8, codes += cast_shape_bytes(shape, STEP)) {
        __m512i u[4];
        for (size_t k = 0; k < 4; k++) {
            cast_prefetch(x + i + 16 * k);
            u[k] = _mm512_castps_si512(
                _mm512_mul_ps(_mm512_loadu_ps(x + i + 16 * k), cast_two_factors(by + 2 * k)));
        }
        (void)cast_loaded(p, ENC_ADD, shape, u, NULL, codes, false);
    }
}

CAST_INLINE uint32_t absmax_of(const float *x, size_t n, bool prefetch)
{
    const __m512i mask = all(0x7fffffff);
    __m512i max[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                      _mm512_setzero_si512()};
    size_t i = 0;
    for (; i + STEP <= n; i += STEP)
        for (int j = 0; j < 4; j++) {
            if (prefetch)
                cast_prefetch(x + i + 16 * (size_t)j);
            const __m512i u = _mm512_loadu_si512(x + i + 16 * (size_t)j);
            max[j] = larger(max[j], _mm512_and_si512(u, mask));
        }
    for (; i < n; i += 16) {
        const __mmask16 here = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
        max[0] = larger(max[0], _mm512_and_si512(_mm512_maskz_loadu_epi32(here, x + i), mask));
    }
    return largest(larger(larger(max[0], max[1]), larger(max[2], max[3])));
}

static uint32_t avx512_absmax(const float *x, size_t n)
{
    return absmax_of(x, n, true);
}

static const struct cast_loops loops = {
    .encode = encode_loop,
    .decode = uncast_avx512,
    .random = philox_avx512,
    .draw = draw_avx512,
    .pack = pack_bmi2_write,
    .unpack = pack_bmi2_read,
};

#define UNCAST_SCALED uncast_scaled_avx512
#include "vec/cast/cast_slots.h"

/* ---- without software prefetch, for CPUs that it slows down ---- */

static uint32_t encode_no_prefetch(const struct enc_plan *p, enum cast_shape shape, const float *x,
                                   size_t n, const uint32_t *random, void *codes, bool stream)
{
    return encode_any(p, shape, x, n, random, codes, stream, false);
}

static uint32_t absmax_no_prefetch(const float *x, size_t n)
{
    return absmax_of(x, n, false);
}

static const struct cast_loops no_prefetch = {
    .encode = encode_no_prefetch,
    .decode = uncast_avx512,
    .random = philox_avx512,
    .draw = draw_avx512,
    .pack = pack_bmi2_write,
    .unpack = pack_bmi2_read,
};

static uint32_t scan_encode_no_prefetch(const struct vec_cast *cast, const float *x, size_t n,
                                        size_t at, int shift, uint8_t *codes)
{
    return cast_encode(&no_prefetch, cast, x, n, at, shift, codes);
}

static void encode_alone_no_prefetch(const struct vec_cast *cast, const float *x, size_t n,
                                     size_t at, int shift, uint8_t *codes)
{
    cast_encode(&no_prefetch, cast, x, n, at, shift, codes);
}

void cast_avx512_prefetch(struct vec_ops *ops, unsigned which)
{
    const bool casts = which & VEC_PREFETCH_CASTS, scans = which & VEC_PREFETCH_SCANS;
    ops->absmax = scans ? avx512_absmax : absmax_no_prefetch;
    ops->encode = casts ? slot_encode : encode_alone_no_prefetch;
    ops->scan_encode = casts ? slot_scan_encode : scan_encode_no_prefetch;
}

void cast_avx512_fill(struct vec_ops *ops)
{
    cast_avx512_prefetch(ops, VEC_PREFETCH_CASTS | VEC_PREFETCH_SCANS);
    ops->decode = slot_decode;
    ops->encode_scaled = slot_encode_scaled;
    ops->decode_scaled = slot_decode_scaled;
}

void cast_avx512vbmi_fill(struct vec_ops *ops)
{
    cast_avx512_prefetch(ops, vec_isa_prefetches());
}
#endif
