/* test_job_mpi.c : jobs do not depend on how they are opened. */
/* RANKS: 1 2 */
#include "base/err.h"
#include "base/text.h"
#include "capture.h"
#include "check.h"
#include <mpi.h>
#include "job/job.h"
#include <stdlib.h>
#include <string.h>

static struct comm *comm;
static int rank, n_ranks;
static const struct reducer_layer layers[] = {{.name = "a", .n = 100},
                                              {.name = "b", .n = 28, .fp32 = true}};

static void run(struct job *job, float x[128])
{
    float *const grads[] = {x, x + 100};
    struct reducer_step step;
    for (int i = 0; i < 128; i++)
        x[i] = (float)(i + rank) / 64;
    CHECK(reducer_run(job->reducer, 3, grads, &step) == 0 && !step.skipped, "a step");
}

static struct job_spec plain(void)
{
    return (struct job_spec){.codec = {.format = "e4m3"}, .bucket_bytes = 64};
}

static void test_words(void)
{
    struct job job = {.comm = NULL};
    struct job_spec spec = plain();
    if (rank == n_ranks - 1 && n_ranks > 1) {
        spec.algo = "auto";
        spec.codec = (struct codec_spec){.format = "e4m3",
                                         .scale = "none",
                                         .sum = "exact",
                                         .out_format = "e4m3",
                                         .overflow = "saturate",
                                         .round = "nearest"};
        spec.cards.where = "off";
    }
    CHECK(job_settle(comm, &spec, &job) == 0, "the same in other words");
    CHECK(!strcmp(job.algo->name, n_ranks > 1 ? "direct" : "self") && !job.on_gpu && !job.overlap,
          "%s", job.algo->name);
    CHECK(job.bucket_bytes == 64, "%zu", job.bucket_bytes);
    job_close(&job);
    job_close(&job);
    spec.bucket_bytes = 0;
    CHECK(job_settle(comm, &spec, &job) == 0 && job.bucket_bytes == 1 << 20, "1 MiB");
    job_close(&job);
}

static void test_two_jobs(void)
{
    struct job narrow, wide;
    float x[128], first[128];
    struct job_spec spec = plain();
    CHECK(job_settle(comm, &spec, &narrow) == 0 && job_open(&narrow, layers, 2) == 0, "e4m3");
    spec.codec.format = "fp32";
    spec.overlap = JOB_YES;
    CHECK(job_settle(comm, &spec, &wide) == 0 && job_open(&wide, layers, 2) == 0, "fp32");
    run(&narrow, first);
    run(&wide, x);
    for (int i = 0; i < 128; i++)
        CHECK(x[i] == ((float)i + (float)(n_ranks - 1) / 2) / 64, "fp32, element %d", i);
    run(&narrow, x);
    CHECK(!memcmp(x, first, sizeof x), "another job between two steps");
    job_close(&wide);
    run(&narrow, x);
    CHECK(!memcmp(x, first, sizeof x), "another job was closed");
    job_close(&narrow);
}

static void test_refused(void)
{
    struct job job;
    struct capture said;
    struct job_spec spec = plain();
    memset(&job, 7, sizeof job);
    const struct job before = job;
    spec.algo = "tree";
    capture_begin(&said);
    const int unknown = job_settle(comm, &spec, &job);
    spec = plain();
    spec.bucket_bytes += rank == n_ranks - 1;
    const int differ = n_ranks > 1 ? job_settle(comm, &spec, &job) : -EPROTO;
    capture_end(&said);
    CHECK(unknown == -EINVAL && differ == -EPROTO, "%d, %d", unknown, differ);
    CHECK(!memcmp(&job, &before, sizeof job), "a job that was refused is written");
    CHECK(capture_lines(said.text) == (rank ? 0 : n_ranks > 1 ? 2 : 1), "said \"%s\"", said.text);
}

