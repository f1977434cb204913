/* cast_rows.c : lists the rows of bench_cast, with functions that return the counted bytes. */
#include "cast_rows.h"
#include "vec/list/vec_levels.h"
#include "vec/list/vec_signs.h"
#include <string.h>

enum { RANKS = 8, MACHINES = 4, SHIFT = 10, BLOCK = 1 << 18, ACC_BLOCK = 1024, GROUP = 32 };
static int8_t exponents[BLOCK / GROUP];

static struct vec_cast cast_of(const struct row *r)
{
    return (struct vec_cast){.fmt = r->fmt, .round = r->round, .overflow = MF_SATURATE, .key = 1};
}

static size_t run_stream(struct bench *b, const struct row *r)
{
    (void)r;
    b->stream.run((char *)b->copy, (const char *)b->x, 4 * b->n);
    return 4 * b->n;
}

size_t cast_read(struct bench *b, const struct row *r)
{
    (void)r;
    b->sink = (uint32_t)copies_read((const char *)b->x, 4 * b->n);
    return 4 * b->n;
}

static size_t run_encode(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = cast_of(r);
    b->ops.encode(&cast, b->x, b->n, 0, r->shift, b->copy);
    return 4 * b->n;
}

static size_t run_decode(struct bench *b, const struct row *r)
{
    b->ops.decode(r->fmt, b->codes, b->n, 0, 1, (float *)b->copy);
    return 4 * b->n;
}

static size_t run_absmax(struct bench *b, const struct row *r)
{
    (void)r;
    b->sink = b->ops.absmax(b->x, b->n);
    return 4 * b->n;
}

/* In two passes: the shift is known after the scan. */
static size_t run_aps(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = cast_of(r);
    const int shift = mf_bias(r->fmt) - mf_exp_up_times(b->ops.absmax(b->x, b->n), RANKS);
    b->ops.encode(&cast, b->x, b->n, 0, shift, b->copy);
    return 4 * b->n;
}

/* In two passes, by layers that fit the cache. */
static size_t run_aps_blocks(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = cast_of(r);
    for (size_t i = 0, k; i < b->n; i += k) {
        k = b->n - i < BLOCK ? b->n - i : BLOCK;
        const int shift = mf_bias(r->fmt) - mf_exp_up_times(b->ops.absmax(b->x + i, k), RANKS);
        b->ops.encode(&cast, b->x + i, k, i, shift, b->copy + vec_bytes(r->fmt, i));
    }
    return 4 * b->n;
}

/* In one pass with a guessed shift, which the scan checks. */
static size_t run_aps_guess(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = cast_of(r);
    b->sink = b->ops.scan_encode(&cast, b->x, b->n, 0, r->shift, b->copy);
    return 4 * b->n;
}

/* Exponents of groups, codes and values of the next BLOCK floats. */
static struct vec_span span_at(const struct bench *b, const struct row *r, size_t i)
{
    const size_t n = b->n - i < BLOCK ? b->n - i : BLOCK;
    return (struct vec_span){.x = b->x + i,
                             .codes = b->copy + vec_bytes(r->fmt, i),
                             .n = n,
                             .padded = n,
                             .shift = vec_aps_top(r->fmt, true),
                             .group = GROUP,
                             .exponents = exponents};
}

static size_t run_groups(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = cast_of(r);
    for (size_t i = 0; i < b->n; i += BLOCK) {
        struct vec_span span = span_at(b, r, i);
        b->ops.encode_all(&b->ops, &cast, &span, 1);
    }
    return 4 * b->n;
}

static size_t run_group_exponents(struct bench *b, const struct row *r)
{
    const struct vec_scale scale = {.fmt = r->fmt, .tight = true, .group = GROUP};
    for (size_t i = 0; i < b->n; i += BLOCK) {
        struct vec_span span = span_at(b, r, i);
        b->ops.exponents_all(&b->ops, &scale, &span, 1);
    }
    return 4 * b->n;
}

