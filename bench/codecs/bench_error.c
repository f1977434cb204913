/* bench_error.c : measures codecs' errors on real gradients: the mean of P ranks against their
 * fp64 mean.
 *   build/bench_error DIR [--json]
 *   build/bench_error DIR --algo A,B,... [options]      error_orders.c: by algorithm and layer
 *
 * DIR is from `narrowcast train --dump-gradients DIR`. Inexact sums are added in rank order.
 * Columns:
 *     L2       sqrt(sum (x - ref)^2 / sum ref^2) over the whole gradient, mean over steps
 *     slope    of the mean on ref, sum (x * ref) / sum ref^2, mean over steps; 1 keeps its length
 *     eq. 5    mean of |x - ref| / |ref| over ref != 0 of all steps (APS paper; heavy-tailed)
 *     median   of the same quotients, accurate to 0.4 % */
#include "base/buf.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/progress.h"
#include "bench/measure.h"
#include "codec/codec.h"
#include "dump.h"
#include "error_orders.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Result "F:layer": one exponent per layer, found from its exact sums; no option of train. */
static const struct codec_spec spec[] = {
    {.format = "fp32", .scale = "none"},
    {.format = "e3m23", .scale = "aps-tight:32"},
    {.format = "bf16", .scale = "none"},
    {.format = "fp16", .scale = "none"},
    {.format = "e5m2", .scale = "none"},
    {.format = "e5m2", .scale = "aps"},
    {.format = "e5m2", .scale = "aps-tight"},
    {.format = "e5m2", .scale = "aps", .sum = "nearest"},
    {.format = "e4m3", .scale = "none"},
    {.format = "e4m3", .scale = "aps"},
    {.format = "e4m3", .scale = "aps-tight"},
    {.format = "e4m3", .scale = "aps", .sum = "nearest"},
    {.format = "e4m3fn", .scale = "none"},
    {.format = "e4m3fn", .scale = "aps"},
    {.format = "e4m3fn", .scale = "aps-tight"},
    {.format = "e4m3", .scale = "aps-tight:32"},
    {.format = "e3m4", .scale = "aps-tight"},
    {.format = "e3m4", .scale = "aps-tight", .out_format = "e3m4:32"},
    {.format = "e3m4", .scale = "aps-tight:32"},
    {.format = "e2m5f", .scale = "aps-tight"},
    {.format = "e2m5f", .scale = "aps-tight", .out_format = "fp32"},
    {.format = "e2m5f", .scale = "aps-tight", .out_format = "e2m5f:layer"},
    {.format = "e2m5f", .scale = "aps-tight", .out_format = "e2m5f:128"},
    {.format = "e2m5f", .scale = "aps-tight", .out_format = "e2m5f:32"},
    {.format = "e2m5f", .scale = "aps-tight:32", .out_format = "e2m5f"},
    {.format = "e2m5f", .scale = "aps-tight:16"},
    {.format = "e2m5f", .scale = "aps-tight:32"},
    {.format = "e2m5f", .scale = "aps-tight:64"},
    {.format = "e2m5f", .scale = "aps-tight:128"},
    {.format = "e2m5f", .scale = "aps:32"},
    {.format = "e2m5f", .scale = "aps-tight:32", .out_format = "fp32"},
    {.format = "e2m3f", .scale = "aps-tight"},
    {.format = "e2m3f", .scale = "aps-tight", .out_format = "fp32"},
    {.format = "e2m3f", .scale = "aps-tight", .out_format = "e2m3f:layer"},
    {.format = "e2m3f", .scale = "aps-tight", .out_format = "e2m3f:128"},
    {.format = "e2m3f", .scale = "aps-tight", .out_format = "e2m3f:32"},
    {.format = "e2m3f", .scale = "aps-tight:32"},
    {.format = "e2m3f", .scale = "aps-tight:32", .out_format = "fp32"},
    {.format = "e2m1f", .scale = "aps-tight"},
    {.format = "e2m1f", .scale = "aps-tight", .out_format = "fp32"},
    {.format = "e2m1f", .scale = "aps-tight", .out_format = "e2m1f"},
    {.format = "e2m1f", .scale = "aps-tight", .out_format = "e2m1f:layer"},
    {.format = "e2m1f", .scale = "aps-tight", .out_format = "e2m1f:128"},
    {.format = "e2m1f", .scale = "aps-tight", .out_format = "e2m1f:32"},
    {.format = "e2m1f", .scale = "aps-tight:32"},
    {.format = "e2m1f", .scale = "aps-tight:32", .out_format = "e2m1f:32"},
    {.format = "e2m1f", .scale = "aps-tight:32", .out_format = "fp32"},
    {.format = "e3m0", .scale = "none"},
    {.format = "e3m0", .scale = "aps"},
    {.format = "e3m0", .scale = "aps", .out_format = "e3m0"},
    {.format = "e3m0", .scale = "aps-tight"},
    {.format = "e3m0", .scale = "aps-tight", .out_format = "e3m0"},
    {.format = "e3m0", .scale = "aps-tight", .out_format = "fp32"},
    {.format = "e3m0", .scale = "aps-tight", .out_format = "e3m0:layer"},
    {.format = "e3m0", .scale = "aps-tight", .out_format = "e3m0:128"},
    {.format = "e3m0", .scale = "aps-tight", .out_format = "e3m0:32"},
    {.format = "e3m0", .scale = "aps-tight:32"},
    {.format = "e3m0", .scale = "aps-tight:32", .out_format = "e3m0:32"},
};
enum { N_ROWS = sizeof spec / sizeof spec[0], PADDING = VEC_GROUP_MAX };

