/* gpu_rows.c : lists the rows of bench_gpu; each enqueues its work once and returns its bytes. */
#include "gpu_rows.h"
#include "base/err.h"
#include <string.h>

enum { RANKS = 8, RESNET50 = 1 };

static struct vec_cast cast_of(const struct row *r)
{
    return (struct vec_cast){.fmt = r->fmt, .round = r->round, .overflow = MF_SATURATE, .key = 1};
}

/* Elements of resnet50's tensors: a convolution, gamma, beta, ..., classifier, biases. */
static void resnet50_layers(size_t sizes[RESNET50_LAYERS])
{
    static const int counts[] = {3, 4, 6, 3};
    size_t in = 64, n = 0;
#define CONV_AND_NORM(weights, channels) \
    (sizes[n] = (weights), sizes[n + 1] = sizes[n + 2] = (channels), n += 3)
    CONV_AND_NORM(7 * 7 * 3 * in, in);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < counts[stage]; i++) {
            const size_t inner = (size_t)64 << stage, out = 4 * inner;
            CONV_AND_NORM(in * inner, inner);
            CONV_AND_NORM(9 * inner * inner, inner);
            CONV_AND_NORM(inner * out, out);
            if (i == 0)
                CONV_AND_NORM(in * out, out);
            in = out;
        }
#undef CONV_AND_NORM
    sizes[n] = 1000 * in;
    sizes[n + 1] = 1000;
}

/* List all floats, or as many whole layers as fit. */
static void list_layers(struct bench *b, const struct row *r)
{
    const bool resnet50 = r->layer == RESNET50;
    size_t sizes[RESNET50_LAYERS] = {r->layer ? r->layer / 4 : b->n};
    const int n_sizes = resnet50 ? RESNET50_LAYERS : 1;
    if (resnet50)
        resnet50_layers(sizes);
    b->n_layers = 0;
    for (size_t at = 0, n; at < b->n; at += n) {
        n = sizes[b->n_layers % n_sizes];
        if (n > b->n - at) {
            if (!resnet50)
                break;
            n = b->n - at;
        }
        b->pinned[b->n_layers++] = (struct vec_span){.x = b->x + at,
                                                     .codes = b->out + vec_bytes(r->fmt, at),
                                                     .n = n,
                                                     .padded = n,
                                                     .key = 1,
                                                     .shift = 10};
    }
}

/* Every row copies its list first. */
static int send_layers(struct bench *b)
{
    return b->run->copy(b->spans, b->pinned, (size_t)b->n_layers * sizeof *b->pinned, b->stream);
}
static int send_list(struct bench *b, const void *list, size_t bytes)
{
    memcpy(b->pinned_list, list, bytes);
    return b->run->copy(b->list, b->pinned_list, bytes, b->stream);
}

/* Counts one pass over the floats and one over the codes. */
static double bytes_of(const struct bench *b, const struct row *r)
{
    return 4 * (double)b->n + (double)vec_bytes(r->fmt, b->n);
}

static int gpu_copy(struct bench *b, const struct row *r, double *bytes)
{
    (void)r;
    *bytes = 2 * 4 * (double)b->n;
    return b->run->copy(b->out, b->x, 4 * b->n, b->stream);
}

static int run_encode(struct bench *b, const struct row *r, double *bytes)
{
    const struct vec_cast cast = cast_of(r);
    *bytes = bytes_of(b, r);
    TRY(send_layers(b));
    return b->vec->encode(&cast, b->spans, b->n_layers, b->n, b->stream);
}

static int run_scan_encode(struct bench *b, const struct row *r, double *bytes)
{
    const struct vec_cast cast = cast_of(r);
    *bytes = bytes_of(b, r);
    TRY(send_layers(b));
    return b->vec->scan_encode(&cast, b->spans, b->n_layers, b->n, b->stream);
}

static int run_absmax(struct bench *b, const struct row *r, double *bytes)
{
    (void)r;
    *bytes = 4 * (double)b->n;
    TRY(send_layers(b));
    return b->vec->absmax(b->spans, b->n_layers, b->n, b->stream);
}

static int run_decode(struct bench *b, const struct row *r, double *bytes)
{
    *bytes = bytes_of(b, r);
    return b->vec->decode(r->fmt, b->codes, b->n, 0, RANKS, (float *)(void *)b->out, b->stream);
}

