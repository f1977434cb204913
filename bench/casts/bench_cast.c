/* bench_cast.c : measures casts and sums on one core relative to copies of memory.
 *
 * Uses three arrays of --mib MiB. Every row runs --reps times (CPU time of the thread), after a
 * memcpy() of the fp32 array, the fastest copy of copies.c, a streaming copy and a pass that only
 * reads. The faster of the first two is that run's "copy". Results are medians. Ratios compare, per
 * second:
 *     casts, largest exponent, APS   fp32 bytes read; a copy's: fp32 bytes read
 *     fp32 + left -> onebit:64       bytes moved; a copy's: read and written
 *     e5m2 += e5m2                   bytes moved (two reads, one write); a copy's: read and written
 *     sum of 8 ranks                 bytes of codes read; a copy's: fp32 bytes read
 *     wide words (exact sums)        bytes read; a copy's: fp32 bytes read */
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "base/progress.h"
#include "base/clock.h"
#include "cast_rows.h"
#include "bench/measure.h"
#include "vec/vec_isa.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPS = 101, TILE = 1 << 18 };

struct options {
    int64_t mib, kib, reps;
    const char *isa, *only, *pages, *prefetch;
    bool json;
};

/* One tile, repeated. */
static void fill(struct bench *b)
{
    const size_t tile = b->n < TILE ? b->n : TILE;
    measure_gradients(b->x, tile);
    for (size_t i = tile; i < b->n; i += tile)
        memcpy(b->x + i, b->x, (b->n - i < tile ? b->n - i : tile) * sizeof *b->x);
}

/* Medians over runs, in GB/s of the bytes that count. */
struct result {
    double gbs, copy_gbs, memcpy_gbs, stream_gbs, read_gbs;
    double ratio, ratio_memcpy, ratio_stream, ratio_read;
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
        printf("%-30s %8.2f GB/s %8.3f %10.3f %10.3f %10.3f\n", r->name, x.gbs, x.ratio,
               x.ratio_memcpy, x.ratio_stream, x.ratio_read);
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
    jsonl_real(&j, "stream_gbs", x.stream_gbs);
    jsonl_real(&j, "read_gbs", x.read_gbs);
    jsonl_real(&j, "ratio_stream", x.ratio_stream);
    jsonl_real(&j, "ratio_read", x.ratio_read);
    return jsonl_end(&j);
}

/* Returns the passes per run that the clock needs. */
static size_t passes(const struct bench *b)
{
    enum { LEAST = 16 << 20 };
    return 4 * b->n < LEAST ? LEAST / (4 * b->n) : 1;
}

static double time_copy(struct bench *b, const struct copy *copy)
{
    const size_t n = passes(b);
    const double start = measure_cpu_s();
    for (size_t i = 0; i < n; i++)
        copy->run((char *)b->copy, (const char *)b->x, 4 * b->n);
    return 4e-9 * (double)(n * b->n) / (measure_cpu_s() - start);
}
static double time_row(struct bench *b, const struct row *r)
{
    const size_t n = passes(b);
    size_t bytes = 0;
    const double start = measure_cpu_s();
    for (size_t i = 0; i < n; i++)
        bytes += r->run(b, r);
    return 1e-9 * (double)bytes / (measure_cpu_s() - start);
}

/* Time all copies in turn, and keep the fastest. */
static int choose_copy(struct bench *b, size_t reps, bool json)
{
    struct copy copies[COPIES_MAX];
    const int n = copies_here(copies);
    double gbs[COPIES_MAX][MAX_REPS], of[COPIES_MAX];
    int fastest = 0;
    for (size_t i = 0; i <= reps; i++) /* run 0: warm-up */
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
    enum { ROW, COPY, MEMCPY, STREAM, READ, KINDS };
    double gbs[KINDS][MAX_REPS], ratio[KINDS][MAX_REPS];
    const struct copy plain = {"memcpy", copy_memcpy};
    const struct row read = {"read only", cast_read, {0}, MF_NEAREST, 0, 1};
    cast_row_fill(b, r);
    for (size_t i = 0; i <= reps; i++) { /* run 0: warm-up */
        const size_t at = i > 0 ? i - 1 : 0;
        gbs[MEMCPY][at] = r->copy_counts * time_copy(b, &plain);
        gbs[COPY][at] = fmax(gbs[MEMCPY][at], r->copy_counts * time_copy(b, &b->fastest));
        gbs[STREAM][at] = r->copy_counts * time_copy(b, &b->stream);
        gbs[READ][at] = time_row(b, &read);
        gbs[ROW][at] = time_row(b, r);
        for (int kind = COPY; kind < KINDS; kind++)
            ratio[kind][at] = gbs[ROW][at] / gbs[kind][at];
        if (progress_due(progress))
            progress_say(progress, "row %d of %d, %s: run %zu of %zu", (int)(r - cast_rows) + 1,
                         n_cast_rows, r->name, i, reps);
    }
    return (struct result){.gbs = measure_median(gbs[ROW], reps),
                           .copy_gbs = measure_median(gbs[COPY], reps),
                           .memcpy_gbs = measure_median(gbs[MEMCPY], reps),
                           .stream_gbs = measure_median(gbs[STREAM], reps),
                           .read_gbs = measure_median(gbs[READ], reps),
                           .ratio = measure_median(ratio[COPY], reps),
                           .ratio_memcpy = measure_median(ratio[MEMCPY], reps),
                           .ratio_stream = measure_median(ratio[STREAM], reps),
                           .ratio_read = measure_median(ratio[READ], reps)};
}

