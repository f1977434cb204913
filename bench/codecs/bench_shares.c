/* bench_shares.c : counts gradients that are too small or too large for relgrad's codes, by layer.
 *
 * DIR needs weights. Each codec computes quantiles in every step. With two stages, nodes of
 * --group ranks are added first, as in group-scatter:K. By codec, by layer and for all, over all
 * steps:
 *     q           largest rank's quantile in the first step; all: largest layer's / smallest's
 *     underflow   share of all ranks' non-zero gradients whose code is 0
 *     saturate    share of all gradients whose code is the largest number
 *     lost, top   the same for sums: 0 where the fp64 mean is not, and the largest number */
#include "base/buf.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "bench/measure.h"
#include "codec/codec.h"
#include "dump.h"
#include <math.h>

enum { SEED = 1 };

static const struct row {
    const char *word;
    bool one_stage;
} rows[] = {{"relgrad:eps=1e-3", false},
            {"relgrad:eps=1e-4", false},
            {"relgrad:eps=1e-5", false},
            {"relgrad:of=gradient", false},
            {"relgrad:eps=1e-5", true}};
enum { N_ROWS = sizeof rows / sizeof *rows };

struct options {
    int64_t group;
    bool json;
    const char *dir;
};

struct shares {
    double q;
    uint64_t n, n_not_0, underflow, saturate; /* gradients of all ranks */
    uint64_t sums, sums_not_0, lost, top;
};

struct bench {
    struct dump dump;
    int group;
    float *grads;             /* [n_ranks][n], of the last step read */
    float *weights;           /* [n] */
    uint8_t **codes, **nodes; /* [n_ranks] codes and [n_ranks / group] node sums of one layer */
    uint8_t *sum;
    struct shares *shares; /* [N_ROWS][n_layers] */
};

static size_t longest(const struct dump *d)
{
    size_t n = 0;
    for (int l = 0; l < d->n_layers; l++)
        n = d->layers[l].n > n ? d->layers[l].n : n;
    return n;
}

static uint8_t **open_vectors(int n, size_t bytes)
{
    uint8_t **list = buf_alloc((size_t)n * sizeof *list);
    for (int i = 0; list && i < n; i++)
        if (!(list[i] = buf_alloc(bytes)))
            return NULL; /* never freed: the program ends */
    return list;
}

static void close_vectors(uint8_t **list, int n)
{
    for (int i = 0; list && i < n; i++)
        free(list[i]);
    free(list);
}

static int bench_open(struct bench *b, const struct options *o)
{
    struct dump *d = &b->dump;
    TRY(dump_open(d, o->dir));
    b->group = o->group ? (int)o->group : d->n_ranks;
    if (d->n_ranks % b->group)
        return ERR(-EINVAL,
                   "cannot make nodes of --group %d of the %d ranks of \"%s\": need a divisor",
                   b->group, d->n_ranks, o->dir);
    if (d->n > SIZE_MAX / 4 / (size_t)d->n_ranks)
        return ERR(-EINVAL, "cannot use \"%s\": its gradients do not fit in memory", o->dir);
    const size_t most = longest(d);
    b->grads = buf_alloc((size_t)d->n_ranks * d->n * sizeof *b->grads);
    b->weights = buf_alloc(d->n * sizeof *b->weights);
    b->codes = open_vectors(d->n_ranks, most);
    b->nodes = open_vectors(d->n_ranks / b->group, most);
    b->sum = buf_alloc(most);
    b->shares = buf_alloc(N_ROWS * (size_t)d->n_layers * sizeof *b->shares);
    return b->grads && b->weights && b->codes && b->nodes && b->sum && b->shares ? 0 : -ENOMEM;
}

static void bench_close(struct bench *b)
{
    close_vectors(b->codes, b->dump.n_ranks);
    close_vectors(b->nodes, b->group ? b->dump.n_ranks / b->group : 0);
    free(b->grads), free(b->weights), free(b->sum), free(b->shares);
    dump_close(&b->dump);
}

static bool is_0(uint8_t code)
{
    return (code & 0x7f) == 0;
}

static bool is_top(uint8_t code)
{
    return (code & 0x7f) == mf_max(mf_e5m2());
}

static const float *grads_of(const struct bench *b, int rank, int l)
{
    return b->grads + (size_t)rank * b->dump.n + b->dump.layers[l].offset;
}

