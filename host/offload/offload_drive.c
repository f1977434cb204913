/* offload_drive.c : drives the window until its work is done or the step is abandoned. */
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "offload/offload_inside.h"
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { SPINS = 10, YIELDS = 30 };
/* time between polls of MPI and control connections; longer while packets
 * arrive, because polls cost time */
static const double idle_look_s = 1e-3, busy_look_s = 8e-3;

/* Ranks and the card may share cores. Sleeping lets packets accumulate for one receive call.
 * Blocking in poll() was slower, because it wakes the rank for each packet. */
static void pause_between_polls(struct comm *c, unsigned n_idle)
{
    const unsigned n_here = (unsigned)comm_n_here(c);
    comm_yield(c);
    if (n_idle < SPINS)
        return;
    if (n_idle < YIELDS)
        sched_yield();
    else if (n_idle % n_here == 0) /* one sleep for all virtual ranks of the process */
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

/* Only the vote can tell whether the ranks are late or the card's report is wrong. */
static void blame_for_stragglers(struct offload *o)
{
    const uint64_t missing = window_missing(o->window);
    char list[160];
    struct text late = text_in(list, sizeof list);
    for (int r = 0; r < o->n_masters; r++)
        if (missing >> r & 1)
            text_add(&late, "%s%d", late.n ? ", " : "", r * o->near);
    o->abandon_card = o->members[window_lost(o->window)];
    snprintf(o->abandon_why, sizeof o->abandon_why, "card %s has waited %g s for packets of %s %s",
             o->names[o->abandon_card], o->others_s, comm_rank_word(o->comm), list);
}

/* True if a control connection is lost or another rank has abandoned the path. */
static bool over(struct offload *o, bool in_step)
{
    for (int i = 0; i < o->n_cards; i++)
        if (o->cards[i].ops && !o->cards[i].ops->alive(&o->cards[i])) {
            snprintf(o->abandon_why, sizeof o->abandon_why, "%s", o->cards[i].why);
            o->abandon_card = i;
            return true;
        }
    return in_step && comm_abandoned(o->comm);
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
            snprintf(o->abandon_why, sizeof o->abandon_why, "%s", window_why(o->window));
            o->abandon_card = o->members[window_lost(o->window)];
            end = true;
            break;
        case WINDOW_STRAGGLER:
            blame_for_stragglers(o);
            end = true;
            break;
        case WINDOW_BUSY:
            break;
        }
        if (!end && now - looked_at > (n_idle ? idle_look_s : busy_look_s)) {
            looked_at = now;
            end = over(o, in_step);
        }
        if (end)
            return CARD_PATH_ABANDONED;
        n_idle = moved ? 0 : n_idle + 1;
        pause_between_polls(o->comm, n_idle);
    }
}

struct card_path_count offload_counted(const struct offload *o)
{
    struct card_path_count count =
        o->window ? window_counted(o->window) : (struct card_path_count){0};
    count.packets += o->before.packets;
    count.resent += o->before.resent;
    count.pings += o->before.pings;
    count.stale += o->before.stale;
    count.sent_bytes += o->before.sent_bytes;
    count.received_bytes += o->before.received_bytes;
    return count;
}
