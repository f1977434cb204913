/* test_nc_over_fault.c : failures over the caller's transport: every rank has an error code, soon,
 * and one line names the cause. */
#include "nc_fixture.h"
#include "over_ranks.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

static struct nc_options options(void)
{
    struct nc_options o = nc_options_default();
    o.format = "e4m3";
    o.scale = "aps";
    o.bucket_bytes = 300;
    o.deadline_s = 60;
    o.log = count_line;
    return o;
}

static int fails_now, fails_with;
static int failing_send(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    return fails_now-- == 1 ? fails_with : sockets_isend(arg, to, tag, buf, bytes, request);
}

/* A failing send wakes the receiver at once; nc_abort() between calls reaches ranks in a call. A
 * code that would mean a usable communicator becomes -EIO. */
struct sudden {
    const char *how;
    int send, code;
};

static int heard_at_once(const struct nc_transport *t, void *ctx)
{
    static float x[N_ALL];
    void *list[N_LAYERS];
    struct nc_options o = options();
    struct nc_transport own = *t;
    struct nc *nc = NULL;
    const struct sudden *sudden = ctx;
    const int aborts = !sudden->send, code = sudden->code;
    point(x, sizeof *x, list);
    own.isend = failing_send, fails_with = sudden->send;
    CHECK(nc_open_over(&own, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    CHECK(nc_allreduce(nc, NULL, NULL) == -EINVAL && nc_async_error(nc) == 0, "no list");
    list[2] = NULL;
    CHECK(nc_iallreduce(nc, list) == -EINVAL && nc_async_error(nc) == 0, "no layer");
    CHECK(nc_async_error(NULL) == -EINVAL, "no communicator");
    nc_abort(NULL, -EIO);
    point(x, sizeof *x, list);
    const time_t start = time(NULL);
    over_meet(t->n_ranks); /* all have left nc_open_over() */
    if (t->rank == 0 && aborts)
        nc_abort(nc, 5); /* not an errno */
    fails_now = t->rank == 0;
    CHECK(nc_allreduce(nc, list, NULL) == code, "rank %d: %d", t->rank, nc_async_error(nc));
    CHECK(t->rank == 0 || !aborts || strstr(nc_last_error(nc), "or left without closing: the step"),
          "rank %d: \"%s\"", t->rank, nc_last_error(nc));
    if (t->rank == 0 && aborts)
        usleep(500000); /* the other ranks need not wait for nc_close() */
    CHECK(time(NULL) - start < 10, "rank %d heard it after %d s", t->rank,
          (int)(time(NULL) - start));
    nc_close(nc);
    return 0;
}

/* nc_abort() between calls, over a transport of one thread. -EBUSY is not kept. */
static int aborts_alone(const struct nc_transport *t, void *ctx)
{
    static float x[N_ALL];
    void *list[N_LAYERS];
    struct nc_options o = options();
    struct nc_transport own = *t;
    struct nc *nc = NULL;
    (void)ctx;
    point(x, sizeof *x, list);
    o.deadline_s = 20;
    own.threads = 0;
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, t->rank ? &nc : NULL) == -EINVAL, "no place");
    CHECK(nc_open_over(&own, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    if (t->rank == 0) {
        usleep(200000);
        nc_abort(nc, -EBUSY);
        over_meet(t->n_ranks); /* all have heard of it before rank 0's next call */
    }
    CHECK(nc_allreduce(nc, list, NULL) == -ECANCELED, "rank %d: %d", t->rank, nc_async_error(nc));
    if (t->rank > 0)
        over_meet(t->n_ranks);
    nc_close(nc);
    return 0;
}

static struct nc *struck;
static void *strike(void *how)
{
    usleep(200000);
    if (!strcmp(how, "abort"))
        nc_abort(struck, -ECANCELED);
    else
        raise(SIGKILL);
    return NULL;
}

/* nc_abort() in another thread, while the step's thread waits for gradients. */
static int aborts_in_step(const struct nc_transport *t, void *ctx)
{
    static float x[N_ALL];
    void *list[N_LAYERS];
    struct nc_options o = options();
    pthread_t thread;
    (void)ctx, point(x, sizeof *x, list);
    o.deadline_s = 20;
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &struck) == 0, "open: %s", nc_last_error(NULL));
    CHECK(nc_iallreduce(struck, list) == 0, "begin");
    if (t->rank == 0) {
        pthread_create(&thread, NULL, strike, (char[]){"abort"});
        pthread_join(thread, NULL);
        over_meet(t->n_ranks);
        CHECK(nc_ready(struck, 0, 1) == -ECANCELED, "ready: %d", nc_async_error(struck));
    }
    CHECK(nc_wait(struck, NULL) == -ECANCELED, "rank %d: %d", t->rank, nc_async_error(struck));
    if (t->rank > 0)
        over_meet(t->n_ranks);
    nc_close(struck);
    return 0;
}

