/* train_device.c : where a job's network and gradients live: on the CPU, or on a GPU for each rank
 * (several may share one). */
#include "app/train.h"
#include "base/err.h"
#include "base/number.h"
#include "comm/comm_node.h"
#include "comm/mates_choose.h"
#include "vec/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "auto", or a power of two from 1 on that fp16's range leaves room for. */
static int loss_scale_of(const char *word, double *out)
{
    char *end;
    const double value = number_read(word, &end);
    if (!strcmp(word, "auto")) {
        *out = 0;
        return 0;
    }
    uint64_t whole = value >= 1 && value <= 1 << 24 ? (uint64_t)value : 0;
    if (*end || !whole || (double)whole != value || (whole & (whole - 1)))
        return ERR(-EINVAL,
                   "cannot take --loss-scale %s: want auto or a power of two from 1 to 16777216",
                   word);
    *out = value;
    return 0;
}

int train_device_settle(struct train *t)
{
    const struct train_options *o = t->o;
    t->setup = (struct nn_setup){.math = nn_math_of(o->precision)};
    TRY(loss_scale_of(o->loss_scale, &t->setup.loss_scale));
    const int narrow = gemm_low_parse(o->gemm, &t->gemm);
    TRY(narrow);
    t->setup.gemm = narrow ? &t->gemm : NULL;
    return 0;
}

/* --device auto: has every rank a GPU? 1, 0 (why is filled on ranks that have none), or a negative
 * errno. */
static int all_have_one(struct train *t, char *why, size_t size)
{
    int8_t none = !gpu_here(why, size);
    TRY(comm_max_i8(t->comm, &none, 1));
    return !none;
}

/* The codec and the algorithm as they are where gradients are on GPUs. */
static int settle_on_gpu(struct train *t)
{
    TRY(mates_choose(t->comm, t->choice.cards != NULL, t->group, &t->algo, &t->codec.ops,
                     t->transport, sizeof t->transport));
    struct codec codec;
    const struct vec_ops *ops = t->codec.ops;
    TRY(train_codec(t, &codec));
    codec.ops = ops;
    t->codec = codec;
    return algo_settle(t->algo, t->group, t->n_ranks, &t->codec);
}

int train_device_open(struct train *t)
{
    char why[256] = "";
    t->nn = &nn_cpu;
    if (!strcmp(t->o->device, "cpu"))
        return 0;
    const int here = !strcmp(t->o->device, "cuda") ? 1 : all_have_one(t, why, sizeof why);
    TRY(here);
    if (!here)
        return train_agree(t, t->setup.math == NN_FP32
                                  ? 0
                                  : ERR(-ENODEV, "--precision %s needs a GPU for every rank: %s",
                                        t->o->precision, *why ? why : "other ranks have none"));
    const int place = comm_rank_on_node(t->comm);
    TRY(place);
    TRY(train_agree(t, gpu_open(place)));
    t->nn = &nn_cuda;
    return train_agree(t, settle_on_gpu(t));
}

void train_device_say(const struct train *t)
{
    if (t->rank == 0 && t->nn != &nn_cpu)
        fprintf(stderr, "device: %s, %s; gradients by %s\n", gpu_info()->name, t->o->precision,
                t->transport);
}

void train_device_close(struct train *t)
{
    if (t->nn && t->nn != &nn_cpu)
        gpu_close();
}
