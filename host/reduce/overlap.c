/* overlap.c : sends a step's buckets from a thread while gradients are still made (figure in
 * README.md). Between begin and finish only the thread touches final gradients until it hands out
 * their means. The lock protects all data that both threads use. */
#include "base/buf.h"
#include "base/err.h"
#include "reduce/overlap_sync.h"
#include "vec/gpu/gpu.h"
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

static const struct plan *plan_of(const struct overlap *o)
{
    return reducer_plan(o->r);
}

static void *run(void *arg)
{
    struct overlap *o = arg;
    err_turn(o->lines);
    fesetenv(FE_DFL_ENV); /* a thread inherits its creator's floating-point mode */
    pthread_mutex_lock(&o->lock);
    for (;;) {
        while (o->state != RUNNING && !o->quit)
            pthread_cond_wait(&o->wake, &o->lock);
        if (o->quit)
            break;
        overlap_set_works(o, true);
        pthread_mutex_unlock(&o->lock);
        gpu_forget();
        int rc = reducer_step_all(o->r);
        pthread_mutex_lock(&o->lock);
        if (!comm_is_mpi(o->r->comm) && comm_failed(o->r->comm)) {
            pthread_mutex_unlock(&o->lock);
            rc = comm_missing(o->r->comm); /* tells the other ranks of comm_fail() */
            pthread_mutex_lock(&o->lock);
        }
        if (rc < 0)
            atomic_store(&o->r->failed_in_thread, rc);
        overlap_set_works(o, false);
        o->rc = rc;
        if (rc == 0 && !o->r->done.skipped)
            o->n_final = plan_of(o)->n_buckets;
        o->state = DONE;
        pthread_cond_signal(&o->done);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static int start(struct overlap *o)
{
    const size_t n = (size_t)o->r->n_layers;
    o->is_ready = buf_alloc(n * sizeof *o->is_ready);
    o->missing = buf_alloc(n * sizeof *o->missing);
    o->is_out = buf_alloc(n * sizeof *o->is_out);
    if (!o->is_ready || !o->missing || !o->is_out)
        return -ENOMEM;
    const int rc = pthread_create(&o->thread, NULL, run, o);
    return rc ? ERR(-rc, "cannot start the communication thread: %s", strerror(rc)) : 0;
}

static void give_back(struct overlap *o)
{
    pthread_cond_destroy(&o->done);
    pthread_cond_destroy(&o->wake);
    pthread_mutex_destroy(&o->lock);
    free(o->is_ready);
    free(o->missing);
    free(o->is_out);
    free(o);
}

int overlap_open(struct reducer *r, struct overlap **out)
{
    struct overlap *o = buf_alloc(sizeof *o);
    if (!o)
        return -ENOMEM;
    o->r = r;
    o->lines = err_turn(NULL);
    err_turn(o->lines);
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
    memset(o->is_ready, 0, (size_t)o->r->n_layers * sizeof *o->is_ready);
    for (int b = 0; b < p->n_buckets; b++)
        o->missing[b] = p->buckets[b].n_layers;
    memset(o->is_out, 0, (size_t)o->r->n_layers * sizeof *o->is_out);
    o->n_final = o->n_released = 0;
    o->hidden_s = o->exposed_s = 0;
    o->state = RUNNING;
    pthread_cond_signal(&o->wake);
    pthread_mutex_unlock(&o->lock);
}

/* The caller of take(), can_hand_out() and hand_out() holds the lock. */
static void take(struct overlap *o, int first, int n)
{
    const struct plan *p = plan_of(o);
    bool whole = false;
    for (int i = first; i < first + n; i++) {
        if (!o->is_ready[i])
            whole = --o->missing[p->bucket_of[i]] == 0 || whole;
        o->is_ready[i] = true;
    }
    if (whole)
        pthread_cond_signal(&o->wake);
}

/* The thread has a bucket to send, and the next one is whole too. */
static bool is_behind(const struct overlap *o)
{
    const int b = o->n_released;
    return o->state == RUNNING && b + 1 < plan_of(o)->n_buckets && o->missing[b] == 0 &&
           o->missing[b + 1] == 0;
}

/* Gradients that a skipped step no longer sends are released here. */
void overlap_ready(struct overlap *o, int first, int n)
{
    struct reducer *r = o->r;
    pthread_mutex_lock(&o->lock);
    take(o, first, n);
    if (r->releases && is_behind(o)) {
        overlap_set_waits(o, true);
        while (is_behind(o))
            pthread_cond_wait(&o->done, &o->lock);
        overlap_set_waits(o, false);
    }
    if (r->releases && o->state == DONE)
        reducer_release(r, first, r->n_layers - first);
    pthread_mutex_unlock(&o->lock);
}

static bool can_hand_out(const struct overlap *o, int i)
{
    return !o->is_out[i] && plan_of(o)->bucket_of[i] < o->n_final;
}

/* Hand out the last run of layers whose means are final but not handed out. */
static bool hand_out(struct overlap *o, int *first, int *n)
{
    int end = o->r->n_layers;
    while (end > 0 && !can_hand_out(o, end - 1))
        end--;
    int i = end;
    while (i > 0 && can_hand_out(o, i - 1))
        o->is_out[--i] = true;
    if (i < end) {
        *first = i;
        *n = end - i;
    }
    return i < end;
}

bool overlap_next(struct overlap *o, int *first, int *n)
{
    pthread_mutex_lock(&o->lock);
    overlap_set_waits(o, true);
    take(o, 0, o->r->n_layers);
    bool some;
    while (!(some = hand_out(o, first, n)) && o->state != DONE)
        pthread_cond_wait(&o->done, &o->lock);
    overlap_set_waits(o, false);
    pthread_mutex_unlock(&o->lock);
    return some;
}

bool overlap_is_done(struct overlap *o)
{
    pthread_mutex_lock(&o->lock);
    const bool is_done = o->state != RUNNING;
    pthread_mutex_unlock(&o->lock);
    return is_done;
}

int overlap_finish(struct overlap *o)
{
    pthread_mutex_lock(&o->lock);
    overlap_set_waits(o, true);
    take(o, 0, o->r->n_layers);
    while (o->state != DONE)
        pthread_cond_wait(&o->done, &o->lock);
    overlap_set_waits(o, false);
    o->state = IDLE;
    o->r->done.hidden_s = o->hidden_s;
    o->r->done.exposed_s = o->exposed_s;
    const int rc = o->rc;
    pthread_mutex_unlock(&o->lock);
    return rc;
}
