/* signs_hand.h : encodes buckets of up to 256 consecutive elements, and decodes buckets, by rows of
 * 16 elements of the including file:
 *
 *     struct row          16 floats; lane i is lane i of LEVEL_LANES
 *     struct row_mask     a truth value per lane
 *     row_all()           the same float in all lanes
 *     row_load(), row_store()     stream: bypasses the caches, at an address of whole rows
 *     row_add()           level_add() of all lanes; row_sub() is a plain difference
 *     row_negative()      x < 0;  row_choose() selects yes or no per lane
 *     row_bits(), row_mask_of()   a mask as 16 bits, lane 0 in the lowest, and back
 *     row_join()          sets sums to level_join() of both rows
 *
 * signs_body.h does the rest. */
#ifndef SIGNS_HAND_H
#define SIGNS_HAND_H

/* means of elements [i, i + 16) of the column whose codes begin at `from` */
CAST_INLINE struct row means_at(const uint8_t *from, size_t i, struct row plus, struct row minus)
{
    uint16_t signs;
    memcpy(&signs, from + 2 * sizeof(float) + i / 8, sizeof signs);
    return row_choose(row_mask_of(signs), minus, plus);
}

CAST_INLINE struct row fetch(const struct signs_from *f, const struct signs_column *c, size_t i)
{
    struct row v = row_all(0.0f);
    if (f->x) {
        cast_prefetch(f->x + c->first + i);
        v = row_load(f->x + c->first + i);
    }
    for (int p = 0; p < f->n_parts; p++) {
        const uint8_t *from = f->parts[p] + f->skip + c->place;
        v = row_add(v, means_at(from, i, row_all(levels_float(from)),
                                row_all(levels_float(from + sizeof(float)))));
    }
    if (!f->left.was)
        return v;
    cast_prefetch(f->left.was + c->first + i);
    return row_add(v, row_load(f->left.was + c->first + i));
}

/* c->n is a multiple of 16, at most 256. stream: the residual bypasses the caches */
CAST_INLINE void encode_bucket(const struct signs_from *f, const struct signs_column *c,
                               bool stream, uint8_t *codes)
{
    enum { ROWS = LEVELS_BLOCK / LEVEL_LANES };
    const struct row zero = row_all(0.0f);
    struct row sum_plus = zero, sum_minus = zero, v[ROWS];
    uint16_t signs[ROWS] = {0};
    uint32_t n_minus = 0;
    for (size_t i = 0; i < c->n / LEVEL_LANES; i++) {
        v[i] = fetch(f, c, LEVEL_LANES * i);
        const struct row_mask negative = row_negative(v[i]);
        signs[i] = row_bits(negative);
        n_minus += (uint32_t)__builtin_popcount(signs[i]);
        sum_plus = row_add(sum_plus, row_choose(negative, zero, v[i]));
        sum_minus = row_add(sum_minus, row_choose(negative, v[i], zero));
    }
    float q[2];
    row_join(sum_plus, sum_minus, q);
    q[0] = level_mean(q[0], (uint32_t)c->n - n_minus);
    q[1] = level_mean(q[1], n_minus);
    uint8_t *to = codes + c->place;
    memcpy(to, q, sizeof q);
    memcpy(to + sizeof q, signs, c->n / 8);
    if (!f->left.next)
        return;
    const struct row plus = row_all(q[0]), minus = row_all(q[1]);
    for (size_t i = 0; i < c->n / LEVEL_LANES; i++)
        row_store(f->left.next + c->first + LEVEL_LANES * i,
                  row_sub(v[i], row_choose(row_negative(v[i]), minus, plus)), stream);
}

static bool by_hand(const struct signs_rule *r)
{
    return r->stride == 1 && r->column % 32 == 0 && r->column <= LEVELS_BLOCK;
}

static __attribute__((noinline)) void
encode_whole(const struct signs_rule *r, const struct signs_from *f, size_t n, uint8_t *codes)
{
    enum { STREAM_MIN = 1 << 20 }; /* elements from which on residuals bypass the caches */
    const size_t bytes = signs_column_bytes(r);
    const bool stream = f->left.next && n >= STREAM_MIN && (uintptr_t)f->left.next % 64 == 0;
    struct signs_column c = {.stride = 1, .n = r->column};
    for (; c.first < n; c.first += r->column, c.place += bytes)
        if (r->column == 64) /* the usual length, as a constant */
            c.n = 64, encode_bucket(f, &c, stream, codes);
        else
            encode_bucket(f, &c, stream, codes);
    if (stream)
        cast_streamed();
}

static void encode(const struct signs_rule *r, const struct signs_from *f, size_t n, size_t padded,
                   uint8_t *codes)
{
    const size_t whole = by_hand(r) ? n / r->column * r->column : 0, done = signs_bytes(r, whole);
    const uint64_t was = fp_mode_ieee();
    encode_whole(r, f, whole, codes);
    fp_mode_back(was);
    struct signs_from rest = *f;
    rest.x = f->x ? f->x + whole : NULL;
    rest.skip += done;
    rest.left.was = f->left.was ? f->left.was + whole : NULL;
    rest.left.next = f->left.next ? f->left.next + whole : NULL;
    signs_encode_all(r, &rest, n - whole, padded - whole, codes + done);
}

static void hand_encode(const struct signs_rule *r, const float *x, size_t n, size_t padded,
                        struct signs_left left, uint8_t *codes)
{
    const struct signs_from from = {.x = x, .left = left};
    encode(r, &from, n, padded, codes);
}

static void hand_sum(const struct signs_rule *r, const uint8_t *const *parts, int n_parts,
                     size_t skip, size_t n, size_t padded, struct signs_left left, uint8_t *codes)
{
    const struct signs_from from = {.parts = parts, .n_parts = n_parts, .skip = skip, .left = left};
    encode(r, &from, n, padded, codes);
}

static __attribute__((noinline)) void decode_whole(const struct signs_rule *r, const uint8_t *codes,
                                                   size_t n, float divisor, float *x)
{
    for (size_t e = 0; e < n; e += r->column, codes += signs_column_bytes(r)) {
        const struct row plus = row_all(levels_float(codes) / divisor),
                         minus = row_all(levels_float(codes + sizeof(float)) / divisor);
        for (size_t i = 0; i < r->column; i += LEVEL_LANES)
            row_store(x + e + i, means_at(codes, i, plus, minus), false);
    }
}

static void hand_decode(const struct signs_rule *r, const uint8_t *codes, size_t n, float divisor,
                        float *x)
{
    const size_t whole = r->stride == 1 && r->column % 32 == 0 ? n / r->column * r->column : 0;
    const uint64_t was = fp_mode_ieee();
    decode_whole(r, codes, whole, divisor, x);
    fp_mode_back(was);
    signs_decode(r, codes + signs_bytes(r, whole), n - whole, divisor, x + whole);
}

#define SIGNS_HAND_OPS                                                \
    {                                                                 \
        .encode = hand_encode, .decode = hand_decode, .sum = hand_sum \
    }

#endif
