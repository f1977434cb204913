/* serve.c : serves a card on a network.
 *
 *     net --> faults --> pcap --> queue --> card --> pcap --> faults --> net
 *
 * While the card is busy, polls sockets every few clocks, else sleeps in ppoll(). */
#include "sim/serve.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/stop.h"
#include "hls/card/lease.h"
#include "control/connections.h"
#include "sim/control_port.h"
#include "sim/net.h"
#include "sim/pcap.h"
#include "sim/pcie.h"
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STEP_CLOCKS = 48,
    MAX_WAITING = 8192,
    /* for Ethernet frames, because a switch has smaller buffers */
    MAX_AT_THE_WIRE = 256,
    TURN_DATAGRAMS = 512,
    TURNS = 16,
    FLUSH_NS = 1000000000,
    /* default control port of a card with LiteEth */
    ETHER_CONTROL_PORT = 20036
};

struct server {
    const struct shell_ops *ops;
    const char *engine;
    void *shell;
    struct control *control;
    struct connections connections;
    struct control_port *port_control; /* NULL: controlled over TCP */
    struct pcie pcie;
    const struct net_ops *net_ops;
    void *net;
    int listener, signals;
    uint32_t ip;
    uint16_t port;
    uint8_t mac[6];
    uint64_t step_ns; /* longest time between steps; 0: only on events */
    struct netfault in_faults, out_faults;
    struct frame_queue in; /* for the card */
    struct pcap pcap;
    /* busy_ns: wall-clock time of `ticks` clocks */
    uint64_t frames_in, in_full, busy_ns, ticks;
};

static void reach_card(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct server *s = arg;
    const struct queued_frame f = {.ip = ip, .port = port, .n = n};
    const size_t most = s->ops->address ? MAX_AT_THE_WIRE : MAX_WAITING;
    if (frame_queue_waiting(&s->in) >= most || frame_queue_put(&s->in, f, bytes)) {
        s->in_full++;
        return;
    }
    s->frames_in++;
    if (s->ops->address)
        pcap_frame(&s->pcap, bytes, n);
    else
        pcap_udp(&s->pcap, (struct pcap_ends){ip, s->ip, port, s->port}, bytes, n);
}

static void from_net(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct server *s = arg;
    if (s->in_faults.on)
        netfault_put(&s->in_faults, ip, port, bytes, n, clock_ns());
    else
        reach_card(s, ip, port, bytes, n);
}

static void from_card(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct server *s = arg;
    if (s->ops->address)
        pcap_frame(&s->pcap, bytes, n);
    else
        pcap_udp(&s->pcap, (struct pcap_ends){s->ip, ip, s->port, port}, bytes, n);
    if (s->out_faults.on)
        netfault_put(&s->out_faults, ip, port, bytes, n, clock_ns());
    else
        s->net_ops->send(s->net, ip, port, bytes, n);
}

static void pass_due(struct server *s)
{
    netfault_drain(&s->in_faults, clock_ns(), reach_card, s);
    netfault_drain(&s->out_faults, clock_ns(), s->net_ops->send, s->net);
}

static void report_faults(const struct netfault *f, const char *way, struct text *to)
{
    text_add(to, "%s_dropped %llu\n%s_repeated %llu\n%s_reordered %llu\n%s_delay_full %llu\n", way,
             (unsigned long long)f->dropped, way, (unsigned long long)f->repeated, way,
             (unsigned long long)f->reordered, way, (unsigned long long)f->full);
}

static void report(void *arg, struct text *to)
{
    const struct server *s = arg;
    const uint64_t frames = s->frames_in - frame_queue_waiting(&s->in);
    const double busy_s = (double)s->busy_ns * 1e-9;
    text_add(to,
             "engine %s\njobs %d\ncontrollers %d\nframes_in %llu\nbusy_us %llu\nclock_hz "
             "%.0f\nqueue_full %llu\nlines_left_out %llu\n",
             s->engine, control_jobs(s->control), control_peers(s->control),
             (unsigned long long)frames, (unsigned long long)s->busy_ns / 1000,
             busy_s > 0 ? (double)s->ticks / busy_s : 0.0, (unsigned long long)s->in_full,
             (unsigned long long)err_left_out());
    s->net_ops->report(s->net, to);
    if (s->ops->report)
        s->ops->report(s->shell, to);
    report_faults(&s->in_faults, "in", to);
    report_faults(&s->out_faults, "out", to);
}

