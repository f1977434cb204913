/* signs.cu : encodes, sums and decodes a list of vectors as signs and two means per column, with
 * the bits and 16 lanes of level.h.
 *
 *     encode, stride 1   half a warp per column, or per two of up to 64 elements
 *     decode, stride 1   a warp per batch of columns, four neighbouring elements per lane
 *     else               a thread per column; neighbouring threads take neighbouring columns, so
 *                        that their loads coalesce */
#include "device/vec/cast_list.cuh"
#include "device/vec/signs_half.cuh"
#include "device/vec/vec.cuh"

enum {
    THREADS = 256,
    /* blocks in a grid, per multiprocessor; one after another: neighbours in memory run together */
    ENCODE_PER_SM = 32,
    DECODE_FIT = 5,     /* blocks at once on a multiprocessor */
    BATCH = 16,         /* most columns of a warp that decodes: one mean per lane */
    BATCH_ELEMS = 1024, /* of a batch, unless a column is longer */
    /* elements of a block: */
    ENCODE_TILE = THREADS / LEVEL_LANES * 2 * BLOCK,
    DECODE_TILE = THREADS / 32 * BATCH_ELEMS,
};

/* ---- decode ---- */

/* Words and groups of four elements can be accessed at once. */
CAST_FN bool in_batches(const struct signs_out *out)
{
    return out->rule.stride == 1 && out->rule.column % 4 == 0 &&
           out->rule.column <= LEVEL_BUCKET_MAX && elements_whole(out->x, out->type) &&
           (uintptr_t)out->codes % 4 == 0;
}
/* Columns of a batch: a power of two, without a division. */
CAST_FN uint32_t batch_of(const struct signs_rule *r)
{
    uint32_t batch = BATCH;
    while (batch > 1 && batch * (uint32_t)r->column > BATCH_ELEMS)
        batch /= 2;
    return batch;
}

/* The quotients of the batch's means: lane 2 * k + 1 has the mean of column k's negatives. */
CAST_FN float batch_means(const uint32_t *codes, uint32_t n_words, uint32_t n_columns,
                          float divisor)
{
    const uint32_t lane = threadIdx.x % 32, k = lane / 2;
    return k < n_columns ? __fdiv_rn(__uint_as_float(codes[k * n_words + lane % 2]), divisor) : 0;
}

/* Four neighbouring elements of a batch, in column k. */
struct batch_at {
    uint32_t k, group;
};
CAST_FN struct batch_at batch_next(struct batch_at at, uint32_t by, uint32_t groups)
{
    at.group += by;
    while (at.group >= groups)
        at.k++, at.group -= groups;
    return at;
}

/* The warp stores elements [0, n) of a batch of columns of n_words words. A lane's groups are 32
 * apart; `step` leads from one to the next. Words, up to the last one of the batch, are loaded
 * before any element is stored. */
template <enum vec_type TYPE>
CAST_FN void batch_put(void *x, uint32_t n, uint32_t column, const uint32_t *codes,
                       uint32_t n_words, uint32_t last, float means)
{
    const uint32_t lane = threadIdx.x % 32, groups = column / 4;
    const struct batch_at none = {0, 0}, step = batch_next(none, 32, groups);
    struct batch_at at = batch_next(none, lane, groups);
    for (uint32_t e = 4 * lane, end = (n + 127) / 128 * 128 + e; e < end; e += 128 * KEPT) {
        float plus[KEPT], minus[KEPT];
        uint32_t signs[KEPT];
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const uint32_t word = codes[min(at.k * n_words + at.group / 8 + 2, last)];
            signs[i] = word >> at.group % 8 * 4;
            plus[i] = __shfl_sync(LEVELS_ALL, means, (int)(2 * at.k));
            minus[i] = __shfl_sync(LEVELS_ALL, means, (int)(2 * at.k + 1));
            at.k += step.k, at.group += step.group;
            if (at.group >= groups)
                at.k++, at.group -= groups;
        }
#pragma unroll
        for (uint32_t i = 0; i < KEPT; i++) {
            const float4 v =
                make_float4(signs[i] & 1 ? minus[i] : plus[i], signs[i] & 2 ? minus[i] : plus[i],
                            signs[i] & 4 ? minus[i] : plus[i], signs[i] & 8 ? minus[i] : plus[i]);
            if (e + 128 * i + 4 <= n)
                elements_put(x, TYPE, e + 128 * i, SIZE_MAX, true, v);
            else
                elements_put(x, TYPE, e + 128 * i, n, false, v);
        }
    }
}

/* The whole warp decodes batch `number` of the span. */
CAST_FN void decode_batch(const struct signs_out *out, size_t number, float divisor)
{
    const uint32_t column = (uint32_t)out->rule.column, batch = batch_of(&out->rule),
                   n_words = (uint32_t)signs_column_bytes(&out->rule) / 4, all = batch * column;
    const size_t first = number * all;
    if (first >= out->n)
        return;
    const uint32_t n = (uint32_t)min(out->n - first, (size_t)all),
                   n_columns = n == all ? batch : (n + column - 1) / column,
                   last = n_columns * n_words - 1;
    const uint32_t *codes = (const uint32_t *)out->codes + number * (batch * n_words);
    void *x = (uint8_t *)out->x + first * vec_type_bytes(out->type);
    const float means = batch_means(codes, n_words, n_columns, divisor);
    if (out->type == VEC_HALF)
        batch_put<VEC_HALF>(x, n, column, codes, n_words, last, means);
    else
        batch_put<VEC_FLOAT>(x, n, column, codes, n_words, last, means);
}

