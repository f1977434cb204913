/* bench_cast.c : speed of casts and sums on one core, as a ratio to the fastest copy of memory, and
 * to memcpy(), in turn with each.
 *   build/bench_cast [--mib 256] [--isa avx512] [--only e5m2] [--json]
 *
 * Three arrays of --mib MiB. First all copies of copies.h are timed, and the fastest is taken.
 * Every row is run --reps times, each time after one memcpy() of the fp32 array and one copy by the
 * fastest, in CPU time of the thread; the faster of the two is what "copy" is in that run. A row's
 * figures are the medians. What the ratios compare, a second:
 *     casts, largest exponent, APS   fp32 bytes read; a copy's: fp32 bytes read
 *     fp32 + left -> onebit:64       bytes moved; a copy's: read and written
 *     e5m2 += e5m2                   bytes moved (two reads, one write); a copy's: read and written
 *     sum of 8 ranks                 bytes of codes read; a copy's: fp32 bytes read */
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/clock.h"
#include "cast_rows.h"
#include "hls/philox.h"
#include "measure.h"
#include "vec/vec_isa.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPS = 101, TILE = 1 << 18 };

struct options {
    int64_t mib, reps;
    const char *isa, *only;
    bool json;
};

/* ---- memory ---- */

/* Gradient-like: a sign and 2^N(-12, 4). A tile of them, again and again. */
static void fill(struct bench *b)
{
    const size_t tile = b->n < TILE ? b->n : TILE;
    for (size_t i = 0; i < tile; i++) {
        const double u = (philox_u32(1, 2 * i) + 0.5) * 0x1p-32,
                     angle = philox_u32(1, 2 * i + 1) * 0x1p-32 * 2 * 3.14159265358979;
        const double magnitude = exp2(-12 + 4 * sqrt(-2 * log(u)) * cos(angle));
        b->x[i] = (float)(i % 3 ? magnitude : -magnitude);
    }
    for (size_t i = tile; i < b->n; i += tile)
        memcpy(b->x + i, b->x, (b->n - i < tile ? b->n - i : tile) * sizeof *b->x);
}

/* Codes of the row's format, all over the array of codes. */
static void fill_codes(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = {.fmt = r->fmt};
    const size_t bytes = vec_bytes(r->fmt, b->n);
    b->ops.encode(&cast, b->x, b->n, 0, 0, b->codes);
    for (size_t at = bytes; at < 4 * b->n; at += bytes)
        memcpy(b->codes + at, b->codes, 4 * b->n - at < bytes ? 4 * b->n - at : bytes);
}

/* ---- measuring ---- */

/* Medians over runs; speeds in GB/s of the bytes that count, of the row and of the copies beside
 * it. */
struct result {
    double gbs, copy_gbs, memcpy_gbs, ratio, ratio_memcpy;
};

static int show_copy(const char *name, double gbs, bool fastest, bool json)
{
    if (!json) {
        printf("%-30s %8.2f GB/s%s\n", name, gbs, fastest ? "   the fastest copy" : "");
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "copy");
    jsonl_text(&j, "name", name);
    jsonl_real(&j, "gbs", gbs);
    jsonl_bool(&j, "fastest", fastest);
    return jsonl_end(&j);
}

static int show(const struct row *r, struct result x, const char *isa, bool json)
{
    if (!json) {
        printf("%-30s %8.2f GB/s %8.3f %10.3f\n", r->name, x.gbs, x.ratio, x.ratio_memcpy);
        fflush(stdout);
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "cast");
    jsonl_text(&j, "name", r->name);
    jsonl_text(&j, "isa", isa);
    jsonl_real(&j, "gbs", x.gbs);
    jsonl_real(&j, "copy_gbs", x.copy_gbs);
    jsonl_real(&j, "memcpy_gbs", x.memcpy_gbs);
    jsonl_real(&j, "ratio", x.ratio);
    jsonl_real(&j, "ratio_memcpy", x.ratio_memcpy);
    return jsonl_end(&j);
}

/* Of one run, in GB/s. */
static double time_copy(struct bench *b, const struct copy *copy)
{
    const double start = measure_cpu_s();
    copy->run((char *)b->copy, (const char *)b->x, 4 * b->n);
    return 4e-9 * (double)b->n / (measure_cpu_s() - start);
}

/* All copies in turn: says what each reaches, and keeps the fastest. */
static int choose_copy(struct bench *b, size_t reps, bool json)
{
    struct copy copies[COPIES_MAX];
    const int n = copies_here(copies);
    double gbs[COPIES_MAX][MAX_REPS], of[COPIES_MAX];
    int fastest = 0;
    for (size_t i = 0; i <= reps; i++) /* the first one is not counted */
        for (int k = 0; k < n; k++) {
            if (i == 0)
                memset(b->copy, 0xff, 4 * b->n);
            gbs[k][i > 0 ? i - 1 : 0] = time_copy(b, &copies[k]);
            if (i == 0 && memcmp(b->copy, b->x, 4 * b->n) != 0)
                return ERR(-EILSEQ, "the copy \"%s\" does not copy", copies[k].name);
        }
    for (int k = 0; k < n; k++) {
        of[k] = measure_median(gbs[k], reps);
        fastest = of[k] > of[fastest] ? k : fastest;
    }
    b->fastest = copies[fastest];
    for (int k = 0; k < n; k++)
        TRY(show_copy(copies[k].name, of[k], k == fastest, json));
    return 0;
}

