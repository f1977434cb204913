/* model_graph.h : declares the nodes of a model, and the functions that build, plan and run
 * them. Nodes read earlier nodes; node 0 is the input, and heads name the outputs with a
 * loss. Order of calls: graph_init, one graph_* call per node, graph_plan (memory, weights),
 * passes. Private to nn/model*.c and its tests. */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H
#include "nn/model.h"

struct node;

/* A kind of node: a row for each LAYER of hls/nn/layers.def, in layer_*.c. */
struct layer_kind {
    const char *name;
    /* In nodes without an addend, backward may write dx over dy. */
    bool in_place;
    /* Backward can add to the dx that another reader of `in` has written. */
    bool adds_dx;
    /* Returns the bytes that forward keeps for backward besides y. NULL if it keeps none. */
    size_t (*kept_bytes)(const struct nn_model *m, const struct node *node);
    /* Called once, before the first pass. Plans the backend's work and stores the size of the
     * scratch memory in *scratch_bytes (0 before the call). Returns 0 or -errno. NULL if there is
     * nothing to plan. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    /* Writes initial weights and statistics into host arrays that contain zeros. NULL if the
     * initial values are zeros. */
    void (*draw)(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                 real *stats);
    void (*forward)(struct nn_model *m, const struct node *node, int batch, bool train);
    /* Returns the number of terms in each sum of dx, for kinds that multiply dy by weights. With
     * adaptive loss scales, such nodes and nodes that add to dx have scales of their own. NULL for
     * other kinds, which pass the scale of dy on. */
    double (*dx_terms)(const struct node *node);
    /* Writes the gradients of `in` and of the addend, and the weight gradients. */
    void (*backward)(struct nn_model *m, const struct node *node, int batch);
};

enum { GRAPH_PARTS = 4 }; /* largest number of tensors that a concat joins */

struct node {
    const struct layer_kind *kind; /* NULL: the input */
    int in;                        /* node that it reads; -1 for the input */
    /* norm: the node added before the ReLU; add: the second summand; -1: none */
    int addend;
    /* concat: the nodes whose channels follow those of `in` */
    int n_more, more[GRAPH_PARTS - 1];
    /* in and out are shapes of every node; the rest is used by conv and pooling */
    struct nn_window window;
    bool relu;       /* norm: a ReLU is its last operation */
    int cells;       /* lstm: number of cells */
    bool swapped;    /* norm: gamma and beta apply after the addition */
    bool zero_gamma; /* norm: gammas start at 0 */
    double p;        /* dropout: probability; scale, norm: factor; lrn: alpha */
    int first_param, n_params;
    size_t stat; /* norm: offset of its running mean [c] and variance [c] in stats */
    bool add_dx; /* backward adds to dx, where another reader of `in` has written its gradient */
    void *kept;  /* [kept_bytes] */
    real *y;     /* [max_batch, window.out] */
    int buffer;  /* index of dy's buffer; -1: none yet */
    real *dy;    /* gradient of y, in a buffer shared with other nodes */
    /* true if the first head depends on this node; evaluation skips the other nodes */
    bool in_eval;
};

/* A kind of loss: a row for each LOSS of hls/nn/layers.def, in loss_*.c. */
struct loss_kind {
    /* name in --loss; several rows may have one name if their kinds of target differ */
    const char *name;
    /* Returns the labels that the loss needs for a sample. */
    struct nn_target (*target)(const struct node *node);
    /* Same contract as `plan` of struct layer_kind. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    bool confuses; /* fills m->words.confusion if that is not NULL; used for the first head only */
    bool smooths;  /* uses m->loss.smoothing in training */
    /* Sets *result to the losses of the batch, whose labels are in m->words. Unless dy is NULL,
     * sets it to the gradient of the mean loss. */
    void (*pass)(struct nn_model *m, const struct node *node, int batch, real *dy,
                 struct nn_result *result);
};

/* A head: a loss on a node's output, and its weight in the sum of all losses. */
struct graph_head {
    int node;
    const struct loss_kind *loss;
    double weight;
};

enum { GRAPH_RECORDS = 4 };

/* Memory that several nodes use one after another for their gradients. */
struct graph_buffer {
    real *p;
    size_t n;   /* elements */
    bool taken; /* in use; only while planning */
};

/* The record of a training pass of one batch size. seen: the pass has run once unrecorded, so all
 * objects that are created at their first use exist. */
struct graph_record {
    int batch;
    bool marks, seen;
    void *record; /* NULL: none yet */
};

/* Params [first, first + n) whose gradients become final together: those of a node, or those of a
 * norm and its convolution. */
