/* bench_codecs.c : measures every codec on real gradients: speed, bytes, error of a step, bias and
 * variance of stochastic rounding.
 *
 * Each codec runs on all layers of rank 0's first step without inf or nan. Columns:
 *     encode   GB/s of fp32 read by one thread, in CPU time, on gradients repeated to fill --mib,
 *              and the ratio to a memcpy of them in turn; with all scans except those for shifts
 *              (the previous step's)
 *     decode   the same, of fp32 written
 *     bytes    per element: written by encoding, and by formula for long layers
 *     L2       sqrt(sum (x - g)^2 / sum g^2) of one step; for 1bitSGD of its first
 *     bias, variance   over --draws samples: codec_noise.c */
#include "base/buf.h"
#include "base/clock.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "base/progress.h"
#include "codec_pass.h"
#include "bench/measure.h"
#include <math.h>

enum { MAX_REPS = 101, SEED = 1 };

struct options {
    int64_t mib, reps, draws;
    const char *only, *dir;
    bool json;
};

#define STOCHASTIC .scale = "aps-tight", .round = "stochastic"
static const struct codec_row codec_rows[] = {
    {"fp32", {.format = "fp32"}, DRAWS_NONE, 32, 0, 1, 0},
    {"fp16", {.format = "fp16"}, DRAWS_NONE, 16, 0, 1, 0},
    {"e5m2 aps", {.format = "e5m2", .scale = "aps"}, DRAWS_NONE, 8, 0, 1, 0},
    {"e4m3 aps", {.format = "e4m3", .scale = "aps"}, DRAWS_NONE, 8, 0, 1, 0},
    {"e3m0 stochastic",
     {.format = "e3m0", .out_format = "e3m0", STOCHASTIC},
     DRAWS_FLOAT,
     4,
     0,
     1,
     0},
    {"e1m2 stochastic",
     {.format = "e1m2", .out_format = "e1m2", STOCHASTIC},
     DRAWS_FLOAT,
     4,
     0,
     1,
     0},
    {"qsgd:16", {.codec = "qsgd:16"}, DRAWS_SIGN, 16, 4, 8192, 0},
    {"qsgd:8", {.codec = "qsgd:8"}, DRAWS_SIGN, 8, 4, 512, 0},
    {"qsgd:4", {.codec = "qsgd:4"}, DRAWS_SIGN, 4, 4, 512, 0},
    {"qsgd:2", {.codec = "qsgd:2"}, DRAWS_SIGN, 2, 4, 128, 0},
    {"qsgd:1", {.codec = "qsgd:1"}, DRAWS_EVEN, 1, 4, 128, 0},
    {"qsgd:4 norm=2", {.codec = "qsgd:4,norm=2"}, DRAWS_SIGN, 4, 4, 512, 1},
    {"qsgd:4 levels=even", {.codec = "qsgd:4,levels=even"}, DRAWS_EVEN, 4, 4, 512, 0},
    {"onebit:64", {.codec = "onebit:64"}, DRAWS_NONE, 1, 8, 64, 0},
    {"onebit:column", {.codec = "onebit:column"}, DRAWS_NONE, 1, 8, 0, 0},
    {"nvfp4", {.codec = "nvfp4"}, DRAWS_NONE, 4, 1, 16, 0},
    {"ternary", {.codec = "ternary"}, DRAWS_LAYER, 2, 0, 1, 0},
    {"relgrad:of=gradient", {.codec = "relgrad:of=gradient"}, DRAWS_NONE, 8, 0, 1, 0},
    {"relgrad", {.codec = "relgrad"}, DRAWS_NONE, 8, 0, 1, 0}, /* needs weights in the dump */
};
#undef STOCHASTIC
enum { N_CODEC_ROWS = sizeof codec_rows / sizeof codec_rows[0] };

