/* test_nc_over.c : uses the public interface over the caller's transport. */
#include "gpu_fixture.h"
#include "nc_fixture.h"
#include "over_ranks.h"
#include <fenv.h>
#include <stdbool.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static struct nc_options options(const char *codec)
{
    struct nc_options o = nc_options_default();
    o.codec = codec;
    o.format = codec ? NULL : "e4m3";
    o.scale = codec ? NULL : "aps";
    o.bucket_bytes = 300;
    o.deadline_s = 60;
    o.log = count_line;
    return o;
}

/* Means of small multiples of a power of two are exact in e4m3. */
static void fill_exact(int rank, float x[N_ALL])
{
    for (int i = 0; i < N_ALL; i++)
        x[i] = ldexpf((float)((rank + i) % 4), -9);
}

static int steps(const struct nc_transport *t, void *ctx)
{
    static float x[N_ALL], whole[N_ALL], start[4];
    void *list[N_LAYERS];
    struct nc_options o = options(ctx);
    struct nc_report report = {0};
    struct nc *nc = NULL;
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    CHECK(nc_rank(nc) == t->rank && nc_n_ranks(nc) == t->n_ranks, "rank %d", nc_rank(nc));
    start[3] = t->rank == 0 ? 3 : 0;
    CHECK(nc_broadcast(nc, start, sizeof start, 0) == 0 && start[3] == 3, "start weights");
    point(x, sizeof *x, list);
    fill_exact(t->rank, x);
    CHECK(nc_allreduce(nc, list, &report) == 0 && nc_step(nc) == 1, "a step");
    CHECK(!strcmp(report.path, t->n_ranks == 1 ? "self"
                               : o.codec       ? "direct"
                                               : "gather-sum"),
          "by \"%s\"", report.path);
    CHECK((report.sent_bytes > 0) == (t->n_ranks > 1), "%d bytes", (int)report.sent_bytes);
    for (int i = 0; i < N_ALL && t->n_ranks == 4 && !o.codec; i++)
        CHECK(x[i] == ldexpf(1.5f, -9), "element %d: %g", i, (double)x[i]);
    memcpy(whole, x, sizeof x);
    CHECK(nc_set_step(nc, 0) == 0, "again");
    fill_exact(t->rank, x);
    CHECK(nc_iallreduce(nc, list) == 0 && nc_ready(nc, 3, 2) == 0 && nc_ready(nc, 0, 2) == 0 &&
              nc_wait(nc, &report) == 0,
          "in parts: %s", nc_last_error(nc));
    CHECK(o.codec || memcmp(x, whole, sizeof x) == 0, "in parts: other bits");
    x[0] = t->rank == t->n_ranks - 1 ? NAN : 0;
    CHECK(nc_allreduce(nc, list, NULL) == 1, "nan on a rank");
    CHECK(nc_async_error(nc) == 0, "%d", nc_async_error(nc));
    nc_close(nc);
    return 0;
}

static int n_long;
static int counting_send(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    n_long += bytes > 500;
    return sockets_isend(arg, to, tag, buf, bytes, request);
}

/* nc_transport.message_bytes changes the number of messages, not bits. */
static int messages(const struct nc_transport *t, void *ctx)
{
    enum { N = 600000, LENGTHS = 4 };
    static const size_t lengths[LENGTHS] = {0, 1 << 20, 10000, 1000};
    static const int n_messages[LENGTHS] = {8 * 4, 2 * 2, 40 * 4, 400 * 2};
    static float x[N], first[N];
    struct nc_layer layer = {.name = "long", .n = N};
    struct nc_options o = options(NULL);
    (void)ctx;
    o.algo = "direct", o.bucket_bytes = 1 << 20;
    for (int k = 0; k < LENGTHS; k++) {
        struct nc_transport own = *t;
        struct nc *nc = NULL;
        own.message_bytes = lengths[k], own.isend = counting_send;
        CHECK(nc_open_over(&own, &o, &layer, 1, &nc) == 0, "open: %s", nc_last_error(NULL));
        for (int i = 0; i < N; i++)
            x[i] = (float)((i + t->rank) % 1999) / 1999;
        n_long = 0;
        CHECK(nc_allreduce(nc, (void *[]){x}, NULL) == 0, "a step");
        CHECK(k == 0 || memcmp(x, first, sizeof x) == 0, "%zu bytes: other means", lengths[k]);
        CHECK(n_long >= n_messages[k] / 2 && n_long <= 2 * n_messages[k], "%zu bytes: %d messages",
              lengths[k], n_long);
        if (k == 0)
            memcpy(first, x, sizeof x);
        nc_close(nc);
    }
    return 0;
}

