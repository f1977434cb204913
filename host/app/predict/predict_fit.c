/* predict_fit.c : fits the rates of messages to measured all-reduces, one number at a time. */
#include "app/predict/predict.h"
#include "base/err.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 4096, LONG = 256 << 10 }; /* bytes of fp32 */
static const double no_limit_bps = 1e15;

enum fitted { LATENCY, PORT, UNHIDDEN, CARD_RTT, CARD };

/* Returns the formulas' seconds for the fitted number x; negative without such an all-reduce or
 * memory. */
static double formula(const struct predict_options *o, const struct predict_rates *r,
                      const struct predict_time_row *row, enum fitted what, double x)
{
    const struct reducer_layer layer = {.name = "", .n = (size_t)row->bytes / 4};
    const struct predict_messages known = predict_messages_of(r, row->algo, row->type);
    struct predict_way way;
    struct cost cost;
    err_hold();
    const int rc = predict_settle(o, row->algo, row->type, row->n_ranks, &way);
    err_release(false);
    if (rc < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        struct cost_rates *to = &way.rates[i];
        *to = predict_rates_of(r, &way.codecs[i]);
        to->port_s = what == PORT ? cost_flat(x) : known.port_s;
        to->unhidden = what == UNHIDDEN ? cost_flat(x) : known.unhidden;
        predict_share_core(to, fmax(1, (double)row->n_ranks / (double)o->rates_cores));
    }
    const struct cost_cluster cluster = {.n_ranks = row->n_ranks,
                                         .near = (int)o->near,
                                         .link_bps = row->bps > 0 ? row->bps : no_limit_bps,
                                         .burst_bytes = (double)o->burst,
                                         .latency_s = what == LATENCY ? x : fmax(r->latency_s, 0),
                                         .mtu = (int)o->mtu,
                                         .card_link_bps = r->card_link_bps,
                                         .card_on_host = r->card_on_host,
                                         .card_s = cost_flat(what == CARD ? x : 0),
                                         .card_rtt_s =
                                             what == CARD_RTT ? x : fmax(r->card_rtt_s, 0),
                                         .card_slots = (int)o->card_slots};
    way.job.layers = &layer;
    way.job.n_layers = 1;
    way.job.bucket_bytes = 1;
    return cost_step(&way.job, &cluster, &cost) < 0 ? -1 : cost.step_s;
}

/* Finds the value for which the (growing) formula gives the row's time. */
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

static bool depends(const struct predict_options *o, const struct predict_rates *r,
                    const struct predict_time_row *row, enum fitted what, double most)
{
    const double least = formula(o, r, row, what, 0);
    return least > 0 && formula(o, r, row, what, most) > 1.001 * least;
}

static bool tells(const struct predict_rates *r, const struct predict_time_row *row,
                  enum fitted what)
{
    const bool by_card = predict_is_card(row->algo), by_cpu = !by_card || r->card_on_host;
    switch (what) {
    case LATENCY:
        return row->bytes <= SHORT && !by_card && row->n_ranks > 1;
    case PORT:
        return row->bytes >= LONG && row->bps == 0 && by_cpu && row->n_ranks > 1;
    case UNHIDDEN:
        return row->bytes >= LONG && row->bps > 0 && by_cpu && row->n_ranks > 1;
    case CARD_RTT:
        return row->bytes <= SHORT && by_card;
    default:
        return row->bytes >= LONG && by_card && !r->card_on_host;
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_of(const struct predict_messages *m, const char *algo, const char *type)
{
    return (!*m->algo || !strcmp(m->algo, algo)) && (!*m->type || !strcmp(m->type, type));
}

/* bytes: of rows, 0 for any. Returns -1 without rows. */
static double median_of(const struct predict_options *o, const struct predict_rates *r,
                        const struct predict_messages *m, enum fitted what, double bytes,
                        double most)
{
    double found[PREDICT_TIMES];
    size_t n = 0;
    for (int i = 0; i < r->n_times; i++) {
        const struct predict_time_row *row = &r->times[i];
        if (is_of(m, row->algo, row->type) && tells(r, row, what) &&
            (bytes == 0 || row->bytes == bytes) && depends(o, r, row, what, most))
            found[n++] = meet(o, r, row, what, most);
    }
    if (n == 0)
        return -1;
    qsort(found, n, sizeof *found, by_size);
    return n % 2 ? found[n / 2] : (found[n / 2 - 1] + found[n / 2]) / 2;
}

static double next_length(const struct predict_rates *r, double bytes)
{
    double next = 0;
    for (int i = 0; i < r->n_times; i++)
        if (r->times[i].bytes > bytes && (next == 0 || r->times[i].bytes < next))
            next = r->times[i].bytes;
    return next;
}

/* In a full curve the longest point replaces the last. */
static struct cost_curve curve_of(const struct predict_options *o, const struct predict_rates *r,
                                  const struct predict_messages *m, enum fitted what, double most)
{
    struct cost_curve c = {.n = 0};
    for (double bytes = 0; (bytes = next_length(r, bytes)) > 0;) {
        const double found = median_of(o, r, m, what, bytes, most);
        if (found < 0)
            continue;
        const int i = c.n < COST_POINTS ? c.n++ : COST_POINTS - 1;
        c.bytes[i] = bytes, c.at[i] = found;
    }
    return c;
}

struct predict_messages predict_messages_of(const struct predict_rates *r, const char *algo,
                                            const char *type)
{
    struct predict_messages out = {.algo = ""};
    for (int i = 0; i < r->n_of; i++) {
        const struct predict_messages *m = &r->of[i];
        if (!is_of(m, algo, type))
            continue;
        if (m->port_s.n > 0)
            out.port_s = m->port_s;
        if (m->unhidden.n > 0)
            out.unhidden = m->unhidden;
        if (m->card_s.n > 0)
            out.card_s = m->card_s;
    }
    const double port_s = r->port_s[predict_is_card(algo)];
    if (out.port_s.n == 0 && port_s > 0)
        out.port_s = cost_flat(port_s);
    return out;
}

static void list(struct predict_rates *r, const char *algo, const char *type)
{
    for (int i = 0; i < r->n_of; i++)
        if (!strcmp(r->of[i].algo, algo) && !strcmp(r->of[i].type, type))
            return;
    if (r->n_of == PREDICT_MESSAGES)
        return;
    struct predict_messages *m = &r->of[r->n_of++];
    snprintf(m->algo, sizeof m->algo, "%s", algo);
    snprintf(m->type, sizeof m->type, "%s", type);
}

void predict_fit(const struct predict_options *o, struct predict_rates *r)
{
    const struct predict_messages any = {.algo = ""};
    list(r, "", "");
    for (int i = 0; i < r->n_times; i++)
        list(r, r->times[i].algo, "");
    for (int i = 0; i < r->n_times; i++)
        list(r, r->times[i].algo, r->times[i].type);
    r->latency_s = median_of(o, r, &any, LATENCY, 0, 1);
    for (int i = 0; i < r->n_of; i++)
        r->of[i].port_s = curve_of(o, r, &r->of[i], PORT, 1e-6);
    for (int i = 0; i < r->n_of; i++)
        r->of[i].unhidden = curve_of(o, r, &r->of[i], UNHIDDEN, 1);
    r->card_rtt_s = median_of(o, r, &any, CARD_RTT, 0, 1);
    for (int i = 0; i < r->n_of; i++)
        r->of[i].card_s = curve_of(o, r, &r->of[i], CARD, 1e-6);
}
