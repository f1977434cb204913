/* train_device.c : where a run's network lives: on the CPU, or on the GPU that its job has taken, and
 * in which numbers it computes. */
#include "app/train.h"
#include "base/err.h"
#include "base/number.h"
#include "vec/gpu.h"
#include <math.h>
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
    t->setup = (struct nn_setup){.math = nn_math_of(o->precision), .width = o->width};
    TRY(loss_scale_of(o->loss_scale, &t->setup.loss_scale));
    const int narrow = gemm_low_parse(o->gemm, &t->gemm);
    TRY(narrow);
    t->setup.gemm = narrow ? &t->gemm : NULL;
    const int rounds = round_words(o->quant, &t->round);
    TRY(rounds);
    t->setup.round = rounds ? &t->round : NULL;
    if (t->setup.loss_scale > 0)
        t->round.of[ROUND_ERROR].rule.shift = ilogb(t->setup.loss_scale);
    return 0;
}

int train_device_open(struct train *t)
{
    const char *why = *t->job.device ? t->job.device : "other ranks have none";
    if (!t->job.on_gpu && t->setup.math != NN_FP32)
        return ERR(-ENODEV, "--precision %s needs a GPU for every rank: %s", t->o->precision, why);
    if (t->job.on_gpu)
        TRY(gpu_open(0)); /* the job's, for longer than the job */
    t->on_gpu = t->job.on_gpu;
    t->round.below = t->on_gpu ? &nn_cuda : &nn_cpu;
    t->nn = t->setup.round ? &nn_round : t->round.below;
    return 0;
}

void train_device_say(const struct train *t)
{
    if (t->rank == 0 && t->on_gpu)
        fprintf(stderr, "device: %s, %s; gradients by %s\n", gpu_info()->name, t->o->precision,
                t->job.device);
}

void train_device_close(struct train *t)
{
    if (t->on_gpu)
        gpu_close();
}
