/* test_gpu_algo_mpi.c : every algorithm, transport and rule has the CPU's bits with gradients on
 * GPUs. Each algorithm and transport with a third of the rules in turn, with `long` with all. */
/* RANKS: 2 4 */
#include "base/buf.h"
#include "base/err.h"
#include "check.h"
#include "comm/comm.h"
#include "comm/gpu/gpu_peers_choose.h"
#include "device/run/dev_nccl.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include "vec/gpu/gpu.h"
#include <math.h>
#include <string.h>

enum {
    SEED = 4711,
    N_MAX = 2 * 264 * 1024,
    WIDEST = 4,
    ROOM = 64
}; /* two chunks of group-scatter for each of two ranks */

static struct {
    struct comm *c;
    int rank, n_ranks, n_gpus;
    bool emulated, all_rules;
    float *whole, *any, *grads, *on_gpu;
    uint8_t *codes, *want, *got;
    int n_algos, n_run, n_refused;
} t;

/* ---- two buckets; the second has an offset, as in a reducer ---- */

struct memory {
    const struct vec_ops *ops;
    struct algo_buffers buffers;
    size_t n[2];
};

static bool open_memory(struct memory *m, const struct vec_ops *ops, const struct algo *a,
                        int group, const struct reduce_op *f)
{
    size_t scratch = ROOM;
    for (int b = 0; b < 2; b++) {
        const size_t bytes = a->scratch_bytes(f, m->n[b], t.n_ranks, group);
        scratch = bytes > scratch ? bytes : scratch;
    }
    const size_t longest = m->n[0] > m->n[1] ? m->n[0] : m->n[1];
    m->ops = ops;
    m->buffers = (struct algo_buffers){.codes_bytes = f->ops->in_bytes(f, m->n[0] + m->n[1]) + ROOM,
                                       .result_bytes = f->ops->out_bytes(f, longest) + ROOM,
                                       .scratch_bytes = scratch};
    m->buffers.codes = ops->alloc(m->buffers.codes_bytes);
    m->buffers.result = ops->alloc(m->buffers.result_bytes);
    m->buffers.scratch = ops->alloc(m->buffers.scratch_bytes);
    return m->buffers.codes && m->buffers.result && m->buffers.scratch;
}

static void close_memory(struct memory *m, const struct algo *a)
{
    algo_leave(a, t.c, &m->buffers);
    m->ops->free(m->buffers.codes);
    m->ops->free(m->buffers.result);
    m->ops->free(m->buffers.scratch);
}

static void copy(void *dst, const void *src, size_t bytes)
{
    struct dev_stream *s;
    CHECK(gpu()->run->stream_open(false, &s) == 0, "a stream");
    CHECK(gpu()->run->copy(dst, src, bytes, s) == 0 && gpu()->run->wait(s) == 0, "copy %zu bytes",
          bytes);
    gpu()->run->stream_close(s);
}

static int run_buckets(const struct algo *a, int group, const struct codec *codec, struct memory *m,
                       const float *x, uint8_t *codes_out, uint8_t *out)
{
    const struct reduce_op f = codec_reduce_op(&(struct codec_call){.codec = codec});
    const bool gpu_memory = codec->ops != vec_best();
    size_t at = 0, done = 0;
    for (int b = 0; b < 2; b++) {
        uint8_t *codes = m->buffers.codes + f.ops->in_bytes(&f, at);
        codec_encode(codec, 5, (uint32_t)b, (uint32_t)t.rank, x + at, m->n[b], 4, codes);
        const struct algo_call call = {.codec = codec,
                                       .op = f,
                                       .n = m->n[b],
                                       .codes = codes,
                                       .result = m->buffers.result,
                                       .scratch = m->buffers.scratch,
                                       .group = group,
                                       .buffers = &m->buffers};
        TRY(a->run(t.c, &call));
        const size_t bytes = f.ops->out_bytes(&f, m->n[b]);
        if (gpu_memory)
            copy(out + done, m->buffers.result, bytes);
        else
            memcpy(out + done, m->buffers.result, bytes);
        done += bytes;
        at += m->n[b];
    }
    if (gpu_memory)
        copy(codes_out, m->buffers.codes, f.ops->in_bytes(&f, at));
    else
        memcpy(codes_out, m->buffers.codes, f.ops->in_bytes(&f, at));
    return 0;
}

