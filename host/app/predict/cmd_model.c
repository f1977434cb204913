/* cmd_model.c : runs `narrowcast model`, which predicts the time of a step on clusters. */
#include "app/app.h"
#include "app/predict/predict.h"
#include "base/err.h"
#include "hls/card/card.h"
#include "hls/card/packet.h"
#include "nn/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct predict_options, field)
static const struct opt opts[] = {
    {"the cluster", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"ranks", "LIST", "2..4096", "How many: FROM..TO, doubled each time, or with commas between.",
     OPT_TEXT, AT(ranks), 0, 0, 0},
    {"link", "LIST", "1G,10G,100G",
     "Bits a second of a rank's port, each way, with a unit: 100M, 10G.", OPT_TEXT, AT(link), 0, 0,
     0},
    {"node-link", "RATE", NULL, "Within the groups of group-*:K. Default: as --link.", OPT_TEXT,
     AT(node_link), 0, 0, 0},
    {"latency", "TIME", NULL,
     "Of a message without bytes, one way. Default: what short all-reduces in --rates took, else "
     "20us.",
     OPT_TEXT, AT(latency), 0, 0, 0},
    {"mtu", "N", "1500", "Bytes of a frame of the network.", OPT_INT, AT(mtu), 576, 9216, 0},
    {"burst", "N", "0",
     "Bytes that a port sends at once when a step begins, before its rate holds: of one that a "
     "token bucket shapes, as a virtual machine's. Of the links of --rates, too.",
     OPT_SIZE, AT(burst), 0, 1e12, 0},
    {"card-link", "RATE|link|none", "link",
     "Bits a second of a card's port, each way, which all ranks' packets share; link: as --link; "
     "none: no limit. Of the times in --rates, too.",
     OPT_TEXT, AT(card_link), 0, 0, 0},
    {"card-rate", "RATE|host|measured", NULL,
     "Bytes a second that a card takes from all ranks, for --algo offload; host: it is a process "
     "on the ranks' cores, as `narrowcast sim`, and takes its time from theirs; measured: as those "
     "of --rates. Default: a beat a clock of the core.",
     OPT_TEXT, AT(card_rate), 0, 0, 0},
    {"card-slots", "N", "64", "Packets of a rank that may be under way to a card.", OPT_INT,
     AT(card_slots), 8, 1024, 0},

    {"what is reduced", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"network", "NAME", "resnet18", "The gradients of one of `narrowcast train --model`.", OPT_TEXT,
     AT(network), 0, 0, 0},
    {"width", "X", "1", "Of its layers, as in train.", OPT_REAL, AT(width), NN_WIDTH_MIN,
     NN_WIDTH_MAX, 0},
    {"image", "N", "32", "Pixels a side of its images.", OPT_INT, AT(image), NN_SIDE_MIN,
     NN_SIDE_MAX, 0},
    {"classes", "N", "10", "It tells apart.", OPT_INT, AT(classes), 2, 1e6, 0},
    {"layers", "FILE", NULL,
     "Instead: a line a layer: N elements, or NAME N, or as layers.txt of --dump-gradients has "
     "them.",
     OPT_TEXT, AT(layers), 0, 0, 0},
    {"size", "LIST", NULL, "Instead: one layer of so many bytes of fp32, as 64k,64M.", OPT_TEXT,
     AT(size), 0, 0, 0},
    {"format", "LIST", "e5m2,e3m0", "FORMAT, or FORMAT/OUT where sums travel back in another one.",
     OPT_TEXT, AT(format), 0, 0, 0},
    {"out-format", "F", NULL, "Of the sums where --format names none: as in train.", OPT_TEXT,
     AT(out_format), 0, 0, 0},
    {"scale", "S", "aps",
     "As in train: some formats have no room for many ranks with aps. none: of formats with 5 bits "
     "of exponent or more.",
     OPT_TEXT, AT(scale), 0, 0, 0},
    {"sum", "RULE", NULL, "As in train.", OPT_TEXT, AT(sum), 0, 0, 0},
    {"acc-format", "F", NULL, "As in train: partial sums travel in it.", OPT_TEXT, AT(acc_format),
     0, 0, 0},
    {"algo", "LIST", "direct,ring,group-master:16,group-scatter:16,offload",
     "As in train, but for native, which is MPI's own.", OPT_TEXT, AT(algo), 0, 0, 0},
    {"bucket-bytes", "N", "1M", "Layers are fused until their codes fill this.", OPT_SIZE,
     AT(bucket_bytes), 1, 1e12, 0},

    {"a rank", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"compute", "TIME", "0", "Forward, backward and update.", OPT_TEXT, AT(compute), 0, 0, 0},
    {"overlap", "X", "0",
     "The share of that in which gradients get ready and travel meanwhile, as with train --overlap "
     "on; 0: they travel behind it.",
     OPT_REAL, AT(overlap), 0, 1, 0},
    {"rates", "FILE", NULL,
     "How fast casts, sums and messages are: what bench_cast --json, bench_allreduce --json and "
     "model --json print, bench_allreduce with the speed of its links as --label (1gbit), or "
     "without a limit. Default: measured on this machine for half a second, messages over "
     "127.0.0.1, which are cheaper than those over a network card.",
     OPT_TEXT, AT(rates), 0, 0, 0},
    {"rates-cores", "N", NULL, "Cores that the ranks of --rates had. Default: this machine's.",
     OPT_INT, AT(rates_cores), 1, 4096, 0},
    {"cast-rate", "RATE", NULL, "Bytes of fp32 a second, cast or back, by a core.", OPT_TEXT,
     AT(cast_rate), 0, 0, 0},
    {"add-rate", "RATE", NULL, "Bytes of codes a second, added by a core.", OPT_TEXT, AT(add_rate),
     0, 0, 0},
    {"port-rate", "RATE", NULL, "Bytes of messages a second that a core sends and gets.", OPT_TEXT,
     AT(port_rate), 0, 0, 0},
    {"message", "TIME", NULL, "Of the CPU for each message.", OPT_TEXT, AT(message), 0, 0, 0},
    {"ranks-per-core", "X", "1", "Ranks that share a core.", OPT_REAL, AT(ranks_per_core), 1, 4096,
     0},
    {"unhidden", "X", NULL,
     "What wire and CPU do at a time takes as long as the longer of both and this share of the "
     "shorter. Default: --rates', else 0.",
     OPT_REAL, AT(unhidden), 0, 1, 0},

    {"output", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"json", NULL, NULL,
     "JSON lines: \"model\" for each all-reduce, \"best\" for each number of ranks.", OPT_FLAG,
     AT(json), 0, 0, 0},
};
static const struct opt_command command = {
    .name = "model",
    .args = "",
    .about =
        "How long a step takes on a cluster that is not there: casts, exponents, messages and "
        "additions, less what the\n"
        "backward pass hides. Bytes and steps are those of the algorithms and codecs of train; "
        "speeds are given, or\n"
        "measured on one core of this machine.\n"
        "\n"
        "A table holds the algorithms whose sums are rounded in the same way; only these are "
        "compared. Exact sums\n"
        "are rounded once; of nearest sums each partial one is rounded. Columns: ms of a step by "
        "the fastest algorithm\n"
        "in fp32 and by each of these (-: not with so many ranks); the best, how many times faster "
        "than fp32, and up to\n"
        "which link it is faster.\n",
    .examples =
        "  build/narrowcast model\n"
        "  build/narrowcast model --ranks 256 --size 64k,64M --algo ring,group-master:16\n"
        "  build/narrowcast model --network resnet50 --image 224 --classes 1000 --compute 200ms "
        "--overlap 0.6\n"
        "  build/bench_cast --json >build/rates.json\n"
        "  build/narrowcast model --rates build/rates.json --format e5m2,e4m3 --scale aps --link "
        "10G,25G\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

static int given_rates(const struct predict_options *o, struct predict *p)
{
    const struct {
        const char *name, *word;
        double *to;
    } rates[] = {{"cast-rate", o->cast_rate, &p->cast_bytes_s},
                 {"add-rate", o->add_rate, &p->add_bytes_s},
                 {"port-rate", o->port_rate, &p->port_bytes_s},
                 {"node-link", o->node_link, &p->cluster.node_link_bps}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].word)
            TRY(predict_rate(rates[i].name, rates[i].word, rates[i].to));
    if (o->message)
        TRY(predict_time("message", o->message, &p->message_s));
    if (!strcmp(o->card_link, "none"))
        p->cluster.card_link_bps = (double)INFINITY;
    else if (strcmp(o->card_link, "link") != 0)
        TRY(predict_rate("card-link", o->card_link, &p->cluster.card_link_bps));
    return predict_time("compute", o->compute, &p->compute_s);
}

