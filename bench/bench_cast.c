/* bench_cast.c : speed of casts and sums on one core, as a ratio to memcpy() measured in turn with each of them.
 *   build/bench_cast [--mib 256] [--isa avx512] [--only e5m2] [--json]
 *
 * Three arrays of --mib MiB, well beyond the last-level cache. Every row is run --reps times, each time after one
 * memcpy() of the fp32 array, in CPU time of the thread; a row's figures are the medians. What the ratio compares:
 *     casts, largest exponent, APS   fp32 bytes read a second                       memcpy: fp32 bytes read a second
 *     e5m2 += e5m2                   bytes moved a second (two reads, one write)    memcpy: read and written
 *     sum of 8 ranks                 bytes of codes read a second                   memcpy: fp32 bytes read a second */
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt.h"
#include "base/progress.h"
#include "base/clock.h"
#include "codec/codec.h"
#include "hls/philox.h"
#include "vec/vec_isa.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_REPS = 101, RANKS = 8, TILE = 1 << 18, SHIFT = 10, BLOCK = 1 << 18 };

struct options {
    int64_t mib, reps;
    const char *isa, *only;
    bool json;
};

struct bench {
    struct vec_ops ops;
    size_t n; /* floats */
    float *x;
    uint8_t *copy, *codes; /* [4n]: memcpy's and the casts' results; codes to add */
    volatile uint32_t sink;
};

/* ---- what is measured: each returns the bytes that count ---- */

struct row {
    const char *name;
    size_t (*run)(struct bench *b, const struct row *r);
    struct mf_fmt fmt;
    enum mf_round round;
    int shift;
    int memcpy_counts; /* bytes of memcpy that count, for each it reads */
};

