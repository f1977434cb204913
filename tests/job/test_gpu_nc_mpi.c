/* test_gpu_nc_mpi.c : the public interface gives the same means on GPUs as on the CPU. */
/* RANKS: 1 2 4 */
#include <narrowcast.h>
#include "check.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include <errno.h>
#include <math.h>

enum { SEED = 31, N_LAYERS = 4, STEPS = 4, N_ALL = 70000 + 10 + 513 + 9000 };
static const struct nc_layer layers[N_LAYERS] = {
    {.name = "a", .n = 70000, .column = 7, .stride = 50},
    {.name = "b", .n = 10},
    {.name = "c", .n = 513, .fp32 = 1},
    {.name = "d", .n = 9000, .column = 90, .stride = 1}};
static const struct dev_library *lib;
static float grads[N_ALL], own_weights[N_ALL];

static void copy(void *dst, const void *src, size_t bytes)
{
    struct dev_stream *s;
    CHECK(lib->run->stream_open(false, &s) == 0, "a stream");
    CHECK(lib->run->copy(dst, src, bytes, s) == 0 && lib->run->wait(s) == 0, "copy");
    lib->run->stream_close(s);
}

static void fill(int rank, int step)
{
    for (size_t i = 0; i < N_ALL; i++) {
        const uint32_t r = philox_u32(SEED + 1000u * (uint64_t)rank + (uint64_t)step, i);
        grads[i] = ldexpf((float)(int32_t)r, -40 - (int)(r % 7));
    }
}

static void lists(float *base, float **list)
{
    for (int i = 0; i < N_LAYERS; base += layers[i].n, i++)
        list[i] = base;
}

static int in_parts(struct nc *nc, float *const *list, struct nc_report *report)
{
    CHECK(nc_iallreduce(nc, list) == 0 && nc_ready(nc, N_LAYERS - 1, 1) == 0, "a step in parts");
    return nc_wait(nc, report);
}

static int steps(struct nc_options *o, const char *device, float *result)
{
    struct nc *nc = NULL;
    struct nc_report report = {0};
    struct nc_layer own[N_LAYERS];
    float *list[N_LAYERS];
    o->device = device;
    const bool gpu = device != NULL;
    float *on_gpu = gpu ? lib->run->alloc(sizeof grads) : NULL,
          *weights = gpu ? lib->run->alloc(sizeof grads) : own_weights;
    lists(weights, list);
    for (int i = 0; i < N_LAYERS; i++) {
        own[i] = layers[i];
        own[i].weights = own[i].fp32 ? NULL : list[i];
    }
    if (nc_open(o, own, N_LAYERS, &nc) < 0)
        return 1;
    for (int step = 0; step < STEPS; step++) {
        fill(N_ALL, step);
        memcpy(own_weights, grads, sizeof grads);
        fill(nc_rank(nc), step);
        const bool last = step == STEPS - 1;
        if (last && nc_rank(nc) == nc_n_ranks(nc) - 1)
            grads[70003] = INFINITY;
        if (gpu) {
            copy(weights, own_weights, sizeof grads);
            copy(on_gpu, grads, sizeof grads);
        }
        lists(gpu ? on_gpu : grads, list);
        const int rc =
            gpu && step % 2 ? in_parts(nc, list, &report) : nc_allreduce(nc, list, &report);
        CHECK(rc == last, "step %d: %d", step, rc);
        if (last)
            break;
        CHECK(report.fp32_bytes == sizeof grads && report.code_bytes > 0, "report");
        if (gpu)
            copy(result + (size_t)step * N_ALL, on_gpu, sizeof grads);
        else
            memcpy(result + (size_t)step * N_ALL, grads, sizeof grads);
    }
    nc_close(nc);
    lib->run->free(on_gpu);
    if (gpu)
        lib->run->free(weights);
    return 0;
}

static void check_job(const char *codec, const char *format, const char *scale, const char *algo)
{
    static float want[STEPS - 1][N_ALL], on_gpu[STEPS - 1][N_ALL];
    struct nc_options o = nc_options_default();
    o.format = format;
    o.scale = scale;
    o.algo = algo;
    o.round = codec ? NULL : "stochastic";
    o.codec = codec;
    o.bucket_bytes = 1 << 16;
    if (steps(&o, NULL, want[0]) || steps(&o, "cuda", on_gpu[0]))
        exit(1);
    for (int step = 0; step < STEPS - 1; step++)
        for (size_t i = 0; i < N_ALL; i++)
            CHECK(memcmp(&want[step][i], &on_gpu[step][i], sizeof(float)) == 0,
                  "%s %s step %d element %zu: %g, not %g", codec ? codec : format, algo, step, i,
                  (double)on_gpu[step][i], (double)want[step][i]);
}

/* nc_ready_on() must not wait for the work before the gradients. The second run's gradients have
 * other addresses. */