static bool card_on_host(const struct predict_options *o)
{
    return o->card_rate && !strcmp(o->card_rate, "host");
}

/* Sets the card's rate. The default is one beat per clock of the card's core. */
static int card_rate(const struct predict_options *o, struct predict *p)
{
    double bytes_s = 1e6 * CARD_MHZ * PKT_BEAT_BYTES;
    const bool measured = o->card_rate && !strcmp(o->card_rate, "measured");
    p->cluster.card_rtt_s = fmax(p->rates.card_rtt_s, 0);
    p->cluster.card_on_host = card_on_host(o);
    if (p->cluster.card_on_host)
        return 0;
    if (o->card_rate && !measured)
        TRY(predict_rate("card-rate", o->card_rate, &bytes_s));
    p->cluster.card_s = cost_flat(1 / bytes_s);
    if (!measured)
        return 0;
    p->card_measured = true;
    if (predict_messages_of(&p->rates, "offload", "").card_s.n == 0)
        return ERR(-EINVAL, "--card-rate measured: --rates has no all-reduce through a card of "
                            "256 KiB at least");
    return 0;
}

static int settle(const struct predict_options *o, const struct opt_parsed *parsed,
                  struct predict *p)
{
    const int n_sources = !!o->layers + !!o->size + opt_given(&command, parsed, "network");
    double bps;
    if (n_sources > 1)
        return ERR(-EINVAL, "--network, --layers and --size each say what is reduced: give one");
    if (o->overlap > 0 && !strcmp(o->compute, "0"))
        return ERR(-EINVAL, "--overlap %g needs --compute TIME, which it is a share of",
                   o->overlap);
    TRY(predict_ranks(o->ranks, p->ranks, &p->n_ranks));
    TRY(predict_words("link", o->link, &p->links));
    for (int i = 0; i < p->links.n; i++)
        TRY(predict_rate("link", p->links.word[i], &bps));
    TRY(predict_words("format", o->format, &p->formats));
    TRY(predict_words("algo", o->algo, &p->algos));
    p->cluster.mtu = (int)o->mtu;
    p->cluster.card_slots = (int)o->card_slots;
    p->cluster.burst_bytes = (double)o->burst;
    TRY(given_rates(o, p));
    p->rates.latency_s = p->rates.card_rtt_s = -1;
    if (o->rates) {
        TRY(predict_rates_read(o->rates, &p->rates));
        p->rates.card_link_bps = p->cluster.card_link_bps;
        p->rates.card_on_host = card_on_host(o);
        predict_fit(o, &p->rates);
    }
    p->unhidden = opt_given(&command, parsed, "unhidden") ? o->unhidden : -1;
    p->cluster.latency_s = p->rates.latency_s >= 0 ? p->rates.latency_s : 20e-6;
    if (o->latency)
        TRY(predict_time("latency", o->latency, &p->cluster.latency_s));
    return card_rate(o, p);
}

