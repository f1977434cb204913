/* signs_half.cuh : encodes columns of consecutive elements as signs, each by half a warp.
 *
 *     lane k has elements k, k + 16, ...    so reads are whole sectors of 32 bytes
 *
 * Half a warp stores up to 64 bytes of codes at once, as they may be across the bus. Columns of up
 * to 64 elements stay in registers between means and signs; others are read twice. */
#ifndef SIGNS_HALF_CUH
#define SIGNS_HALF_CUH
#include "device/vec/signs_column.cuh"

enum {
    KEPT = 4,          /* elements of a lane in registers */
    BLOCK = 16 * KEPT, /* elements of half a warp in registers */
};

struct half_block {
    float x[KEPT], was[KEPT]; /* elements 16 apart; after the column's end, 0 and NO_LEFT */
    size_t e;                 /* of x[0] in the vector */
    uint32_t n;               /* x[i] is an element if 16 * i < n */
};

CAST_FN float from_lane(uint32_t words, int lane)
{
    return __uint_as_float(__shfl_sync(LEVELS_ALL, words, lane, LEVEL_LANES));
}

/* The lanes read a part's means and its words of a block at once, as they may be across the bus. */
CAST_FN void half_add_parts(const struct signs_span *s, const struct signs_parts *p,
                            const struct signs_column *c, size_t at, struct half_block *b)
{
    const uint32_t lane = threadIdx.x % LEVEL_LANES;
    const size_t word = lane < 2 ? lane : at / 32 + lane;
    const bool in = c->there && lane < 4 && 4 * word < signs_column_bytes(&s->rule);
    for (int k = 0; k < p->n; k++) {
        const uint8_t *from = p->parts[k] + (c->codes - p->base);
        const uint32_t words = in ? word_get(from + 4 * word) : 0;
        const float plus = from_lane(words, 0), minus = from_lane(words, 1);
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const uint32_t signs = __float_as_uint(from_lane(words, 2 + i / 2));
            const float value = signs >> (16 * (i % 2) + lane) & 1 ? minus : plus;
            b->x[i] = 16 * i < b->n ? add(b->x[i], value) : 0;
        }
    }
}

/* Only loads, except from parts, so that the loads of several blocks overlap. at: of the block. */
template <enum signs_from FROM>
CAST_FN void half_fetch(const struct signs_span *s, const struct signs_parts *p,
                        const struct signs_column *c, size_t at, struct half_block *b)
{
    const enum vec_type type = FROM == FROM_HALVES ? VEC_HALF : VEC_FLOAT;
    const size_t from = at + threadIdx.x % LEVEL_LANES;
    b->e = c->first + from;
    b->n = from < c->n ? (uint32_t)min(c->n - from, (size_t)BLOCK) : 0;
    const uint32_t n_left = s->left.was ? b->n : 0;
    const float *const was = s->left.was + b->e; /* one address for all loads */
#pragma unroll
    for (int i = 0; i < KEPT; i++)
        b->x[i] = FROM != FROM_PARTS && 16 * i < b->n ? element_get(s->x, type, b->e + 16 * i) : 0;
#pragma unroll
    for (int i = 0; i < KEPT; i++)
        b->was[i] = 16 * i < n_left ? was[16 * i] : NO_LEFT;
    if (FROM == FROM_PARTS)
        half_add_parts(s, p, c, at, b);
}

/* Adds the residual to x. Returns the largest magnitude of x before, or `largest`. */
CAST_FN uint32_t half_values(const struct signs_span *s, struct half_block *b, uint32_t largest)
{
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        largest = max(largest, magnitude(b->x[i]));
        b->x[i] = add(b->x[i], b->was[i], left_most(&s->left));
    }
    return largest;
}

/* The two words of a block. */
CAST_FN uint2 half_signs(const struct half_block *b)
{
    const uint32_t pick = threadIdx.x & 16 ? 0x7632u : 0x5410u;
    uint32_t both[KEPT];
#pragma unroll
    for (int i = 0; i < KEPT; i++)
        both[i] = __ballot_sync(LEVELS_ALL, b->x[i] < 0);
    return make_uint2(__byte_perm(both[0], both[1], pick), __byte_perm(both[2], both[3], pick));
}

struct half_sums {
    float plus, minus;
    uint32_t n_minus;
};

/* The sum of numbers that are not negative is at least 0. */
CAST_FN void half_add(struct half_sums *s, const struct half_block *b, uint2 signs)
{
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const float v = b->x[i];
        if (v < 0)
            s->minus = at_least(s->minus + v);
        else
            s->plus = at_most(s->plus + v);
    }
    s->n_minus += (uint32_t)(__popc(signs.x) + __popc(signs.y));
}

/* Returns the means {plus, minus}. Lanes 0 to 7 join the plus of level_join(), 8 to 15 the minus;
 * addition commutes. */
CAST_FN float2 half_means(const struct half_sums *s, uint32_t n)
{
    const bool low = threadIdx.x % LEVEL_LANES < LEVEL_LANES / 2;
    float sum = low ? s->plus : s->minus;
    sum = add(sum, __shfl_xor_sync(LEVELS_ALL, low ? s->minus : s->plus, LEVEL_LANES / 2));
#pragma unroll
    for (int apart = LEVEL_LANES / 4; apart > 0; apart /= 2)
        sum = add(sum, __shfl_xor_sync(LEVELS_ALL, sum, apart));
    const uint32_t mean = __float_as_uint(level_mean(sum, low ? n - s->n_minus : s->n_minus));
    return make_float2(from_lane(mean, 0), from_lane(mean, LEVEL_LANES / 2));
}

