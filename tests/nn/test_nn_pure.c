/* test_nn_pure.c : tests pure fp16 on the CPU: all numbers are e5m10 after every slot
 * (nn/round/round_ops.h); gradients equal those of a network that only rounds tensors. */
#include "base/bits.h"
#include "check.h"
#include "nn/data/feed.h"
#include "nn/model_graph.h"
#include "nn/optim/optim.h"
#include "nn/round/round_ops.h"
#include "nn_pure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, SIDE = 28, CLASSES = 10 };

/* By the bits of an fp32, without mf.h. */
static bool is_half(float x)
{
    const uint32_t bits = bits_of(x), exponent = bits >> 23 & 255, mantissa = bits & 0x7fffff;
    if (exponent == 255 || bits << 1 == 0)
        return true;
    if (exponent > 127 + 15 || exponent < 127 - 24)
        return false;
    const uint32_t lost = exponent >= 127 - 14 ? 13 : 13 + (127 - 14 - exponent);
    return (mantissa & ((1u << lost) - 1)) == 0;
}

static struct {
    const struct nn_model *m;
    struct optim *optim;
    const real *more;
    size_t n_more, n_looks, n_values;
    bool bad;
} watched;

static void look_at(const char *slot, const char *what, int i, const real *x, size_t n)
{
    for (size_t k = 0; k < n && !watched.bad; k++)
        if (!is_half((float)x[k])) {
            watched.bad = true;
            CHECK(false, "behind %s: %s %d [%zu] is %.9g, no value of e5m10", slot, what, i, k,
                  (double)x[k]);
        }
    watched.n_values += n;
}

/* Attention keeps p; ds, here of the first sample, is in scratch memory after the pass that makes
 * it. */
static void look_at_shares(const char *slot)
{
    const struct nn_model *m = watched.m;
    for (int i = 1; i < m->n_nodes; i++) {
        const struct node *node = &m->nodes[i];
        const size_t steps = (size_t)node->window.in.h;
        const size_t n = (size_t)node->heads * steps * steps;
        if (node->kind != &layer_attention)
            continue;
        look_at(slot, "p of node", i, node->kept, n * (size_t)m->max_batch);
        if (!strcmp(slot, "attention_shares_back"))
            look_at(slot, "ds, before node", i, m->scratch, n);
    }
}

static void look(const char *slot)
{
    const struct nn_model *m = watched.m;
    if (!m || watched.bad)
        return;
    watched.n_looks++;
    for (int i = 0; i < m->n_nodes; i++)
        look_at(slot, "output of node", i, m->nodes[i].y,
                batch_elements(m->nodes[i].window.out, m->max_batch));
    for (int b = 0; b < m->n_buffers; b++)
        look_at(slot, "gradient in buffer", b, m->buffers[b].p, m->buffers[b].n);
    look_at(slot, "weights", 0, m->weights, m->n_weights);
    look_at(slot, "gradients of weights", 0, m->grads, m->n_weights);
    look_at(slot, "running statistics", 0, m->stats, m->n_stats);
    for (int i = 0; watched.optim && i < optim_n_states(watched.optim); i++)
        look_at(slot, "states", i, optim_state(watched.optim, i), m->n_weights);
    look_at_shares(slot);
    if (watched.more)
        look_at(slot, "sums of micro-batches", 0, watched.more, watched.n_more);
}

