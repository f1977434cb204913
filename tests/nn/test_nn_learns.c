/* test_nn_learns.c : networks, large ones narrowed, memorise one batch and report gradients once,
 * last layer first. */
#include <string.h>
#include "base/buf.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/model_graph.h"
#include "nn/optim/optim.h"

enum { CLASSES = 5, BATCH = 10 };

struct lesson {
    const char *model;
    double width;
    int side;
    double lr;
    int steps;
    bool drops;
};

static const struct lesson lessons[] = {
    {"mlp", 1, 28, 0.02, 40, false},
    {"lenet5", 1, 28, 0.02, 40, false},
    {"resnet8", 1, 29, 0.05, 40, false},
    {"resnet110", 0.25, 29, 0.05, 40, false},
    {"resnet18", 0.0625, 29, 0.05, 40, false},
    {"resnet50", 0.0625, 29, 0.05, 40, false},
    {"resnet152", 0.0625, 29, 0.02, 30, false},
    {"davidnet", 0.0625, 32, 0.05, 40, false},
    {"caffenet", 0.0625, 39, 0.02, 120, true},
    {"alexnet", 0.0625, 39, 0.02, 120, true},
    {"vgg19", 0.125, 32, 0.005, 200, true},
    {"googlenet", 0.25, 29, 0.008, 80, true},
    {"bn-inception", 0.125, 29, 0.05, 40, false},
    {"fcn", 0.0625, 29, 0.05, 60, false},
};

struct order {
    int next;
    bool bad;
};

static void note(void *ctx, int first, int n)
{
    struct order *o = ctx;
    o->bad |= n < 1 || first + n != o->next;
    o->next = first;
}

static real *random_images(size_t n)
{
    real *x = buf_alloc(n * sizeof *x);
    if (!x)
        exit(1);
    for (size_t i = 0; i < n; i++)
        x[i] = (real)((double)philox_u32(7, i) * 0x1p-31 - 1);
    return x;
}

static void check_names(const char *model, const struct nn_param *params, int n_params)
{
    for (int i = 0; i < n_params; i++)
        for (int j = 0; j < i; j++)
            CHECK(strcmp(params[i].name, params[j].name), "%s: two params '%s'", model,
                  params[i].name);
}

/* Labels of pixels depend on their quarter of the image; between quarters there are none. */
static void make_labels(struct nn_target target, int side, int32_t *labels)
{
    for (int i = 0; i < BATCH * target.n; i++) {
        const int image = i / target.n, y = i % target.n / side, x = i % target.n % side;
        const int from_y = abs(2 * y + 1 - side), from_x = abs(2 * x + 1 - side);
        labels[i] =
            target.n == 1 ? i % CLASSES : (image + 2 * (2 * y > side) + (2 * x > side)) % CLASSES;
        if (target.n > 1 && (from_y < 5 || from_x < 5))
            labels[i] = NN_IGNORED;
    }
}

