/* model_graph.h : declares the nodes of a model, and functions that build, plan and run them. A
 * node reads the outputs of earlier nodes; node 0 is the input. A head applies a loss to a node's
 * output. Call order: graph_init, graph_* per node, graph_plan, passes. Private to nn/model*.c and
 * tests. */
#ifndef MODEL_GRAPH_H
#define MODEL_GRAPH_H
#include "nn/model.h"

struct node;

/* Kind of node: one row per LAYER of hls/nn/layers.def, in layer_*.c. */
struct layer_kind {
    const char *name;
    /* In nodes without addend, backward may write dx over dy. */
    bool in_place;
    /* Backward can add to a dx that another reader of `in` has written. */
    bool adds_dx;
    /* Return the bytes that forward keeps for backward besides y. NULL: none. */
    size_t (*kept_bytes)(const struct nn_model *m, const struct node *node);
    /* Plan the backend's work before the first pass and store the scratch memory's size in
     * *scratch_bytes (0 before). Returns 0 or -errno. NULL: nothing to plan. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    /* Write initial weights and statistics into zeroed host arrays. NULL: all zero. */
    void (*draw)(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                 real *stats);
    void (*forward)(struct nn_model *m, const struct node *node, int batch, bool train);
    /* Return how many products of dy and weights are added for one element of dx. NULL: none, and
     * dx keeps dy's loss scale. With adaptive loss scales, kinds with dx_terms and nodes with
     * add_dx have their own scales. */
    double (*dx_terms)(const struct node *node);
    /* Write the gradients of `in`, the addend and the weights. */
    void (*backward)(struct nn_model *m, const struct node *node, int batch);
};

enum { GRAPH_PARTS = 4 }; /* most tensors that a concat joins */

struct node {
    const struct layer_kind *kind; /* NULL: the input */
    int in;                        /* node whose output this one reads; -1: none (the input) */
    /* norm: the node added before the ReLU; add: the second summand; -1: none */
    int addend;
    /* concat: nodes whose channels follow those of `in` */
    int n_more, more[GRAPH_PARTS - 1];
    /* in, out: shapes of the node's input and output; other fields: only conv and pooling */
    struct nn_window window;
    bool relu;       /* norm: ends in a ReLU */
    int cells;       /* lstm */
    int heads;       /* attention */
    bool swapped;    /* norm: gamma and beta apply after the addition */
    bool zero_gamma; /* norm: gammas start at 0 */
    double p;        /* dropout: probability; scale, norm: factor; lrn: alpha */
    int first_param, n_params;
    size_t stat; /* norm: offset of running mean [c] and variance [c] in stats */
    bool add_dx; /* backward adds to the dx that another reader of `in` wrote */
    void *kept;  /* [kept_bytes] */
    real *y;     /* [max_batch, window.out] */
    int buffer;  /* index of dy's buffer; -1: none yet */
    real *dy;    /* gradient of y, in a shared buffer */
    /* the first head depends on this node; evaluation skips all others */
    bool in_eval;
};

/* Kind of loss: one row per LOSS of hls/nn/layers.def, in loss_*.c. */
struct loss_kind {
    /* in --loss; rows with different kinds of target may share a name */
    const char *name;
    /* Return the labels that the loss needs per sample. */
    struct nn_target (*target)(const struct node *node);
    /* As in struct layer_kind. */
    int (*plan)(struct nn_model *m, const struct node *node, size_t *scratch_bytes);
    bool confuses; /* fills m->words.confusion unless NULL; first head only */
    bool smooths;  /* uses m->loss.smoothing in training */
    /* Set *result to the batch's losses with the labels in m->words, and dy, unless NULL, to the
     * gradient of the mean loss. */
    void (*pass)(struct nn_model *m, const struct node *node, int batch, real *dy,
                 struct nn_result *result);
};

/* A loss on a node's output, and its weight in the sum of losses. */
struct graph_head {
    int node;
    const struct loss_kind *loss;
    double weight;
};

enum { GRAPH_RECORDS = 4 };

/* memory that nodes use in turn for gradients */
struct graph_buffer {
    real *p;
    size_t n;   /* elements */
    bool taken; /* only while planning */
};

/* Record of a training pass of one batch size. seen: such a pass has run unrecorded and created
 * what a backend creates at first use; the next one may be recorded. */
struct graph_record {
    int batch;
    bool marks, seen;
    void *record; /* NULL: none yet */
};

