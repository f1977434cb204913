/* model_zoo.c : builds networks by name; defines the small ones. */
#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/opt/opt.h"
#include "base/text.h"
#include "nn/data/dataset.h"
#include "nn/model_graph.h"

static void build_mlp(struct nn_model *m, int depth, int n_classes)
{
    (void)depth;
    int x = 0;
    for (int i = 0; i < 2; i++) {
        x = graph_linear(m, x, i == 0 ? "hidden1" : "hidden2", graph_width(m, 128), true);
        x = graph_relu(m, x);
        x = graph_dropout(m, x, 0.1);
    }
    graph_head(m, graph_linear(m, x, "classifier", n_classes, true), &loss_class, 1);
}

/* Source: LeCun et al. 1998, with max pooling and ReLU. */
static void build_lenet5(struct nn_model *m, int depth, int n_classes)
{
    (void)depth;
    int x = graph_conv(m, 0, "conv1", graph_width(m, 6), 5, 1, 2, true);
    x = graph_pool_max(m, graph_relu(m, x), 2, 2, 0);
    x = graph_conv(m, x, "conv2", graph_width(m, 16), 5, 1, 0, true);
    x = graph_pool_max(m, graph_relu(m, x), 2, 2, 0);
    x = graph_relu(m, graph_linear(m, x, "hidden1", graph_width(m, 120), true));
    x = graph_relu(m, graph_linear(m, x, "hidden2", graph_width(m, 84), true));
    graph_head(m, graph_linear(m, x, "classifier", n_classes, true), &loss_class, 1);
}

/* Return relu(x' + norm(conv(relu(norm(conv(x)))))). x' is x, or its shortcut if the image is
 * halved. */
static int basic_block(struct nn_model *m, int x, const char *name, int channels, int stride)
{
    char conv1[40], norm1[40], conv2[40], norm2[40];
    snprintf(conv1, sizeof conv1, "%s.conv1", name);
    snprintf(norm1, sizeof norm1, "%s.norm1", name);
    snprintf(conv2, sizeof conv2, "%s.conv2", name);
    snprintf(norm2, sizeof norm2, "%s.norm2", name);
    int y = graph_conv(m, x, conv1, channels, 3, stride, 1, false);
    y = graph_inside_block(m, graph_batch_norm(m, y, norm1, NO_ADDEND, true));
    y = graph_conv(m, y, conv2, channels, 3, 1, 1, false);
    if (stride == 2)
        x = graph_shortcut(m, x, channels);
    return graph_ends_block(m, graph_batch_norm(m, y, norm2, x, true));
}

/* He, Zhang, Ren, Sun 2016, §4.2: depth = 6n + 2, three stages of n blocks. */
static void build_resnet(struct nn_model *m, int depth, int n_classes)
{
    int x = graph_conv(m, 0, "stem.conv", graph_width(m, 16), 3, 1, 1, false);
    x = graph_batch_norm(m, x, "stem.norm", NO_ADDEND, true);
    for (int stage = 0; stage < 3; stage++)
        for (int block = 0; block < (depth - 2) / 6; block++) {
            char name[32];
            snprintf(name, sizeof name, "s%db%d", stage, block);
            x = basic_block(m, x, name, graph_width(m, 16 << stage),
                            stage > 0 && block == 0 ? 2 : 1);
        }
    x = graph_mean(m, x);
    graph_head(m, graph_linear(m, x, "classifier", n_classes, true), &loss_class, 1);
}

static const struct {
    const char *name;
    void (*build)(struct nn_model *m, int depth, int n_classes);
    int depth;
} zoo[] = {
#define MODEL(name, build, depth) {#name, build, depth},
#include "nn/zoo/models.def"
#undef MODEL
};

#define MODEL(name, build, depth) " " #name
static const char names[] =
#include "nn/zoo/models.def"
    ;
const char nn_model_help[] = "One of"
#include "nn/zoo/models.def"
                             ".";
#undef MODEL

const char nn_width_help[] =
    "Factor on the channels and hidden units of every layer except the last, rounded to the "
    "nearest whole number of at least 1 (caffenet, alexnet, vgg19: an even one; chargpt: a "
    "multiple of 4, rounded up). From 0.01 to 4.";

static void mark_last(struct nn_model *m)
{
    for (int h = 0; h < m->n_heads; h++) {
        const struct node *last = &m->nodes[m->heads[h].node];
        while (last->n_params == 0 && last->in >= 0)
            last = &m->nodes[last->in];
        for (int i = 0; i < last->n_params; i++)
            m->params[last->first_param + i].last = true;
    }
}

/* Return 0 if network i fits no square image or memory is short. */
static int smallest_side(const struct nn_model *m, size_t i)
{
    const int c = m->nodes[0].window.out.c;
    for (int side = NN_SIDE_MIN; side <= NN_SIDE_MAX; side++) {
        struct nn_model trial;
        if (graph_init(&trial, m->ops, (struct nn_shape){side, side, c}, 1) < 0)
            return 0;
        trial.width = m->width;
        zoo[i].build(&trial, zoo[i].depth, 2);
        const bool fits = !trial.failed && !trial.too_small;
        graph_fini(&trial);
        if (fits)
            return side;
    }
    return 0;
}

/* Called when the heads are known, so that the message can name data sets that fit. */
static int reads_other(const struct nn_model *m, const char *name)
{
    const enum nn_form form = m->nodes[0].window.out.w == 1 ? NN_IMAGES : NN_SEQUENCES;
    char list[256];
    struct text sources = text_in(list, sizeof list);
    dataset_specs(form, m->target.kind, &sources);
    return ERR(-EINVAL, "network '%s' needs %s: choose one of%s (train --data)%s", name,
               form == NN_IMAGES ? "images, not sequences" : "sequences, not images",
               list + (sources.n > 0),
               form == NN_IMAGES ? "" : ", or give its layers (predict --layers FILE)");
}

int graph_by_name(struct nn_model *m, const char *name, int n_classes)
{
    const struct nn_shape in = m->nodes[0].window.out;
    size_t i = 0;
    while (i < sizeof zoo / sizeof *zoo && strcmp(name, zoo[i].name))
        i++;
    if (i == sizeof zoo / sizeof *zoo)
        return ERR(-EINVAL, "unknown model '%s': need one of%s%s", name, names,
                   opt_guess(name, names, (char[OPT_GUESS]){0}));
    zoo[i].build(m, zoo[i].depth, n_classes);
    if (m->failed)
        return ERR(m->failed, "cannot build model '%s': no memory", name);
    TRY(graph_block_fits(m, name));
    if (m->other_form || (m->too_small && in.w == 1))
        return reads_other(m, name);
    TRY(graph_take_loss(m, name));
    const int side = m->too_small ? smallest_side(m, i) : 0;
    if (side)
        return ERR(-EINVAL,
                   "model '%s' does not fit images of %dx%d: need at least %d pixels a side (train "
                   "--image scales them)",
                   name, in.h, in.w, side);
    if (m->too_small) /* smallest_side() found none */
        return ERR(-EINVAL, "model '%s' does not fit images of %dx%d", name, in.h, in.w);
    mark_last(m);
    return 0;
}
