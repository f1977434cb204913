/* predict_show.c : prints the times of all-reduces as tables or JSON lines. */
#include "app/predict/predict.h"
#include "base/err.h"
#include "base/jsonl.h"
#include <math.h>
#include <string.h>

/* Options take precedence over the file. */
static struct cost_rates rates_of(const struct predict *p, const struct predict_messages *messages,
                                  const struct codec *codec)
{
    struct cost_rates r = predict_rates_of(&p->rates, codec);
    if (p->cast_bytes_s > 0)
        r.encode_s = r.decode_s = 1 / p->cast_bytes_s;
    if (p->add_bytes_s > 0)
        r.add_s = 1 / p->add_bytes_s;
    r.port_s = p->port_bytes_s > 0 ? cost_flat(1 / p->port_bytes_s) : messages->port_s;
    r.message_s = p->message_s;
    r.unhidden = p->unhidden >= 0 ? cost_flat(p->unhidden) : messages->unhidden;
    predict_share_core(&r, p->o->ranks_per_core);
    return r;
}

/* rounding: the all-reduce's group; NULL: any. Returns 1, 0 if there is none for n_ranks ranks, or
 * -ENOMEM. */
static int predict_cost(const struct predict *p, const char *algo, const char *type,
                        const char *rounding, int n_ranks, double link_bps, struct cost *out)
{
    struct predict_way way;
    struct cost_cluster cluster = p->cluster;
    err_hold();
    const int rc = predict_settle(p->o, algo, type, n_ranks, &way);
    err_release(false);
    if (rc < 0 || (rounding && strcmp(rounding, way.rounding)))
        return 0;
    const struct predict_messages messages = predict_messages_of(&p->rates, algo, type);
    for (int i = 0; i < 2; i++)
        way.rates[i] = rates_of(p, &messages, &way.codecs[i]);
    if (p->card_measured)
        cluster.card_s = messages.card_s;
    cluster.n_ranks = n_ranks;
    cluster.link_bps = link_bps;
    way.job.layers = p->layers;
    way.job.n_layers = p->n_layers;
    way.job.bucket_bytes = (size_t)p->o->bucket_bytes;
    way.job.compute_s = p->compute_s;
    way.job.backward_s = p->o->overlap * p->compute_s;
    TRY(cost_step(&way.job, &cluster, out));
    return 1;
}

/* a type and group to compare with fp32 of any rounding */
struct rival {
    const char *type, *rounding;
};
static const struct rival any_fp32 = {"fp32", NULL};

struct best {
    int algo; /* -1: none */
    struct cost cost;
};
static int best_of(const struct predict *p, const struct rival *of, int n_ranks, double link_bps,
                   struct best *out)
{
    *out = (struct best){.algo = -1};
    for (int i = 0; i < p->algos.n; i++) {
        struct cost cost;
        const int rc =
            predict_cost(p, p->algos.word[i], of->type, of->rounding, n_ranks, link_bps, &cost);
        TRY(rc);
        if (rc && (out->algo < 0 || cost.step_s < out->cost.step_s))
            *out = (struct best){i, cost};
    }
    return 0;
}

/* *seconds: the best fp32 time minus the rival's; 0 if either is missing. */
static int ahead(const struct predict *p, const struct rival *of, int n_ranks, double link_bps,
                 double *seconds)
{
    struct best narrow, fp32;
    TRY(best_of(p, of, n_ranks, link_bps, &narrow));
    TRY(best_of(p, &any_fp32, n_ranks, link_bps, &fp32));
    *seconds = narrow.algo < 0 || fp32.algo < 0 ? 0 : fp32.cost.step_s - narrow.cost.step_s;
    return 0;
}

/* *bps: 0 if never faster, infinite if always. A rival is faster, if at all, on slow links. */
static const double slowest_bps = 1e5, fastest_bps = 1e14;
static int break_even(const struct predict *p, const struct rival *of, int n_ranks, double *bps)
{
    double low = slowest_bps, high = fastest_bps, s;
    TRY(ahead(p, of, n_ranks, low, &s));
    if (s <= 0) {
        *bps = 0;
        return 0;
    }
    TRY(ahead(p, of, n_ranks, high, &s));
    if (s > 0) {
        *bps = (double)INFINITY;
        return 0;
    }
    while (high / low > 1.001) {
        const double middle = sqrt(low * high);
        TRY(ahead(p, of, n_ranks, middle, &s));
        *(s > 0 ? &low : &high) = middle;
    }
    *bps = low;
    return 0;
}

static void print_bps(double bps, char text[24])
{
    if (bps == 0)
        snprintf(text, 24, "none");
    else if (isinf(bps))
        snprintf(text, 24, "any");
    else if (bps >= 1e9)
        snprintf(text, 24, "%.3gG", bps / 1e9);
    else
        snprintf(text, 24, "%.3gM", bps / 1e6);
}