#define PLAN(name, params, args)
#define PASS(name, params, args, makes)              \
    static void watch_##name(void *ctx, LIST params) \
    {                                                \
        nn_round.name(ctx, LIST args);               \
        look(#name);                                 \
    }
#include "hls/nn/layers.def"

static void watch_upload(void *ctx, void *dst, const void *src, size_t bytes)
{
    nn_round.upload(ctx, dst, src, bytes);
    look("put");
}

static void watch_input(void *ctx, size_t n, const real *x, real *y)
{
    nn_round.input(ctx, n, x, y);
    look("input");
}

static void watch_add_divide(void *ctx, size_t n, const real *a, const real *b, real divisor,
                             real *y)
{
    nn_round.add_divide(ctx, n, a, b, divisor, y);
    look("add_divide");
}

static void watch_optim(void *ctx, void *plan, int first, int n, const struct optim_step *step,
                        real *w, const real *g, real *const *state)
{
    nn_round.optim(ctx, plan, first, n, step, w, g, state);
    look("optim");
}

static struct nn_ops watching(void)
{
    struct nn_ops ops = nn_round;
#define PLAN(name, params, args)
#define PASS(name, params, args, makes) ops.name = watch_##name;
#include "hls/nn/layers.def"
    ops.upload = watch_upload;
    ops.input = watch_input;
    ops.add_divide = watch_add_divide;
    ops.optim = watch_optim;
    return ops;
}

struct batch {
    real *x;
    size_t n;
    int32_t *labels, lengths[BATCH];
};

static struct batch batch_of(const struct nn_model *m, uint64_t key)
{
    const struct nn_shape in = m->nodes[0].window.out;
    const size_t n_labels = (size_t)nn_model_target(m).n;
    struct batch b = {.n = batch_elements(in, BATCH)};
    b.x = malloc(b.n * sizeof *b.x);
    b.labels = malloc(BATCH * n_labels * sizeof *b.labels);
    if (!b.x || !b.labels)
        exit(1);
    for (size_t i = 0; i < b.n; i++)
        b.x[i] = (real)uniform(key, i);
    for (size_t i = 0; i < BATCH * n_labels; i++)
        b.labels[i] =
            n_labels == 1 || i % n_labels < 3 ? 1 + (int)(i + key) % (CLASSES - 1) : NN_IGNORED;
    for (int i = 0; i < BATCH; i++)
        b.lengths[i] = in.h - i;
    return b;
}

static struct nn_batch first_of(const struct nn_model *m, const struct batch *b, int n)
{
    const bool sequence = m->nodes[0].window.out.w == 1;
    return (struct nn_batch){
        .n = n, .x = b->x, .labels = b->labels, .lengths = sequence ? b->lengths : NULL};
}

static void batch_free(struct batch *b)
{
    free(b->x), free(b->labels);
}

static struct nn_model *open_shaped(const struct nn_ops *ops, const struct round_setup *round,
                                    const char *name, const char *block, struct nn_shape in,
                                    double width, const struct scale_setup *scales)
{
    struct nn_block form;
    struct nn_setup setup = {
        .round = round, .block = &form, .width = width, .adaptive = scales, .scaled = scales};
    struct nn_model *m;
    if (nn_block_spec(block, &form) < 0 ||
        nn_model_open(ops, &setup, name, in, CLASSES, BATCH, 1, &m) < 0)
        exit(1);
    return m;
}

static const struct nn_shape image = {SIDE, SIDE, 1}, sequence = {9, 1, 11};

static struct nn_model *open_model(const struct nn_ops *ops, const struct round_setup *round,
                                   const char *name, const char *block)
{
    return open_shaped(ops, round, name, block, strcmp(name, "chargpt") ? image : sequence, 1,
                       NULL);
}

static void check_largest(struct nn_model *m)
{
    enum { PIECE = 1000 };
    float scratch[PIECE], got;
    for (int i = 0; i < nn_model_n_outputs(m); i++) {
        const struct nn_output out = nn_model_output(m, i);
        float most = 0;
        for (size_t k = 0; k < BATCH * out.n; k++)
            most = fmaxf(most, fabsf((float)m->nodes[i + 1].y[k]));
        CHECK(nn_model_largest(m, i, BATCH, scratch, PIECE, &got) == 0 && got == most,
              "%s: largest %g, not %g", out.name, (double)got, (double)most);
        for (int c = 0; c < out.channels; c++)
            CHECK(m->stats[out.variance + (size_t)c] > 0, "%s: variance", out.name);
    }
}

static void check_steps(const char *name, const char *block, struct nn_shape in, double width,
                        const struct scale_setup *scales, const struct optim_options *o,
                        uint64_t n_steps)
{
    const struct nn_ops ops = watching();
    const struct round_setup round = pure_setup();
    struct nn_model *m = open_shaped(&ops, &round, name, block, in, width, scales);
    int n_params;
    const struct nn_param *params = nn_model_params(m, &n_params);
    void *ctx = nn_model_ctx(m);
    struct optim *optim;
    size_t n = m->n_weights;
    watched.m = m;
    look("open");
    if (optim_open(&ops, ctx, o, params, n_params, n, &optim) < 0)
        exit(1);
    real *sum = ops.alloc(ctx, n * sizeof *sum);
    watched.optim = optim, watched.more = sum, watched.n_more = n;
    for (uint64_t step = 0; step < n_steps; step++) {
        struct batch a = batch_of(m, 2 * step), b = batch_of(m, 2 * step + 1);
        const struct nn_batch first = first_of(m, &a, BATCH), second = first_of(m, &b, BATCH - 1);
        const struct nn_result r = nn_model_train(m, &first, step, NULL, NULL);
        CHECK(isfinite(r.loss_sum), "%s, %s: loss %g", name, block, r.loss_sum);
        check_largest(m);
        ops.add_divide(ctx, n, m->grads, NULL, 1, sum);
        (void)nn_model_train(m, &second, step + 9, NULL, NULL);
        ops.add_divide(ctx, n, sum, m->grads, 3, m->grads);
        optim_step(optim, m->weights, m->grads, 0.1);
        nn_model_loss_scale_update(m, true);
        batch_free(&a), batch_free(&b);
    }
    struct batch d = batch_of(m, 7);
    real *third = malloc((m->n_stats + 1) * sizeof *third);
    const struct nn_batch test = first_of(m, &d, BATCH);
    (void)nn_model_eval(m, &test);
    for (size_t i = 0; third && i < m->n_stats; i++)
        third[i] = m->stats[i] / 3;
    (void)nn_model_put(m, m->stats, third, m->n_stats);
    printf("%s, %s: %zu values behind %zu slots\n", name, block, watched.n_values, watched.n_looks);
    CHECK(watched.n_looks > 40, "%s: %zu looks", name, watched.n_looks);
    int n_own = 0;
    for (int i = 1; scales && i < m->n_nodes; i++)
        n_own += m->host.scales[i].own != 1;
    CHECK(!scales || n_own > 0, "%s: no layer has found a scale of its own", name);
    watched.m = NULL, watched.optim = NULL, watched.more = NULL;
    watched.n_values = watched.n_looks = 0;
    free(third);
    batch_free(&d);
    ops.free(ctx, sum);
    optim_close(optim);
    nn_model_close(m);
}

static void check_feed(void)
{
    const struct nn_ops ops = watching();
    const struct round_setup round = pure_setup();
    const struct dataset_augment augment = {.seed = 3};
    const uint32_t index[] = {5, 0, 17, 3, 8, 2, 11};
    struct nn_model *m = open_model(&ops, &round, "lenet5", "plain");
    struct dataset *data;
    struct feed *feed;
    if (dataset_open("synthetic:40,5", 0, &data) < 0 ||
        feed_open(m, data, &augment, BATCH, &feed) < 0)
        exit(1);
    watched.m = m;
    feed_next(feed, 0, index, BATCH);
    feed_next(feed, 0, index + BATCH, BATCH - 1);
    for (int i = 0; i < 2; i++)
        CHECK(isfinite(feed_train(feed, 1, NULL, NULL).loss_sum), "feed: no loss");
    feed_next_test(feed, 0, BATCH);
    (void)feed_eval(feed);
    CHECK(watched.n_looks > 30, "feed: %zu looks", watched.n_looks);
    watched.m = NULL, watched.n_looks = watched.n_values = 0;
    feed_close(feed);
    dataset_close(data);
    nn_model_close(m);
}

static size_t n_not_rounded(const real *pure, const real *wide, size_t n)
{
    size_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad += (float)pure[i] != half_of((double)wide[i]);
    return bad;
}

/* With weights and images in e5m10, results equal a --quant network's, rounded once. */
static void check_values(const char *name, const char *block)
{
    const struct round_setup round = pure_setup();
    struct round_setup words;
    CHECK(round_spec("act=e5m10,error=e5m10,overflow=inf", &words) == 1, "words");
    words.below = &nn_cpu;
    struct nn_model *pure = open_model(&nn_round, &round, name, block),
                    *wide = open_model(&nn_round, &words, name, block);
    struct batch d = batch_of(pure, 5);
    for (size_t i = 0; i < wide->n_weights; i++)
        wide->weights[i] = (real)half_of((double)wide->weights[i]);
    CHECK(!memcmp(pure->weights, wide->weights, wide->n_weights * sizeof(real)), "%s: weights",
          name);
    (void)nn_model_train(pure, &(struct nn_batch){.n = BATCH, .x = d.x, .labels = d.labels}, 3,
                         NULL, NULL);
    for (size_t i = 0; i < d.n; i++)
        d.x[i] = (real)half_of((double)d.x[i]);
    (void)nn_model_train(wide, &(struct nn_batch){.n = BATCH, .x = d.x, .labels = d.labels}, 3,
                         NULL, NULL);
    for (int i = 0; i < pure->n_nodes; i++)
        CHECK(!memcmp(pure->nodes[i].y, wide->nodes[i].y,
                      batch_elements(pure->nodes[i].window.out, BATCH) * sizeof(real)),
              "%s, %s: output of node %d", name, block, i);
    const size_t bad = n_not_rounded(pure->grads, wide->grads, pure->n_weights);
    CHECK(bad == 0, "%s, %s: %zu gradients are not those rounded", name, block, bad);
    CHECK(n_not_rounded(wide->grads, wide->grads, wide->n_weights) > 0, "%s: nothing to round",
          name);
    CHECK(n_not_rounded(pure->stats, wide->stats, pure->n_stats) == 0, "%s, %s: statistics", name,
          block);
    batch_free(&d);
    nn_model_close(pure), nn_model_close(wide);
}

int main(void)
{
    const struct optim_options sgd = {.momentum = 0.9, .weight_decay = 1e-4, .bias_rate = 1},
                               lars = {.kind = OPTIM_lars,
                                       .nesterov = true,
                                       .momentum = 0.9,
                                       .weight_decay = 5e-4,
                                       .trust = 0.01,
                                       .bias_rate = 2},
                               adamw = {.kind = OPTIM_adamw,
                                        .weight_decay = 0.01,
                                        .bias_rate = 1,
                                        .beta1 = 0.9,
                                        .beta2 = 0.999,
                                        .eps = 1e-4};
    struct scale_choice c;
    CHECK(scale_spec("adaptive:1e-7", &c) == 0, "adaptive");
    scale_format(&c.adaptive.rule, mf_half());
    nn_cpu_threads(1);
    puts("seeds: weights 1, images 0 to 7");
    check_steps("resnet8", "swap", image, 1, NULL, &sgd, 3);
    check_steps("resnet8", "zero-gamma", image, 1, NULL, &lars, 2);
    check_steps("lenet5", "plain", image, 1, NULL, &adamw, 3);
    check_steps("lenet5", "plain", image, 1, NULL, &lars, 2);
    check_steps("mlp", "plain", image, 1, NULL, &sgd, 2);
    check_steps("lstm", "plain", sequence, 0.02, NULL, &sgd, 2);
    check_steps("charlstm", "plain", sequence, 0.05, NULL, &lars, 2);
    check_steps("chargpt", "plain", sequence, 0.1, NULL, &sgd, 2);
    check_steps("chargpt", "plain", sequence, 0.1, &c.adaptive, &sgd, 2);
    check_steps("fcn", "swap", image, 0.03, NULL, &sgd, 1);
    check_steps("googlenet", "plain", (struct nn_shape){64, 64, 3}, 0.04, NULL, &sgd, 1);
    check_steps("resnet8", "swap", image, 1, &c.adaptive, &sgd, 2);
    check_steps("charlstm", "plain", sequence, 0.05, &c.adaptive, &sgd, 2);
    check_steps("googlenet", "plain", (struct nn_shape){64, 64, 3}, 0.04, &c.adaptive, &sgd, 1);
    check_feed();
    check_values("resnet8", "swap");
    check_values("resnet8", "plain:0.25");
    check_values("lenet5", "plain");
    check_values("chargpt", "plain");
    DONE();
}
