/* signs.cu : encodes, sums and decodes a list of vectors as signs and two means per column, with
 * the bits and 16 lanes of level.h.
 *
 *     encode, stride 1   half a warp per column; lane k has elements k, k + 16, ...
 *     decode, stride 1   a warp per batch of columns, four neighbouring elements per lane
 *     else               a thread per column, beside neighbouring columns
 *
 * So reads are whole sectors of 32 bytes. Half a warp stores up to 64 bytes of codes at once, as
 * they may be across the bus. Columns of up to 64 (stride 1) or 16 elements stay in registers
 * between means and signs; others are read twice. */
#include "device/vec/cast_list.cuh"
#include "device/vec/levels_item.cuh"
#include "device/vec/vec.cuh"

enum {
    THREADS = 256,
    PER_SM = 32,            /* blocks, one after another: neighbours in memory run together */
    KEPT = 4,               /* elements of a lane in registers */
    BLOCK = 16 * KEPT,      /* elements of half a warp in registers */
    BATCH = 16,             /* most columns of a warp that decodes: one mean per lane */
    BATCH_ELEMS = 1024,     /* of a batch, unless a column is longer */
    ENCODE_TILE = THREADS / 16 * 2 * BLOCK,
    DECODE_TILE = THREADS / 32 * BATCH_ELEMS,
    FEW = 4, SOME = 16,     /* elements of a thread's column in registers */
};

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

CAST_FN float at_most(float sum)
{
#ifdef __CUDA_ARCH__
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(sum) : "f"(LEVEL_FLT_MAX));
    return sum;
#else
    return sum > LEVEL_FLT_MAX ? LEVEL_FLT_MAX : sum;
#endif
}
CAST_FN float at_least(float sum)
{
#ifdef __CUDA_ARCH__
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(sum) : "f"(-LEVEL_FLT_MAX));
    return sum;
#else
    return sum < -LEVEL_FLT_MAX ? -LEVEL_FLT_MAX : sum;
