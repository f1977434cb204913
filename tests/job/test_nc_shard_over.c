/* test_nc_shard_over.c : shards over the caller's transport, on 1 to 9 ranks: every codec and kind
 * of range; a rank that fails. */
#include "nc_shards.h"
#include "over_ranks.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

static int open_over(const void *arg, const struct nc_options *o, const struct nc_layer *l, int n,
                     struct nc **out)
{
    return nc_open_over(arg, o, l, n, out);
}

static struct shard_ranks ranks_of(const struct nc_transport *t)
{
    return (struct shard_ranks){
        .rank = t->rank, .n_ranks = t->n_ranks, .open = open_over, .arg = t};
}

static int codecs(const struct nc_transport *t, void *ctx)
{
    const struct shard_ranks s = ranks_of(t);
    (void)ctx;
    /* every codec on 3 numbers of ranks */
    for (int i = t->n_ranks % 3; i < SHARD_CODECS; i += 3)
        shard_check_codec(&s, &shard_codecs[i], (i + t->n_ranks) % 4);
    return 0;
}

static int gathers(const struct nc_transport *t, void *ctx)
{
    static const char *const words[] = {NULL, "bf16", "fp16", "delta:e4m3", "delta:e2m5f:32"};
    const struct shard_ranks s = ranks_of(t);
    (void)ctx;
    for (int i = t->n_ranks % 2; i < 5; i += 2)
        shard_check_gather(&s, words[i], (i + t->n_ranks) % 4);
    return 0;
}

static int n_sent;
static const char *how;
static struct nc *struck;

static int failing_send(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    if (++n_sent == 3 && !strcmp(how, "kill"))
        raise(SIGKILL);
    if (n_sent == 3 && !strcmp(how, "abort"))
        nc_abort(struck, -ECANCELED);
    return sockets_isend(arg, to, tag, buf, bytes, request);
}

/* ctx: kill or abort, of rank 0, in a reduce-scatter or in an all-gather */
static int fails(const struct nc_transport *t, void *ctx)
{
    static float x[N_ALL], shard[N_ALL];
    struct nc_options o = shard_options(&shard_codecs[0]);
    struct nc_transport own = *t;
    void *list[N_LAYERS];
    const bool gathers_weights = !strncmp(ctx, "gather", 6);
    how = strchr(ctx, ' ') + 1;
    o.shard = "fp32";
    o.log = count_line;
    own.isend = failing_send;
    n_sent = 1000;
    CHECK(nc_open_over(&own, &o, layers, N_LAYERS, &struck) == 0, "open");
    point(x, sizeof *x, list);
    n_sent = t->rank ? 1000 : 0;
    const time_t start = time(NULL);
    int rc = 0;
    for (int i = 0; i < 20 && rc == 0; i++)
        rc = gathers_weights ? nc_all_gather(struck, shard, list, NULL)
                             : nc_reduce_scatter(struck, list, shard, NULL);
    CHECK(rc < 0 && nc_async_error(struck) == rc, "%s: rank %d: %d", how, t->rank, rc);
    CHECK(time(NULL) - start < 15, "%s: rank %d heard it late", how, t->rank);
    nc_close(struck);
    return 0;
}

int main(void)
{
    for (int p = 1; p <= OVER_MAX; p++) {
        CHECK(over_run(p, codecs, NULL) == 0, "codecs on %d ranks", p);
        CHECK(over_run(p, gathers, NULL) == 0, "all-gathers on %d ranks", p);
    }
    CHECK(over_run(3, fails, (char[]){"scatter kill"}) == 0, "a killed rank");
    CHECK(over_run(3, fails, (char[]){"scatter abort"}) == 0, "an abort");
    CHECK(over_run(3, fails, (char[]){"gather kill"}) == 0, "a killed rank in an all-gather");
    CHECK(over_run(3, fails, (char[]){"gather abort"}) == 0, "an abort in an all-gather");
    DONE();
}
