/* test_comm_virtual.c : tests jobs of virtual ranks, also when ranks fail, deadlock or
 * differ, and the next run. */
#include "base/err.h"
#include "base/fiber.h"
#include "capture.h"
#include "comm/virtual/comm_virtual.h"
#include "comm_check.h"
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct comm_virtual *open_ranks(int n_ranks)
{
    struct comm_virtual *v;
    if (comm_virtual_open(n_ranks, NULL, &v) < 0)
        exit(1);
    return v;
}

static int as_real(struct comm *c, void *ctx)
{
    (void)ctx;
    CHECK(comm_is_virtual(c) && !comm_threads(c), "what they are");
    check_comm(c);
    CHECK(comm_counted(c).wait_s == 0, "waited");
    return 0;
}

static void test_as_real(void)
{
    for (int p = 1; p <= COMM_CHECK_MAX; p++) {
        struct comm_virtual *v = open_ranks(p);
        CHECK(comm_virtual_run(v, as_real, NULL) == 0, "%d ranks", p);
        const struct comm_count once = comm_counted(comm_virtual_rank(v, p - 1));
        CHECK(comm_virtual_run(v, as_real, NULL) == 0, "%d ranks again", p);
        const struct comm_count twice = comm_counted(comm_virtual_rank(v, p - 1));
        CHECK(twice.sent_bytes == 2 * once.sent_bytes && twice.rounds == 2 * once.rounds, "%d", p);
        comm_virtual_close(v);
    }
    comm_virtual_close(NULL);
}

static int goes_well(struct comm *c, void *ctx)
{
    double x = c->rank;
    (void)ctx;
    TRY(comm_sum_f64(c, &x, 1));
    CHECK(x == c->n_ranks * (c->n_ranks - 1) / 2.0, "%g", x);
    return c->rank; /* a positive number is no error */
}

static void fails(int n_ranks, int (*body)(struct comm *c, void *ctx), void *ctx, int want,
                  const char *line)
{
    struct comm_virtual *v = open_ranks(n_ranks);
    struct capture cap;
    for (int times = 0; times < 2; times++) {
        capture_begin(&cap);
        const int rc = comm_virtual_run(v, body, ctx);
        capture_end(&cap);
        CHECK(rc == want, "%s%d", line, rc);
        CHECK(strcmp(cap.text, line) == 0, "\"%s\", not \"%s\"", cap.text, line);
        CHECK(comm_virtual_run(v, goes_well, NULL) == 0, "after %s", line);
    }
    comm_virtual_close(v);
}

/* Error lines are held; the lowest failed rank prints its own. */
static int agree(struct comm *c, void *ctx)
{
    const unsigned failing = *(const unsigned *)ctx;
    err_hold();
    int rc = failing >> c->rank & 1 ? ERR(-10 - c->rank, "rank %d", c->rank) : 0;
    if (rc == 0)
        err_warn("of rank %d", c->rank);
    return comm_agree(c, rc);
}

static void test_agree(void)
{
    for (unsigned failing = 0; failing < 16; failing++) {
        char line[64] = "narrowcast: warning: of rank 0\n";
        int lowest = 0;
        while (failing && !(failing >> lowest & 1))
            lowest++;
        if (failing)
            snprintf(line, sizeof line, "narrowcast: rank %d\n", lowest);
        fails(4, agree, &failing, failing ? -10 - lowest : 0, line);
    }
}

static int differ(struct comm *c, void *ctx)
{
    const int x = c->rank == *(int *)ctx;
    return comm_check_equal(c, &x, sizeof x, "the thing");
}

static int one_fails(struct comm *c, void *ctx)
{
    (void)ctx;
    if (c->rank == 2)
        return ERR(-ENOSPC, "no space");
    return comm_barrier(c);
}

static int to_nobody(struct comm *c, void *ctx)
{
    (void)ctx;
    CHECK(c->rank != 1 || comm_send(c, 3, "x", 1) == -EIO, "sent to rank 3");
    return comm_barrier(c);
}

