/* vectors_exchange.h : vectors of whole steps: the messages that the ranks' reducers send to cards,
 * with several buckets, layers in fp32, overlap, groups and quantiles. */
#ifndef VECTORS_EXCHANGE_H
#define VECTORS_EXCHANGE_H
#include "recorded_ranks.h"
#include "vectors_packets.h"

enum { EXCHANGE_N = 48, EXCHANGE_STEPS = 6 };

/* A step's kind: one rank's first gradient is inf, or all layers travel in fp32. */
enum exchange_kind { EXCHANGE_END, EXCHANGE_STEP, EXCHANGE_INF, EXCHANGE_FORCED };

struct exchange {
    const char *id, *rules;
    struct codec_spec spec;
    int ranks;
    size_t bucket_bytes;
    bool overlap, weights;
    struct {
        size_t n;
        bool fp32;
        int low; /* exponent of gradients; EXCHANGE_ZERO: all are 0 in step 0 */
    } layers[RECORDED_LAYERS];
    int n_layers;
    enum exchange_kind steps[EXCHANGE_STEPS];
};
enum { EXCHANGE_ZERO = -1000 };

static struct recorded exchange_all;
static struct recorded_rank exchange_ranks[RECORDED_RANKS];
static float exchange_x[RECORDED_RANKS][RECORDED_LAYERS][EXCHANGE_N],
    exchange_w[RECORDED_LAYERS][EXCHANGE_N];

static void exchange_floats(float *x, size_t n, uint64_t seed, int low)
{
    struct floats v;
    put_floats(&v, n, seed, low == EXCHANGE_ZERO ? -12 : low);
    memcpy(x, v.x, n * sizeof *x);
}

static void exchange_gradients(const struct exchange *e, uint64_t step)
{
    for (int r = 0; r < e->ranks; r++)
        for (int l = 0; l < e->n_layers; l++) {
            float *x = exchange_x[r][l];
            exchange_floats(x, e->layers[l].n, 1000 + 64 * step + 8 * (uint64_t)r + (uint64_t)l,
                            e->layers[l].low - r);
            if (step == 0 && e->layers[l].low == EXCHANGE_ZERO)
                memset(x, 0, e->layers[l].n * sizeof *x);
            exchange_ranks[r].grads[l] = x;
        }
    if (e->steps[step] == EXCHANGE_INF)
        exchange_x[e->ranks - 1][0][0] = INFINITY;
}

static void exchange_words(const float *x, size_t n)
{
    uint32_t bits[EXCHANGE_N];
    memcpy(bits, x, n * sizeof *x);
    line_bare_words(bits, n, 8);
}

static void exchange_layers(const struct exchange *e, const struct plan *plan)
{
    fputs(",\"layers\":[", line_to);
    for (int l = 0; l < e->n_layers; l++) {
        fprintf(line_to, "%s{\"n\":%zu,\"fp32\":%d", l ? "," : "", e->layers[l].n,
                e->layers[l].fp32);
        if (e->weights) {
            fputs(",\"weights\":", line_to);
            exchange_words(exchange_w[l], e->layers[l].n);
        }
        fputc('}', line_to);
    }
    fputs("],\"buckets\":[", line_to);
    for (int b = 0; b < plan->n_buckets; b++) {
        fputs(b ? ",[" : "[", line_to);
        for (int k = 0; k < plan->buckets[b].n_layers; k++)
            fprintf(line_to, "%s%u", k ? "," : "", plan->buckets[b].call.layers[k].index);
        fputc(']', line_to);
    }
    fputc(']', line_to);
}

static void exchange_messages(const struct exchange *e)
{
    fputs(",\"messages\":[", line_to);
    for (int i = 0; i < exchange_all.n_messages; i++) {
        const struct recorded_message *m = &exchange_all.messages[i];
        fprintf(line_to, "%s{\"kind\":\"%s\",\"n\":%zu,\"tag\":\"%08x\",\"sent\":[", i ? "," : "",
                m->is_max ? "max" : "sum", m->n, m->tag);
        for (int r = 0; r < e->ranks; r++) {
            fputs(r ? "," : "", line_to);
            line_bare_bytes(m->sent[r], m->sent_bytes);
        }
        fputc(']', line_to);
        line_bytes("result", m->result, m->result_bytes);
        fputc('}', line_to);
    }
    fputc(']', line_to);
}

static void exchange_step(const struct exchange *e, uint64_t step)
{
    const bool forced = e->steps[step] == EXCHANGE_FORCED;
    exchange_gradients(e, step);
    fprintf(line_to, "%s{\"step\":%d,\"forced\":%d,\"gradients\":[", step ? "," : "", (int)step,
            forced);
    for (int r = 0; r < e->ranks; r++) {
        fputs(r ? ",[" : "[", line_to);
        for (int l = 0; l < e->n_layers; l++) {
            fputs(l ? "," : "", line_to);
            exchange_words(exchange_x[r][l], e->layers[l].n);
        }
        fputc(']', line_to);
        reducer_force_fp32(exchange_ranks[r].reducer, forced);
    }
    fputc(']', line_to);
    recorded_step(&exchange_all, exchange_ranks, step);
    exchange_messages(e);
    const bool skipped = exchange_ranks[0].report.skipped;
    line_int("skipped", skipped);
    fputs(",\"means\":[", line_to);
    for (int l = 0; l < e->n_layers; l++) {
        fputs(l ? "," : "", line_to);
        exchange_words(exchange_x[0][l],
                       skipped || forced || e->layers[l].fp32 ? 0 : e->layers[l].n);
    }
    fputs("]}", line_to);
}

