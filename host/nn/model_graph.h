/* model_graph.h : declares the nodes of a model, and the functions that build, plan and run
 * them. Nodes read earlier nodes; node 0 is the input, and heads name the outputs with a
 * loss. Life: graph_init, one graph_* call per node, graph_plan (memory, weights), passes.
 * Private to nn/model*.c and its tests. */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H
#include "nn/model.h"

struct node;

/* A kind of node: a row for each LAYER of hls/nn/layers.def, in layer_*.c. */
struct layer_kind {
    const char *name;
    /* Without an addend, backward may write dx over dy. */
    bool in_place;
    /* Backward can add to a dx that another reader of `in` left. */
    bool adds_dx;
    /* Bytes kept for backward besides y. NULL: none. */
    size_t (*kept_bytes)(const struct nn_model *m, const struct node *node);
    /* Called once, before the first pass: plans the backend's work and stores the scratch that it
     * needs in *scratch_bytes (0 before the call). Returns 0 or -errno. NULL: nothing to plan. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    /* Writes initial weights and statistics into host arrays of zeros. NULL: zeros. */
    void (*draw)(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                 real *stats);
    void (*forward)(struct nn_model *m, const struct node *node, int batch, bool train);
    /* Terms of a sum of dx, for kinds that multiply dy by weights. If adaptive, these have their
     * own scales, as have nodes that add to dx. NULL: passes its scale on. */
    double (*dx_terms)(const struct node *node);
    /* Writes dx of `in` and the addend, and weight gradients. */
    void (*backward)(struct nn_model *m, const struct node *node, int batch);
};

enum { GRAPH_PARTS = 4 }; /* most tensors that a concat joins */

struct node {
    const struct layer_kind *kind; /* NULL: the input */
    int in;                        /* node it reads; -1: none (the input) */
    /* norm: node added before the ReLU; add: the second summand; -1: none */
    int addend;
    /* concat: nodes whose channels follow those of `in` */
    int n_more, more[GRAPH_PARTS - 1];
    struct nn_window window; /* in and out of every node; k, stride, pad of conv and pooling */
    bool relu;               /* norm: a ReLU follows inside */
    int cells;               /* lstm */
    bool swapped;            /* norm: gamma and beta apply after the addition */
    bool zero_gamma;         /* norm: gammas start at 0 */
    double p;                /* dropout: probability; scale and norm: the factor; lrn: alpha */
    int first_param, n_params;
    size_t stat; /* norm: offset of its running mean [c] and variance [c] in stats */
    bool add_dx; /* add to dx: another reader of `in` has left its gradient */
    void *kept;  /* [kept_bytes] */
    real *y;     /* [max_batch, window.out] */
    int buffer;  /* of dy; -1: none yet */
    real *dy;    /* gradient of y, in a buffer shared with other nodes */
    /* the first head needs it; else evaluation skips it */
    bool in_eval;
};

/* A kind of loss: a row for each LOSS of hls/nn/layers.def, in loss_*.c. */
struct loss_kind {
    const char *name; /* of --loss; one name may have a row for each kind of target */
    /* Returns the labels it needs for a sample. */
    struct nn_target (*target)(const struct node *node);
    /* As layer_kind's. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    bool confuses; /* fills m->words.confusion if it exists; only the first head's */
    bool smooths;  /* takes m->loss.smoothing in training */
    /* *result = losses of the batch with the labels in m->words; dy =
     * gradient of their mean, unless NULL. */
    void (*pass)(struct nn_model *m, const struct node *node, int batch, real *dy,
                 struct nn_result *result);
};

/* A loss on a node's output, and its weight in the sum. */
struct graph_head {
    int node;
    const struct loss_kind *loss;
    double weight;
};

enum { GRAPH_RECORDS = 4 };

/* Memory of several nodes' gradients in turn. */
struct graph_buffer {
    real *p;
    size_t n;   /* elements */
    bool taken; /* while planning */
};

/* The record of a training pass of one batch size. seen: the pass ran once unrecorded, so
 * everything created at first use exists. */
struct graph_record {
    int batch;
    bool marks, seen;
    void *record; /* NULL: none yet */
};

/* Params [first, first + n) that become final together: a node's, or
 * a norm's and its convolution's. */
struct graph_group {
    int first, n;
    int node; /* its backward pass completes them */
};

