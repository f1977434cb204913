/* bench_train.c : measures a training step on one core, with CBLAS's share, or on one GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "bench/measure.h"
#include "base/progress.h"
#include "nn/cpu/blas.h"
#include "nn/data/feed.h"
#include "nn/model_graph.h"
#include "nn/optim/optim.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/vec_cuda.h"

enum { MIN_STEPS = 3, WARM_STEPS = 4, INFINITY_BITS = 0x7f800000 };
static const double MIN_S = 4;

struct options {
    const char *model, *device, *precision, *conv, *data;
    int64_t batch, size, channels, classes, threads;
    bool json;
};

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"model", "NAME", "resnet20", "A network of `narrowcast train`.", TEXT_AT(model)},
    {"batch", "N", "128", "Images in a step.", INT_AT(batch, 1, 65536)},
    {"size", "N", "32", "Height and width of an image.", INT_AT(size, 1, 4096)},
    {"channels", "N", "3", "Channels of an image.", INT_AT(channels, 1, 4096)},
    {"classes", "N", "10", "Classes.", INT_AT(classes, 2, 1000)},
    {"data", "SPEC", NULL, "Samples of a data set of `narrowcast train`, instead of noise.",
     TEXT_AT(data)},
    {"threads", "N", "1", "Threads of a CPU's matrix products.", INT_AT(threads, 1, 1024)},
    {"device", "cpu|cuda", "cpu", "Where.", CHOICE_AT(device)},
    {"precision", "fp32|tf32|fp16|bf16", "fp32",
     "Format of matrix products and activations; on a CPU fp32, or bf16 for products.",
     CHOICE_AT(precision)},
    {"conv", "auto|winograd|gemm", "auto", "How the CPU convolves.", CHOICE_AT(conv)},
    {"json", NULL, NULL, "Print one JSON object.", FLAG_AT(json)},
};
static const struct opt_command command = {
    .name = "bench_train",
    .args = "",
    .about = "Measures one training step on a CPU, with the share of CBLAS, or on one GPU. "
             "Images are bytes that are normalised on the way. In fp16, gradients are checked for "
             "inf and nan before a step.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};

struct bench {
    struct options o;
    struct nn_model *model;
    struct optim *optim;
    struct dataset noise; /* two batches */
    struct dataset *data; /* noise, or loaded */
    struct feed *feed;
    uint32_t *order;
    /* fp16: checks gradients for inf and nan, to move the scale; else NULL */
    const struct vec_ops *looks;
};

struct times {
    int steps;
    double step_s, gemm_s; /* means over steps */
};

/* Returns the multiplications of one sample in a node, forward. */
static double node_products(const struct node *node)
{
    const struct nn_window *g = &node->window;
    const double in = (double)g->in.h * g->in.w * g->in.c,
                 out = (double)g->out.h * g->out.w * g->out.c;
    if (node->kind == &layer_conv)
        return out * g->k * g->k * g->in.c;
    if (node->kind == &layer_linear)
        return out * in;
    if (node->kind == &layer_lstm) /* for each time step: four gates, and the projection */
        return (double)g->in.h * node->cells * (4.0 * (g->in.c + g->out.c) + g->out.c);
    return 0;
}

/* Returns the operations of a step's GEMMs: one pass forward, two back (first layer: one). */
static double step_flop(const struct nn_model *m, int batch)
{
    double sum = 0;
    for (int i = 1; i < m->n_nodes; i++)
        sum += 2.0 * batch * node_products(&m->nodes[i]) * (m->nodes[i].in > 0 ? 3 : 2);
    return sum;
}

static void step(struct bench *b, uint64_t i)
{
    const size_t batch = (size_t)b->o.batch;
    size_t n;
    real *w = nn_model_weights(b->model, &n);
    if (!feed_waiting(b->feed))
        feed_next(b->feed, 0, b->order, (int)batch);
    feed_next(b->feed, 0, b->order + (i % 2 ? 0 : batch), (int)batch);
    feed_train(b->feed, 1, NULL, NULL);
    real *g = nn_model_grads(b->model);
    const bool finite = !b->looks || b->looks->absmax(g, n) < INFINITY_BITS;
    if (finite)
        optim_step(b->optim, w, g, 0.01);
    if (b->looks)
        nn_model_loss_scale_update(b->model, finite);
}

static struct times measure(struct bench *b)
{
    for (uint64_t i = 0; i < WARM_STEPS; i++) /* touches memory, makes plans, records */
        step(b, i);
    struct times t = {0};
    struct progress progress;
    progress_init(&progress, true);
    double start = clock_s(), gemm = nn_model_gemm_s(b->model), now = start;
    progress.next_s = start + 2;
    for (; t.steps < MIN_STEPS || now - start < MIN_S; t.steps++) {
        step(b, (uint64_t)t.steps);
        now = clock_s();
        if (progress_due(&progress))
            progress_say(&progress, "%d steps, %.1f s", t.steps + 1, now - start);
    }
    progress_clear(&progress);
    t.step_s = (now - start) / t.steps;
    t.gemm_s = (nn_model_gemm_s(b->model) - gemm) / t.steps;
    return t;
}