static void exchange_line(const struct exchange *e)
{
    static struct reducer_layer layers[RECORDED_LAYERS];
    const float *weights[RECORDED_LAYERS];
    const struct codec codec = codec_for(&e->spec, e->ranks);
    const uint32_t tag = codec_tag(&codec);
    char text[CODEC_TEXT_BYTES], name[CODEC_NAME_BYTES];
    for (int l = 0; l < e->n_layers; l++) {
        layers[l] = (struct reducer_layer){.n = e->layers[l].n, .fp32 = e->layers[l].fp32};
        exchange_floats(exchange_w[l], e->layers[l].n, 900 + (uint64_t)l, -5);
        weights[l] = exchange_w[l];
    }
    recorded_open(&exchange_all, exchange_ranks, e->ranks, &codec, layers, e->n_layers,
                  e->bucket_bytes, e->overlap);
    for (int r = 0; r < e->ranks && e->weights; r++)
        reducer_set_weights(exchange_ranks[r].reducer, weights);
    line_open(e->id, "exchange", e->rules);
    line_text("codec", codec_describe(&codec, text));
    line_words("codec_tag", &tag, 1, 8);
    line_text("format", codec_format_name(codec_sum(&codec)->in, name));
    line_text("scale", e->spec.scale ? e->spec.scale : "relgrad");
    line_text("out", codec_result_name(codec_sum(&codec), name));
    line_int("out_shift", codec_sum(&codec)->out_shift);
    line_int("ranks", e->ranks);
    line_int("overlap", e->overlap);
    line_u64("seed", codec.seed);
    exchange_layers(e, &exchange_ranks[0].reducer->plans[NARROW]);
    fputs(",\"steps\":[", line_to);
    for (uint64_t s = 0; e->steps[s]; s++)
        exchange_step(e, s);
    fputc(']', line_to);
    line_close();
    recorded_close(&exchange_all, exchange_ranks);
}

#define EXCHANGE_RULES "R24 R25 R26 R28 R79 R80 R134"

static void exchange_lines(void)
{
    /* The buckets are (4, 2), (3, 1) in fp32, and (0). */
    static const struct exchange done[] = {
        {.id = "exchange/fp32-layers",
         .rules = EXCHANGE_RULES,
         .spec = {.format = "e4m3", .scale = "aps-tight", .sum = "exact"},
         .ranks = 3,
         .bucket_bytes = 40,
         .layers =
             {{12, false, -9}, {5, true, -3}, {20, false, -14}, {8, true, -30}, {9, false, 2}},
         .n_layers = 5,
         .steps = {EXCHANGE_STEP, EXCHANGE_INF, EXCHANGE_FORCED, EXCHANGE_STEP}},
        {.id = "exchange/overlap",
         .rules = EXCHANGE_RULES " R30",
         .spec = {.format = "e4m3", .scale = "aps", .sum = "exact"},
         .ranks = 2,
         .bucket_bytes = 40,
         .overlap = true,
         .layers =
             {{12, false, -9}, {5, true, -3}, {20, false, -14}, {8, true, -30}, {9, false, 2}},
         .n_layers = 5,
         .steps = {EXCHANGE_STEP, EXCHANGE_INF}},
        {.id = "exchange/groups",
         .rules = EXCHANGE_RULES " R135 R136 R137",
         .spec = {.format = "e4m3", .scale = "aps-tight:16", .sum = "exact"},
         .ranks = 2,
         .bucket_bytes = 4096,
         .layers = {{40, false, -9}, {5, true, -3}, {17, false, -14}},
         .n_layers = 3,
         .steps = {EXCHANGE_STEP}},
        {.id = "exchange/quantile",
         .rules = EXCHANGE_RULES " R70 R71 R72 R73 R74 R76 R133",
         .spec = {.format = "e4m3", .scale = "quantile:q=0.5,every=2,samples=8", .sum = "exact"},
         .ranks = 2,
         .bucket_bytes = 4096,
         .layers = {{12, false, -9}, {5, true, -3}, {9, false, EXCHANGE_ZERO}},
         .n_layers = 3,
         .steps = {EXCHANGE_STEP, EXCHANGE_INF, EXCHANGE_FORCED, EXCHANGE_STEP, EXCHANGE_STEP}},
        {.id = "exchange/relgrad",
         .rules = EXCHANGE_RULES " R70 R71 R72 R73 R74 R76 R133",
         .spec = {.codec = "relgrad:q=0.5,every=3,samples=8", .sum = "exact"},
         .ranks = 2,
         .bucket_bytes = 4096,
         .overlap = true,
         .weights = true,
         .layers = {{12, false, -9}, {9, false, -20}},
         .n_layers = 2,
         .steps = {EXCHANGE_STEP, EXCHANGE_STEP}}};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        exchange_line(&done[i]);
}

#endif
