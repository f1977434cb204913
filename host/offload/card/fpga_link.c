/* fpga_link.c : exchanges messages of hls/card/simlink.h. */
#include "offload/card/fpga_link.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ready(int fd, short events, double until)
{
    for (;;) {
        const double left = until - clock_s();
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, left <= 0 ? 0 : left > 1 ? 1000 : (int)ceil(left * 1e3));
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (left <= 0)
            return -ETIMEDOUT;
    }
}

static int after_failure(int fd, short events, double until)
{
    if (errno == EINTR)
        return 0;
    if (errno == EAGAIN)
        return ready(fd, events, until);
    return errno == ECONNRESET ? -EPIPE : -errno;
}

static int send_all(int fd, const void *buf, size_t bytes, double until)
{
    for (const char *at = buf; bytes;) {
        ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
        if (n < 0)
            TRY(after_failure(fd, POLLOUT, until));
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}

static int recv_all(int fd, void *buf, size_t bytes, double until)
{
    for (char *at = buf; bytes;) {
        ssize_t n = recv(fd, at, bytes, 0);
        if (n == 0)
            return -EPIPE;
        if (n < 0)
            TRY(after_failure(fd, POLLIN, until));
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}

int fpga_link_say(struct fpga_link *l, struct simlink m, const void *body, double until)
{
    uint8_t header[SIMLINK_BYTES];
    simlink_put(m, header);
    TRY(send_all(l->fd, header, sizeof header, until));
    return m.bytes ? send_all(l->fd, body, m.bytes, until) : 0;
}

int fpga_link_hear(struct fpga_link *l, struct simlink *m, double until)
{
    uint8_t header[SIMLINK_BYTES];
    TRY(recv_all(l->fd, header, sizeof header, until));
    *m = simlink_get(header);
    return m->bytes > SIMLINK_MAX ? -EPROTO : recv_all(l->fd, l->body, m->bytes, until);
}

int fpga_link_ask(struct fpga_link *l, struct simlink ask, const void *body, struct simlink *answer,
                  double until)
{
    if (!l->failed)
        l->failed = fpga_link_say(l, ask, body, until);
    if (!l->failed)
        l->failed = fpga_link_hear(l, answer, until);
    if (!l->failed && answer->kind != SIMLINK_DONE)
        l->failed = -EPROTO;
    return l->failed;
}

/* True if the connection is open and the peer has sent nothing unasked. Does not wait. */
static bool fpga_link_alive(const struct fpga_link *l)
{
    char byte;
    return recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EINTR);
}

int fpga_link_open(struct fpga_link *l, int fd, double until)
{
    struct simlink hello = {0};
    *l = (struct fpga_link){.fd = fd, .body = buf_alloc(SIMLINK_MAX)};
    int rc = l->body ? 0 : -ENOMEM;
    if (!rc && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
        rc = -errno;
    if (!rc)
        rc = fpga_link_hear(l, &hello, until);
    if (!rc && (hello.kind != SIMLINK_HELLO || hello.a != SIMLINK_VERSION))
        rc = -EPROTO;
    if (!rc && hello.status == SIMLINK_FULL)
        rc = -EUSERS;
    if (rc) {
        close(fd);
        free(l->body);
        *l = (struct fpga_link){0};
    }
    return rc;
}

void fpga_link_close(struct fpga_link *l)
{
    if (!l->body)
        return;
    (void)fpga_link_say(l, (struct simlink){.kind = SIMLINK_QUIT}, NULL, clock_s() + 0.1);
    close(l->fd);
    free(l->body);
    *l = (struct fpga_link){0};
}

static int link_failed(struct fpga *card, int rc)
{
    if (rc == -EPIPE)
        return fpga_failed(card, rc, "card %s has closed its control connection", card->name);
    if (rc == -ETIMEDOUT)
        return fpga_failed(card, rc, "card %s does not answer", card->name);
    return fpga_failed(card, rc, "card %s: %s", card->name, strerror(-rc));
}

int fpga_link_batch(struct fpga *card, struct fpga_link *l, struct fpga_op *ops, size_t n,
                    size_t *done, double timeout_s)
{
    uint8_t body[8 * SIMLINK_BATCH_MAX];
    const struct simlink ask = {.kind = SIMLINK_BATCH, .bytes = (uint32_t)(8 * n)};
    struct simlink answer;
    if (n > SIMLINK_BATCH_MAX)
        return fpga_failed(card, -EINVAL, "card %s takes fewer than %zu operations at once",
                           card->name, n);
    for (size_t i = 0; i < n; i++)
        for (int b = 0; b < 4; b++) {
            body[8 * i + (size_t)b] =
                (uint8_t)((ops[i].at | (ops[i].read ? 1u << 31 : 0)) >> 8 * b);
            body[8 * i + 4 + (size_t)b] = (uint8_t)(ops[i].value >> 8 * b);
        }
    int rc = fpga_link_ask(l, ask, body, &answer, clock_s() + timeout_s);
    if (!rc && (answer.a > n || answer.bytes < 4 * answer.a || (!answer.status && answer.a < n)))
        rc = -EPROTO;
    if (rc)
        return link_failed(card, rc);
    for (size_t i = 0; i < answer.a; i++)
        if (ops[i].read)
            ops[i].value = (uint32_t)l->body[4 * i] | (uint32_t)l->body[4 * i + 1] << 8 |
                           (uint32_t)l->body[4 * i + 2] << 16 | (uint32_t)l->body[4 * i + 3] << 24;
    *done = (size_t)answer.a;
    return 0;
}

int fpga_link_address(struct fpga *card, struct fpga_link *l, uint32_t *ip, uint16_t *port,
                      double timeout_s)
{
    struct simlink answer;
    int rc = fpga_link_ask(l, (struct simlink){.kind = SIMLINK_ADDRESS}, NULL, &answer,
                           clock_s() + timeout_s);
    if (rc)
        return link_failed(card, rc);
    if (!answer.b || answer.b > UINT16_MAX)
        return fpga_failed(card, -ENOTSUP, "card %s does not report its port for frames",
                           card->name);
    *ip = (uint32_t)answer.a;
    *port = (uint16_t)answer.b;
    return 0;
}

int fpga_link_time(struct fpga *card, struct fpga_link *l, struct fpga_time *out, double timeout_s)
{
    struct simlink answer;
    int rc = fpga_link_ask(l, (struct simlink){.kind = SIMLINK_TIME}, NULL, &answer,
                           clock_s() + timeout_s);
    if (rc)
        return link_failed(card, rc);
    *out = (struct fpga_time){answer.a, answer.b, answer.c};
    return 0;
}

bool fpga_link_whole(struct fpga *card, const struct fpga_link *l)
{
    if (!l->failed && fpga_link_alive(l))
        return true;
    (void)link_failed(card, l->failed ? l->failed : -EPIPE);
    return false;
}