static int run_sum(struct bench *b, const struct row *r, double *bytes)
{
    const struct vec_sum sum = {.rule = VEC_EXACT, .in = r->fmt, .out = r->fmt, .n_ranks = RANKS};
    const size_t part = 4 * b->n / RANKS;
    const uint8_t *parts[RANKS];
    for (size_t p = 0; p < RANKS; p++)
        parts[p] = b->codes + p * part;
    *bytes = (RANKS + 1) * (double)part;
    TRY(send_list(b, parts, sizeof parts));
    return b->vec->sum(&sum, b->list, RANKS, part * 8 / mf_width(r->fmt), r->fmt, 0, b->out,
                       b->stream);
}

static int run_add(struct bench *b, const struct row *r, double *bytes)
{
    const struct vec_sum sum = {.rule = VEC_NEAREST, .in = r->fmt, .out = r->fmt};
    const size_t half = 2 * b->n;
    *bytes = 3 * (double)half;
    return b->vec->add(&sum, b->codes, b->codes + half, half * 8 / mf_width(r->fmt), b->stream);
}

/* ---- levels and signs: one layer, no format ---- */

static const struct levels_rule qsgd_4 = {.scheme = {4, 0}, .bucket = 512},
                                qsgd_16 = {.scheme = {16, 0}, .bucket = 8192};
static const struct signs_rule onebit_64 = {64, 1}, columns_3 = {3, 64};

static int levels_encode(struct bench *b, const struct levels_rule *r, uint8_t *codes,
                         double *bytes)
{
    *bytes = 4 * (double)b->n + (double)levels_bytes(r, b->n);
    const struct vec_span span = {.x = b->x, .codes = codes, .n = b->n, .padded = b->n, .key = 1};
    TRY(send_list(b, &span, sizeof span));
    return b->vec->levels_encode(r, b->list, 1, b->n, b->stream);
}
static int run_qsgd_4(struct bench *b, const struct row *r, double *bytes)
{
    (void)r;
    return levels_encode(b, &qsgd_4, b->out, bytes);
}
static int run_qsgd_16(struct bench *b, const struct row *r, double *bytes)
{
    (void)r;
    return levels_encode(b, &qsgd_16, b->out, bytes);
}

/* Decodes gpu_row_prepare()'s codes. */
static int run_qsgd_4_back(struct bench *b, const struct row *r, double *bytes)
{
    const struct vec_out out = {.x = (float *)(void *)b->out, .codes = b->codes, .n = b->n};
    (void)r;
    *bytes = 4 * (double)b->n + (double)levels_bytes(&qsgd_4, b->n);
    TRY(send_list(b, &out, sizeof out));
    return b->vec->levels_decode(&qsgd_4, RANKS, b->list, 1, b->n, b->stream);
}

/* On half of the floats: `codes` holds the old residual, `out` the new one. */
static int signs_encode(struct bench *b, const struct signs_rule *rule, double *bytes)
{
    const size_t run = rule->column * rule->stride, n = b->n / 2 / run * run;
    const struct signs_span span = {
        .x = b->x,
        .codes = b->codes + 2 * b->n,
        .n = n,
        .padded = n,
        .rule = *rule,
        .left = {(const float *)(const void *)b->codes, (float *)(void *)b->out}};
    *bytes = 12 * (double)n + (double)signs_bytes(rule, n);
    TRY(send_list(b, &span, sizeof span));
    return b->vec->signs_encode(b->list, 1, n, b->stream);
}
static int run_onebit(struct bench *b, const struct row *r, double *bytes)
{
    (void)r;
    return signs_encode(b, &onebit_64, bytes);
}
static int run_columns(struct bench *b, const struct row *r, double *bytes)
{
    (void)r;
    return signs_encode(b, &columns_3, bytes);
}
static int run_onebit_back(struct bench *b, const struct row *r, double *bytes)
{
    (void)r;
    const struct signs_out out = {
        .x = (float *)(void *)b->out, .codes = b->codes, .n = b->n, .rule = onebit_64};
    *bytes = 4 * (double)b->n + (double)signs_bytes(&onebit_64, b->n);
    TRY(send_list(b, &out, sizeof out));
    return b->vec->signs_decode(RANKS, b->list, 1, b->n, b->stream);
}

