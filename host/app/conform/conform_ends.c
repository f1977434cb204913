/* conform_ends.c : opens UDP sockets for the addresses of a vector. */
#include "app/conform/conform_ends.h"
#include "base/clock.h"
#include "base/err.h"
#include "hls/card/packet.h"
#include "offload/wire/wire_local.h"
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOPBACK = 127 };

static struct sockaddr_in address(uint32_t ip, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
}

static int join(int fd, uint32_t group, uint32_t local)
{
    const struct ip_mreqn to = {.imr_multiaddr.s_addr = htonl(group),
                                .imr_address.s_addr = htonl(local)};
    const int joined_alone = 0;
    return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &joined_alone, sizeof joined_alone) ||
           setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &to, sizeof to);
}

/* Binds end->real_ip:real_port (0: any port) and stores the port. */
static int bind_end(struct conform_ends *e, struct conform_end *end, uint32_t local)
{
    const struct sockaddr_in card = address(e->card_ip, e->card_port);
    struct sockaddr_in at = address(end->real_ip, end->real_port);
    socklen_t n = sizeof at;
    end->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (end->fd >= 0 && !bind(end->fd, (const struct sockaddr *)&at, n) &&
        (end->real_ip >> 28 != PKT_GROUPS || !join(end->fd, end->real_ip, local)) &&
        !connect(end->fd, (const struct sockaddr *)&card, sizeof card) &&
        !getsockname(end->fd, (struct sockaddr *)&at, &n)) {
        end->real_port = ntohs(at.sin_port);
        return 0;
    }
    const int rc = -errno;
    if (end->fd >= 0)
        close(end->fd);
    return rc;
}

/* Sets the address to bind. */
static void choose(const struct conform_ends *e, uint32_t local, struct conform_end *end)
{
    const struct conform_end *same = conform_ends_find(e, end->ip, 0);
    uint32_t others = 0;
    for (int i = 0; i < e->n; i++)
        others += conform_ends_find(e, e->of[i].ip, 0) == &e->of[i]; /* first of its address */
    end->real_ip = end->ip >> 28 == PKT_GROUPS ? end->ip
                   : local >> 24 != LOOPBACK   ? local
                   : same                      ? same->real_ip
                                               : local + others;
    end->real_port = 0;
    for (int i = 0; i < e->n; i++)
        if (e->of[i].port == end->port && e->of[i].real_ip != end->real_ip)
            end->real_port = e->of[i].real_port;
}

int conform_ends_open(struct conform_ends *e, uint32_t ip, uint16_t port)
{
    uint32_t local;
    if (conform_ends_find(e, ip, port))
        return 0;
    if (e->n == CONFORM_ENDS)
        return ERR(-EINVAL, "a vector has more than %d addresses", CONFORM_ENDS);
    struct conform_end *end = &e->of[e->n];
    *end = (struct conform_end){.ip = ip, .port = port};
    int rc = wire_local(NULL, e->card_ip, e->card_port, &local);
    if (!rc) {
        choose(e, local, end);
        rc = bind_end(e, end, local);
    }
    if (rc == -EADDRINUSE && end->real_port) {
        end->real_port = 0;
        rc = bind_end(e, end, local);
    }
    if (rc)
        return ERR(rc, "cannot open a socket that reaches the card: %s", strerror(-rc));
    e->n++;
    return 0;
}

void conform_ends_close(struct conform_ends *e)
{
    for (int i = 0; i < e->n; i++)
        close(e->of[i].fd);
    e->n = 0;
}

const struct conform_end *conform_ends_find(const struct conform_ends *e, uint32_t ip,
                                            uint16_t port)
{
    for (int i = 0; i < e->n; i++)
        if (e->of[i].ip == ip && (!port || e->of[i].port == port))
            return &e->of[i];
    return NULL;
}

int conform_ends_send(const struct conform_end *from, const uint8_t *bytes, size_t n)
{
    /* a refusal answers an earlier frame */
    for (int i = 0; i < 2; i++)
        if (send(from->fd, bytes, n, 0) == (ssize_t)n)
            return 0;
        else if (errno != ECONNREFUSED)
            return ERR(-errno, "cannot send a frame to the card: %s", strerror(errno));
    return 0;
}

int conform_ends_receive(const struct conform_ends *e, double until, const struct conform_end **to,
                         uint8_t *bytes, size_t size, size_t *n)
{
    struct pollfd polls[CONFORM_ENDS];
    for (;;) {
        const double left = until - clock_s();
        for (int i = 0; i < e->n; i++) {
            polls[i] = (struct pollfd){.fd = e->of[i].fd, .events = POLLIN};
            const ssize_t got = recv(e->of[i].fd, bytes, size, MSG_TRUNC);
            if (got < 0)
                continue;
            *to = &e->of[i];
            *n = (size_t)got;
            return 1;
        }
        if (left <= 0)
            return 0;
        poll(polls, (nfds_t)e->n, (int)ceil(1e3 * fmin(left, 1)));
    }
}
