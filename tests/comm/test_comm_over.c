/* test_comm_over.c : tests ranks over the caller's transport, also when ranks die, stay
 * silent or fail. */
#include "base/clock.h"
#include "capture.h"
#include "comm/over/comm_over.h"
#include "comm_check.h"
#include "jobs_alike.h"
#include "over_ranks.h"
#include <pthread.h>
#include <signal.h>

static struct comm *must_open(const struct nc_transport *t, double deadline_s)
{
    struct comm *c = NULL;
    if (comm_over_open(t, deadline_s, &c) < 0)
        exit(1);
    return c;
}

static int as_mpi(const struct nc_transport *t, void *ctx)
{
    struct comm *c = must_open(t, 60);
    (void)ctx;
    CHECK(!comm_is_virtual(c) && !comm_is_mpi(c) && comm_threads(c), "what they are");
    check_comm(c);
    comm_leave(c);
    c = must_open(t, 60);
    check_jobs(c);
    comm_leave(c);
    return 0;
}

static int irecv_no_request(void *code, int from, int tag, void *buf, size_t bytes, void **request)
{
    (void)from, (void)tag, (void)buf, (void)bytes, (void)request;
    return *(const int *)code;
}

static void test_tables(void)
{
    static const char *const want[] = {
        "cannot use a transport without a size",
        "cannot use a transport without isend, irecv and cancel",
        "cannot use a transport of rank 3 of 3: need 0 to n_ranks - 1",
        "cannot use a deadline of 0 s: need more than 0",
        "cannot use a transport of a later version",
        "cannot use a transport whose reserved fields are not NULL",
        "messages of 1073741825 bytes: need at most 1073741824",
        "over a transport: it is NULL",
        "transport: Input/output error; irecv must set *request and return 0, or",
        "transport: Input/output error; irecv must set *request and return 0, or",
        "transport: Cannot allocate memory; irecv must"};
    static const int codes[] = {[8] = 7, [9] = 0, [10] = -ENOMEM};
    struct sockets none = {.rank = 0, .n_ranks = 1};
    for (int i = 0; i < 11; i++) {
        struct {
            struct nc_transport t;
            int more[2];
        } later = {.t = sockets_transport(&none)};
        struct nc_transport *t = &later.t;
        struct capture cap;
        struct comm *c = NULL;
        if (i == 0)
            t->size = 8;
        if (i == 1)
            t->cancel = NULL;
        if (i == 2)
            t->rank = t->n_ranks = 3;
        if (i == 4)
            t->size = sizeof later, later.more[1] = 1;
        if (i == 5)
            t->reserved[6] = &later;
        if (i == 6)
            t->message_bytes = ((size_t)1 << 30) + 1;
        if (i >= 8)
            t->arg = (void *)&codes[i], t->n_ranks = 2, t->irecv = irecv_no_request, t->test = NULL;
        capture_begin(&cap);
        const int rc = comm_over_open(i == 7 ? NULL : t, i == 3 ? 0 : 60, &c);
        capture_end(&cap);
        CHECK(rc == (i < 8    ? -EINVAL
                     : i < 10 ? -EIO
                              : -ENOMEM) &&
                  !c && strstr(cap.text, want[i]) && capture_lines(cap.text) == 1,
              "%d: %d \"%s\"", i, rc, cap.text);
    }
}

struct failure {
    const char *what, *line;
    int odd;
    void (*act)(struct comm *c);
    int code;
};

static void dies(struct comm *c)
{
    (void)c;
    raise(SIGKILL);
}

static void comes_late(struct comm *c)
{
    (void)c;
    usleep(3500000);
}

static void checks_liveness(struct comm *c)
{
    CHECK(comm_missing(c) < 0, "missing");
}

static void *fail_soon(void *arg)
{
    usleep(100000);
    CHECK(comm_fail(arg, -ECANCELED), "these ranks can");
    return NULL;
}

