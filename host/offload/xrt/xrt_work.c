/* xrt_work.c : makes calls of XRT in a thread. */
#include "offload/xrt/xrt_work.h"
#include "base/clock.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum stage { IDLE, ASKED, DONE };

struct xrt_work {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    pthread_t thread;
    enum stage stage;
    bool lost; /* the caller no longer waits; the thread cleans up */
    struct xrt_task task;

    /* used only by the thread */
    const struct xrt_library *library;
    char where[64];
    struct xclbin *xclbin;
    struct xrt_device *device;
    struct xrt_kernel *kernels[N_KERNELS];
};

static _Atomic int n_lost; /* abandoned calls that have not returned yet */
/* calls in progress, during which a signal handler may end the process */
static _Atomic int n_busy;

static pid_t owner; /* process that has opened devices */

/* If a thread is in XRT, ends the process before XRT's exit handlers, which would unload the
 * thread's code or wait for it. The program's handlers were registered later, so they have run;
 * MPI's work is done. A forked child also ends here, because some of XRT's handlers wait for
 * threads that exist only in its parent. */
static void leave(int status, void *arg)
{
    (void)arg;
    if (n_lost == 0 && n_busy == 0 && getpid() == owner)
        return;
    fflush(NULL);
    _exit(status);
}

/* XRT may register handlers in its first call of each kind, so each kind registers leave()
 * again. */
static void register_leave(enum xrt_work_kind kind)
{
    static _Atomic int times[XRT_WORK_CLOSE + 1];
    owner = getpid();
    if (times[kind] < 4 && times[kind]++ < 4)
        (void)on_exit(leave, NULL);
}

static void leave_behind(struct xrt_work *w)
{
    w->lost = true;
    n_lost++;
    pthread_detach(w->thread);
    register_leave(w->task.kind);
}

int xrt_work_lost(void)
{
    return n_lost;
}

static int open_device(struct xrt_work *w, struct xrt_task *t)
{
    const struct xrt_library *l = w->library;
    int rc = l->open(w->where, &w->device, t->why);
    if (!rc && w->xclbin)
        rc = l->load(w->device, w->xclbin->file, w->xclbin->bytes, t->why);
    return rc ? rc : l->uuid(w->device, t->uuid, t->why);
}

static int kernel_of(struct xrt_work *w, struct xrt_task *t, struct xrt_kernel **out)
{
    struct xrt_kernel **k = &w->kernels[t->kernel];
    const int rc = *k ? 0 : w->library->kernel(w->device, t->kernel, k, t->why);
    *out = *k;
    return rc;
}

static void close_device(struct xrt_work *w)
{
    for (int i = 0; i < N_KERNELS; i++)
        if (w->kernels[i])
            w->library->kernel_close(w->kernels[i]);
    if (w->device)
        w->library->close(w->device);
    w->device = NULL;
    memset(w->kernels, 0, sizeof w->kernels);
}

static int call_kernel(struct xrt_work *w, struct xrt_task *t)
{
    struct xrt_kernel *k;
    const int rc = kernel_of(w, t, &k);
    if (rc)
        return rc;
    switch (t->kind) {
    case XRT_WORK_READ:
        return w->library->read(k, t->at, &t->value, t->why);
    case XRT_WORK_WRITE:
        return w->library->write(k, t->at, t->value, t->why);
    case XRT_WORK_BUFFER:
        return w->library->buffer(k, t->arg, t->bytes, &t->buffer, &t->map, t->why);
    default:
        return w->library->run(k, t->args, t->n_args, t->timeout_s, t->why);
    }
}

static int call(struct xrt_work *w, struct xrt_task *t)
{
    switch (t->kind) {
    case XRT_WORK_OPEN:
        return open_device(w, t);
    case XRT_WORK_ABOUT:
        return w->library->about(w->device, &t->about, t->why);
    case XRT_WORK_SYNC:
        return w->library->sync(t->buffer, t->to_card, t->bytes, t->why);
    case XRT_WORK_BUFFER_CLOSE:
        w->library->buffer_close(t->buffer);
        return 0;
    case XRT_WORK_CLOSE:
        close_device(w);
        return 0;
    default:
        return call_kernel(w, t);
    }
}

static void free_all(struct xrt_work *w)
{
    pthread_cond_destroy(&w->moved);
    pthread_mutex_destroy(&w->lock);
    xclbin_close(w->xclbin);
    free(w);
}

static void *work(void *arg)
{
    struct xrt_work *w = arg;
    bool ends = false;
    while (!ends) {
        pthread_mutex_lock(&w->lock);
        while (w->stage != ASKED)
            pthread_cond_wait(&w->moved, &w->lock);
        pthread_mutex_unlock(&w->lock);
        w->task.rc = call(w, &w->task);
        pthread_mutex_lock(&w->lock);
        w->stage = DONE;
        ends = w->lost || w->task.kind == XRT_WORK_CLOSE;
        pthread_cond_broadcast(&w->moved);
        pthread_mutex_unlock(&w->lock);
    }
    if (w->lost) {
        close_device(w);
        free_all(w);
        n_lost--;
    }
    return NULL;
}

static int start_thread(struct xrt_work *w)
{
    /* block the program's signals here and in XRT's threads */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct xrt_work *xrt_work_start(const struct xrt_library *library, const char *where,
                                struct xclbin *xclbin)
{
    pthread_condattr_t monotonic;
    struct xrt_work *w = calloc(1, sizeof *w);
    if (!w) {
        xclbin_close(xclbin);
        return NULL;
    }
    w->library = library;
    w->xclbin = xclbin;
    snprintf(w->where, sizeof w->where, "%s", where);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (start_thread(w) == 0)
        return w;
    free_all(w);
    return NULL;
}

/* The lock is held. Returns false after timeout_s. */
static bool wait_done(struct xrt_work *w, double timeout_s)
{
    const double until = clock_s() + fmin(timeout_s, 1e9);
    const struct timespec at = {(time_t)until, (long)(fmod(until, 1) * 1e9)};
    while (w->stage != DONE)
        if (pthread_cond_timedwait(&w->moved, &w->lock, &at) == ETIMEDOUT && w->stage != DONE)
            return false;
    return true;
}

bool xrt_work_do(struct xrt_work *w, struct xrt_task *task, double timeout_s)
{
    pthread_mutex_lock(&w->lock);
    n_busy++;
    w->task = *task;
    w->stage = ASKED;
    pthread_cond_broadcast(&w->moved);
    const bool done = wait_done(w, timeout_s);
    if (done) {
        *task = w->task;
        w->stage = IDLE;
    } else {
        leave_behind(w);
        task->rc = -ETIMEDOUT;
        snprintf(task->why, sizeof task->why, "XRT did not return within %.3g s", timeout_s);
    }
    n_busy--;
    pthread_mutex_unlock(&w->lock);
    if (done)
        register_leave(task->kind);
    return done;
}

void xrt_work_end(struct xrt_work *w, double timeout_s)
{
    struct xrt_task task = {.kind = XRT_WORK_CLOSE};
    if (!w || !xrt_work_do(w, &task, timeout_s))
        return;
    pthread_join(w->thread, NULL);
    free_all(w);
}
