/* test_nn_grad_model.c : compares gradients of whole small networks with central differences:
 * connections of nodes, shared gradient buffers. Four weights of each tensor, with `long` 24. */
#include "nn_double.h"
#include "host/nn/zoo/model_zoo.c"
#include "host/nn/zoo/model_zoo_plain.c"

enum { CLASSES = 5, BATCH = 4 };
static int n_samples = 4;

struct case_data {
    struct nn_model *m;
    double *x;
    int32_t *labels;
};

/* A hash of active ReLUs and maxima. It changes if a difference crosses a kink. */
static uint64_t pattern(const struct nn_model *m)
{
    uint64_t sum = 0;
    for (int i = 1; i < m->n_nodes; i++) {
        const struct node *node = &m->nodes[i];
        size_t n = batch_elements(node->window.out, BATCH);
        if (node->kind == &layer_relu || (node->kind == &layer_batch_norm && node->relu))
            for (size_t j = 0; j < n; j++)
                sum = sum * 3 + (node->y[j] > 0);
        if (node->kind == &layer_pool_max) {
            double *ones = buf_alloc(n * sizeof *ones),
                   *at = buf_alloc(batch_elements(node->window.in, BATCH) * sizeof *at);
            for (size_t j = 0; j < n; j++)
                ones[j] = 1;
            nn_cpu.pool_max_backward(m->ctx, &node->window, BATCH, m->nodes[node->in].y, node->y,
                                     ones, at);
            for (size_t j = 0; j < batch_elements(node->window.in, BATCH); j++)
                sum = sum * 3 + (at[j] > 0);
            free(ones), free(at);
        }
    }
    return sum;
}

static double loss(struct case_data *c)
{
    const struct nn_batch batch = {.n = BATCH, .x = c->x, .labels = c->labels};
    const struct nn_result r = nn_model_train(c->m, &batch, 3, NULL, NULL);
    return r.loss_sum / r.n_labels;
}

static void check_model(const char *name, struct nn_model *m)
{
    struct case_data c = {.m = m};
    size_t n_x = batch_elements(m->nodes[0].window.out, BATCH), n_w;
    double *w = nn_model_weights(m, &n_w), *grads = malloc(n_w * sizeof *grads);
    c.x = malloc(n_x * sizeof *c.x);
    for (size_t i = 0; i < n_x; i++)
        c.x[i] = uniform(1, i);
    const int n_labels = BATCH * m->target.n;
    c.labels = malloc((size_t)n_labels * sizeof *c.labels);
    for (int i = 0; i < n_labels; i++)
        c.labels[i] = m->target.n > 1 && i % 7 == 3 ? NN_IGNORED : (i * 2 + 1) % CLASSES;
    const double first = loss(&c);
    CHECK(isfinite(first), "%s: the loss is %g", name, first);
    memcpy(grads, nn_model_grads(m), n_w * sizeof *grads);
    uint64_t shape = pattern(m);
    int points = 0, skipped = 0;
    double worst = 0;
    for (int k = 0; k < m->n_params; k++) {
        const struct nn_param *p = &m->params[k];
        double typical = rms(grads + p->offset, p->n);
        for (int s = 0; s < n_samples && (size_t)s < p->n; s++) {
            size_t i = p->offset + philox_u32(77, (uint64_t)(k * n_samples + s)) % p->n;
            double at = w[i];
            w[i] = at + STEP;
            double up = loss(&c);
            bool skip = pattern(m) != shape;
            w[i] = at - STEP;
            double down = loss(&c);
            skip |= pattern(m) != shape;
            w[i] = at;
            points++, skipped += skip;
            double error = skip ? 0 : grad_error((up - down) / (2 * STEP), grads[i], typical);
            worst = error > worst ? error : worst;
            CHECK(error <= MAX_ERROR, "%s, %s [%zu]: %.12g, by differences %.12g", name, p->name,
                  i - p->offset, grads[i], (up - down) / (2 * STEP));
        }
    }
    printf("%s: %d points, worst relative error %.2g, %d skipped at a bend\n", name, points, worst,
           skipped);
    CHECK(skipped * 3 < points, "%s: %d of %d points skipped", name, skipped, points);
    free(grads), free(c.x), free(c.labels);
    nn_model_close(m);
}

