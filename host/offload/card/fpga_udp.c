/* fpga_udp.c : controls a card of another process over TCP at host:port. */
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "offload/card/fpga_host.h"
#include "offload/card/fpga_link.h"
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct udp_card {
    struct fpga_link link;
    uint32_t peer; /* as connected */
};

static int udp_open(struct fpga *card, const char *name, double timeout_s)
{
    struct deadline d = deadline_in(clock_s(), timeout_s);
    const int one = 1;
    struct sockaddr_in peer;
    TRY(fpga_host_find(card, name, &peer));
    const uint32_t ip = ntohl(peer.sin_addr.s_addr);
    const int fd = inet_connect(ip, ntohs(peer.sin_port), &d);
    if (fd < 0)
        return fpga_failed(card, fd, "cannot reach card %s: %s", card->name, strerror(-fd));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);

    struct udp_card *u = calloc(1, sizeof *u);
    if (!u) {
        close(fd);
        return fpga_failed(card, -ENOMEM, "no memory for card %s", card->name);
    }
    u->peer = ip;
    int rc = fpga_link_open(&u->link, fd, d.at);
    if (rc) {
        free(u);
        if (rc == -EUSERS)
            return fpga_failed(card, rc,
                               "card %s already has as many control connections as it takes: stop "
                               "one of its other programs",
                               card->name);
        if (rc == -ETIMEDOUT)
            return fpga_failed(card, rc, "card %s accepts the connection but does not answer",
                               card->name);
        return fpga_failed(card, rc, "no card of this version answers at %s: %s", card->name,
                           strerror(-rc));
    }
    card->own = u;
    return 0;
}

static void udp_close(struct fpga *card)
{
    struct udp_card *u = card->own;
    fpga_link_close(&u->link);
    free(u);
}

static int udp_batch(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done,
                     double timeout_s)
{
    struct udp_card *u = card->own;
    return fpga_link_batch(card, &u->link, ops, n, done, timeout_s);
}

/* A card that listens on all addresses (0) receives frames at its control connection's address. */
static int udp_address(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s)
{
    struct udp_card *u = card->own;
    TRY(fpga_link_address(card, &u->link, ip, port, timeout_s));
    if (!*ip)
        *ip = u->peer;
    return 0;
}

static int udp_time(struct fpga *card, struct fpga_time *out, double timeout_s)
{
    struct udp_card *u = card->own;
    return fpga_link_time(card, &u->link, out, timeout_s);
}

static bool udp_alive(struct fpga *card)
{
    const struct udp_card *u = card->own;
    return fpga_link_whole(card, &u->link);
}

const struct fpga_ops fpga_ops_udp = {
    .prefix = "udp://",
    .name_fits = fpga_host_fits,
    .open = udp_open,
    .batch = udp_batch,
    .address = udp_address,
    .time = udp_time,
    .alive = udp_alive,
    .close = udp_close,
};
