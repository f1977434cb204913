/* offload_way.c : the way of a step through cards: exponents, sums, and what is done when one has
 * to be given up. */
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/text.h"
#include "hls/packet.h"
#include "offload/offload_inside.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SPINS = 10, YIELDS = 30 };
static const double look_s = 1e-3, reach_s = 0.2;

/* Ranks and the card may share cores: at once for a few polls, then after the others, then asleep
 * for a moment: in which more comes that is taken in one go. (Waiting for the first packet in
 * poll() was slower: it wakes a rank for each.) */
static void pause_between_polls(unsigned n_idle)
{
    if (n_idle < SPINS)
        return;
    if (n_idle < YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

/* Names who has not sent anything, by the lowest rank that has, and ends the job. */
static void end_with_stragglers(struct offload *o)
{
    const uint64_t missing = window_missing(o->window);
    char list[160];
    struct text late = text_in(list, sizeof list);
    int speaker = 0;
    for (int r = 0; r < comm_n_ranks(o->comm); r++) {
        if (missing >> r & 1)
            text_add(&late, "%s%d", late.n ? ", " : "", r);
        speaker += speaker == r && missing >> r & 1;
    }
    if (comm_rank(o->comm) == speaker)
        err_news("the cards wait for rank %s, for longer than %g s", list, o->deadline_s);
    comm_missing(o->comm);
}

/* Does anything but the window say that it is over? */
static bool over(struct offload *o, bool in_step)
{
    for (int i = 0; i < o->n_cards; i++)
        if (o->cards[i].ops && !o->cards[i].ops->alive(&o->cards[i])) {
            snprintf(o->gave_up_why, sizeof o->gave_up_why,
                     "card %s has closed its control connection", o->names[i]);
            o->gave_up_card = i;
            return true;
        }
    return in_step && comm_given_up(o->comm);
}

int offload_drive(struct offload *o, bool in_step)
{
    unsigned n_idle = 0;
    for (double looked_at = clock_s();;) {
        const double now = clock_s();
        bool moved, end = false;
        switch (window_turn(o->window, now, &moved)) {
        case WINDOW_DONE:
            return 0;
        case WINDOW_LOST:
            snprintf(o->gave_up_why, sizeof o->gave_up_why, "%s", window_why(o->window));
            o->gave_up_card = o->members[window_lost(o->window)];
            end = true;
            break;
        case WINDOW_STRAGGLER:
            end_with_stragglers(o);
            break;
        case WINDOW_BUSY:
            break;
        }
        if (!end && now - looked_at > look_s) {
            looked_at = now;
            end = over(o, in_step);
        }
        if (end)
            return WAY_GAVE_UP;
        n_idle = moved ? 0 : n_idle + 1;
        pause_between_polls(n_idle);
    }
}

/* ---- struct way_ops ---- */

/* Without some of the cards: begins again with one that is back. */
static int regain(struct offload *o)
{
    int8_t n_back = comm_rank(o->comm) == 0 ? (int8_t)offload_reach(o, reach_s) : 0;
    TRY(comm_bcast(o->comm, &n_back, sizeof n_back, 0));
    if (!n_back)
        return 1;
    offload_leave(o);
    return offload_join(o, reach_s);
}

static int way_begin(void *way)
{
    struct offload *o = way;
    o->gave_up = false;
    o->gave_up_why[0] = 0;
    if (!o->open)
        return offload_join(o, reach_s);
    return o->n_members == o->n_cards ? 1 : regain(o);
}

/* Drives what was started. Who has a reason to give up tells the others; who heard of it need
 * not. */
static int drive(struct offload *o)
{
    int rc = offload_drive(o, true);
    if (rc != WAY_GAVE_UP)
        return rc;
    o->gave_up = true;
    if (o->gave_up_why[0])
        TRY(comm_give_up(o->comm));
    return WAY_GAVE_UP;
}

static int way_max(void *way, uint32_t tag, int8_t *x, size_t n)
{
    struct offload *o = way;
    if (!o->open || o->gave_up)
        return WAY_GAVE_UP;
    window_start_max(o->window, tag, x, n, clock_s());
    return drive(o);
}

static int way_sum(void *way, const struct way_sum *sum)
{
    struct offload *o = way;
    if (!o->open || o->gave_up) {
        algo_need(&sum->flow, 0, sum->n);
        return WAY_GAVE_UP;
    }
    window_start_sum(o->window, sum, clock_s());
    int rc = drive(o);
    if (rc)
        window_need_rest(o->window);
    return rc;
}

/* Why a rank gives up, and the card that it is about; why "": it has no reason of its own. */
struct reason {
    int card;
    char why[OFFLOAD_WHY_BYTES];
};

/* Rank 0: does the card hear a rank that gave up from another address than the one that the rank
 * has? That is the better reason. */
static void look_for_nat(struct offload *o, int card, const struct reason *reasons)
{
    struct fpga *f = &o->cards[card];
    struct fpga_rank from;
    uint32_t r;
    char is[INET_TEXT], seen[INET_TEXT];
    if (!f->ops->alive(f) || fpga_job_seen(f, &o->jobs[card], reach_s, &r, &from) != 1 ||
        r >= (uint32_t)comm_n_ranks(o->comm) || !reasons[r].why[0] || reasons[r].card != card)
        return;
    const struct fpga_rank *own = &o->ranks[card][r];
    snprintf(o->why, sizeof o->why,
             "rank %u registered %s at card %s, which sees %s: is there a NAT?", r,
             inet_text(own->ip, own->port, is), f->name, inet_text(from.ip, from.port, seen));
}

int offload_learn_why(struct offload *o)
{
    struct reason mine = {.card = o->gave_up_card}, all[PKT_MAX_RANKS] = {{0}};
    memcpy(mine.why, o->gave_up_why, sizeof mine.why);
    TRY(comm_gather(o->comm, &mine, sizeof mine, all));
    if (comm_rank(o->comm))
        return 0;
    snprintf(o->why, sizeof o->why, "a rank gave it up");
    o->blamed = 0;
    for (int r = comm_n_ranks(o->comm) - 1; r >= 0; r--)
        if (all[r].why[0]) {
            snprintf(o->why, sizeof o->why, "%s", all[r].why);
            o->blamed |= 1u << all[r].card;
        }
    for (int k = 0; k < o->n_members; k++)
        look_for_nat(o, o->members[k], all);
    return 0;
}

static int way_end(void *way, bool failed)
{
    struct offload *o = way;
    if (!failed || !o->open)
        return 0;
    TRY(offload_learn_why(o));
    if (comm_rank(o->comm) == 0)
        offload_blame(o, o->blamed, 0);
    offload_leave(o);
    if (comm_rank(o->comm) == 0 && !offload_n_reached(o))
        offload_say_closed(o);
    return 0;
}

static struct way_count way_counted(const void *way)
{
    const struct offload *o = way;
    struct way_count count = o->window ? window_counted(o->window) : (struct way_count){0};
    count.packets += o->before.packets;
    count.resent += o->before.resent;
    count.pings += o->before.pings;
    count.stale += o->before.stale;
    count.sent_bytes += o->before.sent_bytes;
    count.received_bytes += o->before.received_bytes;
    return count;
}

const struct way_ops offload_way = {way_begin, way_max, way_sum, way_end, way_counted};
