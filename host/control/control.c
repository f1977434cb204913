/* control.c : handles clients' messages to a card. */
#include "control/control.h"
#include "base/buf.h"
#include "base/err.h"
#include "hls/card/packet.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct peer {
    bool here;
    char name[64];
    uint32_t ip;
    uint16_t port;
    /* in [SIMLINK_BYTES + SIMLINK_MAX]: part of a message; out [CONTROL_UNREAD]: answers not sent
     * yet */
    uint8_t *in, *out;
    size_t in_n, out_n;
};

struct control {
    struct control_jobs jobs;
    control_report *report;
    void *arg;
    control_bus *bus; /* for the peer jobs.host */
    void *bus_arg;
    struct peer peer[CONTROL_PEERS];
    uint8_t body[SIMLINK_MAX];
};

/* rc: of control_jobs.h. */
static int report_stuck(int rc)
{
    return rc == -ETIME ? ERR(-EIO, CONTROL_JOBS_STUCK) : rc;
}

static int batch(struct control *c, int peer, const uint8_t *body, uint32_t bytes,
                 struct simlink *answer, uint8_t *to)
{
    const uint32_t read_flag = 1u << 31;
    for (uint32_t i = 0; i < bytes / 8; i++) {
        const uint32_t at = (uint32_t)pkt_get_uint(body + 8 * (size_t)i, 4);
        uint32_t value = (uint32_t)pkt_get_uint(body + 8 * (size_t)i + 4, 4);
        int rc;
        if (at & read_flag) {
            rc = control_jobs_read(&c->jobs, peer, at & ~read_flag, &value);
        } else {
            rc = report_stuck(control_jobs_write(&c->jobs, peer, at, value));
            value = 0;
        }
        TRY(rc);
        if (rc) {
            answer->status = 1;
            break;
        }
        pkt_put_uint(to + 4 * (size_t)i, value, 4);
        answer->a++;
    }
    answer->bytes = 4 * (uint32_t)answer->a;
    return 0;
}

static bool is_bus(uint32_t kind)
{
    return kind >= SIMLINK_BUS_WRITE && kind <= SIMLINK_MEM_READ;
}

static const char *nonsense(const struct control *c, int peer, const struct simlink *m)
{
    if (is_bus(m->kind))
        return peer != c->jobs.host                       ? "the card is not on its bus"
               : m->bytes > SIMLINK_MAX                   ? "it is too long"
               : m->bytes && m->kind != SIMLINK_MEM_WRITE ? "it has a body"
                                                          : NULL;
    switch (m->kind) {
    case SIMLINK_WRITE:
    case SIMLINK_READ:
    case SIMLINK_ADDRESS:
    case SIMLINK_TIME:
    case SIMLINK_WIRE:
    case SIMLINK_QUIT:
        return m->bytes ? "it has a body" : NULL;
    case SIMLINK_BATCH:
        return m->bytes > 8 * SIMLINK_BATCH_MAX ? "it is too long"
               : m->bytes % 8                   ? "its body is not a list of operations"
                                                : NULL;
    default:
        return "does the other program have another version?";
    }
}

/* m is not nonsense. */
static int obey(struct control *c, int peer, struct simlink m, const uint8_t *body,
                struct simlink *answer, uint8_t *to)
{
    struct control_time time;
    uint32_t value = 0;
    int rc = 0;
    *answer = (struct simlink){.kind = SIMLINK_DONE};
    if (is_bus(m.kind))
        return c->bus(c->bus_arg, m, body, answer, to);
    switch (m.kind) {
    case SIMLINK_WRITE:
        TRY(rc = report_stuck(control_jobs_write(&c->jobs, peer, m.a, (uint32_t)m.b)));
        answer->status = (uint32_t)rc;
        return 0;
    case SIMLINK_READ:
        TRY(rc = control_jobs_read(&c->jobs, peer, m.a, &value));
        answer->status = (uint32_t)rc;
        answer->b = value;
        return 0;
    case SIMLINK_ADDRESS:
        answer->a = c->peer[peer].ip;
        answer->b = c->peer[peer].port;
        return 0;
    case SIMLINK_TIME:
        time = c->jobs.ops->time(c->jobs.card);
        answer->a = time.clocks;
        answer->b = time.beats_in;
        answer->c = time.beats_out;
        return 0;
    case SIMLINK_WIRE:
        if (c->report) {
            struct text text = text_in((char *)to, SIMLINK_MAX);
            c->report(c->arg, &text);
            answer->bytes = (uint32_t)text.n;
        }
        return 0;
    default: /* BATCH; the caller handles QUIT */
        return batch(c, peer, body, m.bytes, answer, to);
    }
}

int control_obey(struct control *c, int peer, struct simlink m, const uint8_t *body,
                 struct simlink *answer, uint8_t *to)
{
    const char *why = nonsense(c, peer, &m);
    return why ? ERR(-EPROTO, "cannot understand message %u of %s: %s", m.kind, c->peer[peer].name,
                     why)
               : obey(c, peer, m, body, answer, to);
}