static void test_short(void)
{
    const struct reducer_layer longer[] = {{.name = "long", .n = 200000}};
    struct job short_job, named, long_job;
    struct job_spec spec = plain();
    struct reducer_bytes bytes;
    float x[128], y[128];
    CHECK(job_settle(comm, &spec, &short_job) == 0 &&
              job_measure(&short_job, layers, 2, &bytes) == 0 &&
              job_open(&short_job, layers, 2) == 0,
          "short");
    CHECK(short_job.algo == (n_ranks > 1 ? &algo_gather_sum : &algo_self) &&
              bytes.sent == 104 + 32 * 4,
          "%s, %d bytes", short_job.algo->name, (int)bytes.sent);
    CHECK(job_settle(comm, &spec, &long_job) == 0 && job_open(&long_job, longer, 1) == 0, "long");
    CHECK(long_job.algo == (n_ranks > 1 ? &algo_direct : &algo_self), "%s", long_job.algo->name);
    spec.algo = "direct";
    CHECK(job_settle(comm, &spec, &named) == 0 && job_open(&named, layers, 2) == 0, "direct");
    CHECK(named.algo == &algo_direct && (n_ranks == 1 || named.tag == short_job.tag), "%s",
          named.algo->name);
    run(&short_job, x);
    run(&named, y);
    CHECK(!memcmp(x, y, sizeof x), "by one message other bits");
    job_close(&named);
    job_close(&long_job);
    job_close(&short_job);
    struct capture said;
    spec.algo = rank ? "direct" : "auto";
    capture_begin(&said);
    const int rc = job_settle(comm, &spec, &named);
    capture_end(&said);
    CHECK(n_ranks == 1 ? rc == 0 : rc == -EPROTO, "some name an algorithm: %d", rc);
    CHECK(rank || n_ranks == 1 || strstr(said.text, "an option"), "said \"%s\"", said.text);
    if (rc == 0)
        job_close(&named);
}

/* The environment names cards that cannot add the job's codes; there is no GPU. */
static void test_ways(void)
{
    struct job job;
    char line[256];
    struct text path = text_in(line, sizeof line);
    struct job_spec spec = plain();
    setenv("NARROWCAST_OFFLOAD", "sim:c", 1);
    setenv("NARROWCAST_CUDA", "nosuch.so", 1);
    spec.codec.format = "fp32";
    spec.cards.where = "auto";
    spec.gpu = spec.overlap = JOB_AUTO;
    CHECK(job_settle(comm, &spec, &job) == 0 && job_open(&job, layers, 2) == 0, "auto");
    job_path(&job, &path);
    CHECK(!job.offload && strstr(line, ": a card cannot add fp32: "), "%s", line);
    CHECK(!job.on_gpu && !job.overlap && strstr(job.device, "nosuch.so"), "%s", job.device);
    job_close(&job);
    unsetenv("NARROWCAST_OFFLOAD");
}

static void list_code(char *list, size_t size)
{
    char line[4096], mode[5];
    struct text text = text_in(list, size);
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps, "cannot read /proc/self/maps");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%*s %4s", mode) == 1 && mode[2] == 'x' && strchr(line, '/'))
            text_add(&text, "%s", strchr(line, '/'));
    if (maps)
        fclose(maps);
    CHECK(text.n > 0 && !text.full, "%zu bytes of names", text.n);
}

/* MPI_Finalize must not unmap code to which a thread of MPI may still return. */
static void check_kept(const char *before)
{
    static char after[1 << 16];
    int ended = 0;
    MPI_Finalized(&ended);
    CHECK(ended, "MPI has not ended");
    list_code(after, sizeof after);
    for (const char *name = before; *name; name += strcspn(name, "\n") + 1) {
        char line[4096];
        const int length = (int)strcspn(name, "\n");
        snprintf(line, sizeof line, "%.*s\n", length, name);
        CHECK(strstr(after, line), "no longer mapped: %.*s", length, name);
    }
}

int main(void)
{
    if (comm_open(60, &comm) < 0)
        return 1;
    rank = comm_rank(comm);
    n_ranks = comm_n_ranks(comm);
    test_words();
    test_two_jobs();
    test_refused();
    test_short();
    test_ways();
    static char code[1 << 16];
    list_code(code, sizeof code);
    comm_close(comm);
    check_kept(code);
    DONE();
}
