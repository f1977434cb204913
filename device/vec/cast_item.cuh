/* cast_item.cuh : casts an item, four elements of a thread, to codes, and packs and stores them.
 *
 * Aligned items of W = 4, 8 or 16 bits per code are stored directly. Other codes (W = 0) pass
 * through words[] in shared memory, where a warp's 128 codes fill 4 * width whole words:
 *
 *     codes   | 0 | 1 | 2 | ... | 127 |    one per word, written by the lanes in items of four
 *     words   |   0   |   1   | ... |      lane q gathers the codes of words q, q + 32, ... */
#ifndef CAST_ITEM_CUH
#define CAST_ITEM_CUH
#include "device/vec/cast_way.cuh"
#include "device/vec/element.cuh"
#include "hls/arith/philox.h"

struct cast_out {
    uint8_t *codes;
    size_t padded; /* codes to write */
    size_t at;     /* of the span's first element, for random bits */
    uint64_t key;
    uint32_t width;
    bool fast; /* an item is stored at once */
};

CAST_FN void cast_store_bytes(uint8_t *to, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(v >> 8 * i);
}

/* of: 0 (lowest byte) or 3 (highest). */
CAST_FN uint32_t cast_gather_4(const uint32_t v[4], int of)
{
#ifdef __CUDA_ARCH__
    const uint32_t pick = of ? 0x0073u : 0x0040u;
    return __byte_perm(__byte_perm(v[0], v[1], pick), __byte_perm(v[2], v[3], pick), 0x5410u);
#else
    uint32_t all = 0;
    for (int i = 0; i < 4; i++)
        all |= (v[i] >> 8 * of & 255u) << 8 * i;
    return all;
#endif
}

CAST_FN uint32_t cast_gather_2(uint32_t a, uint32_t b, int of)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, of ? 0x7632u : 0x5410u);
#else
    return (a >> 16 * of & 0xffffu) | (b >> 16 * of) << 16;
#endif
}

/* code: without signs. u: bits of x, for the signs. */
template <int W>
CAST_FN uint64_t cast_pack(const struct cast_way *w, const uint32_t code[4], const uint32_t u[4])
{
    if (W == 8)
        return (cast_gather_4(code, 0) & 0x7f7f7f7fu) | (cast_gather_4(u, 3) & 0x80808080u);
    if (W == 16) {
        uint32_t half[2];
        for (int i = 0; i < 2; i++)
            half[i] = (cast_gather_2(code[2 * i], code[2 * i + 1], 0) & 0x7fff7fffu) |
                      (cast_gather_2(u[2 * i], u[2 * i + 1], 1) & 0x80008000u);
        return half[0] | (uint64_t)half[1] << 32;
    }
    uint32_t all = 0;
    for (int i = 0; i < 4; i++)
        all |= ((code[i] & w->nan) | ((u[i] >> w->sign_right) & 8u)) << 4 * i;
    return all;
}

/* all: the item ends before `padded`. */
template <int W>
CAST_FN void cast_store(const struct cast_out *o, size_t element, bool all, uint64_t packed)
{
    uint8_t *to = o->codes + element / 4 * (W / 2);
    if (!all && element + 4 > o->padded) {
        if (element < o->padded)
            cast_store_bytes(to, packed, ((o->padded - element) * W + 7) / 8);
    } else if (W == 4) {
        *(uint16_t *)to = (uint16_t)packed;
    } else if (W == 8) {
        *(uint32_t *)to = (uint32_t)packed;
    } else {
        *(uint2 *)to = make_uint2((uint32_t)packed, (uint32_t)(packed >> 32));
    }
}

