/* offload_reason.c : collects on rank 0 why ranks have abandoned cards. */
#include "base/err.h"
#include "base/inet.h"
#include "hls/card/packet.h"
#include "offload/offload_inside.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ask_s = 0.2;

/* why: "" if this rank has no reason of its own */
struct reason {
    int card;
    bool group_failed; /* the cause is the group, not the card */
    char why[OFFLOAD_WHY_BYTES];
};

/* reasons: [n_ranks], of which only masters have any.
 *
 * A NAT is likely if the card saw an abandoning rank's packets from an unregistered address. */
static void look_for_nat(struct offload *o, int card, const struct reason *reasons)
{
    struct fpga *f = &o->cards[card];
    struct fpga_rank from;
    uint32_t at;
    char is[INET_TEXT], seen[INET_TEXT];
    if (!f->ops->alive(f) || fpga_job_seen(f, &o->jobs[card], ask_s, &at, &from) != 1 ||
        at >= (uint32_t)o->n_masters)
        return;
    const int r = (int)at * o->near;
    const struct fpga_rank *own = &o->ranks[card][at];
    if (!reasons[r].why[0] || reasons[r].card != card)
        return;
    snprintf(
        o->why, sizeof o->why,
        "rank %d registered %s at card %s, which receives its packets from %s: is there a NAT?", r,
        inet_text(own->ip, own->port, is), f->name, inet_text(from.ip, from.port, seen));
}

/* Abandons the group if a rank does not receive it, or if none has a reason (digests differed). */
static void look_at_group(struct offload *o, const struct reason *reasons)
{
    char why[OFFLOAD_WHY_BYTES + 16] =
        "ranks received different sums: another sender answers instead of a card";
    bool any = false;
    for (int r = comm_n_ranks(o->comm) - 1; r >= 0; r--) {
        any = any || reasons[r].why[0];
        if (reasons[r].group_failed) {
            o->group_failed = true;
            snprintf(why, sizeof why, "rank %d: %s", r, reasons[r].why);
        }
    }
    o->group_failed = o->group_failed || !any;
    if (o->group_failed)
        offload_group_abandon(o, why);
}

static void learn(struct offload *o, const struct reason *all)
{
    snprintf(o->why, sizeof o->why, "a rank abandoned the card path");
    o->blamed = 0;
    for (int r = comm_n_ranks(o->comm) - 1; r >= 0; r--)
        if (all[r].why[0] && !all[r].group_failed) {
            snprintf(o->why, sizeof o->why, "%s", all[r].why);
            o->blamed |= 1u << all[r].card;
        }
    for (int k = 0; k < o->n_members; k++)
        look_for_nat(o, o->members[k], all);
    if (o->group.ip)
        look_at_group(o, all);
}

int offload_learn_why(struct offload *o)
{
    const bool first = comm_rank(o->comm) == 0;
    const size_t n_ranks = (size_t)comm_n_ranks(o->comm);
    struct reason mine = {.card = o->abandon_card,
                          .group_failed = o->window && window_group_failed(o->window)},
                  *all = first ? calloc(n_ranks, sizeof *all) : NULL;
    if (first && !all)
        comm_abort(o->comm, ERR(-ENOMEM, "no memory for the reasons of %zu ranks", n_ranks));
    memcpy(mine.why, o->abandon_why, sizeof mine.why);
    o->group_failed = false;
    const int rc = comm_gather(o->comm, &mine, sizeof mine, all);
    if (!rc && first)
        learn(o, all);
    free(all);
    TRY(rc);
    return o->group.ip || o->group_failed ? comm_bcast(o->comm, &o->group, sizeof o->group, 0) : 0;
}
