/* cmd_predict.c : runs `narrowcast predict`. */
#include "app/app.h"
#include "app/predict/predict.h"
#include "base/err.h"
#include "hls/card/card.h"
#include "hls/card/packet.h"
#include "nn/model.h"
#include "nn/optim/optim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct predict_options, field)
static const struct opt opts[] = {
    {"the cluster", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"ranks", "LIST", "2..4096",
     "Numbers of ranks: FROM..TO, doubled each time, or a list with commas.", TEXT_AT(ranks)},
    {"link", "LIST", "1G,10G,100G",
     "Bit rates of a rank's port in each direction, with a unit: 100M, 10G.", TEXT_AT(link)},
    {"ranks-per-machine", "K", "1",
     "Consecutive ranks that share a machine and its port of rate --link. With a card, they add "
     "their codes first if that saves time of its port (algorithm offload; offload-each: never). "
     "Also assumed of the times in --rates.",
     INT_AT(near, 1, PREDICT_RANKS_MAX)},
    {"node-link", "RATE", NULL,
     "Bit rate inside the groups of group-*:K. Default: as --link, or, with --ranks-per-machine, "
     "no limit.",
     TEXT_AT(node_link)},
    {"latency", "TIME", NULL,
     "One-way latency of a message without payload. Default: the latency of short all-reduces in "
     "--rates, else 20us.",
     TEXT_AT(latency)},
    {"mtu", "N", "1500", "Largest packet of the network, in bytes.", INT_AT(mtu, 576, 9216)},
    {"burst", "N", "0",
     "Bytes that a port sends at once at the start of a step, before its rate limit applies. Ports "
     "shaped by a token bucket, such as those of virtual machines, have such a burst. Also assumed "
     "of the links in --rates.",
     SIZE_AT(burst, 0, 1e12)},
    {"card-link", "RATE|link|none", "link",
     "Bit rate of a card's port in each direction, which all ranks' packets share. link: as "
     "--link. none: no limit. Also assumed of the times in --rates.",
     TEXT_AT(card_link)},
    {"card-rate", "RATE|host|measured", NULL,
     "Bytes a second that a card takes from all ranks, for --algo offload. host: the card is a "
     "process on the ranks' cores, such as `narrowcast sim`, and uses their time. measured: as in "
     "--rates. Default: one beat per clock of the core.",
     TEXT_AT(card_rate)},
    {"card-slots", "N", "64", "Packets that a rank may have in flight to a card.",
     INT_AT(card_slots, 8, 1024)},

    {"what is reduced", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"network", "NAME", "resnet18", "Gradients of this network of `narrowcast train --model`.",
     TEXT_AT(network)},
    {"width", "X", "1", "Width of its layers: see train's --width.",
     REAL_AT(width, NN_WIDTH_MIN, NN_WIDTH_MAX)},
    {"image", "N", "32", "Height and width of its images, in pixels.",
     INT_AT(image, NN_SIDE_MIN, NN_SIDE_MAX)},
    {"classes", "N", "10", "Number of classes.", INT_AT(classes, 2, 1e6)},
    {"layers", "FILE", NULL,
     "Read the layers from a file instead. Each line has N elements, or NAME N, or the form of "
     "layers.txt of --dump-gradients.",
     TEXT_AT(layers)},
    {"size", "LIST", NULL, "Take one layer of this many bytes of fp32 instead: 64k,64M.",
     TEXT_AT(size)},
    {"format", "LIST", "e5m2,e3m0",
     "Formats: FORMAT, or FORMAT/OUT where sums are sent back in another format.", TEXT_AT(format)},
    {"out-format", "F", "auto",
     "Format of the sums where --format names none: see train's --out-format.",
     TEXT_AT(out_format)},
    {"scale", "S", "aps",
     "See train's --scale. With aps, some formats have no room for many ranks. With none, only "
     "formats with at least 5 exponent bits are allowed.",
     TEXT_AT(scale)},
    {"sum", "RULE", "auto", "See train's --sum.", TEXT_AT(sum)},
    {"acc-format", "F", "auto", "Format in which partial sums travel: see train's --acc-format.",
     TEXT_AT(acc_format)},
    {"algo", "LIST", "direct,ring,group-master:16,group-scatter:16,offload",
     "Algorithms: see train's --algo. native is excluded, because its traffic is chosen by MPI.",
     TEXT_AT(algo)},
    {"bucket-bytes", "N", "1M", "Fuse layers until their codes fill this many bytes.",
     SIZE_AT(bucket_bytes, 1, 1e12)},

    {"a rank", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"optimizer", optim_words + 1, "sgd", "Optimiser whose memory is printed.",
     CHOICE_AT(optimizer)},
    {"shard", "LIST", "no,optimizer,all",
     "See train's --shard. Memory is that of fp32 weights, and of buckets in the first format.",
     TEXT_AT(shard)},
    {"compute", "TIME", "0", "Time of forward pass, backward pass and update.", TEXT_AT(compute)},
    {"overlap", "X", "0",
     "Share of --compute during which gradients become ready and travel at the same time, as with "
     "train --overlap on. 0: they travel after the backward pass.",
     REAL_AT(overlap, 0, 1)},
    {"rates", "FILE", NULL,
     "Measured rates of casts, sums and messages: output of bench_cast --json, bench_allreduce "
     "--json and predict --json. Give bench_allreduce the rate of its links as --label (1gbit), or "
     "measure without a limit. Default: measure on this machine for half a second. Its messages "
     "over 127.0.0.1 are cheaper than those over a network card.",
     TEXT_AT(rates)},
    {"rates-cores", "N", NULL,
     "Cores that the ranks of --rates had. Default: those of this machine.",
     INT_AT(rates_cores, 1, 4096)},
    {"cast-rate", "RATE", NULL, "Bytes of fp32 that a core casts in either direction in a second.",
     TEXT_AT(cast_rate)},
    {"add-rate", "RATE", NULL, "Bytes of codes that a core adds in a second.", TEXT_AT(add_rate)},
    {"port-rate", "RATE", NULL, "Bytes of messages that a core sends and receives in a second.",
     TEXT_AT(port_rate)},
    {"message", "TIME", NULL, "CPU time of each message.", TEXT_AT(message)},
    {"ranks-per-core", "X", "1", "Ranks that share a core.", REAL_AT(ranks_per_core, 1, 4096)},
    {"unhidden", "X", NULL,
     "Share of the shorter of network and CPU time that is added to the longer one when both work "
     "at the same time. Default: from --rates, else 0.",
     REAL_AT(unhidden, 0, 1)},

    {"output", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"json", NULL, NULL,
     "Print JSON lines: the rates measured here (\"cast\", \"port\"; without --rates), \"predict\" "
     "for each all-reduce, \"best\" for each number of ranks, link, format and way of rounding, "
     "and "
     "\"memory\" for each number of ranks and --shard (not with --size).",
     FLAG_AT(json)},
};
static const struct opt_command command = {
    .name = "predict",
    .args = "",
    .about = "Predicts the time of a step on a cluster that you describe: casts, exponents, "
             "messages and additions, minus the part hidden by the backward pass. Bytes and rounds "
             "are those of train's algorithms and codecs. Rates are given, or measured on one core "
             "of this machine. Rates have a unit K, M, G or T (powers of 1000), sizes k, M or G "
             "(powers of 1024), times s, ms, us or ns.\n\n"
             "Each table holds algorithms whose sums are rounded in the same way; only these are "
             "comparable. Exact sums are rounded once; with nearest, each partial sum is rounded. "
             "The columns are the ms of a step with the fastest algorithm in fp32 and with each of "
             "these algorithms (-: impossible for this number of ranks), the best algorithm, its "
             "speed-up over fp32, and the fastest link on which it beats fp32.\n\n"
             "The last table is the memory of a rank for weights, gradients and the optimiser.\n",
    .examples = "  build/narrowcast predict\n"
                "  build/narrowcast predict --ranks 256 --size 64k,64M \\\n"
                "      --algo ring,group-master:16\n"
                "  build/narrowcast predict --network resnet50 --image 224 --classes 1000 \\\n"
                "      --compute 200ms --overlap 0.6\n"
                "  build/bench_cast --json >build/rates.json\n"
                "  build/narrowcast predict --rates build/rates.json --format e5m2,e4m3 \\\n"
                "      --scale aps --link 10G,25G\n",
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

/* The default is one beat per clock of the card's core. */
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
        return ERR(
            -EINVAL,
            "--card-rate measured: --rates needs an all-reduce through a card of at least 256 KiB");
    return 0;
}

