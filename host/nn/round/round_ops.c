/* round_ops.c : forwards calls other than passes to the backend, and rounds copies of weights. */
#include "nn/round/round_inside.h"
#include "base/err.h"
#include <assert.h>
#include <stdlib.h>

/* Slots that the backend below serves: it gets its own context, r->ctx, for ctx. */
#define ASK(type, name, params, args)  \
    static type round_##name params    \
    {                                  \
        const struct rounder *r = ctx; \
        return r->below->name args;    \
    }
#define TELL(name, params, args)       \
    static void round_##name params    \
    {                                  \
        const struct rounder *r = ctx; \
        r->below->name args;           \
    }
ASK(size_t, act_bytes, (const void *ctx), (r->ctx))
ASK(size_t, weight_bytes, (const void *ctx), (r->ctx))
ASK(void *, alloc, (void *ctx, size_t bytes), (r->ctx, bytes))
TELL(free, (void *ctx, void *p), (r->ctx, p))
ASK(void *, alloc_shared, (void *ctx, size_t bytes), (r->ctx, bytes))
TELL(free_shared, (void *ctx, void *p), (r->ctx, p))
TELL(upload_async, (void *ctx, void *dst, const void *src, size_t bytes), (r->ctx, dst, src, bytes))
TELL(download_async, (void *ctx, void *dst, const void *src, size_t bytes),
     (r->ctx, dst, src, bytes))
TELL(download, (void *ctx, void *dst, const void *src, size_t bytes), (r->ctx, dst, src, bytes))
ASK(int, wait, (void *ctx), (r->ctx))
TELL(mark, (void *ctx, uint32_t *flag), (r->ctx, flag))
ASK(double, gemm_s, (const void *ctx), (r->ctx))
ASK(int, record_begin, (void *ctx), (r->ctx))
ASK(int, record_end, (void *ctx, void **record), (r->ctx, record))
ASK(int, record_play, (void *ctx, void *record), (r->ctx, record))
TELL(record_close, (void *ctx, void *record), (r->ctx, record))
TELL(loss_scale, (void *ctx, const float *scale), (r->ctx, scale))
ASK(int, input_plan, (void *ctx, size_t max_n), (r->ctx, max_n))
TELL(feed_send, (void *ctx, int slot, const struct nn_bytes *b), (r->ctx, slot, b))
TELL(feed_take, (void *ctx, int slot, real *x), (r->ctx, slot, x))
TELL(optim_close, (void *ctx, void *plan), (r->ctx, plan))
TELL(optim,
     (void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
      const real *g, real *const *state),
     (r->ctx, plan, first, n, step, w, g, state))
#undef ASK
#undef TELL

static int round_open(const struct nn_setup *setup, void **ctx)
{
    assert(setup && setup->round && setup->math == NN_FP32);
    struct rounder *r = calloc(1, sizeof *r);
    if (!r)
        return ERR(-ENOMEM, "cannot open the rounding backend: no memory");
    r->setup = *setup->round;
    r->below = r->setup.below;
    r->scaled_first = setup->adaptive && !r->setup.of[ROUND_STATE].on;
    const int rc = r->below->open(setup, &r->ctx);
    if (rc < 0) {
        free(r);
        return rc;
    }
    *ctx = r;
    return 0;
}

static void round_close(void *ctx)
{
    struct rounder *r = ctx;
    r->below->free(r->ctx, r->narrow);
    r->below->close(r->ctx);
    free(r);
}

static int round_weights_plan(void *ctx, const real *w, size_t n)
{
    struct rounder *r = ctx;
    if (r->setup.of[ROUND_WEIGHT].on) {
        r->narrow = r->below->alloc(r->ctx, n * sizeof *r->narrow);
        if (!r->narrow)
            return -ENOMEM;
    }
    r->weights = w;
    r->n_weights = n;
    return r->below->weights_plan(r->ctx, r->narrow ? r->narrow : w, n);
}

static void round_weights(void *ctx)
{
    struct rounder *r = ctx;
    r->back = false;
    if (r->narrow)
        r->below->round_to(r->ctx, r->n_weights, &r->setup.of[ROUND_WEIGHT].rule, r->weights,
                           r->narrow);
    r->below->weights(r->ctx);
}

/* Initial values, means over ranks and checkpoints are rounded too. */
static void round_upload(void *ctx, void *dst, const void *src, size_t bytes)
{
    const struct rounder *r = ctx;
    r->below->upload(r->ctx, dst, src, bytes);
    round_values(r, ROUND_STATE, bytes / sizeof(real), dst);
}

static void round_watch(void *ctx, struct scale_tally *to)
{
    struct rounder *r = ctx;
    r->watched = to;
}

static void round_input(void *ctx, size_t n, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->input(r->ctx, n, x, y);
    round_values(r, ROUND_INPUT, n, y);
}

/* Rounded images come through input() instead. */
static int round_feed_open(void *ctx, const struct nn_feed *f)
{
    const struct rounder *r = ctx;
    return r->setup.of[ROUND_INPUT].on ? -ENOSYS : r->below->feed_open(r->ctx, f);
}

static void round_add_divide(void *ctx, size_t n, const real *a, const real *b, real divisor,
                             real *y)
{
    const struct rounder *r = ctx;
    r->below->add_divide(r->ctx, n, a, b, divisor, y);
    round_values(r, ROUND_GRAD, n, y);
}

static int round_optim_plan(void *ctx, const struct nn_optim *o, void **plan)
{
    const struct rounder *r = ctx;
    struct nn_optim rounded = *o;
    rounded.round = r->setup.of[ROUND_STATE].on ? &r->setup.of[ROUND_STATE].rule : NULL;
    return r->below->optim_plan(r->ctx, &rounded, plan);
}

const struct nn_ops nn_round = {
    .name = "round",
    .open = round_open,
    .close = round_close,
    .act_bytes = round_act_bytes,
    .weight_bytes = round_weight_bytes,
    .alloc = round_alloc,
    .free = round_free,
    .alloc_shared = round_alloc_shared,
    .free_shared = round_free_shared,
    .upload_async = round_upload_async,
    .download_async = round_download_async,
    .upload = round_upload,
    .download = round_download,
    .wait = round_wait,
    .mark = round_mark,
    .gemm_s = round_gemm_s,
    .record_begin = round_record_begin,
    .record_end = round_record_end,
    .record_play = round_record_play,
    .record_close = round_record_close,
    .weights_plan = round_weights_plan,
    .weights = round_weights,
    .loss_scale = round_loss_scale,
    .watch = round_watch,
    .input_plan = round_input_plan,
    .input = round_input,
    .feed_open = round_feed_open,
    .feed_send = round_feed_send,
    .feed_take = round_feed_take,
#define PASS(name, params, args, makes) .name = round_##name,
#include "hls/nn/layers.def"
    .add_divide = round_add_divide,
    .optim_plan = round_optim_plan,
    .optim_close = round_optim_close,
    .optim = round_optim,
};
