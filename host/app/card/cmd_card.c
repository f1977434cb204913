/* cmd_card.c : runs `narrowcast card`, with the same control server as simulated cards
 * (host/control). */
#include "app/app.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/opt/opt.h"
#include "base/stop.h"
#include "control/connections.h"
#include "hls/card/regs.h"
#include "offload/xrt/xrt_nic.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct card_options {
    const char *xrt, *xclbin, *listen;
};

#define AT(field) offsetof(struct card_options, field)
static const struct opt opts[] = {
    {"xrt", "CARD", "0",
     "The card: its number, or its place on the bus, such as 65:00.1. Append @10.0.0.9 to give it "
     "that IP address. `narrowcast info` lists the cards.",
     TEXT_AT(xrt)},
    {"xclbin", "FILE", NULL,
     "The xclbin to load into the card (see `narrowcast xclbin`). Default: the file named by "
     "NARROWCAST_XCLBIN.",
     TEXT_AT(xclbin)},
    {"listen", "HOST:PORT", "127.0.0.1:4711",
     "TCP address where jobs register for the card (port 0: any free port, which is printed). Any "
     "host that reaches this port can take slots: admit only hosts that start jobs.",
     TEXT_AT(listen)},
};

static const struct opt_command command = {
    .name = "card",
    .args = "",
    .about =
        "Owns a card of this machine and serves it to all jobs until it is interrupted. XRT gives "
        "a card to only one process. Jobs may run on any host that reaches the card's Ethernet "
        "port. Their frames go directly to the card; this process only registers who takes part.",
    .examples = "  build/narrowcast card --xrt 65:00.1@10.0.0.9 \\\n"
                "      --xclbin narrowcast.xclbin --listen 10.0.0.1:4711\n"
                "  host/ranks.sh 4 build/narrowcast train --offload udp://10.0.0.1:4711\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

static const double look_s = 1; /* between checks of the card */

struct server {
    struct xrt_nic nic;
    struct control *control;
    struct connections connections;
    int listener, signals;
    uint32_t ip; /* address for frames */
    uint16_t port;
};

/* Prints the card's reason, if any, which the control server does not know. */
static int card_failed(const struct server *s, int rc)
{
    const char *why = s->nic.card.why;
    return *why ? ERR(rc, "%s", why) : rc;
}

static void report(void *arg, struct text *to)
{
    const struct server *s = arg;
    text_add(to, "model xrt\njobs %d\ncontrollers %d\nlines_left_out %llu\n",
             control_jobs(s->control), control_peers(s->control),
             (unsigned long long)err_left_out());
}

static int open_all(struct server *s, const struct card_options *o)
{
    char name[80], at[INET_TEXT], frames[INET_TEXT];
    uint32_t ip;
    uint16_t port;
    const bool whole = !strncmp(o->xrt, "xrt", 3); /* a name as `narrowcast info` lists it */
    snprintf(name, sizeof name, "%s%s", whole ? "" : "xrt:", o->xrt);
    TRY(inet_parse(o->listen, &ip, &port));
    s->listener = inet_listen(ip, &port, 64);
    if (s->listener < 0)
        return ERR(s->listener, "cannot listen on %s: %s", inet_text(ip, port, at),
                   strerror(-s->listener));
    int rc = xrt_nic_open(&s->nic, name, o->xclbin, 60);
    if (!rc)
        rc = xrt_nic_address(&s->nic, &s->ip, &s->port);
    if (rc)
        return card_failed(s, rc);
    if ((rc = control_open(&xrt_nic_control, &s->nic, true, report, s, &s->control)))
        return card_failed(s, rc);
    /* before this, signals end the process at once */
    TRY(s->signals = stop_fd());
    connections_init(&s->connections, s->control, s->listener, s->ip, s->port);
    printf("listening on %s, frames go to %s\n", inet_text(ip, port, at),
           inet_text(s->ip, s->port, frames));
    fflush(stdout);
    return 0;
}

static int serve(struct server *s)
{
    double look_at = clock_s() + look_s;
    for (;;) {
        struct pollfd polls[CONNECTIONS_POLLS + 1] = {{.fd = s->signals, .events = POLLIN}};
        const int n = connections_polls(&s->connections, clock_s(), polls + 1);
        const double due = fmin(look_at, connections_due(&s->connections)) - clock_s();
        if (poll(polls, (nfds_t)n + 1, due > 0 ? (int)ceil(due * 1e3) : 0) < 0 && errno != EINTR)
            return ERR(-errno, "cannot poll: %s", strerror(errno));
        if (polls[0].revents)
            return 0;
        if (connections_serve(&s->connections, polls + 1, n, clock_s()) < 0)
            return card_failed(s, -EIO);
        uint32_t id;
        if (clock_s() >= look_at && xrt_nic_control.read(&s->nic, REG_ID, &id))
            return card_failed(s, -EIO);
        if (clock_s() >= look_at)
            look_at = clock_s() + look_s;
    }
}

static void close_all(struct server *s)
{
    if (s->control) {
        for (int i = 0; i < CONTROL_PEERS && s->nic.card.work; i++)
            if (s->connections.fd[i] >= 0)
                (void)control_leave(s->control, i);
        connections_fini(&s->connections);
    }
    control_close(s->control);
    xrt_nic_close(&s->nic);
    if (s->listener >= 0)
        close(s->listener);
    if (s->signals >= 0)
        close(s->signals);
}

int cmd_card(int argc, char **argv)
{
    struct card_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;
    struct server s = {.listener = -1, .signals = -1};
    int rc = open_all(&s, &o);
    err_never_wait();
    if (!rc)
        rc = serve(&s);
    err_strangers_end();
    close_all(&s);
    return rc;
}
