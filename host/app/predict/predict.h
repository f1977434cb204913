/* predict.h : the parts of `narrowcast model`: its words, layers, rates and tables. The formulas are
 * job/cost.h's.
 *
 *     words -> clusters, all-reduces, layers      rates: of a file of bench rows, or given
 *     each cluster x all-reduce -> struct cost -> a table for each link and format, or JSON lines */
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

/* ---- words (predict_words.c). They return 0 or -EINVAL with a line ---- */

/* "A,B,C" to words; at most PREDICT_LIST. */
struct predict_list {
    char word[PREDICT_LIST][PREDICT_WORD];
    int n;
};
int predict_words(const char *option, const char *text, struct predict_list *out);

/* "2..4096" (doubled from the first on), "6", "2,3,100", to ranks [PREDICT_RANKS]. */
int predict_ranks(const char *text, int *ranks, int *n);

/* A number with a unit: "2.5G" (10^9), of bits or bytes a second; "20us", "1.5ms", of seconds. */
int predict_rate(const char *option, const char *text, double *out);
int predict_time(const char *option, const char *text, double *out);

/* The speed of links in a label of bench rows: "2.5gbit, 4 nodes", as tc has it; 0: no limit, or
 * nothing is said of one. */
double predict_label_bps(const char *label);

/* ---- layers (predict_words.c) ---- */

/* From a file, a line each: "N", "NAME N" or "NAME OFFSET N ..." (layers.txt of a dump) for N
 * elements; of a network; or one of `bytes` of fp32. layers [*n]: free() gives them back. Return 0 or a
 * negative errno with a line. */
int predict_layers_file(const char *path, struct reducer_layer **layers, int *n);
int predict_layers_network(const struct predict_options *o, struct reducer_layer **layers, int *n);
int predict_layers_size(uint64_t bytes, struct reducer_layer **layers, int *n);

/* ---- rates (predict_rates.c, predict_fit.c) ---- */

struct predict;
enum predict_kind { PREDICT_ENCODE, PREDICT_DECODE, PREDICT_ADD, PREDICT_SUM, PREDICT_KINDS };
enum { PREDICT_RATES = 64, PREDICT_TIMES = 2048, PREDICT_MESSAGES = 48 };

/* Bytes a second of one core, of a format; several rows of it: their mean. */
struct predict_rate_row {
    enum predict_kind kind;
    struct mf_fmt fmt;
    double seconds; /* a byte, summed over rows */
    int n;
};

/* An all-reduce that was measured. */
struct predict_time_row {
    char algo[PREDICT_WORD], type[PREDICT_WORD];
    int n_ranks;
    double bytes, seconds, bps; /* fp32 bytes; bps: 0: no limit */
};

/* What long all-reduces of this algorithm and type tell, as struct cost_rates and cost_cluster have it;
 * "": of any. A curve without a point: nothing. */
struct predict_messages {
    char algo[PREDICT_WORD], type[PREDICT_WORD];
    struct cost_curve port_s, unhidden, card_s;
};

struct predict_rates {
    struct predict_rate_row rows[PREDICT_RATES];
    struct predict_time_row times[PREDICT_TIMES];
    int n_rows, n_times;
    double port_s[2];     /* a byte of messages sent or got: to ranks, to a card; 0: not known */
    double card_link_bps; /* as struct cost_cluster has them: of the times through a card */
    bool card_on_host;
    /* what the times tell (predict_fit.c); negative, or without a point: nothing */
    double latency_s, card_rtt_s;
    /* of all, then of each algorithm, then of each of its types */
    struct predict_messages of[PREDICT_MESSAGES];
    int n_of;
};

/* Reads what bench_cast --json, bench_allreduce --json and model --json print of rates; lines of other
 * kinds are passed over. Returns 0 or a negative errno with a line. */
int predict_rates_read(const char *path, struct predict_rates *out);

/* A row's name and speed as bench_cast prints them. */
const char *predict_row_name(const struct predict_rate_row *row, char name[PREDICT_WORD]);
double predict_row_gbs(const struct predict_rate_row *row);

/* Write the rows and port rates to stdout, as JSON lines that predict_rates_read() reads. Return 0 or a
 * negative errno with a line. */
