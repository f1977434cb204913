/* test_gpu_run.c : tests device/run/dev.h: memory, streams, events, graphs, other processes'
 * memory; on the emulator also errors of other machines. */
#include "check.h"
#include "gpu_fixture.h"
#include "vec/gpu/gpu.h"
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

enum { N = 1 << 16 };

static char said[512];
static int n_said;
static int keep_line(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(said, sizeof said, format, ap);
    va_end(ap);
    n_said++;
    return code;
}

static void test_memory(const struct dev_run_ops *run, struct dev_stream *s, size_t all)
{
    static uint8_t back[N + 1];
    size_t before, during, total;
    run->memory(&before, &total);
    CHECK(total > 0 && total <= all && before <= total, "%zu of %zu, device has %zu", before, total,
          all);
    uint8_t *p = run->alloc(N + 1);
    CHECK(p && (uintptr_t)p % 256 == 0, "%p", (void *)p);
    memset(back, 1, sizeof back);
    CHECK(run->copy(back, p, N + 1, s) == 0 && run->wait(s) == 0, "copy");
    for (size_t i = 0; i < N + 1; i++)
        CHECK(back[i] == 0, "byte %zu of new memory is %d", i, back[i]);

    uint8_t *pinned = run->alloc_pinned(N);
    CHECK(pinned && (uintptr_t)pinned % 256 == 0, "%p", (void *)pinned);
    for (size_t i = 0; i < N; i++) {
        CHECK(pinned[i] == 0, "byte %zu of new pinned memory is %d", i, pinned[i]);
        pinned[i] = (uint8_t)(i * 7 + i / 256);
    }
    CHECK(run->copy(p + 1, pinned, N, s) == 0 && run->zero(p + 100, 50, s) == 0 &&
              run->copy(back, p, N + 1, s) == 0 && run->zero(p, 0, s) == 0 &&
              run->copy(p, NULL, 0, s) == 0 && run->wait(s) == 0,
          "copies");
    for (size_t i = 0; i < N; i++)
        CHECK(back[i + 1] == (i >= 99 && i < 149 ? 0 : pinned[i]), "byte %zu", i);

    uint8_t *big = run->alloc((size_t)8 << 20);
    run->memory(&during, &total);
    CHECK(big && during < before, "%zu, then %zu bytes free", before, during);
    run->free(big);
    n_said = 0;
    CHECK(run->alloc(total + 1) == NULL && n_said == 1 && strstr(said, "out of memory") &&
              strstr(said, "MiB free"),
          "%d lines: %s", n_said, said);
    big = run->alloc((size_t)8 << 20);
    CHECK(big && n_said == 1, "after a failure: %s", said);
    run->free(big);
    run->free(NULL);
    run->free(p);
    run->free_pinned(pinned);
    run->free_pinned(NULL);
    p = run->alloc(0);
    CHECK(p != NULL, "0 bytes");
    run->free(p);
}

static void test_events(const struct dev_run_ops *run, struct dev_stream *s, struct dev_stream *t)
{
    struct dev_event *from = NULL, *to = NULL;
    float ms = -1;
    uint32_t *flags = run->alloc_pinned(2 * sizeof *flags), *d = run->alloc(N * sizeof *d);
    CHECK(run->event_open(&from) == 0 && run->event_open(&to) == 0 && flags && d, "events");
    CHECK(run->event_wait(from, s) == 0, "an event that was never recorded");
    CHECK(run->event_record(from, s) == 0, "record");
    for (uint32_t i = 1; i <= 100; i++)
        CHECK(run->signal(&flags[0], i, s) == 0, "signal");
    CHECK(run->event_record(to, s) == 0 && run->event_wait(to, t) == 0, "record");
    CHECK(run->copy(d, flags, sizeof *flags, t) == 0 && run->copy(&flags[1], d, sizeof *d, t) == 0,
          "copy");
    for (const time_t start = time(NULL);
         ((volatile uint32_t *)flags)[0] < 100 && time(NULL) < start + 60;)
        ;
    CHECK(flags[0] == 100, "polled: %u", flags[0]);
    CHECK(run->wait(t) == 0 && flags[1] == 100, "the other stream saw %u", flags[1]);
    CHECK(run->event_sync(to) == 0 && run->event_ms(from, to, &ms) == 0 && ms >= 0 && ms < 60000,
          "%g ms", (double)ms);
    CHECK(run->event_done(from) == 1 && run->event_done(to) == 1, "done");
    run->event_leave(from); /* it has passed: freeing goes on */
    run->event_close(to);
    run->event_close(NULL);
    run->free(d);
    run->free_pinned(flags);
}

