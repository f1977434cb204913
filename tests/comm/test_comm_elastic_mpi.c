/* test_comm_elastic_mpi.c : comm_grow() takes in a process, and leaves the job as it was if that
 * process has another version. The job goes on after a process died or gave up while messages to it
 * were in flight. The memory of heartbeats is reserved. Starts itself by mpirun; needs an MPI with
 * fault tolerance (Open MPI 5), except for the heartbeats. */
#include "comm/comm_inside.h"
#include "comm/mpi/comm_mpi_heartbeat.h"
#include "comm/protocol.h"
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const double DEADLINE_S = 20;
enum { N_OLD = 2, N_REFUSED = 2 };

static bool pretends; /* rank 0 sends the new process another version */

/* Rank 0's record: 8 bytes of magic, a number, a text. */
int MPI_Send_init(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    static char other[32];
    const uint32_t number = PROTOCOL;
    if (!pretends || n != (int)sizeof other || to != N_OLD || memcmp(buf, "ncjoins", 8) != 0)
        return PMPI_Send_init(buf, n, type, to, tag, comm, request);
    memset(other, 0, sizeof other);
    memcpy(other, buf, 8);
    memcpy(other + 8, &number, 4);
    memcpy(other + 12, "9.9.9", 5);
    return PMPI_Send_init(other, n, type, to, tag, comm, request);
}

static void check_works(struct comm *c, int n_ranks)
{
    double sum = comm_rank(c) + 1;
    CHECK(comm_n_ranks(c) == n_ranks, "%d ranks", comm_n_ranks(c));
    CHECK(comm_sum_f64(c, &sum, 1) == 0 && sum == n_ranks * (n_ranks + 1) / 2, "%g of %d ranks",
          sum, n_ranks);
    CHECK(comm_all_fine(c, true), "rank %d of %d", comm_rank(c), n_ranks);
}

static int end(const char *how)
{
    if (check_bad == 0)
        puts(how);
    DONE();
}

/* file: to remove if the job cannot take in this process. */
static int run_new(const char *file)
{
    struct comm *c = NULL;
    const int rc = comm_open_elastic(DEADLINE_S, true, &c);
    if (rc == -EIO) {
        CHECK(unlink(file) == 0, "'%s'", file);
        return end("let go");
    }
    CHECK((rc == 0) == (c != NULL) && (rc == 0 || rc == -EPROTO), "the new process: %d", rc);
    if (rc == 0) {
        check_works(c, N_OLD + 1);
        if (check_bad == 0)
            puts("joined");
        fflush(stdout);
        usleep(500000); /* the others fill the socket */
        (void)raise(SIGKILL);
    }
    return end("refused");
}

static void check_renews(struct comm *c)
{
    int was[N_OLD + 1] = {-1, -1, -1};
    CHECK(comm_failed(c), "the job goes on after a failure");
    CHECK(!comm_all_fine(c, true), "all are fine after a failure");
    const int rc = comm_renew(c, was);
    CHECK(rc == 0 && was[0] == 0 && was[1] == 1, "%d, ranks %d and %d", rc, was[0], was[1]);
    check_works(c, N_OLD);
}

/* The new process never receives. Open MPI sends to it by TCP, in pieces. */
static void check_survives(struct comm *c)
{
    static char buf[1 << 24];
    int rc = comm_send(c, N_OLD, buf, sizeof buf);
    if (rc == 0)
        rc = comm_wait(c);
    if (rc == 0) /* all are in the socket */
        rc = comm_barrier(c);
    CHECK(rc == -ECONNRESET, "messages to a dead process: %d", rc);
    check_renews(c);
}

/* Rank 1 gives up while messages to it are in flight, and takes them in later. */
static void check_gives_up(struct comm *c)
{
    static char out[1 << 19], in[64];
    struct comm_batch sends = {.n_places = comm_batch_places(c, sizeof out)},
                      receives = {.at = sends.n_places, .n_places = 1};
    if (comm_rank(c) == 1) {
        usleep(200000);
        (void)comm_fail(c, -ECONNRESET);
        usleep(200000);
    } else {
        int rc = comm_batches_begin(c, sends.n_places + receives.n_places);
        if (rc == 0)
            rc = comm_batch_send(c, &sends, COMM_TAG_DATA, 1, out, sizeof out);
        if (rc == 0)
            rc = comm_batch_recv(c, &receives, COMM_TAG_DATA, 1, in, sizeof in);
        while (rc >= 0)
            rc = comm_some(c, true);
        CHECK(rc == -ECONNRESET, "rank 1 gave up: %d", rc);
    }
    check_renews(c);
}

