/* allreduce_card.h : counts the cost on cards of an all-reduce of bench_allreduce. */
#ifndef ALLREDUCE_CARD_H
#define ALLREDUCE_CARD_H
#include "base/err.h"
#include "hls/card/card.h"
#include "job/job.h"

struct through_card {
    struct offload *offload;      /* NULL: MPI */
    struct card_path_count start; /* before the counted runs */
    struct fpga_time start_time;  /* of all cards */
};

/* Returns the work of all cards so far, and the clocks of the busiest; 0 unless `asks` (rank 0). */
static inline struct fpga_time card_times(struct offload *o, bool asks)
{
    struct fpga_time sum = {0}, one;
    for (int i = 0; asks && i < offload_n_cards(o); i++)
        if (offload_card_time(o, i, &one)) {
            sum.clocks = one.clocks > sum.clocks ? one.clocks : sum.clocks;
            sum.beats_in += one.beats_in;
            sum.beats_out += one.beats_out;
        }
    return sum;
}

/* Refuse a job without its cards. Collective. Returns 0, or -EIO after rank 0 has reported an
 * error. */
static inline int card_check(struct through_card *c, const struct job *job)
{
    c->offload = job->offload;
    if (!c->offload || offload_is_open(c->offload))
        return 0;
    return comm_rank(job->comm) > 0
               ? -EIO
               : ERR(-EIO, "cannot measure offload: %s", offload_why(c->offload));
}

static inline void card_begin(struct through_card *c, bool asks)
{
    if (!c->offload)
        return;
    c->start = offload_card_path.counted(c->offload);
    c->start_time = card_times(c->offload, asks);
}

/* Means per run; packets and resent are this rank's, clocks those of the busiest card. */
struct card_cost {
    double packets, resent, clocks, line_s;
};
static inline struct card_cost card_cost_of(const struct through_card *c, bool asks, double runs)
{
    const struct card_path_count now = offload_card_path.counted(c->offload);
    const double clocks =
        (double)(card_times(c->offload, asks).clocks - c->start_time.clocks) / runs;
    return (struct card_cost){(double)(now.packets - c->start.packets) / runs,
                              (double)(now.resent - c->start.resent) / runs, clocks,
                              clocks / (1e6 * CARD_MHZ)};
}

#endif
