/* levels_warp.cuh : encodes a bucket in the registers of its team, up to 512 elements in a warp or
 * 8192 in a block; decodes it in a warp.
 *
 * A lane of a warp holds four quads of four elements, a lane of a block eight:
 *
 *     quad     | 0     | 1     | 2     | ...     of lane l: elements 4 * TEAM * quad + 4l on
 *
 * All loads of a bucket are issued before the first result is used. */
#ifndef LEVELS_WARP_CUH
#define LEVELS_WARP_CUH
#include "device/vec/levels_item.cuh"

enum { QUADS = 4, QUADS_BLOCK = 8 };
/* longest buckets */
enum { WARP_MAX = 4 * 32 * QUADS, BLOCK_MAX = 4 * 256 * QUADS_BLOCK };

template <int TEAM = 32> CAST_FN uint32_t quad_first(int quad)
{
    return 4 * (threadIdx.x % TEAM) + 4 * TEAM * (uint32_t)quad;
}

/* ---- elements ---- */

/* Elements from n on are zeros. x: the bucket's first element. */
template <int TEAM, int N>
CAST_FN void quads_get(const void *x, enum vec_type type, uint32_t n, float4 (&quad)[N])
{
    if (n % 4 != 0 || !elements_whole(x, type)) {
#pragma unroll
        for (int i = 0; i < N; i++)
            quad[i] = elements_get(x, type, quad_first<TEAM>(i), n, false);
    } else if (type == VEC_FLOAT) {
#pragma unroll
        for (int i = 0; i < N; i++)
            quad[i] = quad_first<TEAM>(i) < n
                          ? *(const float4 *)((const float *)x + quad_first<TEAM>(i))
                          : make_float4(0, 0, 0, 0);
    } else {
        uint2 two[N];
#pragma unroll
        for (int i = 0; i < N; i++)
            two[i] = quad_first<TEAM>(i) < n
                         ? *(const uint2 *)((const __half *)x + quad_first<TEAM>(i))
                         : make_uint2(0, 0);
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float2 low = element_open(two[i].x), high = element_open(two[i].y);
            quad[i] = make_float4(low.x, low.y, high.x, high.y);
        }
    }
}

/* Return the largest magnitude's bits: that of the largest number in signed or unsigned order. */
template <int N> CAST_FN uint32_t quads_largest(const float4 (&quad)[N])
{
    uint32_t above = 0;
    int32_t under = INT32_MIN;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const float v[4] = {quad[i].x, quad[i].y, quad[i].z, quad[i].w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            above = max(above, __float_as_uint(v[j]));
            under = max(under, (int32_t)__float_as_uint(v[j]));
        }
    }
    return max(above & 0x7fffffffu, (uint32_t)under & 0x7fffffffu);
}

template <int N> CAST_FN void quads_times(float4 (&quad)[N], float factor)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        quad[i].x = __fmul_rn(quad[i].x, factor), quad[i].y = __fmul_rn(quad[i].y, factor);
        quad[i].z = __fmul_rn(quad[i].z, factor), quad[i].w = __fmul_rn(quad[i].w, factor);
    }
}

/* Leave only signs. */
template <int N> CAST_FN void quads_clear(float4 (&quad)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        quad[i].x = copysignf(0.0f, quad[i].x), quad[i].y = copysignf(0.0f, quad[i].y);
        quad[i].z = copysignf(0.0f, quad[i].z), quad[i].w = copysignf(0.0f, quad[i].w);
    }
}

/* ---- codes ---- */

/* level_draw() with few conversions: 2^23 + an integer ends in the bits of that integer.
 *   above     at + slack
 *   limit     slack * 2^24; the rest and all that it has to exceed are multiplied by 2^24, which is
 *             exact */
CAST_FN uint32_t draw(float at, float above, float limit, uint32_t random)
{
    const float low = __fadd_rz(above, 0x1p23f),
                rest = fmaf(at, 0x1p24f, -fmaf(low, 0x1p24f, -0x1p47f)),
                most = fmaxf((float)(int32_t)(random >> 8), limit);
    const uint32_t up = __float_as_uint(__fsub_rn(most, rest)) >> 31;
    return __float_as_uint(low) - 0x4b000000u + up;
}

/* v: times power.up. In scheme `sign` the slack is at * 2^-22. If that is inexact, `at` is so small
 * that neither its sum with the slack nor the limit decides anything. Rounding lifts `at` above the
 * top by less than the slack, so it need not be cut. */
template <bool EVEN>
CAST_FN uint32_t quad_draw(const struct level_grid &grid, float v, uint32_t random)
{
    if (!EVEN) {
        const float at = __fmul_rn(fabsf(v), grid.per);
        return draw(at, __fmul_rn(at, 1 + 0x1p-22f), __fmul_rn(at, 4), random);
    }
    /* nan has the top. If the top is 1, ptxas 13 cuts by FADD.SAT, which makes 0 of nan. */
    const bool nan = isnan(__fmul_rn(v, grid.per));
    const float at = nan ? grid.top : level_at_even(grid, v), slack = __fmul_rn(grid.top, 0x1p-22f);
    return draw(at, __fadd_rn(at, slack), __fmul_rn(slack, 0x1p24f), random);
}

