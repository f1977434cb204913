/* test_codec_state_mpi.c : compares a codec with residuals of codes and sums through the reducer
 * with plain loops. */
/* RANKS: 1 2 3 */
#include "base/err.h"
#include "check.h"
#include "codec/codec_kind.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include <math.h>
#include <string.h>

enum { N_LAYERS = 6, N_MAX = 129, MAX_RANKS = 3, N_STEPS = 10, SKIPPED = 3, WIDE = 5, MOVED = 6 };
enum { FP32_LAYER = 3, SEED = 1507 };
static const size_t sizes[N_LAYERS] = {37, 8, N_MAX, 5, 64, 3};

/* ---- a codec of integers, halved when added; remainders stay for the next step ---- */

static float own(const struct codec_layer *l, size_t which, size_t i)
{
    return ((const float *)(const void *)l->state)[which * l->n + i];
}
static void keep(const struct codec_layer *l, size_t which, size_t i, float left)
{
    ((float *)(void *)l->next_state)[which * l->n + i] = left;
}
static float whole(float x)
{
    return fminf(fmaxf(rintf(x), -100), 100) + 0.0f; /* -0 is 0, as in a code */
}

static void make_codes(const struct codec *c, struct vec_span *spans,
                       const struct codec_part *parts, int n_spans)
{
    (void)c;
    for (int s = 0; s < n_spans; s++) {
        const struct codec_layer *l = parts[s].layer;
        CHECK(parts[s].at == spans[s].at, "a span and its part");
        memset(spans[s].codes, 0x55, spans[s].padded); /* must not be added */
        const float *x = spans[s].x, *w = l->weights;
        for (size_t i = 0, e = parts[s].at; i < spans[s].n; i++, e++) {
            const float v = x[i] * w[e] + own(l, 0, e), q = whole(v);
            keep(l, 0, e, v - q);
            spans[s].codes[i] = (uint8_t)(int8_t)q;
        }
    }
}

static void scan_codes(const struct codec *c, struct vec_span *spans,
                       const struct codec_part *parts, int n_spans)
{
    codec_absmax_x(c, spans, parts, n_spans);
    make_codes(c, spans, parts, n_spans);
}

static void make_means(const struct codec *c, const struct vec_out *outs,
                       const struct codec_part *parts, int n_outs)
{
    for (int s = 0; s < n_outs; s++) {
        const float *w = parts[s].layer->weights;
        float *x = outs[s].x;
        for (size_t i = 0; i < outs[s].n; i++)
            x[i] = 2 * (float)(int8_t)outs[s].codes[i] / (float)c->n_ranks / w[parts[s].at + i];
    }
}

static size_t as_many(const struct reduce_op *f, size_t n)
{
    (void)f;
    return n;
}
static size_t nothing(const struct reduce_op *f, size_t n)
{
    (void)f, (void)n;
    return 0;
}

static void halve(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                  size_t n, bool last, uint8_t *codes)
{
    const struct codec_call *call = f->ctx;
    const struct codec_layer *l = call->layers;
    CHECK(last && at % f->unit == 0, "element %zu", at);
    for (size_t i = at; i < at + n; i++) {
        while (l + 1 < call->layers + call->n_layers && i >= l[1].at)
            l++;
        float sum = 0, q = 0;
        for (int p = 0; p < n_parts; p++)
            sum += (float)(int8_t)parts[p][i - at];
        if (i - l->at < l->n) {
            sum += own(l, 1, i - l->at);
            q = whole(sum / 2);
            keep(l, 1, i - l->at, sum - 2 * q);
        }
        codes[i - at] = (uint8_t)(int8_t)q;
    }
}

static int settle(struct codec *c, const struct codec_adder *by)
{
    (void)c, (void)by;
    return 0;
}
static void describe(const struct codec *c, struct text *to)
{
    (void)c;
    text_add(to, "carry");
}
static int no_guess(const struct codec *c)
{
    (void)c;
    return CODEC_NO_GUESS;
}
static size_t unit(const struct codec *c, const struct codec_layer *l)
{
    (void)c;
    return l->column ? l->column * l->stride : 4;
}
static size_t state_bytes(const struct codec *c, const struct codec_layer *l)
{
    (void)c;
    return 2 * l->n * sizeof(float);
}

static const struct reduce_op_kind carry_accumulate = {
    .in_bytes = as_many,
    .out_bytes = as_many,
    .acc_bytes = as_many,
    .wide_bytes = nothing,
    .sum = halve, /* some algorithms call only this */
};
static const struct codec_kind carry = {.name = "carry",
                                        .settle = settle,
                                        .describe = describe,
                                        .guess = no_guess,
                                        .unit = unit,
                                        .state_bytes = state_bytes,
                                        .absmax = codec_absmax_x,
                                        .encode = make_codes,
                                        .scan_encode = scan_codes,
                                        .decode = make_means,
                                        .op = &carry_accumulate};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float all[MAX_RANKS][N_LAYERS][N_MAX], weights[N_LAYERS][N_MAX];
    float sent[MAX_RANKS][N_LAYERS][N_MAX], added[N_LAYERS][N_MAX];
    float want[N_LAYERS][N_MAX];
} t;

