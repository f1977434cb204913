/* layer_lstm.c : makes an LSTM a node (CPU passes: cpu_lstm.c). */
#include <math.h>
#include <stdio.h>
#include "hls/arith/philox.h"
#include "nn/model_graph.h"

int graph_lstm(struct nn_model *m, int in, const char *name, int cells, int out_c)
{
    struct node *node = graph_append(m, &layer_lstm, in);
    const size_t inputs = (size_t)node->window.in.c, c = (size_t)cells, out = (size_t)out_c;
    char part[32];
    graph_reads(m, NN_SEQUENCES);
    node->cells = cells;
    node->window.out = (struct nn_shape){node->window.in.h, 1, out_c};
    snprintf(part, sizeof part, "%.14s.in", name);
    graph_param(m, node, part, "weight", LSTM_GATES * c * inputs, GRAPH_WEIGHT);
    graph_columns(m, LSTM_GATES * c, inputs);
    snprintf(part, sizeof part, "%.14s.back", name);
    graph_param(m, node, part, "weight", LSTM_GATES * c * out, GRAPH_WEIGHT);
    graph_columns(m, LSTM_GATES * c, out);
    snprintf(part, sizeof part, "%.14s.proj", name);
    graph_param(m, node, part, "weight", out * c, GRAPH_WEIGHT);
    graph_columns(m, out, c);
    graph_param(m, node, name, "peep", LSTM_PEEPHOLES * c, GRAPH_NORM);
    graph_param(m, node, name, "bias", LSTM_GATES * c, GRAPH_BIAS);
    return graph_index(m, node);
}

/* Matrices start with variance 2 / (inputs + outputs) of each gate and the projection (Glorot and
 * Bengio 2010). Forget gates' biases start at 1, so that cells remember until they learn to forget
 * (Jozefowicz et al. 2015); peepholes and other biases at 0. */
static void lstm_node_draw(const struct nn_model *m, const struct node *node, uint64_t seed,
                           real *weights, real *stats)
{
    (void)stats;
    const int c = node->cells, out = node->window.out.c;
    const int inputs[] = {node->window.in.c, out, c}, outputs[] = {c, c, out};
    for (int i = 0; i < 3; i++) {
        const struct nn_param *p = &m->params[node->first_param + i];
        const uint64_t key = philox_key(seed, (uint32_t)(node->first_param + i), 0, 0, 0);
        const double bound = sqrt(6.0 / (inputs[i] + outputs[i]));
        for (size_t j = 0; j < p->n; j++)
            weights[p->offset + j] = (real)(bound * ((double)philox_u32(key, j) * 0x1p-31 - 1));
    }
    real *forget = weights + m->params[node->first_param + 4].offset + c;
    for (int i = 0; i < c; i++)
        forget[i] = 1;
}

static struct nn_lstm lstm_of(const struct nn_model *m, const struct node *node)
{
    return (struct nn_lstm){
        .steps = node->window.in.h,
        .in = node->window.in.c,
        .cells = node->cells,
        .out = node->window.out.c,
        .wx = graph_part(m, node, 0, m->weights),
        .wr = graph_part(m, node, 1, m->weights),
        .wp = graph_part(m, node, 2, m->weights),
        .peephole = graph_part(m, node, 3, m->weights),
        .bias = graph_part(m, node, 4, m->weights),
    };
}

static size_t lstm_node_kept(const struct nn_model *m, const struct node *node)
{
    return (size_t)m->max_batch * (size_t)node->window.in.h * LSTM_KEPT * (size_t)node->cells *
           sizeof(real);
}

static int lstm_node_plan(struct nn_model *m, const struct node *node, size_t *scratch_bytes)
{
    const struct nn_lstm f = lstm_of(m, node);
    return m->ops->lstm_plan(m->ctx, &f, m->max_batch, scratch_bytes);
}

static void lstm_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    const struct nn_lstm f = lstm_of(m, node);
    m->ops->lstm_forward(m->ctx, &f, batch, m->words.lengths, m->nodes[node->in].y, node->y,
                         node->kept, m->scratch);
}

static void lstm_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct nn_lstm f = lstm_of(m, node);
    const struct node *in = &m->nodes[node->in];
    const struct nn_lstm_grads d = {
        .wx = graph_part(m, node, 0, m->grads),
        .wr = graph_part(m, node, 1, m->grads),
        .wp = graph_part(m, node, 2, m->grads),
        .peephole = graph_part(m, node, 3, m->grads),
        .bias = graph_part(m, node, 4, m->grads),
    };
    m->ops->lstm_backward(m->ctx, &f, batch, m->words.lengths, in->y, node->y, node->dy, in->dy, &d,
                          node->kept, m->scratch);
}

/* Only one step's gates count: their gradients already include later time steps' contributions. */
static double lstm_node_terms(const struct node *node)
{
    return LSTM_GATES * node->cells;
}

const struct layer_kind layer_lstm = {
    .name = "lstm",
    .dx_terms = lstm_node_terms,
    .kept_bytes = lstm_node_kept,
    .plan = lstm_node_plan,
    .draw = lstm_node_draw,
    .forward = lstm_node_forward,
    .backward = lstm_node_backward,
};
