/* error_orders.c : reduces dumped gradients with the real algorithms on virtual ranks, and prints
 * the error of the mean by layer. */
#include "error_orders.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "base/progress.h"
#include "comm/virtual/comm_virtual.h"
#include "dump.h"
#include "job/job.h"
#include <stdlib.h>
#include <string.h>

int tally_open(struct tally *t)
{
    t->l2 = t->slope = 0;
    return round_off_open(&t->off);
}
void tally_close(struct tally *t)
{
    round_off_close(&t->off);
}
static void tally_clear(struct tally *t)
{
    t->l2 = t->slope = 0;
    round_off_clear(&t->off);
}

void tally_add(struct tally *t, const double *ref, const float *mean, size_t n)
{
    /* L2 and slope are per step, quotients over all */
    t->off.diff2 = t->off.ref2 = t->off.dot = 0;
    round_off_add(&t->off, ref, mean, n);
    t->l2 += round_off_l2(&t->off);
    t->slope += round_off_slope(&t->off);
}

double tally_l2(const struct tally *t, uint64_t n_steps)
{
    return t->l2 / (double)n_steps;
}

double tally_slope(const struct tally *t, uint64_t n_steps)
{
    return t->slope / (double)n_steps;
}

struct orders_options {
    const char *algo, *format, *scale, *sum, *acc_format, *out_format, *overflow, *only;
    uint64_t bucket_bytes;
    bool rescale, json;
};

#define AT(field) offsetof(struct orders_options, field)
static const struct opt orders_opts[] = {
    {"algo", "A[:K],...", NULL,
     "Algorithms, with one table each: see narrowcast train --help (native is excluded).",
     TEXT_AT(algo)},
    {"format", "F", "e5m2", "Format of the codes.", TEXT_AT(format)},
    {"scale", "S", "aps", "none, const:K, aps[:G], aps-tight[:G] or quantile[:q=X,...].",
     TEXT_AT(scale)},
    {"sum", "RULE", "auto", "exact, fp32, nearest, kahan, trunc or auto.", TEXT_AT(sum)},
    {"acc-format", "F", "auto", "Format of partial sums with nearest and kahan.",
     TEXT_AT(acc_format)},
    {"out-format", "F", "auto", "Format in which the sum is sent back.", TEXT_AT(out_format)},
    {"overflow", "saturate|inf", "saturate",
     "Of codes and sums: values that are too large become the largest finite value, or inf.",
     CHOICE_AT(overflow)},
    {"rescale", NULL, NULL, "Scale groups' sums again (group-*, aps, nearest).", FLAG_AT(rescale)},
    {"layer", "NAME", NULL, "Print only the rows of this layer and of all layers together.",
     TEXT_AT(only)},
    {"bucket-bytes", "N", "1M", "Fuse layers until their codes fill this many bytes.",
     SIZE_AT(bucket_bytes, 1, 1e12)},
    {"json", NULL, NULL, "Print one JSON object per row.", FLAG_AT(json)},
};
static const struct opt_command orders_command = {
    .name = "bench_error",
    .args = "DIR",
    .min_args = 1,
    .max_args = 1,
    .about =
        "Measures the error of the mean of dumped gradients (narrowcast train --dump-gradients "
        "DIR) against the fp64 mean, layer by layer. The P ranks of the dump become virtual ranks "
        "of this process, which run the given algorithms. Without --algo: prints a table of "
        "formats, scales and sums for all layers together, added in rank order.",
    .examples = "  build/bench_error build/dump --algo ring,group-master:2 --sum nearest\n"
                "  build/bench_error build/dump --algo group-scatter:2 --format e4m3 \\\n"
                "      --sum nearest --rescale\n",
    .opts = orders_opts,
    .n_opts = sizeof orders_opts / sizeof *orders_opts,
    .alone = true,
};

struct orders {
    struct orders_options o;
    struct dump dump;
    struct reducer_layer *layers; /* [n_layers] */
    struct tally *tallies;        /* [n_layers + 1]; last: all layers */
    float *grads;                 /* [n_ranks][n] of a step; later its means */
    double *ref;                  /* [n] mean in fp64 */
    uint64_t step, n_steps, n_skipped;
    struct job_spec spec;
    char described[CODEC_TEXT_BYTES];
};