static struct reducer *open_reducer(const char *word, bool overlap)
{
    struct codec codec = {.kind = &carry, .ops = vec_best(), .seed = SEED};
    struct reducer_layer layers[N_LAYERS];
    const float *weights[N_LAYERS];
    const struct algo *algo;
    struct reducer *r = NULL;
    int group;
    for (int l = 0; l < N_LAYERS; l++) {
        layers[l] = (struct reducer_layer){
            .name = "layer", .n = sizes[l], .fp32 = l == FP32_LAYER, .column = l == 4 ? 8 : 0};
        layers[l].stride = l == 4 ? 2 : 0;
        weights[l] = t.weights[l];
    }
    if (algo_find(word, t.n_ranks, &algo, &group) < 0 ||
        algo_settle(algo, group, t.n_ranks, &codec) < 0 ||
        reducer_open(t.c, &codec, algo, group, 60, layers, N_LAYERS, &r) < 0 ||
        reducer_set_overlap(r, overlap) < 0)
        exit(1);
    reducer_set_weights(r, weights);
    return r;
}

static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t i = 0; i < N_MAX; i++) {
            t.weights[l][i] = i % 3 ? 1 : 2;
            for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++) {
                const uint32_t bits = philox_u32(philox_key(SEED, step, l, r, 2), i);
                t.all[r][l][i] = (float)bits / 4294967296.0f * 20 - 10;
            }
        }
    if (step == SKIPPED)
        t.all[t.n_ranks - 1][2][7] = INFINITY;
}

static void work_out(void)
{
    for (int l = 0; l < N_LAYERS; l++)
        for (size_t i = 0; i < sizes[l]; i++) {
            float sum = 0;
            for (int r = 0; r < t.n_ranks && l == FP32_LAYER; r++)
                sum += t.all[r][l][i];
            t.want[l][i] = sum / (float)t.n_ranks;
            if (l == FP32_LAYER)
                continue;
            for (int r = 0; r < t.n_ranks; r++) {
                const float v = t.all[r][l][i] * t.weights[l][i] + t.sent[r][l][i], q = whole(v);
                t.sent[r][l][i] = v - q;
                sum += q;
            }
            sum += t.added[l][i];
            t.added[l][i] = sum - 2 * whole(sum / 2);
            t.want[l][i] = 2 * whole(sum / 2) / (float)t.n_ranks / t.weights[l][i];
        }
}

static struct reducer_step run(struct reducer *r, uint32_t step, float got[N_LAYERS][N_MAX])
{
    struct reducer_step report;
    float *at[N_LAYERS];
    memcpy(got, t.all[t.rank], sizeof t.all[t.rank]);
    for (int l = 0; l < N_LAYERS; l++)
        at[l] = got[l];
    if (reducer_run(r, step, at, &report) < 0)
        exit(1);
    return report;
}

static void check_run(const char *algo, const char *other)
{
    struct reducer *r = open_reducer(algo, false), *late = NULL;
    static uint8_t before[1 << 14], after[1 << 14];
    static float got[N_LAYERS][N_MAX], again[N_LAYERS][N_MAX];
    const size_t bytes = reducer_state_bytes(r);
    CHECK(bytes >= 8 * (37 + 8 + 129 + 64 + 3) && bytes <= sizeof before, "%zu bytes", bytes);
    memset(t.sent, 0, sizeof t.sent);
    memset(t.added, 0, sizeof t.added);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        make_grads(step);
        CHECK(reducer_state_get(r, before) == 0, "get");
        if (step == MOVED) {
            late = open_reducer(other, true);
            CHECK(reducer_state_bytes(late) == bytes && reducer_state_put(late, before) == 0,
                  "put");
        }
        reducer_force_fp32(r, step == WIDE);
        const struct reducer_step report = run(r, step, got);
        CHECK(reducer_state_get(r, after) == 0, "get");
        CHECK(report.skipped == (step == SKIPPED), "step %u", step);
        const bool kept = step == SKIPPED || step == WIDE;
        CHECK((memcmp(before, after, bytes) == 0) == kept, "%s step %u: the state", algo, step);
        if (kept)
            continue;
        work_out();
        for (int l = 0; l < N_LAYERS; l++)
            CHECK(memcmp(got[l], t.want[l], sizes[l] * sizeof(float)) == 0,
                  "%s step %u layer %d: not the mean", algo, step, l);
        if (!late)
            continue;
        run(late, step, again);
        for (int l = 0; l < N_LAYERS; l++)
            CHECK(memcmp(again[l], t.want[l], sizes[l] * sizeof(float)) == 0,
                  "%s step %u layer %d: not the mean of one that went on", other, step, l);
    }
    reducer_close(r);
    reducer_close(late);
}

static void check_refusals(void)
{
    static const char *const words[] = {"ring", "group-master:1", "group-scatter:1", "native"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct codec codec = {.kind = &carry, .ops = vec_best()};
        const struct algo *algo;
        int group;
        err_hold();
        CHECK(algo_find(words[i], t.n_ranks, &algo, &group) == 0 &&
                  algo_settle(algo, group, t.n_ranks, &codec) == -EINVAL,
              "\"%s\" takes it", words[i]);
        err_release(false);
    }
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    make_grads(0);
    check_refusals();
    check_run("direct", "direct");
    check_run("gather", "gather");
    comm_close(t.c);
    DONE();
}
