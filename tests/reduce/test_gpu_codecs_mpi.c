/* test_gpu_codecs_mpi.c : with codecs other than aps and gradients on GPUs, the reducer gives
 * the CPU's means and state. On several ranks each codec uses one transport, with `long` two. */
/* RANKS: 1 4 */
#include "base/err.h"
#include "check.h"
#include "comm/gpu/gpu_peers_choose.h"
#include "device/run/dev_nccl.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include "reduce/reducer.h"
#include "vec/gpu/gpu.h"
#include <math.h>
#include <string.h>

enum { SEED = 1509, N_LAYERS = 6, N_MAX = 2100, N_STEPS = 5, SKIPPED = 2, WIDE = 3, MOVED = 4 };
static const struct {
    size_t n, column, stride;
    bool fp32;
} shapes[N_LAYERS] = {{2100, 3, 20, false}, {20, 1, 1, false},  {7, 0, 0, true},
                      {640, 10, 64, false}, {10, 10, 1, false}, {1030, 0, 0, false}};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[N_LAYERS][N_MAX], want[N_LAYERS][N_MAX], got[N_LAYERS][N_MAX];
    float *cpu[N_LAYERS], *gpu[N_LAYERS];
    float *weights[2][N_LAYERS];
    uint8_t *state[2];
    bool all;
} t;

static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (size_t i = 0; i < shapes[l].n; i++) {
            const uint64_t key = philox_key(SEED, step, l, (uint32_t)t.rank, 1);
            t.grads[l][i] = (float)((int32_t)philox_u32(key, i) / 256) * 1e-7f;
        }
    if (step == SKIPPED && t.rank == t.n_ranks - 1)
        t.grads[3][5] = NAN;
}

static void make_weights(void)
{
    struct dev_stream *s = NULL;
    CHECK(gpu()->run->stream_open(false, &s) == 0, "a stream");
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        t.weights[0][l] = vec_best()->alloc_floats(N_MAX * sizeof(float));
        t.weights[1][l] = gpu()->run->alloc(N_MAX * sizeof(float));
        for (size_t i = 0; i < shapes[l].n; i++)
            t.weights[0][l][i] = i % 9 == 5
                                     ? (float)(i % 2) * 0x1p-140f
                                     : (float)((int32_t)philox_u32(SEED + l, i) / 512) * 1e-7f;
        CHECK(gpu()->run->copy(t.weights[1][l], t.weights[0][l], shapes[l].n * sizeof(float), s) ==
                  0,
              "copy");
        CHECK(gpu()->run->wait(s) == 0, "wait");
    }
    gpu()->run->stream_close(s);
}

static struct reducer *open_reducer(const struct codec_spec *spec, const char *algo_word,
                                    bool on_gpu, bool overlap)
{
    struct reducer_layer layers[N_LAYERS];
    const struct algo *algo;
    struct codec codec;
    struct reducer *r = NULL;
    char said[160];
    int group;
    for (int l = 0; l < N_LAYERS; l++)
        layers[l] = (struct reducer_layer){.name = "layer",
                                           .n = shapes[l].n,
                                           .fp32 = shapes[l].fp32,
                                           .column = shapes[l].column,
                                           .stride = shapes[l].stride};
    if (codec_parse(spec, &codec) < 0 || algo_find(algo_word, t.n_ranks, &algo, &group) < 0 ||
        (on_gpu &&
         gpu_peers_choose(t.c, false, false, group, &algo, &codec.ops, said, sizeof said) < 0) ||
        algo_settle(algo, group, t.n_ranks, &codec) < 0)
        comm_abort(t.c, -EINVAL);
    codec.seed = SEED;
    const struct reducer_spec opened = {.comm = t.c,
                                        .codec = &codec,
                                        .algo = algo,
                                        .group = group,
                                        .bucket_bytes = 900,
                                        .layers = layers,
                                        .n_layers = N_LAYERS};
    if (reducer_open(&opened, &r) < 0 || reducer_set_overlap(r, overlap) < 0)
        comm_abort(t.c, -EINVAL);
    reducer_set_weights(r, (const float *const *)t.weights[on_gpu]);
    return r;
}

static struct reducer_step run(struct reducer *r, bool on_gpu, uint32_t step,
                               float mean[N_LAYERS][N_MAX])
{
    struct reducer_step report = {.skipped = true};
    float *const *at = on_gpu ? t.gpu : t.cpu;
    struct dev_stream *s = NULL;
    CHECK(gpu()->run->stream_open(false, &s) == 0, "a stream");
    for (int l = 0; l < N_LAYERS; l++)
        CHECK(gpu()->run->copy(at[l], t.grads[l], shapes[l].n * sizeof(float), s) == 0, "copy");
    CHECK(gpu()->run->wait(s) == 0, "wait");
    if (reducer_run(r, step, at, &report) < 0)
        comm_abort(t.c, -EIO);
    for (int l = 0; l < N_LAYERS; l++)
        CHECK(gpu()->run->copy(mean[l], at[l], shapes[l].n * sizeof(float), s) == 0, "copy");
    CHECK(gpu()->run->wait(s) == 0, "wait");
    gpu()->run->stream_close(s);
    return report;
}

static void same_state(const char *what, const struct reducer *a, const struct reducer *b,
                       uint32_t step)
{
    const size_t bytes = reducer_state_bytes(a);
    CHECK(reducer_state_bytes(b) == bytes, "%s: %zu bytes are kept", what, bytes);
    CHECK(reducer_state_get(a, t.state[0]) == 0 && reducer_state_get(b, t.state[1]) == 0, "get");
    CHECK(memcmp(t.state[0], t.state[1], bytes) == 0, "%s: what is kept of step %u", what, step);
}

