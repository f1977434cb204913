/* bench_allreduce.c : times an all-reduce as its user calls it, from fp32 gradients to means. */
#include "allreduce.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/progress.h"
#include "bench/measure.h"
#include <stdlib.h>

enum { MAX_CONTENDERS = 32 };

static struct bench {
    struct options o;
    struct comm *comm;
    struct peers peers;
    struct contender c[MAX_CONTENDERS];
    int n_contenders, n_ranks, rank;
    size_t n; /* elements */
    float *own, *want, *x;
    uint64_t step, wrong;
    struct progress progress;
} b;

/* ---- one run ---- */

/* Returns the bytes that left this host, except through lo. */
static uint64_t port_sent(void)
{
    FILE *f = fopen("/proc/net/dev", "r");
    char line[512], name[32];
    unsigned long long sent, sum = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, " %31[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %llu", name, &sent) == 2 &&
            strcmp(name, "lo") != 0)
            sum += sent;
    if (f)
        fclose(f);
    return sum;
}

static uint64_t larger(uint64_t a, uint64_t c)
{
    return a > c ? a : c;
}

static int run(struct contender *c, size_t rep)
{
    struct reducer_step report = {.sent_bytes = 8 * (uint64_t)b.n * (uint64_t)(b.n_ranks - 1) /
                                                (uint64_t)b.n_ranks};
    if (!c->peer) /* our all-reduce works in place */
        memcpy(b.x, b.own, 4 * b.n);
    const struct timespec rest = {.tv_sec = b.o.rest_ms / 1000,
                                  .tv_nsec = b.o.rest_ms % 1000 * 1000000};
    if (b.o.rest_ms > 0)
        nanosleep(&rest, NULL);
    TRY(comm_barrier(b.comm));
    const uint64_t port_before = port_sent();
    const double start = clock_s();
    if (c->peer)
        peer_run(c->peer, b.own, b.x, b.n);
    else
        TRY(reducer_run(c->job.reducer, b.step++, &b.x, &report));
    TRY(card_check_step(&c->job, &report));
    c->seconds[rep] = clock_s() - start;
    c->codec_s[rep] = report.codec_s;
    c->port_bytes = larger(c->port_bytes, port_sent() - port_before);
    c->wire_bytes = larger(c->wire_bytes, report.sent_bytes);
    c->wrong = larger(c->wrong, data_wrong(b.x, b.want, b.n, c->peer ? 1 : (float)b.n_ranks));
    return 0;
}

/* ---- MPI's fastest algorithm ---- */

