/* nc_call.c : checks, begins and ends calls of the public interface. */
#include "job/nc_inside.h"
#include "vec/gpu/gpu.h"
#include <stdio.h>
#include <unistd.h>

static _Thread_local char open_error[512]; /* of this thread's last nc_open or nc_cast */

const char *nc_strerror(int code)
{
    static const struct {
        int code;
        const char *text;
    } known[] = {
        {0, "done"},
        {1, "a gradient was inf or nan on some rank: the step must not be taken"},
        {-EINVAL, "an argument or a combination of options is not allowed"},
        {-EPROTO, "ranks differ, or a state belongs to another job"},
        {-ENOMEM, "out of memory"},
        {-EIO, "messages, a card or a GPU failed"},
        {-EBUSY, "another call, or a step, is in progress"},
        {-EPERM, "not allowed from this thread, or after fork()"},
        {-EAGAIN, "a thread could not be started"},
        {-ETIMEDOUT, "a rank did not answer within the deadline"},
        {-ECONNRESET, "a rank, or the connection to it, is gone"},
        {-ENXIO, "a card cannot exist as described"},
        {-ENOTCONN, "a card does not answer"},
        {-ECANCELED, "the step was abandoned"},
        {-ENOTSUP, "not supported by the transport"},
        {-ENODEV, "there is no GPU"},
        {-ENOENT, "a file or library was not found"},
        {-ELIBACC, "a library cannot be loaded"},
        {-ELIBBAD, "a library has another version, or lacks a function"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == code)
            return known[i].text;
    return "an error that this library does not know";
}

/* Passes a line to options.log. Drops lines of calls made in that function: they would recurse. */
static void to_log(void *arg, bool error, const char *line)
{
    static _Thread_local bool is_inside;
    const struct nc_options *o = arg;
    if (is_inside)
        return;
    fenv_t fp; /* the log function might change the mode */
    fegetenv(&fp);
    is_inside = true;
    o->log(o->log_arg, error ? NC_LOG_ERROR : NC_LOG_WARNING, line);
    is_inside = false;
    fesetenv(&fp);
}

struct err_lines nc_lines(struct nc_options *o)
{
    return (struct err_lines){.to = o->log ? to_log : NULL, .arg = o};
}

/* Sets text [size] to the first error of `lines`, if there is one. */
static void remember(const struct err_lines *lines, int rc, char *text, size_t size)
{
    if (!err_first(lines, text, size))
        snprintf(text, size, "another rank printed the reason, or left without closing: %s",
                 nc_strerror(rc));
}

void nc_thread_failed(const struct err_lines *lines, int rc)
{
    open_error[0] = 0;
    if (rc < 0)
        remember(lines, rc, open_error, sizeof open_error);
}

int nc_async_error(const struct nc *nc)
{
    if (!nc)
        return -EINVAL;
    int failed = atomic_load(&nc->failed);
    if (!failed)
        failed = comm_failed(nc->comm);
    return failed ? failed : reducer_failed(nc->blocks->job.reducer);
}

const char *nc_last_error(const struct nc *nc)
{
    return nc ? nc->lines.first : open_error;
}

static int refuse_failed(int failed)
{
    return ERR(failed, "cannot call after a failure (%s): only nc_close is allowed",
               nc_strerror(failed));
}

/* ends: nc_wait() collects the reason of a step that failed in the thread. */
static int may_call(struct nc *nc, bool ends)
{
    const int failed = nc_async_error(nc);
    const bool by_thread = nc->under_way && !atomic_load(&nc->failed);
    if (failed && !(ends && by_thread)) /* the thread's line is the reason */
        return by_thread && reducer_failed(nc->blocks->job.reducer) ? failed
                                                                    : refuse_failed(failed);
    if (!nc->by_mpi)
        return 0;
    if (nc->has_turn)
        return comm_may_call();
    TRY(comm_take_turn());
    nc->has_turn = true;
    return 0;
}

/* Refuses without nc->lines: another thread, or the parent process, uses them. */
static int refuse(struct nc *nc)
{
    struct err_lines own = nc_lines(&nc->log), *before = err_turn(&own);
    int rc = nc_async_error(nc);
    if (getpid() != nc->pid)
        rc = ERR(-EPERM, "cannot call after fork(): the communicator belongs to the parent");
    else if (rc < 0)
        rc = refuse_failed(rc);
    else
        rc = ERR(-EBUSY, "cannot call: another thread is in a call of the same communicator");
    err_turn(before);
    return rc;
}

static int enter(struct nc *nc, bool ends)
{
    if (!nc)
        return ERR(-EINVAL, "cannot call: the communicator is NULL");
    if (getpid() != nc->pid || atomic_exchange(&nc->busy, true))
        return refuse(nc);
    nc->lines.first[0] = 0;
    if (!nc->under_way && !nc_async_error(nc)) /* the thread is idle */
        nc->thread_lines.first[0] = 0;
    nc->before = err_turn(&nc->lines);
    fp_env_enter(&nc->fp);
    nc->gpu = gpu_enter();
    gpu_forget(); /* failures of other communicators' calls */
    const int rc = may_call(nc, ends);
    return rc < 0 ? nc_leave_refused(nc, rc) : 0;
}

int nc_enter(struct nc *nc)
{
    return enter(nc, false);
}

int nc_enter_wait(struct nc *nc)
{
    return enter(nc, true);
}

int nc_enter_between(struct nc *nc)
{
    TRY(nc_enter(nc));
    if (!nc->under_way)
        return 0;
    return nc_leave_refused(nc, ERR(-EBUSY, "cannot call during a step: call nc_wait() first"));
}

void nc_tell(struct nc *nc)
{
    fenv_t fp;
    if (!comm_failed(nc->comm) || atomic_exchange(&nc->busy, true))
        return;
    fp_env_enter(&fp);
    struct reducer *r = nc->blocks->job.reducer;
    if (!nc->under_way || !reducer_overlaps(r) || reducer_is_done(r))
        (void)comm_missing(nc->comm);
    fesetenv(&fp);
    atomic_store(&nc->busy, false);
}

int nc_leave_refused(struct nc *nc, int rc)
{
    if (rc < 0 && !nc->lines.first[0])
        remember(&nc->thread_lines, rc, nc->lines.first, sizeof nc->lines.first);
    if (nc->has_turn && !nc->under_way) {
        nc->has_turn = false;
        comm_give_turn();
    }
    err_turn(nc->before);
    gpu_leave(nc->gpu);
    fesetenv(&nc->fp);
    atomic_store(&nc->busy, false);
    if (!nc->by_mpi)
        nc_tell(nc);
    return rc;
}

int nc_leave(struct nc *nc, int rc)
{
    if (rc < 0)
        atomic_store(&nc->failed, rc);
    return nc_leave_refused(nc, rc);
}

struct each {
    struct nc *nc;
    int (*body)(struct nc *nc, struct nc_block *b);
};

static int of_block(struct comm *c, void *ctx)
{
    const struct each *e = ctx;
    const int rank = comm_rank(c);
    return e->body(e->nc, &e->nc->blocks[rank - comm_lowest_here(c, rank)]);
}

int nc_each(struct nc *nc, int (*body)(struct nc *nc, struct nc_block *b))
{
    struct each e = {nc, body};
    return nc->virtual ? comm_virtual_run(nc->virtual, of_block, &e) : body(nc, nc->blocks);
}