/* Returns bytes per element, without the ends of layers; for columns, those of the dump. */
static double codec_row_bytes(const struct codec_row *r, const struct dump *d)
{
    if (r->bucket)
        return r->bits / 8.0 + (double)r->beside / (double)r->bucket;
    double bytes = 0;
    for (int l = 0; l < d->n_layers; l++) {
        const size_t column = d->layers[l].column ? d->layers[l].column : d->layers[l].n;
        bytes += (double)d->layers[l].n / (double)column *
                 (double)(r->beside + (column * r->bits + 31) / 32 * 4);
    }
    return bytes / (double)d->n;
}

struct bench {
    struct dump dump;
    int copies;     /* for timing */
    float *x, *out; /* [copies][n] */
    float *weights; /* [n] or NULL */
    struct progress progress;
};

struct result {
    double encode_gbs, decode_gbs, memcpy_gbs, encode, decode; /* encode, decode: memcpy = 1 */
    double bytes, formula, l2;
    struct codec_noise noise;
};

static int read_gradients(struct bench *b)
{
    const struct dump *d = &b->dump;
    const struct vec_ops *ops = vec_best();
    for (uint64_t s = d->first; s < d->first + d->n_steps; s++) {
        char weights[PATH_MAX];
        TRY(dump_read_rank(d, s, 0, b->x));
        if (ops->absmax(b->x, d->n) >= 0x7f800000)
            continue;
        for (int i = 1; i < b->copies; i++)
            memcpy(b->x + (size_t)i * d->n, b->x, d->n * sizeof *b->x);
        snprintf(weights, sizeof weights, "%s/step%06" PRIu64 ".weights.f32", d->dir, s);
        FILE *f = fopen(weights, "rb");
        if (!f)
            return 0;
        fclose(f);
        b->weights = buf_alloc(d->n * sizeof *b->weights);
        return b->weights ? dump_read_flat(d, s, "weights", b->weights) : -ENOMEM;
    }
    return ERR(-EINVAL, "cannot bench on \"%s\": rank 0 has inf or nan in every step", d->dir);
}

static int bench_open(struct bench *b, const struct options *o)
{
    TRY(dump_open(&b->dump, o->dir));
    const size_t most = (size_t)o->mib << 18;
    b->copies = b->dump.n < most ? (int)(most / b->dump.n) : 1;
    b->x = measure_alloc((size_t)b->copies * b->dump.n * sizeof *b->x);
    b->out = b->x ? measure_alloc((size_t)b->copies * b->dump.n * sizeof *b->out) : NULL;
    return b->out ? read_gradients(b) : -ENOMEM;
}

static void bench_close(struct bench *b)
{
    dump_close(&b->dump);
    free(b->x), free(b->out), free(b->weights);
}

/* Returns GB of fp32/s. */
static double gbs_of(struct codec_pass *p, void (*run)(struct codec_pass *p), double gb)
{
    const double start = measure_cpu_s();
    run(p);
    return gb / (measure_cpu_s() - start);
}

static int measure_speed(struct bench *b, const struct codec *c, const struct options *o,
                         struct result *x)
{
    const size_t n = (size_t)b->copies * b->dump.n, reps = (size_t)o->reps;
    const double gb = 4e-9 * (double)n;
    double encode[MAX_REPS], decode[MAX_REPS], copy[MAX_REPS], ratio[2][MAX_REPS];
    struct codec_pass p;
    int rc = codec_pass_open(&p, c, &b->dump, b->copies, b->x, b->weights, b->out);
    if (rc == 0) {
        codec_pass_measure(&p);
        codec_pass_keys(&p, 0);
    }
    for (size_t i = 0; i <= reps && rc == 0; i++) { /* run 0: warm-up */
        const size_t at = i > 0 ? i - 1 : 0;
        const double start = measure_cpu_s();
        memcpy(b->out, b->x, n * sizeof *b->x);
        copy[at] = gb / (measure_cpu_s() - start);
        encode[at] = gbs_of(&p, codec_pass_encode, gb);
        if (i == 0) {
            codec_pass_sum(&p, 0);
            codec_pass_take(&p);
        }
        decode[at] = gbs_of(&p, codec_pass_decode, gb);
        ratio[0][at] = encode[at] / copy[at];
        ratio[1][at] = decode[at] / copy[at];
    }
    codec_pass_close(&p);
    if (rc == 0) {
        x->encode_gbs = measure_median(encode, reps), x->decode_gbs = measure_median(decode, reps);
        x->memcpy_gbs = measure_median(copy, reps);
        x->encode = measure_median(ratio[0], reps), x->decode = measure_median(ratio[1], reps);
    }
    return rc;
}

