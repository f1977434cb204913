/* bench_native.c : compares MPI's all-reduces of fp32, fp16 and e5m2 with ours of e5m2.
 *
 * Each row runs in turn with two all-reduces of the same elements in fp32: MPI_Allreduce with Open
 * MPI's fastest algorithm, and MPI_Iallreduce. Ratios are to the faster of these in each run;
 * times are medians without casts. fp16, e5m2 and one row of fp32 (against MPI_SUM, the fp8
 * paper's figure 3) use our MPI_Op. */
#include "allreduce_peer.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "base/progress.h"
#include "hls/arith/philox.h"
#include "job/job.h"
#include "bench/measure.h"
#include <stdlib.h>
#include <string.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- copies between ranks on one machine ---- */

enum { MPI_COPY_BYTES = 96 };

/* Get Open MPI 4's setting after MPI_Init: "cma", "none", ...; "" if there is none. */
static void mpi_copy_setting(char word[MPI_COPY_BYTES])
{
    int level, index, verbosity, binding, scope, count, value, n_words, name_bytes = 0,
                                                                        text_bytes = 0;
    MPI_Datatype type;
    MPI_T_enum words;
    MPI_T_cvar_handle setting;
    word[0] = 0;
    if (MPI_T_init_thread(MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return;
    if (MPI_T_cvar_get_index("btl_vader_single_copy_mechanism", &index) == MPI_SUCCESS &&
        MPI_T_cvar_get_info(index, NULL, &name_bytes, &verbosity, &type, &words, NULL, &text_bytes,
                            &binding, &scope) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &setting, &count) == MPI_SUCCESS) {
        int n = MPI_T_cvar_read(setting, &value) == MPI_SUCCESS &&
                        MPI_T_enum_get_info(words, &n_words, NULL, &name_bytes) == MPI_SUCCESS
                    ? n_words
                    : 0;
        for (int i = 0; i < n; i++) {
            int item, word_bytes = MPI_COPY_BYTES;
            char name[MPI_COPY_BYTES];
            if (MPI_T_enum_get_item(words, i, &item, name, &word_bytes) == MPI_SUCCESS &&
                item == value)
                snprintf(word, MPI_COPY_BYTES, "%s", name);
        }
        MPI_T_cvar_handle_free(&setting);
    }
    MPI_T_finalize();
}

/* Returns on rank 0 whether it may read the memory of the last rank. Collective. */
static int mpi_copy_permitted(void)
{
    int rank, n_ranks, seen = 0;
    volatile int mark = 41;
    struct {
        long long pid, address;
    } last = {getpid(), (long long)&mark};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Bcast(&last, 2, MPI_LONG_LONG, n_ranks - 1, MPI_COMM_WORLD);
    if (rank == 0) {
        struct iovec to = {&seen, sizeof seen}, from = {(void *)last.address, sizeof seen};
        seen = process_vm_readv((pid_t)last.pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof seen;
    }
    MPI_Barrier(MPI_COMM_WORLD); /* mark must live until it is read */
    return seen;
}

/* Collective; rank 0 gets the description. */
static void mpi_copy_words(char words[MPI_COPY_BYTES])
{
    char setting[MPI_COPY_BYTES];
    mpi_copy_setting(setting);
    snprintf(words, MPI_COPY_BYTES, "%.30s (process_vm_readv is %spermitted here)",
             setting[0] ? setting : "Open MPI's own choice", mpi_copy_permitted() ? "" : "not ");
}

/* ---- the program ---- */

enum { MAX_REPS = 101 };

struct options {
    int64_t mib, reps;
    const char *only;
    bool json;
};

static const struct row {
    const char *name, *algo;
    struct codec_spec spec;
} rows[] = {
    {"MPI_Allreduce fp32", "native", {.format = "fp32"}},
    {"MPI_Iallreduce fp32", "native", {.format = "fp32"}},
    {"MPI_Iallreduce our MPI_Op fp32", "native", {.format = "fp32"}},
    {"MPI_Iallreduce fp16 nearest", "native", {.format = "fp16", .sum = "nearest"}},
    {"MPI_Iallreduce e5m2 nearest", "native", {.format = "e5m2", .sum = "nearest"}},
    {"MPI_Iallreduce e5m2 trunc", "native", {.format = "e5m2", .sum = "trunc"}},
    {"ring e5m2 nearest", "ring", {.format = "e5m2", .sum = "nearest"}},
    {"direct e5m2 exact", "direct", {.format = "e5m2", .sum = "exact"}},
};
enum { N_ROWS = sizeof rows / sizeof rows[0], BLOCKING = 0, NATIVE = 1, OUR_OP = 2 };

struct way {
    const struct peer *peer; /* for MPI_Allreduce; NULL: run algo with call */
    bool our_op;             /* run MPI_Iallreduce of fp32 with add_fp32() */
    const struct algo *algo;
    struct codec codec;
    struct codec_call step; /* of call.op */
    struct algo_call call;
    struct reduce_op_kind reduce_op_kind; /* MPI_Iallreduce's */
    uint8_t *codes;
};

struct fp32 {
    struct peers peers;
    struct way blocking, native;
};

/* Reduce op that keeps MPI's sum: unlike `native`, without overflow and result format. */
static void leave(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                  size_t n, bool last, uint8_t *codes)
{
    (void)f, (void)at, (void)parts, (void)n_parts, (void)n, (void)last, (void)codes;
}

/* Uniform in [-1, 1). */
static float element(int rank, size_t i)
{
    return (float)philox_u32((uint64_t)rank + 1, i) * 0x1p-31f - 1;
}

/* Add with the code of other formats. */
static void add_fp32(void *in, void *inout, int *n, MPI_Datatype *type)
{
    static const struct vec_sum sum = {
        .rule = VEC_FP32, .in = {8, 23, 0}, .out = {8, 23, 0}, .n_ranks = 2};
    const uint8_t *const parts[] = {in, inout};
    (void)type;
    vec_best()->sum(&sum, parts, 2, (size_t)*n, sum.in, 0, inout);
}

static int run_our_op(struct comm *c, const struct way *w)
{
    const size_t last = w->call.n - 1;
    double want = 0;
    MPI_Op op;
    MPI_Request req;
    MPI_Op_create(add_fp32, 1, &op);
    MPI_Iallreduce(w->codes, w->call.result, (int)w->call.n, MPI_FLOAT, op, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Op_free(&op);
    for (int r = 0; r < comm_n_ranks(c); r++)
        want += (double)element(r, last);
    const double got = (double)((const float *)(const void *)w->call.result)[last];
    return got - want < 1e-4 && want - got < 1e-4
               ? 0
               : ERR(-EILSEQ, "our MPI_Op sums to %g, not %g", got, want);
}

static int way_open(struct comm *c, const struct row *row, size_t n, struct way *w)
{
    const int n_ranks = comm_n_ranks(c), rank = comm_rank(c);
    const struct job_spec spec = {.codec = row->spec, .algo = row->algo};
    struct job job;
    TRY(job_settle(c, &spec, &job));
    w->algo = job.algo;
    w->codec = job.codec;
    w->step = (struct codec_call){.codec = &w->codec};
    w->call = (struct algo_call){
        .codec = &w->codec, .op = codec_reduce_op(&w->step), .n = n, .group = job.group};
    if (w->algo == &algo_native) {
        w->reduce_op_kind = *w->call.op.ops;
        w->reduce_op_kind.sum = leave;
        w->call.op.ops = &w->reduce_op_kind;
    }
    w->codes = buf_alloc(vec_bytes(codec_sum(&w->codec)->in, n));
    w->call.result = buf_alloc(vec_bytes(codec_sum(&w->codec)->out, n));
    w->call.scratch = buf_alloc(w->algo->scratch_bytes(&w->call.op, n, n_ranks, job.group));
    if (!w->codes || !w->call.result || !w->call.scratch)
        return -ENOMEM;
    for (size_t i = 0; i < n; i += 1024) {
        float x[1024];
        const size_t k = n - i < 1024 ? n - i : 1024;
        for (size_t j = 0; j < k; j++)
            x[j] = element(rank, i + j);
        codec_encode(&w->codec, 0, 0, (uint32_t)rank, x, k, 0,
                     w->codes + vec_bytes(codec_sum(&w->codec)->in, i));
    }
    w->call.codes = w->codes;
    return 0;
}

static void way_close(struct way *w)
{
    free(w->codes);
    free(w->call.result);
    free(w->call.scratch);
}

static int time_once(struct comm *c, const struct way *w, double *seconds)
{
    TRY(comm_barrier(c));
    const double start = clock_s();
    if (w->peer)
        peer_run(w->peer, (const float *)(const void *)w->codes, (float *)(void *)w->call.result,
                 w->call.n);
    else if (w->our_op)
        TRY(run_our_op(c, w));
    else
        TRY(w->algo->run(c, &w->call));
    TRY(comm_barrier(c));
    *seconds = clock_s() - start;
    return 0;
}

/* Rank 0 chooses MPI_Allreduce's algorithm, the fastest in three runs. */
static int fp32_open(struct comm *c, size_t n, struct fp32 *fp32)
{
    double best = 1e300, seconds;
    int fastest = 0;
    peers_open(&fp32->peers, NULL);
    TRY(way_open(c, &rows[BLOCKING], n, &fp32->blocking));
    TRY(way_open(c, &rows[NATIVE], n, &fp32->native));
    for (int i = 0; i < 3 * fp32->peers.n; i++) {
        fp32->blocking.peer = &fp32->peers.peer[i % fp32->peers.n];
        TRY(time_once(c, &fp32->blocking, &seconds));
        if (seconds < best) {
            best = seconds;
            fastest = i % fp32->peers.n;
        }
    }
    MPI_Bcast(&fastest, 1, MPI_INT, 0, MPI_COMM_WORLD);
    fp32->blocking.peer = &fp32->peers.peer[fastest];
    return 0;
}

static void fp32_close(struct fp32 *fp32)
{
    way_close(&fp32->native);
    way_close(&fp32->blocking);
    peers_close(&fp32->peers);
}

/* Seconds of one run, or medians. */
struct result {
    double taken;
    double fp32, fp32_slower; /* faster and slower of MPI's two */
    double ratio;             /* fp32 / taken */
};

static int once(struct comm *c, const struct fp32 *fp32, const struct way *w, struct result *x)
{
    double blocking, native;
    TRY(time_once(c, &fp32->blocking, &blocking));
    TRY(time_once(c, &fp32->native, &native));
    TRY(time_once(c, w, &x->taken));
    x->fp32 = blocking < native ? blocking : native;
    x->fp32_slower = blocking < native ? native : blocking;
    x->ratio = x->fp32 / x->taken;
    return 0;
}

static int show(const struct row *row, const struct result *x, bool json)
{
    if (!json) {
        printf("%-34s %9.2f ms %8.2f\n", row->name, 1e3 * x->taken, x->ratio);
        fflush(stdout);
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "allreduce");
    jsonl_text(&j, "name", row->name);
    jsonl_real(&j, "ms", 1e3 * x->taken);
    jsonl_real(&j, "fp32_ms", 1e3 * x->fp32);
    jsonl_real(&j, "fp32_slower_ms", 1e3 * x->fp32_slower);
    jsonl_real(&j, "ratio", x->ratio);
    return jsonl_end(&j);
}

static int measure(struct comm *c, const struct row *row, const struct fp32 *fp32,
                   const struct way *w, const struct options *o, struct progress *progress)
{
    const size_t reps = (size_t)o->reps;
    double taken[MAX_REPS], faster[MAX_REPS], slower[MAX_REPS], ratio[MAX_REPS];
    for (size_t i = 0; i <= reps; i++) { /* the first is not counted */
        struct result x;
        const size_t at = i > 0 ? i - 1 : 0;
        TRY(once(c, fp32, w, &x));
        taken[at] = x.taken;
        faster[at] = x.fp32;
        slower[at] = x.fp32_slower;
        ratio[at] = x.ratio;
        if (progress_due(progress))
            progress_say(progress, "%s: run %zu of %zu", row->name, i, reps);
    }
    progress_clear(progress);
    const struct result x = {measure_median(taken, reps), measure_median(faster, reps),
                             measure_median(slower, reps), measure_median(ratio, reps)};
    return comm_rank(c) == 0 ? show(row, &x, o->json) : 0;
}

static int show_head(struct comm *c, const struct options *o, const struct fp32 *fp32)
{
    char copies[MPI_COPY_BYTES];
    mpi_copy_words(copies);
    if (comm_rank(c) > 0)
        return 0;
    if (!o->json) {
        printf("%d ranks, %d MiB of fp32, median of %d; MPI_Allreduce by %s; copies between ranks: "
               "%s\n%-34s %12s %8s\n",
               comm_n_ranks(c), (int)o->mib, (int)o->reps, fp32->blocking.peer->name, copies, "",
               "", "fp32=1");
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "mpi");
    jsonl_text(&j, "allreduce", fp32->blocking.peer->name);
    jsonl_text(&j, "copies", copies);
    return jsonl_end(&j);
}

static int run_all(struct comm *c, const struct options *o)
{
    const size_t n = (size_t)o->mib << 18;
    struct fp32 fp32 = {.peers = {.n = 0}};
    struct progress progress;
    progress_init(&progress, comm_rank(c) == 0);
    progress.next_s = clock_s() + 2;
    int shown = 0;
    for (int i = 0; i < N_ROWS; i++)
        shown += !o->only || strstr(rows[i].name, o->only);
    err_hold();
    TRY(comm_agree(c, shown ? 0 : ERR(-EINVAL, "no row has '%s' in its name", o->only)));
    int rc = fp32_open(c, n, &fp32);
    if (rc == 0)
        rc = show_head(c, o, &fp32);
    for (int i = 0; i < N_ROWS && rc == 0; i++) {
        struct way w = {0};
        if (o->only && !strstr(rows[i].name, o->only))
            continue;
        rc = way_open(c, &rows[i], n, &w);
        if (i == BLOCKING)
            w.peer = fp32.blocking.peer;
        w.our_op = i == OUR_OP;
        if (rc == 0)
            rc = measure(c, &rows[i], &fp32, &w, o, &progress);
        way_close(&w);
    }
    fp32_close(&fp32);
    return rc;
}

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"mib", "N", "16", "MiB of fp32 per rank.", INT_AT(mib, 1, 4096)},
    {"reps", "N", "9", "Runs of each row and of the fp32 all-reduces of MPI measured with it.",
     INT_AT(reps, 1, MAX_REPS)},
    {"only", "TEXT", NULL, "Print only rows with TEXT in their names.", TEXT_AT(only)},
    {"json", NULL, NULL,
     "Print JSON lines: \"mpi\", MPI's algorithm and how ranks copy; \"allreduce\" per row.",
     FLAG_AT(json)},
};
static const struct opt_command command = {
    .name = "bench_native",
    .args = "",
    .about = "Compares MPI's all-reduces of fp32, fp16 and e5m2 with narrowcast's own of e5m2. Run "
             "it on several ranks: host/ranks.sh 4 build/bench_native",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    struct comm *c;
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    peers_prepare();
    if (comm_open(120, &c) < 0)
        return 1;
    int rc = run_all(c, &o);
    if (rc < 0)
        comm_abort(c, rc); /* others wait */
    comm_close(c);
    return 0;
}