static struct nn_model *opened(struct nn_shape in)
{
    struct nn_model *m = malloc(sizeof *m);
    if (!m)
        exit(1);
    if (graph_init(m, &nn_cpu, in, BATCH) < 0 || nn_cpu.open(NULL, &m->ctx) < 0)
        exit(1);
    return m;
}

static struct nn_model *all_kinds(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    int x = graph_conv(m, 0, "conv1", 4, 3, 1, 1, false);
    x = graph_batch_norm(m, x, "norm1", -1, true);
    int y = graph_batch_norm(m, graph_conv(m, x, "conv2", 4, 3, 1, 1, false), "norm2", -1, true);
    x = graph_batch_norm(m, graph_conv(m, y, "conv3", 4, 1, 1, 0, false), "norm3", x, true);
    y = graph_batch_norm(m, graph_conv(m, x, "conv4", 7, 3, 2, 1, false), "norm4", -1, false);
    x = graph_batch_norm(m, graph_conv(m, y, "conv5", 7, 3, 1, 1, false), "norm5",
                         graph_shortcut(m, x, 7), false);
    x = graph_pool_avg(m, x, 3, 1, 1);
    x = graph_relu(m, graph_conv(m, x, "conv6", 6, 3, 1, 1, true));
    x = graph_pool_max(m, x, 2, 2, 0);
    x = graph_dropout(m, graph_mean(m, x), 0.25);
    graph_head(m, graph_linear(m, x, "classifier", CLASSES, true), &loss_class, 1);
    return m;
}

static struct nn_model *in_groups(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    int x = graph_relu(m, graph_conv_groups(m, 0, "conv1", 6, 3, 2, 0, 1, true));
    x = graph_lrn(m, graph_pool_max_up(m, x, 3, 2, 0), 1);
    x = graph_relu(m, graph_conv_groups(m, x, "conv2", 8, 5, 1, 2, 2, true));
    x = graph_pool_max_up(m, graph_lrn(m, x, 0.5), 3, 2, 0);
    x = graph_relu(m, graph_linear(m, x, "hidden1", 9, true));
    x = graph_linear(m, graph_dropout(m, x, 0.5), "classifier", CLASSES, true);
    graph_head(m, x, &loss_class, 1);
    return m;
}

static struct nn_model *sums(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    int x = graph_batch_norm(m, graph_conv(m, 0, "conv1", 4, 3, 1, 1, false), "norm1", -1, true);
    int y = graph_batch_norm(m, graph_conv(m, x, "conv2", 4, 3, 1, 1, false), "norm2", -1, true);
    x = graph_add(m, x, y);
    y = graph_relu(m, graph_conv(m, x, "conv3", 4, 3, 1, 1, true));
    x = graph_scale(m, graph_add(m, x, y), 1.5);
    y = graph_batch_norm(m, graph_conv(m, x, "conv4", 4, 1, 1, 0, false), "norm3", -1, false);
    x = graph_add(m, x, graph_add(m, y, graph_conv(m, y, "conv5", 4, 3, 1, 1, false)));
    x = graph_linear(m, graph_mean(m, x), "classifier", CLASSES, false);
    graph_head(m, graph_scale(m, x, 0.125), &loss_class, 1);
    return m;
}

/* Random gammas, so that omitting one shows. */
static struct nn_model *formed(struct nn_model *m, const char *form,
                               struct nn_model *(*build)(struct nn_model *m))
{
    if (nn_block_spec(form, &m->block) < 0 || graph_plan(build(m), 4) < 0)
        exit(1);
    for (int k = 0; k < m->n_params; k++)
        for (size_t i = 0; strstr(m->params[k].name, "norm") && i < m->params[k].n; i++)
            m->weights[m->params[k].offset + i] += 0.3 * uniform(9, m->params[k].offset + i);
    return m;
}

