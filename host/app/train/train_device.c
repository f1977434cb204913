/* train_device.c : chooses the network's device and number formats. */
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "nn/round/round_ops.h"
#include "vec/gpu/gpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fixed --loss-scale shifts the rounding of activation gradients. Dynamic and adaptive factors
 * scale the gradients themselves. */
static int settle_scale(struct train *t)
{
    const struct train_options *o = t->o;
    const struct round_setup *rounds = t->setup.round;
    struct scale_choice c;
    TRY(scale_spec(o->loss_scale, &c));
    t->setup.loss_scale = c.fixed;
    t->setup.scaled = c.kind >= SCALE_MOVING;
    if (c.kind == SCALE_MOVING && rounds && rounds->of[ROUND_ACT_GRAD].rule.overflow != MF_INF)
        return ERR(
            -EINVAL,
            "--loss-scale dynamic needs errors that overflow to inf: add overflow=inf to --quant");
    if (c.fixed > 0)
        t->round.of[ROUND_ACT_GRAD].rule.shift = ilogb(c.fixed);
    t->scaling = c.adaptive;
    scale_format(&t->scaling.rule, rounds && rounds->of[ROUND_ACT_GRAD].on
                                       ? rounds->of[ROUND_ACT_GRAD].rule.fmt
                                       : mf_half());
    t->least_exponent = ilogb(t->scaling.rule.least);
    t->setup.watched = t->o->stats != NULL;
    if (c.kind != SCALE_ADAPTIVE)
        return 0;
    t->setup.adaptive = &t->scaling;
    return 0;
}

/* Sets up fp16-pure as rounded fp32, as on a CPU; pure_on_gpu() changes this. */
int train_device_settle(struct train *t)
{
    const struct train_options *o = t->o;
    const bool pure = train_is_pure(o);
    t->setup = (struct nn_setup){.math = nn_math_of(pure ? "fp32" : o->precision),
                                 .conv = nn_conv_of(o->conv),
                                 .width = o->width};
    TRY(nn_block_spec(o->block, &t->block));
    t->setup.block = &t->block;
    TRY(nn_loss_spec(o->loss, &t->loss));
    t->setup.loss = &t->loss;
    const int narrow = gemm_low_parse(o->gemm, &t->gemm);
    TRY(narrow);
    t->setup.gemm = narrow ? &t->gemm : NULL;
    const int rounds = round_spec(o->quant, &t->round);
    TRY(rounds);
    t->setup.round = rounds || pure ? &t->round : NULL;
    if (pure)
        round_pure(&t->round);
    return settle_scale(t);
}

/* On a GPU the reducer rounds while storing the means. */
void train_narrow_means(struct train *t, int first, int n)
{
    if (!train_is_pure(t->o) || t->on_gpu || !strcmp(t->o->reduce_in, "fp32") || n == 0)
        return;
    const struct nn_param *from = &t->params[first], *last = &t->params[first + n - 1];
    t->nn->add_divide(nn_model_ctx(t->model), last->offset + last->n - from->offset,
                      t->grads + from->offset, NULL, 1, t->grads + from->offset);
}

/* All tensors are halves: there is no rounding layer, and a fixed factor scales the loss. */
static void pure_on_gpu(struct train *t)
{
    t->setup.math = NN_FP16_PURE;
    t->setup.round = NULL;
    t->setup.scaled = t->setup.scaled || t->setup.loss_scale > 1;
}

bool train_has_means(const struct train *t)
{
    return t->on_gpu && train_is_pure(t->o) && !strcmp(t->o->reduce_in, "fp32");
}

int train_means_open(struct train *t)
{
    /* with low memory only the owner has means */
    if (!train_has_means(t) || (t->owner && t->low_memory))
        return 0;
    t->means = t->nn->alloc(nn_model_ctx(t->model), t->n_weights * sizeof(real));
    t->mean_layers = buf_alloc((size_t)t->n_params * sizeof *t->mean_layers);
    if (!t->means || !t->mean_layers)
        return -ENOMEM;
    for (int i = 0; i < t->n_params; i++)
        t->mean_layers[i] = t->means + t->params[i].offset;
    return 0;
}

void train_means_close(struct train *t)
{
    if (t->means)
        t->nn->free(nn_model_ctx(t->model), t->means);
    free(t->mean_layers);
}

real *train_means(const struct train *t)
{
    return t->means ? t->means : t->grads;
}

size_t train_weight_bytes(const struct train *t)
{
    return t->nn->weight_bytes(nn_model_ctx(t->model));
}

int train_device_open(struct train *t)
{
    const char *why = *t->job.device ? t->job.device : "other ranks have no GPU";
    if (!t->job.on_gpu && t->setup.math != NN_FP32 && t->setup.math != NN_BF16)
        return ERR(-ENODEV, "--precision %s needs a GPU for every rank: %s", t->o->precision, why);
    if (t->job.on_gpu && t->job.shard.releases)
        return ERR(-EINVAL, "--shard all releases gradients in CPU memory only: use --shard "
                            "optimizer, or --device cpu");
    if (t->job.on_gpu)
        TRY(gpu_open(0)); /* keeps the GPU open after the job */
    t->on_gpu = t->job.on_gpu;
    if (t->on_gpu && train_is_pure(t->o))
        pure_on_gpu(t);
    t->round.below = t->on_gpu ? &nn_cuda : &nn_cpu;
    t->nn = t->setup.round ? &nn_round : t->round.below;
    return 0;
}

void train_device_say(const struct train *t)
{
    const struct dev_info *d = gpu_info();
    if (t->rank > 0 || !t->on_gpu)
        return;
    err_note("device: %s, %s; gradients by %s", d->name, t->o->precision, t->job.device);
    if (d->jit)
        err_note("device: this build has no machine code for it: build with GPU_ARCHS=sm_%d%d",
                 d->major, d->minor);
    if (t->job.shares_gpus && !d->mps)
        err_note("device: ranks share a GPU and take turns on it without NVIDIA's Multi-Process "
                 "Service: NARROWCAST_MPS=1 host/ranks.sh starts it");
}

void train_device_close(struct train *t)
{
    if (t->on_gpu)
        gpu_close();
}