static double of_slowest(double seconds)
{
    double max = seconds;
    MPI_Allreduce(&seconds, &max, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return max;
}

static int try_peer(struct contender *c, struct peer *peer, int n_runs)
{
    double seconds[8], worst;
    c->peer = peer;
    for (int i = 0; i < n_runs; i++) {
        if (progress_due(&b.progress))
            progress_say(&b.progress, "%zu bytes: trying MPI's %s", 4 * b.n, peer->name);
        TRY(run(c, 0));
        seconds[i] = of_slowest(c->seconds[0]);
    }
    row_times(seconds, (size_t)n_runs, &peer->seconds, &worst);
    peer->n = b.n;
    return 0;
}

/* Returns the fastest of the peers tried with the most elements: a time with fewer elements says
 * nothing about more. */
static const struct peer *fastest_peer(void)
{
    const struct peer *best = &b.peers.peer[0];
    for (int i = 1; i < b.peers.n; i++) {
        const struct peer *p = &b.peers.peer[i];
        if (p->n > best->n || (p->n == best->n && p->seconds < best->seconds))
            best = p;
    }
    return best;
}

/* Try those peers again that took at most `within` times as long as the best. */
static int try_peers(struct contender *c, double within, int n_runs)
{
    const double limit = within * fastest_peer()->seconds;
    for (int i = 0; i < b.peers.n; i++)
        if (b.peers.peer[i].seconds <= limit)
            TRY(try_peer(c, &b.peers.peer[i], n_runs));
    return 0;
}

static int choose_peer(struct contender *c)
{
    const bool is_long = b.n > 1 << 20;
    if (fastest_peer()->n == 0) /* first size: sets up connections */
        TRY(try_peers(c, 1, is_long ? 1 : 3));
    TRY(try_peers(c, 4, is_long ? 1 : 7));
    if (is_long)
        TRY(try_peers(c, 1.5, 3));
    for (int i = 0; i < b.peers.n && b.rank == 0 && b.o.json; i++)
        if (b.peers.peer[i].n == b.n)
            printf("{\"kind\":\"mpi\",\"algorithm\":\"%s\",\"size\":%zu,\"time_us\":%.1f}\n",
                   b.peers.peer[i].name, 4 * b.n, 1e6 * b.peers.peer[i].seconds);
    c->peer = fastest_peer();
    snprintf(c->algo, sizeof c->algo, "mpi:%s", c->peer->name);
    c->wrong = c->wire_bytes = c->port_bytes = 0;
    return 0;
}

/* ---- contenders ---- */

/* type: "FORMAT" or "FORMAT/OUT". */
static void contender_init(struct contender *c, const struct options *o, const char *algo,
                           const char *type)
{
    *c = (struct contender){.wrong = 0};
    snprintf(c->algo, sizeof c->algo, "%s", algo);
    snprintf(c->type, sizeof c->type, "%s", type);
    sscanf(type, "%23[^/]/%23s", c->format, c->out);
    c->spec = (struct job_spec){.codec = {.format = c->format,
                                          .scale = o->scale,
                                          .sum = o->sum,
                                          .out_format = c->out[0] ? c->out : o->out_format},
                                .algo = c->algo,
                                .bucket_bytes = (size_t)1 << 20};
    if (!strcmp(algo, "offload-each")) /* a named algorithm: ranks do not add first */
        c->spec.algo = "direct";
    if (!strncmp(algo, "offload", strlen("offload")))
        c->spec.cards = (struct offload_options){
            .where = o->offload, .provider = o->fabric, .slots = (int)o->slots};
}

/* Open the job for n elements. Collective. Returns 0, -EINVAL if one rank has reported that the
 * combination does not exist, or another negative errno. */
static int contender_open(struct contender *c, struct comm *comm, size_t n)
{
    const struct reducer_layer layer = {.name = "all", .n = n};
    c->wrong = c->wire_bytes = c->port_bytes = 0;
    TRY(job_settle(comm, &c->spec, &c->job));
    TRY(job_open(&c->job, &layer, 1));
    return card_check(&c->card, &c->job);
}

/* Copy the next word of the list *at, which becomes NULL after the last. Returns false if there is
 * none. */
static bool next_word(const char **at, char *word, size_t size)
{
    if (!*at)
        return false;
    const size_t length = strcspn(*at, ",");
    snprintf(word, size, "%.*s", (int)length, *at);
    *at = (*at)[length] ? *at + length + 1 : NULL;
    return true;
}

static int list_words(void)
{
    char algo[NAME_BYTES], type[2 * NAME_BYTES];
    contender_init(&b.c[0], &b.o, "", "fp32");
    b.n_contenders = 1;
    for (const char *algos = b.o.algo; next_word(&algos, algo, sizeof algo);)
        for (const char *types = b.o.format; next_word(&types, type, sizeof type);) {
            if (b.n_contenders == MAX_CONTENDERS)
                return b.rank > 0
                           ? -EINVAL
                           : ERR(-EINVAL, "cannot compare more than %d: shorten --algo or --format",
                                 MAX_CONTENDERS - 1);
            contender_init(&b.c[b.n_contenders++], &b.o, algo, type);
        }
    return 0;
}

/* Keep the combinations that exist; rank 0 reports why others do not. Collective. */
static int list_contenders(void)
{
    int n = 1;
    TRY(list_words());
    for (int i = 1; i < b.n_contenders; i++) {
        struct contender *c = &b.c[n];
        char algo[NAME_BYTES], type[2 * NAME_BYTES];
        snprintf(algo, sizeof algo, "%s", b.c[i].algo);
        snprintf(type, sizeof type, "%s", b.c[i].type);
        contender_init(c, &b.o, algo, type);
        const int rc = job_settle(b.comm, &c->spec, &c->job);
        if (rc == 0) {
            job_close(&c->job);
            n++;
        } else if (rc != -EINVAL) {
            return rc;
        }
    }
    b.n_contenders = n;
    return n > 1 ? 0 : -EINVAL;
}

/* ---- a size ---- */

static int report(struct contender *c, double *base_s)
{
    const size_t n = (size_t)b.o.reps;
    uint64_t most[2] = {c->wire_bytes, c->port_bytes}, wrong = c->wrong;
    double worst;
    MPI_Allreduce(MPI_IN_PLACE, c->seconds, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, c->codec_s, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    struct row row = {
        .algo = c->algo, .type = c->type, .bytes = 4 * (uint64_t)b.n, .n_ranks = b.n_ranks};
    row_times(c->seconds, n, &row.time_s, &row.p99_s);
    row_times(c->codec_s, n, &row.codec_s, &worst);
    if (c->peer)
        *base_s = row.time_s;
    row.base_s = *base_s;
    row.wrong = wrong;
    b.wrong += wrong;
    row.wire_bytes = most[0];
    row.port_bytes = most[1];
    row.by_card = c->job.offload != NULL;
    if (row.by_card)
        row.cost = card_cost_of(&c->card, b.rank == 0, (double)n);
    if (b.rank > 0)
        return 0;
    progress_clear(&b.progress);
    if (b.o.json)
        return row_json(&row, b.o.label);
    row_print(&row, b.o.offload != NULL);
    return 0;
}

static int measure(void)
{
    double base_s = 0;
    TRY(choose_peer(&b.c[0]));
    for (int64_t rep = -b.o.warmup; rep < b.o.reps; rep++)
        for (int i = 0; i < b.n_contenders; i++) {
            if (rep == 0)
                card_begin(&b.c[i].card, b.rank == 0);
            TRY(run(&b.c[i], rep < 0 ? 0 : (size_t)rep));
            if (progress_due(&b.progress))
                progress_say(&b.progress, "%zu bytes: %s %s, run %lld of %lld", 4 * b.n,
                             b.c[i].algo, b.c[i].type, (long long)(rep + b.o.warmup) + 1,
                             (long long)(b.o.reps + b.o.warmup));
        }
    for (int i = 0; i < b.n_contenders; i++)
        TRY(report(&b.c[i], &base_s));
    return 0;
}

static int run_size(size_t bytes)
{
    b.n = bytes / 4;
    b.own = buf_alloc(4 * b.n);
    b.want = buf_alloc(4 * b.n);
    b.x = buf_alloc(4 * b.n);
    int rc = b.own && b.want && b.x ? 0 : -ENOMEM;
    if (rc == 0)
        data_fill(b.own, b.want, b.n, b.rank, b.n_ranks);
    for (int i = 1; i < b.n_contenders && rc == 0; i++)
        rc = contender_open(&b.c[i], b.comm, b.n);
    if (rc == 0)
        rc = measure();
    for (int i = 1; i < b.n_contenders; i++)
        job_close(&b.c[i].job);
    free(b.own);
    free(b.want);
    free(b.x);
    return rc;
}

static int read_sizes(const char *text, uint64_t *from, uint64_t *to)
{
    static const struct opt size = {"sizes", "FROM:TO", NULL, "", OPT_SIZE, 0, 4, 0x1p36, 0};
    char first[32];
    const size_t length = strcspn(text, ":");
    snprintf(first, sizeof first, "%.*s", (int)length, text);
    TRY(opt_set(&size, first, from));
    TRY(opt_set(&size, text[length] ? text + length + 1 : first, to));
    return *to >= *from ? 0 : ERR(-EINVAL, "--sizes '%s': the second must not be smaller", text);
}

/* Virtual ranks settle their jobs themselves. */
static int run_layers(void)
{
    struct layers l = {.o = &b.o};
    err_hold();
    TRY(comm_agree(b.comm, layers_read(b.o.layers, &l)));
    if (b.n_ranks > 1)
        TRY(list_contenders());
    else
        TRY(list_words());
    return layers_run(&b.o, b.comm, &l, b.c + 1, b.n_contenders - 1, &b.wrong);
}

static int run_all(void)
{
    uint64_t from, to;
    b.n_ranks = comm_n_ranks(b.comm);
    b.rank = comm_rank(b.comm);
    if (b.o.layers)
        return run_layers();
    err_hold();
    TRY(comm_agree(b.comm, read_sizes(b.o.sizes, &from, &to)));
    peers_open(&b.peers, b.o.mpi);
    err_hold();
    TRY(comm_agree(b.comm, b.peers.n > 0
                               ? 0
                               : ERR(-EINVAL, "MPI has no all-reduce algorithm \"%s\"", b.o.mpi)));
    TRY(list_contenders());
    progress_init(&b.progress, b.rank == 0);
    if (b.rank == 0 && !b.o.json)
        row_head(b.o.offload != NULL);
    int rc = 0;
    for (uint64_t size = from; size <= to && rc == 0; size *= (uint64_t)b.o.factor)
        rc = run_size(size);
    peers_close(&b.peers);
    return rc;
}

int main(int argc, char **argv)
{
    struct opt_parsed parsed;
    const int done = measure_options(&allreduce_command, argc, argv, &b.o, &parsed);
    if (done >= 0)
        return done;
    if (!b.o.offload && strstr(b.o.algo, "offload"))
        return ERR(2, "--algo offload needs cards: --offload udp://HOST:PORT or sim");
    peers_prepare();
    if (comm_open(120, &b.comm) < 0)
        return 1;
    int rc = run_all();
    if (rc < 0)
        comm_abort(b.comm, rc); /* others may wait */
    if (b.wrong > 0 && b.rank == 0)
        (void)ERR(-EIO, "%llu sums are wrong: rows with #wrong above 0 must not be used",
                  (unsigned long long)b.wrong);
    comm_close(b.comm);
    return b.wrong > 0;
}
