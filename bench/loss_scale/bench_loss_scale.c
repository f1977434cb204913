/* bench_loss_scale.c : measures the effect of scaling activation gradients in a narrow format.
 * Trains with adaptive scales per layer; at some steps its weights and images also pass through
 * every other scheme and fp32.
 *
 * Columns for each scheme, over these steps:
 *     underflow   share of a layer's non-zero activation gradients below the format's smallest
 *                 number before rounding: the layer with most, the median layer, layers above 1 %
 *     lost        share of fp32's non-zero activation gradients that are 0 here or below the
 *                 format's smallest number: the layer with most
 *     L2          error of the weights' gradient to fp32's, and to that of a network with fp32
 *                 activation gradients but equally narrow activations and weights; mean of the
 *                 finite ones
 *     overflowed  passes whose gradients were not finite, adaptive: of all training steps. The
 *                 dynamic scale is halved until they are finite.
 *
 * --layers FILE: lines of step, scheme, index from the loss on, layer, underflow, lost, s, S s. */
#include "base/buf.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "bench/measure.h"
#include "base/progress.h"
#include "nn/cpu/blas.h"
#include "nn/data/dataset.h"
#include "nn/model_graph.h"
#include "nn/optim/optim.h"
#include "nn/round/round_ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 512 };

struct options {
    const char *data, *model, *format, *act, *adaptive, *layers;
    int64_t batch, steps, look, warmup;
    double lr;
};

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"data", "SPEC", "synthetic", dataset_help, TEXT_AT(data)},
    {"model", "NAME", "resnet110", "A network of `narrowcast train`.", TEXT_AT(model)},
    {"format", "F", "e5m10", "Format of activation gradients.", TEXT_AT(format)},
    {"act", "F", NULL, "Format of activations and weights; fp32: exact. Without it, --format's.",
     TEXT_AT(act)},
    {"adaptive", "WORD", "adaptive", "Scales of layers: adaptive[:T,every,A,max].",
     TEXT_AT(adaptive)},
    {"batch", "N", "32", "Images in a step.", INT_AT(batch, 1, 65536)},
    {"steps", "N", "200", "Steps to train.", INT_AT(steps, 1, 1e6)},
    {"look", "N", "40", "Steps between measurements. The first one is in step 1.",
     INT_AT(look, 1, 1e6)},
    {"lr", "X", "0.1", "Learning rate after --warmup.", REAL_AT(lr, 0, 100)},
    {"warmup", "N", "100", "Steps of warm-up, from 0.", INT_AT(warmup, 0, 1e6)},
    {"layers", "FILE", NULL, "Write a line per step, scheme and layer to this file.",
     TEXT_AT(layers)},
};
static const struct opt_command command = {
    .name = "bench_loss_scale",
    .args = "",
    .about = "Measures which activation gradients each scaling scheme saves in a narrow format, "
             "compared with fp32.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};

/* two references, then the schemes */
static const char *const schemes[] = {"fp32", "fp32 act grads", "none",    "16",
                                      "128",  "dynamic",        "adaptive"};
enum { FP32, FP32_ACT_GRADS, NONE, K16, K128, DYNAMIC, ADAPTIVE, SCHEMES };

struct sums {
    double most, median, lost, l2, l2_act_grads;
    int above, looks, finite, overflowed; /* finite: looks */
};

struct bench {
    struct options o;
    struct dataset *data;
    uint32_t *order;
    real *x;
    int32_t *labels;
    struct nn_model *trained;
    struct optim *optim;
    real *w, *grads[2]; /* grads: of the two references */
    size_t n;
    struct mf_fmt act_grads; /* the format of activation gradients */
    double moving;           /* the dynamic scheme's scale */
    struct scale_tally fp32[LAYERS_MAX];
    struct sums sums[SCHEMES];
    FILE *layers;
};

static int open_scheme(const struct bench *b, int scheme, struct nn_model **out)
{
    static struct round_setup rounds; /* of the last scheme; copied on open */
    struct scale_choice scale;
    char word[160];
    const char *act = b->o.act ? b->o.act : b->o.format;
    const bool act_exact = !strcmp(act, "fp32");
    const bool exact = scheme == FP32 || (scheme == FP32_ACT_GRADS && act_exact);
    if (act_exact)
        snprintf(word, sizeof word, "error=%s,overflow=inf", b->o.format);
    else
        snprintf(
            word, sizeof word, "act=%s,weight=%s%s%s,overflow=inf", act, act,
            scheme == FP32_ACT_GRADS ? "" : ",error=", scheme == FP32_ACT_GRADS ? "" : b->o.format);
    TRY(round_spec(word, &rounds));
    TRY(scale_spec(b->o.adaptive, &scale));
    if (scale.kind != SCALE_ADAPTIVE)
        return ERR(-EINVAL, "--adaptive %s: want adaptive[:T,every,A,max]", b->o.adaptive);
    scale_format(&scale.adaptive.rule, b->act_grads);
    rounds.below = &nn_cpu;
    const double fixed = scheme == K16 ? 16 : scheme == K128 ? 128 : 0;
    const struct nn_setup setup = {.watched = true,
                                   .scaled = fixed > 0 || scheme >= DYNAMIC,
                                   .loss_scale = fixed,
                                   .adaptive = scheme == ADAPTIVE ? &scale.adaptive : NULL,
                                   .round = exact ? NULL : &rounds};
    TRY(nn_model_open(exact ? &nn_cpu : &nn_round, &setup, b->o.model, dataset_shape(b->data),
                      b->data->n_classes, (int)b->o.batch, 1, out));
    nn_model_watch(*out, true);
    return 0;
}

static void look_at_layers(struct bench *b, int step, int scheme, const struct nn_model *m,
                           int least_bin)
{
    struct sums *s = &b->sums[scheme];
    struct nn_back back;
    double share[LAYERS_MAX];
    int n = 0;
    for (; n < LAYERS_MAX && nn_model_back(m, n, &back); n++) {
        const double small = tally_below(back.tally, least_bin),
                     all = tally_below(back.tally, TALLY_BINS),
                     true_all = tally_below(&b->fp32[n], TALLY_BINS),
                     lost = (back.tally->zero + small - b->fp32[n].zero) / true_all;
        share[n] = all > 0 ? small / all : 0;
        s->lost = fmax(s->lost, lost);
        s->above += share[n] > 0.01;
        if (b->layers)
            fprintf(b->layers, "%d\t%s\t%d\t%s\t%.6g\t%.6g\t%g\t%g\n", step, schemes[scheme], n,
                    back.name, share[n], lost, (double)back.own, (double)back.carried);
    }
    s->median += measure_median(share, (size_t)n); /* sorts */
    s->most = fmax(s->most, share[n - 1]);
}

static double l2_to(const real *a, const real *b, size_t n)
{
    double apart = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        all += (double)b[i] * (double)b[i];
    }
    return sqrt(apart / all);
}