static int too_long(struct comm *c, void *ctx)
{
    char buf[64] = "";
    (void)ctx;
    if (c->rank == 0)
        TRY(comm_send(c, 1, buf, sizeof buf));
    if (c->rank == 1)
        TRY(comm_recv(c, 0, buf, 8));
    return c->rank == 2 ? comm_barrier(c) : comm_wait(c);
}

static int other_tag(struct comm *c, void *ctx)
{
    char buf[64] = "";
    struct comm_batch batch = {.n_places = 1};
    (void)ctx;
    TRY(comm_batches_begin(c, 1));
    TRY(c->rank == 0 ? comm_batch_send(c, &batch, COMM_TAG_SUM, 1, buf, 3)
                     : comm_batch_recv(c, &batch, COMM_TAG_DATA, 0, buf, 3));
    const int rc = comm_some(c, true);
    CHECK(rc < 0 && comm_batch_done(c, &batch) && c->n_req == 0, "%d", rc);
    return rc;
}

static int circle(struct comm *c, void *ctx)
{
    char buf[8];
    const int from = (c->rank + 1) % c->n_ranks;
    (void)ctx;
    TRY(comm_recv(c, from, buf, (size_t)c->rank + 1));
    return comm_wait(c);
}

static int apart(struct comm *c, void *ctx)
{
    char buf[5];
    (void)ctx;
    err_hold();
    if (c->rank > 0)
        return comm_agree(c, ERR(-EINVAL, "held"));
    TRY(comm_recv(c, 1, buf, 5));
    return comm_wait(c);
}

static int different(struct comm *c, void *ctx)
{
    uint64_t bits = 0;
    (void)ctx;
    return c->rank == 2 ? comm_bcast(c, &bits, 8, 2) : comm_vote(c, &bits, 1);
}

static int leaves_some(struct comm *c, void *ctx)
{
    static char buf[8];
    (void)ctx;
    return c->rank == 1 ? comm_recv(c, 0, buf, 8) : 0;
}

static int waits_for_none(struct comm *c, void *ctx)
{
    (void)ctx;
    TRY(comm_batches_begin(c, 1));
    return c->rank == 1 ? comm_some(c, true) : comm_barrier(c);
}

static void test_failures(void)
{
    int who = 2;
    test_agree();
    fails(3, differ, &who, -EPROTO,
          "narrowcast: the thing differs between ranks: rank 2 and rank 0 have different ones\n");
    fails(4, one_fails, NULL, -ENOSPC,
          "narrowcast: no space\n"
          "narrowcast: rank 0 waits for all ranks, to synchronise, but rank 2 has ended, rank 1 "
          "waits for all ranks, to synchronise, but rank 2 has ended, rank 3 waits for all ranks, "
          "to synchronise, but rank 2 has ended\n");
    fails(3, to_nobody, NULL, 0, "narrowcast: cannot send: there is no rank 3 of 3\n");
    fails(3, too_long, NULL, -EIO,
          "narrowcast: rank 1 expects 8 bytes from rank 0, which sends 64\n");
    fails(2, other_tag, NULL, -EDEADLK,
          "narrowcast: rank 0 waits to send 3 bytes to rank 1, which has posted 3 with another tag "
          "(1, not 4), rank 1 waits for 3 bytes from rank 0, which has posted 3 with another tag "
          "(4, not 1)\n");
    fails(6, circle, NULL, -EDEADLK,
          "narrowcast: rank 0 waits for 1 bytes from rank 1, rank 1 waits for 2 bytes from rank 2, "
          "rank 2 waits for 3 bytes from rank 3, rank 3 waits for 4 bytes from rank 4, 2 more "
          "wait\n");
    fails(3, apart, NULL, -EDEADLK,
          "narrowcast: rank 0 waits for 5 bytes from rank 1, rank 1 waits for all ranks, to agree "
          "with all ranks, rank 2 waits for all ranks, to agree with all ranks\n");
    fails(3, different, NULL, -EPROTO,
          "narrowcast: ranks are in different collectives: rank 0 to vote (2, 4), rank 2 to "
          "broadcast (8, 2)\n");
    fails(2, leaves_some, NULL, -EIO, "narrowcast: rank 1 ends with 1 messages in flight\n");
    fails(2, waits_for_none, NULL, -EDEADLK,
          "narrowcast: rank 1 waits for a message without having posted one, rank 0 waits for all "
          "ranks, "
          "to synchronise\n");
}