int predict_rates_write(const struct predict_rates *r);

/* Of a settled codec: what the rows say of its formats; the slowest row of that kind where they have
 * none. Each is 0 where there is no row of a kind. */
struct cost_rates predict_rates_of(const struct predict_rates *r, const struct codec *codec);

/* Return how these sums are measured: one by one (PREDICT_ADD) or all at once (PREDICT_SUM). */
enum predict_kind predict_adds(const struct vec_sum *sum);

/* ---- measuring (predict_measure.c, predict_measure.c): rates of one core, in CPU time ---- */

/* Measure casts and sums of all formats of p, and of fp32, for budget_s seconds together. Add the
 * rows to *out. Return 0 or -ENOMEM. */
int predict_measure(const struct predict *p, double budget_s, struct predict_rates *out);

/* Measure messages over 127.0.0.1 for budget_s seconds: by TCP as to ranks, by UDP as to a card,
 * with frames for this MTU. Write port_s [2]. Return 0 or a negative errno. */
int predict_measure_ports(int mtu, double budget_s, double *port_s);

/* All takes so many times as long. */
void predict_share_core(struct cost_rates *rates, double ranks);

/* ---- all-reduces (predict_settle.c) ---- */

/* One, on so many ranks. */
struct predict_way {
    struct codec codecs[2];
    struct cost_rates rates[2];
    const struct algo *algo;
    int group;
    bool chooses, by_card;
    char rounding[CODEC_TEXT_BYTES]; /* codec_describe() of codecs[0]: how its sums are rounded */
};

/* type: "FORMAT" or "FORMAT/OUT". Returns 0 or -EINVAL with a line: it does not go together. */
int predict_settle(const struct predict_options *o, const char *algo, const char *type, int n_ranks,
                   struct predict_way *out);

/* Each curve is that of the algorithm and type, else of the algorithm, else of all. */
struct predict_messages predict_messages_of(const struct predict_rates *r, const char *algo,
                                            const char *type);

/* Finds latency, port rate, what is not hidden, a card's answer and rate, each so that the formulas
 * meet the times, the median of which is taken: from short all-reduces; from long ones without a
 * limit; from long ones over links; from short and from long ones through a card. What is found from
 * long ones is found for each length, algorithm and type: a byte of 1 MiB takes a CPU longer than one
 * of 64 MiB, and one of e3m0 stands for twice as many elements as one of e5m2. */
void predict_fit(const struct predict_options *o, struct predict_rates *r);

/* ---- tables (predict_show.c) ---- */

struct predict {
    const struct predict_options *o;
    int ranks[PREDICT_RANKS], n_ranks;
    struct predict_list links, algos, formats;
    struct cost_cluster cluster; /* but for ranks and link */
    struct predict_rates rates;
    double compute_s;
    double cast_bytes_s, add_bytes_s, port_bytes_s, message_s; /* given; 0: not */
    double unhidden;                                           /* given; negative: not */
    bool card_measured; /* cluster.card_s is what rates tell */
    struct reducer_layer *layers;
    int n_layers;
    const char *what; /* the layers, in words */
};

/* All-reduces of a type whose sums are rounded in the same way. Only these are compared. */
struct predict_group {
    char rounding[CODEC_TEXT_BYTES];
    bool has[PREDICT_LIST]; /* of p->algos: with one of the numbers of ranks at least */
};

/* Find the groups of a type, in the order of p->algos, and write them to out. Return how many. */
int predict_groups(const struct predict *p, const char *type,
                   struct predict_group out[PREDICT_LIST]);

/* Compute an all-reduce's time. rounding: it must belong to this group; NULL: any group will do.
 * Returns 1, 0 if there is no such all-reduce with so many ranks, or -ENOMEM. */
int predict_cost(const struct predict *p, const char *algo, const char *type, const char *rounding,
                 int n_ranks, double link_bps, struct cost *out);

/* Print the rates that all of it rests on, in words (predict_show.c). */
void predict_say_rates(const struct predict *p);

/* All of it. Returns 0 or a negative errno with a line. */
int predict_show(const struct predict *p);

#endif