/* Returns 1 after reporting that a peer does not read its answers. */
static int say(struct control *c, int peer, struct simlink m, const uint8_t *body)
{
    struct peer *p = &c->peer[peer];
    if (p->out_n + SIMLINK_BYTES + m.bytes > CONTROL_UNREAD)
        return err_stranger(1, "dropped %s: it does not read its answers", p->name);
    simlink_put(m, p->out + p->out_n);
    if (m.bytes)
        memcpy(p->out + p->out_n + SIMLINK_BYTES, body, m.bytes);
    p->out_n += SIMLINK_BYTES + m.bytes;
    return 0;
}

static int whole(struct control *c, int peer, struct simlink m)
{
    struct simlink answer;
    if (m.kind == SIMLINK_QUIT)
        return 1;
    TRY(obey(c, peer, m, c->peer[peer].in + SIMLINK_BYTES, &answer, c->body));
    return say(c, peer, answer, c->body);
}

size_t control_wants(const struct control *c, int peer)
{
    const struct peer *p = &c->peer[peer];
    const size_t body = p->in_n >= SIMLINK_BYTES ? simlink_get(p->in).bytes : 0;
    return SIMLINK_BYTES + body - p->in_n;
}

int control_take(struct control *c, int peer, const uint8_t *bytes, size_t n)
{
    struct peer *p = &c->peer[peer];
    while (n) {
        const size_t want = control_wants(c, peer), take = want < n ? want : n;
        memcpy(p->in + p->in_n, bytes, take);
        p->in_n += take;
        bytes += take;
        n -= take;
        if (p->in_n < SIMLINK_BYTES)
            return 0;
        const struct simlink m = simlink_get(p->in);
        const char *why = nonsense(c, peer, &m);
        if (why)
            return err_stranger(1, "cannot understand message %u of %s: %s: dropped the connection",
                                m.kind, p->name, why);
        if (p->in_n < SIMLINK_BYTES + m.bytes)
            continue;
        p->in_n = 0;
        int rc = whole(c, peer, m);
        if (rc)
            return rc;
    }
    return 0;
}

const uint8_t *control_to_send(const struct control *c, int peer, size_t *n)
{
    *n = c->peer[peer].out_n;
    return c->peer[peer].out;
}

void control_sent(struct control *c, int peer, size_t n)
{
    struct peer *p = &c->peer[peer];
    memmove(p->out, p->out + n, p->out_n - n);
    p->out_n -= n;
}

int control_join(struct control *c, const char *name, uint32_t ip, uint16_t port)
{
    int i = 0;
    while (i < CONTROL_PEERS && c->peer[i].here)
        i++;
    if (i == CONTROL_PEERS)
        return -EAGAIN;
    struct peer *p = &c->peer[i];
    if (!p->in)
        p->in = buf_alloc(SIMLINK_BYTES + SIMLINK_MAX + CONTROL_UNREAD);
    if (!p->in)
        return -ENOMEM;
    p->out = p->in + SIMLINK_BYTES + SIMLINK_MAX;
    p->here = true;
    snprintf(p->name, sizeof p->name, "%s", name);
    p->ip = ip;
    p->port = port;
    p->in_n = p->out_n = 0;
    (void)say(c, i, (struct simlink){.kind = SIMLINK_HELLO, .a = SIMLINK_VERSION}, NULL);
    return i;
}

void control_attach(struct control *c, int peer, control_bus *bus, void *arg)
{
    c->jobs.host = peer;
    c->bus = bus;
    c->bus_arg = arg;
}

int control_read(struct control *c, int peer, uint64_t at, uint32_t *value)
{
    return control_jobs_read(&c->jobs, peer, at, value);
}

int control_write(struct control *c, int peer, uint64_t at, uint32_t value)
{
    return report_stuck(control_jobs_write(&c->jobs, peer, at, value));
}

int control_leave(struct control *c, int peer)
{
    c->peer[peer].here = false;
    if (c->jobs.host == peer)
        c->jobs.host = -1;
    return report_stuck(control_jobs_end(&c->jobs, peer));
}

int control_jobs(const struct control *c)
{
    return control_jobs_running(&c->jobs);
}

bool control_owns(const struct control *c, int peer)
{
    return control_jobs_owned(&c->jobs, peer);
}

int control_peers(const struct control *c)
{
    int n = 0;
    for (int i = 0; i < CONTROL_PEERS; i++)
        n += c->peer[i].here;
    return n;
}

int control_open(const struct control_ops *ops, void *card, bool shared, control_report *report,
                 void *arg, struct control **control)
{
    struct control *c = buf_alloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    c->report = report;
    c->arg = arg;
    int rc = report_stuck(control_jobs_init(&c->jobs, ops, card, shared));
    if (rc) {
        control_close(c);
        return rc;
    }
    *control = c;
    return 0;
}

void control_close(struct control *c)
{
    if (!c)
        return;
    for (int i = 0; i < CONTROL_PEERS; i++)
        free(c->peer[i].in);
    free(c);
}
