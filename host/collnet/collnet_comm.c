/* collnet_comm.c : runs a group's requests one by one in a thread, so that allreduce and test never
 * block. */
#include "base/buf.h"
#include "collnet/collnet.h"
#include "collnet/mesh.h"
#include "comm/over/comm_over.h"
#include "vec/fp_mode.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REQUESTS = 64, CLOSE_S = 2 };
enum state { FREE, QUEUED, DONE };

struct request {
    atomic_int state;
    int rc, type;
    const void *send;
    void *recv;
    size_t n, bytes;
};

struct group {
    struct mesh mesh;
    struct comm *comm;
    struct collnet_sum *sums[COLLNET_KINDS]; /* NULL until the first request */
    struct err_lines lines;
    struct request requests[REQUESTS];
    unsigned long begun, ended;
    int failed; /* 0, or a negative errno of all later requests */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, left;
    bool quits, has_left;
};

int collnet_devices(int *n)
{
    *n = collnet_spec() ? 1 : 0;
    return NCCL_SUCCESS;
}

int collnet_takes(int type, int op, int *yes)
{
    const struct collnet_spec *w = collnet_spec();
    enum collnet_kind kind;
    *yes = w && op == NCCL_SUM && collnet_type(type, &kind) && (kind != COLLNET_WORDS || w->format);
    return NCCL_SUCCESS;
}

static int open_kind(struct group *g, enum collnet_kind kind, bool needs_card)
{
    return g->sums[kind]
               ? 0
               : collnet_sum_open(g->comm, collnet_spec(), kind, needs_card, &g->sums[kind]);
}

static int run(struct group *g, const struct request *r)
{
    enum collnet_kind kind;
    (void)collnet_type(r->type, &kind);
    if (!g->failed)
        g->failed = open_kind(g, kind, false);
    if (!g->failed)
        g->failed = collnet_sum_run(g->sums[kind], r->type, r->send, r->recv, r->n);
    if (g->failed)
        (void)comm_fail(g->comm, g->failed);
    return g->failed;
}

static void leave(struct group *g)
{
    struct collnet_count all = {0};
    for (int k = 0; k < COLLNET_KINDS; k++) {
        const struct collnet_count one =
            g->sums[k] ? collnet_sum_counted(g->sums[k]) : (struct collnet_count){0};
        all.sums += one.sums, all.by_card += one.by_card;
        collnet_sum_close(g->sums[k]);
    }
    collnet_inform("rank %d of %d leaves after %llu all-reduces, %llu of them by cards",
                   comm_rank(g->comm), comm_n_ranks(g->comm), (unsigned long long)all.sums,
                   (unsigned long long)all.by_card);
    comm_leave(g->comm);
}

static struct request *next(struct group *g)
{
    pthread_mutex_lock(&g->lock);
    while (g->begun == g->ended && !g->quits)
        pthread_cond_wait(&g->more, &g->lock);
    struct request *r = g->begun == g->ended ? NULL : &g->requests[g->ended % REQUESTS];
    pthread_mutex_unlock(&g->lock);
    return r;
}

static void *work(void *arg)
{
    struct group *g = arg;
    struct request *r;
    err_turn(&g->lines);
    fesetenv(FE_DFL_ENV); /* the thread has inherited NCCL's floating-point mode */
    while ((r = next(g))) {
        r->rc = run(g, r);
        pthread_mutex_lock(&g->lock);
        g->ended++;
        pthread_mutex_unlock(&g->lock);
        atomic_store(&r->state, DONE);
    }
    leave(g);
    pthread_mutex_lock(&g->lock);
    g->has_left = true;
    pthread_cond_signal(&g->left);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* Signals stay blocked in the thread: they are for the program. */
static int start(struct group *g)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int rc = -pthread_create(&g->thread, NULL, work, g);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc < 0 ? ERR(rc, "cannot start a thread: %s", strerror(-rc)) : 0;
}

int collnet_listen(int dev, void *handle, void **listening)
{
    struct err_lines lines = collnet_lines(), *before = err_turn(&lines);
    struct mesh_listen *l = NULL;
    int rc = dev == 0 && collnet_spec() ? 0 : -EINVAL;
    if (rc == 0)
        rc = (l = buf_alloc(sizeof *l)) ? mesh_listen(collnet_ip(), l) : -ENOMEM;
    err_turn(before);
    if (rc < 0) {
        free(l);
        return collnet_result(rc);
    }
    memset(handle, 0, NCCL_HANDLE_BYTES);
    memcpy(handle, &l->handle, sizeof l->handle);
    *listening = l;
    return NCCL_SUCCESS;
}

int collnet_close_listen(void *listening)
{
    if (listening)
        mesh_unlisten(listening);
    free(listening);
    return NCCL_SUCCESS;
}

/* Collective. */
static int find_card(struct group *g)
{
    return open_kind(g, collnet_spec()->format ? COLLNET_WORDS : COLLNET_E4M3FN, true);
}

