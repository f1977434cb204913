/* nn_cuda.h : shares the GPU backend's context among its files. */
#ifndef NN_CUDA_H
#define NN_CUDA_H
#include "device/nn/dev_nn.h"
#include "nn/nn_ops.h"

/* A batch of bytes: gathered in pinned memory, copied during other work, then turned into
 * activations. */
struct cuda_slot {
    /* layout: keys [2] uint64_t, which [max_batch] uint32_t, images [max_batch, image]
     * (nn_cuda_feed.c) */
    uint8_t *host, *bytes; /* pinned; device */
    struct dev_event *copied, *taken;
    int n;
    bool augment;
};

struct cuda {
    const struct dev_run_ops *run;
    const struct dev_nn_ops *ops;
    struct dev_stream *stream;
    struct dev_nn *nn;
    enum nn_math math;
    bool scaled;               /* activation gradients are scaled */
    int failed;                /* first failure since open */
    int failed_before;         /* `failed` before recording */
    float *input;              /* device: floats to be converted to 16 bits; NULL: none are */
    uint16_t *halves;          /* host, for images in pure fp16; or NULL */
    struct dev_stream *copies; /* NULL: no feed */
    struct nn_feed feed;
    struct cuda_slot slots[NN_SLOTS];
};

static inline void cuda_keep(struct cuda *c, int rc)
{
    if (rc < 0 && !c->failed)
        c->failed = rc;
}

/* Functions of struct nn_ops, except cuda_feed_close(). */
int cuda_input_plan(void *ctx, size_t max_n);
void cuda_input(void *ctx, size_t n, const real *x, real *y);
int cuda_feed_open(void *ctx, const struct nn_feed *f);
void cuda_feed_send(void *ctx, int slot, const struct nn_bytes *b);
void cuda_feed_take(void *ctx, int slot, real *x);
void cuda_feed_close(struct cuda *c); /* also after a partial open */

int cuda_optim_plan(void *ctx, const struct nn_optim *o, void **plan);
void cuda_optim_close(void *ctx, void *plan);
void cuda_optim(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
                const real *g, real *const *state);

#endif
