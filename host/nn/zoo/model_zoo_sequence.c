/* model_zoo_sequence.c : networks of sequences: LSTMs, and behind them a 1x1 convolution, which is a linear
 * layer at each step. */
#include <stdio.h>
#include "nn/model_graph.h"

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

/* The QSGD paper's network for AN4: transcripts. */
void graph_speech_lstm(struct nn_model *m, int depth, int n_classes)
{
    layers(m, depth, 1024, n_classes, &loss_ctc);
}

/* A label for each step, as the next character. */
void graph_step_lstm(struct nn_model *m, int depth, int n_classes)
{
    layers(m, depth, 512, n_classes, &loss_dense);
}