CAST_FN void half_leave(const struct signs_span *s, const struct half_block *b, float2 q)
{
    const uint32_t n = s->left.next ? b->n : 0;
    float *const next = s->left.next + b->e;
#pragma unroll
    for (int i = 0; i < KEPT; i++)
        if (16 * i < n)
            next[16 * i] = b->x[i] - (b->x[i] < 0 ? q.y : q.x);
}

/* Lane k of the half warp collects word k of each 16 in *words, then all store. The means are words
 * 0 and 1, the block's are at / 32 + 2 and the next. */
CAST_FN void half_put(const struct signs_rule *r, const struct signs_column *c, size_t at,
                      uint2 signs, uint32_t *words)
{
    const uint32_t lane = threadIdx.x % LEVEL_LANES;
    const size_t word = at / 32 + 2, n_words = (r->column + 31) / 32 + 2;
    const uint32_t which = (uint32_t)word % LEVEL_LANES;
    *words = lane == which ? signs.x : lane == which + 1 ? signs.y : *words;
    if (which + 2 < LEVEL_LANES && word + 2 < n_words)
        return;
    const size_t mine = word - which + lane;
    if (c->there && mine < word + 2 && mine < n_words)
        signs_word(c->codes + 4 * mine, *words);
}

/* Both functions below compute, but do not store, a column after the vector's end, as the warp's
 * other half may be inside. They return this lane's largest magnitude of x, or `largest`. */

template <enum signs_from FROM>
CAST_FN uint32_t encode_long(const struct signs_span *s, const struct signs_parts *p,
                             const struct signs_column *c, uint32_t largest)
{
    struct half_sums sums = {0, 0, 0};
    struct half_block b;
#pragma unroll 2
    for (size_t at = 0; at < s->rule.column; at += BLOCK) {
        half_fetch<FROM>(s, p, c, at, &b);
        loads_here<KEPT>(b.x, b.was);
        largest = half_values(s, &b, largest);
        half_add(&sums, &b, half_signs(&b));
    }
    const float2 q = half_means(&sums, (uint32_t)c->n);
    uint32_t words = __float_as_uint(threadIdx.x % LEVEL_LANES == 0 ? q.x : q.y);
#pragma unroll 2
    for (size_t at = 0; at < s->rule.column; at += BLOCK) {
        half_fetch<FROM>(s, p, c, at, &b);
        loads_here<KEPT>(b.x, b.was);
        half_values(s, &b, 0);
        half_leave(s, &b, q);
        half_put(&s->rule, c, at, half_signs(&b), &words);
    }
    return largest;
}

/* A column of up to BLOCK elements, after half_fetch(). */
CAST_FN uint32_t encode_short(const struct signs_span *s, const struct signs_column *c,
                              struct half_block *b, uint32_t largest)
{
    const uint32_t lane = threadIdx.x % LEVEL_LANES;
    struct half_sums sums = {0, 0, 0};
    largest = half_values(s, b, largest);
    const uint2 signs = half_signs(b);
    half_add(&sums, b, signs);
    const float2 q = half_means(&sums, (uint32_t)c->n);
    half_leave(s, b, q);
    const uint32_t mean = __float_as_uint(lane == 0 ? q.x : q.y);
    if (c->there && lane < (s->rule.column > 32 ? 4 : 3))
        signs_word(c->codes + 4 * lane, lane < 2 ? mean : lane == 2 ? signs.x : signs.y);
    return largest;
}

/* Returns the short column `number` + apart, in 32-bit arithmetic where it can. */
CAST_FN struct signs_column short_at(const struct signs_span *s, size_t number, uint32_t apart)
{
    const uint32_t column = (uint32_t)s->rule.column, bytes = column > 32 ? 16 : 12;
    const size_t first = number * column;
    const uint32_t skip = apart * column, enough = skip + column,
                   left = first < s->n ? (uint32_t)min(s->n - first, (size_t)enough) : 0;
    struct signs_column c;
    c.first = first + skip;
    c.n = left > skip ? left - skip : 0;
    c.codes = s->codes + number * bytes + apart * bytes;
    c.there = c.first < s->padded;
    return c;
}

/* thread: counted from the span's beginning. A warp has four neighbouring short columns; half a
 * warp loads two of them at once. */
template <enum signs_from FROM>
CAST_FN uint32_t encode_half(const struct signs_span *s, const struct signs_parts *p, size_t thread,
                             uint32_t largest)
{
    const size_t half = thread / LEVEL_LANES;
    if (s->rule.column > BLOCK) {
        const struct signs_column c = column_at(&s->rule, s->n, s->padded, half, s->codes);
        return encode_long<FROM>(s, p, &c, largest);
    }
    const size_t number = half / 2 * 4 + half % 2;
    const struct signs_column c = short_at(s, number, 0), d = short_at(s, number, 2);
    struct half_block b, e;
    half_fetch<FROM>(s, p, &c, 0, &b);
    half_fetch<FROM>(s, p, &d, 0, &e);
    loads_here<KEPT>(b.x, b.was);
    loads_here<KEPT>(e.x, e.was);
    return encode_short(s, &d, &e, encode_short(s, &c, &b, largest));
}

#endif
