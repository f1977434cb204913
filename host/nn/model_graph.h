/* model_graph.h : inside a model: its nodes, and the few functions that build, plan and run a list of them.
 *
 * Nodes stand in an order in which every node reads earlier ones; node 0 is the input, the last one gives the logits.
 * Life: graph_init, one graph_* call for each node, graph_plan (memory, weights), then passes. Private to nn/model*.c
 * and its tests. */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H
#include "nn/model.h"

enum node_kind {
    NODE_INPUT,
    NODE_CONV,
    NODE_LINEAR,
    NODE_NORM,
    NODE_RELU,
    NODE_POOL_MAX,
    NODE_POOL_AVG,
    NODE_MEAN,
    NODE_SHORTCUT,
    NODE_DROPOUT,
};

struct node {
    enum node_kind kind;
    int in;                  /* node that is read; -1: none (the input) */
    int addend;              /* norm: node that is added before the ReLU; -1: none */
    struct nn_window window; /* in and out of every node; k, stride, pad of conv and pooling */
    bool relu;               /* norm: a ReLU follows inside */
    double p;                /* dropout */
    int first_param, n_params;
    size_t stat; /* norm: its running mean [c] and variance [c] begin here in stats; its batch moments in moments */
    bool add_dx; /* another reader of `in` has left its gradient already: add */
    real *y;     /* [max_batch, window.out] */
    real *dy;    /* gradient of y, in a buffer that nodes share in turn */
};

enum { GRAPH_NODES = 256, GRAPH_PARAMS = 384, GRAPH_BUFFERS = 8 };

struct nn_model {
    const struct nn_ops *ops;
    void *ctx;
    int n_nodes, n_params, max_batch;
    struct node nodes[GRAPH_NODES];
    struct nn_param params[GRAPH_PARAMS];
    size_t n_weights, n_stats;
    real *weights, *grads, *stats, *moments;
    real *buffers[GRAPH_BUFFERS]; /* of gradients of activations */
    void *scratch;
    int32_t *labels;
    struct nn_result *result;
};

void graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch);

/* Each appends one node that reads node `in` and returns its index. name: of its parameters; ".weight" etc. is
 * appended. */
int graph_conv(struct nn_model *m, int in, const char *name, int out_c, int k, int stride, int pad, bool bias);
int graph_linear(struct nn_model *m, int in, const char *name, int out_c);
int graph_norm(struct nn_model *m, int in, const char *name, int addend, bool relu);
int graph_relu(struct nn_model *m, int in);
int graph_pool(struct nn_model *m, int in, enum node_kind kind, int k, int stride, int pad);
int graph_mean(struct nn_model *m, int in);
int graph_shortcut(struct nn_model *m, int in, int out_c);
int graph_dropout(struct nn_model *m, int in, double p);

/* Builds the network of that name. Returns 0 or -EINVAL with a line. */
int graph_by_name(struct nn_model *m, const char *name, int n_classes);

/* Allocates everything and draws the weights. Returns 0 or what the backend returned; close frees what there is. */
int graph_plan(struct nn_model *m, uint64_t seed);

/* Fills the weights: He's bound for conv and linear, 1 for gammas, 0 for biases and betas. host [n_weights] */
void graph_draw_weights(const struct nn_model *m, uint64_t seed, real *host);

#endif
