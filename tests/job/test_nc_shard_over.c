/* test_nc_shard_over.c : tests reduce-scatters and all-gathers over the caller's transport,
 * on 1 to 9 ranks: every codec and kind of range; a rank that fails, also while codes travel
 * between emulated GPUs. */
#include "gpu_fixture.h"
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

static void strike(void)
{
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    nc_abort(struck, -ECANCELED);
}

static int failing_send(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    if (++n_sent == 3)
        strike();
    return sockets_isend(arg, to, tag, buf, bytes, request);
}

/* ctx: kill or abort, of rank 0, in a reduce-scatter or in an all-gather; by_gpu: nccl or ipc. On
 * GPUs rank 0 strikes after it has sent an exponent to rank 1, or instead of an all-gather: others
 * then wait for its codes. */
static const char *by_gpu;
static int fails(const struct nc_transport *t, void *ctx)
{
    static float on_cpu[2 * N_ALL];
    const struct dev_library *lib = by_gpu ? gpu_fixture_emulated(t->rank) : NULL;
    if (by_gpu && !lib)
        return 0;
    struct nc_options o = shard_options(&shard_codecs[0]);
    struct nc_transport own = *t;
    void *list[N_LAYERS];
    const bool gathers_weights = !strncmp(ctx, "gather", 6);
    how = strchr(ctx, ' ') + 1;
    o.shard = "fp32";
    o.log = count_line;
    o.device = by_gpu ? "cuda" : "cpu";
    setenv("NARROWCAST_GPU_TRANSPORT", by_gpu ? by_gpu : "", 1);
    own.isend = failing_send;
    n_sent = 1000;
    CHECK(nc_open_over(&own, &o, layers, N_LAYERS, &struck) == 0, "open");
    float *x = lib ? lib->run->alloc(sizeof on_cpu) : on_cpu, *shard = x + N_ALL;
    point(x, sizeof *x, list);
    n_sent = t->rank || by_gpu ? 1000 : 0;
    const time_t start = time(NULL);
    int rc = 0;
    for (int i = 0; i < 20 && rc == 0; i++) {
        if (by_gpu && t->rank == 0 && i == 2 && gathers_weights)
            strike();
        else if (by_gpu && t->rank == 0 && i == 2)
            n_sent = 1;
        rc = gathers_weights ? nc_all_gather(struck, shard, list, NULL)
                             : nc_reduce_scatter(struck, list, shard, NULL);
    }
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
    static const char *const transports[] = {NULL, "nccl", "ipc"};
    for (int i = 0; i < 3; i++) {
        by_gpu = transports[i];
        for (int k = 0; k < 4; k++) {
            char what[16];
            snprintf(what, sizeof what, "%s %s", k / 2 ? "gather" : "scatter",
                     k % 2 ? "abort" : "kill");
            CHECK(over_run(3, fails, what) == 0, "%s, %s", what, by_gpu ? by_gpu : "on the CPU");
        }
    }
    DONE();
}