/* Returns how long to sleep, ns; UINT64_MAX: until an event. */
static uint64_t patience(const struct server *s, int busy)
{
    const double attend_at = connections_due(&s->connections) * 1e9;
    const uint64_t in = netfault_due(&s->in_faults), out = netfault_due(&s->out_faults),
                   datagrams = control_port_due(s->port_control), frames = in < out ? in : out,
                   faults = frames < datagrams ? frames : datagrams;
    const uint64_t due = attend_at < (double)faults ? (uint64_t)attend_at : faults;
    uint64_t wait = s->step_ns ? s->step_ns : s->pcap.file ? FLUSH_NS : UINT64_MAX;
    if (busy)
        return 0;
    if (due != UINT64_MAX) {
        const uint64_t now = clock_ns(), left = due > now ? due - now : 0;
        wait = left < wait ? left : wait;
    }
    return wait;
}

static int clock_card(struct server *s)
{
    const uint64_t start = clock_ns(), ticks = s->ops->ticks(s->shell);
    const int quiet = s->ops->step(s->shell, &s->in, STEP_CLOCKS);
    s->busy_ns += clock_ns() - start;
    s->ticks += s->ops->ticks(s->shell) - ticks;
    return !quiet;
}

/* Loses and counts frames without room. A limit keeps a flood from stopping the card. */
static int take_all(struct server *s)
{
    int n = 0, got = 1;
    while (n < TURN_DATAGRAMS && got > 0)
        n += got = s->net_ops->receive(s->net, from_net, s);
    return n;
}

/* Returns 1 to end. */
static int attend(struct server *s, int busy, int blocked)
{
    struct pollfd polls[CONNECTIONS_POLLS + 3] = {
        {.fd = s->signals, .events = POLLIN},
        {.fd = control_port_fd(s->port_control), .events = POLLIN},
        {.fd = s->net_ops->fd(s->net), .events = (short)(POLLIN | (blocked ? POLLOUT : 0))}};
    const int n = connections_polls(&s->connections, clock_s(), polls + 3);
    const uint64_t wait_ns = patience(s, busy);
    const struct timespec wait = {(time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000)};
    if (ppoll(polls, (nfds_t)n + 3, wait_ns == UINT64_MAX ? NULL : &wait, NULL) < 0 &&
        errno != EINTR)
        return ERR(-errno, "cannot poll: %s", strerror(errno));
    if (polls[0].revents)
        return 1;
    if (polls[2].revents & POLLERR && s->net_ops != &net_datagrams)
        return ERR(-ENODEV, "the card's TAP interface is gone");
    TRY(connections_serve(&s->connections, polls + 3, n, clock_s()));
    TRY(control_port_serve(s->port_control, clock_ns()));
    return s->connections.owner_left;
}

/* While datagrams keep coming, yields to senders instead of sleeping, and serves connections every
 * TURNS turns. */
static int loop(struct server *s)
{
    int rc = 0, busy = 1, blocked = 0, lively = 0, turn = 0;
    while (!rc) {
        if (!lively || ++turn % TURNS == 0)
            rc = attend(s, busy || lively, blocked);
        else if (!busy)
            sched_yield();
        lively = take_all(s) > 0;
        pass_due(s);
        busy = clock_card(s);
        busy = pcie_step(&s->pcie) || busy;
        pass_due(s);
        blocked = s->net_ops->flush(s->net);
        pcap_flush(&s->pcap);
    }
    return rc < 0 ? rc : 0;
}

/* Replaces the host's address *ip with the card's own, and sets its MAC. */
static int parse_addresses(const struct serve_options *o, uint32_t *ip, uint8_t mac[6])
{
    struct in_addr at;
    char rest;
    if (inet_pton(AF_INET, o->ip, &at) != 1)
        return ERR(-EINVAL, "cannot read '%s' as an address: %sneed --ip such as 10.0.0.9", o->ip,
                   inet_hint(o->ip));
    const uint32_t own = ntohl(at.s_addr), net = own >> 24;
    if (own == *ip || net == 0 || net == 127 || net >= 224)
        return ERR(-EINVAL,
                   "cannot use '%s' as the card's address: --ip needs a unicast address that no "
                   "other host has",
                   o->ip);
    *ip = own;
    const uint8_t made[6] = {0x02,        0x6e, 0x63, (uint8_t)(*ip >> 16), (uint8_t)(*ip >> 8),
                             (uint8_t)*ip};
    memcpy(mac, made, sizeof made);
    if (o->mac && (strspn(o->mac, "0123456789abcdefABCDEF:") != strlen(o->mac) ||
                   sscanf(o->mac, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", &mac[0], &mac[1],
                          &mac[2], &mac[3], &mac[4], &mac[5], &rest) != 6 ||
                   mac[0] & 1 || !memcmp(mac, (uint8_t[6]){0}, 6)))
        return ERR(-EINVAL,
                   "cannot read '%s' as an Ethernet address: need --mac such as 02:00:00:00:00:09",
                   o->mac);
    return 0;
}

