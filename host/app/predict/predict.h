/* predict.h : declares the parts of `narrowcast predict`: options, layers, rates and tables.
 * job/cost.h has the formulas.
 *
 *     options -> clusters, all-reduces, layers    rates: from a file of bench rows, or from options
 *     each cluster x all-reduce -> struct cost -> tables by link and format, or JSON lines
 *
 * Unless stated otherwise, int results are 0 or a negative errno that has been reported. */
#ifndef PREDICT_H
#define PREDICT_H
#include "base/opt/opt.h"
#include "job/cost.h"

enum { PREDICT_RANKS = 64, PREDICT_LIST = 16, PREDICT_WORD = 48, PREDICT_RANKS_MAX = 4096 };

struct predict_options {
    const char *ranks, *link, *node_link, *latency, *network, *layers, *size, *format, *out_format,
        *acc_format, *scale, *sum, *algo, *card_link, *card_rate, *rates, *compute, *cast_rate,
        *add_rate, *port_rate, *message;
    double overlap, ranks_per_core, unhidden;
    double width;
    int64_t image, classes, mtu, card_slots, rates_cores;
    uint64_t bucket_bytes, burst;
    bool json;
};

/* ---- option texts (predict_spec.c) ---- */

/* A list such as "A,B,C", split into at most PREDICT_LIST words. */
struct predict_list {
    char word[PREDICT_LIST][PREDICT_WORD];
    int n;
};
int predict_spec(const char *option, const char *text, struct predict_list *out);

/* Parses "2..4096" (numbers that double from the first), "6" or "2,3,100" into ranks
 * [PREDICT_RANKS]. */
int predict_ranks(const char *text, int *ranks, int *n);

/* Parse a number with a unit. A rate such as "2.5G" (10^9) is in bits or bytes per second. A time
 * such as "20us" or "1.5ms" is returned in seconds. */
int predict_rate(const char *option, const char *text, double *out);
int predict_time(const char *option, const char *text, double *out);

/* Returns the link speed in a label such as "2.5gbit, 4 nodes" (units of tc), or 0 if the label
 * gives no limit. */
double predict_label_bps(const char *label);

/* ---- layers (predict_spec.c) ---- */

/* Make a list of layers [*n], which the caller frees. This function reads it from a file with a
 * line per layer: "N", "NAME N" or "NAME OFFSET N ..." (layers.txt of a dump), where N is the
 * number of elements. */
int predict_layers_file(const char *path, struct reducer_layer **layers, int *n);
/* The same from the layers of a network. */
int predict_layers_network(const struct predict_options *o, struct reducer_layer **layers, int *n);
/* The same with a single layer of `bytes` bytes of fp32. */
int predict_layers_size(uint64_t bytes, struct reducer_layer **layers, int *n);

/* ---- rates (predict_rates.c, predict_fit.c) ---- */

struct predict;
enum predict_kind { PREDICT_ENCODE, PREDICT_DECODE, PREDICT_ADD, PREDICT_SUM, PREDICT_KINDS };
enum { PREDICT_RATES = 64, PREDICT_TIMES = 2048, PREDICT_MESSAGES = 48 };

/* Speed of one core for a format. If a file has several rows, their mean is used. */
struct predict_rate_row {
    enum predict_kind kind;
    struct mf_fmt fmt;
    double seconds; /* seconds per byte, summed over n rows */
    int n;
};

/* A measured all-reduce. */
struct predict_time_row {
    char algo[PREDICT_WORD], type[PREDICT_WORD];
    int n_ranks;
    double bytes, seconds, bps; /* bytes of fp32; bps 0: no limit */
};

/* Curves from long all-reduces of an algorithm and type ("": any), as in struct cost_rates and
 * cost_cluster. A curve without points is unknown. */
struct predict_messages {
    char algo[PREDICT_WORD], type[PREDICT_WORD];
    struct cost_curve port_s, unhidden, card_s;
};

struct predict_rates {
    struct predict_rate_row rows[PREDICT_RATES];
    struct predict_time_row times[PREDICT_TIMES];
    int n_rows, n_times;
    /* Seconds per byte of messages, sent or received: [0] with ranks, [1] with a card. 0 if
     * unknown. */
    double port_s[2];
    /* The card of the measured times, as in struct cost_cluster. */
    double card_link_bps;
    bool card_on_host;
    /* Fitted to the measured times (predict_fit.c). Negative if unknown. */
    double latency_s, card_rtt_s;
    /* First the curves of any algorithm, then those of each algorithm, then those of each of its
     * types. */
    struct predict_messages of[PREDICT_MESSAGES];
    int n_of;
};