/* Encode on all ranks with the largest rank's quantile. */
static void encode(const struct bench *b, const struct codec *c, uint64_t step,
                   struct codec_layer *layer)
{
    const struct codec_part part = {.layer = layer};
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < b->dump.n_ranks; r++) {
            struct vec_span s = {.x = grads_of(b, r, (int)layer->index),
                                 .codes = b->codes[r],
                                 .n = layer->n,
                                 .padded = layer->n,
                                 .key = codec_key(c, step, layer->index, (uint32_t)r)};
            float max;
            if (pass == 1) {
                codec_encode_all(c, &s, &part, 1);
                continue;
            }
            codec_absmax_all(c, &s, &part, 1);
            memcpy(&max, &s.absmax, sizeof max);
            layer->max = max > layer->max ? max : layer->max;
        }
}

/* Add the codes into b->sum, in nodes of `node` ranks first. */
static void add(const struct bench *b, const struct codec *c, int node, size_t n)
{
    const struct codec_call call = {.codec = c};
    const struct reduce_op f = codec_reduce_op(&call);
    const int n_nodes = b->dump.n_ranks / node;
    if (n_nodes == 1) {
        f.ops->sum(&f, 0, (const uint8_t *const *)b->codes, node, n, true, b->sum);
        return;
    }
    for (int k = 0; k < n_nodes; k++)
        f.ops->sum(&f, 0, (const uint8_t *const *)b->codes + k * node, node, n, false, b->nodes[k]);
    f.ops->sum(&f, 0, (const uint8_t *const *)b->nodes, n_nodes, n, true, b->sum);
}

static void count(const struct bench *b, int l, struct shares *to)
{
    const size_t n = b->dump.layers[l].n;
    for (size_t i = 0; i < n; i++) {
        double mean = 0;
        for (int r = 0; r < b->dump.n_ranks; r++) {
            const float g = grads_of(b, r, l)[i];
            to->n_not_0 += g != 0;
            to->underflow += g != 0 && is_0(b->codes[r][i]);
            to->saturate += is_top(b->codes[r][i]);
            mean += (double)g;
        }
        to->sums_not_0 += mean != 0;
        to->lost += mean != 0 && is_0(b->sum[i]);
        to->top += is_top(b->sum[i]);
    }
    to->n += n * (size_t)b->dump.n_ranks;
    to->sums += n;
}

static int settle(const struct bench *b, const struct row *row, struct codec *c)
{
    const struct codec_spec spec = {.codec = row->word};
    const struct codec_adder by = {.name = "in one process",
                                   .needs = row->one_stage ? 0 : REDUCE_NODES,
                                   .node = row->one_stage ? 0 : b->group};
    TRY(codec_parse(&spec, c));
    c->seed = SEED;
    return codec_settle(c, b->dump.n_ranks, &by);
}

static int run_step(struct bench *b, uint64_t step)
{
    const struct dump *d = &b->dump;
    for (int r = 0; r < d->n_ranks; r++)
        TRY(dump_read_rank(d, step, r, b->grads + (size_t)r * d->n));
    TRY(dump_read_flat(d, step, "weights", b->weights));
    if (vec_best()->absmax(b->grads, (size_t)d->n_ranks * d->n) >= 0x7f800000)
        return ERR(-EINVAL,
                   "cannot use \"%s\": step %" PRIu64 " has inf or nan, which no step sends",
                   d->dir, step);
    for (int i = 0; i < N_ROWS; i++) {
        struct codec c;
        TRY(settle(b, &rows[i], &c));
        for (int l = 0; l < d->n_layers; l++) {
            struct shares *to = &b->shares[i * d->n_layers + l];
            struct codec_layer layer = {.index = (uint32_t)l,
                                        .n = d->layers[l].n,
                                        .weights = b->weights + d->layers[l].offset};
            encode(b, &c, step, &layer);
            add(b, &c, rows[i].one_stage ? d->n_ranks : b->group, layer.n);
            to->q = step == d->first ? (double)layer.max : to->q;
            count(b, l, to);
        }
    }
    return 0;
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100 * (double)part / (double)all : 0;
}

static void add_shares(struct shares *to, const struct shares *s)
{
    to->n += s->n, to->n_not_0 += s->n_not_0;
    to->underflow += s->underflow, to->saturate += s->saturate;
    to->sums += s->sums, to->sums_not_0 += s->sums_not_0;
    to->lost += s->lost, to->top += s->top;
}

static struct shares all_layers(const struct bench *b, int row)
{
    struct shares all = {.q = 0};
    for (int l = 0; l < b->dump.n_layers; l++)
        add_shares(&all, &b->shares[row * b->dump.n_layers + l]);
    return all;
}

/* Returns the ratio of the layers' largest quantile to the smallest that is not 0. */
static double apart(const struct bench *b, int row)
{
    double least = INFINITY, most = 0;
    for (int l = 0; l < b->dump.n_layers; l++) {
        const double q = b->shares[row * b->dump.n_layers + l].q;
        most = q > most ? q : most;
        least = q > 0 && q < least ? q : least;
    }
    return most > 0 ? most / least : 1;
}