static struct vec_cast cast_of(const struct row *r)
{
    return (struct vec_cast){.fmt = r->fmt, .round = r->round, .overflow = MF_SATURATE, .key = 1};
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

/* A layer's shift is known only when all of it has been seen. */
static size_t run_aps(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = cast_of(r);
    const int shift = mf_bias(r->fmt) - mf_exp_up_times(b->ops.absmax(b->x, b->n), RANKS);
    b->ops.encode(&cast, b->x, b->n, 0, shift, b->copy);
    return 4 * b->n;
}

/* The same for layers that fit the cache. */
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

/* The shift is a guess, the maximum that judges it comes on the way. */
static size_t run_aps_guess(struct bench *b, const struct row *r)
{
    const struct vec_cast cast = cast_of(r);
    b->sink = b->ops.scan_encode(&cast, b->x, b->n, 0, r->shift, b->copy);
    return 4 * b->n;
}

static size_t run_add(struct bench *b, const struct row *r)
{
    const struct vec_sum sum = {.rule = r->round == MF_ZERO ? VEC_TRUNC : VEC_NEAREST, .in = r->fmt, .out = r->fmt};
    const size_t half = 2 * b->n, n = half * 8 / mf_width(r->fmt);
    b->ops.add(&sum, b->codes, b->codes + half, n);
    return 3 * half;
}

static size_t run_sum(struct bench *b, const struct row *r)
{
    const struct vec_sum sum = {.rule = VEC_EXACT, .in = r->fmt, .out = r->fmt, .n_ranks = RANKS};
    const size_t part = 4 * b->n / RANKS;
    const uint8_t *parts[RANKS];
    for (size_t p = 0; p < RANKS; p++)
        parts[p] = b->codes + p * part;
    b->ops.sum(&sum, parts, RANKS, part * 8 / mf_width(r->fmt), r->fmt, 0, b->copy);
    return RANKS * part;
}

#define E5M2    \
    {           \
        5, 2, 0 \
    }
#define E4M3    \
    {           \
        4, 3, 0 \
    }
static const struct row rows[] = {
    {"fp32 -> e5m2", run_encode, E5M2, MF_NEAREST, 0, 1},
    {"fp32 -> e4m3", run_encode, E4M3, MF_NEAREST, 0, 1},
    {"fp32 -> e4m3fn", run_encode, {4, 3, 1}, MF_NEAREST, 0, 1},
    {"fp32 -> e3m4", run_encode, {3, 4, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e5m10", run_encode, {5, 10, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e8m7", run_encode, {8, 7, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e6m9", run_encode, {6, 9, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e3m0", run_encode, {3, 0, 0}, MF_NEAREST, 0, 1},
    {"fp32 -> e5m2 stochastic", run_encode, E5M2, MF_STOCHASTIC, 0, 1},
    {"shift + fp32 -> e5m2", run_encode, E5M2, MF_NEAREST, SHIFT, 1},
    {"e5m2 -> fp32", run_decode, E5M2, MF_NEAREST, 0, 1},
    {"largest exponent", run_absmax, E5M2, MF_NEAREST, 0, 1},
    {"APS e5m2, two passes", run_aps, E5M2, MF_NEAREST, 0, 1},
    {"APS e5m2, layers of 1 MiB", run_aps_blocks, E5M2, MF_NEAREST, 0, 1},
    {"APS e5m2, shift guessed", run_aps_guess, E5M2, MF_NEAREST, SHIFT, 1},
    {"e5m2 += e5m2 nearest", run_add, E5M2, MF_NEAREST, 0, 2},
    {"e5m2 += e5m2 trunc", run_add, E5M2, MF_ZERO, 0, 2},
    {"e4m3 += e4m3 nearest", run_add, E4M3, MF_NEAREST, 0, 2},
    {"e5m10 += e5m10 nearest", run_add, {5, 10, 0}, MF_NEAREST, 0, 2},
    {"8 ranks e5m2, exact -> e5m2", run_sum, E5M2, MF_NEAREST, 0, 1},
    {"8 ranks e4m3, exact -> e4m3", run_sum, E4M3, MF_NEAREST, 0, 1},
    {"8 ranks e3m0, exact -> e3m0", run_sum, {3, 0, 0}, MF_NEAREST, 0, 1},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- memory ---- */

/* Large pages where there are any: the table of pages is not what is measured. */
static void *take(size_t bytes)
{
    const size_t page = (size_t)2 << 20, rounded = (bytes + page) / page * page;
    void *p = aligned_alloc(page, rounded);
    if (!p) {
        (void)ERR(-ENOMEM, "cannot allocate %zu bytes: take a smaller --mib", rounded);
        return NULL;
    }
    madvise(p, rounded, MADV_HUGEPAGE); /* advice: no matter if it is not taken */
    return memset(p, 0, rounded);
}

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

struct result {
    double gbs, ratio;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static struct result measure(struct bench *b, const struct row *r, size_t reps, struct progress *progress)
{
    double gbs[MAX_REPS], ratio[MAX_REPS];
    if (r->run == run_add || r->run == run_sum || r->run == run_decode)
        fill_codes(b, r);
    for (size_t i = 0; i <= reps; i++) { /* the first one is not counted */
        const double start = cpu_s();
        memcpy(b->copy, b->x, 4 * b->n);
        const double middle = cpu_s();
        const double bytes = (double)r->run(b, r), end = cpu_s(), copied = 4 * (double)b->n * r->memcpy_counts;
        if (i > 0) {
            gbs[i - 1] = 1e-9 * bytes / (end - middle);
            ratio[i - 1] = bytes / (end - middle) / (copied / (middle - start));
        }
        if (progress_due(progress))
            progress_say(progress, "row %d of %d, %s: run %zu of %zu", (int)(r - rows) + 1, N_ROWS, r->name, i, reps);
    }
    return (struct result){.gbs = median(gbs, reps), .ratio = median(ratio, reps)};
}

static int show(const struct row *r, struct result x, const char *isa, bool json)
{
    if (!json) {
        printf("%-30s %8.2f GB/s %8.3f\n", r->name, x.gbs, x.ratio);
        fflush(stdout);
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "cast");
    jsonl_text(&j, "name", r->name);
    jsonl_text(&j, "isa", isa);
    jsonl_real(&j, "gbs", x.gbs);
    jsonl_real(&j, "ratio", x.ratio);
    return jsonl_end(&j);
}

static int run_all(struct bench *b, const struct options *o)
{
    struct progress progress;
    int n_shown = 0;
    progress_init(&progress, true);
    progress.next_s = clock_s() + 2;
    if (!o->json)
        printf("%s, %zu MiB of fp32, median of %d\n%-30s %13s %8s\n", b->ops.name, (4 * b->n) >> 20, (int)o->reps, "",
               "", "memcpy=1");
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
    {"mib", "N", "256", "MiB of fp32; twice as much is used beside it.", OPT_INT, AT(mib), 1, 65536, 0},
    {"reps", "N", "7", "Runs of each row and of memcpy beside it.", OPT_INT, AT(reps), 1, MAX_REPS, 0},
    {"isa", "auto|scalar|avx2|avx512", "auto", "Instructions to use; auto: the best there are, or NARROWCAST_ISA.",
     OPT_CHOICE, AT(isa), 0, 0, 0},
    {"only", "TEXT", NULL, "Only rows with TEXT in their names.", OPT_TEXT, AT(only), 0, 0, 0},
    {"json", NULL, NULL, "One JSON object a row.", OPT_FLAG, AT(json), 0, 0, 0},
};
static const struct opt_command command = {
    .name = "bench_cast",
    .args = "",
    .about = "Speed of casts and sums on one core, as a ratio to memcpy() measured in turn with each.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .examples = "  bench_cast --only e5m2 --isa avx2\n  bench_cast --json > build/bench_cast.json && gnuplot "
                "bench/bench_cast.gp\n",
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
    b.x = take(4 * b.n);
    b.copy = b.x ? take(4 * b.n) : NULL;
    b.codes = b.copy ? take(4 * b.n) : NULL;
    int rc = b.codes ? 0 : -ENOMEM;
    if (rc == 0) {
        fill(&b);
        rc = run_all(&b, &o);
    }
    free(b.x), free(b.copy), free(b.codes);
    return rc < 0;
}
