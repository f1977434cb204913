/* lease_keeper.c : a thread that keeps a lease alive while its owner does something else. */
#include "offload/lease_keeper.h"
#include "base/clock.h"
#include "base/err.h"
#include "offload/lease_link.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TIMES = 5 }; /* in a silence */

struct lease_keeper {
    struct lease_link link; /* the thread's own */
    pthread_t thread;
    int stop; /* an eventfd */
    double silence_s;
    _Atomic bool lost;
};

/* Until something is to be done, or that clock has come; true: to end. */
static bool asked_to_stop(const struct lease_keeper *k, double at)
{
    const double left = at - clock_s();
    struct pollfd p = {.fd = k->stop, .events = POLLIN};
    return poll(&p, 1, left > 0 ? (int)(left * 1e3) + 1 : 0) > 0;
}

static void *keep(void *arg)
{
    struct lease_keeper *k = arg;
    const double between_s = k->silence_s / TIMES;
    double heard_at = clock_s(), next = heard_at + between_s;
    while (!k->lost && !asked_to_stop(k, next)) {
        struct lease_message m = {.kind = LEASE_KEEP}, answer;
        const double now = clock_s();
        const int rc = lease_link_ask(&k->link, &m, &answer, now + between_s / 2);
        next = now + between_s;
        if (!rc)
            heard_at = now;
        k->lost = (!rc && answer.status != LEASE_STATUS_DONE) || now - heard_at > k->silence_s;
    }
    return NULL;
}

int lease_keeper_start(const struct sockaddr_in *card, uint64_t secret, double silence_s,
                       struct lease_keeper **keeper)
{
    sigset_t all, before;
    struct lease_keeper *k = calloc(1, sizeof *k);
    if (!k)
        return -ENOMEM;
    k->silence_s = silence_s;
    k->link.fd = -1;
    k->stop = eventfd(0, EFD_CLOEXEC);
    int rc = k->stop < 0 ? -errno : lease_link_open(&k->link, card);
    k->link.secret = secret;
    if (!rc) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        rc = -pthread_create(&k->thread, NULL, keep, k);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!rc) {
        *keeper = k;
        return 0;
    }
    lease_link_close(&k->link);
    if (k->stop >= 0)
        close(k->stop);
    free(k);
    return rc;
}

void lease_keeper_stop(struct lease_keeper *k)
{
    const uint64_t one = 1;
    if (!k)
        return;
    (void)!write(k->stop, &one, sizeof one);
    pthread_join(k->thread, NULL);
    lease_link_close(&k->link);
    close(k->stop);
    free(k);
}

bool lease_keeper_lost(const struct lease_keeper *k)
{
    return k->lost;
}