static size_t run_group_values(struct bench *b, const struct row *r)
{
    for (size_t i = 0; i < b->n; i += BLOCK) {
        const size_t n = b->n - i < BLOCK ? b->n - i : BLOCK;
        const struct vec_out out = {.x = (float *)b->copy + i,
                                    .codes = b->codes + vec_bytes(r->fmt, i),
                                    .n = n,
                                    .group = GROUP,
                                    .exponents = exponents};
        b->ops.decode_all(&b->ops, r->fmt, &out, 1, 1);
    }
    return 4 * b->n;
}

static size_t run_add(struct bench *b, const struct row *r)
{
    const struct vec_sum sum = {
        .rule = r->round == MF_ZERO ? VEC_TRUNC : VEC_NEAREST, .in = r->fmt, .out = r->fmt};
    const size_t half = 2 * b->n, n = half * 8 / mf_width(r->fmt);
    b->ops.add(&sum, b->codes, b->codes + half, n);
    return 3 * half;
}

/* Divides b->codes among the ranks. Returns the bytes of each. */
static size_t rank_parts(const struct bench *b, const uint8_t *parts[RANKS])
{
    const size_t part = 4 * b->n / RANKS;
    for (size_t p = 0; p < RANKS; p++)
        parts[p] = b->codes + p * part;
    return part;
}

static size_t sum_ranks(struct bench *b, const struct row *r, uint32_t out_group)
{
    const struct vec_sum sum = {.rule = r->fmt.e <= 5 ? VEC_EXACT : VEC_FP32,
                                .in = r->fmt,
                                .out = r->fmt,
                                .out_group = out_group,
                                .n_ranks = RANKS};
    const uint8_t *parts[RANKS];
    const size_t part = rank_parts(b, parts), n = part * 8 / mf_width(r->fmt);
    if (out_group)
        b->ops.sum_blocks(&b->ops, &sum, parts, RANKS, n, b->copy);
    else
        b->ops.sum(&sum, parts, RANKS, n, r->fmt, 0, b->copy);
    return RANKS * part;
}

static size_t run_sum(struct bench *b, const struct row *r)
{
    return sum_ranks(b, r, 0);
}

static size_t run_sum_blocks(struct bench *b, const struct row *r)
{
    return sum_ranks(b, r, GROUP);
}

static struct vec_sum exact_of(struct mf_fmt fmt)
{
    return (struct vec_sum){.rule = VEC_EXACT, .in = fmt, .out = fmt, .n_ranks = RANKS};
}

/* The sums of 8 ranks, which travel to other machines without rounding. */
static size_t run_to_wide(struct bench *b, const struct row *r)
{
    const struct vec_sum sum = exact_of(r->fmt);
    const uint8_t *parts[RANKS];
    const size_t part = rank_parts(b, parts), n = part * 8 / mf_width(r->fmt);
    if (b->ops.sum_to_wide && b->ops.sum_to_wide(&sum, parts, RANKS, n, b->copy))
        return RANKS * part;
    uint64_t acc[ACC_BLOCK];
    for (size_t i = 0, k; i < n; i += k) {
        k = n - i < ACC_BLOCK ? n - i : ACC_BLOCK;
        for (size_t p = 0; p < RANKS; p++)
            b->ops.accumulate(&sum, acc, parts[p] + vec_bytes(r->fmt, i), k, p == 0);
        b->ops.spill(&sum, acc, k, b->copy + vec_wide_bytes(&sum, i));
    }
    return RANKS * part;
}

/* Elements of 8 ranks' sums from each of MACHINES machines. */
static size_t n_wide(const struct bench *b, const struct vec_sum *sum)
{
    const size_t bits = (size_t)mf_wide_bits(sum->in, RANKS);
    return 4 * b->n * 8 / (MACHINES * bits) / ACC_BLOCK * ACC_BLOCK;
}

