/* conv.cuh : declares interfaces between the files of conv2d:
 *
 *     conv.cu (slots) --key--> conv_pick.cu (cached plan, or the fastest)
 *                              --> conv_graph.cu (cuDNN's candidates) */
#ifndef CONV_CUH
#define CONV_CUH
#include "device/nn/nn.cuh"
#include <cudnn.h>

enum conv_pass { CONV_FORWARD, CONV_DATA, CONV_DATA_ADD, CONV_FILTER };

enum {
    CONV_ALIGNMENT = 16, /* bytes; cuDNN's fast engines need it */
    CONV_PLANS = 8,      /* most plans that are tried for a pass */
    /* bytes; LEAST leaves room for the workspace of unplanned batch sizes */
    CONV_SCRATCH_LEAST = 32 << 20,
    CONV_SCRATCH_MAX = 512 << 20,
};

struct conv_key {
    struct nn_window g;
    int batch;
    int pass;
    int is_aligned; /* to CONV_ALIGNMENT */
};

struct conv_tensors {
    const void *x, *w, *y;
};

/* No cuDNN engine reads 16-bit tensors and writes dw as floats. dw is then written in 16 bits to
 * the beginning of scratch; our kernel converts it. */
struct conv_plan {
    struct conv_key key;
    cudnnBackendDescriptor_t config, plan;
    /* variant pack of the last run; NULL before it */
    cudnnBackendDescriptor_t pack;
    struct conv_tensors last;
    const void *last_scratch;
    size_t result_bytes, workspace_bytes; /* parts of scratch, in this order */
    struct conv_plan *next;
};

struct conv_window {
    struct nn_window g;
    size_t scratch_bytes;
    bool is_apart; /* dx is computed in scratch */
    struct conv_window *next;
};

struct nn_conv {
    cudnnHandle_t handle;
    bool is_timed; /* plans are timed, else cuDNN's first guess */
    bool is_any;   /* allows plans that round more, or differ between runs */
    struct conv_window *windows;
    struct conv_plan *plans;
};

/* ---- conv_graph.cu ---- */
/* Fill plans[CONV_PLANS] with plans that need at most scratch_most bytes, cuDNN's best guess first.
 * Return their number, or 0 with the reason in *why. The caller closes them. */
int conv_candidates(const struct dev_nn *d, const struct conv_key *key, size_t scratch_most,
                    struct conv_plan *plans, cudnnStatus_t *why);
void conv_plan_close(struct conv_plan *p);
/* Does not convert dw. */
cudnnStatus_t conv_execute(struct dev_nn *d, struct conv_plan *p, const struct conv_tensors *t,
                           void *scratch);

/* ---- conv_pick.cu ---- */
/* A plan is made at the key's first call. Return 0, or report -EIO. For CONV_DATA_ADD, which has a
 * fallback, return -ENOSYS without a report if cuDNN has no plan. */
int conv_pick(struct dev_nn *d, const struct conv_key *key, size_t scratch_most,
              struct conv_plan **out);
int conv_failed(const struct dev_nn *d, const struct conv_key *key, cudnnStatus_t status);

/* ---- conv.cu, linear.cu ---- */
int conv_open(struct dev_nn *d);
void conv_close(struct dev_nn *d);
int linear_open(struct dev_nn *d);
void linear_close(struct dev_nn *d);

/* pitch: elements from row to row. turned: use the transpose. */
struct linear_matrix {
    const void *p;
    int pitch;
    bool turned;
};
/* Set c[m][n] = a[m][k] * b[k][n], or add that if `add`. c has floats (c_is_float) or activations.
 * Sums are floats; with NN_FP16_PURE, halves unless c has floats. Return 0, or report -EIO for
 * `what`. */
int linear_product(const struct dev_nn *d, const char *what, int m, int n, int k,
                   struct linear_matrix a, struct linear_matrix b, bool add, void *c, int c_pitch,
                   bool c_is_float);

/* As linear_product() without `add`, for `count` products. stride: elements from a product's matrix
 * to the next one's. */
struct linear_batch {
    struct linear_matrix m;
    long long stride;
};
int linear_products(const struct dev_nn *d, const char *what, int count, int m, int n, int k,
                    struct linear_batch a, struct linear_batch b, void *c, int c_pitch,
                    long long c_stride, bool c_is_float);

/* ---- conv_low.cu: rounded products, on fp32 activations ---- */
int low_conv_plan(const struct nn_window *g, int max_batch, size_t *scratch_bytes);
int low_conv_forward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                     const float *w, const float *bias, float *y, void *scratch);
int low_conv_backward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                      const float *w, const float *dy, float *dx, bool add, float *dw, float *dbias,
                      void *scratch);
/* ---- conv_low_groups.cu: the same, with groups or without; conv_low.cu: linear ---- */
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

/* ---- rows.cu: tensors as rows of c channels, and gradients of weights ---- */
int rows_add_bias(struct dev_nn *d, size_t n_rows, int c, const void *bias, void *y);
/* Divides the sums by the loss scale. partial: scratch of rows_partial_bytes(), or NULL for one
 * pass, for few rows. */
int rows_sum(struct dev_nn *d, size_t n_rows, int c, const void *y, void *sum, float *partial);
size_t rows_partial_bytes(int c);
/* g[n] = activations x divided by the loss scale. */
int rows_widen(struct dev_nn *d, size_t n, const void *x, float *g);
/* Divides by the loss scale, if any. */
int rows_unscale(struct dev_nn *d, size_t n, void *g);

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