/* Params [first, first + n) whose gradients become final together: a node's, or a norm's and its
 * convolution's. */
struct graph_group {
    int first, n;
    int node; /* node whose backward pass completes them */
};

/* Words of a pass: all inputs and outputs except tensors (model_words.c). */
struct graph_words {
    uint64_t *key; /* of dropout */
    float *scale_now;
    uint32_t *refresh;           /* adaptive scales: nonzero if the pass applies the rule */
    int32_t *labels;             /* [max_batch, target.n] */
    int32_t *lengths;            /* [max_batch] time steps; the input's h if not given */
    struct node_scale *scales;   /* [n_nodes]; NULL: not adaptive */
    struct nn_result *results;   /* [n_heads] */
    struct scale_tally *tallies; /* [n_nodes] histograms of dx; NULL: not watched */
    uint32_t *confusion; /* [classes][classes] of the first head's last evaluation, or NULL */
};

struct nn_model {
    const struct nn_ops *ops;
    void *ctx;
    int max_batch;
    const char *fewer;
    enum nn_math math;
    double width; /* factor on channels and hidden units */
    /* These lists grow during building and do not move after graph_plan. */
    int n_nodes, n_params, n_heads;
    struct node *nodes;
    struct nn_param *params;
    struct graph_head *heads;
    struct nn_block block; /* form of the n_blocks blocks */
    int n_blocks;
    struct nn_loss loss;
    struct node spare; /* replaces a new node if memory is short; `failed` is set */
    size_t n_weights, n_stats;
    real *weights, *grads, *stats;
    real *own_grads, *own_stats;  /* the model's own, even while it uses the caller's */
    struct graph_buffer *buffers; /* [n_buffers] for activation gradients */
    int n_buffers;
    void *scratch;
    struct nn_loss_scale scale; /* value 1 unless fp16 or scaled */
    bool watched, watch;        /* gradients can be counted; are counted */
    struct trace *trace;        /* of layers; NULL: none */
    bool adaptive;              /* each layer has its own scale, from `scaling` */
    struct scale_setup scaling;
    struct nn_target target; /* labels of all heads */

    struct graph_words words, host; /* in backend memory; copy in host memory */
    void *words_block, *host_block; /* memory of both */
    /* byte offsets in the blocks: start of the download; ends of upload, results and block */
    size_t download_at, upload_bytes, words_results, words_all;
    /* [n_groups] shared; nonzero: the group's gradients of this pass are final */
    uint32_t *marks;

    struct graph_group *groups; /* [n_groups] in backward order */
    int n_groups;
    struct graph_record records[GRAPH_RECORDS];
    int n_records;
    bool no_records; /* unsupported, failed, or arrays were replaced */
    int failed;      /* first failure of the backend, or -ENOMEM of building */
    bool too_small;  /* building: the image is smaller than a window */
    /* building: samples are sequences instead of images, or vice versa */
    bool other_form;
};

/* Returns 0 or -ENOMEM (reported). */
int graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch);
void graph_fini(struct nn_model *m);

/* Declare the samples' form; sets m->other_form if the input differs. */
void graph_reads(struct nn_model *m, enum nn_form form);

/* Append a node that reads `in`. Its output has its input's shape until the caller changes it. */
struct node *graph_append(struct nn_model *m, const struct layer_kind *kind, int in);
int graph_index(const struct nn_model *m, const struct node *node);
/* Append a param "name.part" of n weights. */
enum graph_role { GRAPH_WEIGHT, GRAPH_KERNEL, GRAPH_BIAS, GRAPH_NORM };
void graph_param(struct nn_model *m, struct node *node, const char *name, const char *part,
                 size_t n, enum graph_role role);
/* Set the last param's columns (struct nn_param). Default: one column. */
void graph_columns(struct nn_model *m, size_t column, size_t stride);
/* Set the node's window and output shape; the caller has set the dilation. Pixels left over at the
 * end of a side are dropped (REST_OUT) or covered by a window that reaches over the end (REST_IN).
 * Sets m->too_small if the image is smaller than a window. */
enum graph_rest { REST_OUT, REST_IN };
void graph_window(struct nn_model *m, struct node *node, int out_c, int k, int stride, int pad,
                  enum graph_rest rest);
/* Multiply a published number of channels or hidden units by m->width, round to nearest (halves up,
 * at least 1), then up to a multiple. */