static int orders_open(struct orders *b, const char *dir)
{
    struct dump *d = &b->dump;
    TRY(dump_open(d, dir));
    if (d->n_ranks > 4096 || d->n > SIZE_MAX / 4 / (size_t)d->n_ranks)
        return ERR(-EINVAL, "cannot reduce the gradients of %d ranks: want 4096 at most",
                   d->n_ranks);
    b->layers = buf_alloc((size_t)d->n_layers * sizeof *b->layers);
    b->tallies = buf_alloc(((size_t)d->n_layers + 1) * sizeof *b->tallies);
    b->grads = buf_alloc((size_t)d->n_ranks * d->n * sizeof *b->grads);
    b->ref = buf_alloc(d->n * sizeof *b->ref);
    if (!b->layers || !b->tallies || !b->grads || !b->ref)
        return -ENOMEM;
    for (int l = 0; l < d->n_layers; l++)
        b->layers[l] = (struct reducer_layer){.name = d->layers[l].name,
                                              .n = d->layers[l].n,
                                              .column = d->layers[l].column,
                                              .stride = d->layers[l].stride};
    for (int l = 0; l <= d->n_layers; l++)
        TRY(tally_open(&b->tallies[l]));
    return 0;
}

static void orders_close(struct orders *b)
{
    for (int l = 0; b->tallies && l <= b->dump.n_layers; l++)
        tally_close(&b->tallies[l]);
    free(b->layers), free(b->tallies), free(b->grads), free(b->ref);
    dump_close(&b->dump);
}

/* Read a step and compute its fp64 mean. *finite: false if training would skip it. */
static int orders_read(struct orders *b, bool *finite)
{
    const struct dump *d = &b->dump;
    memset(b->ref, 0, d->n * sizeof *b->ref);
    *finite = true;
    for (int r = 0; r < d->n_ranks; r++) {
        float *g = b->grads + (size_t)r * d->n;
        TRY(dump_read_rank(d, b->step, r, g));
        *finite = *finite && vec_best()->absmax(g, d->n) < 0x7f800000;
        for (size_t i = 0; i < d->n; i++)
            b->ref[i] += (double)g[i];
    }
    for (size_t i = 0; i < d->n; i++)
        b->ref[i] /= d->n_ranks;
    return 0;
}

static int orders_rank(struct comm *c, void *ctx)
{
    struct orders *b = ctx;
    const struct dump *d = &b->dump;
    struct job job = {.comm = NULL};
    struct reducer_step report;
    float **at = buf_alloc((size_t)d->n_layers * sizeof *at);
    for (int l = 0; l < d->n_layers && at; l++)
        at[l] = b->grads + (size_t)comm_rank(c) * d->n + d->layers[l].offset;
    err_hold();
    int rc = comm_agree(c, at ? 0 : -ENOMEM);
    if (rc == 0)
        rc = job_settle(c, &b->spec, &job);
    if (rc == 0 && comm_rank(c) == 0)
        codec_describe(&job.codec, b->described);
    if (rc == 0)
        rc = job_open(&job, b->layers, d->n_layers);
    if (rc == 0)
        rc = reducer_run(job.reducer, b->step, at, &report);
    job_close(&job);
    free(at);
    return rc;
}

static int orders_run(struct orders *b, struct comm_virtual *v)
{
    const struct dump *d = &b->dump;
    struct progress progress;
    progress_init(&progress, true);
    b->n_steps = b->n_skipped = 0;
    for (b->step = d->first; b->step < d->first + d->n_steps; b->step++) {
        bool finite;
        TRY(orders_read(b, &finite));
        b->n_skipped += !finite;
        if (!finite)
            continue;
        b->n_steps++;
        TRY(comm_virtual_run(v, orders_rank, b));
        for (int l = 0; l < d->n_layers; l++)
            tally_add(&b->tallies[l], b->ref + d->layers[l].offset, b->grads + d->layers[l].offset,
                      d->layers[l].n);
        tally_add(&b->tallies[d->n_layers], b->ref, b->grads, d->n);
        if (progress_due(&progress))
            progress_say(&progress, "%s: step %" PRIu64 " of %" PRIu64, b->spec.algo,
                         b->step - d->first + 1, d->n_steps);
    }
    progress_clear(&progress);
    return b->n_steps
               ? 0
               : ERR(-EINVAL, "cannot judge \"%s\": every step has inf or nan in it", d->dir);
}

