/* allreduce_layers.c : times layers one by one and fused, by exponents, codes and casts: fp16 by
 * MPI's own all-reduce (virtual ranks: a ring) against narrow codes with aps, as in the APS
 * paper's Fig. 11. With real ranks the total is the slowest rank's, parts are means over ranks.
 * Virtual ranks only count bytes and rounds. */
#include "allreduce.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "comm/virtual/comm_virtual.h"
#include <stdlib.h>
#include <string.h>

int layers_read(const char *text, struct layers *l)
{
    static const struct opt size = {"layers", "N", NULL, "", OPT_SIZE, 0, 1, 0x1p32, 0};
    char word[32];
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        uint64_t n;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        TRY(opt_set(&size, word, &n));
        if (l->n_layers == LAYERS_MAX)
            return ERR(-EINVAL, "--layers '%s': %d at most", text, LAYERS_MAX);
        l->n[l->n_layers++] = (size_t)n;
        l->all += (size_t)n;
        l->longest = n > l->longest ? (size_t)n : l->longest;
        at += length;
        if (!*at)
            return 0;
    }
}

struct phase {
    double exponents_s, codes_s, cast_s, all_s;
    uint64_t sent_bytes, exponent_bytes, rounds, wrong;
};

static void phase_add(struct phase *to, const struct phase *one)
{
    to->exponents_s += one->exponents_s, to->codes_s += one->codes_s;
    to->cast_s += one->cast_s, to->all_s += one->all_s;
    to->sent_bytes += one->sent_bytes, to->exponent_bytes += one->exponent_bytes;
    to->rounds += one->rounds, to->wrong += one->wrong;
}

/* Layers first..first+n of one rank in one job. */
struct layers_part {
    struct job job;
    struct reducer_layer layer[LAYERS_MAX];
    float *x[LAYERS_MAX];
    int first, n;
};

static int part_open(struct layers_part *p, const struct layers *l, struct comm *comm,
                     struct job_spec *spec, float *x, int first, int n)
{
    p->first = first, p->n = n;
    for (int i = 0; i < n; x += l->n[first + i++]) {
        p->layer[i] = (struct reducer_layer){.name = "layer", .n = l->n[first + i]};
        p->x[i] = x;
    }
    TRY(job_settle(comm, spec, &p->job));
    return job_open(&p->job, p->layer, n);
}

/* This rank's gradients, and the expected sums. */
struct layers_data {
    float *own, *want, *x; /* [all]; virtual ranks have only x */
};

static void part_fill(const struct layers_part *p, const struct layers_data *d, int rank,
                      int n_ranks)
{
    for (int i = 0; i < p->n; i++)
        if (d->own)
            memcpy(p->x[i], d->own + (p->x[i] - d->x), 4 * p->layer[i].n);
        else
            for (size_t k = 0; k < p->layer[i].n; k++)
                p->x[i][k] = data_of(k, rank, n_ranks);
}

static int part_run(struct layers_part *p, const struct layers_data *d, struct comm *comm,
                    uint64_t step, struct phase *out)
{
    struct reducer_step report;
    const int n_ranks = comm_n_ranks(comm);
    part_fill(p, d, comm_rank(comm), n_ranks);
    TRY(comm_barrier(comm));
    const uint64_t rounds = comm_counted(comm).rounds;
    const double start = clock_s();
    TRY(reducer_run(p->job.reducer, step, p->x, &report));
    TRY(card_check_step(&p->job, &report));
    *out = (struct phase){.exponents_s = report.exponents_s,
                          .codes_s = report.comm_s - report.exponents_s,
                          .cast_s = report.codec_s,
                          .all_s = clock_s() - start,
                          .sent_bytes = report.sent_bytes,
                          .exponent_bytes = (uint64_t)p->n,
                          .rounds = comm_counted(comm).rounds - rounds};
    for (int i = 0; i < p->n && d->own; i++)
        out->wrong +=
            data_wrong(p->x[i], d->want + (p->x[i] - d->x), p->layer[i].n, (float)n_ranks);
    return 0;
}

enum { ONE_BY_ONE = LAYERS_MAX, FUSED, N_PHASES };
struct layers_contender {
    const struct layers *l;
    struct job_spec spec;
    const char *algo, *type;
    struct phase *of[N_PHASES]; /* [n_ranks] if virtual, else [reps] */
    int n_ranks;
    bool is_virtual;
};

static struct phase *phase_at(const struct layers_contender *c, int what, int64_t rep, int rank)
{
    return &c->of[what][c->is_virtual ? rank : (int)rep];
}

