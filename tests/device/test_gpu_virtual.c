/* test_gpu_virtual.c : virtual ranks with gradients on one GPU have the CPU's means; NCCL, IPC
 * and MPI are refused. */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "comm/virtual/comm_virtual.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include "job/job.h"

enum { N_RANKS = 4, N = 3001, STEPS = 2, SEED = 44 };
static const struct reducer_layer layers[] = {{.name = "a", .n = 2901}, {.name = "b", .n = 100}};
static const struct dev_library *lib;

struct trial {
    struct job_spec spec;
    float mean[N_RANKS][N];
    char device[256];
};

static void copy(void *to, const void *from, size_t bytes)
{
    struct dev_stream *s;
    CHECK(lib->run->stream_open(false, &s) == 0, "a stream");
    CHECK(lib->run->copy(to, from, bytes, s) == 0 && lib->run->wait(s) == 0, "copy");
    lib->run->stream_close(s);
}

static int run_steps(struct comm *c, struct job *job, float *mean)
{
    struct reducer_step report;
    float *on_gpu = job->on_gpu ? lib->run->alloc(N * sizeof *on_gpu) : NULL;
    float *x = on_gpu ? on_gpu : mean, *const grads[] = {x, x + layers[0].n};
    int rc = job_open(job, layers, 2);
    for (uint64_t step = 0; step < STEPS && rc == 0; step++) {
        for (size_t i = 0; i < N; i++)
            mean[i] = (float)(int32_t)philox_u32(SEED + (uint64_t)comm_rank(c) * STEPS + step, i);
        if (on_gpu)
            copy(on_gpu, mean, N * sizeof *mean);
        rc = reducer_run(job->reducer, step, grads, &report);
    }
    if (on_gpu)
        copy(mean, on_gpu, N * sizeof *mean);
    lib->run->free(on_gpu);
    return rc;
}

static int run_job(struct comm *c, void *ctx)
{
    struct trial *t = ctx;
    struct job job = {.comm = NULL};
    int rc = job_settle(c, &t->spec, &job);
    if (rc == 0 && comm_rank(c) == 0)
        snprintf(t->device, sizeof t->device, "%s", job.device);
    if (rc == 0)
        rc = run_steps(c, &job, t->mean[comm_rank(c)]);
    job_close(&job);
    return rc;
}

static void compare(struct comm_virtual *v, const char *algo, struct codec_spec codec)
{
    static struct trial cpu, gpu;
    char want[64];
    cpu = gpu = (struct trial){.spec = {.codec = codec, .algo = algo, .bucket_bytes = 1000}};
    gpu.spec.gpu = JOB_YES;
    CHECK(comm_virtual_run(v, run_job, &cpu) == 0, "%s on the CPU", algo);
    CHECK(comm_virtual_run(v, run_job, &gpu) == 0, "%s on the GPU", algo);
    CHECK(memcmp(cpu.mean, gpu.mean, sizeof cpu.mean) == 0, "%s: other means", algo);
    snprintf(want, sizeof want, "%.*s by copies of pinned memory", (int)strcspn(algo, ":"), algo);
    CHECK(strstr(gpu.device, want), "\"%s\"", gpu.device);
}

static void refused(struct comm_virtual *v, const char *transport)
{
    struct trial t = {.spec = {.codec = {.format = "e5m2"}, .gpu = JOB_YES, .bucket_bytes = 1}};
    struct capture cap;
    char want[160];
    setenv("NARROWCAST_GPU_TRANSPORT", transport, 1);
    capture_begin(&cap);
    const int rc = comm_virtual_run(v, run_job, &t);
    capture_end(&cap);
    unsetenv("NARROWCAST_GPU_TRANSPORT");
    snprintf(want, sizeof want,
             "narrowcast: cannot run \"direct\" with NARROWCAST_GPU_TRANSPORT=%s: virtual "
             "ranks copy messages on the CPU\n",
             transport);
    CHECK(rc == -EINVAL && strcmp(cap.text, want) == 0, "%d \"%s\"", rc, cap.text);
}

int main(void)
{
    static const char *const spec[] = {"direct", "ring", "gather", "group-scatter:2",
                                       "group-master:2"};
    struct comm_virtual *v;
    lib = gpu_fixture();
    if (comm_virtual_open(N_RANKS, NULL, &v) < 0)
        return 1;
    const struct codec_spec plain = {.format = "e5m2", .scale = "aps", .sum = "nearest"};
    struct codec_spec partial = plain, rescaled = plain;
    partial.acc_format = "e6m9";
    rescaled.format = "e4m3", rescaled.rescale = true;
    for (int i = 0; i < 5; i++) {
        compare(v, spec[i], plain);
        compare(v, spec[i], partial);
        if (strchr(spec[i], ':'))
            compare(v, spec[i], rescaled);
    }
    refused(v, "nccl");
    refused(v, "ipc");
    refused(v, "mpi");
    comm_virtual_close(v);
    DONE();
}
