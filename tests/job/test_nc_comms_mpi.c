/* test_nc_comms_mpi.c : two communicators of the caller in two threads give the bits of one after
 * the other. With 3 ranks MPI allows one thread at a time, with 2 only the main one. */
/* RANKS: 2 3 5 LONG: 4 */
#include "nc_fixture.h"
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, n_ranks, level;

enum { STEPS = 30, FILL = 50 };
struct caller {
    MPI_Comm comm;
    const char *codec;
    uint64_t checksum;
    int rc;
    char lines[200];
    struct nc *nc;
};

static void take_line(void *arg, int at, const char *line)
{
    struct caller *c = arg;
    (void)at;
    snprintf(c->lines, sizeof c->lines, "%s", line);
}

static void *steps(void *arg)
{
    static const uint64_t prime = 1099511628211u;
    struct caller *c = arg;
    struct nc_options o = nc_options_default();
    float *x = malloc(N_ALL * sizeof *x);
    void *list[N_LAYERS];
    o.codec = c->codec;
    o.bucket_bytes = 400;
    o.log = take_line;
    o.log_arg = c;
    c->checksum = 14695981039346656037u;
    c->rc = nc_open_on(&c->comm, &o, layers, N_LAYERS, &c->nc);
    point(x, sizeof *x, list);
    for (int step = 0; step < STEPS && c->rc == 0; step++) {
        fill_grads(nc_rank(c->nc), (uint64_t)step + FILL, x);
        if (step % 3)
            c->rc = nc_allreduce(c->nc, list, NULL);
        else
            c->rc = nc_iallreduce(c->nc, list) || nc_ready(c->nc, 2, 3) || nc_wait(c->nc, NULL);
        for (int i = 0; i < N_ALL; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            c->checksum = (c->checksum ^ bits) * prime;
        }
    }
    if (c->rc == 0)
        nc_close(c->nc);
    free(x);
    return NULL;
}

static void test_two_threads(MPI_Comm half)
{
    struct caller alone[2], both[2];
    MPI_Comm world;
    pthread_t threads[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    for (int i = 0; i < 2; i++) {
        both[i] = (struct caller){.comm = i ? half : world, .codec = i ? "qsgd:4" : NULL};
        alone[i] = both[i];
        steps(&alone[i]);
        CHECK(alone[i].rc == 0, "communicator %d: %s", i, alone[i].lines);
    }
    if (level >= MPI_THREAD_MULTIPLE) {
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, steps, &both[i]);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            CHECK(both[i].rc == 0 && both[i].checksum == alone[i].checksum, "thread %d: %d %s", i,
                  both[i].rc, both[i].lines);
        }
    }
    if (level < MPI_THREAD_MULTIPLE && n_ranks > 3 && rank == 0)
        puts("skip: two threads at once: this MPI has no MPI_THREAD_MULTIPLE");
    MPI_Comm_free(&world);
}

static void test_part(MPI_Comm half)
{
    struct nc *nc = NULL;
    int size, at;
    uint64_t weights[300];
    MPI_Comm_size(half, &size);
    MPI_Comm_rank(half, &at);
    CHECK(nc_open_fortran(MPI_Comm_c2f(half), NULL, layers, N_LAYERS, &nc) == 0, "by Fortran");
    CHECK(nc_rank(nc) == at && nc_n_ranks(nc) == size, "rank %d of %d", nc_rank(nc),
          nc_n_ranks(nc));
    for (int i = 0; i < 300; i++)
        weights[i] = (uint64_t)(1000 * rank + i);
    CHECK(nc_broadcast(nc, weights, sizeof weights, size - 1) == 0, "broadcast");
    const int last = rank % 2 == (n_ranks - 1) % 2 ? n_ranks - 1 : n_ranks - 2;
    for (int i = 0; i < 300; i++)
        CHECK(weights[i] == (uint64_t)(1000 * last + i), "%d of rank %d", i, last);
    fflush(stderr);
    const int keep = dup(2);
    CHECK(freopen("/dev/null", "w", stderr) != NULL, "stderr");
    const int no = nc_broadcast(nc, weights, sizeof weights, size),
              neither = nc_broadcast(nc, weights, sizeof weights, -1);
    fflush(stderr);
    dup2(keep, 2);
    CHECK(no == -EINVAL && neither == -EINVAL, "from rank %d: %d, -1: %d", size, no, neither);
    CHECK(nc_broadcast(nc, weights, sizeof weights, 0) == 0, "and again");
    nc_close(nc);
}

