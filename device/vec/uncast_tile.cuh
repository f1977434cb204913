/* uncast_tile.cuh : decodes packed codes to scaled fp32, with the bits of mf_dec() and then a
 * division: tiles of a vector, or all spans of a list in one launch.
 *
 * A code | s | field | frac |, moved up by 23-m bits, is an fp32 that is too small by a factor of
 * 2^(127-bias), also for subnormals. One multiplication corrects that and applies the shift.
 *
 * Codes of 4, 8 or 16 bits are loaded four at a time. At any other width, a thread loads the words
 * that four codes touch, and moves each code to the highest bits:
 *
 *     words     |   d|ddccccccbbbbbbaaaaaa|  |     four codes of 6 bits: 24 bits of two words
 *     moved up  |ddddddccccccbbbbbbaaaaaa....|     d is ready; the next are 6 bits below
 *
 * Neighbouring threads share words, which the L1 cache serves.
 *
 * A transformation of the values is a launch argument of type TO. TO::PER_SM blocks fit a
 * multiprocessor's registers. TO::span is its state for one span, made by one thread if TO::LOOKS.
 * span.made(element, x) transforms four values x, the first of index `element`. */
#ifndef UNCAST_TILE_CUH
#define UNCAST_TILE_CUH
#include "device/vec/cast_list.cuh"
#include "device/vec/cast_way.cuh"
#include "device/vec/element.cuh"
#include <string.h>

enum {
    UNCAST_THREADS = 256,
    UNCAST_PER_SM = 6,
    UNCAST_WIDE_PER_SM = 4,
    UNCAST_LOADS = 4,
    UNCAST_TILE = UNCAST_THREADS * 4 * UNCAST_LOADS
};
enum { SHIFT_MAX = 1000 };
/* Values of W, the bits of a code, for all other widths up to these. */
enum { UNCAST_NARROW = 7, UNCAST_WIDE = 32 };

#define UNCAST_FN static __device__ __forceinline__

struct uncast {
    struct mf_fmt fmt;
    /* bits of a code; mask without the sign; first code that is not a number, last that is not
     * nan */
    uint32_t width, nan, special, last;
    uint32_t special_bits;  /* fp32 bits of the code `special` */
    uint32_t up, sign_left; /* 23 - m; left shift of a code that makes the sign the highest bit */
    uint32_t right, mask;   /* 8 - e; the sign, field and fraction of a moved code */
    float divisor;
};

/* 2^shift / divisor, with the correction of the exponent, split by vec_quotient_of(). */
struct uncast_shift {
    /* The factors' product is 2^shift with the correction. Only the last one rounds, unless the
     * result is 0. */
    float factor[3];
    bool far; /* factor[1], and perhaps factor[0], is not 1 */
    int shift;
    float divisor, times; /* times: 1 / divisor if exact, else 0 */
};

/* Returns 0 unless x is a power of two and both numbers are normal. */
static __host__ __device__ inline float exact_inverse(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t field = bits >> 23, inverse = (254 - field) << 23;
    float y;
    memcpy(&y, &inverse, sizeof y);
    return (bits & 0x807fffff) == 0 && field > 0 && field < 254 ? y : 0;
}

static struct uncast uncast_make(struct mf_fmt f, float divisor)
{
    struct uncast u;
    u.fmt = f;
    u.width = mf_width(f);
    u.nan = mf_nan(f);
    u.special = mf_special(f);
    u.last = mf_last_not_nan(f);
    u.special_bits = f.flavour == MF_IEEE ? 0x7f800000 : 0x7fffffff;
    u.up = 23u - f.m;
    u.sign_left = 31u - f.e - f.m;
    u.right = 8u - f.e;
    u.mask = 0x80000000u | u.nan << u.up;
    u.divisor = divisor;
    return u;
}