static void check_stream(void)
{
    enum { LONG = 1 << 24 };
    static float want[2][N_ALL];
    struct nc_options o = nc_options_default();
    struct dev_stream *s;
    struct nc *nc = NULL;
    float *list[N_LAYERS], *made = lib->run->alloc(sizeof grads),
                           *from = lib->run->alloc(2 * sizeof grads);
    char *work = lib->run->alloc(LONG);
    o.format = "e4m3";
    o.scale = "aps";
    o.bucket_bytes = 1 << 14;
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0, "open on the CPU");
    for (int step = 0; step < 2; step++) {
        fill(nc_rank(nc), step);
        copy(from + step * N_ALL, grads, sizeof grads);
        lists(grads, list);
        CHECK(nc_allreduce(nc, list, NULL) == 0, "a step on the CPU");
        memcpy(want[step], grads, sizeof grads);
    }
    CHECK(nc_iallreduce(nc, list) == 0 && nc_ready_on(nc, 0, 1, NULL) == -EINVAL &&
              strstr(nc_last_error(nc), "not on a GPU") && nc_wait(nc, NULL) == 0,
          "a stream for gradients of the CPU");
    nc_close(nc);
    o.device = "cuda";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0 && lib->run->stream_open(false, &s) == 0, "open");
    lists(made, list);
    for (int step = 0; step < 2; step++) {
        CHECK(nc_iallreduce(nc, list) == 0, "begin");
        for (int l = N_LAYERS - 1; l >= 0; l--) {
            for (int i = 0; i < 8; i++)
                CHECK(lib->run->zero(work, LONG, s) == 0, "work");
            CHECK(lib->run->copy(list[l], from + step * N_ALL + (list[l] - made),
                                 layers[l].n * sizeof(float), s) == 0,
                  "a layer's gradients");
            CHECK(nc_ready_on(nc, l, 1, s) == 0, "ready: %s", nc_last_error(nc));
        }
        CHECK(nc_wait(nc, NULL) == 0, "wait: %s", nc_last_error(nc));
        copy(grads, made, sizeof grads);
        CHECK(memcmp(grads, want[step], sizeof grads) == 0, "step %d: other means", step);
    }
    nc_close(nc);
    lib->run->stream_close(s);
    lib->run->free(work), lib->run->free(from), lib->run->free(made);
}

/* Calls leave the caller's current device as it was, and refuse the host's memory. */
static void check_current(void)
{
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    float *list[N_LAYERS], *made = lib->run->alloc(sizeof grads);
    const int n = lib->run->count(), ours = lib->run->current(-1), other = (ours + 1) % n;
    CHECK(lib->run->device_of(made) == ours && lib->run->device_of(grads) == -2, "whose memory");
    o.device = "cuda";
    lists(made, list);
    (void)lib->run->current(other);
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0 && lib->run->current(-1) == other, "open");
    list[2] = grads;
    CHECK(nc_allreduce(nc, list, NULL) == -EINVAL &&
              strstr(nc_last_error(nc), "layer 2 is not in GPU memory"),
          "the host's memory: %s", nc_last_error(nc));
    lists(made, list);
    CHECK(nc_allreduce(nc, list, NULL) == 0 && lib->run->current(-1) == other, "a step");
    list[1] = grads;
    CHECK(nc_allreduce(nc, list, NULL) == -EINVAL &&
              strstr(nc_last_error(nc), "layer 1 is not in GPU memory"),
          "the host's memory in a later step: %s", nc_last_error(nc));
    lists(made, list);
    CHECK(nc_iallreduce(nc, list) == 0 && lib->run->current(-1) == other, "begin");
    CHECK(nc_ready(nc, 0, N_LAYERS) == 0 && lib->run->current(-1) == other, "ready");
    CHECK(nc_wait(nc, NULL) == 0 && lib->run->current(-1) == other, "wait");
    nc_close(nc);
    CHECK(lib->run->current(ours) == other, "close");
    lib->run->free(made);
}

int main(void)
{
    setenv("EMU_DEVICES", "8", 0);
    setenv("EMU_ASYNC", "1", 0); /* streams then have threads, as on a GPU */
    lib = gpu_fixture_choose();
    /* This job keeps MPI and the rank's GPU while others open and close. */
    const struct nc_layer one = {.name = "one", .n = 8};
    struct nc *keep = NULL;
    struct nc_options o = nc_options_default();
    o.device = "cuda";
    if (nc_open(&o, &one, 1, &keep) < 0)
        return 1;
    const int n_ranks = nc_n_ranks(keep);
    check_job(NULL, "e4m3", "aps", "auto");
    check_job(NULL, "e5m2", "aps-tight", n_ranks == 4 ? "group-scatter:2" : "auto");
    if (n_ranks > 1)
        check_job(NULL, "fp16", "none", "ring");
    check_job("onebit", NULL, NULL, "auto");
    check_job("onebit:column", NULL, NULL, "auto");
    check_job("relgrad", NULL, NULL, "auto");
    check_job("relgrad:of=gradient", NULL, NULL, n_ranks == 4 ? "group-scatter:2" : "auto");
    check_current();
    check_stream();
    struct nc *nc = NULL;
    o.device = "gpu";
    CHECK(nc_open(&o, &one, 1, &nc) == -EINVAL && !nc, "an unknown device");
    nc_close(keep);
    DONE();
}
