/* model_zoo_plain.c : builds the larger networks. */
#include "nn/model_graph.h"
#include <stdio.h>

/* Matrix products over at least 64 pixels are 1.5 times as fast on a CPU, because these networks
 * have many filters. A step of chargpt is 1.07 times as fast with 512 pixels as with 64. */
enum { BLOCK = 64, STEPS_BLOCK = 512 };
/* Numbers of channels are rounded up to a multiple of this, so that grouped layers fit. */
enum { GROUPS_MAX = 2 };

static int conv_relu(struct nn_model *m, int x, const char *name, int channels, int k, int stride,
                     int pad, int groups)
{
    x = graph_conv_groups(m, x, name, graph_width_of(m, channels, GROUPS_MAX), k, stride, pad,
                          groups, true);
    m->nodes[x].window.block_least = BLOCK;
    return graph_relu(m, x);
}

static void classify(struct nn_model *m, int x, int n_classes)
{
    for (int i = 0; i < 2; i++) {
        x = graph_linear(m, x, i == 0 ? "hidden1" : "hidden2", graph_width(m, 4096), true);
        x = graph_dropout(m, graph_relu(m, x), 0.5);
    }
    graph_head(m, graph_linear(m, x, "classifier", n_classes, true), &loss_class, 1);
}

/* AlexNet (Krizhevsky, Sutskever, Hinton 2012). groups: of conv2, conv4 and conv5; 2 corresponds to
 * the paper's halves. pool_first: pool before normalising, as Caffe's reference network does. */
static void eight_layers(struct nn_model *m, int groups, bool pool_first, int n_classes)
{
    static const struct {
        const char *name;
        int channels, k;
        bool halves;
    } first[2] = {{"conv1", 96, 11, false}, {"conv2", 256, 5, true}},
      rest[3] = {{"conv3", 384, 3, false}, {"conv4", 384, 3, true}, {"conv5", 256, 3, true}};
    int x = 0;
    for (int i = 0; i < 2; i++) {
        x = conv_relu(m, x, first[i].name, first[i].channels, first[i].k, i == 0 ? 4 : 1,
                      i == 0 ? 0 : 2, first[i].halves ? groups : 1);
        if (pool_first)
            x = graph_lrn(m, graph_pool_max_up(m, x, 3, 2, 0), 1e-4);
        else
            x = graph_pool_max_up(m, graph_lrn(m, x, 1e-4), 3, 2, 0);
    }
    for (int i = 0; i < 3; i++)
        x = conv_relu(m, x, rest[i].name, rest[i].channels, rest[i].k, 1, 1,
                      rest[i].halves ? groups : 1);
    classify(m, graph_pool_max_up(m, x, 3, 2, 0), n_classes);
}

void graph_caffenet(struct nn_model *m, int depth, int n_classes)
{
    (void)depth;
    eight_layers(m, 2, true, n_classes);
}

void graph_alexnet(struct nn_model *m, int depth, int n_classes)
{
    (void)depth;
    eight_layers(m, 1, false, n_classes);
}

/* Source: Simonyan and Zisserman 2015, configuration E. */
void graph_vgg19(struct nn_model *m, int depth, int n_classes)
{
    (void)depth;
    static const int channels[5] = {64, 128, 256, 512, 512}, layers[5] = {2, 2, 4, 4, 4};
    int x = 0;
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < layers[stage]; i++) {
            char name[32];
            snprintf(name, sizeof name, "s%d.conv%d", stage, i);
            x = conv_relu(m, x, name, channels[stage], 3, 1, 1, 1);
        }
        x = graph_pool_max(m, x, 2, 2, 0);
    }
    classify(m, x, n_classes);
}

static void layers(struct nn_model *m, int n_layers, int cells, int n_classes,
                   const struct loss_kind *loss)
{
    int x = 0;
    for (int i = 0; i < n_layers; i++) {
        char name[16];
        snprintf(name, sizeof name, "lstm%d", i + 1);
        x = graph_lstm(m, x, name, graph_width(m, cells), graph_width(m, cells / 2));
    }
    graph_head(m, graph_conv(m, x, "classifier", n_classes, 1, 1, 0, true), loss, 1);
}

/* The QSGD paper's network for AN4. */
void graph_speech_lstm(struct nn_model *m, int depth, int n_classes)
{
    layers(m, depth, 1024, n_classes, &loss_ctc);
}

void graph_step_lstm(struct nn_model *m, int depth, int n_classes)
{
    layers(m, depth, 512, n_classes, &loss_dense);
}

/* Appends a linear layer of each step. */
static int step_linear(struct nn_model *m, int x, const char *name, int channels)
{
    x = graph_conv(m, x, name, channels, 1, 1, 0, true);
    m->nodes[x].window.block_least = STEPS_BLOCK;
    return x;
}