/* layer NULL: all layers. */
static void json_line(struct jsonl *j, const struct bench *b, int row, const char *layer,
                      const struct shares *s)
{
    jsonl_begin(j, "shares");
    jsonl_text(j, "codec", rows[row].word);
    jsonl_int(j, "node", rows[row].one_stage ? b->dump.n_ranks : b->group);
    jsonl_text(j, "layer", layer);
    jsonl_uint(j, "elements", s->sums);
    jsonl_real(j, layer ? "q" : "apart", layer ? s->q : apart(b, row));
    jsonl_real(j, "underflow", percent(s->underflow, s->n_not_0));
    jsonl_real(j, "saturate", percent(s->saturate, s->n));
    jsonl_real(j, "lost", percent(s->lost, s->sums_not_0));
    jsonl_real(j, "top", percent(s->top, s->sums));
    jsonl_end(j);
}

static void print_json(const struct bench *b)
{
    struct jsonl j;
    jsonl_to(&j, stdout);
    for (int i = 0; i < N_ROWS; i++) {
        const struct shares all = all_layers(b, i);
        for (int l = 0; l < b->dump.n_layers; l++)
            json_line(&j, b, i, b->dump.layers[l].name, &b->shares[i * b->dump.n_layers + l]);
        json_line(&j, b, i, NULL, &all);
    }
}

enum cell { SENT, SUMS, QUANTILE, N_CELLS };
static void print_cell(enum cell cell, const struct shares *s)
{
    if (cell == QUANTILE)
        printf(" %.2e |", s->q);
    else
        printf(" %.3f / %.3f |",
               cell == SENT ? percent(s->underflow, s->n_not_0) : percent(s->lost, s->sums_not_0),
               cell == SENT ? percent(s->saturate, s->n) : percent(s->top, s->sums));
}

static void print_table(const struct bench *b, enum cell cell)
{
    static const char *const heads[N_CELLS] = {"sent as 0 / as the largest, %",
                                               "sums that are 0 / the largest, %", "quantile"};
    const struct dump *d = &b->dump;
    printf("\n| %s | elements |", heads[cell]);
    for (int i = 0; i < N_ROWS; i++)
        printf(" %s%s |", rows[i].word + strlen("relgrad:"), rows[i].one_stage ? ", direct" : "");
    printf("\n|---|---|");
    for (int i = 0; i < N_ROWS; i++)
        printf("---|");
    for (int l = 0; l < d->n_layers; l++) {
        printf("\n| %s | %zu |", d->layers[l].name, d->layers[l].n);
        for (int i = 0; i < N_ROWS; i++)
            print_cell(cell, &b->shares[i * d->n_layers + l]);
    }
    printf("\n| %s | %zu |", cell == QUANTILE ? "largest / smallest" : "all", d->n);
    for (int i = 0; i < N_ROWS; i++) {
        struct shares all = all_layers(b, i);
        all.q = apart(b, i);
        print_cell(cell, &all);
    }
    printf("\n");
}

static const struct opt opts[] = {
    {"group", "K", NULL, "Ranks of a node, whose codes are added first. Default: all ranks.",
     OPT_INT, offsetof(struct options, group), 1, 65536, 0},
    {"json", NULL, NULL,
     "Print one JSON object per codec and layer, and one per codec for all layers (layer: null).",
     OPT_FLAG, offsetof(struct options, json), 0, 0, 0}};
static const struct opt_command command = {
    .name = "bench_shares",
    .args = "DIR",
    .min_args = 1,
    .max_args = 1,
    .about = "Counts the dumped gradients that are too small or too large for relgrad's codes, "
             "layer by layer. DIR was written by `narrowcast train --dump-gradients DIR`.",
    .examples = "  build/bench_shares build/dump --group 4\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .alone = true};

static int run(struct bench *b, const struct options *o)
{
    const struct dump *d = &b->dump;
    TRY(bench_open(b, o));
    for (uint64_t s = d->first; s < d->first + d->n_steps; s++)
        TRY(run_step(b, s));
    if (o->json) {
        print_json(b);
        return 0;
    }
    printf("%d ranks in nodes of %d, %" PRIu64 " steps from %" PRIu64 " on\n", d->n_ranks, b->group,
           d->n_steps, d->first);
    for (enum cell cell = 0; cell < N_CELLS; cell++)
        print_table(b, cell);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    struct bench b = {.group = 0};
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    o.dir = parsed.args[0];
    const int rc = run(&b, &o);
    bench_close(&b);
    return rc < 0;
}