static void test_graph(const struct dev_run_ops *run, struct dev_stream *s, struct dev_stream *t)
{
    uint32_t *flags = run->alloc_pinned(3 * sizeof *flags), *d = run->alloc(sizeof *d);
    struct dev_event *there = NULL, *back = NULL;
    struct dev_graph *g = NULL;
    CHECK(run->event_open(&there) == 0 && run->event_open(&back) == 0, "events");
    CHECK(run->graph_begin(s) == 0, "begin");
    CHECK(run->signal(&flags[0], 7, s) == 0 && run->copy(d, &flags[0], 4, s) == 0, "in a graph");
    CHECK(run->event_record(there, s) == 0 && run->event_wait(there, t) == 0 &&
              run->signal(&flags[2], 8, t) == 0 && run->event_record(back, t) == 0 &&
              run->event_wait(back, s) == 0,
          "a second stream in the graph");
    CHECK(run->copy(&flags[1], d, 4, s) == 0 && run->graph_end(s, &g) == 0 && g, "end");
    CHECK(flags[0] == 0 && flags[2] == 0, "recorded, not run: %u %u", flags[0], flags[2]);
    for (uint32_t i = 1; i <= 20; i++) {
        flags[0] = flags[1] = flags[2] = 0;
        CHECK(run->graph_launch(g, s) == 0 && run->wait(s) == 0, "launch");
        CHECK(flags[0] == 7 && flags[1] == 7 && flags[2] == 8, "launch %u: %u %u %u", i, flags[0],
              flags[1], flags[2]);
    }
    run->graph_close(g);
    run->graph_close(NULL);

    n_said = 0;
    struct dev_graph *none = NULL;
    CHECK(run->graph_end(s, &none) < 0 && n_said == 1 && !none, "an end without a beginning: %s",
          said);
    CHECK(run->graph_begin(s) == 0 && run->signal(flags, 1, s) == 0 && run->graph_end(s, &g) == 0,
          "after a failure");
    run->graph_close(g);
    run->event_close(there);
    run->event_close(back);
    run->free_pinned(flags);
    run->free(d);
}

static int test_device(void)
{
    const struct gpu_fixture f = gpu_fixture_open();
    const struct dev_run_ops *run = f.lib->run;
    struct dev_stream *s = NULL, *t = NULL;
    struct dev_info info;
    run->close();
    CHECK(run->open(0, 0, keep_line, &info) == 0 && strcmp(info.name, f.info.name) == 0, "%s",
          said);
    CHECK(info.ordinal == 0 && info.major >= 8 && info.n_sms > 0 && info.l2_bytes > 0 &&
              info.driver >= info.runtime,
          "compute capability %d.%d, %d SMs, CUDA %d, driver %d", info.major, info.minor,
          info.n_sms, info.runtime, info.driver);
    CHECK(run->count() >= 1, "%d", run->count());
    CHECK(run->stream_open(false, &s) == 0 && run->stream_open(true, &t) == 0, "streams");
    test_memory(run, s, info.memory_bytes);
    test_events(run, s, t);
    test_graph(run, s, t);
    run->stream_close(s);
    run->stream_close(t);
    run->stream_close(NULL);
    run->close();
    n_said = 0;
    CHECK(run->open(99, 0, keep_line, &info) == -ENODEV && n_said == 1 && strstr(said, "no GPU 99"),
          "%s", said);
    return check_bad != 0;
}