/* Appends a layer norm of x and a linear layer of each step. */
static int normed(struct nn_model *m, int x, const char *block, const char *name, int channels)
{
    char norm[40], weights[40];
    snprintf(norm, sizeof norm, "%s.%s.norm", block, name);
    snprintf(weights, sizeof weights, "%s.%s", block, name);
    return step_linear(m, graph_layer_norm(m, x, norm), weights, channels);
}

/* Appends a linear layer to a branch and adds the result to x. */
static int joined(struct nn_model *m, int x, int branch, const char *block, const char *name)
{
    char weights[40];
    snprintf(weights, sizeof weights, "%s.%s", block, name);
    return graph_add(m, x, step_linear(m, branch, weights, m->nodes[x].window.out.c));
}

/* A transformer in the form of GPT-2 (Radford et al. 2019). Attention's linear biases replace
 * learned positions, so a sequence may have any length. */
void graph_gpt(struct nn_model *m, int depth, int n_classes)
{
    enum { HEADS = 4 };
    const int c = graph_width_of(m, 128, HEADS);
    int x = step_linear(m, 0, "embedding", c);
    for (int i = 0; i < depth; i++) {
        char block[16];
        snprintf(block, sizeof block, "block%d", i + 1);
        x = joined(m, x, graph_attention(m, normed(m, x, block, "qkv", 3 * c), HEADS), block,
                   "proj");
        x = joined(m, x, graph_gelu(m, normed(m, x, block, "up", 4 * c)), block, "down");
    }
    x = step_linear(m, graph_layer_norm(m, x, "norm"), "classifier", n_classes);
    graph_head(m, x, &loss_dense, 1);
}

enum { FIRST = 64 }; /* channels of the first layer */

static int conv_norm(struct nn_model *m, int x, const char *name, int number, int channels, int k,
                     int stride, int addend, bool relu)
{
    char conv[40], norm[40];
    snprintf(conv, sizeof conv, "%s.conv%d", name, number);
    snprintf(norm, sizeof norm, "%s.norm%d", name, number);
    x = graph_conv(m, x, conv, channels, k, stride, k / 2, false);
    return graph_batch_norm(m, x, norm, addend, relu);
}

static int dilated_norm(struct nn_model *m, int x, const char *name, int number, int channels,
                        int stride, int dilation)
{
    char conv[40], norm[40];
    if (dilation == 1)
        return conv_norm(m, x, name, number, channels, 3, stride, NO_ADDEND, true);
    snprintf(conv, sizeof conv, "%s.conv%d", name, number);
    snprintf(norm, sizeof norm, "%s.norm%d", name, number);
    x = graph_conv_dilated(m, x, conv, channels, 3, dilation, dilation, false);
    return graph_batch_norm(m, x, norm, NO_ADDEND, true);
}

/* relu(x' + residual(x)): two 3x3 convolutions, or 1x1, 3x3 with the stride ("v1.5", torchvision)
 * and 1x1 to four times the channels (He, Zhang, Ren, Sun 2016, Fig. 5). x' is x, or a 1x1 conv and
 * norm of x where the shape changes. */
static int block(struct nn_model *m, int x, const char *name, int channels, int stride,
                 int dilation, bool bottleneck)
{
    const int out_c = bottleneck ? 4 * channels : channels;
    int y = x, shortcut = x, n = 1;
    if (bottleneck)
        y = graph_inside_block(m, conv_norm(m, y, name, n++, channels, 1, 1, NO_ADDEND, true));
    y = graph_inside_block(m, dilated_norm(m, y, name, n++, channels, stride, dilation));
    if (stride != 1 || m->nodes[x].window.out.c != out_c)
        shortcut =
            graph_inside_block(m, conv_norm(m, x, name, 0, out_c, 1, stride, NO_ADDEND, false));
    y = conv_norm(m, y, name, n, out_c, bottleneck ? 1 : 3, 1, shortcut, true);
    return graph_ends_block(m, y);
}

/* Images below STEM_SIDE (CIFAR) are not halved. */
static int stem(struct nn_model *m)
{
    const int width = graph_width(m, FIRST);
    const struct nn_shape in = m->nodes[0].window.out;
    if (in.h < STEM_SIDE || in.w < STEM_SIDE)
        return conv_norm(m, 0, "stem", 1, width, 3, 1, NO_ADDEND, true);
    const int x = conv_norm(m, 0, "stem", 1, width, 7, 2, NO_ADDEND, true);
    return graph_pool_max(m, x, 3, 2, 1);
}

/* In a stage with dilation, blocks are dilated instead of strided, the first one by half of
 * `dilation`. */
