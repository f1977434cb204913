/* test_nc_blocks_over.c : blocks (nc_options.blocks) over the caller's transport give the bits
 * of one process. */
#include "nc_blocks.h"
#include "over_ranks.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

static struct nc_options options(int blocks)
{
    struct nc_options o = nc_options_default();
    o.format = "e4m3";
    o.scale = "aps";
    o.bucket_bytes = 300;
    o.deadline_s = 60;
    o.blocks = blocks;
    o.log = count_line;
    return o;
}

static struct nc *open_over(const struct nc_transport *t, const struct nc_options *o)
{
    struct nc *nc = NULL;
    CHECK(nc_open_over(t, o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    if (!nc)
        exit(1);
    return nc;
}

static int same(const struct nc_transport *t, void *ctx)
{
    static float whole[BLOCKS_MAX * N_ALL], parts[BLOCKS_MAX * N_ALL];
    struct sockets none;
    struct nc_options o = options(BLOCKS_MAX - 1);
    struct nc_report report;
    o.codec = ctx;
    if (o.codec)
        o.format = o.scale = NULL;
    if (sockets_open(&none, 0, 1, NULL) < 0)
        return 1;
    const struct nc_transport lone = sockets_transport(&none);
    struct nc *one = open_over(&lone, &o), *all = open_over(t, &o);
    for (uint64_t step = 0; step < 3; step++) {
        blocks_step(one, step, step == 1, whole, NULL);
        blocks_step(all, step, step == 2, parts, &report);
        blocks_same(all, whole, parts, "step");
    }
    CHECK((report.sent_bytes > 0) == (t->n_ranks > 1), "%d bytes sent", (int)report.sent_bytes);
    nc_close(one);
    nc_close(all);
    sockets_close(&none);
    return 0;
}

static int refused(const struct nc_transport *t, void *ctx)
{
    struct nc_options o = options(t->n_ranks - 1);
    struct nc *nc = (struct nc *)&o;
    (void)ctx;
    CHECK(nc_open_over(t, &o, layers, N_LAYERS, &nc) == -EINVAL && !nc, "too few blocks");
    return 0;
}

static int n_sent;
static const char *how;
static struct nc *struck;

static int failing_send(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    if (++n_sent == 5 && !strcmp(how, "send"))
        return -ENOMEM;
    if (n_sent == 5 && !strcmp(how, "kill"))
        raise(SIGKILL);
    if (n_sent == 5 && !strcmp(how, "abort"))
        nc_abort(struck, -ECANCELED);
    if (n_sent == 5 && !strcmp(how, "late"))
        usleep(3000000);
    return sockets_isend(arg, to, tag, buf, bytes, request);
}

static int fails(const struct nc_transport *t, void *ctx)
{
    static float x[BLOCKS_MAX * N_ALL];
    struct nc_options o = options(5);
    struct nc_transport own = *t;
    void *lists[BLOCKS_MAX][N_LAYERS];
    how = ctx;
    o.deadline_s = strcmp(how, "late") ? 30 : 0.7;
    own.isend = failing_send;
    n_sent = 1000;
    over_meet(t->n_ranks); /* on a busy machine, processes start seconds apart */
    struct nc *nc = struck = open_over(&own, &o);
    blocks_step(nc, 0, 0, x, NULL);
    const time_t start = time(NULL);
    n_sent = t->rank ? 1000 : 0;
    for (int b = 0; b < nc_n_blocks(nc); b++)
        point(x + b * N_ALL, sizeof *x, lists[b]);
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = nc_allreduce(nc, lists, NULL);
    CHECK(rc < 0, "%s: rank %d: no error", how, t->rank);
    CHECK(nc_async_error(nc) == rc && nc_allreduce(nc, lists, NULL) == rc, "%s: rank %d: %d", how,
          t->rank, rc);
    CHECK(nc_last_error(nc)[0], "%s: rank %d has no reason", how, t->rank);
    CHECK(time(NULL) - start < 15, "%s: rank %d heard it after %d s", how, t->rank,
          (int)(time(NULL) - start));
    nc_close(nc);
    return 0;
}

int main(void)
{
    for (int p = 1; p <= 4; p++) {
        CHECK(over_run(p, same, NULL) == 0, "%d processes", p);
        CHECK(over_run(p, same, (char[]){"onebit"}) == 0, "%d processes, onebit", p);
    }
    CHECK(over_run(3, refused, NULL) == 0, "refused");
    CHECK(over_run(3, fails, (char[]){"send"}) == 0, "a send that fails");
    CHECK(over_run(3, fails, (char[]){"kill"}) == 0, "a process that is killed");
    CHECK(over_run(3, fails, (char[]){"abort"}) == 0, "an abort");
    CHECK(over_run(3, fails, (char[]){"late"}) == 0, "a late process");
    return check_bad != 0;
}