static void print_cell(const struct predict *p, int i, const char *text)
{
    const int width = (int)strlen(p->algos.word[i]);
    printf(" %*s", width > 9 ? width : 9, text);
}

/* has: the algorithms with a column; NULL: all. */
static void print_head(const struct predict *p, const bool *has, const char *before)
{
    printf("%6s%s", "ranks", before);
    for (int i = 0; i < p->algos.n; i++)
        if (!has || has[i])
            print_cell(p, i, p->algos.word[i]);
}

static int print_steps(const struct predict *p)
{
    struct cost cost;
    int rc = 0;
    printf("\nrounds of messages, %s\n", p->formats.word[0]);
    print_head(p, NULL, "");
    printf("\n");
    for (int r = 0; r < p->n_ranks; r++) {
        printf("%6d", p->ranks[r]);
        for (int i = 0; i < p->algos.n; i++) {
            char text[24] = "-";
            rc = predict_cost(p, p->algos.word[i], p->formats.word[0], NULL, p->ranks[r], 1e9,
                              &cost);
            TRY(rc);
            if (rc)
                snprintf(text, sizeof text, "%llu", (unsigned long long)cost.steps);
            print_cell(p, i, text);
        }
        printf("\n");
    }
    return 0;
}

static int print_row(const struct predict *p, const char *type, const struct predict_group *group,
                     int n_ranks, double link_bps)
{
    const struct rival *of = &(struct rival){type, group->rounding};
    struct best fp32, narrow;
    double even;
    char text[24] = "-";
    TRY(best_of(p, &any_fp32, n_ranks, link_bps, &fp32));
    TRY(best_of(p, of, n_ranks, link_bps, &narrow));
    TRY(break_even(p, of, n_ranks, &even));
    if (fp32.algo >= 0)
        snprintf(text, sizeof text, "%.4g", 1e3 * fp32.cost.step_s);
    printf("%6d %9s", n_ranks, text);
    for (int i = 0; i < p->algos.n; i++) {
        struct cost cost = {.steps = 0};
        if (!group->has[i])
            continue;
        const int rc =
            predict_cost(p, p->algos.word[i], type, group->rounding, n_ranks, link_bps, &cost);
        TRY(rc);
        snprintf(text, sizeof text, rc ? "%.4g" : "-", 1e3 * cost.step_s);
        print_cell(p, i, text);
    }
    if (narrow.algo < 0) {
        printf("  none\n");
        return 0;
    }
    printf("  %-16s", p->algos.word[narrow.algo]);
    /* for example one rank, whose step takes no time */
    if (fp32.algo < 0 || narrow.cost.step_s == 0) {
        printf(" %8s %10s\n", "-", "-");
        return 0;
    }
    print_bps(even, text);
    printf(" %8.2f %10s\n", fp32.cost.step_s / narrow.cost.step_s, text);
    return 0;
}

static int print_groups(const struct predict *p, const char *link, const char *type)
{
    struct predict_group groups[PREDICT_LIST];
    const int n = predict_groups(p, type, groups);
    double bps;
    TRY(predict_rate("link", link, &bps));
    for (int g = 0; g < n; g++) {
        printf("\n%sbit/s, %s: ms of a step\n", link, groups[g].rounding);
        print_head(p, groups[g].has, "      fp32");
        printf("  %-16s %8s %10s\n", "best", "to fp32", "up to");
        for (int r = 0; r < p->n_ranks; r++)
            TRY(print_row(p, type, &groups[g], p->ranks[r], bps));
    }
    return 0;
}

static int print_tables(const struct predict *p)
{
    TRY(print_steps(p));
    for (int l = 0; l < p->links.n; l++)
        for (int f = 0; f < p->formats.n; f++)
            TRY(print_groups(p, p->links.word[l], p->formats.word[f]));
    return 0;
}

static int json_cost(const struct predict *p, const char *algo, const struct rival *of, int n_ranks,
                     double link_bps)
{
    struct cost cost;
    struct jsonl j;
    const int rc = predict_cost(p, algo, of->type, of->rounding, n_ranks, link_bps, &cost);
    if (rc <= 0)
        return rc;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "predict");
    jsonl_text(&j, "layers", p->what);
    jsonl_int(&j, "ranks", n_ranks);
    jsonl_real(&j, "link_bps", link_bps);
    jsonl_text(&j, "type", of->type);
    jsonl_text(&j, "algo", algo);
    jsonl_text(&j, "rounding", of->rounding);
    jsonl_int(&j, "buckets", cost.n_buckets);
    jsonl_uint(&j, "steps", cost.steps);
    jsonl_uint(&j, "bytes", cost.bytes);
    jsonl_real(&j, "cast_s", cost.cast_s);
    jsonl_real(&j, "exponent_s", cost.exponent_s);
    jsonl_real(&j, "latency_s", cost.latency_s);
    jsonl_real(&j, "wire_s", cost.wire_s);
    jsonl_real(&j, "port_s", cost.port_s);
    jsonl_real(&j, "add_s", cost.add_s);
    jsonl_real(&j, "reduce_s", cost.reduce_s);
    jsonl_real(&j, "exposed_s", cost.exposed_s);
    jsonl_real(&j, "step_s", cost.step_s);
    return jsonl_end(&j);
}