/* Later steps would find leftovers of a failed open. */
static void test_refused(MPI_Comm half)
{
    struct caller c = {.lines = ""};
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    o.log = take_line;
    o.log_arg = &c;
    MPI_Comm none = MPI_COMM_NULL, inter;
    CHECK(nc_open_on(&none, &o, layers, N_LAYERS, &nc) == -EINVAL && strstr(c.lines, "NULL"),
          "no communicator: \"%s\"", c.lines);
    memset(c.lines, 0, sizeof c.lines);
    CHECK(nc_open_on(NULL, &o, layers, N_LAYERS, &nc) == -EINVAL && strstr(c.lines, "NULL"),
          "no pointer: \"%s\"", c.lines);
    memset(c.lines, 0, sizeof c.lines);
    CHECK(nc_open_fortran(MPI_Comm_c2f(MPI_COMM_NULL), &o, layers, N_LAYERS, &nc) == -EINVAL &&
              strstr(c.lines, "NULL"),
          "no number: \"%s\"", c.lines);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 1, &inter);
    CHECK(nc_open_on(&inter, &o, layers, N_LAYERS, &nc) == -EINVAL && strstr(c.lines, "two groups"),
          "two groups: \"%s\"", c.lines);
    MPI_Comm_free(&inter);
    for (int who = 0; who < n_ranks; who++) {
        memset(c.lines, 0, sizeof c.lines);
        o.format = rank == who ? "e9m9" : NULL;
        CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "rank %d has a wrong word",
              who);
        CHECK((c.lines[0] != 0) == (rank == who), "said \"%s\"", c.lines);
        CHECK(strstr(nc_last_error(NULL), rank == who ? "e9m9" : "another rank"), "\"%s\"",
              nc_last_error(NULL));
        o.format = NULL;
        o.size = rank == who ? 0 : sizeof o;
        CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "options without a size");
        o.size = sizeof o;
        o.deadline_s = rank == who ? -1 : 60;
        CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "no deadline");
        o.deadline_s = 60;
    }
    struct {
        struct nc_options options;
        char later[16];
    } other = {.options = o};
    other.options.size = sizeof other;
    CHECK(nc_open(&other.options, layers, N_LAYERS, &nc) == 0 && nc_last_error(NULL)[0] == 0,
          "options of a later version whose fields are 0");
    nc_close(nc);
    nc = NULL;
    other.later[3] = 1;
    CHECK(nc_open(&other.options, layers, N_LAYERS, &nc) == -EINVAL && !nc, "a field not known");
    other.options.size = offsetof(struct nc_options, op);
    CHECK(nc_open(&other.options, layers, N_LAYERS, &nc) == 0, "options of an earlier version");
    nc_close(nc);
    for (int code = -200; code < 3; code++)
        CHECK(nc_strerror(code) && strlen(nc_strerror(code)) > 3, "words of %d", code);
    const int named[] = {EINVAL,  EPROTO,  ENOMEM, EIO,   ENXIO,  ENOTCONN,  ENODEV,    ENOENT,
                         ELIBACC, ELIBBAD, EPERM,  EBUSY, EAGAIN, ETIMEDOUT, ECONNRESET};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        CHECK(strcmp(nc_strerror(-named[i]), nc_strerror(-4000)), "no words of %d", named[i]);
}

static void *call_elsewhere(void *arg)
{
    struct caller *c = arg;
    c->rc = nc_force_fp32(c->nc, 0);
    return NULL;
}

static void test_who_calls(void)
{
    struct caller c = {.lines = ""};
    struct nc_options o = nc_options_default();
    struct nc *other = NULL;
    float x[N_ALL] = {0};
    void *list[N_LAYERS];
    pthread_t thread;
    int status = -1;
    o.log = take_line;
    o.log_arg = &c;
    point(x, sizeof *x, list);
    CHECK(nc_open(&o, layers, N_LAYERS, &c.nc) == 0 && nc_open(&o, layers, N_LAYERS, &other) == 0,
          "open");
    pthread_create(&thread, NULL, call_elsewhere, &c);
    pthread_join(thread, NULL);
    CHECK(c.rc == (level == MPI_THREAD_FUNNELED ? -EPERM : 0), "another thread: %d %s", c.rc,
          c.lines);
    const pid_t child = fork();
    if (child == 0) {
        struct nc *own = NULL;
        const int rc = nc_force_fp32(c.nc, 0), opened = nc_open(&o, layers, N_LAYERS, &own);
        nc_close(c.nc);
        _exit(rc == -EPERM && opened == -EPERM ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "a child: %d", status);
    CHECK(nc_iallreduce(c.nc, list) == 0, "begin: %s", c.lines);
    const int rc = nc_force_fp32(other, 0);
    CHECK(rc == (level == MPI_THREAD_MULTIPLE ? 0 : -EBUSY), "beside a step: %d", rc);
    CHECK(nc_wait(c.nc, NULL) == 0 && nc_force_fp32(other, 0) == 0, "behind it");
    nc_close(other);
    nc_close(c.nc);
}

/* Calls after MPI_Finalize() are refused, and nc_close() does not call MPI. */
static void test_finalized(void)
{
    struct caller c = {.comm = MPI_COMM_WORLD};
    struct nc_options o = nc_options_default();
    static float x[N_ALL];
    void *list[N_LAYERS];
    o.log = take_line;
    o.log_arg = &c;
    point(x, sizeof *x, list);
    CHECK(nc_open_on(&c.comm, &o, layers, N_LAYERS, &c.nc) == 0, "%s", c.lines);
    MPI_Finalize();
    CHECK(nc_allreduce(c.nc, list, NULL) == -EPERM && strstr(c.lines, "MPI has been finalized"),
          "an all-reduce after MPI_Finalize: '%s'", c.lines);
    nc_close(c.nc);
    CHECK(strstr(c.lines, "call it before"), "nc_close() after MPI_Finalize: '%s'", c.lines);
    CHECK(nc_open(&o, layers, N_LAYERS, &c.nc) == -EINVAL &&
              strstr(c.lines, "MPI_Init and MPI_Finalize around all of them"),
          "nc_open() after MPI_Finalize: '%s'", c.lines);
}

int main(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    const int wanted = size ? atoi(size) : 4;
    MPI_Comm half;
    MPI_Init_thread(NULL, NULL,
                    wanted == 2   ? MPI_THREAD_FUNNELED
                    : wanted == 3 ? MPI_THREAD_SERIALIZED
                                  : MPI_THREAD_MULTIPLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    test_part(half);
    test_two_threads(half);
    test_refused(half);
    test_who_calls();
    test_two_threads(half);
    MPI_Comm_free(&half);
    test_finalized();
    DONE();
}
