/* model_graph.h : inside a model: its nodes, and the few functions that build, plan and run a list
 * of them.
 *
 * Nodes stand in an order in which every node reads earlier ones; node 0 is the input, a head says
 * which output costs what. Life: graph_init, one graph_* call for each node, graph_plan (memory, weights),
 * then passes. Private to nn/model*.c and its tests. */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H
#include "nn/model.h"

struct node;

/* What there is to know of one kind of node: a row for each LAYER of hls/nn/layers.def, in a file of
 * its own, layer_*.c, with what the CPU does for it. */
struct layer_kind {
    const char *name;
    /* Without an addend, the backward pass may write dx over dy. */
    bool in_place;
    /* The backward pass can add to the dx that another reader of `in` has left. */
    bool adds_dx;
    /* Bytes that the forward pass leaves for the backward pass beside y. NULL: none. */
    size_t (*kept_bytes)(const struct nn_model *m, const struct node *node);
    /* Once, before the first pass: plans the backend's work, says how much scratch it wants.
     * Returns 0 or -errno. NULL: nothing to plan. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    /* The values that the node's weights and statistics begin with, in host memory, both flat
     * arrays all zeros before. NULL: zeros. */
    void (*draw)(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                 real *stats);
    void (*forward)(struct nn_model *m, const struct node *node, int batch, bool train);
    /* Terms of a sum of dx, of a kind that multiplies dy by weights: it has a scale of its own,
     * where the model has such; and of one that adds to dx. NULL: it hands its scale on. */
    double (*dx_terms)(const struct node *node);
    /* dx of `in` and of the addend, gradients of its parameters. */
    void (*backward)(struct nn_model *m, const struct node *node, int batch);
};

/* Tensors that are joined at most. */
enum { GRAPH_PARTS = 4 };

struct node {
    const struct layer_kind *kind; /* NULL: the input */
    int in;                        /* node that is read; -1: none (the input) */
    /* norm: node that is added before the ReLU; add: the second of the two; -1: none */
    int addend;
    /* concat: nodes whose channels follow those of `in` */
    int n_more, more[GRAPH_PARTS - 1];
    struct nn_window window; /* in and out of every node; k, stride, pad of conv and pooling */
    bool relu;               /* norm: a ReLU follows inside */
    int cells;               /* lstm */
    bool swapped;            /* norm: gamma and beta stand behind the addition */
    bool zero_gamma;         /* norm: gammas begin at 0 */
    double p;                /* dropout: probability; scale and norm: the factor; lrn: alpha */
    int first_param, n_params;
    size_t stat; /* norm: its running mean [c] and variance [c] begin here in stats */
    bool add_dx; /* another reader of `in` has left its gradient already: add */
    void *kept;  /* [kept_bytes] */
    real *y;     /* [max_batch, window.out] */
    int buffer;  /* of dy; -1: none yet */
    real *dy;    /* gradient of y, in a buffer that nodes share in turn */
    /* the first head needs it: a pass of evaluation leaves the others out */
    bool in_eval;
};

/* What is done with a node's output: a row for each LOSS of hls/nn/layers.def, in loss_*.c. */
struct loss_kind {
    const char *name;
    /* The labels of a sample that it wants for this output. */
    struct nn_target (*target)(const struct node *node);
    /* As a layer_kind's. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    bool confuses; /* it fills m->words.confusion, where there is one: that of the first head */
    /* result = what the samples of the batch cost, of the labels in m->words; dy = the gradient
     * of their mean, NULL: not wanted. */
    void (*pass)(struct nn_model *m, const struct node *node, int batch, real *dy,
                 struct nn_result *result);
};

/* Where the backward pass begins: the loss of a node's output, that counts so much. */
struct graph_head {
    int node;
    const struct loss_kind *loss;
    double weight;
};

enum { GRAPH_RECORDS = 4 };

/* Memory that gradients of several nodes lie in, one after the other. */
struct graph_buffer {
    real *p;
    size_t n;   /* elements */
    bool taken; /* while they are shared out */
};

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

