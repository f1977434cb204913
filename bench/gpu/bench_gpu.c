/* bench_gpu.c : measures casts, levels, signs and sums on the GPU by bytes moved, relative to a
 * device-to-device copy in the same run.
 *
 * Uses three arrays of --mib MiB in device memory. Every row runs --reps times between events,
 * after one copy of the whole array (twice its bytes: read and written). Results are medians. Rows
 * of layers pass a list of layers to one launch. The last column is the goal. */
#include "base/clock.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "base/progress.h"
#include "vec/gpu/gpu.h"
#include "gpu_rows.h"
#include "bench/measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPS = 101, TILE = 1 << 18, SKIP = 77 };

struct options {
    int64_t mib, reps, device;
    const char *only;
    bool json, emulated;
};

/* One tile, repeated. */
static int fill(struct bench *b)
{
    const size_t tile = b->n < TILE ? b->n : TILE;
    float *x = malloc(tile * sizeof *x);
    if (!x)
        return ERR(-ENOMEM, "cannot allocate %zu bytes", tile * sizeof *x);
    measure_gradients(x, tile);
    int rc = 0;
    for (size_t i = 0; i < b->n && rc == 0; i += tile)
        rc = b->run->copy(b->x + i, x, (b->n - i < tile ? b->n - i : tile) * sizeof *x, b->stream);
    if (rc == 0)
        rc = b->run->wait(b->stream);
    free(x);
    return rc;
}

static int take(struct bench *b, int64_t mib)
{
    size_t free_bytes = 0, all = 0;
    b->run->memory(&free_bytes, &all);
    while (mib > 1 && 3 * (size_t)mib * MB + 64 * MB > free_bytes)
        mib /= 2;
    b->n = (size_t)mib * MB / 4;
    b->x = b->run->alloc(4 * b->n);
    b->out = b->x ? b->run->alloc(4 * b->n) : NULL;
    b->codes = b->out ? b->run->alloc(4 * b->n) : NULL;
    b->pinned = b->codes ? b->run->alloc_pinned(LAYERS_MAX(b->n) * sizeof *b->pinned) : NULL;
    b->spans = b->pinned ? b->run->alloc(LAYERS_MAX(b->n) * sizeof *b->spans) : NULL;
    b->pinned_list = b->spans ? b->run->alloc_pinned(LIST_BYTES) : NULL;
    b->list = b->pinned_list ? b->run->alloc(LIST_BYTES) : NULL;
    if (!b->list)
        return -ENOMEM; /* already reported */
    TRY(b->run->stream_open(false, &b->stream));
    TRY(b->run->event_open(&b->from));
    TRY(b->run->event_open(&b->to));
    return fill(b);
}

static void give_back(struct bench *b)
{
    b->run->event_close(b->to), b->run->event_close(b->from);
    b->run->stream_close(b->stream);
    b->run->free(b->x), b->run->free(b->out), b->run->free(b->codes);
    b->run->free(b->spans), b->run->free(b->list);
    b->run->free_pinned(b->pinned), b->run->free_pinned(b->pinned_list);
}

struct result {
    double gbs, copy_gbs, ratio;
};

static int timed(struct bench *b, const struct row *r, double *gbs)
{
    double bytes = 0;
    float ms = 0;
    TRY(b->run->event_record(b->from, b->stream));
    TRY(r->run(b, r, &bytes));
    TRY(b->run->event_record(b->to, b->stream));
    TRY(b->run->event_sync(b->to));
    TRY(b->run->event_ms(b->from, b->to, &ms));
    *gbs = 1e-6 * bytes / (double)ms;
    return 0;
}

static int measure(struct bench *b, const struct row *r, size_t reps, struct result *out)
{
    double gbs[MAX_REPS], copy[MAX_REPS], ratio[MAX_REPS];
    TRY(gpu_row_prepare(b, r));
    for (size_t i = 0; i < reps + 3; i++) { /* 3 for warm-up */
        double g = 0, c = 0;
        TRY(timed(b, &gpu_rows[0], &c));
        TRY(timed(b, r, &g));
        if (i < 3)
            continue;
        gbs[i - 3] = g;
        copy[i - 3] = c;
        ratio[i - 3] = g / c;
    }
    *out = (struct result){.gbs = measure_median(gbs, reps),
                           .copy_gbs = measure_median(copy, reps),
                           .ratio = measure_median(ratio, reps)};
    return 0;
}