struct row {
    bool refused;  /* by codec_settle(), for this number of ranks */
    bool by_layer; /* the result */
    struct codec codec;
    struct tally tally;
};

struct bench {
    struct dump dump;
    struct row rows[N_ROWS];
    uint64_t n_steps, n_skipped;
    float *grads;         /* [n_ranks][n], of the last step read */
    double *ref;          /* [n] fp64 mean */
    float *mean;          /* [n] result of the codec */
    uint32_t *absmax;     /* [n_layers] over all ranks */
    uint8_t *codes, *sum; /* of a layer */
    void *acc;
    int8_t *exponents, *own; /* of a layer's groups, over all ranks and of one */
};

static int open_rows(struct bench *b)
{
    for (int i = 0; i < N_ROWS; i++) {
        struct row *r = b->rows + i;
        struct codec_spec own = spec[i];
        char out[CODEC_NAME_BYTES];
        const char *colon = own.out_format ? strchr(own.out_format, ':') : NULL;
        r->by_layer = colon && strcmp(colon, ":layer") == 0;
        if (r->by_layer) {
            snprintf(out, sizeof out, "%.*s", (int)(colon - own.out_format), own.out_format);
            own.out_format = out;
        }
        TRY(codec_parse(&own, &r->codec));
        r->refused = codec_settle(&r->codec, b->dump.n_ranks,
                                  &(struct codec_adder){.name = "in one process"}) < 0;
        TRY(tally_open(&r->tally));
    }
    return 0;
}

static int bench_open(struct bench *b, const char *dir)
{
    struct dump *d = &b->dump;
    TRY(dump_open(d, dir));
    TRY(open_rows(b));
    b->grads = d->n <= SIZE_MAX / 4 / (size_t)d->n_ranks
                   ? buf_alloc((size_t)d->n_ranks * d->n * sizeof *b->grads)
                   : NULL;
    b->ref = buf_alloc(d->n * sizeof *b->ref);
    b->mean = buf_alloc(d->n * sizeof *b->mean);
    b->absmax = buf_alloc((size_t)d->n_layers * sizeof *b->absmax);
    b->codes = buf_alloc((d->n + PADDING) * 4);
    b->sum = buf_alloc((d->n + PADDING) * 5);
    b->acc = buf_alloc((d->n + PADDING) * 8);
    b->exponents = buf_alloc(d->n);
    b->own = buf_alloc(d->n);
    return b->grads && b->ref && b->mean && b->absmax && b->codes && b->sum && b->acc &&
                   b->exponents && b->own
               ? 0
               : -ENOMEM;
}

static void bench_close(struct bench *b)
{
    for (int i = 0; i < N_ROWS; i++)
        tally_close(&b->rows[i].tally);
    dump_close(&b->dump);
    free(b->grads);
    free(b->ref), free(b->mean), free(b->absmax), free(b->codes), free(b->sum), free(b->acc);
    free(b->exponents), free(b->own);
}

/* Compute the fp64 mean and the layers' maxima. Returns false if training would skip the step for
 * inf or nan. */