/* What changes from pass to pass, and what comes out: model_words.c. */
struct graph_words {
    uint64_t *key; /* of dropout */
    float *scale_now;
    uint32_t *refresh; /* adaptive; not 0: the rule is asked in this pass */
    int32_t *labels;   /* [max_batch, target.n] */
    int32_t *lengths;  /* [max_batch] time steps of a sample; all its lines where it has no such */
    struct node_scale *scales;   /* [n_nodes] adaptive; else NULL */
    struct nn_result *results;   /* [n_heads] */
    struct scale_tally *tallies; /* [n_nodes] of dx; NULL: not watched */
    uint32_t *confusion; /* [classes][classes] of the last evaluation, first head; NULL: none */
};

struct nn_model {
    const struct nn_ops *ops;
    void *ctx;
    int max_batch;
    const char *fewer; /* as nn_setup's */
    enum nn_math math; /* likewise */
    double width;      /* factor on the channels and hidden units of a network by name */
    /* Lists that grow while the model is built, and stay where they are from graph_plan on. */
    int n_nodes, n_params, n_heads;
    struct node *nodes;
    struct nn_param *params;
    struct graph_head *heads;
    struct nn_block block; /* the form of residual blocks, of which there are so many */
    int n_blocks;
    struct node spare; /* is built on where there was no memory for another node: `failed` */
    size_t n_weights, n_stats;
    real *weights, *grads, *stats;
    real *own_grads, *own_stats;  /* the model's, which may be in use or not */
    struct graph_buffer *buffers; /* [n_buffers] of gradients of activations */
    int n_buffers;
    void *scratch;
    struct nn_loss_scale scale; /* fp16, or scaled; else value 1 */
    bool watched, watch;        /* gradients may be counted; in the passes to come they are */
    bool adaptive;              /* layers have scales of their own, by this */
    struct scale_setup scaling;
    struct nn_target target; /* the labels of a sample, of all heads */

    struct graph_words words, host; /* for passes; the host's copy */
    void *words_block, *host_block; /* that they lie in */
    /* bytes: what is asked for begins; what is told, results, and all end */
    size_t words_ask, words_told, words_results, words_all;
    uint32_t *marks; /* [n_groups] shared; not 0: the group's gradients of this pass are final */

    struct graph_group *groups; /* [n_groups] in backward order */
    int n_groups;
    struct graph_record records[GRAPH_RECORDS];
    int n_records;
    bool no_records; /* the backend has none */
    int failed;      /* the first failure of the backend, or of memory while it was built */
    bool too_small;  /* while it is built: the image, for a window */
    bool other_form; /* likewise: it reads images and was given sequences, or so */
};

/* Returns 0 or -ENOMEM with a line. */
int graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch);
/* Frees the lists. */
void graph_fini(struct nn_model *m);

/* It reads such samples alone; others are noted: m->other_form. */
void graph_reads(struct nn_model *m, enum nn_form form);

/* Appends a node of a kind whose output has the shape of its input, until the caller says
 * otherwise; for the functions below. */
struct node *graph_append(struct nn_model *m, const struct layer_kind *kind, int in);
/* Its index. */
int graph_index(const struct nn_model *m, const struct node *node);
/* One more parameter of it: "name.part", n weights. */
enum graph_role { GRAPH_WEIGHT, GRAPH_BIAS, GRAPH_NORM };
void graph_param(struct nn_model *m, struct node *node, const char *name, const char *part,
                 size_t n, enum graph_role role);
/* The columns of the last parameter, unless it is one. */
void graph_columns(struct nn_model *m, size_t column, size_t stride);
/* A window that walks over its input, of the dilation that it has already; what remains at the end is left out, or, rounded up, gets a
 * window that reaches over it. An image that is smaller than one window is noted: m->too_small. */
enum graph_rest { REST_OUT, REST_IN };
void graph_window(struct nn_model *m, struct node *node, int out_c, int k, int stride, int pad,
                  enum graph_rest rest);
/* Channels or hidden units of a network's layer, of which the network was published with so many: times
 * m->width, the nearest whole number (halves up), 1 at least, then up to a multiple. */
int graph_width(const struct nn_model *m, int channels);
int graph_width_of(const struct nn_model *m, int channels, int multiple);
/* Variants of nodes of the table: conv2d in groups, with taps so far apart and stride 1, pooling that
 * rounds up. */
int graph_conv_groups(struct nn_model *m, int in, const char *name, int out_c, int k, int stride,
                      int pad, int groups, bool bias);