static uint32_t hash(const uint8_t *p, size_t bytes)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}

static void check_case(const char *transport, const struct algo *plain, const struct algo *on_gpu,
                       const struct vec_ops *ops, int group, const struct codec_spec *spec,
                       const size_t *n, const char *label)
{
    const int flat = plain == &algo_direct ? 0 : group;
    struct codec cpu, device;
    struct memory a = {.n = {n[0], n[1]}}, b = a;
    err_hold();
    bool fits = codec_parse(spec, &cpu) == 0;
    device = cpu;
    device.ops = ops;
    fits = fits && algo_settle(plain, flat, t.n_ranks, &cpu) == 0 &&
           algo_settle(on_gpu, group, t.n_ranks, &device) == 0;
    err_release(false);
    if (!fits)
        return;
    const struct reduce_op f = codec_reduce_op(&(struct codec_call){.codec = &cpu});
    const struct reduce_op g = codec_reduce_op(&(struct codec_call){.codec = &device});
    if (!open_memory(&a, vec_best(), plain, flat, &f) || !open_memory(&b, ops, on_gpu, group, &g))
        comm_abort(t.c, -ENOMEM);
    const struct comm_count before = comm_counted(t.c);
    int rc = run_buckets(plain, flat, &cpu, &a, t.grads, t.codes, t.want);
    const struct comm_count between = comm_counted(t.c);
    const uint32_t codes = hash(t.codes, f.ops->in_bytes(&f, n[0] + n[1]));
    if (rc == 0)
        rc = run_buckets(on_gpu, group, &device, &b, t.on_gpu, t.codes, t.got);
    if (rc < 0)
        comm_abort(t.c, rc);
    const struct comm_count after = comm_counted(t.c);
    CHECK(hash(t.codes, f.ops->in_bytes(&f, n[0] + n[1])) == codes, "%s by %s, %s: codes differ",
          label, transport, spec->format);
    const size_t bytes = f.ops->out_bytes(&f, n[0] + n[1]);
    size_t first = 0;
    while (first < bytes && t.got[first] == t.want[first])
        first++;
    CHECK(first == bytes,
          "%s by %s, %s, sum %s, %zu and %zu elements: byte %zu of %zu differs: %02x, not %02x",
          label, transport, spec->format, spec->sum, n[0], n[1], first, bytes, t.got[first],
          t.want[first]);
    /* groups cut chunks differently, and the master's ring has 2 counts */
    if (group == 0)
        CHECK(after.sent_bytes - between.sent_bytes == between.sent_bytes - before.sent_bytes,
              "%s by %s: %d bytes sent, by the CPU %d", label, transport,
              (int)(after.sent_bytes - between.sent_bytes),
              (int)(between.sent_bytes - before.sent_bytes));
    t.n_run++;
    close_memory(&b, on_gpu);
    close_memory(&a, plain);
}

static const char *const formats[][3] = {
    {"e5m2", "exact"},         {"e5m2", "nearest"},        {"e5m2", "trunc"},
    {"e4m3", "exact"},         {"e4m3fn", "kahan"},        {"e3m0", "nearest"},
    {"e4m1", "fp32"},          {"fp16", "nearest"},        {"bf16", "fp32"},
    {"fp32", "fp32"},          {"fp32", "nearest"},        {"e5m2", "nearest", "e6m9"},
    {"e5m2", "kahan", "fp16"}, {"e3m0", "nearest", "fp32"}};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

/* NCCL needs a GPU per rank; ring and gather need MPI, gather-sum pinned memory. */
static bool possible(const char *transport, const struct algo *a)
{
    const bool by_mpi = a == &algo_ring || a == &algo_gather || a == &algo_gather_sum;
    if (!strcmp(transport, "nccl"))
        return !by_mpi && t.n_gpus >= t.n_ranks && gpu()->nccl->here();
    if (!strcmp(transport, "ipc"))
        return !by_mpi && a != &algo_native;
    return strcmp(transport, "mpi") != 0 || (a != &algo_native && a != &algo_gather_sum);
}

