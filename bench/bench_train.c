/* bench_train.c : speed of one training step on one core, and the share of it that CBLAS takes.
 *   build/bench_train [--model resnet20] [--batch 128] [--size 32] [--channels 3] [--json] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/opt.h"
#include "base/progress.h"
#include "hls/philox.h"
#include "nn/model_graph.h"
#include "nn/optim.h"

enum { CLASSES = 10, MIN_STEPS = 3 };
static const double MIN_S = 4;

struct bench {
    const char *model;
    int batch, size, channels;
    bool json;
};

struct options {
    const char *model;
    int64_t batch, size, channels;
    bool json;
};

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"model", "NAME", "resnet20", "A model of `narrowcast train`.", OPT_TEXT, AT(model), 0, 0, 0},
    {"batch", "N", "128", "Images a step.", OPT_INT, AT(batch), 1, 65536, 0},
    {"size", "N", "32", "Height and width of an image.", OPT_INT, AT(size), 1, 4096, 0},
    {"channels", "N", "3", "Channels of an image.", OPT_INT, AT(channels), 1, 4096, 0},
    {"json", NULL, NULL, "One JSON object.", OPT_FLAG, AT(json), 0, 0, 0},
};
static const struct opt_command command = {
    .name = "bench_train",
    .args = "",
    .about = "Speed of one training step on one core, and the share of it that CBLAS takes.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};

struct times {
    int steps;
    double step_s, gemm_s; /* of one step, mean */
};

/* Operations of a step's GEMMs: one pass forward, two back; the first layer passes nothing on. */
static double step_flop(const struct nn_model *m, int batch)
{
    double sum = 0;
    for (int i = 1; i < m->n_nodes; i++) {
        const struct nn_window *g = &m->nodes[i].window;
        int per_output = m->nodes[i].kind == NODE_CONV ? g->k * g->k * g->in.c : g->in.h * g->in.w * g->in.c;
        if (m->nodes[i].kind == NODE_CONV || m->nodes[i].kind == NODE_LINEAR)
            sum += 2.0 * batch * g->out.h * g->out.w * g->out.c * per_output * (m->nodes[i].in > 0 ? 3 : 2);
    }
    return sum;
}

static void step(struct nn_model *m, struct optim *o, const real *x, const int32_t *labels, int batch)
{
    size_t n;
    nn_model_train(m, x, labels, batch, 1, NULL, NULL);
    optim_step(o, nn_model_weights(m, &n), nn_model_grads(m), 0.01);
}

static struct times measure(struct nn_model *m, struct optim *o, const real *x, const int32_t *labels, int batch)
{
    step(m, o, x, labels, batch); /* touches all memory once */
    struct times t = {0};
    struct progress progress;
    progress_init(&progress, true);
    double start = clock_s(), gemm = nn_model_gemm_s(m), now = start;
    progress.next_s = start + 2;
    for (; t.steps < MIN_STEPS || now - start < MIN_S; t.steps++) {
        step(m, o, x, labels, batch);
        now = clock_s();
        if (progress_due(&progress))
            progress_say(&progress, "%d steps, %.1f s", t.steps + 1, now - start);
    }
    progress_clear(&progress);
    t.step_s = (now - start) / t.steps;
    t.gemm_s = (nn_model_gemm_s(m) - gemm) / t.steps;
    return t;
}

static void show(const struct bench *b, struct times t, double flop)
{
    double images_s = b->batch / t.step_s, share = t.gemm_s / t.step_s;
    if (b->json)
        printf("{\"model\":\"%s\",\"batch\":%d,\"size\":%d,\"channels\":%d,\"steps\":%d,\"step_s\":%.6g,"
               "\"images_per_s\":%.6g,\"gemm_share\":%.4f,\"gflop_per_s\":%.4g}\n",
               b->model, b->batch, b->size, b->channels, t.steps, t.step_s, images_s, share, 1e-9 * flop / t.step_s);
    else
        printf("%s, %dx%dx%d, batch %d: %.1f ms a step, %.0f images/s, %.1f GFLOP/s, %.1f %% of the time in CBLAS\n",
               b->model, b->size, b->size, b->channels, b->batch, 1e3 * t.step_s, images_s, 1e-9 * flop / t.step_s,
               100 * share);
}

int main(int argc, char **argv)
{
    struct options given = {0};
    struct opt_parsed parsed;
    if (opt_parse(&command, argc - 1, argv + 1, &given, &parsed) < 0)
        return 2;
    if (parsed.help) {
        opt_help(&command, stdout);
        return 0;
    }
    const struct bench b = {.model = given.model,
                            .batch = (int)given.batch,
                            .size = (int)given.size,
                            .channels = (int)given.channels,
                            .json = given.json};
    nn_cpu_threads(1);
    struct nn_model *m;
    if (nn_model_open(&nn_cpu, b.model, (struct nn_shape){b.size, b.size, b.channels}, CLASSES, b.batch, 1, &m) < 0)
        return 1;
    int n_params;
    size_t n_weights, pixels = (size_t)b.batch * (size_t)(b.size * b.size * b.channels);
    const struct nn_param *params = nn_model_params(m, &n_params);
    nn_model_weights(m, &n_weights);
    struct optim *o;
    struct optim_options options = {.momentum = 0.9, .weight_decay = 1e-4};
    real *x = malloc(pixels * sizeof *x);
    int32_t *labels = malloc((size_t)b.batch * sizeof *labels);
    if (!x || !labels || optim_open(&nn_cpu, &options, params, n_params, n_weights, &o) < 0)
        return 1;
    for (size_t i = 0; i < pixels; i++)
        x[i] = (real)philox_u32(1, i) * 0x1p-31f - 1;
    for (int i = 0; i < b.batch; i++)
        labels[i] = i % CLASSES;
    show(&b, measure(m, o, x, labels, b.batch), step_flop(m, b.batch));
    free(x), free(labels);
    optim_close(o);
    nn_model_close(m);
    return 0;
}
