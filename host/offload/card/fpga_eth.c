/* fpga_eth.c : controls a card with datagrams of hls/card/lease.def to its own Ethernet port, under
 * a lease. Register writes that await a commit are lost at a request's end. A request therefore
 * ends only after a commit or a complete read, and the next request selects the job again. */
#include "base/clock.h"
#include "base/err.h"
#include "hls/card/regs.h"
#include "offload/card/fpga.h"
#include "offload/card/fpga_host.h"
#include "offload/card/lease_link.h"
#include <stdlib.h>
#include <string.h>

enum {
#define SHELL_REG(NAME, at, access, what) SHELL_##NAME = at,
#include "hls/card/shell.def"
};

static const double close_s = 0.2;

struct eth_card {
    struct sockaddr_in at;
    struct lease_link link;
    double silence_s; /* after which the lease ends */
    struct lease_keeper *keeper;
};

static int eth_failed(struct fpga *card, int rc, const struct lease_message *answer)
{
    if (rc == -ETIMEDOUT)
        return fpga_failed(card, rc, "card %s does not answer", card->name);
    if (rc == -EPROTO)
        return fpga_failed(card, rc, "card %s has another version: %u instead of %d", card->name,
                           answer->version, LEASE_VERSION);
    return fpga_failed(card, rc, "cannot reach card %s: %s", card->name, strerror(-rc));
}

static int lease_is_over(struct fpga *card, const struct eth_card *e)
{
    if (e->silence_s == 0)
        return fpga_failed(card, -EPIPE, "card %s has restarted", card->name);
    return fpga_failed(card, -EPIPE,
                       "card %s has restarted, or has received nothing from this program for %g s "
                       "(stopped? disconnected?): its job there is over",
                       card->name, e->silence_s);
}

static int ask(struct fpga *card, struct eth_card *e, struct lease_message *m,
               struct lease_message *answer, double until)
{
    const int rc = lease_link_ask(&e->link, m, answer, until);
    if (rc)
        return eth_failed(card, rc, answer);
    switch (answer->status) {
    case LEASE_STATUS_DONE:
        return 0;
    case LEASE_STATUS_FULL:
        return fpga_failed(card, -EUSERS,
                           "card %s already has as many control connections as it takes: stop one "
                           "of its other programs",
                           card->name);
    case LEASE_STATUS_UNKNOWN:
        return lease_is_over(card, e);
    default:
        return fpga_failed(card, -EPROTO, "card %s refused the request: status %u", card->name,
                           answer->status);
    }
}

/* Sends CLOSE at least once. */
static void let_go(struct eth_card *e, double until)
{
    struct lease_message close = {.kind = LEASE_CLOSE}, answer;
    (void)lease_link_ask(&e->link, &close, &answer, until);
    lease_link_close(&e->link);
    free(e);
}

static void eth_close(struct fpga *card)
{
    struct eth_card *e = card->own;
    lease_keeper_stop(e->keeper);
    let_go(e, clock_s() + close_s);
    card->own = NULL;
}

static int open_lease(struct fpga *card, struct eth_card *e, double until)
{
    struct lease_message m = {.kind = LEASE_OPEN}, answer;
    TRY(ask(card, e, &m, &answer, until));
    m = (struct lease_message){.kind = LEASE_DO, .n = 1, .at = {LEASE_REG_SILENCE | LEASE_READ}};
    TRY(ask(card, e, &m, &answer, until));
    if (!answer.done || !answer.value[0])
        return fpga_failed(card, -EPROTO, "card %s does not report the duration of a lease",
                           card->name);
    e->silence_s = 1e-3 * answer.value[0];
    const int rc = lease_keeper_start(&e->at, e->link.secret, e->silence_s, &e->keeper);
    return rc ? fpga_failed(card, rc, "cannot start a thread for card %s: %s", card->name,
                            strerror(-rc))
              : 0;
}