static size_t run_of_wide(struct bench *b, const struct row *r)
{
    const struct vec_sum sum = exact_of(r->fmt);
    const size_t n = n_wide(b, &sum), part = vec_wide_bytes(&sum, n);
    const uint8_t *parts[MACHINES];
    for (size_t p = 0; p < MACHINES; p++)
        parts[p] = b->codes + p * part;
    if (b->ops.sum_of_wide && b->ops.sum_of_wide(&sum, parts, MACHINES, n, r->fmt, 0, b->copy))
        return MACHINES * part;
    uint64_t acc[ACC_BLOCK];
    for (size_t i = 0; i < n; i += ACC_BLOCK) {
        for (size_t p = 0; p < MACHINES; p++)
            b->ops.accumulate_wide(&sum, acc, parts[p] + vec_wide_bytes(&sum, i), ACC_BLOCK,
                                   p == 0);
        b->ops.finish(&sum, acc, ACC_BLOCK, r->fmt, 0, b->copy + vec_bytes(r->fmt, i));
    }
    return MACHINES * part;
}

/* Buckets of 512, with random numbers. */
static size_t run_levels(struct bench *b, const struct row *r)
{
    const struct levels_rule rule = {.scheme = {4, 0}, .bucket = 512};
    (void)r;
    b->sink = b->ops.levels->encode(&rule, b->x, b->n, 0, 1, b->copy);
    return 4 * b->n;
}

static size_t run_values(struct bench *b, const struct row *r)
{
    const struct levels_rule rule = {.scheme = {4, 0}, .bucket = 512};
    (void)r;
    b->ops.levels->decode(&rule, b->codes, b->n, RANKS, (float *)b->copy);
    return 4 * b->n;
}

/* Buckets of 64; the residual is read and written. */
static size_t run_signs(struct bench *b, const struct row *r)
{
    const struct signs_rule rule = {64, 1};
    const size_t half = b->n / 2;
    const struct signs_left left = {b->x + half, (float *)b->copy};
    (void)r;
    b->ops.signs->encode(&rule, b->x, half, half, left, b->copy + 4 * half);
    return 12 * half + signs_bytes(&rule, half);
}

