/* drive.c : runs a card for one program. */
#include "sim/drive.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/inet.h"
#include "control/control.h"
#include "sim/pcie.h"
#include <poll.h>
#include <stdlib.h>

struct drive {
    const struct shell_ops *ops;
    void *shell;
    struct control *control;
    struct pcie pcie;
    /* lost: -errno of an outgoing frame that could not be sent */
    int fd, peer, lost;
    struct frame_queue in;
    uint8_t body[SIMLINK_MAX], answer[SIMLINK_MAX];
};

static int say(int fd, struct simlink m, const uint8_t *body)
{
    uint8_t header[SIMLINK_BYTES];
    simlink_put(m, header);
    TRY(sock_send(fd, header, sizeof header));
    return m.bytes ? sock_send(fd, body, m.bytes) : 0;
}

static void frame_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct drive *d = arg;
    struct simlink m = {.kind = SIMLINK_FRAME, .bytes = (uint32_t)n, .a = ip, .b = port};
    if (!d->lost)
        d->lost = say(d->fd, m, bytes);
}

static int frame_in(struct drive *d, struct simlink m)
{
    struct queued_frame f = {
        .ip = (uint32_t)m.a, .port = (uint16_t)m.b, .gap = (uint32_t)m.c, .n = m.bytes};
    return m.bytes ? frame_queue_put(&d->in, f, d->body) : 0;
}

/* Returns 0, 1 at the end, or a negative errno after reporting. */
static int obey(struct drive *d, struct simlink m)
{
    struct simlink answer = {.kind = SIMLINK_DONE};
    struct shell_run run;
    switch (m.kind) {
    case SIMLINK_FRAME:
        return frame_in(d, m);
    case SIMLINK_RUN:
        run = d->ops->run(d->shell, &d->in, m.a);
        answer.status = !run.quiet;
        answer.a = run.clocks;
        answer.b = run.beats_in;
        answer.c = run.beats_out;
        break;
    case SIMLINK_QUIT:
        return 1;
    default:
        TRY(control_obey(d->control, d->peer, m, d->body, &answer, d->answer));
    }
    return say(d->fd, answer, d->answer);
}

static void go_on(struct drive *d)
{
    struct pollfd p = {.fd = d->fd, .events = POLLIN};
    while (pcie_step(&d->pcie) && poll(&p, 1, 0) == 0)
        ;
}

static int hear(struct drive *d)
{
    uint8_t header[SIMLINK_BYTES];
    go_on(d);
    TRY(sock_recv(d->fd, header, sizeof header));
    struct simlink m = simlink_get(header);
    if (m.bytes > SIMLINK_MAX)
        return ERR(-EPROTO, "cannot take a message of %u bytes: at most %u", m.bytes, SIMLINK_MAX);
    TRY(sock_recv(d->fd, d->body, m.bytes));
    return obey(d, m);
}

static int open_all(struct drive *d, const struct kernel_ops *mm, const char *wave)
{
    TRY(d->ops->open(wave, frame_out, d, &d->shell));
    TRY(control_open(&d->ops->control, d->shell, false, NULL, NULL, &d->control));
    TRY(d->peer = control_join(d->control, "the program that started the card", 0, 0));
    pcie_init(&d->pcie, d->control, d->peer, mm, 0, 0);
    return say(d->fd, (struct simlink){.kind = SIMLINK_HELLO, .a = SIMLINK_VERSION}, NULL);
}

int drive(const struct shell_ops *ops, const struct kernel_ops *mm, const char *wave, int fd)
{
    struct drive *d = buf_alloc(sizeof *d);
    if (!d)
        return -ENOMEM;
    d->ops = ops;
    d->fd = fd;
    int rc = open_all(d, mm, wave);
    while (!rc && !d->lost)
        rc = hear(d);
    pcie_fini(&d->pcie);
    control_close(d->control);
    if (d->shell)
        ops->close(d->shell);
    frame_queue_free(&d->in);
    free(d);
    return rc == -EPIPE || rc > 0 ? 0 : rc;
}
