/* nc_step.c : runs a step of the public interface, at once or in parts. */
#include "job/nc_inside.h"
#include <string.h>

static int report_step(struct nc *nc, const struct reducer_step *s, struct nc_report *report)
{
    nc->step++;
    if (!s->skipped)
        nc_type_out(nc);
    if (report)
        *report = (struct nc_report){.sent_bytes = s->sent_bytes,
                                     .code_bytes = s->code_bytes,
                                     .fp32_bytes = s->fp32_bytes,
                                     .codec_s = s->codec_s,
                                     .comm_s = s->comm_s,
                                     .offload = s->by_card_path,
                                     .path = s->by_card_path ? "cards" : nc->path,
                                     .underflow = s->lost.underflow,
                                     .saturated = s->lost.saturated};
    return s->skipped ? 1 : 0;
}

int nc_allreduce(struct nc *nc, const void *grads, struct nc_report *report)
{
    struct reducer_step s;
    TRY(nc_enter_between(nc));
    int rc = nc_type_begin(nc, grads);
    if (rc < 0)
        return nc_leave_refused(nc, rc);
    nc_type_in(nc, 0, nc->n_layers);
    rc = reducer_run_here(nc->job.reducer, nc->step, nc->fp32, &s);
    return nc_leave(nc, rc < 0 ? rc : report_step(nc, &s, report));
}

/* Starts the communication thread. If MPI allows no second thread, prints a warning, and the step
 * runs in nc_wait(). */
static int start_thread(struct nc *nc)
{
    if (nc->asked_thread)
        return 0;
    nc->asked_thread = true;
    err_hold();
    return comm_agree(nc->comm, reducer_set_overlap(nc->job.reducer, true));
}

int nc_iallreduce(struct nc *nc, const void *grads)
{
    TRY(nc_enter_between(nc));
    int rc = nc_type_begin(nc, grads);
    if (rc < 0)
        return nc_leave_refused(nc, rc);
    rc = start_thread(nc);
    if (rc < 0)
        return nc_leave(nc, rc);
    memset(nc->handed, 0, (size_t)nc->n_layers * sizeof *nc->handed);
    nc->n_handed = 0;
    nc->under_way = true;
    reducer_begin(nc->job.reducer, nc->step, nc->fp32);
    return nc_leave(nc, 0);
}

static int refuse_no_step(struct nc *nc)
{
    return nc_leave_refused(nc, ERR(-EINVAL, "cannot continue a step: call nc_iallreduce() first"));
}

/* Notes layers as handed in. Ignores layers that were handed in before. */
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
    reducer_ready(nc->job.reducer, first, n);
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
    const int rc = nc->job.on_gpu ? check_layers(nc, first, n)
                                  : ERR(-EINVAL, "cannot wait for a stream: gradients are not on a "
                                                 "GPU (options.device is cpu); call nc_ready()");
    if (rc < 0)
        return nc_leave_refused(nc, rc);
    note_handed(nc, first, n);
    return nc_leave(nc, reducer_ready_on(nc->job.reducer, first, n, cuda_stream));
}

int nc_test(struct nc *nc, int *done)
{
    int first, n;
    TRY(nc_enter(nc));
    if (!nc->under_way)
        return refuse_no_step(nc);
    if (!done)
        return nc_leave_refused(nc,
                                ERR(-EINVAL, "cannot test a step: the pointer for done is NULL"));
    struct reducer *r = nc->job.reducer;
    if (!reducer_overlaps(r) && nc->n_handed == nc->n_layers)
        while (reducer_next(r, &first, &n))
            ;
    *done = reducer_is_done(r);
    return nc_leave(nc, 0);
}

int nc_wait(struct nc *nc, struct nc_report *report)
{
    struct reducer_step s;
    TRY(nc_enter(nc));
    if (!nc->under_way)
        return refuse_no_step(nc);
    hand_in(nc, 0, nc->n_layers);
    const int rc = reducer_finish(nc->job.reducer, &s);
    nc->under_way = rc < 0;
    return nc_leave(nc, rc < 0 ? rc : report_step(nc, &s, report));
}

int nc_force_fp32(struct nc *nc, int on)
{
    TRY(nc_enter_between(nc));
    reducer_force_fp32(nc->job.reducer, on != 0);
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
