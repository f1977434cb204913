/* reducer_thread.c : the communication thread: a step's buckets travel while the main thread still
 * makes gradients.
 *
 *     main      begin .... ready(layers) .... ready(layers) .... next: waits for means .... finish:
 *               for the step's end
 *     thread    |asleep   |bucket 0: scan, exponents, encode, all-reduce, decode|asleep   |bucket 1 ...
 *
 * Buckets go in ascending order on all ranks, each when the last gradient of its layers is there.
 * Between begin and finish the thread alone calls MPI and touches gradients that are ready, until
 * it hands out their means; all that both look at is under the lock. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum state { IDLE, RUNNING, DONE };

struct overlap {
    struct reducer *r;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done; /* the thread sleeps on wake, next and finish on done */
    enum state state;
    bool quit;
    bool *there;        /* [n_layers] gradients are */
    int *missing;       /* [n_layers] of each bucket: layers whose gradients are not there */
    int n_stand, n_out; /* buckets whose means may be used, and those that next handed out */
    bool works;         /* the thread: it waits for neither gradients nor exponents */
    bool waits;         /* the main thread, in next or finish */
    double since;       /* by clock_s(); when one of these changed */
    double hidden_s, exposed_s;
    int rc;
};

/* Before `works` or `waits` changes. Locked. */
static void count_work(struct overlap *o)
{
    const double now = clock_s();
    if (o->works)
        *(o->waits ? &o->exposed_s : &o->hidden_s) += now - o->since;
    o->since = now;
}

static void set_works(struct overlap *o, bool works)
{
    count_work(o);
    o->works = works;
}

static void set_waits(struct overlap *o, bool waits)
{
    count_work(o);
    o->waits = waits;
}

void overlap_rest(struct overlap *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    set_works(o, false);
    pthread_mutex_unlock(&o->lock);
}

void overlap_work(struct overlap *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    set_works(o, true);
    pthread_mutex_unlock(&o->lock);
}

void overlap_hand_out(struct overlap *o, int n_buckets)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->n_stand = n_buckets;
    pthread_cond_signal(&o->done);
    pthread_mutex_unlock(&o->lock);
}

int overlap_await(struct overlap *o, int bucket)
{
    if (!o)
        return 0;
    pthread_mutex_lock(&o->lock);
    if (o->missing[bucket] > 0) {
        set_works(o, false);
        while (o->missing[bucket] > 0 && !o->quit)
            pthread_cond_wait(&o->wake, &o->lock);
        set_works(o, true);
    }
    const int rc = o->quit ? -ECANCELED : 0;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

static const struct plan *plan_of(const struct overlap *o)
{
    return &o->r->plans[o->r->force_fp32];
}

static void *run(void *arg)
{
    struct overlap *o = arg;
    pthread_mutex_lock(&o->lock);
    for (;;) {
        while (o->state != RUNNING && !o->quit)
            pthread_cond_wait(&o->wake, &o->lock);
        if (o->quit)
            break;
        set_works(o, true);
        pthread_mutex_unlock(&o->lock);
        const int rc = reducer_step_all(o->r);
        pthread_mutex_lock(&o->lock);
        set_works(o, false);
        o->rc = rc;
        if (rc == 0 && !o->r->done.skipped)
            o->n_stand = plan_of(o)->n_buckets;
        o->state = DONE;
        pthread_cond_signal(&o->done);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

/* ---- the main thread ---- */

static int start(struct overlap *o)
{
    const size_t n = (size_t)o->r->n_layers;
    o->there = buf_alloc(n * sizeof *o->there);
    o->missing = buf_alloc(n * sizeof *o->missing);
    if (!o->there || !o->missing)
        return -ENOMEM;
    const int rc = pthread_create(&o->thread, NULL, run, o);
    return rc ? ERR(-rc, "cannot start the communication thread: %s", strerror(rc)) : 0;
}

static void give_back(struct overlap *o)
{
    pthread_cond_destroy(&o->done);
    pthread_cond_destroy(&o->wake);
    pthread_mutex_destroy(&o->lock);
    free(o->there);
    free(o->missing);
    free(o);
}

int overlap_open(struct reducer *r, struct overlap **out)
{
    struct overlap *o = buf_alloc(sizeof *o);
    if (!o)
        return -ENOMEM;
    o->r = r;
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->wake, NULL);
    pthread_cond_init(&o->done, NULL);
    const int rc = start(o);
    if (rc < 0)
        give_back(o);
    else
        *out = o;
    return rc;
}

void overlap_close(struct overlap *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->quit = true;
    pthread_cond_signal(&o->wake);
    pthread_mutex_unlock(&o->lock);
    pthread_join(o->thread, NULL);
    give_back(o);
}

void overlap_begin(struct overlap *o)
{
    const struct plan *p = plan_of(o);
    pthread_mutex_lock(&o->lock);
    memset(o->there, 0, (size_t)o->r->n_layers * sizeof *o->there);
    for (int b = 0; b < p->n_buckets; b++)
        o->missing[b] = p->buckets[b].n_layers;
    o->n_stand = o->n_out = 0;
    o->hidden_s = o->exposed_s = 0;
    o->state = RUNNING;
    pthread_cond_signal(&o->wake);
    pthread_mutex_unlock(&o->lock);
}

/* Locked. */
static void take(struct overlap *o, int first, int n)
{
    const struct plan *p = plan_of(o);
    bool whole = false;
    for (int i = first; i < first + n; i++) {
        if (!o->there[i])
            whole = --o->missing[p->bucket_of[i]] == 0 || whole;
        o->there[i] = true;
    }
    if (whole)
        pthread_cond_signal(&o->wake);
}

void overlap_ready(struct overlap *o, int first, int n)
{
    pthread_mutex_lock(&o->lock);
    take(o, first, n);
    pthread_mutex_unlock(&o->lock);
}

/* Buckets follow each other from the last layer down, so those of a run hold a run of layers. */
bool overlap_next(struct overlap *o, int *first, int *n)
{
    pthread_mutex_lock(&o->lock);
    set_waits(o, true);
    take(o, 0, o->r->n_layers);
    while (o->n_stand == o->n_out && o->state != DONE)
        pthread_cond_wait(&o->done, &o->lock);
    set_waits(o, false);
    const bool some = o->n_stand > o->n_out;
    if (some) {
        const struct bucket *from = &plan_of(o)->buckets[o->n_out],
                            *to = &plan_of(o)->buckets[o->n_stand - 1];
        *first = to->last - to->n_layers + 1;
        *n = from->last - *first + 1;
        o->n_out = o->n_stand;
    }
    pthread_mutex_unlock(&o->lock);
    return some;
}

int overlap_finish(struct overlap *o)
{
    pthread_mutex_lock(&o->lock);
    set_waits(o, true);
    take(o, 0, o->r->n_layers);
    while (o->state != DONE)
        pthread_cond_wait(&o->done, &o->lock);
    set_waits(o, false);
    o->state = IDLE;
    o->r->done.hidden_s = o->hidden_s;
    o->r->done.exposed_s = o->exposed_s;
    const int rc = o->rc;
    pthread_mutex_unlock(&o->lock);
    return rc;
}