struct fault {
    const char *how, *line;
    int code;
};

static int fault(const struct nc_transport *t, void *ctx)
{
    static float x[N_ALL];
    const struct fault *f = ctx;
    struct nc_options o = options();
    struct nc *nc = NULL;
    void *list[N_LAYERS];
    pthread_t thread;
    o.deadline_s = 0.7;
    if (t->rank == 1 && !strcmp(f->how, "closes"))
        o.deadline_s = 10; /* the others' deadline expires while rank 0 awaits its last messages */
    point(x, sizeof *x, list);
    over_meet(t->n_ranks); /* on a busy machine, ranks start seconds apart */
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    struck = nc;
    fill_grads(t->rank, 0, x);
    CHECK(nc_iallreduce(nc, list) == 0 && nc_wait(nc, NULL) == 0, "a step");
    if (t->rank == 1 && !strcmp(f->how, "late"))
        usleep(3500000);
    else if (t->rank == 1 && !strcmp(f->how, "closes"))
        goto close;
    else if (t->rank == 1)
        usleep(600000);
    if (t->rank == 2 && strcmp(f->how, "late") && strcmp(f->how, "closes"))
        pthread_create(&thread, NULL, strike, (void *)(uintptr_t)f->how);
    int rc = nc_iallreduce(nc, list), done;
    if (!strcmp(f->how, "kill") && nc_ready(nc, 0, N_LAYERS) == 0) /* the thread fails first */
        while (!nc_async_error(nc))
            usleep(1000);
    rc = rc < 0 ? rc : nc_wait(nc, NULL);
    CHECK(rc == f->code, "%s: rank %d: %d, not %d", f->how, t->rank, rc, f->code);
    CHECK(n_lines == (t->rank == 0 && f->line[0]), "%s: rank %d says %d lines", f->how, t->rank,
          n_lines);
    CHECK(nc_last_error(nc)[0] && (t->rank > 0 || strstr(nc_last_error(nc), f->line)),
          "%s: rank %d knows \"%s\"", f->how, t->rank, nc_last_error(nc));
    CHECK(nc_async_error(nc) == f->code && nc_allreduce(nc, list, NULL) == f->code &&
              nc_wait(nc, NULL) == f->code && nc_test(nc, &done) == f->code &&
              nc_broadcast(nc, x, 4, 0) == f->code,
          "%s: rank %d goes on", f->how, t->rank);
    if (t->rank == 2 && !strcmp(f->how, "abort"))
        pthread_join(thread, NULL);
close:
    nc_close(nc);
    return 0;
}

static char warned[200];
static void keep_line(void *arg, int level, const char *line)
{
    (void)arg, (void)level;
    snprintf(warned, sizeof warned, "%s", line);
}

/* Rank 0 closes its communicator; the others do not. */
static int closes_alone(const struct nc_transport *t, void *ctx)
{
    struct nc_options o = options();
    struct nc *nc = NULL;
    (void)ctx;
    o.deadline_s = 0.5, o.log = keep_line;
    over_meet(t->n_ranks);
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    if (t->rank == 0) {
        nc_close(nc);
        CHECK(strstr(warned, "rank 0 of 3 closes without rank 1, which did not within 0.5 s"),
              "said '%s'", warned);
        return 0;
    }
    usleep(2000000);
    nc_close(nc);
    CHECK(!warned[0], "rank %d said '%s'", t->rank, warned);
    return 0;
}

int main(void)
{
    static struct sudden suddens[] = {
        {"a send that fails", -ENOMEM, -ENOMEM},
        {"a send whose code means a usable communicator", -EBUSY, -EIO},
        {"an abort between calls", 0, -ECANCELED}};
    static struct fault faults[] = {
        {"kill", "rank 2 of 3 is gone: Connection reset by peer", -ECONNRESET},
        {"late", "rank 1 of 3 did not answer for 0.7 s", -ETIMEDOUT},
        {"abort", "", -ECANCELED},
        {"closes", "rank 1 of 3 did not answer for 0.7 s", -ETIMEDOUT}};
    for (size_t i = 0; i < sizeof suddens / sizeof *suddens; i++)
        CHECK(over_run(3, heard_at_once, &suddens[i]) == 0, "%s", suddens[i].how);
    CHECK(over_run(3, aborts_alone, NULL) == 0, "an abort without threads");
    CHECK(over_run(3, aborts_in_step, NULL) == 0, "an abort in mid-step");
    CHECK(over_run(3, closes_alone, NULL) == 0, "a rank that closes alone");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        CHECK(over_run(3, fault, &faults[i]) == 0, "%s", faults[i].how);
    DONE();
}
