/* levels_avx512.c : buckets of levels with AVX-512: values of 2 and 4 bits from a table in a
 * register; all else as compilers make it of levels_body.h. */
#include "vec/cast_x86.h"
#ifdef VEC_X86
#include "vec/levels_body.h"

enum { STREAM_MIN = 1 << 20 }; /* elements: from here on past the caches */

static void levels_random(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    philox_avx512(key, block, n_blocks, words);
}

/* What each code of a bucket is divided by the divisor; of 2 bits four times over. */
CAST_INLINE __m512 table_of(struct level_scheme scheme, float scale, float divisor)
{
    const struct level_grid grid = level_grid_of(scheme, scale);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t codes[16];
    float values[16];
    _mm512_storeu_si512(codes, _mm512_and_si512(lane, _mm512_set1_epi32((1 << scheme.bits) - 1)));
    if (scheme.even)
        for (int i = 0; i < 16; i++)
            values[i] = level_value_even(grid, codes[i]) / divisor;
    else
        for (int i = 0; i < 16; i++)
            values[i] = level_value_sign(scheme.bits, grid, codes[i]) / divisor;
    return _mm512_loadu_ps(values);
}

/* Sixteen codes from element i of a bucket on, in the low bits of their lanes; what is above does
 * not count. */
CAST_INLINE __m512i codes_at(uint32_t bits, const uint8_t *codes, size_t i)
{
    if (bits == 4) { /* a byte in each half of two lanes */
        const __m512i bytes =
            _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(codes + i / 2)));
        return _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 28));
    }
    int32_t word;
    memcpy(&word, codes + i / 4, sizeof word);
    const __m512i by = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_srlv_epi32(_mm512_set1_epi32(word), by);
}

/* Whole buckets. */
static __attribute__((noinline)) void
decode_whole(const struct levels_rule *r, const uint8_t *codes, size_t n, float divisor, float *x)
{
    const bool stream = n >= STREAM_MIN && (uintptr_t)x % 64 == 0;
    for (size_t e = 0; e < n; e += r->bucket, codes += levels_bytes(r, r->bucket)) {
        const __m512 table = table_of(r->scheme, levels_float(codes), divisor);
        for (size_t i = 0; i < r->bucket; i += 16) {
            const __m512 v =
                _mm512_permutexvar_ps(codes_at(r->scheme.bits, codes + sizeof(float), i), table);
            if (stream)
                _mm512_stream_ps(x + e + i, v);
            else
                _mm512_storeu_ps(x + e + i, v);
        }
        cast_ahead(codes);
    }
    if (stream)
        _mm_sfence();
}

static void avx512_decode(const struct levels_rule *r, const uint8_t *codes, size_t n,
                          float divisor, float *x)
{
    const bool by_table = r->scheme.bits == 2 || r->scheme.bits == 4;
    const size_t whole = by_table ? n / r->bucket * r->bucket : 0;
    const uint64_t was = fp_mode_ieee();
    decode_whole(r, codes, whole, divisor, x);
    fp_mode_back(was);
    levels_decode(r, codes + levels_bytes(r, whole), n - whole, divisor, x + whole);
}

void levels_avx512_fill(struct vec_ops *ops)
{
    static const struct vec_levels levels = LEVELS_OPS(avx512_decode);
    ops->levels = &levels;
}
#endif