static int begin(struct group *g, void *handles[], int n_ranks, int rank,
                 const struct mesh_listen *own)
{
    const double deadline_s = collnet_spec()->deadline_s;
    TRY(mesh_meet(own, handles, n_ranks, rank, deadline_s, &g->mesh));
    const struct nc_transport transport = mesh_transport(&g->mesh);
    TRY(comm_over_open(&transport, deadline_s, &g->comm));
    TRY(find_card(g));
    const int rc = start(g);
    if (rc < 0)
        (void)comm_fail(g->comm, rc); /* tells the other ranks, which have begun */
    return rc;
}

/* After an error NCCL leaves the listening socket open. */
int collnet_connect(void *handles[], int n_ranks, int rank, void *listening, void **comm)
{
    struct err_lines lines = collnet_lines(), *before = err_turn(&lines);
    const bool may = collnet_spec() && listening;
    struct group *g = may ? buf_alloc(sizeof *g) : NULL;
    int rc = g ? 0 : may ? -ENOMEM : -EINVAL;
    fenv_t fp; /* options and tables need IEEE's default mode */
    fp_env_enter(&fp);
    if (g) {
        g->lines = collnet_lines();
        pthread_mutex_init(&g->lock, NULL);
        pthread_cond_init(&g->more, NULL);
        pthread_cond_init(&g->left, NULL);
        rc = begin(g, handles, n_ranks, rank, listening);
    }
    if (rc < 0 && g) {
        if (g->comm)
            leave(g);
        mesh_close(&g->mesh);
        mesh_unlisten(listening);
        free(g);
    }
    err_turn(before);
    fesetenv(&fp);
    if (rc == 0)
        *comm = g;
    return collnet_result(rc);
}

int collnet_allreduce(void *comm, void *send, void *recv, size_t n, int type, int op,
                      void **request)
{
    struct group *g = comm;
    enum collnet_kind kind;
    int yes = 0;
    *request = NULL;
    if (collnet_takes(type, op, &yes) || !yes || !n || !send || !recv)
        return NCCL_INVALID_ARGUMENT;
    pthread_mutex_lock(&g->lock);
    struct request *r = &g->requests[g->begun % REQUESTS];
    if (atomic_load(&r->state) == FREE) {
        r->send = send, r->recv = recv, r->n = n, r->type = type;
        r->bytes = n * collnet_type(type, &kind);
        atomic_store(&r->state, QUEUED);
        g->begun++;
        *request = r;
        pthread_cond_signal(&g->more);
    } /* else all requests are in flight, and NCCL tries again */
    pthread_mutex_unlock(&g->lock);
    return NCCL_SUCCESS;
}

int collnet_test(void *request, int *done, int *bytes)
{
    struct request *r = request;
    *done = atomic_load(&r->state) == DONE;
    if (!*done)
        return NCCL_SUCCESS;
    const int rc = r->rc;
    if (bytes)
        *bytes = (int)r->bytes;
    atomic_store(&r->state, FREE);
    *done = rc == 0;
    return collnet_result(rc);
}

static void await_left(struct group *g)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSE_S;
    while (!g->has_left && pthread_cond_timedwait(&g->left, &g->lock, &until) == 0)
        ;
}

int collnet_close(void *comm)
{
    struct group *g = comm;
    if (!g)
        return NCCL_SUCCESS;
    pthread_mutex_lock(&g->lock);
    g->quits = true;
    if (g->begun != g->ended) /* NCCL no longer calls test, but the thread still runs */
        (void)comm_fail(g->comm, -ECANCELED);
    pthread_cond_signal(&g->more);
    await_left(g);
    pthread_mutex_unlock(&g->lock);
    atomic_store(&g->mesh.cut, true); /* do not wait for the other ranks */
    pthread_join(g->thread, NULL);
    mesh_close(&g->mesh);
    pthread_cond_destroy(&g->left);
    pthread_cond_destroy(&g->more);
    pthread_mutex_destroy(&g->lock);
    free(g);
    return NCCL_SUCCESS;
}

int collnet_finalize(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

int collnet_register(void *comm, void *data, size_t bytes, int kind, void **mr)
{
    (void)comm, (void)bytes;
    if (kind != NCCL_HOST || !data)
        return NCCL_INVALID_ARGUMENT;
    *mr = data; /* never read */
    return NCCL_SUCCESS;
}

int collnet_register_dma_buf(void *comm, void *data, size_t bytes, int kind, uint64_t at, int fd,
                             void **mr)
{
    (void)comm, (void)data, (void)bytes, (void)kind, (void)at, (void)fd, (void)mr;
    return NCCL_INVALID_ARGUMENT;
}

int collnet_deregister(void *comm, void *mr)
{
    (void)comm, (void)mr;
    return NCCL_SUCCESS;
}