static int stage(struct nn_model *m, int x, int number, int n, int stride, int dilation,
                 bool bottleneck)
{
    const int channels = graph_width(m, FIRST << number), first = dilation > 1 ? dilation / 2 : 1;
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%db%d", number, i);
        x = block(m, x, name, channels, i ? 1 : stride, i ? dilation : first, bottleneck);
    }
    return x;
}

static void wide_resnet(struct nn_model *m, const int blocks[4], bool bottleneck, int n_classes)
{
    int x = stem(m);
    for (int i = 0; i < 4; i++)
        x = stage(m, x, i, blocks[i], i ? 2 : 1, 1, bottleneck);
    x = graph_linear(m, graph_mean(m, x), "classifier", n_classes, true);
    graph_head(m, x, &loss_class, 1);
}

static const int blocks18[4] = {2, 2, 2, 2}, blocks50[4] = {3, 4, 6, 3},
                 blocks152[4] = {3, 8, 36, 3};

void graph_wide_resnet(struct nn_model *m, int depth, int n_classes)
{
    const int *blocks = depth == 18 ? blocks18 : depth == 50 ? blocks50 : blocks152;
    wide_resnet(m, blocks, depth != 18, n_classes);
}

static int deep_stem(struct nn_model *m)
{
    int x = conv_norm(m, 0, "stem", 1, graph_width(m, FIRST / 2), 3, 2, NO_ADDEND, true);
    x = conv_norm(m, x, "stem", 2, graph_width(m, FIRST / 2), 3, 1, NO_ADDEND, true);
    x = conv_norm(m, x, "stem", 3, graph_width(m, FIRST), 3, 1, NO_ADDEND, true);
    return graph_pool_max(m, x, 3, 2, 1);
}

static int pixel_scores(struct nn_model *m, int x, const char *name, int n_classes)
{
    const struct nn_shape in = m->nodes[0].window.out;
    x = graph_conv(m, graph_dropout(m, x, 0.1), name, n_classes, 1, 1, 0, true);
    return graph_bilinear(m, x, in.h, in.w);
}

/* Long, Shelhamer, Darrell 2015, as MMSegmentation's fcn_r50-d8: a ResNet-50 with a deep stem,
 * whose last two stages keep an eighth of the image's size. Our dropout zeroes single values,
 * MMSegmentation's whole channels. */
void graph_fcn(struct nn_model *m, int depth, int n_classes)
{
    static const int strides[4] = {1, 2, 1, 1}, dilations[4] = {1, 1, 2, 4};
    int x = deep_stem(m), side = 0;
    (void)depth;
    graph_reads(m, NN_IMAGES);
    for (int i = 0; i < 4; i++) {
        x = stage(m, x, i, blocks50[i], strides[i], dilations[i], true);
        side = i == 2 ? x : side;
    }
    const int head = graph_width(m, 512);
    side = conv_norm(m, side, "side", 1, graph_width(m, 256), 3, 1, NO_ADDEND, true);
    int y = conv_norm(m, x, "head", 1, head, 3, 1, NO_ADDEND, true);
    y = conv_norm(m, y, "head", 2, head, 3, 1, NO_ADDEND, true);
    y = graph_concat(m, (const int[]){x, y}, 2);
    y = conv_norm(m, y, "head", 3, head, 3, 1, NO_ADDEND, true);
    graph_head(m, pixel_scores(m, y, "classifier", n_classes), &loss_dense, 1);
    graph_head(m, pixel_scores(m, side, "side.classifier", n_classes), &loss_dense, 0.4);
}

static int residual(struct nn_model *m, int x, const char *name, int channels)
{
    int y = conv_norm(m, x, name, 1, channels, 3, 1, NO_ADDEND, true);
    y = conv_norm(m, y, name, 2, channels, 3, 1, NO_ADDEND, true);
    return graph_add(m, x, y);
}

/* David Page's ResNet-9 (DAWNBench 2018). The last pooling covers the largest square
 * window (4x4 of a 32x32 image). */
void graph_davidnet(struct nn_model *m, int depth, int n_classes)
{
    (void)depth;
    int x = conv_norm(m, 0, "prep", 0, graph_width(m, FIRST), 3, 1, NO_ADDEND, true);
    for (int layer = 1; layer <= 3; layer++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d", layer);
        const int channels = graph_width(m, FIRST << layer);
        x = conv_norm(m, x, name, 0, channels, 3, 1, NO_ADDEND, true);
        x = graph_pool_max(m, x, 2, 2, 0);
        if (layer != 2)
            x = residual(m, x, name, channels);
    }
    const struct nn_shape s = m->nodes[x].window.out;
    const int side = s.h < s.w ? s.h : s.w;
    x = graph_pool_max(m, x, side, side, 0);
    x = graph_scale(m, graph_linear(m, x, "classifier", n_classes, false), 0.125);
    graph_head(m, x, &loss_class, 1);
}
