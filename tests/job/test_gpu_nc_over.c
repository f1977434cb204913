/* test_gpu_nc_over.c : fails steps on emulated GPUs: they end, and close, while a stream of the
 * caller is stuck; other communicators of the process go on. */
#include <narrowcast.h>
#include "gpu_fixture.h"
#include "over_ranks.h"
#include "vec/gpu/gpu.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* Three buckets: the last layer, four small ones, the first. */
enum { N_LAYERS = 6, N_ALL = 4000 + 5000 + 3 * 100 + 5000, LAST = N_LAYERS - 1 };
static const struct nc_layer layers[N_LAYERS] = {
    {.name = "a", .n = 4000}, {.name = "b", .n = 5000}, {.name = "c", .n = 100},
    {.name = "d", .n = 100},  {.name = "e", .n = 100},  {.name = "f", .n = 5000}};
static const struct dev_run_ops *run;
enum { ENDS_S = 90 }; /* a rank that hangs is killed */

static void nothing(void *arg, int level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static struct nc_options options(void)
{
    struct nc_options o = nc_options_default();
    o.format = "e4m3";
    o.scale = "aps";
    o.bucket_bytes = 5000;
    o.deadline_s = 60;
    o.device = "cuda";
    o.log = nothing;
    return o;
}

static void point(float *all, float *list[N_LAYERS])
{
    for (int l = 0; l < N_LAYERS; all += layers[l].n, l++)
        list[l] = all;
}

/* ---- a stuck stream ---- */

static atomic_bool is_free;
static void block(void *arg)
{
    (void)arg;
    while (!is_free)
        usleep(1000);
}

static void make_stuck(struct dev_stream *s)
{
    int (*launch)(struct dev_stream *, void (*)(void *), void *);
    void *emulator = dlopen(getenv("NARROWCAST_CUDA"), RTLD_NOW | RTLD_NOLOAD);
    *(void **)&launch = dlsym(emulator, "cudaLaunchHostFunc");
    CHECK(launch && launch(s, block, NULL) == 0, "a host function");
}

/* A job of this rank alone, while memory cannot be freed. */
static void check_other(void)
{
    struct sockets alone;
    const int none = -1;
    struct nc_options o = options();
    struct nc *nc = NULL;
    float *list[N_LAYERS], *x = run->alloc(N_ALL * sizeof *x);
    CHECK(sockets_open(&alone, 0, 1, &none) == 0, "no sockets");
    const struct nc_transport t = sockets_transport(&alone);
    point(x, list);
    CHECK(nc_open_over(&t, &o, layers, N_LAYERS, &nc) == 0, "another: %s", nc_last_error(NULL));
    CHECK(nc_iallreduce(nc, list) == 0 && nc_ready(nc, 0, N_LAYERS) == 0 && nc_wait(nc, NULL) == 0,
          "another's step: %s", nc_last_error(nc));
    nc_close(nc);
    sockets_close(&alone);
    run->free(x);
}

/* Freeing works again once the stream has gone on. */
static void check_free(void)
{
    enum { BYTES = 1 << 20 };
    size_t with, without, all;
    struct dev_info info;
    CHECK(run->open(0, 0, gpu_fixture_say, &info) == 0, "open the device");
    void *p = run->alloc(BYTES);
    run->memory(&with, &all);
    run->free(p);
    run->memory(&without, &all);
    CHECK(p && without >= with + BYTES, "%zu bytes are free, then %zu", with, without);
    run->close();
}

struct stuck {
    const char *how, *transport;
    int n_ranks;
    bool standard; /* the default stream is stuck, in the first step, before the last bucket */
    double deadline_s;
    int code;
};

static struct nc *aborted;
static void *abort_soon(void *arg)
{
    usleep(300000);
    nc_abort(aborted, -ECANCELED);
    return arg;
}

/* Rank 0 runs a step whose gradients are never final. Returns the result of nc_wait(). */
static int run_stuck(struct nc *nc, const struct stuck *k, float *const *list, struct dev_stream *s)
{
    const int at = k->standard ? 0 : LAST;
    pthread_t thread;
    make_stuck(s);
    CHECK(nc_iallreduce(nc, list) == 0, "begin: %s", nc_last_error(nc));
    CHECK(nc_ready_on(nc, at, 1, s) == 0, "ready: %s", nc_last_error(nc));
    (void)nc_ready(nc, k->standard ? 1 : 0, N_LAYERS - 1);
    if (!strcmp(k->how, "closes")) {
        usleep(300000);
        return k->code;
    }
    aborted = nc;
    const bool aborts = !strcmp(k->how, "aborts");
    CHECK(!aborts || pthread_create(&thread, NULL, abort_soon, NULL) == 0, "a thread");
    const int rc = nc_wait(nc, NULL);
    if (aborts)
        pthread_join(thread, NULL);
    return rc;
}

static int meets(struct nc *nc, const struct stuck *k, float *const *list)
{
    CHECK(nc_iallreduce(nc, list) == 0, "begin: %s", nc_last_error(nc));
    (void)nc_ready(nc, 0, N_LAYERS);
    if (!strcmp(k->how, "dies")) {
        usleep(300000);
        raise(SIGKILL);
    }
    return nc_wait(nc, NULL);
}

static int gets_stuck(const struct nc_transport *t, void *ctx)
{
    const struct stuck *k = ctx;
    struct nc_options o = options();
    struct dev_stream *s = NULL;
    struct nc *nc = NULL;
    float *list[N_LAYERS];
    alarm(ENDS_S);
    setenv("NARROWCAST_GPU_TRANSPORT", k->transport, 1);
    run = gpu_fixture_emulated(t->rank)->run;
    float *x = run->alloc(N_ALL * sizeof *x);
    point(x, list);
    o.deadline_s = k->deadline_s;
    over_meet(t->n_ranks); /* on a busy machine, ranks start seconds apart */
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    if (!k->standard) {
        CHECK(run->stream_open(false, &s) == 0, "a stream");
        CHECK(nc_allreduce(nc, list, NULL) == 0, "a step: %s", nc_last_error(nc));
    }
    const int rc = t->rank == 0 ? run_stuck(nc, k, list, s) : meets(nc, k, list);
    CHECK(t->rank == 0 ? rc == k->code : rc < 0, "%s by %s: rank %d: %d", k->how, k->transport,
          t->rank, rc);
    nc_close(nc);
    if (t->rank == 0) {
        check_other();
        is_free = true;
        CHECK(run->wait(s) == 0, "the stream goes on");
    }
    check_free();
    if (s)
        run->stream_close(s);
    return 0;
}

/* ---- memory ---- */

/* One of two communicators lacks memory for a step. The other goes on, and the first can be opened
 * again. */
static int lacks_memory(const struct nc_transport *t, void *ctx)
{
    const struct nc_options o = options();
    struct sockets alone;
    const int none = -1;
    struct nc *a = NULL, *b = NULL;
    float *list[N_LAYERS];
    size_t left, all;
    (void)ctx;
    run = gpu_fixture_emulated(0)->run;
    float *x = run->alloc(N_ALL * sizeof *x);
    point(x, list);
    CHECK(sockets_open(&alone, 0, 1, &none) == 0, "no sockets");
    const struct nc_transport other = sockets_transport(&alone);
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &a) == 0 &&
              nc_open_over(&other, &o, layers, N_LAYERS, &b) == 0,
          "open: %s", nc_last_error(NULL));
    run->memory(&left, &all);
    void *rest = run->alloc(left);
    CHECK(rest && nc_allreduce(a, list, NULL) == -ENOMEM, "without memory: %s", nc_last_error(a));
    run->free(rest);
    CHECK(nc_allreduce(b, list, NULL) == 0, "the other one: %s", nc_last_error(b));
    nc_close(a);
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &a) == 0 && nc_allreduce(a, list, NULL) == 0,
          "again: %s", nc_last_error(NULL));
    nc_close(a);
    nc_close(b);
    sockets_close(&alone);
    run->free(x);
    return 0;
}

static void need_emulator(void)
{
    const char *b = getenv("B");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/emu/libnarrowcast_cuda.so", b && *b ? b : "build");
    if (access(path, R_OK))
        SKIP("no emulator: it was not built");
}

int main(void)
{
    static struct stuck stuck[] = {{"aborts", "nccl", 2, false, 60, -ECANCELED},
                                   {"aborts", "pinned", 2, true, 60, -ECANCELED},
                                   {"is late", "ipc", 2, false, 3, -ETIMEDOUT},
                                   {"dies", "pinned", 2, true, 60, -ECONNRESET},
                                   {"closes", "pinned", 1, true, 600, 0}};
    need_emulator();
    setenv("EMU_ASYNC", "1", 1);
    setenv("EMU_MEMORY", "67108864", 1);
    CHECK(over_run(1, lacks_memory, NULL) == 0, "without memory");
    for (size_t i = 0; i < sizeof stuck / sizeof *stuck; i++)
        CHECK(over_run(stuck[i].n_ranks, gets_stuck, &stuck[i]) == 0, "%s by %s", stuck[i].how,
              stuck[i].transport);
    DONE();
}
