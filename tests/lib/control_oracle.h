/* control_oracle.h : predicts answers and register writes of rtl/shell/control.sv with
 * host/control and a card in C. */
#ifndef CONTROL_ORACLE_H
#define CONTROL_ORACLE_H
#include "check.h"
#include "control/control_jobs.h"
#include "hls/card/lease.h"
#include "hls/card/regs.h"
#include "sim/card_model.h"
#include <string.h>

enum { FRAME_PORT = 20035, MAX_LOG = 512 };
enum {
#define SHELL_REG(NAME, at, access, what) SHELL_##NAME = at,
#include "hls/card/shell.def"
};

struct side {
    struct card *card;
    uint32_t log[MAX_LOG][2];
    int n_log;
    /* stopping: reads of STATUS that still report a stop */
    uint32_t index, stopping, stops;
};
static struct side real, model;
static struct control_jobs jobs; /* the oracle's; peers are leases */

static int side_write(void *arg, uint32_t at, uint32_t value)
{
    struct side *s = arg;
    if (s->n_log < MAX_LOG) {
        s->log[s->n_log][0] = at;
        s->log[s->n_log++][1] = value;
    }
    s->index = at == REG_JOB_INDEX ? value : s->index;
    if (at == REG_JOB_COMMIT && !(value & REG_JOB_COMMIT_START) && s->index < CARD_JOBS)
        s->stopping = ++s->stops % 4; /* the C model stops at once */
    return card_write(s->card, at, value) != 0;
}

static int side_read(void *arg, uint32_t at, uint32_t *value)
{
    struct side *s = arg;
    const int rc = card_read(s->card, at, value) != 0;
    if (at == REG_STATUS && s->stopping) {
        s->stopping--;
        *value |= REG_STATUS_STOPPING;
    }
    return rc;
}

static struct control_time side_time(const void *arg)
{
    (void)arg;
    return (struct control_time){0};
}

static const struct control_ops ops = {side_write, side_read, side_time};

static void card_says(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)ip, (void)port, (void)bytes, (void)n;
}

static struct {
    bool live;
    uint64_t secret;
    uint32_t sequence;
    int left;
    uint8_t answer[LEASE_BYTES];
    size_t answer_n;
} lease[LEASE_MAX];
static uint32_t malformed, expired;

static int lease_of(uint64_t secret)
{
    for (int i = 0; i < LEASE_MAX; i++)
        if (lease[i].live && lease[i].secret == secret)
            return i;
    return -1;
}

/* Like the hardware, does not restore JOB_INDEX. */
static void end_lease(int i)
{
    control_jobs_end(&jobs, i);
    lease[i].live = false;
}

static bool local(uint32_t at, uint32_t *value)
{
    uint32_t live = 0;
    for (int i = 0; i < LEASE_MAX; i++)
        live += lease[i].live;
    switch (at) {
    case SHELL_PORT:
        return *value = FRAME_PORT, true;
    case LEASE_REG_MALFORMED:
        return *value = malformed, true;
    case LEASE_REG_BUSY:
        return *value = 0, true;
    case LEASE_REG_EXPIRED:
        return *value = expired, true;
    case LEASE_REG_LIVE:
        return *value = live | LEASE_MAX << 16, true;
    case LEASE_REG_SILENCE:
        return *value = LEASE_TICKS * LEASE_TICK_MS, true;
    default:
        return false;
    }
}

static void operate(int peer, const struct lease_message *m, struct lease_message *out)
{
    control_jobs_write(&jobs, peer, REG_JOB_INDEX, UINT32_MAX);
    control_jobs_write(&jobs, peer, REG_JOB_COMMIT, 0);
    control_jobs_write(&jobs, peer, REG_RANK_COMMIT, UINT32_MAX);
    for (bool refused = false; out->n < m->n; out->n++) {
        const uint32_t at = m->at[out->n] & ~LEASE_READ;
        const bool read = m->at[out->n] & LEASE_READ;
        uint32_t value = 0;
        if (!refused && read && !local(at, &value))
            refused = control_jobs_read(&jobs, peer, at, &value) != 0;
        else if (!refused && !read)
            refused = control_jobs_write(&jobs, peer, at, m->value[out->n]) != 0;
        out->done = (uint8_t)(out->done + !refused);
        out->at[out->n] = m->at[out->n];
        out->value[out->n] = refused ? 0 : value;
    }
}

static size_t expect(const uint8_t *bytes, size_t n, uint8_t *to)
{
    struct lease_message m = {0}, out;
    if (!lease_get(&m, bytes, n) ||
        (m.version == LEASE_VERSION &&
         (m.kind < LEASE_OPEN || m.kind > LEASE_CLOSE || m.done || (m.n && m.kind != LEASE_DO)))) {
        malformed++;
        return 0;
    }
    out = (struct lease_message){
        .version = LEASE_VERSION, .kind = m.kind, .sequence = m.sequence, .secret = m.secret};
    const bool sequenced = m.kind == LEASE_OPEN || m.kind == LEASE_DO;
    int l = lease_of(m.secret);
    if (m.version != LEASE_VERSION) {
        out.status = LEASE_STATUS_VERSION;
        return lease_put(&out, to);
    }
    if (l >= 0)
        lease[l].left = LEASE_TICKS;
    if (l >= 0 && sequenced && m.sequence == lease[l].sequence && m.n == lease[l].answer[6]) {
        memcpy(to, lease[l].answer, lease[l].answer_n);
        return lease[l].answer_n;
    }
    if (m.kind == LEASE_OPEN && l >= 0)
        out.status = LEASE_STATUS_SEQUENCE;
    else if (m.kind == LEASE_OPEN) {
        for (l = LEASE_MAX - 1; l >= 0 && lease[l].live; l--) {
        }
        out.status = l < 0 ? LEASE_STATUS_FULL : LEASE_STATUS_DONE;
    } else if (l < 0)
        out.status = LEASE_STATUS_UNKNOWN;
    else if (m.kind == LEASE_DO && m.sequence != lease[l].sequence + 1)
        out.status = LEASE_STATUS_SEQUENCE;
    if (out.status == LEASE_STATUS_DONE && m.kind == LEASE_OPEN) {
        lease[l].live = true;
        lease[l].secret = m.secret;
        lease[l].left = LEASE_TICKS;
    }
    if (out.status == LEASE_STATUS_DONE && m.kind == LEASE_DO)
        operate(l, &m, &out);
    if (out.status == LEASE_STATUS_DONE && m.kind == LEASE_CLOSE)
        end_lease(l);
    const size_t bytes_out = lease_put(&out, to);
    if (out.status == LEASE_STATUS_DONE && sequenced) {
        lease[l].sequence = m.sequence;
        memcpy(lease[l].answer, to, bytes_out);
        lease[l].answer_n = bytes_out;
    }
    return bytes_out;
}

#endif