static bool measure_step(struct bench *b)
{
    const struct dump *d = &b->dump;
    const struct vec_ops *ops = vec_best();
    memset(b->absmax, 0, (size_t)d->n_layers * sizeof *b->absmax);
    memset(b->ref, 0, d->n * sizeof *b->ref);
    for (int r = 0; r < d->n_ranks; r++) {
        const float *g = b->grads + (size_t)r * d->n;
        if (ops->absmax(g, d->n) >= 0x7f800000)
            return false;
        for (int l = 0; l < d->n_layers; l++) {
            uint32_t max = ops->absmax(g + d->layers[l].offset, d->layers[l].n);
            b->absmax[l] = max > b->absmax[l] ? max : b->absmax[l];
        }
        for (size_t i = 0; i < d->n; i++)
            b->ref[i] += (double)g[i];
    }
    for (size_t i = 0; i < d->n; i++)
        b->ref[i] /= d->n_ranks;
    return true;
}

/* Return the layer on rank r as a span. */
static struct vec_span span_of(struct bench *b, const struct codec *c, uint64_t step, int l, int r)
{
    const struct dump *d = &b->dump;
    const struct dump_layer *layer = d->layers + l;
    struct vec_scale scale = {.group = 0};
    const bool groups = codec_groups(c, &scale);
    return (struct vec_span){.x = b->grads + (size_t)r * d->n + layer->offset,
                             .codes = b->codes,
                             .n = layer->n,
                             .padded = (layer->n + PADDING - 1) / PADDING * PADDING,
                             .key = codec_key(c, step, (uint32_t)l, (uint32_t)r),
                             .shift = codec_shift(c, groups ? 0 : codec_exponent(c, b->absmax[l])),
                             .group = scale.group,
                             .exponents = b->exponents};
}

/* Find the exponents of a layer's groups over all ranks. */
static void agree(struct bench *b, const struct codec *c, int l)
{
    const size_t n = codec_n_exponents(c, b->dump.layers[l].n);
    memset(b->exponents, CODEC_ALL_ZERO, n);
    for (int r = 0; r < b->dump.n_ranks; r++) {
        struct vec_span span = span_of(b, c, 0, l, r);
        span.exponents = b->own;
        codec_exponents_all(c, &span, 1);
        for (size_t i = 0; i < n; i++)
            b->exponents[i] = b->own[i] > b->exponents[i] ? b->own[i] : b->exponents[i];
    }
}

/* Round a layer's n exact sums to one exponent of their own. Returns it. */
static int8_t finish_by_layer(struct bench *b, const struct codec *c, size_t n)
{
    const struct vec_sum *sum = codec_sum(c);
    const uint64_t *acc = b->acc;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = vec_acc_magnitude(acc[i]) > most ? vec_acc_magnitude(acc[i]) : most;
    const int8_t exponent = vec_block_exponent(sum->in, most, sum->out);
    c->ops->finish(sum, acc, n, sum->out, exponent, b->sum);
    return exponent;
}

/* Reduce layer l into b->mean. */
static void run_layer(struct bench *b, const struct row *r, uint64_t step, int l)
{
    const struct codec *c = &r->codec;
    const struct dump_layer *layer = b->dump.layers + l;
    const struct codec_layer whole = {.index = (uint32_t)l, .n = layer->n};
    const struct codec_part part = {.layer = &whole};
    const struct reduce_op op = codec_reduce_op(&(struct codec_call){.codec = c});
    struct vec_span span = {.group = 0};
    struct vec_scale scale;
    if (codec_groups(c, &scale))
        agree(b, c, l);
    for (int rank = 0; rank < b->dump.n_ranks; rank++) {
        span = span_of(b, c, step, l, rank);
        codec_encode_all(c, &span, &part, 1);
        op.ops->add(&op, 0, b->acc, b->codes, span.padded, rank == 0);
    }
    struct vec_out out = codec_out(c, b->sum, layer->n, span.shift, b->mean + layer->offset);
    if (r->by_layer)
        out.shift = finish_by_layer(b, c, span.padded) - span.shift;
    else
        op.ops->done(&op, 0, b->acc, span.padded, b->sum);
    out.group = span.group;
    out.exponents = span.exponents;
    codec_decode_all(c, &out, &part, 1);
}