struct graph_group {
    int first, n;
    int node; /* node whose backward pass completes them */
};

/* The words of a pass: all its inputs and outputs except tensors (model_words.c). */
struct graph_words {
    uint64_t *key; /* random key of dropout */
    float *scale_now;
    uint32_t *refresh; /* adaptive scales: nonzero if this pass applies the rule */
    int32_t *labels;   /* [max_batch, target.n] */
    int32_t *lengths;  /* [max_batch] time steps of each sample; the input's h if none are given */
    struct node_scale *scales;   /* [n_nodes] if scales are adaptive, else NULL */
    struct nn_result *results;   /* [n_heads] */
    struct scale_tally *tallies; /* [n_nodes] histograms of dx; NULL: not watched */
    uint32_t *confusion; /* [classes][classes] of the first head in the last evaluation, or NULL */
};

struct nn_model {
    const struct nn_ops *ops;
    void *ctx;
    int max_batch;
    const char *fewer; /* as in nn_setup */
    enum nn_math math;
    double width; /* factor on channels and hidden units */
    /* These lists grow while the network is built. They do not move after graph_plan. */
    int n_nodes, n_params, n_heads;
    struct node *nodes;
    struct nn_param *params;
    struct graph_head *heads;
    struct nn_block block; /* form of the n_blocks residual blocks */
    int n_blocks;
    struct nn_loss loss;
    struct node spare; /* returned instead of a new node if memory is short; `failed` is set */
    size_t n_weights, n_stats;
    real *weights, *grads, *stats;
    real *own_grads, *own_stats;  /* the model's own, even if it uses the caller's */
    struct graph_buffer *buffers; /* [n_buffers] buffers of activation gradients */
    int n_buffers;
    void *scratch;
    struct nn_loss_scale scale; /* loss scale; value 1 unless fp16 or scaled */
    bool watched, watch;        /* counting of gradients is possible; is on */
    bool adaptive;              /* each layer has its own scale, found by `scaling` */
    struct scale_setup scaling;
    struct nn_target target; /* labels that all heads need */

    struct graph_words words, host; /* in backend memory; copy in host memory */
    void *words_block, *host_block; /* memory of words and host */
    /* Byte offsets in the blocks: start of the download, end of the upload, end of the results, end
     * of the block. */
    size_t download_at, upload_bytes, words_results, words_all;
    /* [n_groups] shared memory; nonzero: the group's gradients of this pass are final */
    uint32_t *marks;

    struct graph_group *groups; /* [n_groups] in backward order */
    int n_groups;
    struct graph_record records[GRAPH_RECORDS];
    int n_records;
    bool no_records; /* recording is off: it is unsupported, has failed, or arrays were replaced */
    int failed;      /* first failure of the backend, or -ENOMEM while building */
    bool too_small;  /* while building: the image is smaller than a window */
    /* while building: the samples are sequences instead of images, or vice versa */
    bool other_form;
};

/* Initialise a model with its input node. Returns 0 or -ENOMEM (reported). */
int graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch);
void graph_fini(struct nn_model *m);

/* Declare the form of samples that the network reads. Sets m->other_form if the input has another
 * form. */
void graph_reads(struct nn_model *m, enum nn_form form);

/* Append a node that reads node `in`. Its output has the shape of its input unless the caller
 * changes it. */
struct node *graph_append(struct nn_model *m, const struct layer_kind *kind, int in);
/* Return the index of a node. */
int graph_index(const struct nn_model *m, const struct node *node);
/* Append a param of n weights, named "name.part", to the node. */
enum graph_role { GRAPH_WEIGHT, GRAPH_BIAS, GRAPH_NORM };
void graph_param(struct nn_model *m, struct node *node, const char *name, const char *part,
                 size_t n, enum graph_role role);
/* Set the columns of the last param (struct nn_param). Not needed if the param is one column. */
void graph_columns(struct nn_model *m, size_t column, size_t stride);
/* Set the node's window and the shape of its output. The caller has already set the dilation.
 * Pixels left over at the end of a side are dropped (REST_OUT) or covered by a window that reaches
 * over the end (REST_IN). Sets m->too_small if the image is smaller than a window. */
enum graph_rest { REST_OUT, REST_IN };
void graph_window(struct nn_model *m, struct node *node, int out_c, int k, int stride, int pad,
                  enum graph_rest rest);
/* Scale a published number of channels or hidden units by m->width. The result is rounded to the
 * nearest integer (halves up), is at least 1, and is then rounded up to a multiple. */
int graph_width(const struct nn_model *m, int channels);
int graph_width_of(const struct nn_model *m, int channels, int multiple);
/* Append variants of nodes of the table: conv2d in groups, dilated conv2d of stride 1, and pooling
 * that rounds the output's size up. */
