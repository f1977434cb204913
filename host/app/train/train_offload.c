/* train_offload.c : prints how cards in the network and in this machine are used. */
#include "hls/card/card.h"
#include "app/train/train.h"
#include "base/err.h"

void train_offload_say(struct train *t)
{
    char line[2048];
    struct text path = text_in(line, sizeof line);
    if (t->rank == 0)
        job_path(&t->job, &path);
    if (path.n)
        err_note("all-reduce: %s", line);
}

void train_offload_added(const struct train *t, struct text *to)
{
    const struct report *r = &t->report;
    if (r->steps_by_card > 0)
        text_add(to, "offload");
    if (r->steps_by_card > 0 && (double)r->steps_by_card >= r->all.steps)
        return;
    if (r->steps_by_card > 0)
        text_add(to, " in %llu of %.0f steps, else ", (unsigned long long)r->steps_by_card,
                 r->all.steps);
    job_algo(&t->job, to);
}

static void print_cards(struct offload *offload)
{
    for (int i = 0; i < offload_n_cards(offload); i++) {
        struct fpga_time time;
        if (offload_card_time(offload, i, &time) && time.clocks > 0)
            printf("card %d         %llu clocks busy, %.1f ms at %d MHz, the estimate; %.2f beats "
                   "a clock\n",
                   i, (unsigned long long)time.clocks, 1e-3 * (double)time.clocks / CARD_MHZ,
                   CARD_MHZ, (double)time.beats_in / (double)time.clocks);
    }
}

void train_offload_print(const struct train *t)
{
    const struct report *r = &t->report;
    char line[320];
    struct text text = text_in(line, sizeof line);
    if (t->job.node) {
        node_sum_count(t->job.node, &text);
        printf("node sums      %s\n", line);
    }
    if (!t->job.offload)
        return;
    const struct card_path_count c = offload_card_path.counted(t->job.offload);
    text = text_in(line, sizeof line);
    job_algo(&t->job, &text);
    printf("offload        %llu of %.0f steps; %llu buckets repeated by %s\n",
           (unsigned long long)r->steps_by_card, r->all.steps, (unsigned long long)r->redone, line);
    printf("packets        %llu of %s 0, %llu sent again", (unsigned long long)c.packets,
           comm_rank_word(t->comm), (unsigned long long)c.resent);
    printf(c.rtt_s > 0 ? "; a card answers in %.0f us\n" : "\n", 1e6 * c.rtt_s);
    print_cards(t->job.offload);
}
