/* reducer_meet.h : what the main thread and the communication thread both look at. */
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
    pthread_cond_t wake, done; /* the thread sleeps on wake, next and finish on done */
    enum state state;
    bool quit;
    bool *there;  /* [n_layers] gradients are */
    int *missing; /* [n_layers] of each bucket: layers whose gradients are not there */
    int n_stand;  /* buckets whose means may be used */
    bool *out;    /* [n_layers] next handed them out */
    bool works;   /* the thread: it waits for neither gradients nor exponents */
    bool waits;   /* the main thread, in next or finish */
    double since; /* by clock_s(); when one of these changed */
    double hidden_s, exposed_s;
    int rc;
    struct err_lines
        *lines; /* of who opened: what fails in the thread is said, or held, as there */
};

/* Whose time it is, from now on. Locked. */
void overlap_set_works(struct overlap *o, bool works);
void overlap_set_waits(struct overlap *o, bool waits);

#endif
