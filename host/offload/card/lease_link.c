/* lease_link.c : requests of hls/card/lease.def to a card, and their answers, over a UDP socket that
 * loses some: each is said until it is answered. */
#include "offload/card/lease_link.h"
#include "base/clock.h"
#include "base/err.h"
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* between two tries: the first, and no longer than this after some */
static const double first_s = 0.02, longest_s = 0.25;
enum { MOST_HEARD = 256 }; /* datagrams that are no answer, once it is too late */

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

/* Return true if this is the answer to m. Only the card knows m's secret, so nobody else can forge
 * an answer, not even one of another version, whose operations are unknown. */
static bool fits(const struct lease_message *m, const struct lease_message *answer)
{
    return answer->kind == m->kind && answer->sequence == m->sequence &&
           answer->secret == m->secret &&
           (answer->version != LEASE_VERSION || answer->n == m->n ||
            answer->status != LEASE_STATUS_DONE);
}

/* Wait until that time for the answer to m. Return 1 if it came, else 0, or a negative errno that the
 * socket reported: an ICMP message, which anybody may have sent, so that waiting goes on. */
static int hear(struct lease_link *l, const struct lease_message *m, struct lease_message *answer,
                double until)
{
    uint8_t bytes[LEASE_BYTES + 1];
    int why = 0;
    for (int most = MOST_HEARD;; most--) {
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
        const int rc = hear(l, m, answer, now + wait < until ? now + wait : until);
        if (rc > 0)
            return answer->version == LEASE_VERSION ? 0 : -EPROTO;
        why = rc < 0 ? rc : why;
        wait = 2 * wait < longest_s ? 2 * wait : longest_s;
    } while (clock_s() < until);
    return why;
}