/* Count bytes that two encodings over different fillings agree on. */
static int count_bytes(struct codec_pass *p, size_t *n)
{
    uint8_t *first = buf_alloc(p->code_bytes);
    if (!first)
        return -ENOMEM;
    memset(p->codes, 0x5a, p->code_bytes);
    codec_pass_encode(p);
    memcpy(first, p->codes, p->code_bytes);
    memset(p->codes, 0xa5, p->code_bytes);
    codec_pass_encode(p);
    *n = 0;
    for (size_t i = 0; i < p->code_bytes; i++)
        *n += first[i] == p->codes[i];
    free(first);
    return 0;
}

static double error_of(const float *x, const float *out, size_t n)
{
    double diff2 = 0, x2 = 0;
    for (size_t i = 0; i < n; i++) {
        const double diff = (double)out[i] - (double)x[i];
        diff2 += diff * diff;
        x2 += (double)x[i] * (double)x[i];
    }
    return x2 > 0 ? sqrt(diff2 / x2) : 0;
}

static int measure_codes(struct bench *b, const struct codec_row *r, const struct codec *c,
                         const struct options *o, struct result *x)
{
    const size_t n = b->dump.n;
    struct codec_pass p;
    size_t bytes = 0;
    int rc = codec_pass_open(&p, c, &b->dump, 1, b->x, b->weights, b->out);
    if (rc == 0) {
        codec_pass_measure(&p);
        codec_pass_keys(&p, 0);
        rc = count_bytes(&p, &bytes);
    }
    if (rc == 0) {
        codec_pass_sum(&p, 0);
        codec_pass_decode(&p);
        x->bytes = (double)bytes / (double)n;
        x->formula = codec_row_bytes(r, &b->dump);
        x->l2 = error_of(b->x, b->out, n);
        if (r->draws != DRAWS_NONE)
            rc = codec_noise(r, &p, b->out, n, (int)o->draws, &x->noise);
    }
    codec_pass_close(&p);
    return rc;
}

/* Returns 1 without weights in the dump that the codec needs. */
static int measure(struct bench *b, const struct codec_row *r, const struct options *o,
                   struct result *x)
{
    struct codec c;
    TRY(codec_parse(&r->spec, &c));
    TRY(codec_settle(&c, 1, &(struct codec_adder){.name = "in one process"}));
    c.seed = SEED;
    if (codec_asks_weights(&c) && !b->weights)
        return 1;
    if (progress_due(&b->progress))
        progress_say(&b->progress, "row %d of %d, %s", (int)(r - codec_rows) + 1, N_CODEC_ROWS,
                     r->name);
    TRY(measure_codes(b, r, &c, o, x));
    return measure_speed(b, &c, o, x);
}

static void show_head(const struct bench *b, const struct options *o)
{
    printf("%s, %d layers, %zu elements; speed: %d MiB of fp32, median of %d; %d draws\n"
           "%-20s %13s %13s %16s %8s %23s\n%-20s %6s %6s %6s %6s %8s %7s %8s %7s %7s %7s\n",
           vec_best()->name, b->dump.n_layers, b->dump.n,
           (int)((size_t)b->copies * b->dump.n >> 18), (int)o->reps, (int)o->draws, "", "encode",
           "decode", "bytes/element", "L2", "bias, sigma  variance", "", "GB/s", "copy=1", "GB/s",
           "copy=1", "counted", "formula", "%", "worst", "all", "/ grid");
}

