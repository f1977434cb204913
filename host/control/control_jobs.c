/* control_jobs.c : checks access to registers and jobs. */
#include "control/control_jobs.h"
#include "base/err.h"
#include "hls/card/regs.h"

enum { STOP_READS = 20000, NOBODY = -1 };

/* rules of hls/card/sharing.def, for a shared card */
enum rule {
    RULE_FREE,
    RULE_JOB,
    RULE_SLOTS,
    RULE_COMMIT,
    RULE_OWNER,
    RULE_ENABLED,
    RULE_NEVER,
    RULE_SEEN
};

static enum rule write_rule(uint64_t at)
{
    switch (at) {
#define SHARED_WRITE(NAME, RULE, what) \
    case REG_##NAME:                   \
        return RULE_##RULE;
#include "hls/card/sharing.def"
    default:
        return RULE_FREE;
    }
}

static enum rule read_rule(uint64_t at)
{
    switch (at) {
#define SHARED_READ(NAME, RULE, what) \
    case REG_##NAME:                  \
        return RULE_##RULE;
#include "hls/card/sharing.def"
    default:
        return RULE_FREE;
    }
}

static int bus_read(struct control_jobs *j, uint32_t at, uint32_t *value)
{
    *value = 0;
    return at < REG_WINDOW ? j->ops->read(j->card, at, value) : 1;
}

static int bus_write(struct control_jobs *j, uint32_t at, uint32_t value)
{
    return at < REG_WINDOW ? j->ops->write(j->card, at, value) : 1;
}

int control_jobs_read(struct control_jobs *j, int peer, uint64_t at, uint32_t *value)
{
    uint32_t seen, job;
    if (read_rule(at) == RULE_SEEN) {
        TRY(bus_read(j, REG_SEEN_RANK, &seen));
        job = seen >> 16 & 0x7fff;
        if (seen >> 31 && job < CONTROL_JOBS && j->owner[job] != peer && peer != j->host)
            return 1;
    }
    return bus_read(j, at < REG_WINDOW ? (uint32_t)at : REG_WINDOW, value);
}

static int settle(struct control_jobs *j)
{
    for (int i = 0; i < STOP_READS; i++) {
        uint32_t status;
        TRY(bus_read(j, REG_STATUS, &status));
        if (!(status & REG_STATUS_STOPPING))
            return 0;
    }
    return -ETIME;
}

static bool free_to(const struct control_jobs *j, int peer)
{
    return !j->shared || peer == j->host;
}

/* A job gets at most half of the free slots, unless its start asks for more or no other job is
 * possible. */
static bool leaves_enough(const struct control_jobs *j, uint32_t start)
{
    uint32_t jobs = 0, left = j->n_slots;
    for (uint32_t i = 0; i < j->n_jobs && i < CONTROL_JOBS; i++)
        if (j->owner[i] != NOBODY) {
            left -= j->slots[i];
            jobs++;
        }
    return start & REG_JOB_COMMIT_TAKE_MOST || jobs + 1 >= j->n_jobs || j->job_slots <= left / 2;
}

static int commit(struct control_jobs *j, int peer, uint32_t start)
{
    const uint32_t index = j->job_index, slots = j->job_slots;
    const bool known = index < j->n_jobs && index < CONTROL_JOBS;
    uint32_t status;
    if (known && j->owner[index] != NOBODY && j->owner[index] != peer)
        return 1;
    if (start & REG_JOB_COMMIT_START && !free_to(j, peer) && !leaves_enough(j, start))
        return 1;
    TRY(bus_write(j, REG_JOB_COMMIT, start));
    j->job_slots = 0;
    if (!(start & REG_JOB_COMMIT_START)) {
        TRY(settle(j));
        if (known)
            j->owner[index] = NOBODY;
        return 0;
    }
    TRY(bus_read(j, REG_STATUS, &status));
    if (known && !(status & REG_STATUS_REFUSED)) {
        j->owner[index] = peer;
        j->slots[index] = slots;
    }
    return 0;
}

int control_jobs_write(struct control_jobs *j, int peer, uint64_t at, uint32_t value)
{
    const uint32_t index = j->job_index;
    switch (write_rule(at)) {
    case RULE_JOB:
        j->job_index = value;
        break;
    case RULE_SLOTS:
        j->job_slots = value;
        break;
    case RULE_COMMIT:
        return commit(j, peer, value);
    case RULE_OWNER:
        if (index < CONTROL_JOBS && j->owner[index] != NOBODY && j->owner[index] != peer)
            return 1;
        break;
    case RULE_ENABLED:
        value |= free_to(j, peer) ? 0 : REG_CTRL_ENABLE;
        break;
    case RULE_NEVER:
        if (!free_to(j, peer))
            return 1;
        break;
    default:
        break;
    }
    return at < REG_WINDOW ? bus_write(j, (uint32_t)at, value) : 1;
}

int control_jobs_end(struct control_jobs *j, int peer)
{
    int rc = 0;
    for (uint32_t i = 0; i < CONTROL_JOBS && !rc; i++) {
        if (j->owner[i] != peer)
            continue;
        const uint32_t index = j->job_index;
        rc = control_jobs_write(j, peer, REG_JOB_INDEX, i);
        if (rc >= 0)
            rc = commit(j, peer, 0);
        if (rc >= 0)
            rc = control_jobs_write(j, peer, REG_JOB_INDEX, index);
    }
    return rc < 0 ? rc : 0;
}

int control_jobs_running(const struct control_jobs *j)
{
    int n = 0;
    for (int i = 0; i < CONTROL_JOBS; i++)
        n += j->owner[i] != NOBODY;
    return n;
}

bool control_jobs_owned(const struct control_jobs *j, int peer)
{
    bool any = false;
    for (int i = 0; i < CONTROL_JOBS; i++)
        any = any || j->owner[i] == peer;
    return any;
}

/* A program that was killed may have left jobs on the card. */
static int stop_all(struct control_jobs *j)
{
    for (uint32_t i = 0; i < j->n_jobs; i++) {
        TRY(bus_write(j, REG_JOB_INDEX, i));
        TRY(bus_write(j, REG_JOB_COMMIT, 0));
        TRY(settle(j));
    }
    return bus_write(j, REG_JOB_INDEX, 0);
}

int control_jobs_init(struct control_jobs *j, const struct control_ops *ops, void *card,
                      bool shared)
{
    uint32_t jobs, slots;
    *j = (struct control_jobs){.ops = ops, .card = card, .shared = shared, .host = NOBODY};
    for (int i = 0; i < CONTROL_JOBS; i++)
        j->owner[i] = NOBODY;
    TRY(bus_read(j, REG_CAP_JOBS, &jobs));
    TRY(bus_read(j, REG_CAP_SLOTS, &slots));
    if (shared)
        TRY(bus_write(j, REG_CTRL, REG_CTRL_ENABLE));
    j->n_jobs = jobs & 0xffff;
    j->n_slots = slots;
    return stop_all(j);
}
