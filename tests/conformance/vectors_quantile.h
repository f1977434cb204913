/* vectors_quantile.h : vectors of scales by a quantile, with and without division by weights. */
#ifndef VECTORS_QUANTILE_H
#define VECTORS_QUANTILE_H
#include "codec/codec_kind.h"
#include "hls/arith/relative_lists.h"
#include "vectors_words.h"

static void quantile_rank_line(void)
{
    static const struct {
        double part;
        const char *text;
        uint32_t n;
    } done[] = {{0.95, "0.95", 1024}, {0.95, "0.95", 20},  {0.95, "0.95", 1},   {0.9, "0.9", 10},
                {1, "1", 16384},      {0.7, "0.7", 10},    {0.5, "0.5", 3},     {0.29, "0.29", 100},
                {0.001, "0.001", 5},  {0.07, "0.07", 100}, {0.55, "0.55", 100}, {0.52, "0.52", 10}};
    char id[64];
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
        snprintf(id, sizeof id, "quantile/rank-%zu", i);
        line_open(id, "quantile_rank", "R72");
        line_text("q", done[i].text);
        line_int("n", (long)done[i].n);
        line_int("rank", (long)relative_rank(done[i].part, done[i].n));
        line_close();
    }
}

static void quantile_sample_line(void)
{
    static const uint64_t sizes[] = {12, 13, 1000000, 0x100000000, 0x300000000};
    char id[64];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t key = philox_key(3, 2, 1, 0, 0x63617374);
        snprintf(id, sizeof id, "quantile/samples-%zu", i);
        line_open(id, "quantile_samples", "R71 R22");
        line_u64("key", key);
        line_u64("elements", sizes[i]);
        line_int("samples", 12);
        fputs(",\"at\":\"", line_to);
        for (uint32_t k = 0; k < 12; k++)
            fprintf(
                line_to, "%s%016llx", k ? " " : "",
                (unsigned long long)relative_sampled(relative_samples_key(key), sizes[i], 12, k));
        fputs("\"", line_to);
        line_close();
    }
}

static void quantile_clamp_line(void)
{
    static const float q[] = {0, 0x1p-149f, 0x1p-126f, 0x1p-100f, 1, 3, 0x1p127f, 0x1.fffffep127f};
    static const char *const names[] = {"e5m2", "e4m3", "e8m7", "e6m9"};
    enum { N = sizeof q / sizeof *q };
    char id[64];
    for (size_t k = 0; k < 4; k++) {
        const struct mf_fmt f = format_of(names[k]);
        const float top = f.e > 6 ? 0x1p32f : float_of(mf_dec(f, mf_max(f), 0));
        float kept[N], up[N], down[N];
        for (size_t i = 0; i < N; i++) {
            kept[i] = relative_quantile(q[i], top);
            const struct relative_scale s = relative_scale_of(kept[i], top);
            up[i] = s.up;
            down[i] = s.down;
        }
        snprintf(id, sizeof id, "quantile/factors-%s", names[k]);
        line_open(id, "quantile_factors", "R73 R74");
        line_text("format", names[k]);
        line_floats("max", q, N);
        line_floats("q", kept, N);
        line_floats("up", up, N);
        line_floats("down", down, N);
        line_close();
    }
}

struct quantile_case {
    struct codec_spec spec;
    int ranks, node;
    uint64_t step;
    int low; /* exponent of gradients; above 0: weights are 0, so that quotients are infinite */
};

