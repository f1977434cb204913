/* model_graph.h : inside a model: its nodes, and the few functions that build, plan and run a list
 * of them.
 *
 * Nodes stand in an order in which every node reads earlier ones; node 0 is the input, the last one
 * gives the logits. Life: graph_init, one graph_* call for each node, graph_plan (memory, weights),
 * then passes. Private to nn/model*.c and its tests. */
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
    NODE_ADD,
    NODE_SCALE,
};

struct node {
    enum node_kind kind;
    int in; /* node that is read; -1: none (the input) */
    /* norm: node that is added before the ReLU; add: the second of the two; -1: none */
    int addend;
    struct nn_window window; /* in and out of every node; k, stride, pad of conv and pooling */
    bool relu;               /* norm: a ReLU follows inside */
    double p;                /* dropout: probability; scale: the factor */
    int first_param, n_params;
    /* norm: its running mean [c] and variance [c] begin here in stats; its batch moments in
     * moments */
    size_t stat;
    bool add_dx; /* another reader of `in` has left its gradient already: add */
    real *y;     /* [max_batch, window.out] */
    real *dy;    /* gradient of y, in a buffer that nodes share in turn */
};

enum { GRAPH_NODES = 256, GRAPH_PARAMS = 384, GRAPH_BUFFERS = 8, GRAPH_RECORDS = 4 };

/* A training pass of one batch size, recorded. seen: it has been done once by its own calls, so
 * that everything that is made at first use is there. */
struct graph_record {
    int batch;
    bool marks, seen;
    void *record; /* NULL: none yet */
};

/* Params [first, first + n) that become final together: those of one node, or of a norm and the
 * convolution before it. */
struct graph_group {
    int first, n;
    int node; /* whose backward pass ends them */
};

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
    struct nn_loss_scale scale; /* fp16; else value 1 */

    /* Shared memory: what changes from pass to pass, and what comes out. */
    uint64_t *key; /* of dropout */
    int32_t *labels;
    struct nn_result *result;
    float *scale_now;
    uint32_t *marks; /* [n_groups] not 0: the group's gradients of this pass are final */

    struct graph_group groups[GRAPH_PARAMS]; /* in backward order */
    int n_groups;
    struct graph_record records[GRAPH_RECORDS];
    int n_records;
    bool no_records; /* the backend has none */
    int failed;      /* the first failure that the backend told of */
};

void graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch);

/* Each appends one node that reads node `in` and returns its index. name: of its parameters;
 * ".weight" etc. is appended. */
int graph_conv(struct nn_model *m, int in, const char *name, int out_c, int k, int stride, int pad,
               bool bias);
int graph_linear(struct nn_model *m, int in, const char *name, int out_c, bool bias);
enum { NO_ADDEND = -1 };
int graph_norm(struct nn_model *m, int in, const char *name, int addend, bool relu);
int graph_relu(struct nn_model *m, int in);
int graph_pool(struct nn_model *m, int in, enum node_kind kind, int k, int stride, int pad);
int graph_mean(struct nn_model *m, int in);
int graph_shortcut(struct nn_model *m, int in, int out_c);
int graph_dropout(struct nn_model *m, int in, double p);
int graph_add(struct nn_model *m, int a, int b);
int graph_scale(struct nn_model *m, int in, double k);

/* Builds the network of that name. Returns 0 or -EINVAL with a line. */
int graph_by_name(struct nn_model *m, const char *name, int n_classes);

/* model_zoo_wide.c: depth 18 or 50; davidnet has one alone. */
void graph_wide_resnet(struct nn_model *m, int depth, int n_classes);
void graph_davidnet(struct nn_model *m, int depth, int n_classes);

/* Allocates everything and draws the weights. Returns 0 or what the backend returned; close frees
 * what there is. */
int graph_plan(struct nn_model *m, uint64_t seed);

/* Fills the weights: He's bound for conv and linear, 1 for gammas, 0 for biases and betas. host
 * [n_weights] */
void graph_draw_weights(const struct nn_model *m, uint64_t seed, real *host);

/* Who hears of gradients that are final. */
struct graph_ready {
    nn_grad_ready *call;
    void *ctx;
    int next; /* group */
};

/* Every node in turn, over what is in node 0's y, the labels and the key. marks: each group's is
 * set as its gradients become final, and `ready` (NULL: nobody) is told of those that are set by
 * then. */
void graph_forward(struct nn_model *m, int batch, bool train);
void graph_backward(struct nn_model *m, int batch, bool marks, struct graph_ready *ready);
/* Tells of all groups that are marked and have not been told of. */
void graph_deliver(const struct nn_model *m, struct graph_ready *r);
size_t graph_elements(struct nn_shape s, int batch);

#endif