static int test_ipc(void)
{
    int there[2], back[2], status;
    char ready = 0;
    struct dev_ipc ipc;
    static uint8_t mine[N];
    if (pipe(there) || pipe(back))
        return perror("pipe"), 1;
    const pid_t child = fork(); /* before either uses CUDA */
    const struct dev_run_ops *run = gpu_fixture_open().lib->run;
    struct dev_stream *s;
    uint8_t *p;
    CHECK(run->stream_open(false, &s) == 0, "stream");
    if (child == 0) {
        CHECK(read(there[0], &ipc, sizeof ipc) == sizeof ipc &&
                  run->ipc_import(&ipc, (void **)&p) == 0,
              "import");
        CHECK(run->copy(mine, p, N, s) == 0 && run->wait(s) == 0, "read");
        for (int i = 0; i < N; i++)
            CHECK(mine[i] == (uint8_t)(i * 13), "byte %d is %d", i, mine[i]);
        CHECK(run->zero(p + N / 2, N / 2, s) == 0 && run->wait(s) == 0, "write");
        run->ipc_close(p);
        run->ipc_close(NULL);
        run->stream_close(s);
        CHECK(write(back[1], &ready, 1) == 1, "tell");
        return check_bad != 0;
    }
    for (int i = 0; i < N; i++)
        mine[i] = (uint8_t)(i * 13);
    p = run->alloc(N);
    CHECK(run->copy(p, mine, N, s) == 0 && run->wait(s) == 0 && run->ipc_export(p, &ipc) == 0,
          "export");
    close(back[1]);
    CHECK(write(there[1], &ipc, sizeof ipc) == sizeof ipc && read(back[0], &ready, 1) == 1,
          "the other process failed");
    CHECK(run->copy(mine, p, N, s) == 0 && run->wait(s) == 0, "read");
    for (int i = 0; i < N; i++)
        CHECK(mine[i] == (i < N / 2 ? (uint8_t)(i * 13) : 0), "byte %d is %d", i, mine[i]);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", (unsigned)status);
    run->free(p);
    run->stream_close(s);
    return check_bad != 0;
}

static int test_refusal(const char *name, const char *value, const char *words, int n)
{
    struct dev_info info;
    setenv(name, value, 1);
    const struct dev_run_ops *run = gpu_fixture_choose()->run;
    CHECK(run->count() == n, "%s: %d GPUs", words, run->count());
    CHECK(run->open(-1, 3, keep_line, &info) == -ENODEV && n_said == 1 && strstr(said, words), "%s",
          said);
    return check_bad != 0;
}
static int test_none(void)
{
    return test_refusal("EMU_DEVICES", "0", "no GPU on this machine", 0);
}
static int test_old_driver(void)
{
    return test_refusal("EMU_OLD_DRIVER", "1",
                        "the driver is too old: it serves CUDA 11.4, this build needs 13.0", 0);
}
static int test_old_chip(void)
{
    setenv("EMU_DEVICES", "2", 1);
    const struct dev_run_ops *run = gpu_fixture_choose()->run;
    (void)run->current(1);
    (void)test_refusal("EMU_CC", "75",
                       "has compute capability 7.5: this build has code for 8.0 and newer", 0);
    CHECK(run->current(-1) == 1, "the caller's device is %d", run->current(-1));
    return check_bad != 0;
}
/* A call that loads the GPU library, and fails after that. */
static int test_closed_in_call(void)
{
    setenv("EMU_DEVICES", "2", 1);
    const struct dev_run_ops *run = gpu_fixture_choose()->run;
    (void)run->current(1);
    const int before = gpu_enter();
    CHECK(before == -1 && gpu_open(0) == 0 && run->current(-1) == 0, "open");
    gpu_close();
    gpu_leave(before);
    CHECK(run->current(-1) == 1, "the caller's device is %d", run->current(-1));
    return check_bad != 0;
}
static bool has_context(int device)
{
    int (*state)(int, unsigned *, int *), is_active = -1;
    unsigned flags;
    void *emulator = dlopen(getenv("NARROWCAST_CUDA"), RTLD_NOW | RTLD_NOLOAD);
    *(void **)&state = dlsym(emulator, "cuDevicePrimaryCtxGetState");
    CHECK(state && state(device, &flags, &is_active) == 0, "state");
    return is_active;
}

/* A call in a thread that never chose a device. */
static void *call(void *run)
{
    const int before = gpu_enter();
    ((const struct dev_run_ops *)run)->free_pinned(NULL);
    gpu_leave(before);
    return (void *)(intptr_t)before;
}