/* Rank 1 gives up while rank 0 starts a process, which must not wait any longer. */
static void check_lets_go(struct comm *c, char **args)
{
    if (comm_rank(c) == 1) {
        (void)comm_fail(c, -ECONNRESET);
    } else {
        const int rc = comm_grow(c, args);
        CHECK(rc == -ECONNRESET, "a process joined without rank 1: %d", rc);
        for (int i = 0; i < 300 && access(args[1], F_OK) == 0; i++)
            usleep(100000);
        CHECK(access(args[1], F_OK) < 0, "the new process still waits");
    }
    check_renews(c);
}

static int run_old(char *file)
{
    static char word[] = "joins";
    char *args[] = {word, file, NULL};
    struct comm *c = NULL;
    int rc = comm_open_elastic(DEADLINE_S, false, &c);
    CHECK(rc == 0, "%d", rc);
    if (rc < 0)
        return 1;
    check_works(c, N_OLD);
    check_gives_up(c);
    check_lets_go(c, args);
    for (int i = 0; i < N_REFUSED; i++) {
        pretends = true;
        rc = comm_grow(c, args);
        CHECK(rc == -EPROTO && !comm_failed(c), "another version: %d, %d", rc, comm_failed(c));
        check_works(c, N_OLD);
    }
    pretends = false;
    rc = comm_grow(c, args);
    CHECK(rc == 0, "the same version: %d", rc);
    check_works(c, N_OLD + 1);
    check_survives(c);
    comm_leave(c);
    return end("stayed");
}

/* mpirun's status is that of a process that ended before the others. Open MPI 5.0.11's mpirun
 * sometimes hangs after all have ended. */
static int run_all(const char *program)
{
    static const struct {
        const char *line;
        int n;
    } wanted[] = {{"stayed", N_OLD},
                  {"let go", 1},
                  {"joined", 1},
                  {"refused", N_REFUSED},
                  {"has 9.9.9", N_REFUSED}};
    enum { N_WANTED = sizeof wanted / sizeof *wanted };
    char line[1024];
    int n[N_WANTED] = {0};
    char file[] = "/tmp/narrowcast-XXXXXX";
    const int fd = mkstemp(file);
    CHECK(fd >= 0, "'%s'", file);
    close(fd);
    snprintf(line, sizeof line, "timeout -s KILL 100 mpirun --with-ft ulfm -np %d '%s' old %s 2>&1",
             N_OLD, program, file);
    FILE *f = popen(line, "r");
    CHECK(f, "mpirun");
    while (f && fgets(line, sizeof line, f)) {
        fputs(line, stdout);
        for (int i = 0; i < N_WANTED; i++)
            n[i] += !!strstr(line, wanted[i].line);
    }
    if (f)
        pclose(f);
    (void)unlink(file);
    for (int i = 0; i < N_WANTED; i++)
        CHECK(n[i] == wanted[i].n, "%d processes: %s", n[i], wanted[i].line);
    DONE();
}

/* A full /dev/shm must refuse heartbeats, not kill a rank that writes one. */
static void test_heartbeat_reserve(void)
{
    enum { N = 4096 };
    char name[64];
    struct stat st = {.st_blocks = 0};
    snprintf(name, sizeof name, "/narrowcast-test-%d", (int)getpid());
    struct heartbeat *s = heartbeat_join(name, 0, N);
    const int fd = shm_open(name, O_RDONLY, 0);
    CHECK(s && fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= N &&
              st.st_blocks * 512 >= st.st_size,
          "%lld bytes of %lld", (long long)st.st_blocks * 512, (long long)st.st_size);
    close(fd);
    (void)shm_unlink(name);
    heartbeat_close(s);
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "joins"))
        return run_new(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "old"))
        return run_old(argv[2]);
    test_heartbeat_reserve();
    if (check_bad)
        return 1;
    if (system("mpirun --with-ft ulfm -np 1 true >/dev/null 2>&1") != 0) {
        puts("skip: this mpirun has no fault tolerance; Open MPI 5 has");
        return 77;
    }
    return run_all(argv[0]);
}