static void show(const struct bench *b, struct times t, double flop)
{
    const struct options *o = &b->o;
    const struct nn_shape in = dataset_shape(b->data);
    const double samples_s = (double)o->batch / t.step_s, share = t.gemm_s / t.step_s;
    const int batch = (int)o->batch;
    if (o->json)
        printf("{\"model\":\"%s\",\"device\":\"%s\",\"precision\":\"%s\",\"batch\":%d,\"size\":%d,"
               "\"channels\":%d,\"classes\":%d,\"threads\":%d,"
               "\"steps\":%d,\"step_s\":%.6g,\"images_per_s\":%.6g,\"gemm_share\":%.4f,"
               "\"gflop\":%.6g,\"gflop_per_s\":%.4g}\n",
               o->model, o->device, o->precision, batch, in.h, in.c, b->data->n_classes,
               (int)o->threads, t.steps, t.step_s, samples_s, share, 1e-9 * flop,
               1e-9 * flop / t.step_s);
    else
        printf("%s, %dx%dx%d, batch %d, %s %s: %.1f ms a step, %.0f %s/s, %.1f GFLOP/s", o->model,
               in.h, in.w, in.c, batch, o->device, o->precision, 1e3 * t.step_s, samples_s,
               b->data->samples->name, 1e-9 * flop / t.step_s);
    if (!o->json && t.gemm_s > 0)
        printf(", %.1f %% of the time in CBLAS", 100 * share);
    if (!o->json)
        printf("\n");
}

static int make_data(struct bench *b)
{
    const size_t side = (size_t)b->o.size, n = 2 * (size_t)b->o.batch,
                 bytes = n * side * side * (size_t)b->o.channels;
    b->order = buf_alloc(n * sizeof *b->order);
    if (!b->order)
        return -ENOMEM;
    if (b->o.data) {
        TRY(dataset_open(b->o.data, 0, &b->data));
        for (size_t i = 0; i < n; i++)
            b->order[i] = (uint32_t)(i % b->data->n_train);
        return 0;
    }
    b->data = &b->noise;
    b->noise = (struct dataset){.samples = &sample_images,
                                .h = (int)side,
                                .w = (int)side,
                                .c = (int)b->o.channels,
                                .n_classes = (int)b->o.classes,
                                .n_train = n,
                                .train_x = buf_alloc(bytes),
                                .train_y = buf_alloc(n * sizeof *b->noise.train_y),
                                .mean = {0.5f, 0.5f, 0.5f},
                                .inv_std = {4, 4, 4}};
    if (!b->noise.train_x || !b->noise.train_y)
        return -ENOMEM;
    for (size_t i = 0; i < bytes; i++)
        b->noise.train_x[i] = (uint8_t)(i * 2654435761u >> 24);
    for (size_t i = 0; i < n; i++) {
        b->noise.train_y[i] = (uint16_t)(i % (size_t)b->o.classes);
        b->order[i] = (uint32_t)i;
    }
    return 0;
}

static int open_bench(struct bench *b)
{
    const struct options *o = &b->o;
    const bool on_gpu = strcmp(o->device, "cuda") == 0;
    const struct nn_setup setup = {.math = nn_math_of(o->precision), .conv = nn_conv_of(o->conv)};
    const struct nn_ops *ops = on_gpu ? &nn_cuda : &nn_cpu;
    const struct optim_options sgd = {.momentum = 0.9, .weight_decay = 1e-4, .bias_rate = 1};
    const struct dataset_augment augment = {.seed = 0};
    struct nn_target wants;
    int n_params;
    size_t n_weights;
    if (!on_gpu && setup.math != NN_FP32 && setup.math != NN_BF16)
        return ERR(-EINVAL, "--precision %s needs --device cuda", o->precision);
    if (o->data && (o->size != 32 || o->channels != 3 || o->classes != 10))
        return ERR(-EINVAL, "--data has a size, channels and classes of its own: leave out --size, "
                            "--channels and --classes");
    if (on_gpu && o->threads > 1)
        return ERR(-EINVAL, "--threads applies only to --device cpu");
    if (on_gpu)
        TRY(gpu_open(0));
    if (setup.math == NN_FP16)
        b->looks = vec_cuda();
    nn_cpu_threads((int)o->threads);
    TRY(make_data(b));
    const struct nn_shape in = dataset_shape(b->data);
    TRY(nn_model_wants(o->model, in, b->data->n_classes, &wants));
    TRY(dataset_suits(b->data, o->model, wants));
    TRY(nn_model_open(ops, &setup, o->model, in, b->data->n_classes, (int)o->batch, 1, &b->model));
    const struct nn_param *params = nn_model_params(b->model, &n_params);
    nn_model_weights(b->model, &n_weights);
    TRY(optim_open(ops, nn_model_ctx(b->model), &sgd, params, n_params, n_weights, &b->optim));
    return feed_open(b->model, b->data, &augment, (int)o->batch, &b->feed);
}

static void close_bench(struct bench *b)
{
    feed_close(b->feed);
    free(b->order);
    if (b->data != &b->noise)
        dataset_close(b->data);
    free(b->noise.train_x);
    free(b->noise.train_y);
    optim_close(b->optim);
    nn_model_close(b->model);
    gpu_close();
}

int main(int argc, char **argv)
{
    blas_know_cpu(argv);
    struct bench b = {.model = NULL};
    struct opt_parsed parsed;
    const int done = measure_options(&command, argc, argv, &b.o, &parsed);
    if (done >= 0)
        return done;
    if (open_bench(&b) < 0)
        return 1;
    const struct times t = measure(&b);
    const bool failed = nn_model_failed(b.model) < 0;
    if (!failed)
        show(&b, t, step_flop(b.model, (int)b.o.batch));
    close_bench(&b);
    return failed;
}
