/* overlap_sync.c : synchronises the communication thread with the main thread in mid-step. */
#include "base/clock.h"
#include "reduce/overlap_sync.h"

/* Call it with the lock held, before `works` or `waits` changes. */
static void count_work(struct overlap *o)
{
    const double now = clock_s();
    if (o->works)
        *(o->waits ? &o->exposed_s : &o->hidden_s) += now - o->since;
    o->since = now;
}

void overlap_set_works(struct overlap *o, bool works)
{
    count_work(o);
    o->works = works;
}

void overlap_set_waits(struct overlap *o, bool waits)
{
    count_work(o);
    o->waits = waits;
}

void overlap_rest(struct overlap *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    overlap_set_works(o, false);
    pthread_mutex_unlock(&o->lock);
}

void overlap_work(struct overlap *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    overlap_set_works(o, true);
    pthread_mutex_unlock(&o->lock);
}

void overlap_hand_out(struct overlap *o, int n_buckets)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->n_final = n_buckets;
    pthread_cond_signal(&o->done);
    pthread_mutex_unlock(&o->lock);
}

void overlap_released(struct overlap *o, int n_buckets)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->n_released = n_buckets;
    pthread_cond_signal(&o->done);
    pthread_mutex_unlock(&o->lock);
}

void overlap_wake(struct overlap *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    pthread_cond_signal(&o->wake);
    pthread_mutex_unlock(&o->lock);
}

int overlap_quits(struct overlap *o)
{
    if (!o)
        return 0;
    pthread_mutex_lock(&o->lock);
    const int rc = o->quit ? -ECANCELED : 0;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

int overlap_await(struct overlap *o, int bucket)
{
    if (!o)
        return 0;
    struct comm *c = o->r->comm;
    pthread_mutex_lock(&o->lock);
    if (o->missing[bucket] > 0) {
        overlap_set_works(o, false);
        while (o->missing[bucket] > 0 && !o->quit && !comm_failed(c))
            pthread_cond_wait(&o->wake, &o->lock);
        overlap_set_works(o, true);
    }
    const int rc = o->quit ? -ECANCELED : comm_failed(c);
    pthread_mutex_unlock(&o->lock);
    return rc;
}
