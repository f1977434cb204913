/* overlap_sync.h : declares the state shared by the main thread and the communication thread. */
#ifndef OVERLAP_SYNC_H
#define OVERLAP_SYNC_H
#include "base/err.h"
#include "reduce/reducer_inside.h"
#include <pthread.h>

enum state { IDLE, RUNNING, DONE };

struct overlap {
    struct reducer *r;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done; /* the thread waits for wake; the main thread waits for done */
    enum state state;
    bool quit;
    bool *is_ready; /* [n_layers] gradients are final */
    int *missing;   /* [n_layers] per bucket: layers that are not final */
    int n_final;    /* buckets [0, n_final) have final means */
    int n_released; /* gradients of buckets [0, n_released) are released */
    /* [n_layers] overlap_next() has handed out the layer */
    bool *is_out;
    bool works;   /* the thread casts, sends or adds */
    bool waits;   /* the main thread waits for the thread */
    double since; /* of the last change of works or waits */
    double hidden_s, exposed_s;
    int rc;
    /* Error lines of the caller that turned overlap on; the thread's are printed or held with
     * them. */
    struct err_lines *lines;
};

/* Charge the time since the last change to hidden_s or exposed_s, then set works or waits. The
 * caller holds the lock. */
void overlap_set_works(struct overlap *o, bool works);
void overlap_set_waits(struct overlap *o, bool waits);

#endif
