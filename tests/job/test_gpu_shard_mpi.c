/* test_gpu_shard_mpi.c : reduce-scatters and all-gathers have the same bits on GPUs as on the
 * CPU. */
/* RANKS: 1 2 3 */
#include <narrowcast.h>
#include "check.h"
#include "comm/comm.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include "vec/gpu/gpu.h"
#include <errno.h>
#include <math.h>

enum { SEED = 41, N_LAYERS = 3, STEPS = 3, N_ALL = 20000 + 13 + 517 };
static const struct nc_layer layers[N_LAYERS] = {
    {.name = "a", .n = 20000}, {.name = "b", .n = 13}, {.name = "c", .n = 517, .fp32 = 1}};
static const struct dev_library *lib;
static float grads[N_ALL];

static void copy(void *dst, const void *src, size_t bytes)
{
    struct dev_stream *s;
    CHECK(lib->run->stream_open(false, &s) == 0, "a stream");
    CHECK(lib->run->copy(dst, src, bytes, s) == 0 && lib->run->wait(s) == 0, "copy");
    lib->run->stream_close(s);
}

static void lists(float *base, float **list)
{
    for (int i = 0; i < N_LAYERS; base += layers[i].n, i++)
        list[i] = base;
}

/* room: of the shard. x: gradients, shard and weights, where the device reads them. Shards go to
 * result, then the gathered weights. */
static void steps(struct nc *nc, bool gpu, size_t room, float *x, float *shard, float *weights,
                  float result[STEPS + 1][N_ALL])
{
    float *list[N_LAYERS];
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < N_ALL; i++) {
            const uint32_t r =
                philox_u32(SEED + 1000u * (uint64_t)nc_rank(nc), i + N_ALL * (size_t)step);
            grads[i] = ldexpf((float)(int32_t)r, -40 - (int)(r % 7));
        }
        if (gpu)
            copy(x, grads, sizeof grads);
        else
            memcpy(x, grads, sizeof grads);
        lists(x, list);
        if (step % 2)
            CHECK(nc_ireduce_scatter(nc, list, shard) == 0 && nc_ready(nc, 1, 2) == 0 &&
                      nc_wait(nc, NULL) == 0,
                  "in parts: %s", nc_last_error(nc));
        else
            CHECK(nc_reduce_scatter(nc, list, shard, NULL) == 0, "%s", nc_last_error(nc));
        if (gpu)
            copy(result[step], shard, room * sizeof *shard);
        else
            memcpy(result[step], shard, room * sizeof *shard);
    }
    lists(weights, list);
    CHECK(nc_all_gather(nc, shard, list, NULL) == 0, "%s", nc_last_error(nc));
    if (gpu)
        copy(result[STEPS], weights, sizeof grads);
    else
        memcpy(result[STEPS], weights, sizeof grads);
}

/* Ranges 0: equal; 1: odd, the middle one empty; 2: one rank has all. */
static const size_t *ranges(int kind, int n_ranks)
{
    static size_t range[8];
    memset(range, 0, sizeof range);
    range[kind == 2 ? n_ranks / 2 : 0] = 6001;
    range[kind == 2 ? n_ranks / 2 : n_ranks - 1] += N_ALL - 6001;
    return kind ? range : NULL;
}

static void check(struct nc_options o)
{
    static float x[N_ALL], shard[N_ALL], weights[N_ALL], want[STEPS + 1][N_ALL],
        got[STEPS + 1][N_ALL];
    struct nc *nc = NULL;
    size_t room, own = 0;
    o.device = "cpu";
    o.bucket_bytes = 5000;
    o.quantise = "all";
    memset(want, 0, sizeof want);
    memset(got, 0, sizeof got);
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0, "%s", nc_last_error(NULL));
    if (!nc)
        return;
    CHECK(nc_shard(nc, o.shard_n ? nc_rank(nc) : 0, NULL, &room) == 0, "a range");
    steps(nc, false, room, x, shard, weights, want);
    nc_close(nc);
    o.device = "cuda";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0, "%s", nc_last_error(NULL));
    if (!nc)
        return;
    float *on_gpu = lib->run->alloc(3 * sizeof grads), *list[N_LAYERS];
    lists(on_gpu, list);
    CHECK(nc_shard(nc, nc_rank(nc), NULL, &own) == 0, "its range");
    CHECK(!own || (nc_reduce_scatter(nc, list, shard, NULL) == -EINVAL &&
                   strstr(nc_last_error(nc), "the shard is not in GPU memory")),
          "a shard in the host's memory: %s", nc_last_error(nc));
    steps(nc, true, room, on_gpu, on_gpu + N_ALL, on_gpu + 2 * (size_t)N_ALL, got);
    nc_close(nc);
    lib->run->free(on_gpu);
    for (int i = 0; i <= STEPS; i++)
        CHECK(memcmp(want[i], got[i], sizeof want[i]) == 0, "%s: %s %s, %s, gather %s, result %d",
              getenv("NARROWCAST_GPU_TRANSPORT"), o.codec ? o.codec : o.format,
              o.scale ? o.scale : "", o.shard, o.gather ? o.gather : "fp32", i);
}

int main(void)
{
    static const char *const transports[] = {"nccl", "pinned", "ipc", "mpi"};
    static const struct {
        const char *codec, *format, *scale, *gather;
    } rows[] = {{NULL, "e4m3", "aps", NULL},
                {NULL, "e3m0", "aps-tight", "bf16"},
                {NULL, "e2m5f", "aps-tight:32", NULL},
                {"qsgd:4,bucket=96", NULL, NULL, "fp16"},
                {"onebit:64", NULL, NULL, NULL},
                {"ternary", NULL, NULL, NULL},
                {"relgrad:of=gradient", NULL, NULL, "bf16"}};
    setenv("EMU_DEVICES", "8", 0);
    setenv("EMU_ASYNC", "1", 0);
    lib = gpu_fixture_choose();
    const struct nc_layer one = {.name = "one", .n = 8};
    struct nc *keep = NULL, *nc = NULL;
    struct nc_options o = nc_options_default();
    o.device = "cuda";
    if (nc_open(&o, &one, 1, &keep) < 0)
        return 1;
    const bool emulated = !strcmp(gpu_info()->name, "emulated");
    const char *const missing[] = {
        lib->run->count() < nc_n_ranks(keep) ? "ranks share a GPU" : NULL, NULL, NULL,
        emulated || comm_cuda_aware() ? NULL : "this MPI does not take device memory"};
    for (int k = 0; k < 4 && nc_rank(keep) == 0; k++)
        if (missing[k])
            printf("skip: %s: %s\n", transports[k], missing[k]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < 4; k++) {
            if (missing[k])
                continue;
            setenv("NARROWCAST_GPU_TRANSPORT", transports[k], 1);
            o = nc_options_default();
            o.codec = rows[i].codec;
            o.format = rows[i].format;
            o.scale = rows[i].scale;
            o.gather = rows[i].gather;
            o.shard = (i + k) % 2 ? "rounded" : "fp32";
            o.shard_n = ranges((int)(i + k) % 3, nc_n_ranks(keep));
            check(o);
        }
    o.gather = "delta:e4m3";
    o.device = "cuda";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "differences on a GPU");
    nc_close(keep);
    DONE();
}