#endif
}
CAST_FN float add(float a, float b)
{
    return at_most(at_least(a + b));
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

/* Not inlined: bytes are rare, and 20 instructions that all words would wait for. */
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

/* ---- half a warp per column, in blocks of BLOCK elements ---- */

struct half_block {
    float x[KEPT], was[KEPT]; /* elements 16 apart, 0 after the column's end */
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

/* Only loads (but for parts), so that the loads of several blocks overlap. at: of the block. */
template <bool SUMS>
CAST_FN void half_fetch(const struct signs_span *s, const struct signs_parts *p,
                        const struct signs_column *c, size_t at, struct half_block *b)
{
    const size_t from = at + threadIdx.x % LEVEL_LANES;
    b->e = c->first + from;
    b->n = from < c->n ? (uint32_t)min(c->n - from, (size_t)BLOCK) : 0;
#pragma unroll
    for (int i = 0; i < KEPT; i++)
        b->x[i] = b->was[i] = 0;
    if (SUMS)
        half_add_parts(s, p, c, at, b);
    else if (s->type == VEC_HALF)
#pragma unroll
        for (int i = 0; i < KEPT; i++)
            b->x[i] = 16 * i < b->n ? element_get(s->x, VEC_HALF, b->e + 16 * i) : 0;
    else
#pragma unroll
        for (int i = 0; i < KEPT; i++)
            b->x[i] = 16 * i < b->n ? element_get(s->x, VEC_FLOAT, b->e + 16 * i) : 0;
    if (s->left.was)
#pragma unroll
        for (int i = 0; i < KEPT; i++)
            b->was[i] = 16 * i < b->n ? s->left.was[b->e + 16 * i] : 0;
}

/* Adds the residual to x. Returns the largest magnitude of x before, or `largest`. */
CAST_FN uint32_t half_values(const struct signs_span *s, struct half_block *b, uint32_t largest)
{
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        largest = max(largest, magnitude(b->x[i]));
        b->x[i] = s->left.was ? add(b->x[i], b->was[i]) : b->x[i];
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
    if (s->left.next)
#pragma unroll
        for (int i = 0; i < KEPT; i++)
            if (16 * i < b->n)
                s->left.next[b->e + 16 * i] = b->x[i] - (b->x[i] < 0 ? q.y : q.x);
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

/* Computes, but does not store, a column after the vector's end, as the warp's other half may be
 * inside. Returns this lane's largest magnitude of x, or `largest`. */

template <bool SUMS>
CAST_FN uint32_t encode_long(const struct signs_span *s, const struct signs_parts *p,
                             const struct signs_column *c, uint32_t largest)
{
    struct half_sums sums = {0, 0, 0};
    struct half_block b;
#pragma unroll 2
    for (size_t at = 0; at < s->rule.column; at += BLOCK) {
        half_fetch<SUMS>(s, p, c, at, &b);
        largest = half_values(s, &b, largest);
        half_add(&sums, &b, half_signs(&b));
    }
    const float2 q = half_means(&sums, (uint32_t)c->n);
    uint32_t words = __float_as_uint(threadIdx.x % LEVEL_LANES == 0 ? q.x : q.y);
#pragma unroll 2
    for (size_t at = 0; at < s->rule.column; at += BLOCK) {
        half_fetch<SUMS>(s, p, c, at, &b);
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

/* Returns short column number + apart. A difference of sizes may be negative. */
CAST_FN struct signs_column short_at(const struct signs_span *s, size_t number, uint32_t apart)
{
    const uint32_t column = (uint32_t)s->rule.column, bytes = column > 32 ? 16 : 12;
    const size_t first = number * column;
    const int most = 1 << 20, skip = (int)(apart * column),
              left = (int)min((int64_t)(s->n - first), (int64_t)most) - skip,
              all = (int)min((int64_t)(s->padded - first), (int64_t)most) - skip;
    struct signs_column c;
    c.first = first + apart * column;
    c.n = (uint32_t)max(min(left, (int)column), 0);
    c.codes = s->codes + number * bytes + apart * bytes;
    c.there = all > 0;
    return c;
}

/* thread: counted from the span's beginning. A warp has four neighbouring short columns; half a
 * warp loads two of them at once. */
template <bool SUMS>
CAST_FN uint32_t encode_half(const struct signs_span *s, const struct signs_parts *p, size_t thread,
                             uint32_t largest)
{
    const size_t half = thread / LEVEL_LANES;
    if (s->rule.column > BLOCK) {
        const struct signs_column c = column_at(&s->rule, s->n, s->padded, half, s->codes);
        return encode_long<SUMS>(s, p, &c, largest);
    }
    const size_t number = half / 2 * 4 + half % 2;
    const struct signs_column c = short_at(s, number, 0), d = short_at(s, number, 2);
    struct half_block b, e;
    half_fetch<SUMS>(s, p, &c, 0, &b);
    half_fetch<SUMS>(s, p, &d, 0, &e);
    return encode_short(s, &d, &e, encode_short(s, &c, &b, largest));
}

/* ---- a thread per column ---- */

/* Loads elements [at, at + K) of a column, 0 after its end. at: a multiple of K. All loads are made
 * before the first use. Returns the largest magnitude of x, or `largest`. */
template <bool SUMS, int K>
CAST_FN uint32_t thread_fetch(const struct signs_span *s, const struct signs_parts *p,
                              const struct signs_column *c, size_t at, float v[K], uint32_t largest)
{
    const size_t stride = s->rule.stride, e = c->first + at * stride;
    const int n = c->n > at ? (int)min(c->n - at, (size_t)K) : 0;
    float was[K];
#pragma unroll
    for (int j = 0; j < K; j++)
        v[j] = was[j] = 0;
    if (!SUMS && s->type == VEC_HALF)
#pragma unroll
        for (int j = 0; j < K; j++)
            v[j] = j < n ? element_get(s->x, VEC_HALF, e + j * stride) : 0;
    else if (!SUMS)
#pragma unroll
        for (int j = 0; j < K; j++)
            v[j] = j < n ? element_get(s->x, VEC_FLOAT, e + j * stride) : 0;
    if (s->left.was)
#pragma unroll
        for (int j = 0; j < K; j++)
            was[j] = j < n ? s->left.was[e + j * stride] : 0;
    for (int k = 0; SUMS && k < p->n; k++) {
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
        v[j] = s->left.was ? add(v[j], was[j]) : v[j];
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
template <bool SUMS, int K>
CAST_FN uint32_t encode_kept(const struct signs_span *s, const struct signs_parts *p,
                             const struct signs_column *c, uint32_t largest)
{
    float v[K], plus[K], minus[K];
    uint32_t n_minus = 0;
    largest = thread_fetch<SUMS, K>(s, p, c, 0, v, largest);
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

template <bool SUMS>
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
                largest = thread_fetch<SUMS, FEW>(s, p, c, at + k, v, largest);
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
        thread_fetch<SUMS, FEW>(s, p, c, at, v, 0);
        signs |= thread_leave<FEW>(s, c, at, v, q_plus, q_minus) << at % 32;
        if (at % 32 == 32 - FEW || at + FEW >= s->rule.column) {
            signs_word(c->codes + 8 + at / 32 * 4, signs);
            signs = 0;
        }
    }
    return largest;
}

template <bool SUMS>
CAST_FN uint32_t encode_column(const struct signs_span *s, const struct signs_parts *p,
                               size_t thread, uint32_t largest)
{
    const struct signs_column c = column_at(&s->rule, s->n, s->padded, thread, s->codes);
    if (!c.there)
        return largest;
    return s->rule.column <= FEW    ? encode_kept<SUMS, FEW>(s, p, &c, largest)
           : s->rule.column <= SOME ? encode_kept<SUMS, SOME>(s, p, &c, largest)
                                    : encode_thread<SUMS>(s, p, &c, largest);
}

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
            const float4 v = make_float4(
                signs[i] & 1 ? minus[i] : plus[i], signs[i] & 2 ? minus[i] : plus[i],
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
            found.largest = s.rule.stride == 1
                                ? encode_half<SUMS>(&s, &p, thread, found.largest)
                                : encode_column<SUMS>(&s, &p, thread, found.largest);
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
static unsigned grid_for(size_t n_elems, int n_spans, size_t tile)
{
    const size_t most = (size_t)cu_n_sms() * PER_SM, want = n_elems / tile + (size_t)n_spans;
    return (unsigned)(want < most ? want : most);
}

int vec_gpu_signs_encode(struct signs_span *spans, int n_spans, size_t n_elems,
                         struct dev_stream *s)
{
    const struct signs_parts none = {NULL, 0, NULL};
    if (n_spans <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_spans, ENCODE_TILE);
    k_signs_encode<false><<<grid, THREADS, 0, cu_stream(s)>>>(spans, n_spans, none);
    return cu_check("signs");
}

int vec_gpu_signs_sum(const uint8_t *const *parts, int n_parts, struct signs_span *spans,
                      int n_spans, size_t n_elems, const uint8_t *base, struct dev_stream *s)
{
    const struct signs_parts p = {parts, n_parts, base};
    if (n_spans <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_spans, ENCODE_TILE);
    k_signs_encode<true><<<grid, THREADS, 0, cu_stream(s)>>>(spans, n_spans, p);
    return cu_check("sums of signs");
}

int vec_gpu_signs_decode(float divisor, const struct signs_out *outs, int n_outs, size_t n_elems,
                         struct dev_stream *s)
{
    if (n_outs <= 0)
        return 0;
    const unsigned grid = grid_for(n_elems, n_outs, DECODE_TILE);
    k_signs_decode<<<grid, THREADS, 0, cu_stream(s)>>>(outs, n_outs, divisor);
    return cu_check("signs to floats");
}
