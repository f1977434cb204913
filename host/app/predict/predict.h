/* predict.h : declares the parts of `narrowcast predict`. job/cost.h has the formulas.
 *
 *     options -> clusters, all-reduces, layers    rates: from a file of bench rows, or from options
 *     each cluster x all-reduce -> struct cost -> tables by link and format, or JSON lines */
#ifndef PREDICT_H
#define PREDICT_H
#include "base/opt/opt.h"
#include "job/cost.h"

enum { PREDICT_RANKS = 64, PREDICT_LIST = 16, PREDICT_WORD = 48, PREDICT_RANKS_MAX = 4096 };

struct predict_options {
    const char *ranks, *link, *node_link, *latency, *network, *layers, *size, *format, *out_format,
        *acc_format, *scale, *sum, *algo, *card_link, *card_rate, *rates, *compute, *cast_rate,
        *add_rate, *port_rate, *message, *optimizer, *shard;
    double overlap, ranks_per_core, unhidden;
    double width;
    int64_t image, classes, mtu, card_slots, rates_cores, near;
    uint64_t bucket_bytes, burst;
    bool json;
};

/* ---- option texts (predict_spec.c) ---- */

/* list such as "A,B,C" */
struct predict_list {
    char word[PREDICT_LIST][PREDICT_WORD];
    int n;
};
int predict_spec(const char *option, const char *text, struct predict_list *out);

/* Parses "2..4096" (doubling from the first), "6" or "2,3,100" into ranks [PREDICT_RANKS]. */
int predict_ranks(const char *text, int *ranks, int *n);

/* Parse a number with a unit: a rate such as "2.5G" (10^9), in bits or bytes per second; a time
 * such as "20us" or "1.5ms", in seconds. */
int predict_rate(const char *option, const char *text, double *out);
int predict_time(const char *option, const char *text, double *out);

/* Returns the link speed in a label such as "2.5gbit, 4 nodes" (units of tc), or 0 for no limit. */
double predict_label_bps(const char *label);

/* ---- layers (predict_spec.c) ---- */

/* Make a list of layers [*n], which the caller frees. The file has a line per layer: "N", "NAME N"
 * or "NAME OFFSET N ..." (layers.txt of a dump). N: elements. */
int predict_layers_file(const char *path, struct reducer_layer **layers, int *n);
int predict_layers_network(const struct predict_options *o, struct reducer_layer **layers, int *n);
/* A single layer of `bytes` bytes of fp32. */
int predict_layers_size(uint64_t bytes, struct reducer_layer **layers, int *n);

/* ---- rates (predict_rates.c, predict_fit.c) ---- */

struct predict;
enum predict_kind { PREDICT_ENCODE, PREDICT_DECODE, PREDICT_ADD, PREDICT_SUM, PREDICT_KINDS };
enum { PREDICT_RATES = 64, PREDICT_TIMES = 2048, PREDICT_MESSAGES = 48 };

/* Speed of one core for a format, the mean over a file's rows. */
struct predict_rate_row {
    enum predict_kind kind;
    struct mf_fmt fmt;
    double seconds; /* per byte, summed over n rows */
    int n;
};

struct predict_time_row {
    char algo[PREDICT_WORD], type[PREDICT_WORD];
    int n_ranks;
    double bytes, seconds, bps; /* bytes of fp32; bps 0: no limit */
};

/* Curves of cost_rates and cost_cluster, fitted to long all-reduces of an algorithm and type ("":
 * any). Curves without points are unknown. */
struct predict_messages {
    char algo[PREDICT_WORD], type[PREDICT_WORD];
    struct cost_curve port_s, unhidden, card_s;
};

struct predict_rates {
    struct predict_rate_row rows[PREDICT_RATES];
    struct predict_time_row times[PREDICT_TIMES];
    int n_rows, n_times;
    /* seconds per byte of messages, sent or received: [0] with ranks, [1] with a card; 0:
     * unknown */
    double port_s[2];
    /* the card of the measured times, as in struct cost_cluster */
    double card_link_bps;
    bool card_on_host;
    /* fitted to the measured times (predict_fit.c); negative: unknown */
    double latency_s, card_rtt_s;
    /* curves of any algorithm, then of each algorithm, then of each of its types */
    struct predict_messages of[PREDICT_MESSAGES];
    int n_of;
};