static void check_run(const struct codec_spec *codec, const char *algo, const char *transport,
                      bool overlap)
{
    char what[160];
    snprintf(what, sizeof what, "%s %s sum %s, %s by %s, overlap %d",
             codec->codec ? codec->codec : codec->format, codec->scale ? codec->scale : "",
             codec->sum ? codec->sum : "auto", algo, transport, overlap);
    setenv("NARROWCAST_GPU_TRANSPORT", transport, 1);
    struct reducer *cpu = open_reducer(codec, algo, false, false),
                   *gpu = open_reducer(codec, algo, true, overlap);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        make_grads(step);
        reducer_force_fp32(cpu, step == WIDE);
        reducer_force_fp32(gpu, step == WIDE);
        if (step == MOVED) {
            reducer_close(gpu);
            gpu = open_reducer(codec, algo, true, !overlap);
            CHECK(reducer_state_get(cpu, t.state[0]) == 0 &&
                      reducer_state_put(gpu, t.state[0]) == 0,
                  "%s: put", what);
        }
        const struct reducer_step a = run(cpu, false, step, t.want),
                                  b = run(gpu, true, step, t.got);
        CHECK(a.skipped == (step == SKIPPED) && b.skipped == a.skipped, "%s: step %u", what, step);
        CHECK(a.code_bytes == b.code_bytes, "%s: bytes", what);
        same_state(what, cpu, gpu, step);
        for (int l = 0; l < N_LAYERS && !a.skipped; l++)
            CHECK(memcmp(t.got[l], t.want[l], shapes[l].n * sizeof(float)) == 0,
                  "%s: step %u, layer %d is not the CPU's mean", what, step, l);
    }
    reducer_close(cpu);
    reducer_close(gpu);
}

static void check_codec(const struct codec_spec *codec, size_t k)
{
    if (t.n_ranks == 1) {
        check_run(codec, "self", "auto", k % 2);
        return;
    }
    const bool pinned = k % 4 == 0 || k % 4 == 3;
    if (pinned || t.all)
        check_run(codec, k % 5 ? "direct" : "gather", "pinned", k % 2);
    const bool nccl = gpu()->nccl->here() && gpu()->run->count() >= t.n_ranks;
    if (!pinned || t.all)
        check_run(codec, "direct", nccl && k % 4 == 1 ? "nccl" : "ipc", k % 4 > 1);
}

int main(int argc, char **argv)
{
    t.all = argc > 1 && !strcmp(argv[1], "long");
    static const struct codec_spec codecs[] = {
        {.codec = "qsgd:4"},
        {.codec = "qsgd:1"},
        {.codec = "qsgd:8,norm=2"},
        {.codec = "qsgd:2,levels=even,bucket=32"},
        {.codec = "qsgd:16,bucket=544"},
        {.codec = "onebit:64"},
        {.codec = "onebit:column"},
        {.codec = "onebit:32,residual=own"},
        {.codec = "onebit:residual=none"},
        {.codec = "ternary"},
        {.codec = "relgrad:every=3,samples=64"},
        {.codec = "relgrad:every=2,of=gradient", .sum = "nearest"},
        {.codec = "relgrad:eps=1e-3,every=2", .sum = "exact"},
        {.format = "e4m3", .scale = "quantile:every=3,q=0.5", .round = "stochastic"},
        {.format = "e2m5f", .scale = "aps-tight:32", .round = "stochastic"},
        {.format = "e2m1f", .scale = "aps:16", .sum = "nearest"},
        {.format = "e2m3f", .scale = "aps", .out_format = "e3m4:64"}};
    static const struct codec_spec nodes[] = {
        {.codec = "ternary"},
        {.codec = "relgrad:every=2"},
        {.format = "e3m4", .scale = "quantile:every=2", .sum = "nearest"}};
    setenv("EMU_DEVICES", "4", 0); /* NCCL needs a GPU per rank */
    (void)gpu_fixture_choose();
    if (comm_open(120, &t.c) < 0)
        return 1;
    t.n_ranks = comm_n_ranks(t.c);
    t.rank = comm_rank(t.c);
    if (gpu_open(t.rank) < 0)
        comm_abort(t.c, -ENODEV);
    if (t.rank == 0)
        printf("device: %s, seed %d\n", gpu_info()->name, SEED);
    for (int l = 0; l < N_LAYERS; l++) {
        t.cpu[l] = t.want[l];
        t.gpu[l] = gpu()->run->alloc(N_MAX * sizeof(float));
    }
    make_weights();
    for (int i = 0; i < 2; i++)
        t.state[i] = vec_best()->alloc(sizeof t.grads * 2 + 1024);
    for (size_t k = 0; k < sizeof codecs / sizeof *codecs; k++)
        check_codec(&codecs[k], k);
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes && t.n_ranks == 4; k++) {
        if (k % 2 || t.all)
            check_run(&nodes[k], "group-scatter:2", "pinned", k % 2);
        if (!(k % 2) || t.all)
            check_run(&nodes[k], "group-scatter:2", "ipc", !(k % 2));
    }
    CHECK(gpu_failed() == 0, "the GPU failed");
    for (int i = 0; i < 2; i++)
        vec_best()->free(t.state[i]);
    for (int l = 0; l < N_LAYERS; l++) {
        gpu()->run->free(t.gpu[l]);
        gpu()->run->free(t.weights[1][l]);
        vec_best()->free_floats(t.weights[0][l]);
    }
    comm_close(t.c);
    gpu_close();
    DONE();
}
