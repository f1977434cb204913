/* test_gpu_model.c : compares whole networks with the CPU's, in all maths, within gpu_models.h's
 * bounds. */
#include "gpu_fixture.h"
#include "gpu_models.h"
#include "nn/round/round_ops.h"
#include "nn/optim/optim.h"
#include <stdlib.h>

enum { ADAPTIVE = -1 };

static const char *const math_names[] = {"fp32", "tf32", "fp16", "bf16", "fp16-pure"};

/* TIMES exceeds 1: both backends round, and random changes may miss the worst direction. */
static void check_answer(const char *name, const struct nn_model *m, const struct answer *cpu,
                         const struct answer *gpu, double moved_loss, const double *moved)
{
    enum { TIMES = 4 };
    double worst = 0, norm = 0;
    for (int k = 0; k < m->n_params; k++)
        norm = fmax(norm, moved[k]);
    CHECK(fabs(cpu->r.loss_sum - gpu->r.loss_sum) <= TIMES * moved_loss + 1e-5,
          "%s: loss %g, on the cpu %g, may move %g", name, gpu->r.loss_sum, cpu->r.loss_sum,
          moved_loss);
    for (int k = 0; k < m->n_params; k++) {
        const struct nn_param *p = &m->params[k];
        const double apart = distance(cpu->grads + p->offset, gpu->grads + p->offset, p->n);
        /* the gradient of a tensor that hardly moves is round-off: its neighbours give the bound */
        const double most = TIMES * fmax(moved[k], norm / 100);
        worst = fmax(worst, apart / most);
        CHECK(apart <= most, "%s: gradient of %s is %g off, may be %g", name, p->name, apart, most);
    }
    printf("%-28s loss %.6f (%.6f), gradients within %.2f of the bound\n", name, gpu->r.loss_sum,
           cpu->r.loss_sum, worst);
}

static void check_eval(const char *name, struct nn_model *cpu, struct nn_model *gpu,
                       const struct images *d, enum nn_math math, double moved_loss)
{
    const double a =
        nn_model_eval(cpu, &(struct nn_batch){.n = d->n - 1, .x = d->x, .labels = d->labels})
            .loss_sum;
    const double b =
        nn_model_eval(gpu, &(struct nn_batch){.n = d->n - 1, .x = d->x, .labels = d->labels})
            .loss_sum;
    CHECK(fabs(a - b) <= 8 * moved_loss + 64 * half_unit(math) * fabs(a),
          "%s: evaluation %g, on the cpu %g", name, b, a);
}

static void check_model(const char *model, struct nn_shape in, int batch, int max_batch,
                        enum nn_math math, double loss_scale)
{
    struct scale_choice own;
    struct nn_setup setup = {
        .math = math, .scaled = math == NN_FP16_PURE, .loss_scale = loss_scale};
    CHECK(scale_spec("adaptive", &own) == 0, "adaptive");
    scale_format(&own.adaptive.rule, mf_half());
    setup.adaptive = loss_scale == ADAPTIVE ? &own.adaptive : NULL;
    struct images d = images_open(in, batch);
    struct nn_model *cpu = model_open(&nn_cpu, NULL, model, in, batch);
    struct nn_model *gpu = model_open(&nn_cuda, &setup, model, in, max_batch);
    double *moved = calloc((size_t)cpu->n_params, sizeof *moved);
    if (!moved)
        exit(1);
    char name[64];
    snprintf(name, sizeof name, "%s %s scale %g%s", model, math_names[math],
             nn_model_loss_scale(gpu)->value, setup.adaptive ? " and layers' own" : "");
    struct answer a = answer_of(cpu, &d), b = answer_of(gpu, &d);
    const double moved_loss = sensitivity(cpu, &d, nudge_of(math), &a, moved);
    check_answer(name, cpu, &a, &b, moved_loss, moved);
    check_eval(name, cpu, gpu, &d, math, moved_loss);
    CHECK(nn_model_failed(gpu) == 0, "%s: the backend failed", name);
    free(a.grads), free(b.grads), free(moved);
    nn_model_close(cpu);
    nn_model_close(gpu);
    images_close(&d);
}

static void check_overflow(struct nn_shape in, enum nn_math math)
{
    const struct nn_setup setup = {.math = math, .scaled = true, .loss_scale = 0x1p30};
    struct images d = images_open(in, 4);
    struct nn_model *m = model_open(&nn_cuda, &setup, "lenet5", in, 4);
    struct answer a = answer_of(m, &d);
    size_t n, n_bad = 0;
    nn_model_weights(m, &n);
    for (size_t i = 0; i < n; i++)
        n_bad += isfinite(a.grads[i]) ? 0 : 1;
    CHECK(n_bad > 0, "gradients are finite with a loss scale of 2^30");
    CHECK(isfinite(a.r.loss_sum), "the loss is %g: it knows no scale", a.r.loss_sum);
    free(a.grads);
    nn_model_close(m);
    images_close(&d);
}

static void check_no_memory(void)
{
    size_t before, after, all;
    struct nn_model *m = NULL;
    gpu()->run->memory(&before, &all);
    const int rc = nn_model_open(&nn_cuda, NULL, "resnet18", (struct nn_shape){224, 224, 3},
                                 CLASSES, 1 << 22, 1, &m);
    gpu()->run->memory(&after, &all);
    CHECK(rc == -ENOMEM && !m, "a batch of 4 million images: rc %d", rc);
    CHECK(after + all / 1000 >= before, "refused, but %zu of %zu bytes are gone", before - after,
          before);
}

