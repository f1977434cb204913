/* bench_blocks.c : times the mean of V blocks of gradients (nc_options.blocks) against fp32: each
 * process adds its blocks, and MPI's fastest algorithm adds the processes. */
#include "allreduce.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "bench/measure.h"
#include <narrowcast.h>

static int rank, n_ranks;

static double of_slowest(double seconds)
{
    double all;
    MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void *must(void *p)
{
    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

/* Adds the blocks of this process, then those of all processes. */
static double fp32_step(const struct peer *peer, float *const *blocks, int n_blocks, float *sum,
                        float *all, size_t n, float factor)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = clock_s();
    memcpy(sum, blocks[0], n * sizeof *sum);
    for (int b = 1; b < n_blocks; b++)
        for (size_t i = 0; i < n; i++)
            sum[i] += blocks[b][i];
    peer_run(peer, sum, all, n);
    for (size_t i = 0; i < n; i++)
        all[i] *= factor;
    return of_slowest(clock_s() - start);
}

static double nc_step_s(struct nc *nc, float *const *blocks, struct nc_report *report)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = clock_s();
    if (nc_allreduce(nc, blocks, report) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return of_slowest(clock_s() - start);
}

static struct nc *open_format(const char *word, int n_all, size_t n, char text[32])
{
    const struct nc_layer layer = {.name = "gradients", .n = n};
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    snprintf(text, 32, "%s", word);
    char *slash = strchr(text, '/');
    if (slash)
        *slash = 0, o.out_format = slash + 1;
    o.format = text;
    o.scale = "aps";
    o.blocks = n_all;
    if (nc_open(&o, &layer, 1, &nc) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return nc;
}

/* Returns the fastest of MPI's algorithms, each tried once. */
static const struct peer *fastest(struct peers *peers, float *const *blocks, int n_blocks,
                                  float *sum, float *all, size_t n)
{
    const struct peer *best = peers->peer;
    for (int i = 0; i < peers->n; i++) {
        struct peer *p = &peers->peer[i];
        p->seconds = fp32_step(p, blocks, n_blocks, sum, all, n, 1);
        best = p->seconds < best->seconds ? p : best;
    }
    return best;
}

/* Sum once numbers whose mean is known, in each format. own, want: [n]. Returns the wrong elements
 * of all processes. */
static uint64_t wrong_sums(struct nc *const *nc, int n_formats, float *const *blocks, int n_all,
                           size_t n, float *own, float *want)
{
    const int first = nc_first_block(nc[0]), n_blocks = nc_n_blocks(nc[0]);
    struct nc_report report;
    uint64_t wrong = 0;
    data_fill(own, want, n, first, n_all);
    for (int b = 1; b < n_blocks; b++)
        for (size_t i = 0; i < n; i++)
            blocks[b][i] = data_of(i, first + b, n_all);
    for (int f = 0; f < n_formats; f++) {
        memcpy(blocks[0], own, n * sizeof *own); /* the mean replaces it */
        (void)nc_step_s(nc[f], blocks, &report);
        wrong += data_wrong(blocks[0], want, n, (float)n_all);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return wrong;
}

enum { FORMATS_MAX = 16 };

static int run(int n_all, size_t n, int reps, const char *const *words, int n_words)
{
    struct nc *nc[FORMATS_MAX];
    char text[FORMATS_MAX][32];
    struct nc_report report[FORMATS_MAX];
    struct peers peers;
    double *s = must(buf_alloc((size_t)(n_words + 1) * (size_t)reps * sizeof *s));
    peers_open(&peers, NULL);
    for (int f = 0; f < n_words; f++)
        nc[f] = open_format(words[f], n_all, n, text[f]);
    const int n_blocks = nc_n_blocks(nc[0]);
    float **blocks = must(buf_alloc((size_t)n_blocks * sizeof *blocks));
    float *sum = must(measure_alloc(n * sizeof *sum)), *all = must(measure_alloc(n * sizeof *all));
    for (int b = 0; b < n_blocks; b++)
        blocks[b] = must(measure_alloc(n * sizeof **blocks));
    const uint64_t wrong = wrong_sums(nc, n_words, blocks, n_all, n, sum, all);
    if (wrong > 0 && rank == 0)
        (void)ERR(-EIO, "%llu sums are wrong: the times are no measurement",
                  (unsigned long long)wrong);
    for (int b = 0; b < n_blocks; b++)
        for (size_t i = 0; i < n; i++)
            blocks[b][i] = (float)((i * 37 + (size_t)b * 11) % 61) * 0.01f - 0.3f;
    const struct peer *mpi = fastest(&peers, blocks, n_blocks, sum, all, n);
    for (int i = -1; i < reps; i++) { /* the first is not counted */
        const double t = fp32_step(mpi, blocks, n_blocks, sum, all, n, 1.0f / (float)n_all);
        if (i >= 0)
            s[i] = t;
        for (int f = 0; f < n_words; f++) {
            const double own = nc_step_s(nc[f], blocks, &report[f]);
            if (i >= 0)
                s[(f + 1) * reps + i] = own;
        }
    }
    const double base = measure_median(s, (size_t)reps);
    if (rank == 0)
        printf("%d blocks in %d processes, %.1f MiB each, median of %d\n%-12s %9.1f ms  by %s\n",
               n_all, n_ranks, (double)n / (1 << 18), reps, "fp32 of MPI", 1e3 * base, mpi->name);
    for (int f = 0; f < n_words; f++) {
        const double own = measure_median(s + (f + 1) * reps, (size_t)reps);
        if (rank == 0)
            printf("%-12s %9.1f ms  %.2f times as fast, %.1f MB sent, by %s\n", words[f], 1e3 * own,
                   base / own, 1e-6 * (double)report[f].sent_bytes, report[f].path);
        nc_close(nc[f]);
    }
    peers_close(&peers);
    for (int b = 0; b < n_blocks; b++)
        free(blocks[b]);
    free(blocks), free(sum), free(all), free(s);
    return wrong > 0;
}

struct blocks_options {
    int64_t blocks, reps;
    uint64_t size;
};
#define AT(field) offsetof(struct blocks_options, field)
static const struct opt opts[] = {
    {"blocks", "V", "0", "Blocks of all processes. 0: 4 of each.", INT_AT(blocks, 0, 4096)},
    {"size", "BYTES", "64M", "Bytes of fp32 gradients of a block.", SIZE_AT(size, 4, 0x1p40)},
    {"reps", "N", "5", "Runs of each contender, in turn.", INT_AT(reps, 1, MAX_REPS)},
};
static const struct opt_command command = {
    .name = "bench_blocks",
    .args = "[FORMAT[/RESULT]...]",
    .max_args = FORMATS_MAX,
    .about = "Times the mean of V blocks of gradients in each FORMAT, as in `narrowcast train "
             "--format`, with scale aps. Default: e5m2 e4m3 e3m4 e3m0/e3m0. Prints the median time "
             "of a step on the slowest process, its ratio to fp32's, and the bytes that a process "
             "sends.\n",
    .examples = "  bench/netlab.sh -n 4 -r 1gbit -- bash -c \\\n"
                "      'mpirun $NETLAB_MPI -np 4 build/bench_blocks --blocks 16'\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};

int main(int argc, char **argv)
{
    static const char *const standard[] = {"e5m2", "e4m3", "e3m4", "e3m0/e3m0"};
    struct blocks_options o = {0};
    struct opt_parsed parsed;
    int level;
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    peers_prepare();
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    const int n_all = o.blocks ? (int)o.blocks : 4 * n_ranks, n_words = parsed.n_args;
    int rc = 2;
    if (n_all >= n_ranks)
        rc = run(n_all, o.size / 4, (int)o.reps,
                 n_words ? (const char *const *)parsed.args : standard, n_words ? n_words : 4);
    else if (rank == 0)
        (void)ERR(-EINVAL, "--blocks %d: must be at least %d, one for each process", n_all,
                  n_ranks);
    MPI_Finalize();
    return rc;
}
