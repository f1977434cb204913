/* uncast_tile.cuh : decodes packed codes to scaled fp32, with the bits of mf_dec() and then a
 * division: tiles of a vector, or all spans of a list in one launch.
 *
 * A code | s | field | frac |, moved up by 23-m bits, is an fp32 that is too small by a factor of
 * 2^(127-bias), also for subnormals. One multiplication corrects that and applies the shift. If the
 * width is not 4, 8 or 16, a warp reads the 4 * width words of 128 codes, and each lane picks its
 * four.
 *
 * A transformation of the values is a launch argument of type TO. TO::PER_SM blocks
 * (TO::PER_SM_ANY for any width) fit a multiprocessor's registers. TO::span is its state for one
 * span, made by one thread if TO::LOOKS. span.made(element, x) transforms four values x, the first
 * of index `element`. */
#ifndef UNCAST_TILE_CUH
#define UNCAST_TILE_CUH
#include "device/vec/cast_list.cuh"
#include "device/vec/element.cuh"
#include <string.h>

enum {
    UNCAST_THREADS = 256,
    UNCAST_PER_SM = 6,
    UNCAST_LOADS = 4,
    UNCAST_TILE = UNCAST_THREADS * 4 * UNCAST_LOADS
};
enum { SHIFT_MAX = 1000 };

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

/* Returns the value of a code that is a number. top: the code in the highest bits; lower bits may
 * have any value. Raises *largest to the moved code's magnitude. */
UNCAST_FN float uncast_number(const struct uncast *u, const struct uncast_shift *by, uint32_t top,
                              uint32_t *largest)
{
    const uint32_t bits = (uint32_t)((int32_t)top >> u->right) & u->mask;
    float x = __uint_as_float(bits);
    *largest = max(*largest, bits & 0x7fffffffu);
    if (by->far)
        x = __fmul_rn(__fmul_rn(x, by->factor[0]), by->factor[1]);
    return uncast_divide(by, __fmul_rn(x, by->factor[2]));
}

UNCAST_FN float4 uncast_four(const struct uncast *u, const struct uncast_shift *by,
                             const uint32_t top[4])
{
    uint32_t largest = 0;
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        v[j] = uncast_number(u, by, top[j], &largest);
    if (largest >= u->special << u->up)
        for (int j = 0; j < 4; j++)
            v[j] = uncast_value(u, by, top[j] >> u->sign_left);
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
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)from[i] << 8 * i;
    return v;
}

enum { UNCAST_HELD = 4 }; /* words per lane of 128 codes of up to 32 bits */

/* Loads this lane's words of 128 codes. first: a multiple of 128. */
UNCAST_FN void uncast_load_any(const struct uncast *u, const uint8_t *codes, size_t first, size_t n,
                               uint32_t held[UNCAST_HELD])
{
    const size_t end = (n * u->width + 7) / 8, begin = first / 8 * u->width;
    const bool words = (uintptr_t)codes % 4 == 0;
#pragma unroll
    for (uint32_t k = 0; k < UNCAST_HELD; k++) {
        const uint32_t q = threadIdx.x % 32 + 32 * k;
        const size_t at = begin + 4 * q;
        held[k] = 0;
        if (q >= 4 * u->width)
            continue;
        if (at + 4 <= end && words)
            held[k] = *(const uint32_t *)(codes + at);
        else
            for (size_t i = 0; i < 4 && at + i < end; i++)
                held[k] |= (uint32_t)codes[at + i] << 8 * i;
    }
}
/* Gives them to the warp. words: [129]. */
UNCAST_FN void uncast_share(const struct uncast *u, const uint32_t held[UNCAST_HELD],
                            uint32_t *words)
{
    /* Wait until the previous round's words are read. */
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < UNCAST_HELD; k++)
        if (threadIdx.x % 32 + 32 * k < 4 * u->width)
            words[threadIdx.x % 32 + 32 * k] = held[k];
    __syncwarp();
}
/* Returns code k in the highest bits. */
UNCAST_FN uint32_t uncast_pick(const struct uncast *u, const uint32_t *words, uint32_t k)
{
    const uint32_t bit = k * u->width, q = bit / 32;
    const uint64_t two = words[q] | (uint64_t)words[q + 1] << 32;
    return (uint32_t)(two >> bit % 32) << u->sign_left;
}

/* W: 0 for any width. words: [129] of the warp. */
template <int W, class SPAN>
UNCAST_FN void uncast_tile(const struct uncast *u, const struct uncast_shift *by, uint32_t *words,
                           const uint8_t *codes, size_t n, void *x, enum vec_type type,
                           uint64_t tile, SPAN become)
{
    const bool whole = elements_whole(x, type);
    const size_t first = tile * UNCAST_TILE + 4 * threadIdx.x;
    const uint32_t lane = threadIdx.x % 32;
    uint64_t packed[UNCAST_LOADS];
    uint32_t held[UNCAST_LOADS][UNCAST_HELD];
#pragma unroll
    for (int i = 0; i < UNCAST_LOADS; i++) {
        const size_t element = first + (size_t)i * 4 * UNCAST_THREADS;
        if (W == 0)
            uncast_load_any(u, codes, element - 4 * lane, n, held[i]);
        else
            packed[i] = uncast_load < W == 0 ? 8 : W > (codes, element, n);
    }
#pragma unroll
    for (int i = 0; i < UNCAST_LOADS; i++) {
        const size_t element = first + (size_t)i * 4 * UNCAST_THREADS;
        uint32_t top[4];
        if (W == 0)
            uncast_share(u, held[i], words);
#pragma unroll
        for (int j = 0; j < 4; j++)
            top[j] = W == 0 ? uncast_pick(u, words, 4 * lane + j)
                            : (uint32_t)(packed[i] >> W * j / 32 * 32) << (32 - W - W * j % 32);
        elements_put(x, type, element, n, whole, become.made(element, uncast_four(u, by, top)));
    }
}

template <int W, class TO>
static __global__ void __launch_bounds__(UNCAST_THREADS, W == 0 ? TO::PER_SM_ANY : TO::PER_SM)
    k_uncast_all(struct uncast u, const struct vec_out *spans, int n_spans, TO to)
{
    __shared__ struct span_list<struct vec_out> list;
    __shared__ uint32_t words[UNCAST_THREADS / 32][129];
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
            uncast_tile<W>(&u, &by, words[threadIdx.x / 32], span->codes, span->n, span->x,
                           span->type, span_list_within(&list, i, tile), become);
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
    const unsigned grid =
        span_list_grid(n_elems / UNCAST_TILE + (size_t)n_spans, UNCAST_PER_SM, n_spans);
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
        k_uncast_all<0, TO><<<grid, UNCAST_THREADS, 0, on>>>(u, spans, n_spans, to);
    }
    return cu_check("uncast of a list");
}

#endif
