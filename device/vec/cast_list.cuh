/* cast_list.cuh : divides the spans of a list into one row of tiles and deals them to the blocks,
 * so that neighbouring tiles are read at the same time.
 *
 *     spans   |--- 0 ---|- 1 -|------- 2 -------|    of any lengths, in groups of LIST_SPANS
 *     tiles   |  |  |  |  |  |  |  |  |  |  |  ||    the last tile of a span may be short
 *     block   0  1  2  0  1  2  0  1  ... */
#ifndef CAST_LIST_CUH
#define CAST_LIST_CUH
#include "device/run/cu.cuh"
#include "hls/arith/level_lists.h"
#include "hls/arith/rules.h"

enum { LIST_SPANS = 256, LIST_SHORT = 4 };

/* Returns the number of blocks for so many tiles, if `per_sm` fit a multiprocessor. More blocks
 * keep memory accesses close together, as they start in order; with many spans, loading the list
 * takes longer than that saves. */
static inline unsigned span_list_grid(size_t tiles, int per_sm, int n_spans)
{
    return cu_grid(tiles, per_sm * (n_spans <= LIST_SHORT ? 16 : 1));
}

/* SPAN: a struct with span_length(), such as vec_span or vec_out. */
template <class SPAN> struct span_list {
    SPAN span[LIST_SPANS];
    uint64_t end[LIST_SPANS]; /* end[i]: tiles of spans 0 to i */
    uint64_t warp[32];        /* scratch of the prefix sum */
};

/* padded: count codes, not floats. */
static __device__ inline size_t span_length(const struct vec_span *span, bool padded)
{
    return padded ? span->padded : span->n;
}
static __device__ inline size_t span_length(const struct vec_out *span, bool)
{
    return span->n;
}

/* Copies a span to shared memory, without absmax: other blocks may already write to it. */
template <class SPAN> static __device__ inline void span_copy(SPAN *to, const SPAN *from)
{
    *to = *from;
}
static __device__ inline void span_copy(struct vec_span *to, const struct vec_span *from)
{
    to->x = from->x;
    to->type = from->type;
    to->codes = from->codes;
    to->n = from->n;
    to->padded = from->padded;
    to->at = from->at;
    to->key = from->key;
    to->shift = from->shift;
    to->group = from->group;
    to->exponents = from->exponents;
}
static __device__ inline void span_copy(struct signs_span *to, const struct signs_span *from)
{
    to->x = from->x;
    to->type = from->type;
    to->codes = from->codes;
    to->n = from->n;
    to->padded = from->padded;
    to->rule = from->rule;
    to->left = from->left;
}

/* Returns the number of tiles. n_spans: up to LIST_SPANS. The whole block, of at least LIST_SPANS
 * threads, calls it, after a barrier if the list was in use. */
template <class SPAN>
static __device__ inline uint64_t span_list_load(struct span_list<SPAN> *list, const SPAN *spans,
                                                 int n_spans, bool padded, uint32_t tile)
{
    const int i = (int)threadIdx.x, lane = i % 32;
    uint64_t tiles = 0;
    if (i < n_spans) {
        span_copy(&list->span[i], &spans[i]);
        const uint64_t up = span_length(&list->span[i], padded) + tile - 1;
        tiles = up >> 32 == 0 ? (uint32_t)up / tile : up / tile;
    }
    for (int by = 1; by < 32; by *= 2) {
        const uint64_t before = __shfl_up_sync(0xffffffffu, tiles, by);
        tiles += lane >= by ? before : 0;
    }
    if (lane == 31)
        list->warp[i / 32] = tiles;
    __syncthreads();
    for (int k = 0; k < i / 32; k++)
        tiles += list->warp[k];
    if (i < n_spans)
        list->end[i] = tiles;
    __syncthreads();
    return list->end[n_spans - 1];
}

template <class SPAN>
static __device__ inline int span_list_find(const struct span_list<SPAN> *list, int n_spans,
                                            uint64_t tile)
{
    int low = 0, high = n_spans - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (tile < list->end[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

template <class SPAN>
static __device__ inline uint64_t span_list_within(const struct span_list<SPAN> *list, int i,
                                                   uint64_t tile)
{
    return tile - (i > 0 ? list->end[i - 1] : 0);
}

/* The whole block calls it. shared: [32]. */
static __device__ inline void block_max_to(uint32_t *to, uint32_t value, uint32_t *shared)
{
    value = __reduce_max_sync(0xffffffffu, value);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (uint32_t i = 1; i < blockDim.x / 32; i++)
            value = max(value, shared[i]);
        if (value > 0)
            atomicMax(to, value);
    }
    __syncthreads();
}

struct span_max {
    int now; /* the span of `largest`; -1: none yet */
    uint32_t largest;
};

/* Store the present span's maximum, then move to span i; -1: to the end. The whole block calls it.
 * shared: [32]. */
template <class SPAN>
static __device__ inline void span_max_at(struct span_max *m, int i, SPAN *spans, uint32_t *shared)
{
    if (i != m->now && m->now >= 0)
        block_max_to(&spans[m->now].absmax, m->largest, shared), m->largest = 0;
    m->now = i;
}

#endif
