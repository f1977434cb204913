/* predict_say.c : prints the rates that the tables of `narrowcast model` rest on. */
#include "app/predict/predict.h"
#include <math.h>
#include <string.h>

/* Seconds a byte as GB/s, from the shortest all-reduce to the longest. */
static void say_speeds(const struct cost_curve *c)
{
    for (int i = 0; i < c->n; i++)
        printf("%s%.3g", i ? ", " : "", 1e-9 / c->at[i]);
    printf(" GB/s");
}

static void say_messages(const struct predict *p, const char *algo, const char *type)
{
    const struct predict_messages m = predict_messages_of(&p->rates, algo, type);
    if (!strcmp(algo, "offload") && !p->cluster.card_on_host) {
        if (!p->card_measured)
            return;
        printf("card           %s: ", type);
        say_speeds(&m.card_s);
        printf(" from all ranks, an answer in %.4g us\n",
               1e6 *
                   (p->cluster.card_rtt_s > 0 ? p->cluster.card_rtt_s : 2 * p->cluster.latency_s));
    } else if (m.port_s.n > 0 && p->port_bytes_s <= 0) {
        printf("messages       %s %s: ", algo, type);
        say_speeds(&m.port_s);
        printf(" by a core; ");
        for (int i = 0; i < m.unhidden.n; i++)
            printf("%s%.2g", i ? ", " : "", p->unhidden >= 0 ? p->unhidden : m.unhidden.at[i]);
        printf("%s of what wire and CPU do at a time is not hidden\n", m.unhidden.n ? "" : "0");
    }
}

static void say_card(const struct predict *p)
{
    const double port = p->cluster.card_link_bps;
    bool asked = false;
    for (int i = 0; i < p->algos.n; i++)
        asked = asked || !strcmp(p->algos.word[i], "offload");
    if (!asked)
        return;
    if (port == 0)
        printf("card           a port as fast as a rank's");
    else if (isinf(port))
        printf("card           a port without limit");
    else
        printf("card           a port of %.4g Gbit/s", 1e-9 * port);
    if (p->cluster.card_on_host)
        printf("; adds on the ranks' cores\n");
    else if (p->card_measured)
        printf("; --rates says how fast it adds\n");
    else
        printf("; adds %.3g GB/s from all ranks\n", 1e-9 / cost_at(&p->cluster.card_s, 0));
}

void predict_say_rates(const struct predict *p)
{
    const struct predict_rates *r = &p->rates;
    printf("latency        %.4g us\n", 1e6 * p->cluster.latency_s);
    if (p->cast_bytes_s > 0 && p->add_bytes_s > 0)
        printf("casts, sums    as given\n");
    else if (r->n_rows == 0)
        printf("casts, sums    take no time of their own here: '%s' has no rows of them\n",
               p->o->rates);
    else
        printf("casts, sums    %s, GB/s by a core\n",
               p->o->rates ? p->o->rates : "measured on this machine");
    for (int i = 0; i < r->n_rows && !p->o->rates; i++) {
        char name[PREDICT_WORD];
        printf("               %s: %.3g\n", predict_row_name(&r->rows[i], name),
               predict_row_gbs(&r->rows[i]));
    }
    if (p->port_bytes_s > 0)
        printf("messages       %.3g GB/s by a core\n", 1e-9 * p->port_bytes_s);
    else if (r->port_s[0] > 0)
        printf("messages       %.3g GB/s by a core over 127.0.0.1; to a card %.3g\n",
               1e-9 / r->port_s[0], 1e-9 / r->port_s[1]);
    else if (predict_messages_of(r, "", "").port_s.n == 0)
        printf("messages       take no CPU time here: '%s' has no rows of them\n", p->o->rates);
    say_card(p);
    for (int i = 0; i < r->n_of; i++)
        if (*r->of[i].type && (r->of[i].port_s.n > 0 || r->of[i].card_s.n > 0))
            say_messages(p, r->of[i].algo, r->of[i].type);
}