static struct nn_model *build_basic(struct nn_model *m)
{
    build_resnet(m, 8, CLASSES);
    return m;
}

static struct nn_model *build_bottlenecks(struct nn_model *m)
{
    static const int blocks[4] = {2, 1, 1, 2};
    m->width = 4.0 / FIRST;
    wide_resnet(m, blocks, true, CLASSES);
    return m;
}

static struct nn_model *narrow_resnet(bool bottleneck, struct nn_shape in)
{
    static const int blocks[4] = {2, 1, 1, 2};
    struct nn_model *m = opened(in);
    m->width = 4.0 / FIRST;
    wide_resnet(m, blocks, bottleneck, CLASSES);
    return m;
}

static struct nn_model *narrow_davidnet(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    m->width = 4.0 / FIRST;
    graph_davidnet(m, 0, CLASSES);
    return m;
}

static struct nn_model *small_resnet(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    build_resnet(m, 8, CLASSES);
    return m;
}

/* Norms add to a gradient: an addition also reads their input. */
static struct nn_model *transformer(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    m->width = 0.06;
    graph_gpt(m, 2, CLASSES);
    return m;
}

static struct nn_model *two_heads(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    const int x =
        graph_batch_norm(m, graph_conv(m, 0, "conv1", 4, 3, 1, 1, false), "norm1", -1, true);
    int y = graph_relu(m, graph_conv(m, x, "side.conv", 3, 3, 2, 1, true));
    graph_head(m, graph_linear(m, y, "side.classifier", CLASSES, true), &loss_class, 0.3);
    y = graph_batch_norm(m, graph_conv(m, x, "conv2", 5, 3, 1, 1, false), "norm2", -1, true);
    y = graph_linear(m, graph_mean(m, y), "classifier", CLASSES, true);
    graph_head(m, y, &loss_class, 1);
    return m;
}

/* Inception blocks: five nodes read one tensor, whose gradient is a slice of another's. */
static struct nn_model *branches(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    int x = graph_conv(m, 0, "conv1", 4, 3, 1, 1, true);
    for (int i = 0; i < 2; i++) {
        const int a = graph_relu(m, graph_conv(m, x, "1x1", 3, 1, 1, 0, true));
        int b = graph_relu(m, graph_conv(m, x, "reduce", 2, 1, 1, 0, true));
        b = graph_batch_norm(m, graph_conv(m, b, "3x3", 5, 3, 1, 1, false), "norm", -1, true);
        const int c = graph_relu(m, graph_conv(m, x, "5x5", 2, 5, 1, 2, true));
        const int d = graph_conv(m, graph_pool_max(m, x, 3, 1, 1), "pool", 2, 1, 1, 0, true);
        x = graph_concat(m, (const int[]){a, b, c, d}, 4);
        if (i == 1)
            continue;
        const int y = graph_pool_avg(m, x, 3, 2, 0);
        graph_head(m, graph_linear(m, y, "side", CLASSES, true), &loss_class, 0.3);
    }
    graph_head(m, graph_linear(m, graph_mean(m, x), "classifier", CLASSES, true), &loss_class, 1);
    return m;
}

static struct nn_model *pixels(struct nn_shape in)
{
    struct nn_model *m = opened(in);
    const int x =
        graph_batch_norm(m, graph_conv(m, 0, "conv1", 4, 3, 2, 1, false), "norm1", -1, true);
    int y = graph_relu(m, graph_conv(m, x, "side.conv", 3, 1, 1, 0, true));
    const int side = pixel_scores(m, y, "side.classifier", CLASSES);
    y = graph_conv_dilated(m, x, "conv2", 5, 3, 2, 2, false);
    y = graph_batch_norm(m, y, "norm2", -1, true);
    y = graph_relu(m, graph_conv_dilated(m, y, "conv3", 3, 3, 4, 4, true));
    y = graph_conv(m, graph_concat(m, (const int[]){x, y}, 2), "conv4", 6, 1, 1, 0, true);
    graph_head(m, pixel_scores(m, y, "classifier", CLASSES), &loss_dense, 1);
    graph_head(m, side, &loss_dense, 0.4);
    return m;
}

