/* card_regs.c : the C model's registers, job table and counters. */
#include "sim/card_state.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct card *open_with(const struct card_sums *sums, card_out *out, void *arg)
{
    struct card *card = calloc(1, sizeof *card);
    if (!card)
        return NULL;
    card->sums = sums;
    card->out = out;
    card->arg = arg;
    card->slots = CARD_SLOTS;
    for (int i = 0; i < CARD_NARROW_SLOTS; i++)
        card->slot[i].s = slot_registered();
    return card;
}

struct card *card_open(card_out *out, void *arg)
{
    return open_with(&card_plain, out, arg);
}

struct card *card_open_fast(card_out *out, void *arg)
{
    struct card *card = open_with(&card_fast, out, arg);
    if (card && !(card->parts =
                      calloc((size_t)CARD_NARROW_SLOTS * PKT_MAX_RANKS, CARD_BEATS * BEAT_SIZE))) {
        free(card);
        return NULL;
    }
    return card;
}

void card_make_narrow(struct card *card)
{
    card->narrow = 1;
    card->slots = CARD_NARROW_SLOTS;
}

void card_close(struct card *card)
{
    if (card)
        free(card->parts);
    free(card);
}

uint64_t card_counter(const struct card *card, unsigned index)
{
    return index < REG_COUNTERS ? card->live[index] : 0;
}

static int may_start(const struct card *card)
{
    const struct card_regs *r = &card->regs;
    if (r->job.ranks < 1 || r->job.ranks > PKT_MAX_RANKS || r->job.slots < 1 ||
        r->job.base > card->slots || r->job.slots > card->slots - r->job.base)
        return 0;
    for (int i = 0; i < CARD_JOBS; i++) {
        const struct card_job *job = &card->job[i];
        if (job->enabled && r->job.base < job->base + job->slots &&
            job->base < r->job.base + r->job.slots)
            return 0;
    }
    return 1;
}

/* A refused commit changes nothing. Only stopping a job, which clears its slots, frees its
 * index. */
static void commit_job(struct card *card, uint32_t start)
{
    struct card_regs *r = &card->regs;
    struct card_job *job = &card->job[r->job_index % CARD_JOBS];
    r->refused = r->job_index >= CARD_JOBS ||
                 (start & REG_JOB_COMMIT_START ? job->enabled || !may_start(card) : !job->enabled);
    if (r->refused)
        return;
    if (!(start & REG_JOB_COMMIT_START)) {
        job->enabled = 0;
        for (uint32_t i = 0; i < job->slots; i++)
            card->slot[job->base + i].s = slot_registered();
        return;
    }
    job->ranks = r->job.ranks;
    job->base = r->job.base;
    job->slots = r->job.slots;
    job->formats = r->job.formats;
    job->key = (uint64_t)r->job.key_hi << 32 | r->job.key_lo;
    job->group_ip = r->job.group_ip >> 28 == PKT_GROUPS ? r->job.group_ip : 0;
    job->group_port = (uint16_t)r->job.group_port;
    job->enabled = 1;
}

static void commit_rank(struct card *card)
{
    const struct card_regs *r = &card->regs;
    if (r->job_index >= CARD_JOBS || r->rank.index >= PKT_MAX_RANKS)
        return;
    card->job[r->job_index].ip[r->rank.index] = r->rank.ip;
    card->job[r->job_index].port[r->rank.index] = (uint16_t)r->rank.port;
}

/* Returns the field of a register that only stores its value; NULL for any other. */
static uint32_t *plain(struct card_regs *r, uint32_t at)
{
    switch (at) {
    case REG_JOB_INDEX:
        return &r->job_index;
    case REG_JOB_RANKS:
        return &r->job.ranks;
    case REG_JOB_KEY_LO:
        return &r->job.key_lo;
    case REG_JOB_KEY_HI:
        return &r->job.key_hi;
    case REG_JOB_SLOT_BASE:
        return &r->job.base;
    case REG_JOB_SLOTS:
        return &r->job.slots;
    case REG_JOB_FORMATS:
        return &r->job.formats;
    case REG_JOB_GROUP_IP:
        return &r->job.group_ip;
    case REG_JOB_GROUP_PORT:
        return &r->job.group_port;
    case REG_RANK_INDEX:
        return &r->rank.index;
    case REG_RANK_IP:
        return &r->rank.ip;
    case REG_RANK_PORT:
        return &r->rank.port;
    case REG_COUNTER_INDEX:
        return &r->counter_index;
    case REG_DROP_IN:
        return &r->drop_in;
    case REG_DROP_OUT:
        return &r->drop_out;
    case REG_DROP_SEED:
        return &r->drop_seed;
    default:
        return NULL;
    }
}

enum access { NO_REGISTER, RO, RW, WO };

static enum access access_of(uint32_t at)
{
    switch (at) {
#define REG(NAME, at, access, what) \
    case at:                        \
        return access;
#include "hls/card/regs.def"
    default:
        return NO_REGISTER;
    }
}

int card_write(struct card *card, uint32_t at, uint32_t value)
{
    uint32_t *held = plain(&card->regs, at);
    if (held)
        *held = value;
    if (at == REG_DROP_SEED)
        card->random = value;
    if (at == REG_CTRL) {
        card->regs.enable = value & REG_CTRL_ENABLE;
        if (value & REG_CTRL_LATCH)
            memcpy(card->latched, card->live, sizeof card->live);
    }
    if (at == REG_JOB_COMMIT) {
        commit_job(card, value);
        memset(&card->regs.job, 0, sizeof card->regs.job);
    }
    if (at == REG_RANK_COMMIT) {
        commit_rank(card);
        memset(&card->regs.rank, 0, sizeof card->regs.rank);
    }
    return access_of(at) == NO_REGISTER ? -EINVAL : 0;
}

static uint32_t special(const struct card *card, uint32_t at)
{
    const struct card_regs *r = &card->regs;
    uint64_t counter = r->counter_index < REG_COUNTERS ? card->latched[r->counter_index] : 0;
    switch (at) {
    case REG_ID:
        return REG_ID_VALUE;
    case REG_VERSION:
        return REG_VERSION_VALUE;
    case REG_CAP_SLOTS:
        return card->slots;
    case REG_CAP_JOBS:
        return CARD_JOBS | PKT_MAX_RANKS << 16;
    case REG_CAP_BEATS:
        return CARD_BEATS;
    case REG_CAP_FORMATS:
        return REG_CAP_FORMATS_GROUP |
               (card->narrow ? 2 | CARD_NARROW_BITS << 8 | REG_CAP_FORMATS_NARROW
                             : 7 | CARD_SUM_BITS << 8);
    case REG_CTRL:
        return r->enable;
    case REG_STATUS:
        return r->refused ? REG_STATUS_REFUSED : 0; /* never STOPPING: there is no time */
    case REG_COUNTER_LO:
        return (uint32_t)counter;
    case REG_COUNTER_HI:
        return (uint32_t)(counter >> 32);
    case REG_SEEN_RANK:
        return r->seen_rank;
    case REG_SEEN_IP:
        return r->seen_ip;
    case REG_SEEN_PORT:
        return r->seen_port;
    default:
        return 0;
    }
}

int card_read(const struct card *card, uint32_t at, uint32_t *value)
{
    struct card_regs regs = card->regs;
    const uint32_t *held = plain(&regs, at);
    const enum access access = access_of(at);
    *value = access == WO ? 0 : held ? *held : special(card, at);
    return access == NO_REGISTER ? -EINVAL : 0;
}