/* The whole warp calls it. */
CAST_FN void cast_store_words(const struct cast_out *o, size_t element, const uint32_t *words)
{
    const size_t end = (o->padded * o->width + 7) / 8, begin = element / 8 * o->width;
    /* 32 q * reciprocal >> 20 equals 32 q / width for 32 q <= 4095 */
    const uint32_t width = o->width, reciprocal = ((1u << 20) + width - 1) / width;
    for (uint32_t q = threadIdx.x % 32; q < 4 * width; q += 32) {
        const size_t at = begin + 4 * q;
        if (at >= end)
            break;
        uint32_t k = 32 * q * reciprocal >> 20, have = (k + 1) * width - 32 * q;
        uint32_t v = words[k] >> (width - have);
        for (; have < 32; have += width)
            v |= words[++k] << have;
        if (at + 4 <= end && (uintptr_t)(o->codes + at) % 4 == 0)
            *(uint32_t *)(o->codes + at) = v;
        else
            cast_store_bytes(o->codes + at, v, end - at < 4 ? end - at : 4);
    }
}

CAST_FN uint32_t cast_largest(float4 x)
{
    const uint32_t a = max(__float_as_uint(x.x) & 0x7fffffffu, __float_as_uint(x.y) & 0x7fffffffu);
    const uint32_t b = max(__float_as_uint(x.z) & 0x7fffffffu, __float_as_uint(x.w) & 0x7fffffffu);
    return max(a, b);
}

CAST_FN struct philox_block cast_block(uint64_t key, uint64_t at, uint32_t half)
{
    const struct philox_block counter = {{(uint32_t)(at >> 3), (uint32_t)(at >> 35), half, 0}};
    return philox_rounds(key, counter);
}

/* Sets out to the upper (half 0) or lower 16 bits of philox_round_u32() of elements `at` to at + 3.
 * at: a multiple of 4. */
CAST_FN void cast_halves(uint64_t key, uint64_t at, uint32_t half, uint32_t out[4])
{
    const struct philox_block b = cast_block(key, at, half);
    const bool second = (at & 4) != 0;
    const uint32_t w[2] = {second ? b.w[2] : b.w[0], second ? b.w[3] : b.w[1]};
    out[0] = w[0] & 0xffffu, out[1] = w[0] >> 16;
    out[2] = w[1] & 0xffffu, out[3] = w[1] >> 16;
}

CAST_FN uint4 cast_by(const struct cast_way *w, float4 x, const uint32_t random[4],
                      uint32_t *nearest)
{
    uint32_t apart[4];
    const uint4 code = make_uint4(
        cast_code_any(w, x.x, random[0], &apart[0]), cast_code_any(w, x.y, random[1], &apart[1]),
        cast_code_any(w, x.z, random[2], &apart[2]), cast_code_any(w, x.w, random[3], &apart[3]));
    *nearest = min(min(apart[0], apart[1]), min(apart[2], apart[3]));
    return code;
}

/* Returns the codes of any x and way. Random bits are those of elements `at` to at + 3. Their lower
 * halves are computed only if they decide: for one item in 16,384. */
CAST_APART uint4 cast_slow_4(const struct cast_way *w, uint64_t key, uint64_t at, float4 x)
{
    uint32_t random[4] = {0, 0, 0, 0}, lower[4], nearest;
    const bool draws = w->round == MF_STOCHASTIC;
    if (draws)
        cast_halves(key, at, 0, random);
    for (int i = 0; i < 4; i++)
        random[i] <<= 16;
    const uint4 code = cast_by(w, x, random, &nearest);
    if (!draws || nearest >> 16 != 0)
        return code;
    cast_halves(key, at, 1, lower);
    for (int i = 0; i < 4; i++)
        random[i] |= lower[i];
    return cast_by(w, x, random, &nearest);
}

/* Draws for two items of this thread, whose elements begin at `at`. Eight elements share a block,
 * and neighbouring lanes have neighbouring items: a lane computes the block of one item, and they
 * exchange halves. For even lanes, `at` must be a multiple of 8.
 *   not_random   upper halves, inverted, two per word
 * The whole warp calls it. */
