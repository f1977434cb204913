/* model_zoo_inception.c : builds networks of parallel branches: GoogLeNet and BN-Inception. A
 * block's pooling branch is built last, so its backward pass runs first and writes the gradient;
 * the convolutions add to it. Images below STEM_SIDE are not halved before the second layer. */
#include <stdio.h>
#include "nn/model_graph.h"

enum { BRANCHES = 4 };

static bool is_small(const struct nn_model *m)
{
    const struct nn_shape in = m->nodes[0].window.out;
    return in.h < STEM_SIDE || in.w < STEM_SIDE;
}

static int conv_layer(struct nn_model *m, int x, const char *block, const char *name, int channels,
                      int k, int stride, bool norm)
{
    char text[32];
    snprintf(text, sizeof text, "%s.%s", block, name);
    x = graph_conv(m, x, text, graph_width(m, channels), k, stride, k / 2, true);
    if (!norm)
        return graph_relu(m, x);
    snprintf(text, sizeof text, "%s.%s.norm", block, name);
    return graph_batch_norm(m, x, text, NO_ADDEND, true);
}

static int two_layers(struct nn_model *m, bool norm)
{
    int x = 0;
    if (is_small(m))
        x = conv_layer(m, x, "conv1", "3x3", 64, 3, 1, norm);
    else
        x = graph_pool_max_up(m, conv_layer(m, x, "conv1", "7x7", 64, 7, 2, norm), 3, 2, 0);
    x = norm ? x : graph_lrn(m, x, 1e-4);
    x = conv_layer(m, x, "conv2", "reduce", 64, 1, 1, norm);
    x = conv_layer(m, x, "conv2", "3x3", 192, 3, 1, norm);
    x = norm ? x : graph_lrn(m, x, 1e-4);
    return graph_pool_max_up(m, x, 3, 2, 0);
}

/* Filters: 1x1; 1x1 before 3x3, 3x3; 1x1 before 5x5, 5x5; 1x1 after pooling. */
struct plain_block {
    const char *name;
    int c1, reduce3, c3, reduce5, c5, pool;
};

static int inception_block(struct nn_model *m, int x, const struct plain_block *b)
{
    int branches[BRANCHES];
    branches[0] = conv_layer(m, x, b->name, "1x1", b->c1, 1, 1, false);
    branches[1] = conv_layer(m, x, b->name, "3x3.reduce", b->reduce3, 1, 1, false);
    branches[1] = conv_layer(m, branches[1], b->name, "3x3", b->c3, 3, 1, false);
    branches[2] = conv_layer(m, x, b->name, "5x5.reduce", b->reduce5, 1, 1, false);
    branches[2] = conv_layer(m, branches[2], b->name, "5x5", b->c5, 5, 1, false);
    branches[3] =
        conv_layer(m, graph_pool_max(m, x, 3, 1, 1), b->name, "pool", b->pool, 1, 1, false);
    return graph_concat(m, branches, BRANCHES);
}

static int side_head(struct nn_model *m, int x, const char *name, int n_classes)
{
    char text[32];
    const struct nn_shape s = m->nodes[x].window.out;
    const int side = s.h < s.w ? s.h : s.w;
    x = conv_layer(m, graph_pool_avg(m, x, side < 5 ? side : 5, 3, 0), name, "conv", 128, 1, 1,
                   false);
    snprintf(text, sizeof text, "%s.hidden", name);
    x = graph_relu(m, graph_linear(m, x, text, graph_width(m, 1024), true));
    snprintf(text, sizeof text, "%s.classifier", name);
    return graph_linear(m, graph_dropout(m, x, 0.7), text, n_classes, true);
}

