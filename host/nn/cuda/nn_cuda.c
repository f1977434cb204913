/* nn_cuda.c : fills the GPU's backend table. The first failed launch is reported. */
#include "nn/cuda/nn_cuda.h"
#include <stdlib.h>
#include "base/err.h"
#include "vec/gpu/gpu.h"

static void cuda_close(void *ctx)
{
    struct cuda *c = ctx;
    if (!c)
        return;
    if (c->stream)
        (void)c->run->wait(c->stream);
    cuda_feed_close(c);
    c->run->free(c->input);
    free(c->halves);
    c->ops->close(c->nn);
    if (c->stream)
        c->run->stream_close(c->stream);
    free(c);
}

static int cuda_open(const struct nn_setup *setup, void **ctx)
{
    const struct dev_library *library = gpu();
    if (!library)
        return ERR(-ENODEV, "cannot open the cuda backend: no GPU is open");
    if (!library->nn)
        return ERR(-ENODEV, "cannot open the cuda backend: the GPU library was built without "
                            "cuDNN or cuBLAS, so it only reduces gradients; use --device cpu");
    struct cuda *c = calloc(1, sizeof *c);
    if (!c)
        return ERR(-ENOMEM, "cannot open the cuda backend: no memory");
    *c = (struct cuda){
        .run = library->run, .ops = library->nn, .math = setup ? setup->math : NN_FP32};
    c->scaled = c->math == NN_FP16 || (setup && setup->scaled);
    int rc = c->run->stream_open(false, &c->stream);
    if (rc == 0)
        rc = c->ops->open(c->math, c->stream, &c->nn);
    if (rc == 0)
        rc = c->ops->gemm(c->nn, setup ? setup->gemm : NULL);
    if (rc < 0) {
        cuda_close(c);
        return rc;
    }
    *ctx = c;
    return 0;
}

static size_t cuda_act_bytes(const void *ctx)
{
    const struct cuda *c = ctx;
    return c->math == NN_FP16 || c->math == NN_BF16 || c->math == NN_FP16_PURE ? 2 : sizeof(float);
}

static size_t cuda_weight_bytes(const void *ctx)
{
    const struct cuda *c = ctx;
    return c->math == NN_FP16_PURE ? 2 : sizeof(float);
}

static void *cuda_alloc(void *ctx, size_t bytes)
{
    const struct cuda *c = ctx;
    return c->run->alloc(bytes ? bytes : 1);
}

static void cuda_free(void *ctx, void *p)
{
    const struct cuda *c = ctx;
    c->run->free(p);
}

static void *cuda_alloc_shared(void *ctx, size_t bytes)
{
    const struct cuda *c = ctx;
    return c->run->alloc_pinned(bytes ? bytes : 1);
}

static void cuda_free_shared(void *ctx, void *p)
{
    const struct cuda *c = ctx;
    c->run->free_pinned(p);
}

static void cuda_copy_later(void *ctx, void *dst, const void *src, size_t bytes)
{
    struct cuda *c = ctx;
    cuda_keep(c, c->run->copy(dst, src, bytes, c->stream));
}

static void cuda_copy(void *ctx, void *dst, const void *src, size_t bytes)
{
    struct cuda *c = ctx;
    cuda_keep(c, c->run->copy(dst, src, bytes, c->stream));
    cuda_keep(c, c->run->wait(c->stream));
}

static int cuda_wait(void *ctx)
{
    struct cuda *c = ctx;
    cuda_keep(c, c->run->wait(c->stream));
    return c->failed;
}

static void cuda_mark(void *ctx, uint32_t *flag)
{
    struct cuda *c = ctx;
    cuda_keep(c, c->run->signal(flag, 1, c->stream));
}

static double cuda_gemm_s(const void *ctx)
{
    (void)ctx;
    return 0;
}

static int cuda_record_begin(void *ctx)
{
    struct cuda *c = ctx;
    c->failed_before = c->failed;
    return c->run->graph_begin(c->stream);
}

/* A failure while recording is dropped, because nothing ran. */
static int cuda_record_end(void *ctx, void **record)
{
    struct cuda *c = ctx;
    struct dev_graph *graph = NULL;
    const int ended = c->run->graph_end(c->stream, &graph);
    const int rc = c->failed != c->failed_before ? c->failed : ended;
    c->failed = c->failed_before;
    if (rc < 0 && ended == 0)
        c->run->graph_close(graph);
    if (rc == 0)
        *record = graph;
    return rc;
}

static int cuda_record_play(void *ctx, void *record)
{
    struct cuda *c = ctx;
    return c->run->graph_launch(record, c->stream);
}

static void cuda_record_close(void *ctx, void *record)
{
    struct cuda *c = ctx;
    (void)c->run->wait(c->stream);
    if (record)
        c->run->graph_close(record);
}

static int cuda_weights_plan(void *ctx, const real *w, size_t n)
{
    struct cuda *c = ctx;
    return c->ops->weights_open(c->nn, w, n);
}

static void cuda_weights(void *ctx)
{
    struct cuda *c = ctx;
    cuda_keep(c, c->ops->weights(c->nn));
}

static void cuda_loss_scale(void *ctx, const float *scale)
{
    struct cuda *c = ctx;
    c->ops->loss_scale(c->nn, c->scaled ? scale : NULL);
}

/* 16-bit activations are rounded when made, so tally counts rounded values. */
static void cuda_watch(void *ctx, struct scale_tally *to)
{
    (void)ctx, (void)to;
}

#define PLAN(name, params, args)                       \
    static int cuda_##name(void *ctx, LIST params)     \
    {                                                  \
        const struct cuda *cuda_ = ctx;                \
        return cuda_->ops->name(cuda_->nn, LIST args); \
    }
#define PASS(name, params, args, makes)                           \
    static void cuda_##name(void *ctx, LIST params)               \
    {                                                             \
        struct cuda *cuda_ = ctx;                                 \
        cuda_keep(cuda_, cuda_->ops->name(cuda_->nn, LIST args)); \
    }
#include "hls/nn/layers.def"

static void cuda_add_divide(void *ctx, size_t n, const real *a, const real *b, real divisor,
                            real *y)
{
    struct cuda *c = ctx;
    cuda_keep(c, c->ops->add_divide(c->nn, n, a, b, divisor, y));
}

const struct nn_ops nn_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .act_bytes = cuda_act_bytes,
    .weight_bytes = cuda_weight_bytes,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .alloc_shared = cuda_alloc_shared,
    .free_shared = cuda_free_shared,
    .upload_async = cuda_copy_later,
    .download_async = cuda_copy_later,
    .upload = cuda_copy,
    .download = cuda_copy,
    .wait = cuda_wait,
    .mark = cuda_mark,
    .gemm_s = cuda_gemm_s,
    .record_begin = cuda_record_begin,
    .record_end = cuda_record_end,
    .record_play = cuda_record_play,
    .record_close = cuda_record_close,
    .weights_plan = cuda_weights_plan,
    .weights = cuda_weights,
    .loss_scale = cuda_loss_scale,
    .watch = cuda_watch,
    .input_plan = cuda_input_plan,
    .input = cuda_input,
    .feed_open = cuda_feed_open,
    .feed_send = cuda_feed_send,
    .feed_take = cuda_feed_take,
#define PASS(name, params, args, makes) .name = cuda_##name,
#include "hls/nn/layers.def"
    .add_divide = cuda_add_divide,
    .optim_plan = cuda_optim_plan,
    .optim_close = cuda_optim_close,
    .optim = cuda_optim,
};