static int run_parts(struct layers_contender *c, struct comm *comm, bool fused,
                     const struct layers_data *d)
{
    const struct layers *l = c->l;
    const int n_parts = fused ? 1 : l->n_layers;
    const int64_t reps = c->is_virtual ? 1 : l->o->reps, warmup = c->is_virtual ? 0 : l->o->warmup;
    struct layers_part *parts = buf_alloc((size_t)n_parts * sizeof *parts);
    int rc = parts ? 0 : -ENOMEM;
    for (int i = 0; i < n_parts && rc == 0; i++)
        rc = part_open(&parts[i], l, comm, &c->spec, d->x, i, fused ? l->n_layers : 1);
    for (int64_t rep = -warmup; rep < reps && rc == 0; rep++) {
        struct phase one = {0}, sum = {0};
        for (int i = 0; i < n_parts && rc == 0; i++) {
            rc = part_run(&parts[i], d, comm, (uint64_t)(rep + warmup), &one);
            phase_add(&sum, &one);
            if (rep >= 0 && !fused)
                *phase_at(c, i, rep, comm_rank(comm)) = one;
        }
        if (rep >= 0)
            *phase_at(c, fused ? FUSED : ONE_BY_ONE, rep, comm_rank(comm)) = sum;
    }
    for (int i = 0; i < n_parts && parts; i++)
        job_close(&parts[i].job);
    free(parts);
    return rc;
}

static int run_rank(struct comm *comm, void *contender)
{
    struct layers_contender *c = contender;
    const struct layers *l = c->l;
    struct layers_data d = {.x = buf_alloc(4 * l->all)};
    int rc = d.x ? 0 : -ENOMEM;
    if (rc == 0 && !c->is_virtual) {
        d.own = buf_alloc(4 * l->all), d.want = buf_alloc(4 * l->all);
        rc = d.own && d.want ? 0 : -ENOMEM;
        size_t at = 0;
        for (int i = 0; i < l->n_layers && rc == 0; at += l->n[i++])
            data_fill(d.own + at, d.want + at, l->n[i], comm_rank(comm), comm_n_ranks(comm));
    }
    if (rc == 0)
        rc = run_parts(c, comm, false, &d);
    if (rc == 0 && l->o->fused)
        rc = run_parts(c, comm, true, &d);
    free(d.x), free(d.own), free(d.want);
    return rc;
}

/* Returns medians over the runs of real ranks, and sorts these: the slowest rank's total, the
 * ranks' mean parts. Collective. */
static struct phase phase_of_real(struct layers_contender *c, int what)
{
    const size_t reps = (size_t)c->l->o->reps;
    struct phase *of = c->of[what], sum = of[0];
    double part[4][MAX_REPS], worst;
    for (size_t i = 0; i < reps; i++) {
        part[0][i] = of[i].exponents_s / c->n_ranks, part[1][i] = of[i].codes_s / c->n_ranks;
        part[2][i] = of[i].cast_s / c->n_ranks, part[3][i] = of[i].all_s;
        sum.wrong += i ? of[i].wrong : 0;
    }
    for (int k = 0; k < 4; k++)
        MPI_Allreduce(MPI_IN_PLACE, part[k], (int)reps, MPI_DOUBLE, k < 3 ? MPI_SUM : MPI_MAX,
                      MPI_COMM_WORLD);
    row_times(part[0], reps, &sum.exponents_s, &worst);
    row_times(part[1], reps, &sum.codes_s, &worst);
    row_times(part[2], reps, &sum.cast_s, &worst);
    row_times(part[3], reps, &sum.all_s, &worst);
    uint64_t most[] = {sum.sent_bytes, sum.rounds};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum.wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    sum.sent_bytes = most[0], sum.rounds = most[1];
    return sum;
}

static struct phase phase_of_virtual(const struct layers_contender *c, int what)
{
    struct phase most = c->of[what][0];
    for (int r = 1; r < c->n_ranks; r++) {
        const struct phase *p = &c->of[what][r];
        most.sent_bytes = p->sent_bytes > most.sent_bytes ? p->sent_bytes : most.sent_bytes;
        most.rounds = p->rounds > most.rounds ? p->rounds : most.rounds;
    }
    most.exponents_s = most.codes_s = most.cast_s = most.all_s = 0;
    return most;
}

static const char *phase_name(const struct layers *l, int what, char text[32])
{
    if (what == FUSED || what == ONE_BY_ONE)
        return what == FUSED ? "fused" : "one by one";
    snprintf(text, 32, "%zu", l->n[what]);
    return text;
}

static void phase_head(bool is_virtual)
{
    if (is_virtual)
        printf("%-12s %-18s %-14s %12s %12s %8s\n", "# layer", "algo", "type", "exponents, B",
               "codes, B", "rounds");
    else
        printf("%-12s %-18s %-14s %13s %10s %10s %10s %12s %6s\n", "# layer", "algo", "type",
               "exponents, us", "codes, us", "casts, us", "time, us", "wire_bytes", "#wrong");
}

