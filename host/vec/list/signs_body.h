/* signs_body.h : converts signs and means of columns in loops that compilers vectorise. */
#ifndef SIGNS_BODY_H
#define SIGNS_BODY_H
#include "vec/fp_mode.h"
#include "vec/list/levels_pack.h"
#include "vec/list/vec_signs.h"

/* ---- adjacent columns of up to 16 elements, in loops along the rows: with at most one element
 * per lane, row j is lane j ---- */

enum { SIGNS_SHORT = LEVEL_LANES, SIGNS_BESIDE = 64 };

/* codes of adjacent columns, unpacked */
struct signs_beside {
    float plus[SIGNS_BESIDE], minus[SIGNS_BESIDE];
    uint32_t negative[SIGNS_BESIDE]; /* bit j: element j is negative */
};

/* of a column: two means and one word of signs */
enum { SIGNS_SHORT_BYTES = 12 };

static inline void signs_beside_get(const uint8_t *codes, size_t k, struct signs_beside *s)
{
    for (size_t c = 0; c < k; c++) {
        s->plus[c] = levels_float(codes + SIGNS_SHORT_BYTES * c);
        s->minus[c] = levels_float(codes + SIGNS_SHORT_BYTES * c + 4);
        s->negative[c] = levels_bits(codes + SIGNS_SHORT_BYTES * c + 8);
    }
}

static inline void signs_beside_put(const struct signs_beside *s, size_t k, uint8_t *codes)
{
    for (size_t c = 0; c < k; c++) {
        memcpy(codes + SIGNS_SHORT_BYTES * c, &s->plus[c], 4);
        memcpy(codes + SIGNS_SHORT_BYTES * c + 4, &s->minus[c], 4);
        memcpy(codes + SIGNS_SHORT_BYTES * c + 8, &s->negative[c], 4);
    }
}

static inline void signs_beside_add(const struct signs_beside *s, size_t j, size_t k, float *v)
{
    for (size_t c = 0; c < k; c++)
        v[c] = level_add(v[c], s->negative[c] >> j & 1 ? s->minus[c] : s->plus[c]);
}

/* Adds rows (lanes) into the first one, in the order of level_join(). */
static inline void signs_beside_join(size_t column, size_t k, float v[SIGNS_SHORT][SIGNS_BESIDE])
{
    for (size_t half = SIGNS_SHORT / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half && j + half < column; j++)
            for (size_t c = 0; c < k; c++)
                v[j][c] = level_add(v[j][c], v[j + half][c]);
}

static inline void signs_beside_make(size_t column, size_t k, float v[SIGNS_SHORT][SIGNS_BESIDE],
                                     struct signs_beside *s)
{
    float plus[SIGNS_SHORT][SIGNS_BESIDE], minus[SIGNS_SHORT][SIGNS_BESIDE];
    uint32_t n_minus[SIGNS_BESIDE] = {0};
    memset(s->negative, 0, sizeof s->negative);
    for (size_t j = 0; j < column; j++)
        for (size_t c = 0; c < k; c++) {
            const float x = v[j][c];
            plus[j][c] = (x < 0.0f ? 0.0f : x) + 0.0f; /* no -0, as in a sum that begins with 0 */
            minus[j][c] = x < 0.0f ? x : 0.0f;
            n_minus[c] += x < 0.0f;
            s->negative[c] |= (uint32_t)(x < 0.0f) << j;
        }
    signs_beside_join(column, k, plus);
    signs_beside_join(column, k, minus);
    for (size_t c = 0; c < k; c++) {
        s->plus[c] = level_mean(plus[0][c], (uint32_t)column - n_minus[c]);
        s->minus[c] = level_mean(minus[0][c], n_minus[c]);
    }
}

/* elements of a vector: x or a sum of parts, plus the residual */
struct signs_from {
    const float *x; /* NULL: a sum of parts */
    const uint8_t *const *parts;
    int n_parts;
    size_t skip;
    struct signs_left left;
};

/* elements first, first + stride, ...; codes from byte `place` on */
struct signs_column {
    size_t first, stride, n, place;
};

static inline struct signs_column signs_column_at(const struct signs_rule *r, size_t n, size_t i)
{
    const size_t first = i / r->stride * r->column * r->stride + i % r->stride,
                 left = first < n ? (n - first + r->stride - 1) / r->stride : 0;
    return (struct signs_column){.first = first,
                                 .stride = r->stride,
                                 .n = levels_less(left, r->column),
                                 .place = i * signs_column_bytes(r)};
}

/* Whole words of 32 signs are also whole groups of LEVEL_LANES. */
static inline size_t signs_up(size_t k)
{
    return (k + 31) / 32 * 32;
}

