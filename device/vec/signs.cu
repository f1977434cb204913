/* signs.cu : encodes, sums and decodes a list of vectors as signs and two means per column, with
 * the bits and 16 lanes of level.h.
 *
 *     stride 1      half a warp per column; lane k has elements k, k + 16, ...
 *     else          a thread per column, with the lanes in registers, beside neighbouring columns
 *
 * So reads are whole sectors of 32 bytes. Half a warp stores up to 64 bytes of codes at once, as
 * they may be across the bus. With stride 1, a column's first 64 elements stay in registers
 * between means and signs; others are read twice. */
#include "device/vec/cast_list.cuh"
#include "device/vec/levels_item.cuh"
#include "device/vec/vec.cuh"

enum { THREADS = 256, PER_SM = 4, KEPT = 4 /* elements of a lane in registers */ };

static __device__ inline size_t columns_threads(const struct signs_rule *r, size_t n)
{
    return signs_columns(r, n) * (r->stride == 1 ? LEVEL_LANES : 1);
}
static __device__ inline size_t span_length(const struct signs_span *span, bool)
{
    return columns_threads(&span->rule, span->padded);
}
static __device__ inline size_t span_length(const struct signs_out *out, bool)
{
    return columns_threads(&out->rule, out->n);
}

/* Codes to sum instead of x; `base` is that of signs_sum(). */
struct signs_parts {
    const uint8_t *const *parts;
    int n;
    const uint8_t *base;
};

struct signs_column {
    size_t first, n;
    uint8_t *codes;
    bool there; /* false: after the vector's end */
};

/* A 64-bit division takes longer than a column's arithmetic. */
CAST_FN size_t quotient(size_t a, size_t b)
{
    return (a | b) >> 32 == 0 ? (uint32_t)a / (uint32_t)b : a / b;
}

/* all: elements that the codes cover, padded. */
CAST_FN struct signs_column column_at(const struct signs_rule *r, size_t n, size_t all,
                                      size_t number, uint8_t *codes)
{
    const size_t stride = r->stride, run = stride == 1 ? number : quotient(number, stride),
                 begin = run * r->column * stride;
    struct signs_column c;
    c.there = begin < all;
    c.first = begin + (number - run * stride);
    c.n = 0;
    if (c.there && c.first < n) {
        const size_t left = stride == 1 ? n - c.first : quotient(n - c.first + stride - 1, stride);
        c.n = left < r->column ? left : r->column;
    }
    c.codes = codes + number * signs_column_bytes(r);
    return c;
}

/* Returns 0 after the column's end. */
template <bool SUMS>
CAST_FN float element(const struct signs_span *s, const struct signs_parts *p,
                      const struct signs_column *c, size_t j)
{
    const size_t e = c->first + j * s->rule.stride;
    if (j >= c->n)
        return 0;
    float v = SUMS ? 0 : element_get(s->x, s->type, e);
    for (int k = 0; SUMS && k < p->n; k++) {
        const uint8_t *from = p->parts[k] + (c->codes - p->base);
        const uint32_t negative = from[2 * sizeof(float) + j / 8] >> j % 8 & 1;
        v = level_add(v, __uint_as_float(word_get(from + negative * sizeof(float))));
    }
    return s->left.was ? level_add(v, s->left.was[e]) : v;
}

CAST_FN void leave(const struct signs_span *s, const struct signs_column *c, size_t j, float v,
                   float plus, float minus)
{
    if (s->left.next && j < c->n)
        s->left.next[c->first + j * s->rule.stride] = v - (v < 0 ? minus : plus);
}

CAST_FN uint32_t magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffffu;
}

struct half_sums {
    float plus, minus;
    uint32_t n_minus;
};

CAST_FN uint32_t half_signs(float v)
{
    return __ballot_sync(LEVELS_ALL, v < 0) >> (threadIdx.x & 16) & 0xffffu;
}

CAST_FN void half_add(struct half_sums *s, float v)
{
    s->plus = level_add(s->plus, v < 0 ? 0 : v);
    s->minus = level_add(s->minus, v < 0 ? v : 0);
    s->n_minus += (uint32_t)__popc(half_signs(v));
}

/* Returns one word per lane of the half warp, from word `first` on. Words 0 and 1 are the means. */
CAST_FN uint32_t half_words(const struct signs_rule *r, const uint8_t *codes, uint32_t first,
                            bool there)
{
    const uint32_t word = first + threadIdx.x % LEVEL_LANES,
                   n_words = 2 + (uint32_t)((r->column + 31) / 32);
    return there && word < n_words ? word_get(codes + 4 * (size_t)word) : 0;
}
CAST_FN uint32_t half_word(uint32_t words, uint32_t which)
{
    return __shfl_sync(LEVELS_ALL, words, (int)(which % LEVEL_LANES), LEVEL_LANES);
}

CAST_FN bool half_negative(uint32_t words, uint32_t i)
{
    return half_word(words, 2 + i / 2) >> (16 * (i % 2) + threadIdx.x % LEVEL_LANES) & 1;
}