/* Return false if the gradients are not finite. */
static bool add_l2(const struct bench *b, int scheme, const real *grads, struct sums *s)
{
    const double l2 = l2_to(grads, b->grads[FP32], b->n);
    s->looks++;
    if (!isfinite(l2))
        return false;
    s->finite++;
    s->l2 += l2;
    s->l2_act_grads += scheme == FP32 ? 0 : l2_to(grads, b->grads[FP32_ACT_GRADS], b->n);
    return true;
}

static void pass(const struct bench *b, struct nn_model *m)
{
    const struct nn_batch batch = {.n = (int)b->o.batch, .x = b->x, .labels = b->labels};
    (void)nn_model_train(m, &batch, 1, NULL, NULL);
}

/* Run this step through another scheme. */
static int look(struct bench *b, int step, int scheme, int least_bin)
{
    struct nn_model *m;
    struct sums *s = &b->sums[scheme];
    size_t n;
    TRY(open_scheme(b, scheme, &m));
    memcpy(nn_model_weights(m, &n), b->w, b->n * sizeof *b->w);
    if (scheme == DYNAMIC)
        nn_model_loss_scale(m)->value = b->moving;
    pass(b, m);
    const real *grads = nn_model_grads(m);
    while (scheme == DYNAMIC && !isfinite(l2_to(grads, b->grads[FP32], b->n)) && b->moving > 1) {
        s->overflowed++;
        nn_model_loss_scale_update(m, false);
        b->moving = nn_model_loss_scale(m)->value;
        pass(b, m);
    }
    struct nn_back back;
    if (scheme <= FP32_ACT_GRADS)
        memcpy(b->grads[scheme], grads, b->n * sizeof *grads);
    for (int i = 0; scheme == FP32 && i < LAYERS_MAX && nn_model_back(m, i, &back); i++)
        b->fp32[i] = *back.tally;
    s->overflowed += !add_l2(b, scheme, grads, s);
    look_at_layers(b, step, scheme, m, least_bin);
    nn_model_close(m);
    return 0;
}