/* base_s: the phase in fp16; 0: this is fp16. */
static int phase_show(const struct layers_contender *c, int what, const struct phase *p,
                      double base_s)
{
    char text[32];
    const char *name = phase_name(c->l, what, text);
    struct jsonl j;
    if (!c->l->o->json && c->is_virtual)
        printf("%-12s %-18s %-14s %12llu %12llu %8llu\n", name, c->algo, c->type,
               (unsigned long long)p->exponent_bytes,
               (unsigned long long)(p->sent_bytes - p->exponent_bytes),
               (unsigned long long)p->rounds);
    else if (!c->l->o->json)
        printf("%-12s %-18s %-14s %13.1f %10.1f %10.1f %10.1f %12llu %6llu\n", name, c->algo,
               c->type, 1e6 * p->exponents_s, 1e6 * p->codes_s, 1e6 * p->cast_s, 1e6 * p->all_s,
               (unsigned long long)p->sent_bytes, (unsigned long long)p->wrong);
    if (!c->l->o->json)
        return fflush(stdout) ? -EIO : 0;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "phase");
    if (c->l->o->label)
        jsonl_text(&j, "label", c->l->o->label);
    jsonl_text(&j, "layer", name);
    jsonl_text(&j, "algo", c->algo);
    jsonl_text(&j, "type", c->type);
    jsonl_int(&j, "ranks", c->n_ranks);
    jsonl_bool(&j, "virtual", c->is_virtual);
    jsonl_uint(&j, "exponent_bytes", p->exponent_bytes);
    jsonl_uint(&j, "code_bytes", p->sent_bytes - p->exponent_bytes);
    jsonl_uint(&j, "rounds", p->rounds);
    if (!c->is_virtual) {
        jsonl_real(&j, "exponents_us", 1e6 * p->exponents_s);
        jsonl_real(&j, "codes_us", 1e6 * p->codes_s);
        jsonl_real(&j, "casts_us", 1e6 * p->cast_s);
        jsonl_real(&j, "time_us", 1e6 * p->all_s);
        jsonl_uint(&j, "wrong", p->wrong);
        jsonl_real(&j, "ratio", base_s > 0 ? base_s / p->all_s : 1);
    }
    return jsonl_end(&j);
}

/* base_s[N_PHASES]: times of the first contender. */
static int layers_show(struct layers_contender *c, struct comm *comm, struct comm_virtual *v,
                       double *base_s, uint64_t *wrong)
{
    const size_t rows = (size_t)(v ? c->n_ranks : c->l->o->reps);
    const bool first = base_s[ONE_BY_ONE] == 0, speaks = comm_rank(comm) == 0;
    int rc = 0;
    for (int what = 0; what < N_PHASES && rc == 0; what++) {
        c->of[what] = buf_alloc(rows * sizeof *c->of[what]);
        rc = c->of[what] ? 0 : -ENOMEM;
    }
    if (rc == 0)
        rc = v ? comm_virtual_run(v, run_rank, c) : run_rank(comm, c);
    for (int what = 0; what < N_PHASES && rc == 0; what++) {
        if ((what >= c->l->n_layers && what < ONE_BY_ONE) || (what == FUSED && !c->l->o->fused))
            continue;
        const struct phase p = v ? phase_of_virtual(c, what) : phase_of_real(c, what);
        if (first)
            base_s[what] = p.all_s;
        *wrong += p.wrong;
        if (speaks)
            rc = phase_show(c, what, &p, base_s[what]);
    }
    for (int what = 0; what < N_PHASES; what++)
        free(c->of[what]);
    return rc;
}

static struct layers_contender layers_contender_of(const struct layers *l, int n_ranks,
                                                   bool is_virtual, const struct contender *of)
{
    struct layers_contender c = {.l = l,
                                 .spec = of->spec,
                                 .algo = of->algo,
                                 .type = of->type,
                                 .n_ranks = n_ranks,
                                 .is_virtual = is_virtual};
    c.spec.bucket_bytes = (size_t)1 << 40; /* one bucket for all layers */
    c.spec.codec.format = of->format;
    c.spec.codec.out_format = of->out[0] ? of->out : l->o->out_format;
    c.spec.algo = of->algo;
    return c;
}

int layers_run(const struct options *o, struct comm *comm, const struct layers *l,
               struct contender *list, int n, uint64_t *wrong)
{
    struct comm_virtual *v = NULL;
    double base_s[N_PHASES] = {0};
    struct contender fp16;
    const bool is_virtual = comm_n_ranks(comm) == 1;
    const int n_ranks = is_virtual ? (int)o->virtual_ranks : comm_n_ranks(comm);
    fp16 = (struct contender){.type = "fp16", .format = "fp16", .out = "fp16"};
    snprintf(fp16.algo, sizeof fp16.algo, "%s", is_virtual ? "ring" : "native");
    fp16.spec.codec.scale = "none", fp16.spec.codec.sum = "nearest";
    if (is_virtual)
        TRY(comm_virtual_open(n_ranks, NULL, &v));
    if (comm_rank(comm) == 0 && !o->json)
        phase_head(is_virtual);
    int rc = 0;
    for (int i = -1; i < n && rc == 0; i++) {
        struct layers_contender c =
            layers_contender_of(l, n_ranks, is_virtual, i < 0 ? &fp16 : &list[i]);
        if (i >= 0 && !c.spec.codec.scale)
            c.spec.codec.scale = "aps";
        rc = layers_show(&c, comm, v, base_s, wrong);
    }
    comm_virtual_close(v);
    return rc;
}
