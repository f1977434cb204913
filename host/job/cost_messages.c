/* cost_messages.c : seconds of messages: the legs of an algorithm on links of a speed. */
#include "job/cost.h"

enum {
    TCP_HEADERS = 52, /* IP, TCP and its time stamps */
    ETHERNET = 38     /* header, check sum, preamble, gap */
};

double cost_payload_s(double bps, int mtu)
{
    return bps / 8 * (mtu - TCP_HEADERS) / (mtu + ETHERNET);
}

double cost_together(double x, double y, double unhidden)
{
    return x > y ? x + unhidden * y : y + unhidden * x;
}

double cost_collective_s(const struct cost_cluster *cluster, double message_s, size_t bytes)
{
    int rounds = 0;
    while (rounds < 31 && 1 << rounds < cluster->n_ranks)
        rounds++;
    return rounds * (cluster->latency_s + message_s +
                     (double)bytes / cost_payload_s(cluster->link_bps, cluster->mtu));
}

static uint64_t larger(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

/* One step of a leg, each part alone. */
struct step_time {
    double waits, wire, port, adds;
};
static struct step_time time_step(const struct cost_cluster *cluster,
                                  const struct cost_rates *rates, const struct algo_leg *leg)
{
    const double bps =
        leg->inside && cluster->node_link_bps > 0 ? cluster->node_link_bps : cluster->link_bps;
    const double messages = leg->n_sent > leg->n_got ? leg->n_sent : leg->n_got;
    return (struct step_time){.waits = cluster->latency_s + messages * rates->message_s,
                              .wire = (double)larger(leg->sent, leg->got) /
                                      cost_payload_s(bps, cluster->mtu),
                              .port = (double)(leg->sent + leg->got) * rates->port_s,
                              .adds = (double)leg->added_bytes * rates->add_s};
}

void cost_messages(const struct cost_job *job, const struct cost_cluster *cluster, int kind,
                   const struct fold *f, size_t n, struct cost *sum)
{
    const struct cost_rates *rates = &job->rates[kind];
    const double decodes = 4 * (double)n * rates->decode_s;
    struct algo_leg legs[ALGO_LEGS];
    const int n_legs = job->algo->legs(f, n, cluster->n_ranks, job->group, legs);
    double waits = 0, wire = 0, port = 0, adds = 0, one_by_one = 0;
    for (int i = 0; i < n_legs; i++) {
        const struct step_time t = time_step(cluster, rates, &legs[i]);
        const double steps = legs[i].steps;
        waits += steps * t.waits, wire += steps * t.wire;
        port += steps * t.port, adds += steps * t.adds;
        one_by_one += steps * (t.waits + cost_together(t.wire, t.port, rates->unhidden) + t.adds);
        sum->steps += (uint64_t)legs[i].steps;
        sum->bytes += (uint64_t)legs[i].steps * larger(legs[i].sent, legs[i].got);
    }
    if (n_legs == 0) /* one rank: its codes, rounded as a sum */
        adds = one_by_one = (double)f->ops->in_bytes(f, n) * rates->add_s;
    sum->latency_s += waits, sum->wire_s += wire;
    sum->port_s += port, sum->add_s += adds, sum->cast_s += decodes;
    sum->reduce_s += job->algo->flows
                         ? waits + cost_together(wire, port + adds + decodes, rates->unhidden)
                         : one_by_one + decodes;
}
