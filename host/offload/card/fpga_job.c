/* fpga_job.c : registers a job on a card.
 *
 *     for 64 (or as asked), 32, 16, 8 slots: for each place: for each index:
 *         one batch: the job and JOB_COMMIT; if it is accepted: its ranks
 *
 * The host cannot read which indices and slots are taken. A JOB_COMMIT that would touch an existing
 * job is refused: by the control program if another connection's job has the index, else by the
 * card. Connections share the registers, so each attempt must be one batch. */
#include "offload/card/fpga_job.h"
#include "base/clock.h"
#include "base/err.h"
#include "hls/card/packet.h"
#include "hls/card/regs.h"
#include "hls/core/beat.h"
#include <sys/random.h>

enum { WORDS = 9, LEAST_SLOTS = 8, MAX_TRIED = 1024 };

int fpga_job_caps(struct fpga *card, const struct card_fit *fit, int n_ranks,
                  struct fpga_caps *caps, double timeout_s)
{
    struct fpga_op ops[] = {
        {.at = REG_ID, .read = true},        {.at = REG_VERSION, .read = true},
        {.at = REG_CAP_SLOTS, .read = true}, {.at = REG_CAP_JOBS, .read = true},
        {.at = REG_CAP_BEATS, .read = true}, {.at = REG_CAP_FORMATS, .read = true}};
    const size_t n = sizeof ops / sizeof *ops;
    size_t done;
    TRY(card->ops->batch(card, ops, n, &done, timeout_s));
    if (done < n || ops[0].value != REG_ID_VALUE || ops[1].value != REG_VERSION_VALUE)
        return fpga_failed(card, -EPROTO,
                           "card %s does not match this version of narrowcast: id %08x, version %u",
                           card->name, ops[0].value, ops[1].value);
    const uint32_t slots = ops[2].value, jobs = ops[3].value & 0xffff;
    *caps = (struct fpga_caps){.slots = slots < MAX_TRIED ? slots : MAX_TRIED,
                               .jobs = jobs < MAX_TRIED ? jobs : MAX_TRIED,
                               .ranks = ops[3].value >> 16,
                               .beats = ops[4].value,
                               .formats = ops[5].value,
                               .groups = ops[5].value & REG_CAP_FORMATS_GROUP};
    /* bits 0, 1, 2: widths of 4, 8, 16 */
    const uint32_t widths = fit->in_width / 4 | fit->out_width / 4;
    if (widths & ~ops[5].value)
        return fpga_failed(card, -ENOTSUP, "card %s cannot add codes of %u bits to sums of %u bits",
                           card->name, fit->in_width, fit->out_width);
    if (ops[5].value & REG_CAP_FORMATS_NARROW && !beat_narrow(beat_format(fit->in_fmt)))
        return fpga_failed(card, -ENOTSUP,
                           "card %s adds only e1m6f and e2m5f (it was built with Narrow=1)",
                           card->name);
    if ((uint32_t)n_ranks > caps->ranks)
        return fpga_failed(card, -ENOTSUP, "card %s takes at most %u ranks, not %d", card->name,
                           caps->ranks, n_ranks);
    if (card_fit_most(fit, caps->beats) == 0 || caps->slots < LEAST_SLOTS)
        return fpga_failed(card, -ENOTSUP, "card %s is too small: %u slots of %u beats", card->name,
                           caps->slots, caps->beats);
    return 0;
}

enum try_result { STARTED, TAKEN, STILL_STOPPING, NO_TIME };

static size_t put_op(struct fpga_op *ops, size_t n, uint32_t at, uint32_t value)
{
    ops[n] = (struct fpga_op){.at = at, .value = value};
    return n + 1;
}

struct wanted {
    const struct fpga_caps *caps;
    const struct card_fit *fit;
    struct fpga_rank group; /* ip 0: none */
    uint32_t n_ranks, most_slots;
};

