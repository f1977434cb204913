/* lease_keeper.c : a thread that keeps a lease alive while its owner does something else. */
#include "offload/card/lease_keeper.h"
#include "base/clock.h"
#include "base/err.h"
#include "offload/card/lease_link.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIMES = 5, AGAIN = 4 }; /* in a silence; as often when no answer comes */

struct lease_keeper {
    struct lease_link link; /* the thread's own */
    pthread_t thread;
    int stop; /* an eventfd */
    double silence_s;
    _Atomic bool lost;
};

/* Until that time, or until something comes, or the end: returns 1 for an answer, -1 for the end. */
static int wait_until(struct lease_keeper *k, double at, struct lease_message *answer)
{
    uint8_t bytes[LEASE_BYTES + 1];
    const double left = at - clock_s();
    struct pollfd p[] = {{.fd = k->stop, .events = POLLIN}, {.fd = k->link.fd, .events = POLLIN}};
    if (poll(p, 2, left > 0 ? (int)(left * 1e3) + 1 : 0) <= 0)
        return 0;
    if (p[0].revents)
        return -1;
    const ssize_t n = recv(k->link.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return n > 0 && lease_get(answer, bytes, (size_t)n) && answer->version == LEASE_VERSION &&
           answer->kind == LEASE_KEEP && answer->secret == k->link.secret;
}

static void *keep(void *arg)
{
    struct lease_keeper *k = arg;
    const struct lease_message m = {
        .version = LEASE_VERSION, .kind = LEASE_KEEP, .secret = k->link.secret};
    struct lease_message answer = {0};
    uint8_t bytes[LEASE_BYTES];
    const size_t n = lease_put(&m, bytes);
    double next = clock_s() + k->silence_s / TIMES;
    for (int got = 0; !k->lost && got >= 0;) {
        const double now = clock_s();
        if (now >= next) {
            (void)!send(k->link.fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
            next = now + k->silence_s / TIMES / AGAIN;
        }
        got = wait_until(k, next, &answer);
        if (got > 0) {
            next = clock_s() + k->silence_s / TIMES;
            k->lost = answer.status != LEASE_STATUS_DONE;
        }
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
    k->link.secret = secret; /* of the one that is kept */
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