static int show(const struct codec_row *r, const struct result *x, bool json)
{
    if (!json) {
        printf("%-20s %6.2f %6.2f %6.2f %6.2f %8.4f %7.4f %8.3g", r->name, x->encode_gbs, x->encode,
               x->decode_gbs, x->decode, x->bytes, x->formula, 100 * x->l2);
        if (r->draws != DRAWS_NONE)
            printf(" %7.2f %7.2f %7.3f", x->noise.worst, x->noise.all, x->noise.ratio);
        printf("\n");
        fflush(stdout);
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "codec");
    jsonl_text(&j, "name", r->name);
    jsonl_real(&j, "encode_gbs", x->encode_gbs);
    jsonl_real(&j, "decode_gbs", x->decode_gbs);
    jsonl_real(&j, "memcpy_gbs", x->memcpy_gbs);
    jsonl_real(&j, "encode", x->encode);
    jsonl_real(&j, "decode", x->decode);
    jsonl_real(&j, "bytes", x->bytes);
    jsonl_real(&j, "formula", x->formula);
    jsonl_real(&j, "l2", x->l2);
    if (r->draws != DRAWS_NONE) {
        jsonl_real(&j, "bias_worst", x->noise.worst);
        jsonl_real(&j, "bias_all", x->noise.all);
        jsonl_real(&j, "variance", x->noise.ratio);
        jsonl_uint(&j, "moving", x->noise.n_moving);
    }
    return jsonl_end(&j);
}

static int run_all(struct bench *b, const struct options *o)
{
    int n_shown = 0;
    progress_init(&b->progress, true);
    b->progress.next_s = clock_s() + 2;
    if (!o->json)
        show_head(b, o);
    for (int i = 0; i < N_CODEC_ROWS; i++) {
        struct result x = {.bytes = 0};
        if (o->only && !strstr(codec_rows[i].name, o->only))
            continue;
        const int left_out = measure(b, &codec_rows[i], o, &x);
        TRY(left_out);
        progress_clear(&b->progress);
        if (left_out) {
            fprintf(stderr, "bench_codecs: %s needs weights, of which %s has none\n",
                    codec_rows[i].name, o->dir);
            continue;
        }
        TRY(show(&codec_rows[i], &x, o->json));
        n_shown++;
    }
    return n_shown ? 0 : ERR(-EINVAL, "no row has '%s' in its name", o->only);
}

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"mib", "N", "64", "MiB of fp32 to time. Twice as much memory is used in addition.",
     INT_AT(mib, 1, 65536)},
    {"reps", "N", "9", "Runs of each codec and of the copy measured with it.",
     INT_AT(reps, 1, MAX_REPS)},
    {"draws", "N", "1000", "Random draws for bias and variance.", INT_AT(draws, 2, 1000000)},
    {"only", "TEXT", NULL, "Print only rows with TEXT in their names.", TEXT_AT(only)},
    {"json", NULL, NULL, "Print one JSON object per row.", FLAG_AT(json)},
};
static const struct opt_command command = {
    .name = "bench_codecs",
    .args = "DIR",
    .min_args = 1,
    .max_args = 1,
    .about = "Measures every codec on the gradients in DIR, written by narrowcast train "
             "--dump-gradients DIR: speed of encoding and decoding on one core relative to memcpy, "
             "bytes per element, error of one step, and bias and variance of random rounding.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .examples = "  build/bench_codecs build/dump --only qsgd\n"
                "  build/bench_codecs build/dump --json > build/bench_codecs.json\n"
                "  FILE=build/bench_codecs.json gnuplot bench/codecs/bench_codecs.gp > "
                "build/bench_codecs.svg\n",
    .alone = true,
};

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    struct bench b = {.copies = 0};
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    o.dir = parsed.args[0];
    int rc = bench_open(&b, &o);
    if (rc == 0)
        rc = run_all(&b, &o);
    bench_close(&b);
    return rc < 0;
}