/* Return the codes of a quad: of 16 bits, two per word, else four in word[0], below other bits.
 * x: times power.up. */
template <int BITS, bool EVEN>
CAST_FN uint2 quad_codes(const struct level_grid &grid, float4 x, struct philox_block random)
{
    const uint32_t each = BITS == 16 ? 2 : 4, ones = ~0u / ((1u << BITS) - 1);
    const float v[4] = {x.x, x.y, x.z, x.w};
    uint32_t word[2] = {0, 0}, signs[2] = {0, 0};
#pragma unroll
    for (int j = 3; j >= 0; j--) {
        word[j / each] = (word[j / each] << BITS) + quad_draw<EVEN>(grid, v[j], random.w[j]);
        signs[j / each] = signs[j / each] << BITS | __float_as_uint(v[j]) >> (32 - BITS);
    }
    for (int k = 0; k < 2 && !EVEN; k++)
        word[k] |= signs[k] & ones << (BITS - 1);
    return make_uint2(word[0], word[1]);
}

/* Clear the codes of elements from n on. e: of the first element. */
template <int BITS> CAST_FN uint2 quad_cut(uint2 code, uint32_t e, uint32_t n)
{
    if (e + 4 <= n)
        return code;
    const uint64_t both = BITS == 16 ? code.x | (uint64_t)code.y << 32 : code.x,
                   kept = both & (((uint64_t)1 << (n > e ? n - e : 0) * BITS) - 1);
    return make_uint2((uint32_t)kept, (uint32_t)(kept >> 32));
}

/* Encode n elements with n_all codes. at: of the first element, in stream `key`. words: the bucket
 * begins on a word. */
template <int TEAM, int BITS, bool EVEN, int N>
CAST_FN void quads_put(float4 (&quad)[N], float scale, uint32_t n, uint32_t n_all, uint64_t key,
                       size_t at, uint8_t *codes, bool words)
{
    const struct level_scheme scheme = {BITS, EVEN};
    const struct level_grid grid = level_grid_of(scheme, scale);
    if (!EVEN && !(grid.per > 0))
        quads_clear(quad); /* the scale is 0, inf or nan */
    else if (grid.power.up != 1)
        quads_times(quad, grid.power.up);
    if (threadIdx.x % TEAM == 0 && words)
        *(float *)codes = scale;
    else if (threadIdx.x % TEAM == 0)
        word_put(codes, __float_as_uint(scale));
    codes += codes_at(quad_first<TEAM>(0), BITS);
    at += quad_first<TEAM>(0);
    uint2 code[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        code[i] = quad_codes<BITS, EVEN>(grid, quad[i], words_at(key, at + 4 * TEAM * i));
        if (EVEN)
            code[i] = quad_cut<BITS>(code[i], quad_first<TEAM>(i), n);
    }
    if (words) {
#pragma unroll
        for (int i = 0; i < N; i++)
            codes_store(codes + TEAM / 2 * BITS * i, BITS, true, code[i],
                        quad_first<TEAM>(i) < n_all);
    } else {
#pragma unroll
        for (int i = 0; i < N; i++)
            codes_store(codes + TEAM / 2 * BITS * i, BITS, false, code[i],
                        quad_first<TEAM>(i) < n_all);
    }
}

/* Decode a bucket to x[n]. */
template <int BITS, bool EVEN>
CAST_FN void quads_decode(const uint8_t *codes, float divisor, uint32_t n, void *x,
                          enum vec_type type)
{
    const struct level_scheme scheme = {BITS, EVEN};
    const bool words = (uintptr_t)codes % sizeof(uint32_t) == 0, whole = elements_whole(x, type);
    const uint8_t *from = codes + codes_at(quad_first<>(0), BITS);
    uint2 code[QUADS];
    if (words) {
#pragma unroll
        for (int i = 0; i < QUADS; i++)
            code[i] = codes_load(from + 16 * BITS * i, BITS, true, quad_first<>(i) < n);
    } else {
#pragma unroll
        for (int i = 0; i < QUADS; i++)
            code[i] = codes_load(from + 16 * BITS * i, BITS, false, quad_first<>(i) < n);
    }
    const struct levels_reader reader = reader_of(scheme, codes, divisor);
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
        float v[4];
        values_of(&reader, scheme, code[i], v);
        if (quad_first<>(i) < n)
            elements_put(x, type, quad_first<>(i), n, whole, make_float4(v[0], v[1], v[2], v[3]));
    }
}

#endif
