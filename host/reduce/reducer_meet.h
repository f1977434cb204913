/* reducer_meet.h : State shared by the main thread and the communication thread. */
#ifndef REDUCER_MEET_H
#define REDUCER_MEET_H
#include "base/err.h"
#include "reduce/reducer_inside.h"
#include <pthread.h>

enum state { IDLE, RUNNING, DONE };

struct overlap {
    struct reducer *r;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done; /* the thread sleeps on wake; next and finish on done */
    enum state state;
    bool quit;
    bool *there;  /* [n_layers] gradients are final */
    int *missing; /* per bucket, [n_layers] room: layers whose gradients are not final */
    int n_stand;  /* buckets whose means may be used */
    bool *out;    /* [n_layers] handed out by next */
    bool works;   /* the thread waits for neither gradients nor exponents */
    bool waits;   /* the main thread is in next or finish */
    double since; /* clock_s() of the last change of works or waits */
    double hidden_s, exposed_s;
    int rc;
    /* Error lines of the caller that opened: errors in the thread are printed or held there. */
    struct err_lines *lines;
};

/* Switch the clock of hidden_s and exposed_s. The caller holds the lock. */
void overlap_set_works(struct overlap *o, bool works);
void overlap_set_waits(struct overlap *o, bool waits);

#endif
