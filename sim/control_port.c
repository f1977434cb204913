/* control_port.c : serves a UDP control port of a simulated card.
 *
 *     socket --> faults --> queue --> responder (one request at a time) --> faults --> socket
 *
 * The responder gets a ration of the card's time (base/ration.h). The socket buffer is as small as
 * hardware's; hosts repeat requests that do not fit. */
#include "sim/control_port.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/ration.h"
#include "hls/card/lease.h"
#include "sim/net.h"
#include <stdlib.h>
#include <sys/socket.h>

enum { TICK_NS = LEASE_TICK_MS * 1000000, AT_ONCE = 64, SOCKET_BYTES = 1 << 16 };

struct control_port {
    void *net;
    struct responder *responder;
    struct netfault in_faults, out_faults;
    /* tick_ns: time of the next tick; 0 before the first call */
    uint64_t now_ns, tick_ns;
    struct frame_queue in; /* for the responder */
    struct ration ration;
    int failed;
};

static void answer(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct control_port *c = arg;
    if (c->out_faults.on)
        netfault_put(&c->out_faults, ip, port, bytes, n, c->now_ns);
    else
        net_datagrams.send(c->net, ip, port, bytes, n);
}

static void request(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct control_port *c = arg;
    (void)frame_queue_put(&c->in, (struct queued_frame){.ip = ip, .port = port, .n = n}, bytes);
}

static void take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct control_port *c = arg;
    if (c->in_faults.on)
        netfault_put(&c->in_faults, ip, port, bytes, n, c->now_ns);
    else
        request(c, ip, port, bytes, n);
}

static void respond(struct control_port *c)
{
    const struct queued_frame *f = frame_queue_first(&c->in);
    if (!f || ration_rests(&c->ration, clock_s()))
        return;
    ration_begin(&c->ration, clock_s());
    for (; f && !c->failed && !ration_is_spent(&c->ration, clock_s());
         f = frame_queue_first(&c->in)) {
        c->failed = responder_take(c->responder, f->ip, f->port, c->in.bytes + f->at, f->n);
        frame_queue_drop(&c->in);
    }
    ration_end(&c->ration, clock_s());
}

/* A stopped process does not catch up: its card's clock stopped too. */
static void pass_time(struct control_port *c)
{
    if (c->now_ns < c->tick_ns || c->failed)
        return;
    c->tick_ns = c->now_ns + TICK_NS;
    c->failed = responder_tick(c->responder);
}

int control_port_serve(struct control_port *c, uint64_t now_ns)
{
    if (!c)
        return 0;
    c->now_ns = now_ns;
    for (int n = 0, got = 1; n < AT_ONCE && got > 0 && !frame_queue_first(&c->in); n += got)
        got = net_datagrams.receive(c->net, take, c);
    netfault_drain(&c->in_faults, now_ns, request, c);
    netfault_drain(&c->out_faults, now_ns, net_datagrams.send, c->net);
    respond(c);
    pass_time(c);
    (void)net_datagrams.flush(c->net);
    return c->failed;
}

uint64_t control_port_due(const struct control_port *c)
{
    if (!c)
        return UINT64_MAX;
    const uint64_t in = netfault_due(&c->in_faults), out = netfault_due(&c->out_faults),
                   first = in < out ? in : out, tick = first < c->tick_ns ? first : c->tick_ns,
                   rested = frame_queue_first(&c->in) ? (uint64_t)(c->ration.rest_until * 1e9)
                                                      : UINT64_MAX;
    return rested < tick ? rested : tick;
}

int control_port_fd(const struct control_port *c)
{
    return c && !frame_queue_first(&c->in) ? net_datagrams.fd(c->net) : -1;
}

int control_port_open(const struct control_ops *ops, void *card, uint32_t ip, uint16_t *port,
                      uint16_t frame_port, struct netfault_rates rates, uint64_t seed,
                      struct control_port **control)
{
    struct control_port *c = buf_alloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    netfault_init(&c->in_faults, rates, seed, 2);
    netfault_init(&c->out_faults, rates, seed, 3);
    int rc = datagrams_open(ip, port, NULL, &c->net);
    if (!rc)
        rc = setsockopt(net_datagrams.fd(c->net), SOL_SOCKET, SO_RCVBUF, &(int){SOCKET_BYTES},
                        sizeof(int))
                 ? -errno
                 : 0;
    if (!rc)
        rc = responder_open(ops, card, frame_port, answer, c, &c->responder);
    if (rc) {
        control_port_close(c);
        return rc;
    }
    *control = c;
    return 0;
}

void control_port_close(struct control_port *c)
{
    if (!c)
        return;
    responder_close(c->responder);
    if (c->net)
        net_datagrams.close(c->net);
    netfault_fini(&c->in_faults);
    netfault_fini(&c->out_faults);
    frame_queue_free(&c->in);
    free(c);
}