/* start: value for JOB_COMMIT. Also clears unused group registers, because another client's values
 * may be staged. Returns an enum try_result or a negative errno. */
static int try_job(struct fpga *card, const struct fpga_job *job, const struct wanted *want,
                   uint32_t start, double timeout_s)
{
    struct fpga_op ops[WORDS + 2];
    size_t n = 0, done;
    n = put_op(ops, n, REG_JOB_INDEX, job->index);
    n = put_op(ops, n, REG_JOB_RANKS, want->n_ranks);
    n = put_op(ops, n, REG_JOB_KEY_LO, (uint32_t)job->key);
    n = put_op(ops, n, REG_JOB_KEY_HI, (uint32_t)(job->key >> 32));
    n = put_op(ops, n, REG_JOB_SLOT_BASE, job->slot_base);
    n = put_op(ops, n, REG_JOB_SLOTS, job->slots);
    n = put_op(ops, n, REG_JOB_FORMATS, want->fit->in_fmt | want->fit->out_fmt << 8);
    if (want->caps->groups) {
        n = put_op(ops, n, REG_JOB_GROUP_IP, want->group.ip);
        n = put_op(ops, n, REG_JOB_GROUP_PORT, want->group.port);
    }
    n = put_op(ops, n, REG_JOB_COMMIT, start);
    ops[n++] = (struct fpga_op){.at = REG_STATUS, .read = true};
    TRY(card->ops->batch(card, ops, n, &done, timeout_s));
    if (done < n)
        return TAKEN;
    if (ops[n - 1].value & REG_STATUS_REFUSED)
        return ops[n - 1].value & REG_STATUS_STOPPING ? STILL_STOPPING : TAKEN;
    return STARTED;
}

/* No rank knows the key yet, so no frame can have come. */
static int put_ranks(struct fpga *card, const struct fpga_job *job, const struct fpga_rank *ranks,
                     uint32_t n_ranks, double timeout_s)
{
    struct fpga_op ops[1 + 4 * PKT_MAX_RANKS];
    size_t n = put_op(ops, 0, REG_JOB_INDEX, job->index), done;
    for (uint32_t r = 0; r < n_ranks; r++) {
        n = put_op(ops, n, REG_RANK_INDEX, r);
        n = put_op(ops, n, REG_RANK_IP, ranks[r].ip);
        n = put_op(ops, n, REG_RANK_PORT, ranks[r].port);
        n = put_op(ops, n, REG_RANK_COMMIT, 1);
    }
    TRY(card->ops->batch(card, ops, n, &done, timeout_s));
    return done == n ? 0
                     : fpga_failed(card, -EPROTO, "card %s did not store the ranks' addresses",
                                   card->name);
}

/* Gives up before an answer like the slowest so far could come after `until`: a card that answers
 * would else seem silent. *slowest: seconds, 0 before the first call. */
static int try_all(struct fpga *card, const struct wanted *want, double until, double *slowest,
                   struct fpga_job *job)
{
    const uint32_t most = want->most_slots,
                   start = REG_JOB_COMMIT_START | (most ? REG_JOB_COMMIT_TAKE_MOST : 0);
    bool stopping = false;
    for (job->slots = most ? most : FPGA_JOB_SLOTS; job->slots >= LEAST_SLOTS; job->slots /= 2)
        for (job->slot_base = 0; job->slot_base + job->slots <= want->caps->slots;
             job->slot_base += job->slots)
            for (job->index = 0; job->index < want->caps->jobs; job->index++) {
                const double began = clock_s(), left = until - began;
                if (left < 2 * *slowest)
                    return NO_TIME;
                int rc = try_job(card, job, want, start, left > 0 ? left : 0);
                if (rc == STARTED || rc < 0)
                    return rc;
                const double took = clock_s() - began;
                *slowest = took > *slowest ? took : *slowest;
                stopping = stopping || rc == STILL_STOPPING;
            }
    return stopping ? STILL_STOPPING : TAKEN;
}