/* Every named format must work with some algorithm and number of ranks, and every named algorithm
 * with some format. One default format must work. */
static int check_words(const struct predict *p, bool named_formats, bool named_algos)
{
    struct predict_way way;
    bool algo_works[PREDICT_LIST] = {0}, any_works = false;
    for (int f = 0; f < p->formats.n; f++) {
        bool works = false;
        for (int i = 0; i < p->algos.n; i++)
            for (int r = 0; r < p->n_ranks; r++) {
                err_hold();
                const int rc =
                    predict_settle(p->o, p->algos.word[i], p->formats.word[f], p->ranks[r], &way);
                err_release(false);
                works = works || rc == 0;
                algo_works[i] = algo_works[i] || rc == 0;
            }
        any_works = any_works || works;
        if (!works && (named_formats || (f == p->formats.n - 1 && !any_works)))
            return predict_settle(p->o, p->algos.word[0], p->formats.word[f], p->ranks[0], &way);
    }
    for (int i = 0; i < p->algos.n && named_algos; i++)
        if (!algo_works[i])
            return predict_settle(p->o, p->algos.word[i], p->formats.word[0], p->ranks[0], &way);
    return 0;
}

static int measure(struct predict *p)
{
    const double budget_s = 0.25; /* for each of the two measurements */
    if (p->cast_bytes_s <= 0 || p->add_bytes_s <= 0)
        TRY(predict_measure(p, budget_s, &p->rates));
    if (p->port_bytes_s <= 0)
        TRY(predict_measure_ports((int)p->o->mtu, budget_s, p->rates.port_s));
    return 0;
}