static int orders_show_json(const struct orders *b, const char *name, size_t n,
                            const struct tally *t)
{
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "order");
    jsonl_text(&j, "algo", b->spec.algo);
    jsonl_text(&j, "codec", b->described);
    jsonl_text(&j, "layer", name);
    jsonl_int(&j, "ranks", b->dump.n_ranks);
    jsonl_uint(&j, "elements", n);
    jsonl_uint(&j, "steps", b->n_steps);
    jsonl_uint(&j, "skipped", b->n_skipped);
    jsonl_real(&j, "l2", tally_l2(t, b->n_steps));
    jsonl_real(&j, "mean", round_off_mean(&t->off));
    jsonl_real(&j, "median", round_off_median(&t->off));
    return jsonl_end(&j);
}

static int orders_show(const struct orders *b)
{
    const struct dump *d = &b->dump;
    if (!b->o.json)
        printf("%s of %d ranks: %s; %" PRIu64 " steps from %" PRIu64 " (%" PRIu64
               " skipped: inf or nan)\nerror of the mean, %%\n%-28s %9s %12s %12s %12s\n",
               b->spec.algo, d->n_ranks, b->described, b->n_steps, d->first, b->n_skipped, "layer",
               "elements", "L2", "eq. 5", "median");
    for (int l = 0; l <= d->n_layers; l++) {
        const bool all = l == d->n_layers;
        const char *name = all ? "all" : d->layers[l].name;
        const size_t n = all ? d->n : d->layers[l].n;
        const struct tally *t = &b->tallies[l];
        if (!all && b->o.only && strcmp(b->o.only, name))
            continue;
        if (b->o.json)
            TRY(orders_show_json(b, name, n, t));
        else
            printf("%-28s %9zu %12.4g %12.4g %12.4g\n", name, n, 100 * tally_l2(t, b->n_steps),
                   100 * round_off_mean(&t->off), 100 * round_off_median(&t->off));
    }
    return 0;
}

static bool orders_has_layer(const struct dump *d, const char *name)
{
    bool found = !name;
    for (int l = 0; l < d->n_layers && !found; l++)
        found = !strcmp(d->layers[l].name, name);
    return found;
}

/* algos: a comma-separated list, overwritten. */
static int orders_each(struct orders *b, char *algos)
{
    const struct orders_options *o = &b->o;
    struct comm_virtual *v;
    if (!orders_has_layer(&b->dump, o->only))
        return ERR(-EINVAL, "no layer \"%s\" in \"%s/layers.txt\"", o->only, b->dump.dir);
    TRY(comm_virtual_open(b->dump.n_ranks, NULL, &v));
    int rc = 0;
    char *rest = NULL;
    for (char *a = strtok_r(algos, ",", &rest); a && rc == 0; a = strtok_r(NULL, ",", &rest)) {
        b->spec = (struct job_spec){.codec = {.format = o->format,
                                              .scale = o->scale,
                                              .sum = o->sum,
                                              .acc_format = o->acc_format,
                                              .out_format = o->out_format,
                                              .overflow = o->overflow,
                                              .rescale = o->rescale},
                                    .algo = a,
                                    .bucket_bytes = (size_t)o->bucket_bytes};
        for (int l = 0; l <= b->dump.n_layers; l++)
            tally_clear(&b->tallies[l]);
        rc = orders_run(b, v);
        if (rc == 0)
            rc = orders_show(b);
    }
    comm_virtual_close(v);
    return rc;
}

int orders_main(int argc, char **argv)
{
    struct orders b = {.dump = {.dir = NULL}};
    struct opt_parsed parsed;
    if (opt_parse(&orders_command, argc, argv, &b.o, &parsed) < 0)
        return 2;
    if (parsed.help) {
        opt_help(&orders_command, &parsed, stdout);
        return 0;
    }
    char *algos = b.o.algo ? strdup(b.o.algo) : NULL;
    int rc = algos && algos[strspn(algos, ",")]
                 ? orders_open(&b, parsed.args[0])
                 : ERR(-EINVAL, "these options need --algo, which sets the order of additions");
    if (rc == 0)
        rc = orders_each(&b, algos);
    orders_close(&b);
    free(algos);
    return rc ? 1 : 0;
}
