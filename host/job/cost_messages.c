/* cost_messages.c : models the time of messages, phase by phase of an algorithm. */
#include "job/cost.h"
#include <math.h>

enum { TCP_HEADERS = 52 }; /* IP, TCP and time stamps */

double cost_payload_s(double bps, int mtu)
{
    return bps / 8 * (mtu - TCP_HEADERS) / (mtu + COST_ETHERNET);
}

double cost_at(const struct cost_curve *c, double bytes)
{
    int i = 0;
    while (i < c->n && c->bytes[i] < bytes)
        i++;
    if (i == 0 || i == c->n)
        return c->n == 0 ? 0 : c->at[i == 0 ? 0 : i - 1];
    const double x = log(bytes / c->bytes[i - 1]) / log(c->bytes[i] / c->bytes[i - 1]);
    return c->at[i - 1] + x * (c->at[i] - c->at[i - 1]);
}

struct cost_curve cost_flat(double value)
{
    return (struct cost_curve){.n = 1, .bytes = {1}, .at = {value}};
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

double cost_wire_s(const struct cost_cluster *cluster, struct cost *sum, double bytes,
                   double payload_s)
{
    const double at_once = fmin(bytes, cluster->burst_bytes - sum->burst_gone);
    sum->burst_gone += at_once;
    return (bytes - at_once) / payload_s;
}

/* Returns the bytes of a step that pass a machine's port, divided by those of its busiest rank. */
static double port_share(const struct cost_job *job, const struct cost_cluster *cluster,
                         const struct algo_phase *phase)
{
    const int near = cluster->near, group = job->group > 0 ? job->group : 1;
    if (near <= 1)
        return 1;
    /* A step is among members that are stride ranks apart. */
    const int stride = phase->inside ? 1 : group,
              members = phase->inside ? group : cluster->n_ranks / group;
    const int here = near < stride ? 1 : near / stride < members ? near / stride : members;
    const bool ring = phase->n_sent <= 1 && phase->n_got <= 1;
    if (here == members)
        return 0;
    return ring ? 1 : fmin(near, stride) * here * (members - here) / (members - 1);
}

struct step_time {
    double waits, bytes, payload_s, port, adds;
    double near_s; /* of links inside nodes, which work at the same time as others */
};
static struct step_time time_step(const struct cost_job *job, const struct cost_cluster *cluster,
                                  const struct cost_rates *rates, double port_s,
                                  const struct algo_phase *phase)
{
    const bool by_node_link = phase->inside && cluster->node_link_bps > 0;
    const double bps = by_node_link ? cluster->node_link_bps : cluster->link_bps;
    const double share = by_node_link ? 1 : port_share(job, cluster, phase);
    const double messages = phase->n_sent > phase->n_got ? phase->n_sent : phase->n_got;
    return (struct step_time){.waits = cluster->latency_s + messages * rates->message_s,
                              .bytes = share * (double)larger(phase->sent, phase->got),
                              .payload_s = cost_payload_s(bps, cluster->mtu),
                              .port = (double)(phase->sent + phase->got) * port_s,
                              .adds = (double)phase->added_bytes * rates->add_s};
}

/* Wire and CPU overlap. Waits and additions that depend on messages do not overlap, and refill the
 * burst. */
static void take(const struct cost_cluster *cluster, const struct step_time *t, double cpu,
                 double adds, double unhidden, struct cost *sum)
{
    const double wire = fmax(t->near_s, cost_wire_s(cluster, sum, t->bytes, t->payload_s)),
                 rest = t->waits + adds;
    sum->wire_s += wire;
    sum->reduce_s += rest + cost_together(wire, cpu, unhidden);
    sum->burst_gone = fmax(0, sum->burst_gone - rest * t->payload_s);
}

void cost_messages(const struct cost_job *job, const struct cost_cluster *cluster, int kind,
                   const struct reduce_op *f, size_t n, struct cost *sum)
{
    const struct cost_rates *rates = &job->rates[kind];
    const double bytes = 4 * (double)n, decodes = bytes * rates->decode_s;
    const double port_s = cost_at(&rates->port_s, bytes),
                 unhidden = cost_at(&rates->unhidden, bytes);
    struct algo_phase phases[ALGO_PHASES];
    const int n_phases = job->algo->phases(f, n, cluster->n_ranks, job->group, phases);
    struct step_time all = {.payload_s = cost_payload_s(cluster->link_bps, cluster->mtu)};
    for (int i = 0; i < n_phases; i++) {
        const struct step_time t = time_step(job, cluster, rates, port_s, &phases[i]);
        const double steps = phases[i].steps;
        all.waits += steps * t.waits;
        if (phases[i].inside && cluster->node_link_bps > 0)
            all.near_s += steps * t.bytes / t.payload_s;
        else
            all.bytes += steps * t.bytes;
        all.port += steps * t.port, all.adds += steps * t.adds;
        for (int step = 0; step < phases[i].steps && !job->algo->flows; step++)
            take(cluster, &t, t.port, t.adds, unhidden, sum);
        sum->steps += (uint64_t)phases[i].steps;
        sum->bytes += (uint64_t)(steps * t.bytes);
    }
    if (job->algo->flows && n_phases > 0) {
        take(cluster, &all, all.port + all.adds + decodes, 0, unhidden, sum);
    } else {
        if (n_phases == 0) { /* one rank: codes are rounded like a sum */
            all.adds = (double)f->ops->in_bytes(f, n) * rates->add_s;
            sum->reduce_s += all.adds;
        }
        sum->reduce_s += decodes;
    }
    sum->latency_s += all.waits, sum->port_s += all.port;
    sum->add_s += all.adds, sum->cast_s += decodes;
}