static int show_layers(struct predict *p, const char *what)
{
    size_t n = 0;
    p->what = what;
    for (int i = 0; i < p->n_layers; i++)
        n += p->layers[i].n;
    if (!p->o->json)
        printf("\n%s: %zu elements, %.4g MB of fp32 in %d layer%s\n", what, n, 4e-6 * (double)n,
               p->n_layers, p->n_layers > 1 ? "s" : "");
    const int rc = predict_show(p);
    free(p->layers);
    return rc;
}

static int run(const struct predict_options *o, struct predict *p)
{
    static const struct opt size = {"size", "LIST", NULL, "", OPT_SIZE, 0, 4, 0x1p40, 0};
    struct predict_list sizes = {.n = 0};
    uint64_t bytes;
    if (o->size)
        TRY(predict_words("size", o->size, &sizes));
    for (int i = 0; i < sizes.n; i++)
        TRY(opt_set(&size, sizes.word[i], &bytes));
    if (!o->size) {
        TRY(o->layers ? predict_layers_file(o->layers, &p->layers, &p->n_layers)
                      : predict_layers_network(o, &p->layers, &p->n_layers));
    }
    if (!o->json)
        predict_say_rates(p);
    else if (!o->rates)
        TRY(predict_rates_write(&p->rates));
    if (!o->size)
        return show_layers(p, o->layers ? o->layers : o->network);
    for (int i = 0; i < sizes.n; i++) {
        TRY(opt_set(&size, sizes.word[i], &bytes));
        TRY(predict_layers_size(bytes, &p->layers, &p->n_layers));
        TRY(show_layers(p, sizes.word[i]));
    }
    return 0;
}

int cmd_model(int argc, char **argv)
{
    struct predict_options o = {0};
    struct opt_parsed parsed;
    TRY(opt_parse(&command, argc, argv, &o, &parsed));
    if (parsed.help)
        return opt_help(&command, &parsed, stdout), 0;
    if (!o.rates_cores) {
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        o.rates_cores = cores > 0 ? cores : 1;
    }
    struct predict *p = calloc(1, sizeof *p);
    if (!p)
        return ERR(-ENOMEM, "cannot model anything: no memory");
    p->o = &o;
    int rc = settle(&o, &parsed, p);
    if (rc == 0)
        rc = check_words(p, opt_given(&command, &parsed, "format"),
                         opt_given(&command, &parsed, "algo"));
    if (rc == 0 && !o.rates)
        rc = measure(p);
    if (rc == 0)
        rc = run(&o, p);
    free(p);
    return rc;
}