static __host__ __device__ inline int clamp(int x, int limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

static __host__ __device__ inline struct uncast_shift uncast_shift_make(const struct uncast *u,
                                                                        int shift)
{
    const struct mf_fmt f = u->fmt;
    const struct vec_quotient q = vec_quotient_of(f, clamp(shift, SHIFT_MAX), u->divisor);
    struct uncast_shift s;
    s.shift = q.shift;
    s.divisor = q.divisor;
    s.times = exact_inverse(q.divisor);
    int left = clamp(127 - mf_bias(f) + s.shift, 378);
    for (int i = 2; i >= 0; i--) {
        const int part = clamp(left, 126);
        const uint32_t bits = (uint32_t)(127 + part) << 23;
        memcpy(&s.factor[i], &bits, sizeof bits);
        left -= part;
    }
    s.far = s.factor[1] != 1;
    return s;
}

UNCAST_FN float uncast_divide(const struct uncast_shift *by, float x)
{
    if (by->times != 0)
        return __fmul_rn(x, by->times);
    return __fdiv_rn(x, by->divisor);
}

/* Returns the value of any code. */
UNCAST_FN float uncast_value(const struct uncast *u, const struct uncast_shift *by, uint32_t code)
{
    const uint32_t mag = code & u->nan, sign = code << u->sign_left & 0x80000000u;
    float x = __uint_as_float(mag << u->up);
    if (by->far)
        x = __fmul_rn(__fmul_rn(x, by->factor[0]), by->factor[1]);
    x = __fmul_rn(x, by->factor[2]);
    uint32_t bits = __float_as_uint(x);
    bits = mag < u->special ? bits : u->special_bits;
    x = uncast_divide(by, __uint_as_float(bits | sign));
    return mag > u->last ? __uint_as_float(0x7fffffffu | sign) : x;
}

/* Returns x, or inf or nan if the moved code without its sign says so. Only finite divisors above 0
 * leave inf as it is. */
UNCAST_FN float uncast_special(const struct uncast *u, uint32_t mag, uint32_t sign, float x)
{
    const uint32_t bits = mag > u->last << u->up ? 0x7fffffffu : 0x7f800000u;
    return mag < u->special << u->up ? x : __uint_as_float(bits | sign);
}

/* Returns the values of four codes. top: each in the highest bits; lower bits may have any
 * value. */
UNCAST_FN float4 uncast_four(const struct uncast *u, const struct uncast_shift *by,
                             const uint32_t top[4])
{
    uint32_t mag[4], largest = 0;
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const uint32_t bits = (uint32_t)((int32_t)top[j] >> u->right) & u->mask;
        mag[j] = bits & 0x7fffffffu;
        largest = max(largest, mag[j]);
        v[j] = __uint_as_float(bits);
    }
    if (by->far) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] = __fmul_rn(__fmul_rn(v[j], by->factor[0]), by->factor[1]);
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        v[j] = __fmul_rn(v[j], by->factor[2]);
    if (by->times != 0) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] = __fmul_rn(v[j], by->times);
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] = __fdiv_rn(v[j], by->divisor);
    }
    if (largest >= u->special << u->up) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] = uncast_special(u, mag[j], top[j] & 0x80000000u, v[j]);
    }
    return make_float4(v[0], v[1], v[2], v[3]);
}

template <int W> UNCAST_FN uint64_t uncast_load(const uint8_t *codes, size_t element, size_t n)
{
    const uint8_t *from = codes + element * W / 8;
    if (element + 4 <= n && (uintptr_t)codes % (W / 2) == 0) {
        if (W == 4)
            return *(const uint16_t *)from;
        if (W == 8)
            return *(const uint32_t *)from;
        const uint2 v = *(const uint2 *)from;
        return v.x | (uint64_t)v.y << 32;
    }
    uint64_t v = 0;
    const size_t here = element < n ? n - element : 0,
                 bytes = here < 4 ? (here * W + 7) / 8 : W / 2;
#pragma unroll 1
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)from[i] << 8 * i;
    return v;
}

/* ---- codes of any width ---- */