/* Inputs and outputs of a pass besides tensors (model_words.c). */
struct graph_words {
    uint64_t *key; /* of dropout */
    float *scale_now;
    uint32_t *refresh; /* adaptive; nonzero: apply the rule in this pass */
    int32_t *labels;   /* [max_batch, target.n] */
    int32_t *lengths;  /* [max_batch] time steps of a sample; the input's h if none are given */
    struct node_scale *scales;   /* [n_nodes] if adaptive, else NULL */
    struct nn_result *results;   /* [n_heads] */
    struct scale_tally *tallies; /* [n_nodes] of dx; NULL: not watched */
    uint32_t *confusion; /* [classes][classes] of the last evaluation, first head; NULL: none */
};

struct nn_model {
    const struct nn_ops *ops;
    void *ctx;
    int max_batch;
    const char *fewer; /* of nn_setup */
    enum nn_math math;
    double width; /* on channels and hidden units */
    /* these lists grow while building and do not move after graph_plan */
    int n_nodes, n_params, n_heads;
    struct node *nodes;
    struct nn_param *params;
    struct graph_head *heads;
    struct nn_block block; /* form of the n_blocks residual blocks */
    int n_blocks;
    struct nn_loss loss;
    struct node spare; /* receives nodes that found no memory; `failed` is set */
    size_t n_weights, n_stats;
    real *weights, *grads, *stats;
    real *own_grads, *own_stats;  /* the model's own, whether in use or not */
    struct graph_buffer *buffers; /* [n_buffers] of activation gradients */
    int n_buffers;
    void *scratch;
    struct nn_loss_scale scale; /* fp16, or scaled; else value 1 */
    bool watched, watch;        /* counting gradients: possible; on for the next passes */
    bool adaptive;              /* layers have their own scales, by `scaling` */
    struct scale_setup scaling;
    struct nn_target target; /* of all heads */

    struct graph_words words, host; /* backend's; host's copy */
    void *words_block, *host_block; /* their memory */
    /* byte offsets: begin of the download; ends of upload, results, block */
    size_t words_ask, words_told, words_results, words_all;
    uint32_t *marks; /* [n_groups] shared; nonzero: the group's gradients of this pass are final */

    struct graph_group *groups; /* [n_groups] in backward order */
    int n_groups;
    struct graph_record records[GRAPH_RECORDS];
    int n_records;
    bool no_records; /* recording is off: unsupported, failed, or arrays were replaced */
    int failed;      /* first failure of the backend, or -ENOMEM while building */
    bool too_small;  /* while building: the image is smaller than a window */
    bool other_form; /* while building: given sequences instead of images, or vice versa */
};

/* Returns 0 or -ENOMEM (reported). */
int graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch);
void graph_fini(struct nn_model *m);

/* Accept only this form of samples; others set m->other_form. */
void graph_reads(struct nn_model *m, enum nn_form form);

/* Append a node whose output has its input's shape until changed. */
struct node *graph_append(struct nn_model *m, const struct layer_kind *kind, int in);
int graph_index(const struct nn_model *m, const struct node *node);
/* Append a param "name.part" of n weights to the node. */
enum graph_role { GRAPH_WEIGHT, GRAPH_BIAS, GRAPH_NORM };
void graph_param(struct nn_model *m, struct node *node, const char *name, const char *part,
                 size_t n, enum graph_role role);
/* Set the columns of the last param, unless it is one column. */
void graph_columns(struct nn_model *m, size_t column, size_t stride);
/* Slide a window, with the dilation already set, over the node's input. Pixels left over at
 * the end are dropped (REST_OUT) or covered by a window reaching over it (REST_IN). Images
 * below one window set m->too_small. */
enum graph_rest { REST_OUT, REST_IN };
void graph_window(struct nn_model *m, struct node *node, int out_c, int k, int stride, int pad,
                  enum graph_rest rest);
/* Scale a published number of channels or hidden units by m->width: the nearest integer (halves
 * up), at least 1, then up to a multiple. */
int graph_width(const struct nn_model *m, int channels);
int graph_width_of(const struct nn_model *m, int channels, int multiple);
/* Variants of nodes of the table: conv2d in groups, dilated conv2d of
 * stride 1, pooling that rounds up. */
int graph_conv_groups(struct nn_model *m, int in, const char *name, int out_c, int k, int stride,
                      int pad, int groups, bool bias);
int graph_conv_dilated(struct nn_model *m, int in, const char *name, int out_c, int k, int pad,
                       int dilation, bool bias);
int graph_pool_max_up(struct nn_model *m, int in, int k, int stride, int pad);