template <bool SUMS>
CAST_FN void half_load(const struct signs_span *s, const struct signs_parts *p,
                       const struct signs_column *c, float kept[KEPT])
{
    const uint32_t lane = threadIdx.x % LEVEL_LANES;
#pragma unroll
    for (uint32_t i = 0; i < KEPT; i++)
        kept[i] = !SUMS && 16 * i + lane < c->n
                      ? element_get(s->x, s->type, c->first + 16 * i + lane)
                      : 0;
    for (int k = 0; SUMS && k < p->n; k++) {
        const uint32_t words =
            half_words(&s->rule, p->parts[k] + (c->codes - p->base), 0, c->there);
        const float plus = __uint_as_float(half_word(words, 0)),
                    minus = __uint_as_float(half_word(words, 1));
#pragma unroll
        for (uint32_t i = 0; i < KEPT; i++) {
            const bool negative = half_negative(words, i);
            if (16 * i + lane < c->n)
                kept[i] = level_add(kept[i], negative ? minus : plus);
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < KEPT; i++)
        if (s->left.was && 16 * i + lane < c->n)
            kept[i] = level_add(kept[i], s->left.was[c->first + 16 * i + lane]);
}

/* Computes, but does not store, a column after the vector's end, as the warp's other half may be
 * inside. Returns this lane's largest magnitude of x. */
template <bool SUMS>
CAST_FN uint32_t encode_half(const struct signs_span *s, const struct signs_parts *p,
                             const struct signs_column *c)
{
    const uint32_t lane = threadIdx.x % LEVEL_LANES,
                   rounds = (uint32_t)((s->rule.column + 15) / 16);
    struct half_sums sums = {0, 0, 0};
    uint32_t largest = 0, before = 0;
    float kept[KEPT];
    half_load<SUMS>(s, p, c, kept);
#pragma unroll
    for (uint32_t i = 0; i < KEPT; i++)
        half_add(&sums, kept[i]);
#pragma unroll 4
    for (uint32_t i = KEPT; i < rounds; i++)
        half_add(&sums, element<SUMS>(s, p, c, (size_t)16 * i + lane));
    const float plus = level_mean(half_join(sums.plus), (uint32_t)c->n - sums.n_minus),
                minus = level_mean(half_join(sums.minus), sums.n_minus);
    uint32_t words = __float_as_uint(lane == 0 ? plus : minus);
#pragma unroll 4
    for (uint32_t i = 0; i < rounds; i++) {
        const size_t j = (size_t)16 * i + lane;
        float v;
        if (i < KEPT)
            v = i == 0 ? kept[0] : i == 1 ? kept[1] : i == 2 ? kept[2] : kept[3];
        else
            v = element<SUMS>(s, p, c, j);
        leave(s, c, j, v, plus, minus);
        if (!SUMS && j < c->n)
            largest = max(largest, magnitude(element_get(s->x, s->type, c->first + j)));
        const uint32_t signs = half_signs(v), at = 2 + i / 2;
        if (at % LEVEL_LANES == lane)
            words = i % 2 ? before | signs << 16 : signs;
        before = signs;
        if (i + 1 == rounds || (i % 2 == 1 && at % LEVEL_LANES == LEVEL_LANES - 1)) {
            const uint32_t word = at / LEVEL_LANES * LEVEL_LANES + lane;
            if (c->there && word <= at)
                word_put(c->codes + 4 * (size_t)word, words);
        }
    }
    return largest;
}

CAST_FN void decode_half(const struct signs_out *out, const struct signs_column *c, float divisor)
{
    const uint32_t lane = threadIdx.x % LEVEL_LANES,
                   rounds = (uint32_t)((out->rule.column + 15) / 16);
    uint32_t words = half_words(&out->rule, c->codes, 0, c->there);
    const float plus = __fdiv_rn(__uint_as_float(half_word(words, 0)), divisor),
                minus = __fdiv_rn(__uint_as_float(half_word(words, 1)), divisor);
#pragma unroll 4
    for (uint32_t i = 0; i < rounds; i++) {
        const size_t j = (size_t)16 * i + lane;
        if (i % 2 == 0 && (2 + i / 2) % LEVEL_LANES == 0)
            words = half_words(&out->rule, c->codes, 2 + i / 2, c->there);
        const bool negative = half_negative(words, i);
        if (j < c->n)
            element_put(out->x, out->type, c->first + j, negative ? minus : plus);
    }
}

template <bool SUMS>
CAST_FN uint32_t encode_thread(const struct signs_span *s, const struct signs_parts *p,
                               const struct signs_column *c)
{
    float plus[LEVEL_LANES], minus[LEVEL_LANES];
    uint32_t largest = 0, n_minus = 0;
#pragma unroll
    for (int k = 0; k < LEVEL_LANES; k++)
        plus[k] = minus[k] = 0;
    for (size_t j = 0; j < c->n; j += LEVEL_LANES)
#pragma unroll
        for (int k = 0; k < LEVEL_LANES; k++) {
            const float v = element<SUMS>(s, p, c, j + k);
            plus[k] = level_add(plus[k], v < 0 ? 0 : v);
            minus[k] = level_add(minus[k], v < 0 ? v : 0);
            n_minus += v < 0;
        }
    const float q_plus = level_mean(level_join(plus), (uint32_t)c->n - n_minus),
                q_minus = level_mean(level_join(minus), n_minus);
    word_put(c->codes, __float_as_uint(q_plus));
    word_put(c->codes + 4, __float_as_uint(q_minus));
    for (size_t word = 0; 32 * word < s->rule.column; word++) {
        uint32_t signs = 0;
#pragma unroll 4
        for (uint32_t bit = 0; bit < 32 && 32 * word + bit < c->n; bit++) {
            const size_t j = 32 * word + bit;
            const float v = element<SUMS>(s, p, c, j);
            leave(s, c, j, v, q_plus, q_minus);
            signs |= (uint32_t)(v < 0) << bit;
            if (!SUMS)
                largest = max(largest,
                              magnitude(element_get(s->x, s->type, c->first + j * s->rule.stride)));
        }
        word_put(c->codes + 8 + 4 * word, signs);
    }
    return largest;
}

CAST_FN void decode_thread(const struct signs_out *out, const struct signs_column *c, float divisor)
{
    const float plus = __fdiv_rn(__uint_as_float(word_get(c->codes)), divisor),
                minus = __fdiv_rn(__uint_as_float(word_get(c->codes + 4)), divisor);
    for (size_t word = 0; 32 * word < c->n; word++) {
        const uint32_t signs = word_get(c->codes + 8 + 4 * word);
#pragma unroll 4
        for (uint32_t bit = 0; bit < 32 && 32 * word + bit < c->n; bit++)
            element_put(out->x, out->type, c->first + (32 * word + bit) * out->rule.stride,
                        signs >> bit & 1 ? minus : plus);
    }
}

template <bool SUMS>
static __global__ void __launch_bounds__(THREADS, SUMS ? 3 : 4)
    k_signs_encode(struct signs_span *spans, int n_spans, struct signs_parts p)
{
    __shared__ struct span_list<struct signs_span> list;
    __shared__ uint32_t warps[32];
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, true, THREADS);
        struct span_max found = {-1, 0};
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            if (!SUMS)
                span_max_at(&found, i, spans + from, warps);
            const struct signs_span *s = &list.span[i];
            const size_t thread = span_list_within(&list, i, tile) * THREADS + threadIdx.x,
                         number = s->rule.stride == 1 ? thread / LEVEL_LANES : thread;
            const struct signs_column c = column_at(&s->rule, s->n, s->padded, number, s->codes);
            if (s->rule.stride == 1)
                found.largest = max(found.largest, encode_half<SUMS>(s, &p, &c));
            else if (c.there)
                found.largest = max(found.largest, encode_thread<SUMS>(s, &p, &c));
        }
        if (!SUMS)
            span_max_at(&found, -1, spans + from, warps);
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(THREADS)
    k_signs_decode(const struct signs_out *outs, int n_outs, float divisor)
{
    __shared__ struct span_list<struct signs_out> list;
    for (int from = 0; from < n_outs; from += LIST_SPANS) {
        const int n = min(n_outs - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, outs + from, n, false, THREADS);
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            const struct signs_out *out = &list.span[i];
            const size_t thread = span_list_within(&list, i, tile) * THREADS + threadIdx.x,
                         number = out->rule.stride == 1 ? thread / LEVEL_LANES : thread;
            const struct signs_column c =
                column_at(&out->rule, out->n, out->n, number, (uint8_t *)out->codes);
            if (out->rule.stride == 1)
                decode_half(out, &c, divisor);
            else if (c.there)
                decode_thread(out, &c, divisor);
        }
        __syncthreads();
    }
}