#define NEAR MF_NEAREST
const struct row gpu_rows[] = {
    {"copy", gpu_copy, {5, 2, 0}, NEAR, 0, 0},
    {"fp32 -> e5m2", run_encode, {5, 2, 0}, NEAR, 0, 1},
    {"fp32 -> e4m3", run_encode, {4, 3, 0}, NEAR, 0, 1},
    {"fp32 -> e4m3fn", run_encode, {4, 3, 1}, NEAR, 0, 1},
    {"fp32 -> e3m4", run_encode, {3, 4, 0}, NEAR, 0, 1},
    {"fp32 -> fp16", run_encode, {5, 10, 0}, NEAR, 0, 1},
    {"fp32 -> bf16", run_encode, {8, 7, 0}, NEAR, 0, 1},
    {"fp32 -> e6m9", run_encode, {6, 9, 0}, NEAR, 0, 1},
    {"fp32 -> e3m0", run_encode, {3, 0, 0}, NEAR, 0, 0},
    {"fp32 -> e3m2", run_encode, {3, 2, 0}, NEAR, 0, 0},
    {"fp32 -> e5m2 stochastic", run_encode, {5, 2, 0}, MF_STOCHASTIC, 0, 0.9},
    {"fp32 -> e5m2, layers of 1 MiB", run_encode, {5, 2, 0}, NEAR, MB, 0},
    {"largest exponent", run_absmax, {5, 2, 0}, NEAR, 0, 0.98},
    {"largest exponent, layers of 1 MiB", run_absmax, {5, 2, 0}, NEAR, MB, 0.98},
    {"largest exponent, resnet50's layers", run_absmax, {5, 2, 0}, NEAR, RESNET50, 0},
    {"fp32 -> e5m2 and largest exponent", run_scan_encode, {5, 2, 0}, NEAR, 0, 0},
    {"fp32 -> e5m2 and exponent, resnet50's layers", run_scan_encode, {5, 2, 0}, NEAR, RESNET50, 0},
    {"e5m2 -> fp32", run_decode, {5, 2, 0}, NEAR, 0, 0},
    {"fp16 -> fp32", run_decode, {5, 10, 0}, NEAR, 0, 0},
    {"e3m2 -> fp32", run_decode, {3, 2, 0}, NEAR, 0, 0},
    {"8 x e5m2, exact -> e5m2", run_sum, {5, 2, 0}, NEAR, 0, 0.95},
    {"8 x e4m3, exact -> e4m3", run_sum, {4, 3, 0}, NEAR, 0, 0.95},
    {"e5m2 += e5m2 nearest", run_add, {5, 2, 0}, NEAR, 0, 0},
    {"fp32 -> qsgd:4", run_qsgd_4, {5, 2, 0}, NEAR, 0, 0.8},
    {"qsgd:4 -> fp32", run_qsgd_4_back, {5, 2, 0}, NEAR, 0, 0.8},
    {"fp32 -> qsgd:16", run_qsgd_16, {5, 2, 0}, NEAR, 0, 0.8},
    {"fp32, left -> onebit:64, left", run_onebit, {5, 2, 0}, NEAR, 0, 0.8},
    {"onebit:64 -> fp32", run_onebit_back, {5, 2, 0}, NEAR, 0, 0.8},
    {"fp32, left -> columns of 3, left", run_columns, {5, 2, 0}, NEAR, 0, 0},
};
const int n_gpu_rows = sizeof gpu_rows / sizeof *gpu_rows;

int gpu_row_prepare(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = {.fmt = r->fmt};
    const size_t bytes = vec_bytes(r->fmt, b->n);
    const struct vec_span all = {.x = b->x, .codes = b->codes, .n = b->n, .padded = b->n};
    TRY(send_list(b, &all, sizeof all));
    TRY(b->vec->encode(&cast, b->list, 1, b->n, b->stream));
    for (size_t at = bytes; at < 4 * b->n; at += bytes)
        TRY(b->run->copy(b->codes + at, b->codes, 4 * b->n - at < bytes ? 4 * b->n - at : bytes,
                         b->stream));
    double ignored;
    if (r->run == run_qsgd_4_back)
        TRY(levels_encode(b, &qsgd_4, b->codes, &ignored));
    TRY(b->run->wait(b->stream));
    list_layers(b, r);
    return 0;
}