static int many(struct comm *c, void *ctx)
{
    char pad[4096];
    int got[4], n = 0;
    (void)ctx;
    memset(pad, c->rank, sizeof pad);
    for (int by = 64; by < c->n_ranks && n < 4; by += 64)
        TRY(comm_recv(c, (c->rank + c->n_ranks - by) % c->n_ranks, &got[n++], sizeof *got));
    for (int by = 64; by < c->n_ranks && by <= 4 * 64; by += 64)
        TRY(comm_send(c, (c->rank + by) % c->n_ranks, &c->rank, sizeof c->rank));
    TRY(comm_wait(c));
    for (int i = 0; i < n; i++)
        CHECK(got[i] == (c->rank + c->n_ranks - 64 * (i + 1)) % c->n_ranks, "rank %d: %d", c->rank,
              got[i]);
    for (size_t i = 0; i < sizeof pad; i++)
        CHECK(pad[i] == (char)c->rank, "the stack of rank %d", c->rank);
    return 0;
}

static void test_many(void)
{
    struct comm_virtual *v = open_ranks(1000);
    CHECK(comm_virtual_run(v, many, NULL) == 0 && comm_virtual_run(v, goes_well, NULL) == 0,
          "1000 ranks");
    comm_virtual_close(v);
}

static int aborts(struct comm *c, void *ctx)
{
    (void)ctx;
    err_hold();
    if (c->rank == 1)
        comm_abort(c, ERR(-ENOSPC, "held until then"));
    return comm_barrier(c);
}

static int is_missing(struct comm *c, void *ctx)
{
    char buf[3];
    (void)ctx;
    if (c->rank == 1) {
        CHECK(!comm_abandoned(c), "given up");
        comm_missing(c);
    }
    TRY(comm_recv(c, 1, buf, 3));
    return comm_wait(c);
}

static void ends(int (*body)(struct comm *c, void *ctx), int status, const char *line)
{
    struct capture cap;
    capture_begin(&cap);
    const pid_t pid = fork();
    if (pid == 0) {
        comm_virtual_run(open_ranks(2), body, NULL);
        _exit(0);
    }
    int got = 0;
    waitpid(pid, &got, 0);
    capture_end(&cap);
    CHECK(WIFEXITED(got) && WEXITSTATUS(got) == status, "status %x", got);
    CHECK(strcmp(cap.text, line) == 0, "\"%s\"", cap.text);
}

static void never(void *arg)
{
    (void)arg;
}

static void test_guard(void)
{
    const struct rlimit no_core = {0, 0};
    struct capture cap;
    struct fiber f;
    int got = 0;
    if (fiber_init(&f, 1, never, NULL) < 0)
        exit(1);
    f.stack[0] = 1;      /* the whole page belongs to it */
    capture_begin(&cap); /* for a sanitizer's output */
    const pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGSEGV, SIG_DFL); /* libraries write files on SIGSEGV */
        *(volatile char *)(f.stack - 1) = 1;
        _exit(0);
    }
    waitpid(pid, &got, 0);
    capture_end(&cap);
    CHECK(got != 0, "a stack may grow into what lies below it");
    fiber_fini(&f);
    fiber_fini(&f);
}

static void test_open(void)
{
    struct comm_virtual *v = NULL;
    struct capture cap;
    capture_begin(&cap);
    const int rc = comm_virtual_open(0, NULL, &v);
    capture_end(&cap);
    CHECK(rc == -EINVAL && !v, "%d", rc);
    CHECK(strcmp(cap.text, "narrowcast: cannot open a job of 0 virtual ranks: need at least 1\n") ==
              0,
          "\"%s\"", cap.text);
}

int main(void)
{
    test_open();
    test_as_real();
    test_failures();
    test_many();
    ends(aborts, ENOSPC, "narrowcast: held until then\n");
    ends(is_missing, ETIMEDOUT,
         "narrowcast: rank 1 of 2 has waited too long: rank 0 waits for 3 bytes from rank 1\n");
    test_guard();
    DONE();
}