static int settle(const struct predict_options *o, const struct opt_parsed *parsed,
                  struct predict *p)
{
    const int n_sources = !!o->layers + !!o->size + opt_given(&command, parsed, "network");
    double bps;
    if (n_sources > 1)
        return ERR(-EINVAL,
                   "--network, --layers and --size exclude each other: give only one of them");
    if (o->overlap > 0 && !strcmp(o->compute, "0"))
        return ERR(-EINVAL, "--overlap %g is a share of --compute: give --compute TIME",
                   o->overlap);
    TRY(predict_ranks(o->ranks, p->ranks, &p->n_ranks));
    TRY(predict_spec("link", o->link, &p->links));
    for (int i = 0; i < p->links.n; i++)
        TRY(predict_rate("link", p->links.word[i], &bps));
    TRY(predict_spec("format", o->format, &p->formats));
    TRY(predict_spec("algo", o->algo, &p->algos));
    TRY(predict_shards(o->shard, &p->shards));
    if (o->size &&
        (opt_given(&command, parsed, "optimizer") || opt_given(&command, parsed, "shard")))
        return ERR(-EINVAL, "--optimizer and --shard need a network: leave --size out");
    p->cluster.near = (int)o->near;
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

/* Every named format and algorithm must work in some combination; of default formats one must. */
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
    const double budget_s = 0.25; /* for each of two measurements */
    if (p->cast_bytes_s <= 0 || p->add_bytes_s <= 0)
        TRY(predict_measure(p, budget_s, &p->rates));
    if (p->port_bytes_s <= 0)
        TRY(predict_measure_ports((int)p->o->mtu, budget_s, p->rates.port_s));
    return 0;
}

static int show_layers(struct predict *p, const char *what)
{
    p->what = what;
    p->n_elements = 0;
    for (int i = 0; i < p->n_layers; i++)
        p->n_elements += p->layers[i].n;
    if (!p->o->json)
        printf("\n%s: %zu elements, %.4g MB of fp32 in %d layer%s\n", what, p->n_elements,
               4e-6 * (double)p->n_elements, p->n_layers, p->n_layers > 1 ? "s" : "");
    int rc = predict_show(p);
    if (rc == 0 && !p->o->size)
        rc = predict_show_memory(p);
    free(p->layers);
    return rc;
}

static int run(const struct predict_options *o, struct predict *p)
{
    static const struct opt size = {"size", "LIST", NULL, "", OPT_SIZE, 0, 4, 0x1p40, 0};
    struct predict_list sizes = {.n = 0};
    uint64_t bytes;
    if (o->size)
        TRY(predict_spec("size", o->size, &sizes));
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

int cmd_predict(int argc, char **argv)
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
        return ERR(-ENOMEM, "cannot predict: no memory");
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