/* The end of a call makes no context on a device that the process does not use. */
static int test_context(void)
{
    pthread_t thread;
    void *before = NULL;
    setenv("EMU_DEVICES", "2", 1);
    const struct dev_run_ops *run = gpu_fixture_choose()->run;
    CHECK(gpu_open(1) == 0 && run->current(-1) == 1, "open");
    CHECK(pthread_create(&thread, NULL, call, (void *)(uintptr_t)run) == 0 &&
              pthread_join(thread, &before) == 0 && (intptr_t)before == 0 && !has_context(0),
          "a context on GPU 0, which nothing uses");
    gpu_leave(-1); /* as of the call that opened the device */
    CHECK(!has_context(0) && run->current(-1) == 1, "open made a context on GPU 0");
    (void)run->current(0);
    CHECK(gpu_enter() == 0 && has_context(0) && run->current(1) == 0, "enter");
    gpu_leave(0);
    CHECK(run->current(-1) == 0, "the caller's device is %d", run->current(-1));
    gpu_close();
    return check_bad != 0;
}
/* A device that fails ends a wait for an event. */
static int test_dead(void)
{
    struct dev_info info;
    struct dev_stream *s = NULL;
    struct dev_event *e = NULL;
    setenv("EMU_DEAD", "20", 1);
    const struct dev_run_ops *run = gpu_fixture_choose()->run;
    CHECK(run->open(0, 0, keep_line, &info) == 0 && run->stream_open(false, &s) == 0 &&
              run->event_open(&e) == 0 && run->event_record(e, s) == 0 && run->wait(s) == 0 &&
              run->event_done(e) == 1,
          "before: %s", said);
    uint8_t *p = run->alloc(1);
    for (int i = 0; i < 20; i++)
        (void)run->zero(p, 1, s);
    CHECK(run->event_done(e) == -EIO && n_said == 1, "%d lines, %s", n_said, said);
    return check_bad != 0;
}
/* GPUs without code are neither counted nor chosen. */
static int test_mixed(void)
{
    struct dev_info info;
    setenv("EMU_DEVICES", "4", 1);
    setenv("EMU_CC", "75,80,75,90", 1);
    const struct dev_run_ops *run = gpu_fixture_choose()->run;
    CHECK(run->count() == 2, "%d GPUs", run->count());
    for (int rank = 0; rank < 5; rank++) {
        CHECK(run->open(-1, rank, keep_line, &info) == 0 && info.ordinal == (rank % 2 ? 3 : 1),
              "rank %d: GPU %d, %s", rank, info.ordinal, said);
        run->close();
    }
    CHECK(run->open(2, 0, keep_line, &info) == -ENODEV && strstr(said, "GPU 2 (emulated) has"),
          "GPU 2: %s", said);
    return check_bad != 0;
}
static int test_many(void)
{
    struct dev_info info;
    setenv("EMU_DEVICES", "3", 1);
    setenv("EMU_MEMORY", "20000000", 1);
    const struct dev_run_ops *run = gpu_fixture_choose()->run;
    CHECK(run->count() == 3 && run->open(-1, 5, keep_line, &info) == 0 && info.ordinal == 2,
          "rank 5: %d", info.ordinal);
    void *p = run->alloc(15000000);
    CHECK(p && !run->alloc(6000000) && n_said == 1, "%d lines", n_said);
    CHECK(strcmp(said, "gpu: out of memory: 5.7 MiB asked for, 4.8 of 19.1 MiB free") == 0, "%s",
          said);
    run->free(p);
    return check_bad != 0;
}

static void part(const char *name, int (*run)(void))
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        check_bad = 0;
        exit(run());
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child, "fork");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        exit(77);
    CHECK(status == 0, "%s: status %x", name, (unsigned)status);
}

int main(void)
{
    const char *b = getenv("B"), *set = getenv("NARROWCAST_CUDA");
    char emulator[PATH_MAX];
    part("device", test_device);
    part("ipc", test_ipc);
    if (!(set && *set))
        snprintf(emulator, sizeof emulator, "%s/emu/libnarrowcast_cuda.so", b && *b ? b : "build");
    else
        snprintf(emulator, sizeof emulator, "%s", set);
    if (access(emulator, R_OK) || !strstr(emulator, "emu")) {
        puts("skip: refusals: no emulator");
        DONE();
    }
    setenv("NARROWCAST_CUDA", emulator, 1);
    part("no GPU", test_none);
    part("old driver", test_old_driver);
    part("old chip", test_old_chip);
    part("closed in the call", test_closed_in_call);
    part("context", test_context);
    part("dead", test_dead);
    part("mixed", test_mixed);
    part("many", test_many);
    setenv("EMU_ASYNC", "1", 1);
    setenv("EMU_STRICT", "1", 1);
    part("device, asynchronous", test_device);
    part("ipc, asynchronous", test_ipc);
    DONE();
}
