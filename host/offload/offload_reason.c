/* offload_reason.c : why ranks have given cards up, as rank 0 is to know and say it. */
#include "base/err.h"
#include "base/inet.h"
#include "hls/packet.h"
#include "offload/offload_inside.h"
#include <stdio.h>
#include <string.h>

static const double ask_s = 0.2;

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
    if (!f->ops->alive(f) || fpga_job_seen(f, &o->jobs[card], ask_s, &r, &from) != 1 ||
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