/* Each kind's row, and a function that appends a node reading node `in` and returns its index.
 * name: of its params, before ".weight" etc. */
enum { NO_ADDEND = -1 };
#define LAYER(kind, make, passes)                \
    extern const struct layer_kind layer_##kind; \
    int graph_##kind(struct nn_model *m, LIST make);
#define LOSS(kind, passes) extern const struct loss_kind loss_##kind;
#include "hls/nn/layers.def"

/* Add a head; all heads must need the same labels. The network's result is the first head's, but
 * its training loss is the weighted sum of all. */
void graph_head(struct nn_model *m, int node, const struct loss_kind *loss, double weight);

/* Return the node's i-th param inside `array` (weights or gradients), or NULL if it has fewer. */
real *graph_part(const struct nn_model *m, const struct node *node, int i, real *array);
/* A draw function for the first param: He et al. 2015, variance 2 / inputs.
 * Uniform, so no libm decides bits. */
void graph_draw_he(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                   real *stats);

/* From this many pixels a side on, large networks halve images before their first block. */
enum { STEM_SIDE = 64 };

/* Apply m->block to a norm inside a residual block, or to the last, which
 * has an addend. Return its index. */
int graph_inside_block(struct nn_model *m, int norm);
int graph_ends_block(struct nn_model *m, int norm);
/* Check that a block form other than plain has blocks. Returns 0 or -EINVAL (reported). */
int graph_block_fits(const struct nn_model *m, const char *name);

/* Replace the losses of all heads by m->loss's for the same labels. Returns 0 or -EINVAL
 * (reported). */
int graph_take_loss(struct nn_model *m, const char *name);

/* Build the network `name`. Returns 0 or -EINVAL (reported). */
int graph_by_name(struct nn_model *m, const char *name, int n_classes);

/* Builders of models.def. depth: 18, 50 or 152 for graph_wide_resnet; else fixed. */
void graph_wide_resnet(struct nn_model *m, int depth, int n_classes);
void graph_davidnet(struct nn_model *m, int depth, int n_classes);
void graph_caffenet(struct nn_model *m, int depth, int n_classes);
void graph_alexnet(struct nn_model *m, int depth, int n_classes);
void graph_fcn(struct nn_model *m, int depth, int n_classes);
void graph_googlenet(struct nn_model *m, int depth, int n_classes);
void graph_bn_inception(struct nn_model *m, int depth, int n_classes);
void graph_vgg19(struct nn_model *m, int depth, int n_classes);
/* depth: number of LSTMs. */
void graph_speech_lstm(struct nn_model *m, int depth, int n_classes);
void graph_step_lstm(struct nn_model *m, int depth, int n_classes);

/* Allocate all and draw the weights. Returns 0 or the backend's
 * error; close frees what was made. */
int graph_plan(struct nn_model *m, uint64_t seed);

/* The receiver of final gradients. */
struct graph_ready {
    nn_grad_ready *call;
    void *ctx;
    int next; /* group to report next */
};

/* Run all nodes over node 0's y, the labels and the key. marks: set each group's mark when its
 * gradients are final. ready: report groups marked so far (NULL: none). */
void graph_forward(struct nn_model *m, int batch, bool train);
void graph_backward(struct nn_model *m, int batch, bool marks, struct graph_ready *ready);
/* Words of a pass. open: before any pass; 0 or -ENOMEM. tell: upload. ask:
 * download to m->host by the next wait. */
int graph_words_open(struct nn_model *m);
void graph_words_close(struct nn_model *m);
void graph_words_tell(struct nn_model *m, const struct nn_batch *b, uint64_t key);
void graph_words_ask(struct nn_model *m, bool eval);

/* Take the scales from the setup, before graph_plan. */
void graph_scale_open(struct nn_model *m, const struct nn_setup *setup);
/* Adaptive scales. begin: set a pass's inputs. head: before a head's loss. node: scale node i's
 * gradient before its backward pass. */
void graph_scale_begin(struct nn_model *m);
void graph_scale_head(struct nn_model *m, const struct graph_head *head);
void graph_scale_node(struct nn_model *m, int i, int batch);
/* Count the gradient that node i passes back; call before (first) and after its backward pass. */
void graph_watch_node(struct nn_model *m, int i, int batch, bool first);
/* Report all groups that are marked and not reported yet. */
void graph_deliver(const struct nn_model *m, struct graph_ready *r);
size_t graph_elements(struct nn_shape s, int batch);
size_t graph_pixels(struct nn_shape s, int batch);

#endif
