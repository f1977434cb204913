/* conform_ranks.c : runs a job of a library's vectors: threads, one per rank, over a transport
 * inside this process. A message is copied when it is sent. */
#include "app/conform/conform_library.h"
#include "base/err.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* a sent message without its receive, or a receive */
struct message {
    struct message *next;
    int from, to, tag;
    bool sent, done;
    size_t bytes;
    void *buf; /* a sent message's is a copy */
};

struct hub {
    pthread_mutex_t lock;
    struct message *first; /* without their other side, oldest first */
};

struct rank {
    struct hub *hub;
    struct conform_play *play;
    struct conform_job *job;
    int rank, rc;
    const char *call;
};

static char sent; /* the request of every message that was sent */

/* Takes m, and pairs it with its other side or keeps it. */
static int start(struct rank *r, struct message *m, void **request)
{
    struct message **at, *other;
    int rc = 0;
    pthread_mutex_lock(&r->hub->lock);
    for (at = &r->hub->first; (other = *at); at = &other->next)
        if (other->from == m->from && other->to == m->to && other->tag == m->tag &&
            other->sent != m->sent)
            break;
    *request = m->sent ? (void *)&sent : m;
    if (!other) {
        *at = m;
    } else if (other->bytes != m->bytes) {
        rc = -EMSGSIZE;
        free(m);
    } else {
        struct message *from = m->sent ? m : other, *to = m->sent ? other : m;
        *at = other->next;
        memcpy(to->buf, from->buf, m->bytes);
        to->done = true;
        free(from);
    }
    pthread_mutex_unlock(&r->hub->lock);
    return rc;
}

static int isend(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    struct rank *r = arg;
    struct message *m = malloc(sizeof *m + bytes);
    if (!m)
        return -ENOMEM;
    *m = (struct message){
        .from = r->rank, .to = to, .tag = tag, .sent = true, .bytes = bytes, .buf = m + 1};
    memcpy(m->buf, buf, bytes);
    return start(r, m, request);
}

static int irecv(void *arg, int from, int tag, void *buf, size_t bytes, void **request)
{
    struct rank *r = arg;
    struct message *m = malloc(sizeof *m);
    if (!m)
        return -ENOMEM;
    *m = (struct message){.from = from, .to = r->rank, .tag = tag, .bytes = bytes, .buf = buf};
    return start(r, m, request);
}

static int test(void *arg, void *request, int *done)
{
    struct rank *r = arg;
    struct message *m = request;
    *done = 1;
    if (request == &sent)
        return 0;
    pthread_mutex_lock(&r->hub->lock);
    *done = m->done;
    pthread_mutex_unlock(&r->hub->lock);
    if (*done)
        free(m);
    return 0;
}

static void cancel(void *arg, void *request)
{
    struct rank *r = arg;
    if (request == &sent)
        return;
    pthread_mutex_lock(&r->hub->lock);
    for (struct message **at = &r->hub->first; *at; at = &(*at)->next)
        if (*at == request) {
            *at = (*at)->next;
            break;
        }
    pthread_mutex_unlock(&r->hub->lock);
    free(request);
}

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    const struct conform_calls *call = &r->play->call;
    const struct conform_job *job = r->job;
    const struct nc_transport t = {.size = sizeof t,
                                   .arg = r,
                                   .rank = r->rank,
                                   .n_ranks = job->n_ranks,
                                   .isend = isend,
                                   .irecv = irecv,
                                   .test = test,
                                   .cancel = cancel,
                                   .threads = 1};
    struct nc_layer layers[CONFORM_LAYERS] = {{0}};
    float *grads[CONFORM_LAYERS], *x = job->x ? job->x[r->rank] : NULL;
    struct nc *nc = NULL;
    for (int i = 0; i < job->n_layers; x += x ? job->n[i] : 0, i++) {
        layers[i].n = job->n[i];
        layers[i].weights = job->weights[i];
        grads[i] = x;
    }
    r->call = "nc_open_over";
    r->rc = call->nc_open_over(&t, &r->play->options, layers, job->n_layers, &nc);
    if (r->rc == 0 && !job->only_opens) {
        r->call = "nc_set_step";
        r->rc = call->nc_set_step(nc, job->step);
    }
    if (r->rc == 0 && !job->only_opens) {
        r->call = "nc_allreduce";
        r->rc = call->nc_allreduce(nc, grads, NULL);
    }
    call->nc_close(nc);
    return NULL;
}

int conform_job(struct conform_play *p, struct conform_job *job, const char **call)
{
    struct hub hub = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct rank ranks[CONFORM_RANKS];
    pthread_t threads[CONFORM_RANKS];
    for (int r = 0; r < job->n_ranks; r++) {
        ranks[r] = (struct rank){.hub = &hub, .play = p, .job = job, .rank = r};
        const int rc = pthread_create(&threads[r], NULL, run_rank, &ranks[r]);
        if (rc) /* the threads that run end with this process */
            return ERR(-rc, "cannot start rank %d: %s", r, strerror(rc));
    }
    for (int r = 0; r < job->n_ranks; r++)
        (void)pthread_join(threads[r], NULL);
    for (int r = 0; r < job->n_ranks; r++) {
        *call = ranks[r].call;
        if (ranks[r].rc)
            return ranks[r].rc;
    }
    return 0;
}