static int eth_open(struct fpga *card, const char *name, double timeout_s)
{
    const double until = clock_s() + timeout_s;
    struct sockaddr_in at;
    TRY(fpga_host_find(card, name, &at));
    struct eth_card *e = calloc(1, sizeof *e);
    if (!e)
        return fpga_failed(card, -ENOMEM, "no memory for card %s", card->name);
    e->at = at;
    int rc = lease_link_open(&e->link, &at);
    if (rc) {
        free(e);
        return eth_failed(card, rc, NULL);
    }
    card->own = e;
    rc = open_lease(card, e, until);
    if (rc) {
        let_go(e, 0); /* perhaps only the answer was lost */
        card->own = NULL;
    }
    return rc;
}

/* True if a request may end after op: no written register awaits a commit, and no later operation
 * needs an index set before. */
static bool is_whole(const struct fpga_op *op)
{
    return op->read ? op->at == REG_COUNTER_HI : op->at == REG_RANK_COMMIT;
}

/* Fills request m from ops[at] on. job: the latest write of JOB_INDEX, repeated first, or NULL.
 * Returns how many operations fit, up to the last one after which a request may end; 0: none. */
static size_t fill(const struct fpga_op *ops, size_t at, size_t n, const struct fpga_op *job,
                   struct lease_message *m)
{
    size_t whole = 0;
    *m = (struct lease_message){.kind = LEASE_DO};
    if (job) {
        m->at[0] = job->at;
        m->value[0] = job->value;
    }
    const size_t first = job != NULL, room = LEASE_OPERATIONS - first;
    for (size_t i = 0; i < room && at + i < n; i++) {
        const struct fpga_op *op = &ops[at + i];
        m->at[first + i] = op->at | (op->read ? LEASE_READ : 0);
        m->value[first + i] = op->read ? 0 : op->value;
        if (is_whole(op) || at + i + 1 == n)
            whole = i + 1;
    }
    m->n = (uint8_t)(first + whole);
    return whole;
}

static int eth_batch(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done,
                     double timeout_s)
{
    struct eth_card *e = card->own;
    const double until = clock_s() + timeout_s;
    const struct fpga_op *job = NULL;
    size_t at = 0;
    while (at < n) {
        struct lease_message m, answer;
        const size_t part = fill(ops, at, n, job, &m), first = job != NULL;
        if (!part)
            return fpga_failed(card, -EINVAL, "card %s takes fewer than %zu operations at once",
                               card->name, n - at);
        TRY(ask(card, e, &m, &answer, until));
        const size_t did = answer.done < first ? 0 : answer.done - first;
        for (size_t i = 0; i < did; i++) {
            if (ops[at + i].read)
                ops[at + i].value = answer.value[first + i];
            else if (ops[at + i].at == REG_JOB_INDEX)
                job = &ops[at + i];
        }
        at += did;
        if (did < part)
            break;
    }
    *done = at;
    return 0;
}

static int eth_address(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s)
{
    const struct eth_card *e = card->own;
    struct fpga_op op = {.at = SHELL_PORT, .read = true};
    size_t done;
    TRY(eth_batch(card, &op, 1, &done, timeout_s));
    if (!done || !op.value || op.value > UINT16_MAX)
        return fpga_failed(card, -ENOTSUP, "card %s does not report its port for frames",
                           card->name);
    *ip = ntohl(e->at.sin_addr.s_addr);
    *port = (uint16_t)op.value;
    return 0;
}

static int eth_time(struct fpga *card, struct fpga_time *out, double timeout_s)
{
    (void)card;
    (void)timeout_s;
    *out = (struct fpga_time){0};
    return 0;
}

static bool eth_alive(struct fpga *card)
{
    const struct eth_card *e = card->own;
    return !lease_keeper_lost(e->keeper) || !lease_is_over(card, e);
}

const struct fpga_ops fpga_ops_eth = {
    .prefix = "eth://",
    .name_fits = fpga_host_fits,
    .open = eth_open,
    .batch = eth_batch,
    .address = eth_address,
    .time = eth_time,
    .alive = eth_alive,
    .close = eth_close,
};
