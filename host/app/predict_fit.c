/* predict_fit.c : what all-reduces that were measured tell of messages: the value of one number at a
 * time with which the formulas meet each of them; the median of these.
 *
 *     latency     short ones, over any link        port rate   long ones, no limit
 *     unhidden    long ones over links             card        short and long ones through a card */
#include "app/predict.h"
#include "base/err.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 4096, LONG = 1 << 20 }; /* bytes of fp32 */
static const double no_limit_bps = 1e15;

enum fitted { LATENCY, PORT, UNHIDDEN, CARD_RTT, CARD };

/* Ranks that shared a core when the row was measured. */
static double per_core_of(const struct predict_options *o, int n_ranks)
{
    return fmax(1, (double)n_ranks / (double)o->rates_cores);
}

/* Seconds by the formulas, with x for what is fitted; negative: no such all-reduce, or no memory. */
static double formula(const struct predict_options *o, const struct predict_rates *r,
                      const struct predict_time_row *row, enum fitted what, double x)
{
    const struct reducer_layer layer = {.name = "", .n = (size_t)row->bytes / 4};
    const struct predict_messages known = predict_messages_of(r, row->algo);
    struct predict_way way;
    struct cost cost;
    err_hold();
    const int rc = predict_settle(o, row->algo, row->type, row->n_ranks, &way);
    err_release(false);
    if (rc < 0)
        return -1;
    const double per_core = per_core_of(o, row->n_ranks);
    for (int i = 0; i < 2; i++) {
        struct cost_rates *to = &way.rates[i];
        *to = predict_rates_of(r, &way.codecs[i]);
        to->encode_s *= per_core, to->decode_s *= per_core, to->add_s *= per_core;
        to->port_s = (what == PORT ? x : known.port_s) * per_core;
        to->unhidden = what == UNHIDDEN ? x : known.unhidden;
    }
    const struct cost_cluster cluster = {.n_ranks = row->n_ranks,
                                         .link_bps = row->bps > 0 ? row->bps : no_limit_bps,
                                         .latency_s = what == LATENCY ? x : fmax(r->latency_s, 0),
                                         .mtu = (int)o->mtu,
                                         .card_bytes_s = what == CARD ? 1 / x : 0,
                                         .card_rtt_s =
                                             what == CARD_RTT ? x : fmax(r->card_rtt_s, 0),
                                         .card_slots = (int)o->card_slots};
    const struct cost_job job = {.layers = &layer,
                                 .n_layers = 1,
                                 .codecs = way.codecs,
                                 .algo = way.algo,
                                 .group = way.group,
                                 .by_card = way.by_card,
                                 .bucket_bytes = 1,
                                 .rates = way.rates};
    return cost_step(&job, &cluster, &cost) < 0 ? -1 : cost.step_s;
}

/* The value in 0..most with which the formula meets the row; it grows with it. */
static double meet(const struct predict_options *o, const struct predict_rates *r,
                   const struct predict_time_row *row, enum fitted what, double most)
{
    double low = 0, high = most;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (formula(o, r, row, what, middle) < row->seconds)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static bool tells(const struct predict_time_row *row, enum fitted what)
{
    const bool by_card = !strcmp(row->algo, "offload");
    switch (what) {
    case LATENCY:
        return row->bytes <= SHORT && !by_card && row->n_ranks > 1;
    case PORT:
        return row->bytes >= LONG && row->bps == 0 && !by_card && row->n_ranks > 1;
    case UNHIDDEN:
        return row->bytes >= LONG && row->bps > 0 && !by_card && row->n_ranks > 1;
    case CARD_RTT:
        return row->bytes <= SHORT && by_card;
    default:
        return row->bytes >= LONG && by_card;
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the rows of an algorithm; NULL: of all. -1: no row tells. */
static double median_of(const struct predict_options *o, const struct predict_rates *r,
                        const char *algo, enum fitted what, double most)
{
    double found[PREDICT_TIMES];
    size_t n = 0;
    for (int i = 0; i < r->n_times; i++)
        if ((!algo || !strcmp(algo, r->times[i].algo)) && tells(&r->times[i], what) &&
            formula(o, r, &r->times[i], what, most / 2) > 0)
            found[n++] = meet(o, r, &r->times[i], what, most);
    if (n == 0)
        return -1;
    qsort(found, n, sizeof *found, by_size);
    return n % 2 ? found[n / 2] : (found[n / 2 - 1] + found[n / 2]) / 2;
}

struct predict_messages predict_messages_of(const struct predict_rates *r, const char *algo)
{
    struct predict_messages m = r->all;
    for (int i = 0; i < r->n_of; i++)
        if (!strcmp(algo, r->of[i].algo)) {
            m.port_s = r->of[i].port_s >= 0 ? r->of[i].port_s : m.port_s;
            m.unhidden = r->of[i].unhidden >= 0 ? r->of[i].unhidden : m.unhidden;
        }
    m.port_s = fmax(m.port_s, 0);
    m.unhidden = fmax(m.unhidden, 0);
    return m;
}

static void list_algos(struct predict_rates *r)
{
    for (int i = 0; i < r->n_times && r->n_of < PREDICT_LIST; i++) {
        int k = 0;
        while (k < r->n_of && strcmp(r->of[k].algo, r->times[i].algo) != 0)
            k++;
        if (k == r->n_of) {
            struct predict_messages *m = &r->of[r->n_of++];
            memcpy(m->algo, r->times[i].algo, sizeof m->algo);
            m->port_s = m->unhidden = -1;
        }
    }
}

void predict_fit(const struct predict_options *o, struct predict_rates *r)
{
    r->latency_s = median_of(o, r, NULL, LATENCY, 1);
    list_algos(r);
    r->all.port_s = median_of(o, r, NULL, PORT, 1e-6);
    for (int i = 0; i < r->n_of; i++)
        r->of[i].port_s = median_of(o, r, r->of[i].algo, PORT, 1e-6);
    r->all.unhidden = median_of(o, r, NULL, UNHIDDEN, 1);
    for (int i = 0; i < r->n_of; i++)
        r->of[i].unhidden = median_of(o, r, r->of[i].algo, UNHIDDEN, 1);
    r->card_rtt_s = median_of(o, r, NULL, CARD_RTT, 1);
    const double card_s = median_of(o, r, NULL, CARD, 1e-6);
    r->card_bytes_s = card_s > 0 ? 1 / card_s : -1;
}
