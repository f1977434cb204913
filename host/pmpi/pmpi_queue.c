/* pmpi_queue.c : runs a communicator's sums in a thread, in the order of the calls. */
#include "pmpi/pmpi.h"
#include <stdlib.h>

struct item {
    struct pmpi_call call;
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
        pthread_mutex_unlock(&q->lock);
        run(q, i);
        pthread_mutex_lock(&q->lock);
        q->first = i->next;
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

int pmpi_queue_run(struct pmpi_queue *q, const struct pmpi_call *call)
{
    struct item i = {.call = *call, .tag = -1};
    pthread_mutex_lock(&q->lock);
    append(q, &i);
    while (!i.done)
        pthread_cond_wait(&q->done, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return i.rc;
}

bool pmpi_queue_later(struct pmpi_queue *q, const struct pmpi_call *call, int tag, bool keeps_tag)
{
    struct item *i = calloc(1, sizeof *i);
    if (!i)
        return false;
    *i = (struct item){.call = *call, .tag = tag, .keeps_tag = keeps_tag};
    pthread_mutex_lock(&q->lock);
    append(q, i);
    pthread_mutex_unlock(&q->lock);
    return true;
}