/* In pure fp16 each backend rounds the start values itself. */
static void check_optim(bool pure)
{
    enum { STEPS = 3 };
    const struct nn_shape in = {28, 28, 1};
    const struct optim_options o = {
        .nesterov = true, .momentum = 0.9, .weight_decay = 0.01, .bias_rate = 1};
    struct round_setup round;
    round_pure(&round);
    round.below = &nn_cpu;
    const struct nn_setup setups[2] = {{.round = pure ? &round : NULL},
                                       {.math = pure ? NN_FP16_PURE : NN_FP32}};
    const struct nn_ops *backends[2] = {pure ? &nn_round : &nn_cpu, &nn_cuda};
    real *w[2];
    size_t n = 0;
    for (int b = 0; b < 2; b++) {
        struct nn_model *m = model_open(backends[b], &setups[b], "lenet5", in, 1);
        struct optim *optim;
        real *weights = nn_model_weights(m, &n), *g = malloc(n * sizeof *g);
        if (optim_open(backends[b], nn_model_ctx(m), &o, m->params, m->n_params, n, &optim))
            exit(1);
        for (int step = 0; step < STEPS; step++) {
            for (size_t i = 0; i < n; i++)
                g[i] = (real)uniform(30 + (uint64_t)step, i);
            nn_model_put(m, nn_model_grads(m), g, n);
            const double lr = 0.1 / (1 + step);
            if (step == 1) {
                optim_step_some(optim, 4, m->n_params - 4, weights, nn_model_grads(m), lr);
                optim_step_some(optim, 0, 4, weights, nn_model_grads(m), lr);
            } else {
                optim_step(optim, weights, nn_model_grads(m), lr);
            }
        }
        w[b] = fetch(m, weights);
        free(g);
        optim_close(optim);
        nn_model_close(m);
    }
    CHECK(!memcmp(w[0], w[1], n * sizeof(real)), "steps of the optimiser differ from the cpu's");
    free(w[0]), free(w[1]);
}

int main(void)
{
    void *ctx;
    nn_cpu_threads(1);
    /* plans chosen by their speed may round differently and exceed a bound from a few random
     * changes */
    setenv("NARROWCAST_CONV", "first", 0);
    CHECK(nn_cuda.open(NULL, &ctx) == -ENODEV, "the backend opens without a GPU");
    gpu_fixture_choose();
    if (gpu_open(0) < 0)
        return 1;
    puts("seeds: images 1, weights 4, dropout 3, nudges 10 20, gradients 30");
    for (enum nn_math math = NN_FP32; math <= NN_FP16_PURE; math++)
        check_model("kinds", (struct nn_shape){12, 11, 3}, 6, math == NN_TF32 ? 9 : 6, math, 256);
    check_model("kinds", (struct nn_shape){12, 11, 3}, 6, 6, NN_FP16, ADAPTIVE);
    check_model("kinds", (struct nn_shape){12, 11, 3}, 6, 6, NN_FP16_PURE, ADAPTIVE);
    for (enum nn_math math = NN_FP32; math <= NN_FP16_PURE; math++)
        check_model("branches", (struct nn_shape){9, 10, 3}, 5, 5, math, 256);
    check_model("branches", (struct nn_shape){9, 10, 3}, 5, 5, NN_FP16, ADAPTIVE);
    for (enum nn_math math = NN_FP32; math <= NN_FP16_PURE; math++)
        check_model("gpt", (struct nn_shape){9, 1, 7}, 3, 4, math, 256);
    check_model("gpt", (struct nn_shape){9, 1, 7}, 3, 3, NN_FP16, ADAPTIVE);
    check_model("gpt", (struct nn_shape){9, 1, 7}, 3, 3, NN_FP16_PURE, ADAPTIVE);
    check_model("lenet5", (struct nn_shape){28, 28, 1}, 4, 4, NN_FP32, 0);
    check_model("lenet5", (struct nn_shape){28, 28, 1}, 4, 4, NN_FP16, 0);
    check_model("mlp", (struct nn_shape){28, 28, 1}, 4, 4, NN_FP16, 1);
    check_model("lenet5", (struct nn_shape){28, 28, 1}, 4, 4, NN_FP16_PURE, 16);
    check_model("resnet8", (struct nn_shape){28, 30, 3}, 3, 3, NN_FP16, 256);
    if (strcmp(gpu_info()->name, "emulated")) {
        check_model("resnet8", (struct nn_shape){28, 30, 3}, 16, 32, NN_TF32, 0);
        for (enum nn_math math = NN_FP32; math <= NN_BF16; math++) {
            check_model("davidnet", (struct nn_shape){32, 32, 3}, 16, 16, math, 256);
            check_model("resnet18", (struct nn_shape){32, 32, 3}, 8, 8, math, 256);
        }
        check_model("resnet50", (struct nn_shape){64, 72, 3}, 8, 8, NN_FP16, 256);
    }
    check_overflow((struct nn_shape){28, 28, 1}, NN_FP16);
    check_overflow((struct nn_shape){28, 28, 1}, NN_FP16_PURE);
    check_no_memory();
    check_optim(false);
    check_optim(true);
    gpu_close();
    DONE();
}