static struct nn_model *planned(struct nn_model *m)
{
    if (graph_plan(m, 4) < 0)
        exit(1);
    return m;
}

static struct nn_model *long_chain(int n)
{
    struct nn_model *m = opened((struct nn_shape){2, 3, 1});
    int x = graph_linear(m, 0, "first", 1, true);
    for (int i = 0; i < n; i++)
        x = graph_linear(m, x, "factor", 1, false);
    graph_head(m, graph_linear(m, x, "classifier", CLASSES, true), &loss_class, 1);
    planned(m);
    for (int i = 0; i < n; i++)
        m->weights[m->params[2 + i].offset] = 1;
    return m;
}

static struct nn_model *named(const char *name)
{
    struct nn_model *m;
    if (nn_model_open(&nn_cpu, NULL, name, (struct nn_shape){28, 28, 1}, CLASSES, BATCH, 4, &m) < 0)
        exit(1);
    return m;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "long"))
        n_samples = 24;
    nn_cpu_threads(1);
    puts("seeds: x 1, weights 4, dropout 3, points 77");
    check_model("all kinds of nodes, 9x11x3", planned(all_kinds((struct nn_shape){9, 11, 3})));
    check_model("all kinds of nodes, 8x8x1", planned(all_kinds((struct nn_shape){8, 8, 1})));
    check_model("resnet8, 7x5x3", planned(small_resnet((struct nn_shape){7, 5, 3})));
    for (int i = 0; i < 5; i++) {
        static const char *const words[] = {"swap", "swap:1", "plain:0.25", "zero-gamma",
                                            "zero-gamma:0.5"};
        char name[64];
        snprintf(name, sizeof name, "resnet8, 7x5x3, %s", words[i]);
        check_model(name, formed(opened((struct nn_shape){7, 5, 3}), words[i], build_basic));
        snprintf(name, sizeof name, "resnet of 6 bottlenecks, 12x11x1, %s", words[i]);
        check_model(name,
                    formed(opened((struct nn_shape){12, 11, 1}), words[i], build_bottlenecks));
    }
    check_model("convolutions in groups, 17x20x3",
                planned(in_groups((struct nn_shape){17, 20, 3})));
    check_model("sums, 6x7x3", planned(sums((struct nn_shape){6, 7, 3})));
    check_model("resnet of 6 blocks, 9x8x3",
                planned(narrow_resnet(false, (struct nn_shape){9, 8, 3})));
    check_model("resnet of 6 bottlenecks, 12x11x1",
                planned(narrow_resnet(true, (struct nn_shape){12, 11, 1})));
    check_model("resnet of 6 bottlenecks, 64x65x3",
                planned(narrow_resnet(true, (struct nn_shape){64, 65, 3})));
    check_model("davidnet, 4 channels, 16x16x3",
                planned(narrow_davidnet((struct nn_shape){16, 16, 3})));
    check_model("davidnet, 4 channels, 8x9x1",
                planned(narrow_davidnet((struct nn_shape){8, 9, 1})));
    check_model("transformer, 6x1x4", planned(transformer((struct nn_shape){6, 1, 4})));
    check_model("two heads, 7x6x2", planned(two_heads((struct nn_shape){7, 6, 2})));
    check_model("branches, 7x6x3", planned(branches((struct nn_shape){7, 6, 3})));
    check_model("pixels, 9x14x3", planned(pixels((struct nn_shape){9, 14, 3})));
    check_model("700 layers", long_chain(700));
    check_model("mlp", named("mlp"));
    check_model("lenet5", named("lenet5"));
    DONE();
}