static void check_algo(const char *transport, const char *word, bool exact)
{
    const struct algo *plain, *on_gpu;
    const struct vec_ops *ops = NULL;
    int group;
    char said[160];
    if (algo_find(word, t.n_ranks, &plain, &group) < 0)
        comm_abort(t.c, -EINVAL);
    on_gpu = plain;
    if (exact) /* in groups, but with the bits of direct for every codec */
        plain = &algo_direct, on_gpu = &algo_group_scatter_exact;
    setenv("NARROWCAST_GPU_TRANSPORT", transport, 1);
    err_hold();
    const int rc = gpu_peers_choose(t.c, false, false, group, &on_gpu, &ops, said, sizeof said);
    err_release(false);
    const bool should = possible(transport, plain);
    CHECK(rc == (should ? 0 : -EINVAL), "%s by %s: %d", word, transport, rc);
    t.n_refused += rc < 0;
    if (rc < 0)
        return;
    if (t.rank == 0)
        printf("%-8s %s\n", transport, said);
    /* MPI and NCCL add in their own order, so only whole numbers */
    memcpy(t.grads, plain == &algo_native ? t.whole : t.any, N_MAX * sizeof(float));
    copy(t.on_gpu, t.grads, N_MAX * sizeof(float));
    static const size_t sizes[][2] = {{8, 1000}, {16 * 1024, 24}, {N_MAX - 8 * 1024, 8 * 1024}};
    const int turn = t.n_algos++ % 3;
    for (int i = 0; i < N_FORMATS; i++) {
        if (i % 3 != turn && !t.all_rules)
            continue;
        const struct codec_spec spec = {
            .format = formats[i][0], .sum = formats[i][1], .acc_format = formats[i][2]};
        for (int s = 0; s < (group == 2 && plain != &algo_group_master && i < 2 ? 3 : 2); s++)
            check_case(transport, plain, on_gpu, ops, group, &spec, sizes[s], word);
    }
}

static void check_words(void)
{
    static const char *const wrong[] = {"nvlink", "NCCL", "mpi "};
    for (int i = 0; i < 3; i++) {
        const struct algo *a = &algo_direct;
        const struct vec_ops *ops = NULL;
        char said[160];
        setenv("NARROWCAST_GPU_TRANSPORT", wrong[i], 1);
        err_hold();
        CHECK(gpu_peers_choose(t.c, false, false, 0, &a, &ops, said, sizeof said) == -EINVAL &&
                  a == &algo_direct && !ops,
              "\"%s\"", wrong[i]);
        err_release(false);
    }
    const struct algo *a = &algo_direct; /* cards need codes in the CPU's memory */
    const struct vec_ops *ops = NULL;
    char said[160];
    setenv("NARROWCAST_GPU_TRANSPORT", "auto", 1);
    CHECK(gpu_peers_choose(t.c, true, false, 0, &a, &ops, said, sizeof said) == 0 &&
              a == &algo_direct && strstr(said, "pinned"),
          "with cards: %s", said);
}

/* A rank whose GPU is older refuses fp8, which NCCL cannot add there. */
static void check_fp8(void)
{
    static const char *const narrow[] = {"e5m2", "e4m3fn", "bf16"};
    const int place = comm_rank_on_node(t.c);
    const struct algo *a;
    const struct vec_ops *ops;
    char said[160];
    int group;
    if (!t.emulated || t.n_gpus < t.n_ranks)
        return;
    gpu_close();
    setenv("EMU_CC", "90,86", 1);
    setenv("NARROWCAST_GPU_TRANSPORT", "nccl", 1);
    CHECK(place >= 0 && gpu_open(place) == 0 && algo_find("native", t.n_ranks, &a, &group) == 0 &&
              gpu_peers_choose(t.c, false, false, 0, &a, &ops, said, sizeof said) == 0,
          "native by NCCL");
    for (int i = 0; i < 3; i++) {
        const struct codec_spec spec = {.format = narrow[i], .sum = "nearest"};
        struct codec codec;
        const bool refused = i < 2 && place > 0;
        err_hold();
        CHECK(codec_parse(&spec, &codec) == 0 &&
                  algo_settle(a, 0, t.n_ranks, &codec) == (refused ? -EINVAL : 0),
              "rank %d, %s", t.rank, narrow[i]);
        err_release(false);
    }
    gpu_close();
    unsetenv("EMU_CC");
    CHECK(gpu_open(place) == 0, "open again");
}

