/* signs_column.cuh : finds a column of a vector of signs, and encodes it by one thread. Columns of
 * up to 16 elements stay in registers between means and signs; others are read twice. */
#ifndef SIGNS_COLUMN_CUH
#define SIGNS_COLUMN_CUH
#include "device/vec/levels_item.cuh"

enum { FEW = 4, SOME = 16 /* elements of a thread's column in registers */ };

enum signs_from { FROM_FLOATS, FROM_HALVES, FROM_PARTS };

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

/* ---- level_add(), in one instruction per bound ---- */

CAST_FN float at_most(float sum, float most = LEVEL_FLT_MAX)
{
#ifdef __CUDA_ARCH__
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(sum) : "f"(most));
    return sum;
#else
    return sum > most ? most : sum;
#endif
}
CAST_FN float at_least(float sum, float least = -LEVEL_FLT_MAX)
{
#ifdef __CUDA_ARCH__
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(sum) : "f"(least));
    return sum;
#else
    return sum < least ? least : sum;
#endif
}
CAST_FN float add(float a, float b, float most = LEVEL_FLT_MAX)
{
    return at_most(at_least(a + b, -most), most);
}

/* Keeps the compiler from moving loads to their first uses, where each would wait in turn. */
template <int K> CAST_FN void loads_here(const float x[K], const float was[K])
{
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int i = 0; i < K; i++)
        asm volatile("" ::"f"(x[i]), "f"(was[i]));
#else
    (void)x, (void)was;
#endif
}

/* Without a residual, adding NO_LEFT with left_most() as the bound changes nothing. A branch would
 * wait for the loads before it. */
#define NO_LEFT -0.0f
CAST_FN float left_most(const struct signs_left *left)
{
    return left->was ? LEVEL_FLT_MAX : __uint_as_float(0x7f800000u);
}

/* ---- columns ---- */

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
    if (begin + r->column * stride <= n)
        c.n = r->column;
    else if (c.there && c.first < n)
        c.n = stride == 1 ? n - c.first : quotient(n - c.first + stride - 1, stride);
    c.codes = codes + number * signs_column_bytes(r);
    return c;
}

CAST_FN uint32_t magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffffu;
}

/* Not inlined: unaligned words are rare, and aligned ones would wait for its 20 instructions. */
CAST_APART void bytes_put(uint8_t *to, uint32_t word)
{
    cast_store_bytes(to, word, 4);
}
CAST_FN void signs_word(uint8_t *to, uint32_t word)
{
    if ((uintptr_t)to % 4 == 0)
        *(uint32_t *)to = word;
    else
        bytes_put(to, word);
}

/* ---- a thread per column ---- */

/* Loads elements [at, at + K) of a column, 0 after its end. at: a multiple of K. Loads of floats
 * are made before the first use. Returns the largest magnitude of x, or `largest`. */
template <enum signs_from FROM, int K>
CAST_FN uint32_t thread_fetch(const struct signs_span *s, const struct signs_parts *p,
                              const struct signs_column *c, size_t at, float v[K], uint32_t largest)
{
    const enum vec_type type = FROM == FROM_HALVES ? VEC_HALF : VEC_FLOAT;
    const size_t stride = s->rule.stride, e = c->first + at * stride;
    const int n = c->n > at ? (int)min(c->n - at, (size_t)K) : 0;
    const int n_left = s->left.was ? n : 0;
    float was[K];
#pragma unroll
    for (int j = 0; j < K; j++)
        v[j] = FROM != FROM_PARTS && j < n ? element_get(s->x, type, e + j * stride) : 0;
#pragma unroll
    for (int j = 0; j < K; j++)
        was[j] = j < n_left ? s->left.was[e + j * stride] : NO_LEFT;
    loads_here<K>(v, was);
    for (int k = 0; FROM == FROM_PARTS && k < p->n; k++) {
        const uint8_t *from = p->parts[k] + (c->codes - p->base);
        const float plus = __uint_as_float(word_get(from)),
                    minus = __uint_as_float(word_get(from + 4));
        const uint32_t signs = word_get(from + 8 + at / 32 * 4) >> at % 32;
#pragma unroll
        for (int j = 0; j < K; j++)
            v[j] = j < n ? add(v[j], signs >> j & 1 ? minus : plus) : 0;
    }
#pragma unroll
    for (int j = 0; j < K; j++) {
        largest = max(largest, magnitude(v[j]));
        v[j] = add(v[j], was[j], left_most(&s->left));
    }
    return largest;
}