int graph_conv_groups(struct nn_model *m, int in, const char *name, int out_c, int k, int stride,
                      int pad, int groups, bool bias);
int graph_conv_dilated(struct nn_model *m, int in, const char *name, int out_c, int k, int pad,
                       int dilation, bool bias);
int graph_pool_max_up(struct nn_model *m, int in, int k, int stride, int pad);

/* The row of each kind, and a function that appends a node and returns its index. The node reads
 * node `in`. name: prefix of its params' names, as in "name.weight". */
enum { NO_ADDEND = -1 };
#define LAYER(kind, make, passes)                \
    extern const struct layer_kind layer_##kind; \
    int graph_##kind(struct nn_model *m, LIST make);
#define LOSS(kind, passes) extern const struct loss_kind loss_##kind;
#include "hls/nn/layers.def"

/* Add a head. All heads must need the same labels. The result of a pass is that of the first head,
 * but the network is trained on the weighted sum of all losses. */
void graph_head(struct nn_model *m, int node, const struct loss_kind *loss, double weight);

/* Return the address of the node's i-th param in `array` (weights or gradients), or NULL if the
 * node has fewer params. */
real *graph_part(const struct nn_model *m, const struct node *node, int i, real *array);
/* A `draw` function of struct layer_kind that draws the node's first param with variance 2 / inputs
 * (He et al. 2015). The distribution is uniform, so that bits do not depend on a libm. */
void graph_draw_he(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                   real *stats);

/* Large networks halve images of at least this many pixels a side before their first block. */
enum { STEM_SIDE = 64 };

/* Apply the form m->block to a norm inside a residual block, or to the block's last norm, which has
 * an addend. Return the norm's index. */
int graph_inside_block(struct nn_model *m, int norm);
int graph_ends_block(struct nn_model *m, int norm);
/* Check that the network has residual blocks if m->block is not plain. Returns 0 or -EINVAL
 * (reported). */
int graph_block_fits(const struct nn_model *m, const char *name);

/* Replace the losses of all heads with the loss named in m->loss, in its row for the same labels.
 * Returns 0 or -EINVAL (reported). */
int graph_take_loss(struct nn_model *m, const char *name);

/* Build the network `name`. Returns 0 or -EINVAL (reported). */
int graph_by_name(struct nn_model *m, const char *name, int n_classes);

/* Builders of networks, listed in models.def. depth: 18, 50 or 152 for graph_wide_resnet; the other
 * builders have a fixed depth. */
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

/* Allocate all memory and draw the weights. Returns 0 or the backend's error. After an error, close
 * frees the memory. */
int graph_plan(struct nn_model *m, uint64_t seed);

/* The receiver of groups of final gradients. */
struct graph_ready {
    nn_grad_ready *call;
    void *ctx;
    int next; /* index of the group to report next */
};

/* Run all nodes, forward or backward. The inputs are y of node 0, the labels and the key. marks:
 * set each group's mark when its gradients are final. If ready is not NULL, report the groups
 * marked so far to it. */
void graph_forward(struct nn_model *m, int batch, bool train);
void graph_backward(struct nn_model *m, int batch, bool marks, struct graph_ready *ready);
/* Exchange the words of a pass. open: call before any pass; returns 0 or -ENOMEM. upload: send the
 * inputs. download: fetch the outputs to m->host; they are there after the next wait. */
int graph_words_open(struct nn_model *m);
void graph_words_close(struct nn_model *m);
void graph_words_upload(struct nn_model *m, const struct nn_batch *b, uint64_t key);
void graph_words_download(struct nn_model *m, bool eval);

/* Set up loss scales from the setup. Call before graph_plan. */
void graph_scale_open(struct nn_model *m, const struct nn_setup *setup);
/* Find and apply adaptive scales. begin: set a pass's inputs. head: call before a head's loss.
 * node: scale the gradient of node i before its backward pass. */
void graph_scale_begin(struct nn_model *m);
void graph_scale_head(struct nn_model *m, const struct graph_head *head);
void graph_scale_node(struct nn_model *m, int i, int batch);
/* Count the gradient that node i passes back. Call before its backward pass with first true, and
 * after the pass with first false. */
void graph_watch_node(struct nn_model *m, int i, int batch, bool first);
/* Report all groups that are marked and not reported yet. */
void graph_deliver(const struct nn_model *m, struct graph_ready *r);
/* Return the elements or the pixels of a batch of this shape. */
size_t graph_elements(struct nn_shape s, int batch);
size_t graph_pixels(struct nn_shape s, int batch);

#endif
