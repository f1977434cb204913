/* nc_step.c : runs a step of the public interface, at once or in parts. */
#include "job/nc_inside.h"
#include "vec/gpu/gpu.h"
#include <math.h>

static void report_blocks(const struct nc *nc, struct nc_report *out)
{
    const bool by_cards = nc->blocks[0].done.by_card_path;
    struct nc_report report = {.offload = by_cards, .path = by_cards ? "cards" : nc->path};
    for (int k = 0; k < nc->n_blocks; k++) {
        const struct reducer_step *s = &nc->blocks[k].done;
        report.sent_bytes += s->sent_bytes;
        report.code_bytes += s->code_bytes;
        report.fp32_bytes += s->fp32_bytes;
        report.codec_s += s->codec_s;
        report.comm_s = fmax(report.comm_s, s->comm_s + s->codec_s);
        report.underflow += s->lost.underflow;
        report.saturated += s->lost.saturated;
    }
    /* Blocks compute in turns, so the longest block's time contains the casts of all blocks. */
    report.comm_s = fmax(0, report.comm_s - report.codec_s);
    *out = report;
}

/* Zeroes the shard's room beyond the range, if there is a shard. */
static int pad_shard(struct nc *nc)
{
    static const float zeros[64];
    const struct job *j = &nc->blocks->job;
    const size_t n = reducer_range(j->reducer, comm_rank(nc->comm)).n;
    for (size_t i = n, k; nc->shard && i < nc->shard_room; i += k) {
        const size_t most = sizeof zeros / sizeof *zeros, left = nc->shard_room - i;
        k = left < most ? left : most;
        j->codec.ops->copy(nc->shard + i, zeros, k * sizeof *zeros);
    }
    return gpu_failed();
}

static int report_step(struct nc *nc, struct nc_report *report)
{
    const bool skipped = nc->blocks[0].done.skipped;
    TRY(comm_failed(nc->comm)); /* nc_abort() came too late for messages */
    nc->step += !nc->gathers;
    if (!skipped && nc->shards && !nc->gathers)
        TRY(pad_shard(nc));
    else if (!skipped)
        nc_type_out(nc);
    if (report)
        report_blocks(nc, report);
    return skipped ? 1 : 0;
}

int nc_step_begin(struct nc *nc, const void *grads, bool shards, bool gathers)
{
    if (nc->shards != shards)
        return ERR(-EINVAL, nc->shards ? "cannot all-reduce: this communicator has shards; call "
                                         "nc_reduce_scatter()"
                                       : "cannot use shards: this communicator has none; set "
                                         "options.shard");
    nc->gathers = gathers;
    return nc_type_begin(nc, grads);
}

static int run(struct nc *nc, struct nc_block *b)
{
    return nc->gathers ? reducer_gather_here(b->job.reducer, b->fp32, &b->done)
                       : reducer_run_here(b->job.reducer, nc->step, b->fp32, &b->done);
}

int nc_step_run(struct nc *nc, struct nc_report *report)
{
    if (!nc->gathers)
        nc_type_in(nc, 0, nc->n_layers);
    const int rc = nc_each(nc, run);
    return nc_leave(nc, rc < 0 ? rc : report_step(nc, report));
}

int nc_allreduce(struct nc *nc, const void *grads, struct nc_report *report)
{
    TRY(nc_enter_between(nc));
    const int rc = nc_step_begin(nc, grads, false, false);
    return rc < 0 ? nc_leave_refused(nc, rc) : nc_step_run(nc, report);
}

/* If MPI allows no thread, steps run in nc_wait(), as with blocks. */
static int start_thread(struct nc *nc)
{
    if (nc->asked_thread || nc->virtual)
        return 0;
    nc->asked_thread = true;
    struct err_lines *before = err_turn(&nc->thread_lines); /* the thread inherits them */
    err_hold();
    const int rc = comm_agree(nc->comm, reducer_set_overlap(nc->blocks->job.reducer, true));
    err_turn(before);
    return rc;
}

/* Weights need no nc_ready(). */
int nc_step_start(struct nc *nc)
{
    const int rc = start_thread(nc);
    if (rc < 0)
        return nc_leave(nc, rc);
    for (int i = 0; i < nc->n_layers; i++)
        nc->handed[i] = nc->gathers;
    nc->n_handed = nc->gathers ? nc->n_layers : 0;
    nc->under_way = true;
    for (int k = 0; k < nc->n_blocks; k++) {
        const struct nc_block *b = &nc->blocks[k];
        if (nc->gathers)
            reducer_begin_gather(b->job.reducer, b->fp32);
        else
            reducer_begin(b->job.reducer, nc->step, b->fp32);
    }
    return nc_leave(nc, 0);
}

