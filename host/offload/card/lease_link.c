/* lease_link.c : repeats requests until they are answered, and keeps leases. */
#include "offload/card/lease_link.h"
#include "base/clock.h"
#include "base/err.h"
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* time until the first repetition; the longest after doubling */
static const double first_s = 0.02, longest_s = 0.25;
/* datagrams read after the deadline, at most */
enum { MAX_HEARD = 256 };

int lease_link_open(struct lease_link *l, const struct sockaddr_in *to)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    *l = (struct lease_link){.fd = fd};
    int rc = connect(fd, (const struct sockaddr *)to, sizeof *to) ? -errno : 0;
    if (!rc && (getrandom(&l->secret, sizeof l->secret, 0) != sizeof l->secret ||
                getrandom(&l->sequence, sizeof l->sequence, 0) != sizeof l->sequence))
        rc = -EIO;
    if (rc)
        lease_link_close(l);
    return rc;
}

void lease_link_close(struct lease_link *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* True if `answer` is to m. Only the card knows m's secret, so no other host can forge an answer.
 * The number of operations, n, is compared only if both have the same version. */
static bool fits(const struct lease_message *m, const struct lease_message *answer)
{
    return answer->kind == m->kind && answer->sequence == m->sequence &&
           answer->secret == m->secret &&
           (answer->version != LEASE_VERSION || answer->n == m->n ||
            answer->status != LEASE_STATUS_DONE);
}

/* Returns 1 with the answer to m, else 0 or the socket's negative errno. The caller keeps waiting
 * after either, because any host can cause an errno with an ICMP message. */
static int receive_answer(struct lease_link *l, const struct lease_message *m,
                          struct lease_message *answer, double until)
{
    uint8_t bytes[LEASE_BYTES + 1];
    int why = 0;
    for (int most = MAX_HEARD;; most--) {
        const double left = until - clock_s();
        struct pollfd p = {.fd = l->fd, .events = POLLIN};
        if (poll(&p, 1, left <= 0 ? 0 : (int)ceil(left * 1e3)) < 0 && errno != EINTR)
            return -errno;
        const ssize_t n = recv(l->fd, bytes, sizeof bytes, 0);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            why = -errno;
        if (n > 0 && lease_get(answer, bytes, (size_t)n) && fits(m, answer))
            return 1;
        if (left <= 0 && (n < 0 || most <= 0))
            return why;
    }
}

int lease_link_ask(struct lease_link *l, struct lease_message *m, struct lease_message *answer,
                   double until)
{
    uint8_t bytes[LEASE_BYTES];
    double wait = first_s;
    int why = -ETIMEDOUT;
    m->version = LEASE_VERSION;
    m->secret = l->secret;
    m->sequence = m->kind == LEASE_OPEN || m->kind == LEASE_DO ? ++l->sequence : 0;
    const size_t n = lease_put(m, bytes);
    do {
        const double now = clock_s();
        if (send(l->fd, bytes, n, MSG_NOSIGNAL) < 0 && errno != EAGAIN && errno != EINTR &&
            errno != ENOBUFS)
            why = -errno;
        const int rc = receive_answer(l, m, answer, now + wait < until ? now + wait : until);
        if (rc > 0)
            return answer->version == LEASE_VERSION ? 0 : -EPROTO;
        why = rc < 0 ? rc : why;
        wait = 2 * wait < longest_s ? 2 * wait : longest_s;
    } while (clock_s() < until);
    return why;
}

/* KEEPs per silence_s; AGAIN times as many until one is answered */
enum { TIMES = 5, AGAIN = 4 };

struct lease_keeper {
    struct lease_link link; /* the thread's */
    pthread_t thread;
    int stop; /* eventfd */
    double silence_s;
    _Atomic bool lost;
};

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
    k->link.secret = secret; /* replaces the random one */
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
