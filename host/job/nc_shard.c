/* nc_shard.c : reduce-scatters gradients and all-gathers weights in the public interface. */
#include "job/nc_inside.h"

int nc_shard_parse(struct nc *nc, const struct nc_options *o, struct job_shard *out)
{
    *out = (struct job_shard){.range = o->shard_n};
    TRY(shard_parse(o->shard, o->gather, out));
    nc->shards = out->on;
    if (out->on && o->blocks)
        return ERR(-EINVAL, "blocks do not work with shards: leave one of them out");
    if (out->gather.group && nc->type != NC_FP32)
        return ERR(-EINVAL, "gather %s needs weights of type fp32, not %s", o->gather, o->type);
    size_t all = 0;
    for (int i = 0; i < nc->n_layers; i++)
        all += nc->n[i];
    const int n_ranks = comm_n_ranks(nc->comm);
    nc->shard_room = o->shard_n ? o->shard_n[comm_rank(nc->comm)] : shard_equal(all, n_ranks, 0);
    return 0;
}

int nc_shard(const struct nc *nc, int rank, size_t *at, size_t *n)
{
    if (!nc || !nc->shards || rank < 0 || rank >= comm_n_ranks(nc->comm))
        return -EINVAL;
    const struct algo_range r = reducer_range(nc->blocks->job.reducer, rank);
    if (at)
        *at = r.at;
    if (n)
        *n = r.n;
    return 0;
}

/* Begin a step within a call (nc_enter_between()). On failure, end the call and return its code. */
static int begin(struct nc *nc, const void *list, const float *shard, bool gathers)
{
    int rc = nc_step_begin(nc, list, true, gathers);
    size_t n = 0;
    if (rc == 0)
        rc = nc_shard(nc, comm_rank(nc->comm), NULL, &n);
    if (rc == 0 && !shard && n > 0)
        rc = ERR(-EINVAL, "cannot use a shard of %zu elements: its pointer is NULL", n);
    if (rc == 0 && n > 0 && nc->blocks->job.on_gpu)
        rc = nc_type_check_gpu(nc, shard, -1);
    if (rc < 0)
        return nc_leave_refused(nc, rc);
    nc->shard = (float *)(uintptr_t)shard; /* an all-gather only reads it */
    reducer_set_shard(nc->blocks->job.reducer, nc->shard);
    return 0;
}

int nc_reduce_scatter(struct nc *nc, const void *grads, float *shard, struct nc_report *report)
{
    TRY(nc_enter_between(nc));
    TRY(begin(nc, grads, shard, false));
    return nc_step_run(nc, report);
}

int nc_ireduce_scatter(struct nc *nc, const void *grads, float *shard)
{
    TRY(nc_enter_between(nc));
    TRY(begin(nc, grads, shard, false));
    return nc_step_start(nc);
}

int nc_all_gather(struct nc *nc, const float *shard, const void *weights, struct nc_report *report)
{
    TRY(nc_enter_between(nc));
    TRY(begin(nc, weights, shard, true));
    return nc_step_run(nc, report);
}

int nc_iall_gather(struct nc *nc, const float *shard, const void *weights)
{
    TRY(nc_enter_between(nc));
    TRY(begin(nc, weights, shard, true));
    return nc_step_start(nc);
}