static int bench_run(struct bench *b)
{
    struct dump *d = &b->dump;
    struct progress progress;
    progress_init(&progress, true);
    for (uint64_t s = d->first; s < d->first + d->n_steps; s++) {
        for (int r = 0; r < d->n_ranks; r++)
            TRY(dump_read_rank(d, s, r, b->grads + (size_t)r * d->n));
        if (!measure_step(b)) {
            b->n_skipped++;
            continue;
        }
        b->n_steps++;
        for (int i = 0; i < N_ROWS; i++) {
            struct row *r = b->rows + i;
            if (r->refused)
                continue;
            for (int l = 0; l < d->n_layers; l++)
                run_layer(b, r, s, l);
            tally_add(&r->tally, b->ref, b->mean, d->n);
            if (progress_due(&progress))
                progress_say(&progress, "step %" PRIu64 " of %" PRIu64, s - d->first + 1,
                             d->n_steps);
        }
    }
    progress_clear(&progress);
    if (b->n_steps == 0)
        return ERR(-EINVAL, "cannot judge \"%s\": every step has inf or nan in it", d->dir);
    return 0;
}

static const char *result_of(const struct bench *b, int i, char name[CODEC_NAME_BYTES])
{
    return b->rows[i].by_layer ? spec[i].out_format
                               : codec_result_name(codec_sum(&b->rows[i].codec), name);
}

static void show_table(const struct bench *b)
{
    const struct dump *d = &b->dump;
    char out[CODEC_NAME_BYTES];
    printf("%d ranks, %d layers, %zu elements, %" PRIu64 " steps from %" PRIu64 " (%" PRIu64
           " skipped: inf or nan)\n",
           d->n_ranks, d->n_layers, d->n, b->n_steps, d->first, b->n_skipped);
    printf("error of the mean, %%\n%-8s %-13s %-8s %-11s %12s %9s %12s %12s\n", "format", "scale",
           "sum", "result", "L2", "slope", "eq. 5", "median");
    for (int i = 0; i < N_ROWS; i++) {
        const struct row *r = b->rows + i;
        printf("%-8s %-13s ", spec[i].format, spec[i].scale);
        if (r->refused)
            printf("refused for %d ranks\n", d->n_ranks);
        else
            printf("%-8s %-11s %12.4g %9.4f %12.4g %12.4g\n",
                   codec_rule_name(codec_sum(&r->codec)->rule), result_of(b, i, out),
                   100 * tally_l2(&r->tally, b->n_steps), tally_slope(&r->tally, b->n_steps),
                   100 * round_off_mean(&r->tally.off), 100 * round_off_median(&r->tally.off));
    }
}

static int show_json(const struct bench *b)
{
    for (int i = 0; i < N_ROWS; i++) {
        const struct row *r = b->rows + i;
        char out[CODEC_NAME_BYTES];
        struct jsonl j;
        if (r->refused)
            continue;
        jsonl_to(&j, stdout);
        jsonl_begin(&j, "error");
        jsonl_text(&j, "format", spec[i].format);
        jsonl_text(&j, "scale", spec[i].scale);
        jsonl_text(&j, "sum", codec_rule_name(codec_sum(&r->codec)->rule));
        jsonl_text(&j, "out_format", result_of(b, i, out));
        jsonl_int(&j, "ranks", b->dump.n_ranks);
        jsonl_uint(&j, "elements", b->dump.n);
        jsonl_uint(&j, "steps", b->n_steps);
        jsonl_uint(&j, "skipped", b->n_skipped);
        jsonl_real(&j, "l2", tally_l2(&r->tally, b->n_steps));
        jsonl_real(&j, "slope", tally_slope(&r->tally, b->n_steps));
        jsonl_real(&j, "mean", round_off_mean(&r->tally.off));
        jsonl_real(&j, "median", round_off_median(&r->tally.off));
        TRY(jsonl_end(&j));
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *dir = NULL;
    bool json = false, bad = false;
    measure_check_output();
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--algo", 6) == 0 || strcmp(argv[i], "--help") == 0)
            return orders_main(argc - 1, argv + 1);
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (dir || argv[i][0] == '-')
            bad = true;
        else
            dir = argv[i];
    }
    if (!dir || bad) {
        (void)ERR(-EINVAL, "usage: bench_error DIR [--json], where narrowcast train "
                           "--dump-gradients wrote DIR; see --help for --algo");
        return 2;
    }
    struct bench b = {0};
    int rc = bench_open(&b, dir);
    if (rc == 0)
        rc = bench_run(&b);
    if (rc == 0 && json)
        rc = show_json(&b);
    else if (rc == 0)
        show_table(&b);
    bench_close(&b);
    return rc ? 1 : 0;
}