static int train(struct bench *b)
{
    const size_t batch = (size_t)b->o.batch, per_epoch = b->data->n_train / batch;
    struct scale_choice any;
    struct progress progress;
    TRY(scale_spec("adaptive", &any));
    scale_format(&any.adaptive.rule, b->act_grads);
    const int least_bin = ilogb(any.adaptive.rule.least) + TALLY_BIAS;
    progress_init(&progress, true);
    for (int step = 0; step < (int)b->o.steps; step++) {
        const size_t at = (size_t)step % per_epoch, epoch = (size_t)step / per_epoch;
        const double grown = b->o.warmup ? fmin(1, (step + 1.0) / (double)b->o.warmup) : 1;
        if (at == 0)
            dataset_order(1, epoch, b->data->n_train, b->order);
        const struct dataset_augment augment = {
            .how = {.crop = 4, .flip = 1}, .seed = 1, .epoch = epoch};
        dataset_batch(b->data, false, b->order + at * batch, (int)batch, &augment, b->x, b->labels,
                      NULL);
        for (int s = 0; step % b->o.look == 0 && s < ADAPTIVE; s++)
            TRY(look(b, step + 1, s, least_bin));
        nn_model_watch(b->trained, step % b->o.look == 0);
        pass(b, b->trained);
        real *grads = nn_model_grads(b->trained);
        struct sums *own = &b->sums[ADAPTIVE];
        if (step % b->o.look == 0) {
            (void)add_l2(b, ADAPTIVE, grads, own);
            look_at_layers(b, step + 1, ADAPTIVE, b->trained, least_bin);
        }
        const bool finite = isfinite(l2_to(grads, grads, b->n));
        own->overflowed += !finite;
        nn_model_loss_scale_update(b->trained, finite);
        if (finite)
            optim_step(b->optim, b->w, grads, b->o.lr * grown);
        if (progress_due(&progress))
            progress_say(&progress, "step %d of %d", step + 1, (int)b->o.steps);
    }
    progress_clear(&progress);
    return 0;
}

static void show(const struct bench *b)
{
    printf("%s in %s, activations in %s, %d steps of %d images, %s; a look every %d; underflow in "
           "%%\n",
           b->o.model, b->o.format, b->o.act ? b->o.act : b->o.format, (int)b->o.steps,
           (int)b->o.batch, b->o.adaptive, (int)b->o.look);
    printf("| scheme | layer with most | median layer | layers above 1 %% | most lost to fp32 | L2 "
           "to fp32, "
           "%% | to fp32 act grads, %% | overflowed |\n|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < SCHEMES; i++) {
        const struct sums *s = &b->sums[i];
        printf("| %s | %.3g | %.3g | %.1f | %.3g | %.4g | %.4g | %d |\n", schemes[i], 100 * s->most,
               100 * s->median / s->looks, (double)s->above / s->looks, 100 * s->lost,
               100 * s->l2 / s->finite, 100 * s->l2_act_grads / s->finite, s->overflowed);
    }
}

static int open_bench(struct bench *b)
{
    const struct optim_options sgd = {.momentum = 0.9, .weight_decay = 1e-4, .bias_rate = 1};
    struct round_setup rounds;
    char word[64];
    snprintf(word, sizeof word, "error=%s", b->o.format);
    TRY(round_spec(word, &rounds));
    b->act_grads = rounds.of[ROUND_ACT_GRAD].rule.fmt;
    TRY(dataset_open(b->o.data, 0, &b->data));
    if ((size_t)b->o.batch > b->data->n_train)
        return ERR(-EINVAL, "--batch %d is more than the %zu training images", (int)b->o.batch,
                   b->data->n_train);
    TRY(open_scheme(b, ADAPTIVE, &b->trained));
    b->w = nn_model_weights(b->trained, &b->n);
    TRY(optim_open(&nn_cpu, nn_model_ctx(b->trained), &sgd, b->trained->params,
                   b->trained->n_params, b->n, &b->optim));
    b->order = buf_alloc(b->data->n_train * sizeof *b->order);
    b->x = buf_alloc(batch_elements(dataset_shape(b->data), (int)b->o.batch) * sizeof *b->x);
    b->labels = buf_alloc((size_t)b->o.batch * sizeof *b->labels);
    b->grads[0] = buf_alloc(b->n * sizeof(real));
    b->grads[1] = buf_alloc(b->n * sizeof(real));
    b->moving = 65536;
    if (b->o.layers && !(b->layers = fopen(b->o.layers, "w")))
        return ERR(-errno, "cannot write '%s': %s", b->o.layers, strerror(errno));
    return b->order && b->x && b->labels && b->grads[0] && b->grads[1] ? 0 : -ENOMEM;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct opt_parsed parsed;
    blas_know_cpu(argv);
    const int done = measure_options(&command, argc, argv, &b.o, &parsed);
    if (done >= 0)
        return done;
    nn_cpu_threads(1);
    int rc = open_bench(&b);
    if (rc == 0)
        rc = train(&b);
    if (rc == 0)
        show(&b);
    if (b.layers && fclose(b.layers) && rc == 0)
        rc = ERR(-EIO, "cannot write '%s': %s", b.o.layers, strerror(errno));
    optim_close(b.optim);
    nn_model_close(b.trained);
    dataset_close(b.data);
    free(b.order), free(b.x), free(b.labels), free(b.grads[0]), free(b.grads[1]);
    return rc < 0;
}
