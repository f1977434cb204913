/* pmpi_queue.c : runs a communicator's sums in a thread. Ranks may start persistent sums in
 * different orders, and then wait for some of them before they start others. So after the first
 * persistent sum the ranks agree on each sum before they run it. */
#include "pmpi/pmpi.h"
#include <limits.h>
#include <stdlib.h>
#include <time.h>

struct item {
    struct pmpi_call call;
    long long number;
    int tag; /* of the message at the end; -1: a caller waits for `done` */
    bool keeps_tag, done;
    int rc;
    struct item *next;
};

struct pmpi_queue {
    struct pmpi_comm *comm;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, done;
    struct item *first;
    bool quit;
};

static void run(struct pmpi_queue *q, struct item *i)
{
    i->rc = pmpi_sum(q->comm, &i->call);
    if (i->tag < 0)
        return;
    if (i->rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(MPI_COMM_WORLD, i->rc);
    PMPI_Send(NULL, 0, MPI_BYTE, 0, i->tag, pmpi_self());
    if (!i->keeps_tag)
        pmpi_give_tag(i->tag);
}

/* The caller must hold the lock. Returns NULL if there is none with this number or a larger one. */
static struct item *least(const struct pmpi_queue *q, long long from)
{
    struct item *found = NULL;
    for (struct item *i = q->first; i; i = i->next)
        if (i->number >= from && (!found || i->number < found->number))
            found = i;
    return found;
}

/* Return a sum that all ranks have queued. Each rank offers its least one from `from` on. Until all
 * offers are the same, the largest is the next `from`: the rank that offers it has not queued a
 * smaller one. The caller must hold the lock, and have queued a sum. */
static struct item *agreed(struct pmpi_queue *q)
{
    for (long long from = 0, largest;; from = largest < LLONG_MAX ? largest : 0) {
        struct item *i = least(q, from);
        pthread_mutex_unlock(&q->lock);
        const bool is_same = pmpi_compare(q->comm, i ? i->number : LLONG_MAX, &largest);
        if (largest == LLONG_MAX) /* ranks wait for others to start a sum */
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        pthread_mutex_lock(&q->lock);
        if (is_same && i)
            return i;
    }
}

/* The caller must hold the lock. */
static void take_out(struct pmpi_queue *q, const struct item *i)
{
    struct item **at = &q->first;
    while (*at != i)
        at = &(*at)->next;
    *at = i->next;
}

static void *work(void *arg)
{
    struct pmpi_queue *q = arg;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->first && !q->quit)
            pthread_cond_wait(&q->more, &q->lock);
        struct item *i = q->first;
        if (!i)
            break;
        if (i->number > 0)
            i = agreed(q);
        pthread_mutex_unlock(&q->lock);
        run(q, i);
        pthread_mutex_lock(&q->lock);
        take_out(q, i);
        if (i->tag < 0) {
            i->done = true;
            pthread_cond_broadcast(&q->done);
        } else {
            free(i);
        }
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

struct pmpi_queue *pmpi_queue_open(struct pmpi_comm *c)
{
    struct pmpi_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->comm = c;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->more, NULL);
    pthread_cond_init(&q->done, NULL);
    if (pthread_create(&q->thread, NULL, work, q) == 0)
        return q;
    free(q);
    return NULL;
}

void pmpi_queue_close(struct pmpi_queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->quit = true;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_cond_destroy(&q->done);
    pthread_cond_destroy(&q->more);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* The caller must hold the lock. */
static void append(struct pmpi_queue *q, struct item *i)
{
    struct item **last = &q->first;
    while (*last)
        last = &(*last)->next;
    *last = i;
    pthread_cond_signal(&q->more);
}

int pmpi_queue_run(struct pmpi_queue *q, long long number, const struct pmpi_call *call)
{
    struct item i = {.call = *call, .number = number, .tag = -1};
    pthread_mutex_lock(&q->lock);
    append(q, &i);
    while (!i.done)
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return i.rc;
}

bool pmpi_queue_later(struct pmpi_queue *q, long long number, const struct pmpi_call *call, int tag,
                      bool keeps_tag)
{
    struct item *i = calloc(1, sizeof *i);
    if (!i)
        return false;
    *i = (struct item){.call = *call, .number = number, .tag = tag, .keeps_tag = keeps_tag};
    pthread_mutex_lock(&q->lock);
    append(q, i);
    pthread_mutex_unlock(&q->lock);
    return true;
}