static int json_best(const struct predict *p, const struct rival *of, int n_ranks, double link_bps)
{
    struct best fp32, narrow;
    double even;
    struct jsonl j;
    TRY(best_of(p, &any_fp32, n_ranks, link_bps, &fp32));
    TRY(best_of(p, of, n_ranks, link_bps, &narrow));
    TRY(break_even(p, of, n_ranks, &even));
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "best");
    jsonl_text(&j, "layers", p->what);
    jsonl_int(&j, "ranks", n_ranks);
    jsonl_real(&j, "link_bps", link_bps);
    jsonl_text(&j, "type", of->type);
    jsonl_text(&j, "algo", narrow.algo < 0 ? NULL : p->algos.word[narrow.algo]);
    jsonl_text(&j, "rounding", of->rounding);
    jsonl_text(&j, "fp32_algo", fp32.algo < 0 ? NULL : p->algos.word[fp32.algo]);
    jsonl_real(&j, "step_s", narrow.algo < 0 ? (double)NAN : narrow.cost.step_s);
    jsonl_real(&j, "fp32_step_s", fp32.algo < 0 ? (double)NAN : fp32.cost.step_s);
    jsonl_bool(&j, "any_link", isinf(even));
    jsonl_real(&j, "up_to_bps", fp32.algo < 0 ? (double)NAN : even); /* 0: none */
    return jsonl_end(&j);
}

static int json_groups(const struct predict *p, const char *type, int n_ranks, double link_bps)
{
    struct predict_group groups[PREDICT_LIST];
    const int n = predict_groups(p, type, groups);
    for (int g = 0; g < n; g++) {
        const struct rival of = {type, groups[g].rounding};
        for (int i = 0; i < p->algos.n; i++)
            TRY(json_cost(p, p->algos.word[i], &of, n_ranks, link_bps));
        TRY(json_best(p, &of, n_ranks, link_bps));
    }
    return 0;
}

static int print_json(const struct predict *p)
{
    for (int l = 0; l < p->links.n; l++)
        for (int f = 0; f < p->formats.n; f++)
            for (int r = 0; r < p->n_ranks; r++) {
                double bps;
                TRY(predict_rate("link", p->links.word[l], &bps));
                TRY(json_groups(p, p->formats.word[f], p->ranks[r], bps));
            }
    return 0;
}

int predict_show(const struct predict *p)
{
    return p->o->json ? print_json(p) : print_tables(p);
}

static void say_speeds(const struct cost_curve *c)
{
    for (int i = 0; i < c->n; i++)
        printf("%s%.3g", i ? ", " : "", 1e-9 / c->at[i]);
    printf(" GB/s");
}

static void say_messages(const struct predict *p, const char *algo, const char *type)
{
    const struct predict_messages m = predict_messages_of(&p->rates, algo, type);
    if (predict_is_card(algo) && !p->cluster.card_on_host) {
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
        const struct cost_curve unhidden = p->unhidden >= 0 ? cost_flat(p->unhidden) : m.unhidden;
        for (int i = 0; i < unhidden.n; i++)
            printf("%s%.2g", i ? ", " : "", unhidden.at[i]);
        printf("%s of the overlap of network and CPU is not hidden\n", unhidden.n ? "" : "0");
    }
}

static void say_card(const struct predict *p)
{
    const double port = p->cluster.card_link_bps;
    bool asked = false;
    for (int i = 0; i < p->algos.n; i++)
        asked = asked || predict_is_card(p->algos.word[i]);
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
        printf("; rate from --rates\n");
    else
        printf("; adds %.3g GB/s from all ranks\n", 1e-9 / cost_at(&p->cluster.card_s, 0));
}

void predict_say_rates(const struct predict *p)
{
    const struct predict_rates *r = &p->rates;
    printf("latency        %.4g us\n", 1e6 * p->cluster.latency_s);
    const bool casts = p->cast_bytes_s > 0, sums = p->add_bytes_s > 0;
    const char *given = casts ? "; casts: as given" : sums ? "; sums: as given" : "";
    if (casts && sums)
        printf("casts, sums    as given\n");
    else if (r->n_rows == 0)
        printf("casts, sums    take no time: '%s' has no rows of them%s\n", p->o->rates, given);
    else
        printf("casts, sums    %s, GB/s by a core%s\n",
               p->o->rates ? p->o->rates : "measured on this machine", given);
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
        printf("messages       take no CPU time: '%s' has no rows of them\n", p->o->rates);
    say_card(p);
    for (int i = 0; i < r->n_of; i++)
        if (*r->of[i].type && (r->of[i].port_s.n > 0 || r->of[i].card_s.n > 0))
            say_messages(p, r->of[i].algo, r->of[i].type);
}