static int run_all(struct bench *b, const struct options *o)
{
    struct progress progress;
    int n_shown = 0;
    progress_init(&progress, true);
    progress.next_s = clock_s() + 2;
    if (!o->json)
        printf("%s, %zu KiB of fp32 in %s pages, median of %d\n", b->ops.name, (4 * b->n) >> 10,
               o->pages, (int)o->reps);
    TRY(choose_copy(b, (size_t)o->reps, o->json));
    if (!o->json)
        printf("%-30s %13s %8s %10s %10s %10s\n", "", "", "copy=1", "memcpy=1", "stream=1",
               "read=1");
    for (int i = 0; i < n_cast_rows; i++) {
        if (o->only && !strstr(cast_rows[i].name, o->only))
            continue;
        const struct result x = measure(b, &cast_rows[i], (size_t)o->reps, &progress);
        progress_clear(&progress);
        TRY(show(&cast_rows[i], x, b->ops.name, o->json));
        n_shown++;
    }
    return n_shown ? 0 : ERR(-EINVAL, "no row has '%s' in its name", o->only);
}

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"mib", "N", "256", "MiB of fp32. Twice as much memory is used in addition.",
     INT_AT(mib, 1, 65536)},
    {"kib", "N", "0", "KiB of fp32 instead of --mib, to measure caches.", INT_AT(kib, 0, 1 << 20)},
    {"pages", "large|small", "large",
     "Pages of memory. large: 2 MiB where available. small: 4 KiB.", CHOICE_AT(pages)},
    {"reps", "N", "7", "Runs of each row and of the copies measured with it.",
     INT_AT(reps, 1, MAX_REPS)},
    {"isa", "auto|scalar|avx2|avx512|avx512vbmi|avx512fp16|neon", "auto",
     "Instructions to use. auto: the widest of this CPU, or NARROWCAST_ISA.", CHOICE_AT(isa)},
    {"prefetch", "auto|yes|no", "auto",
     "Prefetch the input in casts and scans with AVX-512. auto: as is fastest on this CPU.",
     CHOICE_AT(prefetch)},
    {"only", "TEXT", NULL, "Print only rows with TEXT in their names.", TEXT_AT(only)},
    {"json", NULL, NULL,
     "Print a JSON object per row (\"cast\") and per way to copy memory (\"copy\").",
     FLAG_AT(json)},
};
static const struct opt_command command = {
    .name = "bench_cast",
    .args = "",
    .about = "Measures casts and sums on one core, relative to four rates that are measured in "
             "turn with each: the fastest memory copy found here (copy=1, of memcpy, rep movsb and "
             "streaming stores), memcpy(), a streaming copy (stream=1), and reading only (read=1).",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .examples =
        "  build/bench_cast --only e5m2 --isa avx2\n"
        "  build/bench_cast --only 'largest exponent' --pages small\n"
        "  build/bench_cast --json > build/bench_cast.json\n"
        "  FILE=build/bench_cast.json gnuplot bench/casts/bench_cast.gp > build/bench_cast.svg\n",
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

static int choose_prefetch(const char *word, struct vec_ops *ops)
{
    if (!strcmp(word, "auto"))
        return 0;
#ifdef VEC_X86
    if (!strncmp(ops->name, "avx512", 6)) {
        cast_avx512_prefetch(ops,
                             strcmp(word, "yes") ? 0 : VEC_PREFETCH_CASTS | VEC_PREFETCH_SCANS);
        return 0;
    }
#endif
    return ERR(-EINVAL, "cannot bench --prefetch %s: %s has only one variant", word, ops->name);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    struct bench b = {0};
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    if (choose_isa(o.isa, &b.ops) < 0 || choose_prefetch(o.prefetch, &b.ops) < 0)
        return 2;
    const bool small = !strcmp(o.pages, "small");
    b.n = o.kib ? ((size_t)o.kib + 15) / 16 * 4096 : (size_t)o.mib << 18;
    b.stream = copies_stream();
    b.x = measure_alloc_pages(4 * b.n, small);
    b.copy = b.x ? measure_alloc_pages(4 * b.n, small) : NULL;
    b.codes = b.copy ? measure_alloc_pages(4 * b.n, small) : NULL;
    int rc = b.codes ? 0 : -ENOMEM;
    if (rc == 0) {
        fill(&b);
        rc = run_all(&b, &o);
    }
    free(b.x), free(b.copy), free(b.codes);
    return rc < 0;
}