int nc_iallreduce(struct nc *nc, const void *grads)
{
    TRY(nc_enter_between(nc));
    const int rc = nc_step_begin(nc, grads, false, false);
    return rc < 0 ? nc_leave_refused(nc, rc) : nc_step_start(nc);
}

static int refuse_no_step(struct nc *nc)
{
    return nc_leave_refused(
        nc, ERR(-EINVAL, "cannot continue a step: call %s first",
                nc->shards ? "nc_ireduce_scatter() or nc_iall_gather()" : "nc_iallreduce()"));
}

static void note_handed(struct nc *nc, int first, int n)
{
    for (int i = first; i < first + n; i++)
        if (!nc->handed[i]) {
            nc->handed[i] = true;
            nc->n_handed++;
            nc_type_in(nc, i, 1);
        }
}

static void hand_in(struct nc *nc, int first, int n)
{
    note_handed(nc, first, n);
    for (int k = 0; k < nc->n_blocks; k++)
        reducer_ready(nc->blocks[k].job.reducer, first, n);
}

static int check_layers(const struct nc *nc, int first, int n)
{
    if (first < 0 || n < 0 || n > nc->n_layers || first > nc->n_layers - n)
        return ERR(-EINVAL, "cannot mark layers %d+%d as ready: there are %d", first, n,
                   nc->n_layers);
    return 0;
}

int nc_ready(struct nc *nc, int first, int n)
{
    TRY(nc_enter(nc));
    if (!nc->under_way)
        return refuse_no_step(nc);
    const int rc = check_layers(nc, first, n);
    if (rc < 0)
        return nc_leave_refused(nc, rc);
    hand_in(nc, first, n);
    return nc_leave(nc, 0);
}

int nc_ready_on(struct nc *nc, int first, int n, void *cuda_stream)
{
    TRY(nc_enter(nc));
    if (!nc->under_way)
        return refuse_no_step(nc);
    int rc = nc->blocks->job.on_gpu
                 ? check_layers(nc, first, n)
                 : ERR(-EINVAL, "cannot wait for a stream: gradients are not on a "
                                "GPU (options.device is cpu); call nc_ready()");
    if (rc < 0)
        return nc_leave_refused(nc, rc);
    note_handed(nc, first, n);
    for (int k = 0; k < nc->n_blocks && rc == 0; k++)
        rc = reducer_ready_on(nc->blocks[k].job.reducer, first, n, cuda_stream);
    return nc_leave(nc, rc);
}

static int next(struct nc *nc, struct nc_block *b)
{
    int first, n;
    (void)nc;
    while (reducer_next(b->job.reducer, &first, &n))
        ;
    return 0;
}

int nc_test(struct nc *nc, int *done)
{
    TRY(nc_enter(nc));
    if (!nc->under_way)
        return refuse_no_step(nc);
    if (!done)
        return nc_leave_refused(nc,
                                ERR(-EINVAL, "cannot test a step: the pointer for done is NULL"));
    struct reducer *r = nc->blocks->job.reducer;
    int rc = 0;
    if (!reducer_overlaps(r) && nc->n_handed == nc->n_layers)
        rc = nc_each(nc, next);
    *done = reducer_is_done(r);
    return nc_leave(nc, rc);
}

static int finish(struct nc *nc, struct nc_block *b)
{
    (void)nc;
    return reducer_finish(b->job.reducer, &b->done);
}

int nc_wait(struct nc *nc, struct nc_report *report)
{
    TRY(nc_enter_wait(nc));
    if (!nc->under_way)
        return refuse_no_step(nc);
    hand_in(nc, 0, nc->n_layers);
    const int rc = nc_each(nc, finish);
    nc->under_way = rc < 0;
    return nc_leave(nc, rc < 0 ? rc : report_step(nc, report));
}

int nc_force_fp32(struct nc *nc, int on)
{
    TRY(nc_enter_between(nc));
    for (int k = 0; k < nc->n_blocks; k++)
        reducer_force_fp32(nc->blocks[k].job.reducer, on != 0);
    return nc_leave(nc, 0);
}

int nc_broadcast(struct nc *nc, void *buf, size_t bytes, int root)
{
    TRY(nc_enter_between(nc));
    if (root < 0 || root >= comm_n_ranks(nc->comm))
        return nc_leave_refused(nc, ERR(-EINVAL, "cannot broadcast from rank %d: there are %d",
                                        root, comm_n_ranks(nc->comm)));
    if (!buf && bytes > 0)
        return nc_leave_refused(
            nc, ERR(-EINVAL, "cannot broadcast %zu bytes: the pointer is NULL", bytes));
    return nc_leave(nc, comm_bcast(nc->comm, buf, bytes, root));
}
