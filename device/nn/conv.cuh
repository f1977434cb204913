/* conv.cuh : what the files of conv2d share: a pass over one window, and plans for it.
 *
 *     conv.cu: the slots --key--> conv_pick.cu: cached plan, or the fastest of --> conv_graph.cu: cuDNN's candidates */
#ifndef CONV_CUH
#define CONV_CUH
#include "device/nn/nn.cuh"
#include <cudnn.h>

enum conv_pass { CONV_FORWARD, CONV_DATA, CONV_DATA_ADD, CONV_FILTER };

enum {
    CONV_ALIGNMENT = 16, /* of tensors, in bytes: what the fast engines need */
    CONV_PLANS = 8,      /* plans that are tried for a pass */
    /* other batch sizes than the planned one find their workspace in it */
    CONV_SCRATCH_LEAST = 32 << 20,
    CONV_SCRATCH_MOST = 512 << 20,
};

struct conv_key {
    struct nn_window g;
    int batch;
    int pass;
    int is_aligned; /* x, w and y begin on CONV_ALIGNMENT */
};

/* The tensors of a pass: the gradient of one takes its place. */
struct conv_tensors {
    const void *x, *w, *y;
};

/* How cuDNN does a pass. It has no engine that reads 16 bits and writes dw as float: where that is
 * wanted, the result is in 16 bits, the head of the scratch memory takes it, and a kernel of ours
 * widens it. */
struct conv_plan {
    struct conv_key key;
    cudnnBackendDescriptor_t config, plan;
    /* variant pack of the pointers of the last run; NULL: none yet */
    cudnnBackendDescriptor_t pack;
    struct conv_tensors last;
    const void *last_scratch;
    size_t result_bytes, workspace_bytes; /* parts of scratch, in this order */
    struct conv_plan *next;
};

struct conv_window { /* what nn_conv_plan() was asked for */
    struct nn_window g;
    size_t scratch_bytes;
    bool is_apart; /* dx is made in scratch and added: cuDNN has nothing that adds to it */
    struct conv_window *next;
};

struct nn_conv {
    cudnnHandle_t handle;
    bool is_timed; /* plans are timed; else cuDNN's first guess is taken */
    bool is_any;   /* also those that round more, or otherwise each time */
    struct conv_window *windows;
    struct conv_plan *plans;
};

/* --- conv_graph.cu --- */
/* Plans [CONV_PLANS] that can do the pass with up to scratch_most bytes, best guess of cuDNN first.
 * Returns how many; 0 with *why where there is none. The caller closes them. */
int conv_candidates(const struct dev_nn *d, const struct conv_key *key, size_t scratch_most,
                    struct conv_plan *plans, cudnnStatus_t *why);
void conv_plan_close(struct conv_plan *p);
/* Enqueues cuDNN's part on the context's stream. */
cudnnStatus_t conv_execute(struct dev_nn *d, struct conv_plan *p, const struct conv_tensors *t,
                           void *scratch);

/* --- conv_pick.cu --- */
/* The plan of a pass: made now if it is the first of its kind. Returns 0, or -EIO after a line; of
 * CONV_DATA_ADD, for which there is another way, -ENOSYS without one where cuDNN has nothing. */
int conv_pick(struct dev_nn *d, const struct conv_key *key, size_t scratch_most,
              struct conv_plan **out);
/* A line that names the pass; returns -EIO. */
int conv_failed(const struct dev_nn *d, const struct conv_key *key, cudnnStatus_t status);

/* --- conv.cu, linear.cu --- */
int conv_open(struct dev_nn *d);
void conv_close(struct dev_nn *d);
int linear_open(struct dev_nn *d);
void linear_close(struct dev_nn *d);

/* A matrix of activations or weights: rows of `pitch` elements. turned: its columns are the product's rows. */
struct linear_matrix {
    const void *p;
    int pitch;
    bool turned;
};
/* c [m][n] = a [m][k] * b [k][n], or c += that; c has rows of c_pitch floats or activations. Sums are
 * float, with NN_FP16_PURE half unless c is float. Returns 0, or -EIO after a line that says `what`. */
int linear_product(const struct dev_nn *d, const char *what, int m, int n, int k,
                   struct linear_matrix a, struct linear_matrix b, bool add, void *c, int c_pitch,
                   bool c_is_float);

/* --- conv_low.cu: the same by a rule of rounding, on fp32 activations --- */
int low_conv_plan(const struct nn_window *g, int max_batch, size_t *scratch_bytes);
int low_conv_forward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                     const float *w, const float *bias, float *y, void *scratch);
int low_conv_backward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                      const float *w, const float *dy, float *dx, bool add, float *dw, float *dbias,
                      void *scratch);
/* --- conv_low_groups.cu: the same for windows with groups, and all others --- */
int low_groups_plan(const struct nn_window *g, int max_batch, size_t *scratch_bytes);
int low_groups_forward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                       const float *w, const float *bias, float *y, void *scratch);
int low_groups_backward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                        const float *w, const float *dy, float *dx, bool add, float *dw,
                        float *dbias, void *scratch);
int low_linear_forward(struct dev_nn *d, int batch, int in, int out, const float *x, const float *w,
                       const float *bias, float *y);
int low_linear_backward(struct dev_nn *d, int batch, int in, int out, const float *x,
                        const float *w, const float *dy, float *dx, float *dw, float *dbias);

/* --- rows.cu: tensors as rows of c channels, and gradients of weights --- */
int rows_add_bias(struct dev_nn *d, size_t n_rows, int c, const void *bias, void *y);
/* sum [c] = sums over the rows of y, divided by the loss scale. partial: rows_partial_bytes(), or
 * NULL for one pass, which suits few rows. */
int rows_sum(struct dev_nn *d, size_t n_rows, int c, const void *y, void *sum, float *partial);
size_t rows_partial_bytes(int c);
/* g [n] = x (type of activations), divided by the loss scale; and g divided by it in place, nothing
 * without one. */
int rows_widen(struct dev_nn *d, size_t n, const void *x, float *g);
int rows_unscale(struct dev_nn *d, size_t n, void *g);

/* dw is widened by us. */
static inline bool conv_widens(const struct dev_nn *d)
{
    return nn_bytes(d) == 2 && !nn_pure(d);
}

static inline size_t conv_elements(struct nn_shape s, int batch)
{
    return (size_t)batch * (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

static inline int conv_groups(const struct nn_window *g)
{
    return g->groups > 1 ? g->groups : 1;
}

static inline size_t conv_weights(const struct nn_window *g)
{
    return (size_t)g->out.c * (size_t)g->k * (size_t)g->k * (size_t)(g->in.c / conv_groups(g));
}

#endif