int fpga_job_start_group(struct fpga *card, const struct fpga_caps *caps,
                         const struct card_fit *fit, const struct fpga_rank *ranks, int n_ranks,
                         uint32_t most_slots, const struct fpga_rank *group, double timeout_s,
                         struct fpga_job *out)
{
    const double until = clock_s() + timeout_s;
    const struct wanted want = {caps, fit, group ? *group : (struct fpga_rank){0},
                                (uint32_t)n_ranks, most_slots};
    struct fpga_job job = {0};
    double slowest = 0;
    if (getrandom(&job.key, sizeof job.key, 0) != sizeof job.key)
        return fpga_failed(card, -EIO, "cannot make a key: the system has no random numbers");
    for (;;) {
        int rc = try_all(card, &want, until, &slowest, &job);
        if (rc < 0)
            return rc;
        if (rc == STARTED) {
            TRY(put_ranks(card, &job, ranks, (uint32_t)n_ranks, timeout_s));
            *out = job;
            return 0;
        }
        if (rc == NO_TIME)
            return fpga_failed(card, -EBUSY,
                               "card %s had no free job or slots among those tried in %g s: it "
                               "is in use, or answers slowly",
                               card->name, timeout_s);
        if (rc == TAKEN || clock_s() > until)
            return fpga_failed(card, -EBUSY,
                               "card %s is in use: it has no free job, or fewer than %d free slots",
                               card->name, LEAST_SLOTS);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

int fpga_job_start(struct fpga *card, const struct fpga_caps *caps, const struct card_fit *fit,
                   const struct fpga_rank *ranks, int n_ranks, uint32_t most_slots,
                   double timeout_s, struct fpga_job *out)
{
    return fpga_job_start_group(card, caps, fit, ranks, n_ranks, most_slots, NULL, timeout_s, out);
}

int fpga_job_start_as(struct fpga *card, const struct fpga_caps *caps, const struct card_fit *fit,
                      const struct fpga_rank *ranks, int n_ranks, const struct fpga_rank *group,
                      double timeout_s, const struct fpga_job *job)
{
    const struct wanted want = {caps, fit, group ? *group : (struct fpga_rank){0},
                                (uint32_t)n_ranks, job->slots};
    const int rc = try_job(card, job, &want, REG_JOB_COMMIT_START, timeout_s);
    if (rc < 0)
        return rc;
    if (rc != STARTED)
        return fpga_failed(card, -EBUSY, "card %s refuses job %u with slots %u to %u", card->name,
                           job->index, job->slot_base, job->slot_base + job->slots - 1);
    return put_ranks(card, job, ranks, want.n_ranks, timeout_s);
}

int fpga_job_stop(struct fpga *card, const struct fpga_job *job, double timeout_s)
{
    struct fpga_op ops[] = {{.at = REG_JOB_INDEX, .value = job->index},
                            {.at = REG_JOB_COMMIT, .value = 0}};
    size_t done;
    return card->ops->batch(card, ops, 2, &done, timeout_s);
}

int fpga_job_seen(struct fpga *card, const struct fpga_job *job, double timeout_s, uint32_t *rank,
                  struct fpga_rank *from)
{
    struct fpga_op ops[] = {{.at = REG_SEEN_RANK, .read = true},
                            {.at = REG_SEEN_IP, .read = true},
                            {.at = REG_SEEN_PORT, .read = true}};
    const size_t n = sizeof ops / sizeof *ops;
    size_t done;
    TRY(card->ops->batch(card, ops, n, &done, timeout_s));
    if (done < n || !(ops[0].value >> 31) || (ops[0].value >> 16 & 0x7fff) != job->index)
        return 0;
    *rank = ops[0].value & 0xffff;
    *from = (struct fpga_rank){ops[1].value, (uint16_t)ops[2].value};
    return 1;
}