static int refused(const struct nc_transport *t, void *ctx)
{
    struct nc_options o = options(NULL);
    struct nc_transport none = *t;
    struct nc *nc = NULL;
    (void)ctx;
    o.format = t->rank == 1 ? "e9m9" : "e4m3";
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "a word of rank 1");
    CHECK(n_lines == (t->rank == 1) && nc_last_error(NULL)[0], "%d lines", n_lines);
    o.format = "e4m3", o.algo = t->rank == 1 ? "gather" : "direct";
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == -EPROTO && !nc, "words that differ");
    o.algo = "native";
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "native");
    none.message_bytes = 1000 + (size_t)t->rank;
    o.algo = NULL;
    CHECK(nc_open_over(&none, &o, layers, N_LAYERS, &nc) == -EPROTO && !nc, "other messages");
    none.irecv = NULL;
    CHECK(nc_open_over(&none, &o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "no irecv");
    CHECK(nc_open_over(NULL, &o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "no transport");
    o.algo = NULL;
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    nc_close(nc);
    return 0;
}

static int forked(const struct nc_transport *t, void *ctx)
{
    static float x[N_ALL];
    void *list[N_LAYERS];
    struct nc_options o = options(NULL);
    struct nc *nc = NULL;
    int status = 0;
    (void)ctx;
    point(x, sizeof *x, list);
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, NULL) == 0, "%s", nc_last_error(nc));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        check_bad = 0;
        nc_abort(nc, -EIO);
        CHECK(nc_async_error(nc) == 0 && nc_allreduce(nc, list, NULL) == -EPERM, "it may call");
        nc_close(nc);
        exit(check_bad);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
    CHECK(nc_allreduce(nc, list, NULL) == 0, "behind it: %s", nc_last_error(nc));
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, NULL) == 0, "%s", nc_last_error(nc));
    nc_close(nc);
    return 0;
}

/* The caller's functions do not restore the mode. */
static bool changes_mode;
static void change_mode(void)
{
    if (!changes_mode)
        return;
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr((_mm_getcsr() & 0xe07f) | 0x8040); /* flush to zero, denormals are zero, all traps */
#endif
}

static int mode_send(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    const int rc = sockets_isend(arg, to, tag, buf, bytes, request);
    change_mode();
    return rc;
}

static int mode_receive(void *arg, int from, int tag, void *buf, size_t bytes, void **request)
{
    const int rc = sockets_irecv(arg, from, tag, buf, bytes, request);
    change_mode();
    return rc;
}

static int mode_progress(void *arg)
{
    const int rc = sockets_progress(arg);
    change_mode();
    return rc;
}

static void mode_cancel(void *arg, void *request)
{
    sockets_cancel(arg, request);
    change_mode();
}

static void mode_log(void *arg, int level, const char *line)
{
    count_line(arg, level, line);
    change_mode();
}

/* Gradients are below fp32's smallest normal number. Returns a checksum of the means. */
static double subnormal_steps(const struct nc_transport *t)
{
    static double x[N_ALL];
    void *list[N_LAYERS];
    struct nc_options o = options(NULL);
    struct nc *nc = NULL;
    double sum = 0;
    o.type = "fp64", o.log = mode_log;
    point(x, sizeof *x, list);
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    CHECK(nc_ready(nc, 0, 1) == -EINVAL, "a line, before a step");
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < N_ALL; i++)
            x[i] = (double)grad_of(t->rank, (uint64_t)step, i) * 1e-38;
        CHECK((step % 2 ? nc_allreduce(nc, list, NULL)
                        : nc_iallreduce(nc, list) || nc_ready(nc, 2, 3) || nc_wait(nc, NULL)) == 0,
              "a step: %s", nc_last_error(nc));
        for (int i = 0; i < N_ALL; i++)
            sum += x[i] * 1e38 * (i % 13 + step);
    }
    nc_close(nc);
    return sum;
}