static void open_job(double deadline_s)
{
    setenv("EMU_DEVICES", "8", 0); /* the emulator then has a GPU per rank */
    gpu_fixture_choose();
    if (comm_open(deadline_s, &t.c) < 0)
        exit(1);
    t.rank = comm_rank(t.c);
    t.n_ranks = comm_n_ranks(t.c);
    int rc = comm_rank_on_node(t.c);
    if (rc >= 0)
        rc = gpu_open(rc);
    if (rc < 0)
        comm_abort(t.c, rc);
    t.n_gpus = gpu()->run->count();
    t.emulated = strcmp(gpu_info()->name, "emulated") == 0;
    t.whole = buf_alloc(N_MAX * sizeof(float));
    t.any = buf_alloc(N_MAX * sizeof(float));
    t.grads = buf_alloc(N_MAX * sizeof(float));
    for (size_t i = 0; i < N_MAX; i++) {
        const uint32_t r = philox_u32(SEED + (uint64_t)t.rank, i);
        t.whole[i] = (float)(r % 3) * 0.0625f;
        t.any[i] = ldexpf((float)(int32_t)r, -31 - (int)(r % 9));
    }
    t.on_gpu = gpu()->run->alloc(N_MAX * sizeof(float));
    t.codes = buf_alloc(N_MAX * WIDEST);
    t.want = buf_alloc(N_MAX * WIDEST);
    t.got = buf_alloc(N_MAX * WIDEST);
    if (t.rank == 0)
        printf("seed %d, %d GPUs\n", SEED, t.n_gpus);
}

/* For test_gpu_deadline.sh: rank 1 skips the second all-reduce; the others must not return from
 * it. */
static int silent(const char *transport, const char *word)
{
    const struct codec_spec spec = {.format = "e5m2"};
    const struct algo *a;
    struct codec codec;
    struct memory m = {.n = {8000, 16}};
    char said[160];
    int group;
    open_job(2);
    setenv("NARROWCAST_GPU_TRANSPORT", transport, 1);
    int rc = algo_find(word, t.n_ranks, &a, &group);
    if (rc == 0)
        rc = codec_parse(&spec, &codec);
    if (rc == 0)
        rc = gpu_peers_choose(t.c, false, false, group, &a, &codec.ops, said, sizeof said);
    if (rc == 0)
        rc = algo_settle(a, group, t.n_ranks, &codec);
    if (rc < 0)
        comm_abort(t.c, rc);
    const struct reduce_op f = codec_reduce_op(&(struct codec_call){.codec = &codec});
    if (!open_memory(&m, codec.ops, a, group, &f))
        comm_abort(t.c, -ENOMEM);
    for (int i = 0; i < 2; i++) {
        while (i == 1 && t.rank == 1)
            sleep(1);
        rc = run_buckets(a, group, &codec, &m, t.on_gpu, t.codes, t.got);
        if (rc < 0)
            comm_abort(t.c, rc);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "silent"))
        return silent(argv[2], argv[3]);
    t.all_rules = argc == 2 && !strcmp(argv[1], "long");
    open_job(60);
    static const char *const transports[] = {"ipc", "nccl", "pinned", "mpi", "auto"};
    static const char *const spec[] = {
        "direct",          "ring",           "gather",         "native",         "group-scatter:1",
        "group-scatter:2", "group-master:1", "group-master:2", "group-master:4", "gather-sum"};
    const char *strict = getenv("EMU_STRICT");
    const bool reachable = comm_cuda_aware() || (t.emulated && !(strict && *strict == '1'));
    for (int i = 0; i < 5; i++) {
        if (!strcmp(transports[i], "mpi") && !reachable) {
            if (t.rank == 0)
                printf("skip: mpi: this MPI does not take device memory\n");
            continue;
        }
        for (int w = 0; w < 10; w++)
            if (strchr(spec[w], ':') == NULL || t.n_ranks % atoi(strchr(spec[w], ':') + 1) == 0)
                check_algo(transports[i], spec[w], false);
        check_algo(transports[i], "group-scatter:2", true);
    }
    check_words();
    check_fp8();
    CHECK(t.n_run > 100 && t.n_refused > 4, "%d cases, %d refusals", t.n_run, t.n_refused);
    if (t.rank == 0)
        printf("%d cases, %d refusals\n", t.n_run, t.n_refused);
    gpu()->run->free(t.on_gpu);
    gpu_close();
    comm_close(t.c);
    DONE();
}
