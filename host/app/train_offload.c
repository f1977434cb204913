/* train_offload.c : a run's gradients through cards in the network: opened once, said in one line;
 * from then on the way is open or closed from step to step (reduce/way.h). */
#include "app/reduce_card.h"
#include "app/train.h"
#include "base/err.h"

int train_offload_open(struct train *t)
{
    const struct train_options *o = t->o;
    if (!t->choice.cards)
        return 0;
    const struct offload_options options = {.where = t->choice.cards,
                                            .provider = o->fabric,
                                            .local = o->fabric_address,
                                            .slots = (int)o->card_slots,
                                            .card_deadline_s = o->card_deadline,
                                            .deadline_s = o->deadline};
    TRY(offload_open(t->comm, codec_sum(&t->codec), &options, &t->offload));
    reducer_set_way(t->reducer, &offload_way, t->offload);
    return 0;
}

void train_offload_say(struct train *t)
{
    if (t->rank > 0)
        return;
    if (t->offload && offload_is_open(t->offload))
        fprintf(stderr, "all-reduce: offload through %s\n", offload_describe(t->offload));
    else if (t->offload)
        fprintf(stderr, "all-reduce: %s until a card answers: %s\n", t->algo->name,
                offload_why(t->offload));
    else if (t->choice.why)
        fprintf(stderr, "all-reduce: %s: %s\n", t->algo->name, t->choice.why);
}

static void print_cards(struct offload *offload)
{
    for (int i = 0; i < offload_n_cards(offload); i++) {
        struct fpga_time time;
        if (offload_card_time(offload, i, &time) && time.clocks > 0)
            printf("card %d         %llu clocks busy, %.1f ms at %d MHz, the estimate; %.2f beats "
                   "a clock\n",
                   i, (unsigned long long)time.clocks, 1e-3 * (double)time.clocks / REDUCE_CARD_MHZ,
                   REDUCE_CARD_MHZ, (double)time.beats_in / (double)time.clocks);
    }
}

void train_offload_print(const struct train *t)
{
    const struct report *r = &t->report;
    if (!t->offload)
        return;
    const struct way_count c = offload_way.counted(t->offload);
    printf("offload        %llu of %.0f steps; %llu buckets repeated by %s\n",
           (unsigned long long)r->steps_by_way, r->all.steps, (unsigned long long)r->redone,
           t->algo->name);
    printf("packets        %llu of rank 0, %llu sent again; a card answers in %.0f us\n",
           (unsigned long long)c.packets, (unsigned long long)c.resent, 1e6 * c.rtt_s);
    print_cards(t->offload);
}

void train_offload_close(struct train *t)
{
    offload_close(t->offload);
}