static void fails_soon(struct comm *c)
{
    static pthread_t thread;
    pthread_create(&thread, NULL, fail_soon, c);
    CHECK(comm_recv(c, 0, c->scratch, 8) == 0 && comm_wait(c) == -ECANCELED, "the wait goes on");
    pthread_join(thread, NULL);
}

static int fail(const struct nc_transport *t, void *ctx)
{
    const struct failure *f = ctx;
    struct comm *c = must_open(t, 60); /* on a busy machine, ranks start seconds apart */
    char buf[8] = "";
    CHECK(comm_barrier(c) == 0 && comm_failed(c) == 0, "all is well");
    over_meet(c->n_ranks); /* all must leave the barrier before one misbehaves */
    c->deadline_s = 0.5;
    if (c->rank == f->odd)
        f->act(c);
    int rc = comm_recv(c, (c->rank + 2) % 3, buf, sizeof buf);
    rc = rc < 0 ? rc : comm_wait(c);
    CHECK(rc == f->code, "%s: rank %d: %d, not %d", f->what, c->rank, rc, f->code);
    const double start = clock_s();
    uint64_t bits = 0;
    c->deadline_s = 60; /* no call waits for it */
    CHECK(comm_failed(c) == f->code && comm_barrier(c) == f->code && comm_agree(c, 0) == f->code &&
              comm_vote(c, &bits, 1) == f->code && comm_abandon(c) == f->code &&
              comm_missing(c) == f->code && comm_abandoned(c) && comm_some(c, true) == f->code,
          "%s: rank %d goes on", f->what, c->rank);
    comm_leave(c);
    CHECK(clock_s() - start < 30, "%s: waits %g s after the failure", f->what, clock_s() - start);
    return 0;
}

static void test_failures(void)
{
    static struct failure all[] = {
        {"killed", "narrowcast: rank 2 of 3 is gone: Connection reset by peer\n", 2, dies,
         -ECONNRESET},
        {"killed first", "narrowcast: rank 0 of 3 is gone: Connection reset by peer\n", 0, dies,
         -ECONNRESET},
        {"late", "narrowcast: rank 1 of 3 did not answer for 0.5 s\n", 1, comes_late, -ETIMEDOUT},
        {"roll",
         "narrowcast: waited 0.5 s for each other although all 3 ranks answer: they run different "
         "steps, or the deadline is too short\n",
         2, checks_liveness, -ETIMEDOUT},
        {"gives in", "", 1, fails_soon, -ECANCELED}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct capture cap;
        capture_begin(&cap);
        const int failed = over_run(3, fail, &all[i]);
        capture_end(&cap);
        CHECK(failed == 0 && strcmp(cap.text, all[i].line) == 0, "%s: %d ranks failed; \"%s\"",
              all[i].what, failed, cap.text);
    }
}

static int odd_length(const struct nc_transport *t, void *ctx)
{
    struct comm *c = must_open(t, 5);
    const bool *early = ctx; /* the message arrives before its receive */
    char buf[64] = "";
    if (c->rank == 1 && *early) {
        usleep(20000);
        (void)c->ops->poll(c);
    }
    int rc = c->rank ? comm_recv(c, 0, buf, 8) : comm_send(c, 1, buf, 16);
    rc = rc < 0 ? rc : comm_wait(c);
    CHECK(c->rank == 0 || rc == -EPROTO, "rank %d: %d", c->rank, rc);
    CHECK(comm_barrier(c) < 0, "rank %d goes on", c->rank);
    comm_leave(c);
    return 0;
}

int main(void)
{
    struct capture cap;
    for (int p = 1; p <= 6; p++)
        if (p != 5)
            CHECK(over_run(p, as_mpi, NULL) == 0, "%d ranks", p);
    test_tables();
    test_failures();
    for (int early = 0; early <= 1; early++) {
        capture_begin(&cap);
        const int failed = over_run(2, odd_length, &(bool){early});
        capture_end(&cap);
        CHECK(failed == 0 && strstr(cap.text, "gone or in another call: Protocol error"),
              "early %d: %d \"%s\"", early, failed, cap.text);
    }
    DONE();
}