static int show(const struct bench *b, const struct row *r, struct result x, bool json)
{
    if (!json && isnan(x.ratio)) {
        printf("%-34s    failed\n", r->name);
        fflush(stdout);
        return 0;
    }
    if (!json) {
        printf("%-34s %9.1f %8.3f", r->name, x.gbs, x.ratio);
        printf(r->goal > 0 ? " %7.2f%s\n" : "       -\n", r->goal,
               x.ratio < r->goal ? "  below" : "");
        fflush(stdout);
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "gpu");
    jsonl_uint(&j, "mib", 4 * b->n / MB);
    jsonl_text(&j, "name", r->name);
    jsonl_text(&j, "device", gpu_info()->name);
    jsonl_real(&j, "gbs", x.gbs);
    jsonl_real(&j, "copy_gbs", x.copy_gbs);
    jsonl_real(&j, "ratio", x.ratio);
    jsonl_real(&j, "asked", r->goal);
    return jsonl_end(&j);
}

static int run_all(struct bench *b, const struct options *o)
{
    struct progress progress;
    int n_shown = 0, n_failed = 0;
    progress_init(&progress, true);
    progress.next_s = clock_s() + 2;
    if (!o->json)
        printf("%s, %zu MiB of fp32, median of %d, by bytes moved\n%-34s %9s %8s %7s\n",
               gpu_info()->name, 4 * b->n / MB, (int)o->reps, "", "GB/s", "copy=1", "goal");
    for (int i = 0; i < n_gpu_rows; i++) {
        if (o->only && !strstr(gpu_rows[i].name, o->only))
            continue;
        if (gpu_rows[i].layer > 4 * b->n)
            continue;
        struct result x = {.ratio = NAN};
        const int rc = measure(b, &gpu_rows[i], (size_t)o->reps, &x);
        n_failed += rc < 0;
        progress_clear(&progress);
        TRY(show(b, &gpu_rows[i], x, o->json));
        if (progress_due(&progress))
            progress_say(&progress, "row %d of %d", i + 1, n_gpu_rows);
        n_shown++;
    }
    if (n_failed)
        return ERR(-EIO, "%d of %d rows failed", n_failed, n_shown);
    return n_shown ? 0 : ERR(-EINVAL, "no row has '%s' in its name", o->only);
}

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"mib", "N", "1024", "MiB of fp32. Less if three times as much does not fit.",
     INT_AT(mib, 1, 16384)},
    {"reps", "N", "21", "Runs of each row and of the copy before it.", INT_AT(reps, 1, MAX_REPS)},
    {"device", "N", "0", "GPU to use, modulo the number of GPUs.", INT_AT(device, 0, 1023)},
    {"only", "TEXT", NULL, "Print only rows with TEXT in their names.", TEXT_AT(only)},
    {"json", NULL, NULL, "Print one JSON object per row.", FLAG_AT(json)},
    {"emulated", NULL, NULL, "Also run on an emulated GPU, whose speed is meaningless.",
     FLAG_AT(emulated)},
};
static const struct opt_command command = {
    .name = "bench_gpu",
    .args = "",
    .about =
        "Measures casts and sums on the GPU, relative to a device-to-device copy in the same run.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .examples = "  build/bench_gpu --only APS\n  build/bench_gpu --json > build/bench_gpu.json\n",
    .alone = true,
};

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    struct bench b = {0};
    char why[256];
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    if (!gpu_here(true, why, sizeof why)) {
        printf("skip: %s\n", why);
        return SKIP;
    }
    if (gpu_open((int)o.device) < 0)
        return 1;
    if (strcmp(gpu_info()->name, "emulated") == 0 && !o.emulated) {
        puts("skip: the GPU is emulated, so its speed is meaningless");
        gpu_close();
        return SKIP;
    }
    b.run = gpu()->run, b.vec = gpu()->vec;
    int rc = take(&b, o.mib);
    if (rc == 0)
        rc = run_all(&b, &o);
    give_back(&b);
    gpu_close();
    return rc < 0;
}