int graph_width(const struct nn_model *m, int channels);
int graph_width_of(const struct nn_model *m, int channels, int multiple);
/* Variants of nodes of layers.def: a convolution in groups, a dilated one of stride 1, and max
 * pooling whose output size is rounded up. */
int graph_conv_groups(struct nn_model *m, int in, const char *name, int out_c, int k, int stride,
                      int pad, int groups, bool bias);
int graph_conv_dilated(struct nn_model *m, int in, const char *name, int out_c, int k, int pad,
                       int dilation, bool bias);
int graph_pool_max_up(struct nn_model *m, int in, int k, int stride, int pad);

/* Each kind's row, and its function that appends a node reading `in` and returns the node's index.
 * name: prefix of its params, as in "name.weight". */
enum { NO_ADDEND = -1 };
#define LAYER(kind, make, passes)                \
    extern const struct layer_kind layer_##kind; \
    int graph_##kind(struct nn_model *m, LIST make);
#define LOSS(kind, passes) extern const struct loss_kind loss_##kind;
#include "hls/nn/layers.def"

/* Add a head. All must need the same labels. Training minimises the weighted sum of losses; a pass
 * returns the first head's result. */
void graph_head(struct nn_model *m, int node, const struct loss_kind *loss, double weight);

/* Return the node's i-th param in `array` (weights or gradients), or NULL if there are fewer. */
real *graph_part(const struct nn_model *m, const struct node *node, int i, real *array);
/* A layer_kind.draw: draw the first param with variance 2 / inputs (He et al. 2015), uniformly, so
 * that bits do not depend on a libm. */
void graph_draw_he(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                   real *stats);

/* Large networks halve images of at least this side before their first block. */
enum { STEM_SIDE = 64 };

/* Apply the form m->block to a norm: one inside a residual block, or the last one, which has an
 * addend. Returns the norm's index. */
int graph_inside_block(struct nn_model *m, int norm);
int graph_ends_block(struct nn_model *m, int norm);
/* Reject a form other than plain if the network has no residual blocks. Returns 0 or -EINVAL
 * (reported). */
int graph_block_fits(const struct nn_model *m, const char *name);

/* Replace the losses of all heads by m->loss's row for the same labels. Returns 0 or -EINVAL
 * (reported). */
int graph_take_loss(struct nn_model *m, const char *name);

/* Returns 0 or -EINVAL (reported). */
int graph_by_name(struct nn_model *m, const char *name, int n_classes);

/* Builders of models.def. depth: 18, 50 or 152 for graph_wide_resnet, else fixed. */
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
/* depth: number of blocks. */
void graph_gpt(struct nn_model *m, int depth, int n_classes);

/* Allocate all memory and draw the weights. Returns 0 or the backend's error; close frees after an
 * error. */
int graph_plan(struct nn_model *m, uint64_t seed);

/* receiver of final gradients */
struct graph_ready {
    nn_grad_ready *call;
    void *ctx;
    int next; /* next group to report */
};

/* Run all nodes on y of node 0, the labels and the key. marks: set a group's mark when its
 * gradients are final. ready, if not NULL, gets the groups marked so far. */
void graph_forward(struct nn_model *m, int batch, bool train);
void graph_backward(struct nn_model *m, int batch, bool marks, struct graph_ready *ready);
/* Exchange the words of a pass. _open comes first and returns 0 or -ENOMEM. _download writes to
 * m->host, valid after the next wait. */
int graph_words_open(struct nn_model *m);
void graph_words_close(struct nn_model *m);
void graph_words_upload(struct nn_model *m, const struct nn_batch *b, uint64_t key);
void graph_words_download(struct nn_model *m, bool eval);

/* Call before graph_plan. */
void graph_scale_open(struct nn_model *m, const struct nn_setup *setup);
/* Find and apply adaptive scales. Call _begin before a pass's words are uploaded, _head before a
 * head's loss, and _node, which scales the gradient of node i, before the node's backward pass. */
void graph_scale_begin(struct nn_model *m);
void graph_scale_head(struct nn_model *m, const struct graph_head *head);
void graph_scale_node(struct nn_model *m, int i, int batch);
/* Count the gradient that node i passes back: call before its backward pass with first true, after
 * it with first false. */
void graph_watch_node(struct nn_model *m, int i, int batch, bool first);
/* Report groups marked since the last call. */
void graph_deliver(const struct nn_model *m, struct graph_ready *r);

#endif