/* Returns codes `element` to `element` + 3, each in the highest bits; from n on, zeros. */
CAST_APART uint4 uncast_load_bytes(const uint8_t *codes, uint32_t width, size_t element, size_t n)
{
    uint32_t top[4] = {0, 0, 0, 0};
#pragma unroll
    for (size_t j = 0; j < 4 && element + j < n; j++) {
        const size_t bit = (element + j) * width;
        const uint32_t off = bit % 8;
        uint64_t bytes = 0;
#pragma unroll 1
        for (uint32_t i = 0; 8 * i < off + width; i++)
            bytes |= (uint64_t)codes[bit / 8 + i] << 8 * i;
        top[j] = (uint32_t)(bytes >> off) << (32 - width);
    }
    return make_uint4(top[0], top[1], top[2], top[3]);
}

/* Sets top[j]: code j in the highest bits, above any bits. The codes end `left` bits below the end
 * of `words`, whose bits move. */
template <int HELD>
UNCAST_FN void uncast_split(uint32_t words[HELD + 1], uint32_t left, uint32_t width,
                            uint32_t top[4])
{
#pragma unroll
    for (int k = 0; k < HELD; k++)
        words[k] = __funnelshift_l(words[k], words[k + 1], left);
#pragma unroll
    for (int j = 3; j >= 0; j--) {
        top[j] = words[HELD - 1];
#pragma unroll
        for (int k = HELD - 1; k >= 0; k--)
            words[k] = __funnelshift_lc(k > 0 ? words[k - 1] : 0, words[k], width);
    }
}

/* Loads the words that end with word `last`; before the first one the first again. */
template <int HELD>
UNCAST_FN void uncast_words(const uint32_t *from, int last, uint32_t words[HELD + 1])
{
#pragma unroll
    for (int k = 0; k <= HELD; k++)
        words[k] = from[max(last - HELD + k, 0)];
}

/* Decodes a tile of codes of up to 8 * HELD bits. */
template <int HELD, class SPAN>
UNCAST_FN void uncast_tile_any(const struct uncast *u, const struct uncast_shift *by,
                               const uint8_t *codes, size_t n, void *x, enum vec_type type,
                               uint64_t tile, SPAN become)
{
    const bool whole = elements_whole(x, type);
    const size_t first = tile * UNCAST_TILE + 4 * threadIdx.x;
    const uint32_t skew = (uintptr_t)codes % 4;
    const uint32_t end = (4 * threadIdx.x + 4) * u->width + 8 * skew; /* of the codes, in bits */
    const int last = (int)(end - 1) / 32;
    const uint32_t *from = (const uint32_t *)(codes - skew) + tile * (UNCAST_TILE / 32) * u->width;
    /* The last word read must end with the codes, or before. 32 more codes fill it. */
    if ((tile + 1) * UNCAST_TILE + (skew ? 32 : 0) > n) {
#pragma unroll 1
        for (int i = 0; i < UNCAST_LOADS; i++, from += 4 * UNCAST_THREADS / 32 * u->width) {
            const size_t element = first + (size_t)i * 4 * UNCAST_THREADS;
            uint32_t top[4], held[HELD + 1];
            if (element + 36 <= n) {
                uncast_words<HELD>(from, last, held);
                uncast_split<HELD>(held, 0u - end & 31, u->width, top);
            } else {
                const uint4 v = uncast_load_bytes(codes, u->width, element, n);
                top[0] = v.x, top[1] = v.y, top[2] = v.z, top[3] = v.w;
            }
            elements_put(x, type, element, n, whole, become.made(element, uncast_four(u, by, top)));
        }
        return;
    }
    uint32_t words[UNCAST_LOADS][HELD + 1];
#pragma unroll
    for (int i = 0; i < UNCAST_LOADS; i++, from += 4 * UNCAST_THREADS / 32 * u->width)
        uncast_words<HELD>(from, last, words[i]);
#pragma unroll
    for (int i = 0; i < UNCAST_LOADS; i++) {
        const size_t element = first + (size_t)i * 4 * UNCAST_THREADS;
        uint32_t top[4];
        uncast_split<HELD>(words[i], 0u - end & 31, u->width, top);
        elements_put(x, type, element, SIZE_MAX, whole,
                     become.made(element, uncast_four(u, by, top)));
    }
}

/* ---- tiles ---- */