/* v: elements [i, i + k) of the column, then zeros up to signs_up(k) */
static inline void signs_fill(const struct signs_from *f, const struct signs_column *c, size_t i,
                              size_t k, float *v)
{
    const size_t e = c->first + i * c->stride;
    uint32_t negative[LEVELS_BLOCK];
    if (c->stride == 1 && f->x)
        levels_ahead(f->x + e, k);
    if (c->stride == 1 && f->left.was)
        levels_ahead(f->left.was + e, k);
    for (size_t j = 0; j < k; j++)
        v[j] = f->x ? f->x[e + j * c->stride] : 0.0f;
    for (int p = 0; p < f->n_parts; p++) {
        const uint8_t *from = f->parts[p] + f->skip + c->place;
        const float plus = levels_float(from), minus = levels_float(from + sizeof plus);
        levels_unpack(1, from + 2 * sizeof plus + i / 8, signs_up(k), negative);
        for (size_t j = 0; j < k; j++)
            v[j] = level_add(v[j], negative[j] ? minus : plus);
    }
    for (size_t j = 0; j < k && f->left.was; j++)
        v[j] = level_add(v[j], f->left.was[e + j * c->stride]);
    for (size_t j = k; j < signs_up(k); j++)
        v[j] = 0.0f;
}

struct signs_means {
    float plus, minus;
};

/* per lane: sum of the values that are not negative; sum and number of the negative ones */
struct signs_sums {
    float plus[LEVEL_LANES], minus[LEVEL_LANES];
    uint32_t n_minus[LEVEL_LANES];
};

/* n: a multiple of LEVEL_LANES */
static inline void signs_add(struct signs_sums *s, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i += LEVEL_LANES)
        for (size_t k = 0; k < LEVEL_LANES; k++) {
            const float x = v[i + k];
            s->plus[k] = level_add(s->plus[k], x < 0.0f ? 0.0f : x);
            s->minus[k] = level_add(s->minus[k], x < 0.0f ? x : 0.0f);
            s->n_minus[k] += x < 0.0f;
        }
}

static struct signs_means signs_join(struct signs_sums *s, size_t n)
{
    uint32_t n_minus = 0;
    for (size_t k = 0; k < LEVEL_LANES; k++)
        n_minus += s->n_minus[k];
    return (struct signs_means){level_mean(level_join(s->plus), (uint32_t)n - n_minus),
                                level_mean(level_join(s->minus), n_minus)};
}

/* v[k] are elements [i, i + k) of the column. */
static inline void signs_put(const struct signs_from *f, const struct signs_column *c, size_t i,
                             size_t k, const float *v, struct signs_means q, uint8_t *codes)
{
    const size_t e = c->first + i * c->stride;
    uint32_t negative[LEVELS_BLOCK];
    for (size_t j = 0; j < signs_up(k); j++)
        negative[j] = v[j] < 0.0f;
    for (size_t j = 0; j < k && f->left.next; j++)
        f->left.next[e + j * c->stride] = v[j] - (v[j] < 0.0f ? q.minus : q.plus);
    levels_pack(1, negative, signs_up(k), codes + c->place + 2 * sizeof(float) + i / 8);
}

/* A column longer than a block is read twice. */
static inline void signs_encode_column(const struct signs_from *f, const struct signs_column *c,
                                       uint8_t *codes)
{
    struct signs_sums sums = {{0}, {0}, {0}};
    float v[LEVELS_BLOCK];
    for (size_t i = 0; i < c->n; i += LEVELS_BLOCK) {
        const size_t k = levels_less(c->n - i, LEVELS_BLOCK);
        signs_fill(f, c, i, k, v);
        signs_add(&sums, v, signs_up(k));
    }
    const struct signs_means q = signs_join(&sums, c->n);
    memcpy(codes + c->place, &q.plus, sizeof q.plus);
    memcpy(codes + c->place + sizeof q.plus, &q.minus, sizeof q.minus);
    for (size_t i = 0; i < c->n; i += LEVELS_BLOCK) {
        const size_t k = levels_less(c->n - i, LEVELS_BLOCK);
        if (c->n > LEVELS_BLOCK)
            signs_fill(f, c, i, k, v);
        signs_put(f, c, i, k, v, q, codes);
    }
}

/* ---- vectors: noinline, as they run in IEEE mode (fp_mode.h) ---- */

/* The constant stride 1 gives this its own loop. */
static __attribute__((noinline)) void signs_encode_buckets(const struct signs_rule *r,
                                                           const struct signs_from *f, size_t n,
                                                           uint8_t *codes)
{
    for (size_t i = 0, all = signs_columns(r, n); i < all; i++) {
        struct signs_column c = signs_column_at(r, n, i);
        c.stride = 1;
        signs_encode_column(f, &c, codes);
    }
}

/* k adjacent whole columns in one run of `stride` columns */
static inline void signs_encode_beside(const struct signs_rule *r, const struct signs_from *f,
                                       const struct signs_column *first, size_t k, uint8_t *codes)
{
    float v[SIGNS_SHORT][SIGNS_BESIDE];
    struct signs_beside s;
    for (size_t j = 0; j < r->column; j++) {
        const size_t e = first->first + j * r->stride;
        for (size_t c = 0; c < k; c++)
            v[j][c] = f->x ? f->x[e + c] : 0.0f;
    }
    for (int p = 0; p < f->n_parts; p++) {
        signs_beside_get(f->parts[p] + f->skip + first->place, k, &s);
        for (size_t j = 0; j < r->column; j++)
            signs_beside_add(&s, j, k, v[j]);
    }
    for (size_t j = 0; j < r->column && f->left.was; j++)
        for (size_t c = 0; c < k; c++)
            v[j][c] = level_add(v[j][c], f->left.was[first->first + j * r->stride + c]);
    signs_beside_make(r->column, k, v, &s);
    for (size_t j = 0; j < r->column && f->left.next; j++)
        for (size_t c = 0; c < k; c++)
            f->left.next[first->first + j * r->stride + c] =
                v[j][c] - (v[j][c] < 0.0f ? s.minus[c] : s.plus[c]);
    signs_beside_put(&s, k, codes + first->place);
}