/* Without dropout, judges the last training pass, whose batch norms use the batch. */
static void check_learns(const struct lesson *l)
{
    const struct nn_setup setup = {.math = NN_FP32, .width = l->width};
    const struct nn_shape in = {l->side, l->side, 3};
    const struct optim_options options = {.momentum = 0.9, .bias_rate = 1};
    struct nn_model *m;
    struct optim *o;
    size_t n_weights;
    int n_params;
    if (nn_model_open(&nn_cpu, &setup, l->model, in, CLASSES, BATCH, 1, &m) < 0)
        exit(1);
    const struct nn_param *params = nn_model_params(m, &n_params);
    real *w = nn_model_weights(m, &n_weights),
         *x = random_images(BATCH * (size_t)l->side * (size_t)l->side * 3);
    check_names(l->model, params, n_params);
    if (optim_open(&nn_cpu, nn_model_ctx(m), &options, params, n_params, n_weights, &o) < 0)
        exit(1);
    const size_t n_labels = BATCH * (size_t)nn_model_target(m).n;
    int32_t *labels = buf_alloc(n_labels * sizeof *labels);
    make_labels(nn_model_target(m), l->side, labels);
    const struct nn_batch batch = {.n = BATCH, .x = x, .labels = labels};
    struct nn_result r = {.loss_sum = 0};
    double first = 0;
    for (int i = 0; i < l->steps; i++) {
        struct order order = {n_params, false};
        r = nn_model_train(m, &batch, (uint64_t)i, note, &order);
        CHECK(!order.bad && order.next == 0, "%s: gradients out of order: %d left", l->model,
              order.next);
        optim_step(o, w, nn_model_grads(m), l->lr * (1 - (double)i / l->steps));
        first = i ? first : r.loss_sum;
    }
    r = l->drops ? nn_model_eval(m, &batch) : r;
    printf("%-12s width %-6g %8zu weights: loss %.3f, then %.3f; %d of %d\n", l->model, l->width,
           n_weights, first / (double)r.n_labels, r.loss_sum / (double)r.n_labels, r.n_correct,
           r.n_labels);
    CHECK(r.n_correct >= 0.99 * r.n_labels, "%s learned %d of %d", l->model, r.n_correct,
          r.n_labels);
    optim_close(o);
    nn_model_close(m);
    free(x), free(labels);
}

static void check_side(void)
{
    const struct nn_shape in = {6, 5, 2};
    const size_t n = BATCH * 6 * 5 * 2;
    struct nn_model *m = malloc(sizeof *m);
    if (!m || graph_init(m, &nn_cpu, in, BATCH) < 0 || nn_cpu.open(NULL, &m->ctx) < 0)
        exit(1);
    m->scale.value = 1;
    const int x = graph_relu(m, graph_conv(m, 0, "conv1", 4, 3, 1, 1, true));
    int y = graph_conv(m, x, "conv2", 4, 1, 1, 0, true);
    y = graph_add(m, y, graph_conv(m, x, "conv3", 4, 3, 1, 1, true));
    y = graph_concat(m, (const int[]){y, graph_conv(m, x, "conv4", 3, 1, 1, 0, true)}, 2);
    const int side = graph_relu(m, graph_conv(m, x, "side.conv", 3, 3, 1, 1, true));
    const int other = graph_linear(m, side, "side.classifier", CLASSES, true);
    graph_head(m, graph_linear(m, y, "classifier", CLASSES, true), &loss_class, 0.5);
    graph_head(m, other, &loss_class, 0.25);
    if (graph_plan(m, 1) < 0)
        exit(1);
    real *images = random_images(n);
    int32_t labels[BATCH];
    make_labels(m->target, 1, labels);
    const struct nn_batch batch = {.n = BATCH, .x = images, .labels = labels};
    const struct nn_result trained = nn_model_train(m, &batch, 1, NULL, NULL);
    const double first = m->host.results[0].loss_sum, second = m->host.results[1].loss_sum;
    CHECK(trained.loss_sum == 0.5 * first + 0.25 * second, "%g of %g and %g", trained.loss_sum,
          first, second);
    for (int i = 1; i < m->n_nodes; i++)
        m->nodes[i].y[0] = -7;
    const struct nn_result r = nn_model_eval(m, &batch);
    CHECK(r.loss_sum == 0.5 * first && r.n_correct == trained.n_correct, "%g, not half of %g",
          r.loss_sum, first);
    CHECK(m->nodes[side].y[0] == -7 && m->nodes[other].y[0] == -7, "the other head is evaluated");
    nn_model_close(m);
    free(images);
}

int main(void)
{
    nn_cpu_threads(1);
    puts("seeds: images 7, weights 1");
    check_side();
    for (size_t i = 0; i < sizeof lessons / sizeof *lessons; i++)
        check_learns(&lessons[i]);
    DONE();
}