/* Reads the lines of bench_cast, bench_allreduce and predict --json. Skips other lines. */
int predict_rates_read(const char *path, struct predict_rates *out);

/* Return a name that predict_rates_read() takes like bench_cast's, and the speed in GB/s. */
const char *predict_row_name(const struct predict_rate_row *row, char name[PREDICT_WORD]);
double predict_row_gbs(const struct predict_rate_row *row);

/* Prints the rows and port rates for predict_rates_read(). */
int predict_rates_write(const struct predict_rates *r);

/* Returns the rates of a settled codec's formats. A format without a row gets the kind's slowest
 * rate, or 0 without any. */
struct cost_rates predict_rates_of(const struct predict_rates *r, const struct codec *codec);

/* Returns PREDICT_ADD for rules measured one addend at a time, PREDICT_SUM for those measured with
 * all addends at once. */
enum predict_kind predict_adds(const struct vec_sum *sum);

/* ---- measuring one core, in CPU time (predict_measure.c) ---- */

/* Measures casts and sums of p's formats and fp32, for budget_s seconds in all. Adds rows to
 * *out. */
int predict_measure(const struct predict *p, double budget_s, struct predict_rates *out);

/* Measures messages over 127.0.0.1 for budget_s seconds: TCP as to ranks, UDP as to a card, in
 * frames for this MTU. Sets port_s [2]. */
int predict_measure_ports(int mtu, double budget_s, double *port_s);

/* Multiplies times by the number of ranks that share a core. */
void predict_share_core(struct cost_rates *rates, double ranks);

/* ---- all-reduces (predict_settle.c) ---- */

/* not to be copied: job points to codecs and rates */
struct predict_way {
    struct codec codecs[2];
    struct cost_rates rates[2];
    struct cost_job job;             /* without layers and times */
    char rounding[CODEC_TEXT_BYTES]; /* codec_describe(codecs[0]) */
};

/* True for "offload", and for "offload-each": near ranks do not add first. */
bool predict_is_card(const char *algo);

/* Settles an all-reduce without its rates. type: "FORMAT" or "FORMAT/OUT". */
int predict_settle(const struct predict_options *o, const char *algo, const char *type, int n_ranks,
                   struct predict_way *out);

/* Returns the curves of the algorithm and type, else those of the algorithm, else of any. */
struct predict_messages predict_messages_of(const struct predict_rates *r, const char *algo,
                                            const char *type);

/* Fits these numbers to the measured all-reduces: each is the median of the values that make the
 * formulas give a measured time.
 *
 *     latency      short ones over any link    card answer   short ones through a card
 *     port rate    long ones without a limit   card rate     long ones through a card
 *     unhidden     long ones over links
 *
 * Long ones are fitted by length, algorithm and type: a byte of 1 MiB costs a CPU more than a byte
 * of 64 MiB, and a byte of e3m0 holds twice as many elements as a byte of e5m2. */
void predict_fit(const struct predict_options *o, struct predict_rates *r);

/* ---- tables (predict_show.c) ---- */

struct predict {
    const struct predict_options *o;
    int ranks[PREDICT_RANKS], n_ranks;
    struct predict_list links, algos, formats, shards;
    struct cost_cluster cluster; /* without ranks and link */
    struct predict_rates rates;
    double compute_s;
    double cast_bytes_s, add_bytes_s, port_bytes_s, message_s; /* of options; 0: not given */
    /* of options; negative: not given */
    double unhidden;
    bool card_measured; /* cluster.card_s is from the rates */
    struct reducer_layer *layers;
    int n_layers;
    size_t n_elements; /* of all layers */
    const char *what;  /* of the layers, for output */
};

/* All-reduces of a type that round sums alike; only these are compared. */
struct predict_group {
    char rounding[CODEC_TEXT_BYTES];
    bool has[PREDICT_LIST]; /* for each of p->algos: possible with some n_ranks */
};

/* Finds the groups of a type, in the order of p->algos; returns their number. */
int predict_groups(const struct predict *p, const char *type,
                   struct predict_group out[PREDICT_LIST]);

void predict_say_rates(const struct predict *p);

int predict_show(const struct predict *p);

/* ---- memory of a rank (predict_memory.c) ---- */

/* Reports -EINVAL. */
int predict_shards(const char *text, struct predict_list *out);
int predict_show_memory(const struct predict *p);

#endif