/* At least one column per span and at most one thread per element. */
static unsigned grid_for(size_t n_elems, int n_spans)
{
    const size_t most = (size_t)cu_n_sms() * PER_SM, want = n_elems / THREADS + (size_t)n_spans;
    return (unsigned)(want < most ? want : most);
}

int vec_gpu_signs_encode(struct signs_span *spans, int n_spans, size_t n_elems,
                         struct dev_stream *s)
{
    const struct signs_parts none = {NULL, 0, NULL};
    if (n_spans <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_spans);
    k_signs_encode<false><<<grid, THREADS, 0, cu_stream(s)>>>(spans, n_spans, none);
    return cu_check("signs");
}

int vec_gpu_signs_sum(const uint8_t *const *parts, int n_parts, struct signs_span *spans,
                      int n_spans, size_t n_elems, const uint8_t *base, struct dev_stream *s)
{
    const struct signs_parts p = {parts, n_parts, base};
    if (n_spans <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_spans);
    k_signs_encode<true><<<grid, THREADS, 0, cu_stream(s)>>>(spans, n_spans, p);
    return cu_check("sums of signs");
}

int vec_gpu_signs_decode(float divisor, const struct signs_out *outs, int n_outs, size_t n_elems,
                         struct dev_stream *s)
{
    if (n_outs <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_outs);
    k_signs_decode<<<grid, THREADS, 0, cu_stream(s)>>>(outs, n_outs, divisor);
    return cu_check("signs to floats");
}