/* A layer of 24 elements on all ranks: quantiles, codes, nodes' sums, sum, means. */
static void quantile_step(size_t k, const struct quantile_case *q)
{
    enum { N = 24 };
    struct codec c;
    struct floats g[PARTS_MAX], w;
    struct codec_layer layer = {.index = 2, .n = N};
    struct codec_part part = {.layer = &layer};
    static uint8_t parts[PARTS_MAX][1024], nodes[2][128], sum[128], codes[128];
    const uint8_t *list[PARTS_MAX], *node_list[2] = {nodes[0], nodes[1]};
    float own[PARTS_MAX], mean[N];
    char id[64], name[CODEC_NAME_BYTES];
    if (codec_parse(&q->spec, &c) < 0 ||
        codec_settle(&c, q->ranks,
                     &(struct codec_adder){.name = "vectors", .node = q->node, .group = q->node}) <
            0)
        abort();
    const struct vec_sum *rule = codec_sum(&c);
    const struct codec_call call = {.codec = &c, .layers = &layer, .n_layers = 1};
    const struct reduce_op op = codec_reduce_op(&call);
    const bool weights = codec_asks_weights(&c), exact = rule->rule == VEC_EXACT;
    put_floats(&w, N, 500 + 8 * k, -5);
    if (q->low > 0)
        memset(w.x, 0, sizeof w.x);
    layer.weights = w.x;
    for (int r = 0; r < q->ranks; r++) {
        put_floats(&g[r], N, 501 + 8 * k + (uint64_t)r, q->low);
        struct vec_span s = {.x = g[r].x, .n = N, .key = codec_key(&c, q->step, 2, (uint32_t)r)};
        codec_absmax_all(&c, &s, &part, 1);
        own[r] = float_of(s.absmax);
        layer.max = own[r] > layer.max ? own[r] : layer.max;
    }
    for (int r = 0; r < q->ranks; r++) {
        struct vec_span s = {.x = g[r].x, .n = N, .padded = N, .codes = parts[r]};
        codec_encode_all(&c, &s, &part, 1);
        list[r] = parts[r];
    }
    const int n_nodes = q->node && !exact ? q->ranks / q->node : 1;
    for (int n = 0; n < n_nodes && n_nodes > 1; n++)
        op.ops->sum(&op, 0, list + n * q->node, q->node, N, false, nodes[n]);
    op.ops->sum(&op, 0, n_nodes > 1 ? node_list : list, n_nodes > 1 ? n_nodes : q->ranks, N, true,
                sum);
    memcpy(codes, sum, vec_bytes(rule->out, N));
    const struct vec_out out = codec_out(&c, codes, N, 0, mean);
    codec_decode_all(&c, &out, &part, 1);
    snprintf(id, sizeof id, "quantile/step-%zu", k);
    line_open(id, "quantile_step",
              n_nodes > 1 ? "R70 R71 R72 R73 R74 R75 R76" : "R70 R72 R73 R74 R76");
    line_text("format", codec_format_name(rule->in, name));
    line_text("sum", codec_rule_name(rule->rule));
    line_text("of", weights ? "weights" : "gradient");
    line_text("q", k == 2 ? "0.5" : "0.95");
    line_int("samples", k == 2 ? 16 : 1024);
    line_int("ranks", q->ranks);
    line_int("node", q->node ? q->node : q->ranks);
    line_u64("seed", c.seed);
    line_int("step", (long)q->step);
    line_int("layer", 2);
    if (weights) {
        const float eps = 1e-5f;
        line_floats("eps", &eps, 1);
        line_floats("weights", w.x, N);
    }
    fputs(",\"gradients\":[", line_to);
    for (int r = 0; r < q->ranks; r++) {
        uint32_t bits[N];
        memcpy(bits, g[r].x, sizeof bits);
        fputs(r ? "," : "", line_to);
        line_bare_words(bits, N, 8);
    }
    fputc(']', line_to);
    line_floats("own_q", own, (size_t)q->ranks);
    line_parts("codes", parts, q->ranks, vec_bytes(rule->in, N));
    if (n_nodes > 1) {
        line_bytes("node_0", nodes[0], vec_bytes(rule->in, N));
        line_bytes("node_1", nodes[1], vec_bytes(rule->in, N));
    }
    line_bytes("sum_codes", sum, vec_bytes(rule->out, N));
    line_floats("means", mean, N);
    line_close();
}

static void quantile_lines(void)
{
    static const struct quantile_case cases[] = {
        {{.codec = "relgrad"}, 3, 0, 1, -12},
        {{.codec = "relgrad", .sum = "exact"}, 3, 0, 1, -12},
        {{.format = "e4m3", .scale = "quantile:q=0.5,samples=16", .sum = "nearest"},
         4,
         2,
         1000,
         -12},
        {{.codec = "relgrad"}, 4, 2, 1, -12},
        {{.format = "fp32", .scale = "quantile", .sum = "fp32"}, 3, 0, 1, -12},
        {{.codec = "relgrad"}, 2, 0, 1, 118}};
    quantile_rank_line();
    quantile_sample_line();
    quantile_clamp_line();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        quantile_step(k, &cases[k]);
}

#endif
