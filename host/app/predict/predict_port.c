/* predict_port.c : measures how many bytes of messages a second one core of this machine sends and
 * receives, over 127.0.0.1.
 *
 *     to ranks    TCP, 64 KiB at a time
 *     to a card   UDP by the card's own wire (offload/wire/wire.h), in frames of the card's length
 *
 * One thread is both ends, so its CPU time is that of both. */
#include "app/predict/predict.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "job/cost.h"
#include "offload/wire/wire.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 64 << 10, FRAMES = 32, BUFFER = 16 << 20 };

/* What is sent, and where it goes: both are larger than a core's caches. */
struct buffers {
    uint8_t *from, *to; /* [BUFFER] */
    size_t sent, got;   /* positions */
};

/* Open a socket that is bound to a free port of 127.0.0.1. Return it or a negative errno. */
static int bound(int type, struct sockaddr_in *name)
{
    socklen_t size = sizeof *name;
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    *name = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)name, size) < 0 ||
        getsockname(fd, (struct sockaddr *)name, &size) < 0) {
        const int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

/* Open both ends of a connection. Return 0 or a negative errno. */
static int connected(int fd[2])
{
    struct sockaddr_in name;
    const int listener = bound(SOCK_STREAM, &name);
    int rc = listener < 0 ? listener : 0;
    fd[0] = fd[1] = -1;
    if (rc == 0)
        fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (rc == 0 && (fd[0] < 0 || listen(listener, 1) < 0 ||
                    connect(fd[0], (struct sockaddr *)&name, sizeof name) < 0 ||
                    (fd[1] = accept(listener, NULL, NULL)) < 0))
        rc = -errno;
    if (listener >= 0)
        close(listener);
    return rc;
}

/* Return the next `bytes` of the buffer. */
static uint8_t *next(uint8_t *buffer, size_t *at, size_t bytes)
{
    *at = *at + 2 * bytes > BUFFER ? 0 : *at + bytes;
    return buffer + *at;
}

/* Receive all that has come to fd. Return its bytes. */
static size_t drain(struct buffers *b, int fd)
{
    size_t bytes = 0;
    for (ssize_t n; (n = recv(fd, next(b->to, &b->got, PIECE), PIECE, MSG_DONTWAIT)) > 0;)
        bytes += (size_t)n;
    return bytes;
}

/* One turn of sending. Returns 0 or a negative errno. */
struct sender {
    int (*send)(const struct sender *s, struct buffers *b);
    int fd;
    const struct wire *wire;
    size_t frame;
};

static int send_tcp(const struct sender *s, struct buffers *b)
{
    const ssize_t n =
        send(s->fd, next(b->from, &b->sent, PIECE), PIECE, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n < 0 && errno != EAGAIN ? -errno : 0;
}

static int send_udp(const struct sender *s, struct buffers *b)
{
    int rc = 0;
    for (int i = 0; i < FRAMES && rc == 0; i++)
        rc = s->wire->ops->send(s->wire->own, next(b->from, &b->sent, s->frame), s->frame);
    if (rc == 0)
        rc = s->wire->ops->flush(s->wire->own);
    return rc == -EAGAIN ? 0 : rc;
}

/* Send, and receive from fd, until the time is over. */
static int run(const struct sender *s, int fd, double budget_s, double *port_s)
{
    struct buffers b = {.from = buf_alloc(BUFFER), .to = buf_alloc(BUFFER)};
    size_t bytes = 0;
    int rc = b.from && b.to ? 0 : -ENOMEM;
    if (rc == 0) { /* pages that are there */
        memset(b.from, 0x55, BUFFER);
        memset(b.to, 0x55, BUFFER);
    }
    const double start = clock_cpu_s();
    double took = 0;
    while (rc == 0 && took < budget_s) {
        rc = s->send(s, &b);
        bytes += drain(&b, fd);
        took = clock_cpu_s() - start;
    }
    free(b.from);
    free(b.to);
    *port_s = bytes > 0 ? took / (2 * (double)bytes) : 0;
    return rc == 0 && bytes == 0 ? -EIO : rc;
}

static int measure_tcp(double budget_s, double *port_s)
{
    int fd[2], rc = connected(fd);
    if (rc == 0)
        rc = run(&(struct sender){.send = send_tcp, .fd = fd[0]}, fd[1], budget_s, port_s);
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return rc;
}

static int measure_udp(size_t frame, double budget_s, double *port_s)
{
    char why[WIRE_WHY_BYTES];
    struct sockaddr_in name;
    struct wire wire;
    const int fd = bound(SOCK_DGRAM, &name);
    if (fd < 0)
        return fd;
    const struct wire_options o = {
        .card_ip = INADDR_LOOPBACK, .card_port = ntohs(name.sin_port), .frame_bytes = frame};
    int rc = wire_open(&o, &wire, why);
    if (rc == 0) {
        rc = run(&(struct sender){.send = send_udp, .wire = &wire, .frame = frame}, fd, budget_s,
                 port_s);
        wire.ops->close(wire.own);
    }
    close(fd);
    return rc;
}

int predict_measure_ports(int mtu, double budget_s, double *port_s)
{
    int rc = measure_tcp(budget_s / 2, &port_s[0]);
    if (rc == 0)
        rc = measure_udp(cost_frame_bytes(mtu), budget_s / 2, &port_s[1]);
    if (rc < 0)
        return ERR(rc, "cannot measure messages over 127.0.0.1: %s; give --port-rate",
                   strerror(-rc));
    return 0;
}