/* Returns the signs. */
template <int K>
CAST_FN uint32_t thread_leave(const struct signs_span *s, const struct signs_column *c, size_t at,
                              const float v[K], float plus, float minus)
{
    const size_t stride = s->rule.stride, e = c->first + at * stride;
    const int n = c->n > at ? (int)min(c->n - at, (size_t)K) : 0;
    uint32_t signs = 0;
#pragma unroll
    for (int j = 0; j < K; j++) {
        signs |= (uint32_t)(v[j] < 0) << j;
        if (s->left.next && j < n)
            s->left.next[e + j * stride] = v[j] - (v[j] < 0 ? minus : plus);
    }
    return signs;
}

/* level_join() of both lanes[K], if the other lanes are zeros. */
template <int K> CAST_FN void thread_join(float plus[K], float minus[K])
{
#pragma unroll
    for (int apart = K / 2; apart > 0; apart /= 2)
#pragma unroll
        for (int j = 0; j < K / 2; j++)
            if (j < apart) {
                plus[j] = at_most(plus[j] + plus[j + apart]);
                minus[j] = at_least(minus[j] + minus[j + apart]);
            }
}

/* A column of up to K elements, with one word of signs. */
template <enum signs_from FROM, int K>
CAST_FN uint32_t encode_kept(const struct signs_span *s, const struct signs_parts *p,
                             const struct signs_column *c, uint32_t largest)
{
    float v[K], plus[K], minus[K];
    uint32_t n_minus = 0;
    largest = thread_fetch<FROM, K>(s, p, c, 0, v, largest);
#pragma unroll
    for (int j = 0; j < K; j++) {
        plus[j] = at_most((v[j] < 0 ? 0 : v[j]) + 0.0f); /* no -0, as in a sum from 0 on */
        minus[j] = at_least(v[j] < 0 ? v[j] : 0);
        n_minus += v[j] < 0;
    }
    thread_join<K>(plus, minus);
    const float q_plus = level_mean(plus[0], (uint32_t)c->n - n_minus),
                q_minus = level_mean(minus[0], n_minus);
    signs_word(c->codes, __float_as_uint(q_plus));
    signs_word(c->codes + 4, __float_as_uint(q_minus));
    signs_word(c->codes + 8, thread_leave<K>(s, c, 0, v, q_plus, q_minus));
    return largest;
}

template <enum signs_from FROM>
CAST_FN uint32_t encode_thread(const struct signs_span *s, const struct signs_parts *p,
                               const struct signs_column *c, uint32_t largest)
{
    float v[FEW], plus[LEVEL_LANES], minus[LEVEL_LANES];
    uint32_t n_minus = 0, signs = 0;
#pragma unroll
    for (int k = 0; k < LEVEL_LANES; k++)
        plus[k] = minus[k] = 0;
    for (size_t at = 0; at < c->n; at += LEVEL_LANES)
#pragma unroll
        for (int k = 0; k < LEVEL_LANES; k++) {
            if (k % FEW == 0)
                largest = thread_fetch<FROM, FEW>(s, p, c, at + k, v, largest);
            plus[k] = at_most(plus[k] + (v[k % FEW] < 0 ? 0 : v[k % FEW]));
            minus[k] = at_least(minus[k] + (v[k % FEW] < 0 ? v[k % FEW] : 0));
            n_minus += v[k % FEW] < 0;
        }
    thread_join<LEVEL_LANES>(plus, minus);
    const float q_plus = level_mean(plus[0], (uint32_t)c->n - n_minus),
                q_minus = level_mean(minus[0], n_minus);
    signs_word(c->codes, __float_as_uint(q_plus));
    signs_word(c->codes + 4, __float_as_uint(q_minus));
    for (size_t at = 0; at < s->rule.column; at += FEW) {
        thread_fetch<FROM, FEW>(s, p, c, at, v, 0);
        signs |= thread_leave<FEW>(s, c, at, v, q_plus, q_minus) << at % 32;
        if (at % 32 == 32 - FEW || at + FEW >= s->rule.column) {
            signs_word(c->codes + 8 + at / 32 * 4, signs);
            signs = 0;
        }
    }
    return largest;
}

template <enum signs_from FROM>
CAST_FN uint32_t encode_column(const struct signs_span *s, const struct signs_parts *p,
                               size_t thread, uint32_t largest)
{
    const struct signs_column c = column_at(&s->rule, s->n, s->padded, thread, s->codes);
    if (!c.there)
        return largest;
    return s->rule.column <= FEW    ? encode_kept<FROM, FEW>(s, p, &c, largest)
           : s->rule.column <= SOME ? encode_kept<FROM, SOME>(s, p, &c, largest)
                                    : encode_thread<FROM>(s, p, &c, largest);
}

#endif