static struct result measure(struct bench *b, const struct row *r, size_t reps,
                             struct progress *progress)
{
    double gbs[MAX_REPS], copy_gbs[MAX_REPS], memcpy_gbs[MAX_REPS], ratio[MAX_REPS],
        ratio_memcpy[MAX_REPS];
    const struct copy plain = {"memcpy", copy_memcpy};
    if (r->run == run_add || r->run == run_sum || r->run == run_decode)
        fill_codes(b, r);
    for (size_t i = 0; i <= reps; i++) { /* the first one is not counted */
        const size_t at = i > 0 ? i - 1 : 0;
        memcpy_gbs[at] = r->copy_counts * time_copy(b, &plain);
        copy_gbs[at] = fmax(memcpy_gbs[at], r->copy_counts * time_copy(b, &b->fastest));
        const double start = measure_cpu_s(), bytes = (double)r->run(b, r);
        gbs[at] = 1e-9 * bytes / (measure_cpu_s() - start);
        ratio[at] = gbs[at] / copy_gbs[at];
        ratio_memcpy[at] = gbs[at] / memcpy_gbs[at];
        if (progress_due(progress))
            progress_say(progress, "row %d of %d, %s: run %zu of %zu", (int)(r - rows) + 1, N_ROWS,
                         r->name, i, reps);
    }
    return (struct result){.gbs = measure_median(gbs, reps),
                           .copy_gbs = measure_median(copy_gbs, reps),
                           .memcpy_gbs = measure_median(memcpy_gbs, reps),
                           .ratio = measure_median(ratio, reps),
                           .ratio_memcpy = measure_median(ratio_memcpy, reps)};
}

static int run_all(struct bench *b, const struct options *o)
{
    struct progress progress;
    int n_shown = 0;
    progress_init(&progress, true);
    progress.next_s = clock_s() + 2;
    if (!o->json)
        printf("%s, %zu MiB of fp32, median of %d\n", b->ops.name, (4 * b->n) >> 20, (int)o->reps);
    TRY(choose_copy(b, (size_t)o->reps, o->json));
    if (!o->json)
        printf("%-30s %13s %8s %10s\n", "", "", "copy=1", "memcpy=1");
    for (int i = 0; i < N_ROWS; i++) {
        if (o->only && !strstr(rows[i].name, o->only))
            continue;
        const struct result x = measure(b, &rows[i], (size_t)o->reps, &progress);
        progress_clear(&progress);
        TRY(show(&rows[i], x, b->ops.name, o->json));
        n_shown++;
    }
    return n_shown ? 0 : ERR(-EINVAL, "no row has '%s' in its name", o->only);
}

/* ---- the command line ---- */

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"mib", "N", "256", "MiB of fp32; twice as much is used beside it.", OPT_INT, AT(mib), 1, 65536,
     0},
    {"reps", "N", "7", "Runs of each row and of the copies beside it.", OPT_INT, AT(reps), 1,
     MAX_REPS, 0},
    {"isa", "auto|scalar|avx2|avx512|avx512vbmi", "auto",
     "Instructions to use; auto: the best there are, or NARROWCAST_ISA.", OPT_CHOICE, AT(isa), 0, 0,
     0},
    {"only", "TEXT", NULL, "Only rows with TEXT in their names.", OPT_TEXT, AT(only), 0, 0, 0},
    {"json", NULL, NULL, "One JSON object a row.", OPT_FLAG, AT(json), 0, 0, 0},
};
static const struct opt_command command = {
    .name = "bench_cast",
    .args = "",
    .about = "Speed of casts and sums on one core, as a ratio to the fastest copy of memory that "
             "is found here (copy=1: of\n"
             "memcpy, rep movsb and streaming stores) and to memcpy(), measured in turn with each.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .examples =
        "  build/bench_cast --only e5m2 --isa avx2\n"
        "  build/bench_cast --json > build/bench_cast.json && gnuplot bench/bench_cast.gp\n",
    .alone = true,
};

static int choose_isa(const char *word, struct vec_ops *ops)
{
    if (!strcmp(word, "auto")) {
        TRY(vec_best_check());
        *ops = *vec_best();
        return 0;
    }
    for (int isa = 0; isa < VEC_ISAS; isa++)
        if (!strcmp(word, vec_isa_name((enum vec_isa)isa)) && vec_isa_table((enum vec_isa)isa, ops))
            return 0;
    return ERR(-EINVAL, "cannot bench --isa %s: this CPU lacks it", word);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    struct bench b = {0};
    if (opt_parse(&command, argc - 1, argv + 1, &o, &parsed) < 0)
        return 2;
    if (parsed.help) {
        opt_help(&command, stdout);
        return 0;
    }
    if (choose_isa(o.isa, &b.ops) < 0)
        return 2;
    b.n = (size_t)o.mib << 18;
    b.x = measure_alloc(4 * b.n);
    b.copy = b.x ? measure_alloc(4 * b.n) : NULL;
    b.codes = b.copy ? measure_alloc(4 * b.n) : NULL;
    int rc = b.codes ? 0 : -ENOMEM;
    if (rc == 0) {
        fill(&b);
        rc = run_all(&b, &o);
    }
    free(b.x), free(b.copy), free(b.codes);
    return rc < 0;
}
