/* model_zoo_plain.c : the large networks without shortcuts: CaffeNet, AlexNet, VGG-19. Dropout of
 * one half stands behind their two hidden layers. */
#include <stdio.h>
#include "nn/model_graph.h"

/* Pixels a product of theirs takes at least: filters are wide, and so a CPU is 1.5 times as fast. */
enum { BLOCK = 64 };
enum { GROUPS_MOST = 2 }; /* of one that reads or makes channels: they are a multiple of it */

static int conv_relu(struct nn_model *m, int x, const char *name, int channels, int k, int stride,
                     int pad, int groups)
{
    x = graph_conv_groups(m, x, name, graph_width_of(m, channels, GROUPS_MOST), k, stride, pad,
                          groups, true);
    m->nodes[x].window.block_least = BLOCK;
    return graph_relu(m, x);
}

/* Two hidden layers and the classifier. */
static void classify(struct nn_model *m, int x, int n_classes)
{
    for (int i = 0; i < 2; i++) {
        x = graph_linear(m, x, i == 0 ? "hidden1" : "hidden2", graph_width(m, 4096), true);
        x = graph_dropout(m, graph_relu(m, x), 0.5);
    }
    graph_head(m, graph_linear(m, x, "classifier", n_classes, true), &loss_class, 1);
}

/* Krizhevsky, Sutskever, Hinton 2012 in one column. groups: of conv2, 4 and 5; 2 as in the paper, whose
 * network fell into halves.
 * pool_first: pooling stands before the normalisation, as in Caffe's reference network. */
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

/* Simonyan and Zisserman 2015, configuration E. */
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