int graph_conv_dilated(struct nn_model *m, int in, const char *name, int out_c, int k, int pad,
                       int dilation, bool bias);
int graph_pool_max_up(struct nn_model *m, int in, int k, int stride, int pad);

/* For each kind its row, and a function that appends one node that reads node `in` and returns its
 * index. name: of its parameters; ".weight" etc. is appended. */
enum { NO_ADDEND = -1 };
#define LAYER(kind, make, passes)                \
    extern const struct layer_kind layer_##kind; \
    int graph_##kind(struct nn_model *m, LIST make);
#define LOSS(kind, passes) extern const struct loss_kind loss_##kind;
#include "hls/nn/layers.def"

/* One more head, which wants the labels that all others want. The network's result is the first
 * one's; in training but for the loss: the weighted sum of all. */
void graph_head(struct nn_model *m, int node, const struct loss_kind *loss, double weight);

/* The node's i-th parameter inside `array` (weights or gradients, the backend's); NULL if it has no
 * such one. */
real *graph_part(const struct nn_model *m, const struct node *node, int i, real *array);
/* A draw of layer_kind: He et al. 2015 for the node's first parameter: variance 2 / inputs of a neuron. Uniform, so that
 * no libm decides about bits. */
void graph_draw_he(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                   real *stats);

/* From so many pixels a side on the large networks halve an image before their first block. */
enum { STEM_SIDE = 64 };

/* The norm of a branch of a residual block; the one that ends it, which has an addend: in the form
 * of m->block. Return its index. */
int graph_inside_block(struct nn_model *m, int norm);
int graph_ends_block(struct nn_model *m, int norm);
/* Has it blocks, if their form is not the plain one? Returns 0 or -EINVAL with a line. */
int graph_block_fits(const struct nn_model *m, const char *name);

/* Builds the network of that name. Returns 0 or -EINVAL with a line. */
int graph_by_name(struct nn_model *m, const char *name, int n_classes);

/* model_zoo_plain.c: depth 18, 50 or 152; the others have one alone. */
void graph_wide_resnet(struct nn_model *m, int depth, int n_classes);
void graph_davidnet(struct nn_model *m, int depth, int n_classes);
void graph_caffenet(struct nn_model *m, int depth, int n_classes);
void graph_alexnet(struct nn_model *m, int depth, int n_classes);
void graph_fcn(struct nn_model *m, int depth, int n_classes);
void graph_googlenet(struct nn_model *m, int depth, int n_classes);
void graph_bn_inception(struct nn_model *m, int depth, int n_classes);
void graph_vgg19(struct nn_model *m, int depth, int n_classes);
/* model_zoo_plain.c: so many LSTMs. */
void graph_speech_lstm(struct nn_model *m, int depth, int n_classes);
void graph_step_lstm(struct nn_model *m, int depth, int n_classes);

/* Allocates everything and draws the weights. Returns 0 or what the backend returned; close frees
 * what there is. */
int graph_plan(struct nn_model *m, uint64_t seed);

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
/* What goes with a pass and comes back (model_words.c). open: before any pass, 0 or -ENOMEM; tell: what
 * passes then read; ask: what they wrote is in m->host after the next wait. */
int graph_words_open(struct nn_model *m);
void graph_words_close(struct nn_model *m);
void graph_words_tell(struct nn_model *m, const struct nn_batch *b, uint64_t key);
void graph_words_ask(struct nn_model *m, bool eval);

/* What the setup says of scales, before graph_plan. */
void graph_scale_open(struct nn_model *m, const struct nn_setup *setup);
/* Adaptive: what the host says before a pass; the loss's scale, before what a head's gradient is; what
 * node i's gradient carries, before its backward pass. */
void graph_scale_begin(struct nn_model *m);
void graph_scale_head(struct nn_model *m, const struct graph_head *head);
void graph_scale_node(struct nn_model *m, int i, int batch);
/* Counts what node i hands back; first: before its backward pass. */
void graph_watch_node(struct nn_model *m, int i, int batch, bool first);
/* Tells of all groups that are marked and have not been told of. */
void graph_deliver(const struct nn_model *m, struct graph_ready *r);
size_t graph_elements(struct nn_shape s, int batch);
size_t graph_pixels(struct nn_shape s, int batch);

#endif
