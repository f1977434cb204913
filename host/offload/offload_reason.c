/* offload_reason.c : Collects on rank 0 why ranks have abandoned cards. */
#include "base/err.h"
#include "base/inet.h"
#include "hls/card/packet.h"
#include "offload/offload_inside.h"
#include <stdio.h>
#include <string.h>

static const double ask_s = 0.2;

/* why: "" if this rank has no reason of its own */
struct reason {
    int card;
    bool group_failed; /* the cause is the group, not the card */
    char why[OFFLOAD_WHY_BYTES];
};

/* A NAT is likely if the card saw an abandoning rank's packets from an unregistered address. */
static void look_for_nat(struct offload *o, int card, const struct reason *reasons)
{
    struct fpga *f = &o->cards[card];
    struct fpga_rank from;
    uint32_t r;
    char is[INET_TEXT], seen[INET_TEXT];
    if (!f->ops->alive(f) || fpga_job_seen(f, &o->jobs[card], ask_s, &r, &from) != 1 ||
        r >= (uint32_t)comm_n_ranks(o->comm) || !reasons[r].why[0] || reasons[r].card != card)
        return;
    const struct fpga_rank *own = &o->ranks[card][r];
    snprintf(
        o->why, sizeof o->why,
        "rank %u registered %s at card %s, which receives its packets from %s: is there a NAT?", r,
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

int offload_learn_why(struct offload *o)
{
    struct reason mine = {.card = o->abandon_card, .group_failed = window_group_failed(o->window)},
                  all[PKT_MAX_RANKS] = {{0}};
    memcpy(mine.why, o->abandon_why, sizeof mine.why);
    o->group_failed = false;
    TRY(comm_gather(o->comm, &mine, sizeof mine, all));
    if (comm_rank(o->comm) == 0) {
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
    return o->group.ip || o->group_failed ? comm_bcast(o->comm, &o->group, sizeof o->group, 0) : 0;
}