/* Source: Szegedy et al. 2015, Table 1; both auxiliary heads as in Caffe's bvlc_googlenet. */
void graph_googlenet(struct nn_model *m, int depth, int n_classes)
{
    static const struct plain_block blocks[9] = {
        {"3a", 64, 96, 128, 16, 32, 32},     {"3b", 128, 128, 192, 32, 96, 64},
        {"4a", 192, 96, 208, 16, 48, 64},    {"4b", 160, 112, 224, 24, 64, 64},
        {"4c", 128, 128, 256, 24, 64, 64},   {"4d", 112, 144, 288, 32, 64, 64},
        {"4e", 256, 160, 320, 32, 128, 128}, {"5a", 256, 160, 320, 32, 128, 128},
        {"5b", 384, 192, 384, 48, 128, 128},
    };
    (void)depth;
    int x = two_layers(m, false), sides[2], n_sides = 0;
    for (int i = 0; i < 9; i++) {
        x = inception_block(m, x, &blocks[i]);
        if (i == 1 || i == 6)
            x = graph_pool_max_up(m, x, 3, 2, 0);
        if (i == 2 || i == 5) {
            sides[n_sides] = side_head(m, x, n_sides ? "side2" : "side1", n_classes);
            n_sides++;
        }
    }
    x = graph_dropout(m, graph_mean(m, x), 0.4);
    graph_head(m, graph_linear(m, x, "classifier", n_classes, true), &loss_class, 1);
    for (int i = 0; i < n_sides; i++)
        graph_head(m, sides[i], &loss_class, 0.3);
}

/* Filters as in plain_block, with two 3x3 instead of a 5x5, each of c33. Blocks that halve the
 * image have 0 for the first and last. */
struct norm_block {
    const char *name;
    int c1, reduce3, c3, reduce33, c33, pool;
    bool is_max;
};

/* The output has the size of a 3x3 convolution with stride 2. If the sides are even, windows start
 * at the first pixel and the last reaches beyond the image, as in Caffe. */
static int halving_pool(struct nn_model *m, int x)
{
    const struct nn_shape s = m->nodes[x].window.out;
    return s.h % 2 == 0 && s.w % 2 == 0 ? graph_pool_max_up(m, x, 3, 2, 0)
                                        : graph_pool_max(m, x, 3, 2, 1);
}

static int inception_norm_block(struct nn_model *m, int x, const struct norm_block *b)
{
    const int stride = b->c1 ? 1 : 2;
    int branches[BRANCHES], n = 0;
    if (b->c1)
        branches[n++] = conv_layer(m, x, b->name, "1x1", b->c1, 1, 1, true);
    int y = conv_layer(m, x, b->name, "3x3.reduce", b->reduce3, 1, 1, true);
    branches[n++] = conv_layer(m, y, b->name, "3x3", b->c3, 3, stride, true);
    y = conv_layer(m, x, b->name, "33.reduce", b->reduce33, 1, 1, true);
    y = conv_layer(m, y, b->name, "33.first", b->c33, 3, 1, true);
    branches[n++] = conv_layer(m, y, b->name, "33.second", b->c33, 3, stride, true);
    if (b->c1) {
        y = (b->is_max ? graph_pool_max : graph_pool_avg)(m, x, 3, 1, 1);
        branches[n++] = conv_layer(m, y, b->name, "pool", b->pool, 1, 1, true);
    } else {
        branches[n++] = halving_pool(m, x);
    }
    return graph_concat(m, branches, n);
}

/* Source: Ioffe and Szegedy 2015, Fig. 5. Filters, and biases before norms, are those published for
 * Caffe and MXNet. */
void graph_bn_inception(struct nn_model *m, int depth, int n_classes)
{
    static const struct norm_block blocks[10] = {
        {"3a", 64, 64, 64, 64, 96, 32, false},       {"3b", 64, 64, 96, 64, 96, 64, false},
        {"3c", 0, 128, 160, 64, 96, 0, true},        {"4a", 224, 64, 96, 96, 128, 128, false},
        {"4b", 192, 96, 128, 96, 128, 128, false},   {"4c", 160, 128, 160, 128, 160, 128, false},
        {"4d", 96, 128, 192, 160, 192, 128, false},  {"4e", 0, 128, 192, 192, 256, 0, true},
        {"5a", 352, 192, 320, 160, 224, 128, false}, {"5b", 352, 192, 320, 192, 224, 128, true},
    };
    (void)depth;
    int x = two_layers(m, true);
    for (int i = 0; i < 10; i++)
        x = inception_norm_block(m, x, &blocks[i]);
    x = graph_linear(m, graph_mean(m, x), "classifier", n_classes, true);
    graph_head(m, x, &loss_class, 1);
}