CAST_FN void cast_draw_pair(uint64_t key, const uint64_t at[2], uint32_t not_random[2][2])
{
    const bool odd = threadIdx.x & 1u;
    const struct philox_block b = cast_block(key, odd ? at[1] : at[0], 0);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t other = __shfl_xor_sync(0xffffffffu, odd ? b.w[i] : b.w[2 + i], 1);
        not_random[0][i] = ~(odd ? other : b.w[i]);
        not_random[1][i] = ~(odd ? b.w[2 + i] : other);
    }
}

/* Returns false if codes may be wrong. */
template <enum way WAY, int M>
CAST_FN bool cast_fast_4(const struct cast_way *w, const float v[4], const uint32_t not_random[2],
                         uint32_t code[4])
{
    struct cast_doubt doubt = {0, 0};
    float odd = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        code[i] = WAY == WAY_DRAW
                      ? cast_code_draw<M>(w, v[i], not_random[i / 2], i % 2 == 1, &doubt)
                  : WAY == WAY_ADD ? cast_code_add(w, v[i], &odd)
                                   : cast_code_cut(w, v[i], &odd);
    return WAY == WAY_DRAW ? !cast_doubtful(w, &doubt) : odd == 0;
}

CAST_FN void cast_slow(const struct cast_way *w, const struct cast_out *o, size_t element,
                       const float v[4], uint32_t code[4])
{
    const uint4 any = cast_slow_4(w, o->key, o->at + element, make_float4(v[0], v[1], v[2], v[3]));
    code[0] = any.x, code[1] = any.y, code[2] = any.z, code[3] = any.w;
}

/* Stores an item of any width. element: a multiple of 128 plus 4 * lane. The whole warp calls it
 * and shares words[128]. */
CAST_FN void cast_put_any(const struct cast_way *w, const struct cast_out *o, size_t element,
                          const float v[4], const uint32_t code[4], uint32_t *words)
{
    const uint32_t lane = threadIdx.x % 32;
    /* Wait until the previous round's words are read. */
    __syncwarp();
    *(uint4 *)(words + 4 * lane) =
        make_uint4(cast_signed(w, code[0], v[0]), cast_signed(w, code[1], v[1]),
                   cast_signed(w, code[2], v[2]), cast_signed(w, code[3], v[3]));
    __syncwarp();
    cast_store_words(o, element - 4 * lane, words);
}

template <int W>
CAST_FN void cast_put(const struct cast_way *w, const struct cast_out *o, size_t element, bool all,
                      const float v[4], const uint32_t code[4])
{
    const uint32_t u[4] = {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
                           __float_as_uint(v[3])};
    cast_store<W>(o, element, all, cast_pack<W>(w, code, u));
}

/* Casts an item by a fast way. all: see cast_store(). x: zeros beyond the span's end.
 * not_random, M: for WAY_DRAW. Returns false if codes of W bits may be wrong. W = 0: as for
 * cast_put_any(); always right. shared: a copy of *w for the function that is not inlined, so that
 * *w stays in registers. */
template <int W, enum way WAY, int M>
CAST_FN bool cast_item(const struct cast_way *w, const struct cast_way *shared,
                       const struct cast_out *o, size_t element, bool all, float4 x,
                       const uint32_t not_random[2], uint32_t *words)
{
    const float v[4] = {x.x, x.y, x.z, x.w};
    uint32_t code[4];
    if (W == 8 && WAY == WAY_HARD) {
        float odd = 0;
        const uint32_t low = cast_codes_hard(w, x.x, x.y, &odd);
        cast_store<8>(o, element, all, low | cast_codes_hard(w, x.z, x.w, &odd) << 16);
        return odd == 0;
    }
    const bool right = cast_fast_4<WAY, M>(w, v, not_random, code);
    if (W != 0) {
        cast_put<W>(w, o, element, all, v, code);
        return right;
    }
    if (!right)
        cast_slow(shared, o, element, v, code);
    cast_put_any(w, o, element, v, code, words);
    return true;
}

#endif