static int modes(const struct nc_transport *t, void *ctx)
{
    struct nc_transport own = *t;
    (void)ctx;
    own.isend = mode_send, own.irecv = mode_receive, own.cancel = mode_cancel;
    own.progress = mode_progress;
    const double want = subnormal_steps(&own);
    changes_mode = t->rank == 1;
    const double got = subnormal_steps(&own);
    CHECK(fegetround() == FE_TONEAREST, "the transport's mode is left");
    CHECK(got == want, "rank %d: %.17g, not %.17g", t->rank, got, want);
    changes_mode = false;
    return 0;
}

static int traps(const struct nc_transport *t, void *ctx)
{
    struct nc_options o = options(NULL);
    struct nc *nc = NULL;
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() & 0xe07f);
#endif
    if (*(const char *)ctx == 'a' && t->rank == 0)
        nc_abort(nc, -EIO);
    nc_close(nc);
#if defined(__x86_64__)
    CHECK((_mm_getcsr() & 0x1f80) == 0, "traps are masked after nc_close()");
#endif
    fesetenv(FE_DFL_ENV);
    return 0;
}

/* Instead of the library's: ranks of a test may be on several machines. */
static int machine;
int gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "machine%d", machine);
    return 0;
}

/* Two machines of two ranks, with emulated GPUs: codes travel by NCCL if every rank has a GPU of
 * its own; otherwise the ranks of a machine add first. The bits are the CPU's. */
static int machines(const struct nc_transport *t, void *ctx)
{
    static const struct {
        const char *transport, *path;
        int n_gpus;
    } rows[] = {{"auto", "direct by NCCL", 4},
                {"nccl", "direct by NCCL", 4},
                {"ipc", "group-scatter by CUDA IPC", 4},
                {"auto", "group-scatter by CUDA IPC (not NCCL: ranks 0 and 1 share a GPU", 1},
                {"pinned", "group-scatter by the caller's transport from pinned memory", 4}};
    static float want[N_ALL];
    void *list[N_LAYERS];
    struct nc_options o = options(NULL);
    struct nc_report report;
    struct nc *nc = NULL;
    (void)ctx;
    machine = t->rank / 2;
    const struct dev_library *lib = gpu_fixture_emulated(t->rank);
    if (!lib)
        return 0;
    o.algo = "direct";
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    fill_grads(t->rank, 0, want);
    point(want, sizeof *want, list);
    CHECK(nc_allreduce(nc, list, NULL) == 0, "on the CPU: %s", nc_last_error(nc));
    nc_close(nc);
    o.algo = NULL;
    o.device = "cuda";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)lib->run->current(t->rank % rows[i].n_gpus);
        setenv("NARROWCAST_GPU_TRANSPORT", rows[i].transport, 1);
        CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
        float *x = lib->run->alloc(sizeof want);
        fill_grads(t->rank, 0, x);
        point(x, sizeof *x, list);
        CHECK(nc_allreduce(nc, list, &report) == 0, "%s: %s", rows[i].path, nc_last_error(nc));
        CHECK(!strncmp(report.path, rows[i].path, strlen(rows[i].path)), "%s: by \"%s\"",
              rows[i].transport, report.path);
        CHECK(!memcmp(x, want, sizeof want), "%s: other bits than the CPU's", rows[i].path);
        lib->run->free(x);
        nc_close(nc);
    }
    setenv("NARROWCAST_GPU_TRANSPORT", "nccl", 1);
    o.algo = "ring", o.sum = "nearest";
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == -EINVAL &&
              strstr(nc_last_error(NULL), t->rank ? "" : "has no variant for it"),
          "ring by NCCL: %s", nc_last_error(NULL));
    return 0;
}

int main(void)
{
    for (int p = 1; p <= 4; p++) {
        CHECK(over_run(p, steps, NULL) == 0, "%d ranks", p);
        CHECK(over_run(p, steps, (char[]){"onebit"}) == 0, "%d ranks, onebit", p);
    }
    CHECK(over_run(3, messages, NULL) == 0, "lengths of messages");
    CHECK(over_run(3, refused, NULL) == 0, "refused");
    CHECK(over_run(3, forked, NULL) == 0, "a forked child");
    CHECK(over_run(3, modes, NULL) == 0, "calls that change the floating-point mode");
    CHECK(over_run(2, traps, (char[]){"close"}) == 0, "nc_close() with traps");
    CHECK(over_run(2, traps, (char[]){"abort"}) == 0, "nc_abort() with traps");
    CHECK(over_run(4, machines, NULL) == 0, "two machines with GPUs");
    DONE();
}