/* Any column, by one thread. */
CAST_FN void decode_column(const struct signs_out *out, size_t thread, float divisor)
{
    const struct signs_column c =
        column_at(&out->rule, out->n, out->n, thread, (uint8_t *)out->codes);
    if (c.n == 0)
        return;
    const float plus = __fdiv_rn(__uint_as_float(word_get(c.codes)), divisor),
                minus = __fdiv_rn(__uint_as_float(word_get(c.codes + 4)), divisor);
    for (size_t word = 0; 32 * word < c.n; word++) {
        const uint32_t signs = word_get(c.codes + 8 + 4 * word);
#pragma unroll 4
        for (uint32_t bit = 0; bit < 32 && 32 * word + bit < c.n; bit++)
            element_put(out->x, out->type, c.first + (32 * word + bit) * out->rule.stride,
                        signs >> bit & 1 ? minus : plus);
    }
}

/* ---- lists ---- */

static __device__ inline size_t span_length(const struct signs_span *span, bool)
{
    const size_t columns = signs_columns(&span->rule, span->padded);
    if (span->rule.stride != 1)
        return columns;
    return span->rule.column <= BLOCK ? (columns + 3) / 4 * 32 : columns * LEVEL_LANES;
}
static __device__ inline size_t span_length(const struct signs_out *out, bool)
{
    const size_t columns = signs_columns(&out->rule, out->n);
    const uint32_t batch = in_batches(out) ? batch_of(&out->rule) : 0;
    return batch ? (columns + batch - 1) / batch * 32 : columns;
}

template <enum signs_from FROM>
CAST_FN uint32_t encode_tile(const struct signs_span *s, const struct signs_parts *p, size_t thread,
                             uint32_t largest)
{
    return s->rule.stride == 1 ? encode_half<FROM>(s, p, thread, largest)
                               : encode_column<FROM>(s, p, thread, largest);
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
            const struct signs_span s = list.span[i]; /* stores might change what is shared */
            const size_t thread = span_list_within(&list, i, tile) * THREADS + threadIdx.x;
            if (SUMS)
                encode_tile<FROM_PARTS>(&s, &p, thread, 0);
            else if (s.type == VEC_HALF)
                found.largest = encode_tile<FROM_HALVES>(&s, &p, thread, found.largest);
            else
                found.largest = encode_tile<FROM_FLOATS>(&s, &p, thread, found.largest);
        }
        if (!SUMS)
            span_max_at(&found, -1, spans + from, warps);
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(THREADS, DECODE_FIT)
    k_signs_decode(const struct signs_out *outs, int n_outs, float divisor)
{
    __shared__ struct span_list<struct signs_out> list;
    for (int from = 0; from < n_outs; from += LIST_SPANS) {
        const int n = min(n_outs - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, outs + from, n, false, THREADS);
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            const struct signs_out out = list.span[i];
            const size_t thread = span_list_within(&list, i, tile) * THREADS + threadIdx.x;
            if (in_batches(&out))
                decode_batch(&out, thread / 32, divisor);
            else
                decode_column(&out, thread, divisor);
        }
        __syncthreads();
    }
}

/* tile: elements of a typical tile. */
static unsigned grid_for(size_t n_elems, int n_spans, size_t tile, int per_sm)
{
    return cu_grid(n_elems / tile + (size_t)n_spans, per_sm);
}

int vec_gpu_signs_encode(struct signs_span *spans, int n_spans, size_t n_elems,
                         struct dev_stream *s)
{
    const struct signs_parts none = {NULL, 0, NULL};
    if (n_spans <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_spans, ENCODE_TILE, ENCODE_PER_SM);
    k_signs_encode<false><<<grid, THREADS, 0, cu_stream(s)>>>(spans, n_spans, none);
    return cu_check("signs");
}

int vec_gpu_signs_sum(const uint8_t *const *parts, int n_parts, struct signs_span *spans,
                      int n_spans, size_t n_elems, const uint8_t *base, struct dev_stream *s)
{
    const struct signs_parts p = {parts, n_parts, base};
    if (n_spans <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_spans, ENCODE_TILE, ENCODE_PER_SM);
    k_signs_encode<true><<<grid, THREADS, 0, cu_stream(s)>>>(spans, n_spans, p);
    return cu_check("sums of signs");
}

int vec_gpu_signs_decode(float divisor, const struct signs_out *outs, int n_outs, size_t n_elems,
                         struct dev_stream *s)
{
    if (n_outs <= 0)
        return 0;
    /* whole waves of blocks fill the GPU to the end; see span_list_grid() */
    const int waves = n_outs <= LIST_SHORT ? 16 : 6;
    const unsigned grid = grid_for(n_elems, n_outs, DECODE_TILE, DECODE_FIT * waves);
    k_signs_decode<<<grid, THREADS, 0, cu_stream(s)>>>(outs, n_outs, divisor);
    return cu_check("signs to floats");
}