static uint16_t control_port(const struct server *s, const struct serve_options *o)
{
    return s->ops->address && !o->control ? ETHER_CONTROL_PORT : (uint16_t)o->control;
}

static int open_net(struct server *s, const struct serve_options *o)
{
    TRY(inet_parse(o->listen, &s->ip, &s->port));
    TRY(datagrams_open(s->ip, &s->port, o->control >= 0 ? NULL : &s->listener, &s->net));
    s->net_ops = &net_datagrams;
    if (!o->tap)
        return 0;
    if (o->control >= 0 && control_port(s, o) == s->port)
        return ERR(-EINVAL,
                   "frames and --control need different ports: both are at port %u of the card",
                   s->port);
    s->net_ops->close(s->net);
    s->net = NULL;
    s->net_ops = s->ops->address ? &net_tap_raw : &net_tap;
    TRY(parse_addresses(o, &s->ip, s->mac));
    return s->ops->address ? tap_open_raw(o->tap, &s->net)
                           : tap_open(o->tap, s->mac, s->ip, s->port, &s->net);
}

/* Opens control over datagrams. TCP control is off: it would write registers past
 * rtl/shell/control, which here decides which client has which job. */
static int open_control(struct server *s, const struct serve_options *o)
{
    uint16_t port = control_port(s, o);
    char frames[INET_TEXT], control[INET_TEXT];
    if (s->ops->address) {
        s->ops->address(s->shell, s->mac, s->ip, s->port, port);
        s->step_ns = LEASE_TICK_MS * (uint64_t)1000000;
    } else {
        TRY(control_port_open(&s->ops->control, s->shell, s->ip, &port, s->port, o->rates, o->seed,
                              &s->port_control));
    }
    printf("listening on %s, controlled at %s\n", inet_text(s->ip, s->port, frames),
           inet_text(s->ip, port, control));
    if (fflush(stdout))
        err_warn("cannot print that the card listens on %s", frames);
    return 0;
}

static int open_all(struct server *s, const struct shell_ops *ops, const struct serve_options *o)
{
    s->ops = ops;
    s->engine = o->engine;
    netfault_init(&s->in_faults, o->rates, o->seed, 0);
    netfault_init(&s->out_faults, o->rates, o->seed, 1);
    TRY(s->signals = stop_fd());
    TRY(open_net(s, o));
    if (o->pcap)
        TRY(pcap_open(&s->pcap, o->pcap, ops->address != NULL));
    TRY(ops->open(o->wave, from_card, s, &s->shell));
    if (ops->address && o->control < 0)
        ops->address(s->shell, s->mac, s->ip, s->port, 0);
    TRY(control_open(&ops->control, s->shell, true, report, s, &s->control));
    connections_init(&s->connections, s->control, s->listener, s->ip, s->port);
    if (o->control >= 0)
        return open_control(s, o);
    if (o->fd >= 0) {
        TRY(connections_adopt(&s->connections, o->fd));
        pcie_init(&s->pcie, s->control, s->connections.owner, o->mm, s->ip, s->port);
        return 0;
    }
    struct sockaddr_in here;
    socklen_t n = sizeof here;
    char text[INET_TEXT];
    if (getsockname(s->listener, (struct sockaddr *)&here, &n))
        return ERR(-errno, "cannot find the address on which the card listens: %s",
                   strerror(errno));
    printf("listening on %s\n", inet_text(ntohl(here.sin_addr.s_addr), s->port, text));
    if (fflush(stdout))
        err_warn("cannot print that the card listens on %s", text);
    return 0;
}

static void close_all(struct server *s)
{
    if (s->control)
        connections_fini(&s->connections);
    control_port_close(s->port_control);
    pcie_fini(&s->pcie);
    control_close(s->control);
    if (s->shell)
        s->ops->close(s->shell);
    if (s->net)
        s->net_ops->close(s->net);
    if (s->listener >= 0)
        close(s->listener);
    if (s->signals >= 0)
        close(s->signals);
    pcap_close(&s->pcap);
    netfault_fini(&s->in_faults);
    netfault_fini(&s->out_faults);
    frame_queue_free(&s->in);
    free(s);
}

int serve(const struct shell_ops *ops, const struct serve_options *o)
{
    struct server *s = buf_alloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    s->listener = s->signals = -1;
    int rc = open_all(s, ops, o);
    err_never_wait();
    if (!rc)
        rc = loop(s);
    err_strangers_end();
    pcap_close(&s->pcap);
    if (!rc)
        rc = s->pcap.failed;
    close_all(s);
    return rc;
}