/* Decodes a tile of codes of W bits: 4, 8 or 16. */
template <int W, class SPAN>
UNCAST_FN void uncast_tile_even(const struct uncast *u, const struct uncast_shift *by,
                                const uint8_t *codes, size_t n, void *x, enum vec_type type,
                                uint64_t tile, SPAN become)
{
    const bool whole = elements_whole(x, type);
    const size_t first = tile * UNCAST_TILE + 4 * threadIdx.x;
    uint64_t packed[UNCAST_LOADS];
#pragma unroll
    for (int i = 0; i < UNCAST_LOADS; i++)
        packed[i] = uncast_load<W>(codes, first + (size_t)i * 4 * UNCAST_THREADS, n);
#pragma unroll
    for (int i = 0; i < UNCAST_LOADS; i++) {
        const size_t element = first + (size_t)i * 4 * UNCAST_THREADS;
        uint32_t top[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            top[j] = (uint32_t)(packed[i] >> W * j / 32 * 32) << (32 - W - W * j % 32);
        elements_put(x, type, element, n, whole, become.made(element, uncast_four(u, by, top)));
    }
}

template <int W, class SPAN>
UNCAST_FN void uncast_tile(const struct uncast *u, const struct uncast_shift *by,
                           const uint8_t *codes, size_t n, void *x, enum vec_type type,
                           uint64_t tile, SPAN become)
{
    if constexpr (W == UNCAST_NARROW || W == UNCAST_WIDE)
        uncast_tile_any<(W + 7) / 8>(u, by, codes, n, x, type, tile, become);
    else
        uncast_tile_even<W>(u, by, codes, n, x, type, tile, become);
}

template <int W, class TO>
static __global__ void __launch_bounds__(UNCAST_THREADS,
                                         W == UNCAST_WIDE ? UNCAST_WIDE_PER_SM : TO::PER_SM)
    k_uncast_all(struct uncast u, const struct vec_out *spans, int n_spans, TO to)
{
    __shared__ struct span_list<struct vec_out> list;
    __shared__ typename TO::span become;
    int now = -1;
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, false, UNCAST_TILE);
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            const struct vec_out *span = &list.span[i];
            const struct uncast_shift by = uncast_shift_make(&u, span->shift);
            if (TO::LOOKS && from + i != now) {
                __syncthreads();
                now = from + i;
                if (threadIdx.x == 0)
                    become = to.of(span, now);
                __syncthreads();
            }
            uncast_tile<W>(&u, &by, span->codes, span->n, span->x, span->type,
                           span_list_within(&list, i, tile), become);
        }
        __syncthreads();
    }
}

/* n_elems: sum of the spans' n. */
template <class TO>
static int uncast_all(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                      size_t n_elems, TO to, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    const struct uncast u = uncast_make(fmt, divisor);
    const bool is_wide = u.width > 8 && u.width != 16;
    const int fit = is_wide ? (int)UNCAST_WIDE_PER_SM : (int)TO::PER_SM;
    const unsigned grid = span_list_grid(n_elems / UNCAST_TILE + (size_t)n_spans, fit, n_spans);
    const cudaStream_t on = cu_stream(s);
    switch (u.width) {
    case 4:
        k_uncast_all<4, TO><<<grid, UNCAST_THREADS, 0, on>>>(u, spans, n_spans, to);
        break;
    case 8:
        k_uncast_all<8, TO><<<grid, UNCAST_THREADS, 0, on>>>(u, spans, n_spans, to);
        break;
    case 16:
        k_uncast_all<16, TO><<<grid, UNCAST_THREADS, 0, on>>>(u, spans, n_spans, to);
        break;
    default:
        if (u.width <= UNCAST_NARROW)
            k_uncast_all<UNCAST_NARROW, TO><<<grid, UNCAST_THREADS, 0, on>>>(u, spans, n_spans, to);
        else
            k_uncast_all<UNCAST_WIDE, TO><<<grid, UNCAST_THREADS, 0, on>>>(u, spans, n_spans, to);
    }
    return cu_check("uncast of a list");
}

#endif