const struct row cast_rows[] = {
    {"streaming copy", run_stream, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"read only", cast_read, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e5m2", run_encode, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e4m3", run_encode, {4, 3, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e4m3fn", run_encode, {4, 3, 1}, MF_NEAREST, 0, 1},
    {"fp32 -> e3m4", run_encode, {3, 4, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e2m5f", run_encode, {2, 5, 2}, MF_NEAREST, 0, 1},
    {"fp32 -> e2m5f:32", run_groups, {2, 5, 2}, MF_NEAREST, 0, 1},
    {"fp32 -> e5m10", run_encode, {5, 10, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e8m7", run_encode, {8, 7, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e6m9", run_encode, {6, 9, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e3m0", run_encode, {3, 0, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e8m23", run_encode, {8, 23, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e5m2 stochastic", run_encode, {5, 2, 0}, MF_STOCHASTIC, 0, 1},
    {"shift + fp32 -> e5m2", run_encode, {5, 2, 0}, MF_NEAREST, SHIFT, 1},
    {"e5m2 -> fp32", run_decode, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"e2m5f:32 -> fp32", run_group_values, {2, 5, 2}, MF_NEAREST, 0, 1},
    {"e8m7 -> fp32", run_decode, {8, 7, 0}, MF_NEAREST, 0, 1},
    {"e3m0 -> fp32", run_decode, {3, 0, 0}, MF_NEAREST, 0, 1},
    {"e8m23 -> fp32", run_decode, {8, 23, 0}, MF_NEAREST, 0, 1},
    {"largest exponent", run_absmax, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"exponents of 32", run_group_exponents, {2, 5, 2}, MF_NEAREST, 0, 1},
    {"APS e5m2, two passes", run_aps, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"APS e5m2, layers of 1 MiB", run_aps_blocks, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"APS e5m2, shift guessed", run_aps_guess, {5, 2, 0}, MF_NEAREST, SHIFT, 1},
    {"fp32 -> qsgd:4", run_levels, {5, 2, 0}, MF_STOCHASTIC, 0, 1},
    {"qsgd:4 -> fp32", run_values, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"fp32 + left -> onebit:64 + left", run_signs, {5, 2, 0}, MF_NEAREST, 0, 2},
    {"e5m2 += e5m2 nearest", run_add, {5, 2, 0}, MF_NEAREST, 0, 2},
    {"e5m2 += e5m2 trunc", run_add, {5, 2, 0}, MF_ZERO, 0, 2},
    {"e4m3 += e4m3 nearest", run_add, {4, 3, 0}, MF_NEAREST, 0, 2},
    {"e5m10 += e5m10 nearest", run_add, {5, 10, 0}, MF_NEAREST, 0, 2},
    {"e8m7 += e8m7 nearest", run_add, {8, 7, 0}, MF_NEAREST, 0, 2},
    {"e3m0 += e3m0 nearest", run_add, {3, 0, 0}, MF_NEAREST, 0, 2},
    {"e8m23 += e8m23 nearest", run_add, {8, 23, 0}, MF_NEAREST, 0, 2},
    {"8 ranks e5m2, exact -> e5m2", run_sum, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e4m3, exact -> e4m3", run_sum, {4, 3, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e2m5f, exact -> e2m5f", run_sum, {2, 5, 2}, MF_NEAREST, 0, 1},
    {"8 ranks e2m5f, exact -> e2m5f:32", run_sum_blocks, {2, 5, 2}, MF_NEAREST, 0, 1},
    {"8 ranks e3m0, exact -> e3m0", run_sum, {3, 0, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e8m7, fp32 -> e8m7", run_sum, {8, 7, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e5m10, exact -> e5m10", run_sum, {5, 10, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e8m23, fp32 -> e8m23", run_sum, {8, 23, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e5m2 -> 36 bits", run_to_wide, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e4m3 -> 21 bits", run_to_wide, {4, 3, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e3m4 -> 14 bits", run_to_wide, {3, 4, 0}, MF_NEAREST, 0, 1},
    {"8 ranks e3m0 -> 10 bits", run_to_wide, {3, 0, 0}, MF_NEAREST, 0, 1},
    {"4 x 36 bits -> e5m2", run_of_wide, {5, 2, 0}, MF_NEAREST, 0, 1},
    {"4 x 21 bits -> e4m3", run_of_wide, {4, 3, 0}, MF_NEAREST, 0, 1},
    {"4 x 14 bits -> e3m4", run_of_wide, {3, 4, 0}, MF_NEAREST, 0, 1},
    {"4 x 10 bits -> e3m0", run_of_wide, {3, 0, 0}, MF_NEAREST, 0, 1},
};
const int n_cast_rows = sizeof cast_rows / sizeof *cast_rows;

/* Repeats the first `bytes` of `from` to the end of b->codes. */
static void repeat(const struct bench *b, const uint8_t *from, size_t bytes)
{
    for (size_t at = 0; at < 4 * b->n; at += bytes)
        memmove(b->codes + at, from, 4 * b->n - at < bytes ? 4 * b->n - at : bytes);
}

void cast_row_fill(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = {.fmt = r->fmt};
    const struct vec_sum sum = exact_of(r->fmt);
    b->ops.encode(&cast, b->x, b->n, 0, 0, b->codes);
    repeat(b, b->codes, vec_bytes(r->fmt, b->n));
    if (r->run == run_of_wide) {
        const size_t n = run_to_wide(b, r) / RANKS * 8 / mf_width(r->fmt);
        repeat(b, b->copy, vec_wide_bytes(&sum, n));
    }
}