/* Returns how many adjacent columns from i on, at most SIGNS_BESIDE, are short (SIGNS_SHORT), whole
 * and in one run. */
static inline size_t signs_beside_n(const struct signs_rule *r, size_t n, size_t i)
{
    const size_t run = i / r->stride, left = r->stride - i % r->stride;
    return r->column <= SIGNS_SHORT && (run + 1) * r->column * r->stride <= n
               ? levels_less(left, SIGNS_BESIDE)
               : 0;
}

static __attribute__((noinline)) void signs_encode_columns(const struct signs_rule *r,
                                                           const struct signs_from *f, size_t n,
                                                           uint8_t *codes)
{
    for (size_t i = 0, k, all = signs_columns(r, n); i < all; i += k) {
        const struct signs_column c = signs_column_at(r, n, i);
        k = signs_beside_n(r, n, i);
        if (k)
            signs_encode_beside(r, f, &c, k, codes);
        else
            signs_encode_column(f, &c, codes), k = 1;
    }
}

static void signs_encode_all(const struct signs_rule *r, const struct signs_from *f, size_t n,
                             size_t padded, uint8_t *codes)
{
    const uint64_t was = fp_mode_ieee();
    memset(codes, 0, signs_bytes(r, padded));
    if (r->stride == 1)
        signs_encode_buckets(r, f, n, codes);
    else
        signs_encode_columns(r, f, n, codes);
    fp_mode_back(was);
}

static inline void signs_encode(const struct signs_rule *r, const float *x, size_t n, size_t padded,
                                struct signs_left left, uint8_t *codes)
{
    const struct signs_from from = {.x = x, .left = left};
    signs_encode_all(r, &from, n, padded, codes);
}

static inline void signs_sum(const struct signs_rule *r, const uint8_t *const *parts, int n_parts,
                             size_t skip, size_t n, size_t padded, struct signs_left left,
                             uint8_t *codes)
{
    const struct signs_from from = {.parts = parts, .n_parts = n_parts, .skip = skip, .left = left};
    signs_encode_all(r, &from, n, padded, codes);
}

static inline void signs_decode_column(const struct signs_column *c, const uint8_t *codes,
                                       float divisor, float *x)
{
    uint32_t negative[LEVELS_BLOCK];
    const uint8_t *from = codes + c->place;
    const float plus = levels_float(from) / divisor,
                minus = levels_float(from + sizeof plus) / divisor;
    for (size_t i = 0; i < c->n; i += LEVELS_BLOCK) {
        const size_t k = levels_less(c->n - i, LEVELS_BLOCK);
        levels_unpack(1, from + 2 * sizeof plus + i / 8, signs_up(k), negative);
        for (size_t j = 0; j < k; j++)
            x[c->first + (i + j) * c->stride] = negative[j] ? minus : plus;
    }
}

static inline void signs_decode_beside(const struct signs_rule *r, const struct signs_column *first,
                                       size_t k, const uint8_t *codes, float divisor, float *x)
{
    struct signs_beside s;
    signs_beside_get(codes + first->place, k, &s);
    for (size_t c = 0; c < k; c++) {
        s.plus[c] /= divisor;
        s.minus[c] /= divisor;
    }
    for (size_t j = 0; j < r->column; j++)
        for (size_t c = 0; c < k; c++)
            x[first->first + j * r->stride + c] = s.negative[c] >> j & 1 ? s.minus[c] : s.plus[c];
}

static __attribute__((noinline)) void signs_decode_all(const struct signs_rule *r,
                                                       const uint8_t *codes, size_t n,
                                                       float divisor, float *x)
{
    for (size_t i = 0, k, all = signs_columns(r, n); i < all; i += k) {
        const struct signs_column c = signs_column_at(r, n, i);
        k = r->stride > 1 ? signs_beside_n(r, n, i) : 0;
        if (k)
            signs_decode_beside(r, &c, k, codes, divisor, x);
        else
            signs_decode_column(&c, codes, divisor, x), k = 1;
    }
}

static inline void signs_decode(const struct signs_rule *r, const uint8_t *codes, size_t n,
                                float divisor, float *x)
{
    const uint64_t was = fp_mode_ieee();
    signs_decode_all(r, codes, n, divisor, x);
    fp_mode_back(was);
}

#define SIGNS_OPS                                                        \
    {                                                                    \
        .encode = signs_encode, .decode = signs_decode, .sum = signs_sum \
    }

#endif