/* Reads the lines that bench_cast, bench_allreduce and predict print with --json. Skips other
 * lines. */
int predict_rates_read(const char *path, struct predict_rates *out);

/* Return the name and speed that bench_cast prints. */
const char *predict_row_name(const struct predict_rate_row *row, char name[PREDICT_WORD]);
double predict_row_gbs(const struct predict_rate_row *row);

/* Writes the rows and port rates to stdout, for predict_rates_read(). */
int predict_rates_write(const struct predict_rates *r);

/* Returns the rates of a settled codec's formats. A format without a row gets the slowest rate of
 * the kind. A rate is 0 if there is no row of the kind. */
struct cost_rates predict_rates_of(const struct predict_rates *r, const struct codec *codec);

/* Returns whether these sums are measured one addend at a time (PREDICT_ADD) or
 * all at once (PREDICT_SUM). */
enum predict_kind predict_adds(const struct vec_sum *sum);

/* ---- measuring one core, in CPU time (predict_measure.c) ---- */

/* Measures casts and sums of all formats of p, and of fp32, for budget_s seconds in all. Adds rows
 * to *out. */
int predict_measure(const struct predict *p, double budget_s, struct predict_rates *out);

/* Measures messages over 127.0.0.1 for budget_s seconds: over TCP as to ranks, and over UDP as to a
 * card, in frames for this MTU. Sets port_s [2]. */
int predict_measure_ports(int mtu, double budget_s, double *port_s);

/* Multiplies times by the number of ranks that share a core. */
void predict_share_core(struct cost_rates *rates, double ranks);

/* ---- all-reduces (predict_settle.c) ---- */

struct predict_way {
    struct codec codecs[2];
    struct cost_rates rates[2];
    const struct algo *algo;
    int group;
    bool chooses, by_card;
    char rounding[CODEC_TEXT_BYTES]; /* codec_describe(codecs[0]): how sums are rounded */
};

/* Settles an all-reduce. type: "FORMAT" or "FORMAT/OUT". */
int predict_settle(const struct predict_options *o, const char *algo, const char *type, int n_ranks,
                   struct predict_way *out);

/* Returns the curves of the algorithm and type. If there are none, returns those of the algorithm,
 * or else those of any algorithm. */
struct predict_messages predict_messages_of(const struct predict_rates *r, const char *algo,
                                            const char *type);

/* Fits the numbers below to the measured times. For each time it finds the value with which the
 * formulas give that time, and takes the median of the values.
 *
 *     latency      short ones over any link    card answer   short ones through a card
 *     port rate    long ones without a limit   card rate     long ones through a card
 *     unhidden     long ones over links
 *
 * Long ones are fitted by length, algorithm and type. A byte of 1 MiB costs a CPU more than a byte
 * of 64 MiB, and a byte of e3m0 holds twice as many elements as a byte of e5m2. */
void predict_fit(const struct predict_options *o, struct predict_rates *r);

/* ---- tables (predict_show.c) ---- */

struct predict {
    const struct predict_options *o;
    int ranks[PREDICT_RANKS], n_ranks;
    struct predict_list links, algos, formats;
    struct cost_cluster cluster; /* without ranks and link */
    struct predict_rates rates;
    double compute_s;
    double cast_bytes_s, add_bytes_s, port_bytes_s, message_s; /* from options; 0: not given */
    /* from options; negative: not given */
    double unhidden;
    bool card_measured; /* cluster.card_s comes from the rates */
    struct reducer_layer *layers;
    int n_layers;
    const char *what; /* name of the layers, for output */
};

/* All-reduces of a type that round sums in the same way. Only all-reduces of one group are
 * compared. */
struct predict_group {
    char rounding[CODEC_TEXT_BYTES];
    bool has[PREDICT_LIST]; /* for each of p->algos: possible with some number of ranks */
};

/* Finds the groups of a type, in the order of p->algos. Returns their number. */
int predict_groups(const struct predict *p, const char *type,
                   struct predict_group out[PREDICT_LIST]);

/* Computes the time of an all-reduce. rounding: its group, or NULL for any. Returns 1, 0 if there
 * is no such all-reduce with n_ranks ranks, or -ENOMEM. */
int predict_cost(const struct predict *p, const char *algo, const char *type, const char *rounding,
                 int n_ranks, double link_bps, struct cost *out);

void predict_say_rates(const struct predict *p);

int predict_show(const struct predict *p);

#endif
