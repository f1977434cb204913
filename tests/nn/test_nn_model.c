/* test_nn_model.c : whole models repeat their bits and refuse bad sizes. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/buf.h"
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/model.h"
#include "nn/optim/optim.h"

enum { CLASSES = 10, BATCH = 32, SIDE = 28 };

struct data {
    int n;
    real *x;
    int32_t *labels;
};

static struct data random_images(int n, struct nn_shape s)
{
    size_t pixels = (size_t)n * (size_t)(s.h * s.w * s.c);
    struct data d = {n, malloc(pixels * sizeof(real)), malloc((size_t)n * sizeof(int32_t))};
    for (size_t i = 0; i < pixels; i++)
        d.x[i] = (real)philox_u32(7, i) * 0x1p-31f - 1;
    for (int i = 0; i < n; i++)
        d.labels[i] = (int32_t)(philox_u32(8, (uint64_t)i) % CLASSES);
    return d;
}

static void free_data(struct data d)
{
    free(d.x);
    free(d.labels);
}

struct session {
    struct nn_model *m;
    struct optim *o;
    const struct nn_param *params;
    int n_params;
    size_t n_weights;
    real *w;
};

static struct session open_session(const char *model, struct nn_shape in, uint64_t seed)
{
    struct session s;
    if (nn_model_open(&nn_cpu, NULL, model, in, CLASSES, BATCH, seed, &s.m) < 0)
        exit(1);
    s.params = nn_model_params(s.m, &s.n_params);
    s.w = nn_model_weights(s.m, &s.n_weights);
    struct optim_options options = {.momentum = 0.9, .weight_decay = 1e-4, .bias_rate = 1};
    if (optim_open(&nn_cpu, nn_model_ctx(s.m), &options, s.params, s.n_params, s.n_weights, &s.o) <
        0)
        exit(1);
    return s;
}

static void close_session(struct session *s)
{
    optim_close(s->o);
    nn_model_close(s->m);
}

static void epoch(struct session *s, const struct data *d, size_t image, double lr, uint64_t key)
{
    for (int i = 0; i + BATCH <= d->n; i += BATCH) {
        nn_model_train(
            s->m,
            &(struct nn_batch){.n = BATCH, .x = d->x + (size_t)i * image, .labels = d->labels + i},
            philox_key(key, (uint32_t)i, 0, 0, 0), NULL, NULL);
        optim_step(s->o, s->w, nn_model_grads(s->m), lr);
    }
}

static void check_repeats(const char *model)
{
    struct nn_shape in = {30, 29, 3};
    struct data d = random_images(2 * BATCH, in);
    struct session s[3];
    for (int i = 0; i < 3; i++) {
        s[i] = open_session(model, in, i < 2 ? 5 : 6);
        epoch(&s[i], &d, 30 * 29 * 3, 0.05, 3);
    }
    size_t bytes = s[0].n_weights * sizeof(real), n;
    CHECK(memcmp(s[0].w, s[1].w, bytes) == 0, "%s: two equal trainings differ", model);
    CHECK(memcmp(s[0].w, s[2].w, bytes) != 0, "%s: the seed changes nothing", model);
    real *stats[2] = {nn_model_stats(s[0].m, &n), nn_model_stats(s[1].m, &n)};
    CHECK(memcmp(stats[0], stats[1], n * sizeof(real)) == 0,
          "%s: statistics of two equal trainings differ", model);
    for (int i = 0; i < 3; i++)
        close_session(&s[i]);
    free_data(d);
}

struct order {
    const struct nn_model *m;
    int next;
    bool bad;
};

static void note(void *ctx, int first, int n)
{
    struct order *o = ctx;
    o->bad |= n < 1 || first + n != o->next;
    o->next = first;
}

static void check_params(const char *model)
{
    struct nn_shape in = {28, 32, 3};
    struct data d = random_images(2, in);
    struct session s = open_session(model, in, 1);
    struct order o = {s.m, s.n_params, false};
    nn_model_train(s.m, &(struct nn_batch){.n = 2, .x = d.x, .labels = d.labels}, 1, note, &o);
    CHECK(!o.bad && o.next == 0, "%s: gradients out of order, or not all: %d left", model, o.next);
    size_t at = 0;
    for (int i = 0; i < s.n_params; i++) {
        const struct nn_param *p = &s.params[i];
        CHECK(p->offset == at && p->n > 0, "%s: param %s begins at %zu, not %zu", model, p->name,
              p->offset, at);
        CHECK(p->last == (strncmp(p->name, "classifier.", 11) == 0), "%s: %s: wrong 'last'", model,
              p->name);
        CHECK(p->decay == (strstr(p->name, ".weight") != NULL), "%s: %s: wrong 'decay'", model,
              p->name);
        for (int j = 0; j < i; j++)
            CHECK(strcmp(p->name, s.params[j].name) != 0, "%s: two params '%s'", model, p->name);
        at += p->n;
    }
    CHECK(at == s.n_weights, "%s: params cover %zu of %zu weights", model, at, s.n_weights);
    close_session(&s);
    free_data(d);
}

static void check_loss_scale(void)
{
    struct session s = open_session("mlp", (struct nn_shape){28, 28, 1}, 1);
    struct nn_loss_scale *scale = nn_model_loss_scale(s.m);
    nn_model_loss_scale_update(s.m, false);
    CHECK(scale->value == 1 && !scale->moving, "fp32 has a scale of %g", scale->value);
    *scale = (struct nn_loss_scale){.value = 8, .moving = true};
    for (int i = 0; i < 5; i++)
        nn_model_loss_scale_update(s.m, false);
    CHECK(scale->value == 1, "scale %g after 5 bad steps", scale->value);
    for (int i = 0; i < 1999; i++)
        nn_model_loss_scale_update(s.m, true);
    nn_model_loss_scale_update(s.m, false);
    for (int i = 0; i < 2000; i++) {
        CHECK(scale->value == 1, "scale %g after %d good steps", scale->value, i);
        nn_model_loss_scale_update(s.m, true);
    }
    CHECK(scale->value == 2, "scale %g after 2000 good steps", scale->value);
    for (int i = 0; i < 30 * 2000; i++)
        nn_model_loss_scale_update(s.m, true);
    CHECK(scale->value == 0x1p24, "scale %g in the end", scale->value);
    close_session(&s);
}

static void check_refusals(void)
{
    static const struct {
        const char *model;
        struct nn_shape in;
        int classes, batch;
    } bad[] = {
        {"resnet9", {28, 28, 1}, 10, 8},
        {"", {28, 28, 1}, 10, 8},
        {"mlp", {27, 28, 1}, 10, 8},
        {"mlp", {28, NN_SIDE_MAX + 1, 1}, 10, 8},
        {"mlp", {28, 28, 2}, 10, 8},
        {"mlp", {28, 28, 1}, 1, 8},
        {"mlp", {28, 28, 1}, 10, 0},
        {"resnet8", {0, 0, 0}, 10, 8},
        {"mlp", {NN_STEPS_MAX + 1, 1, 40}, 10, 8},
        {"mlp", {50, 1, NN_FEATURES_MAX + 1}, 10, 8},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct nn_model *m = NULL;
        int rc = nn_model_open(&nn_cpu, NULL, bad[i].model, bad[i].in, bad[i].classes, bad[i].batch,
                               1, &m);
        CHECK(rc == -EINVAL && !m, "case %zu: rc %d", i, rc);
    }
    struct nn_model *m = NULL;
    for (enum nn_math math = NN_TF32; math <= NN_FP16_PURE; math++) {
        const struct nn_setup setup = {.math = math};
        if (math == NN_BF16) /* of test_gemm_bf16.c */
            continue;
        int rc = nn_model_open(&nn_cpu, &setup, "mlp", (struct nn_shape){28, 28, 1}, 10, 8, 1, &m);
        CHECK(rc == -EINVAL && !m, "math %d on the cpu: rc %d", (int)math, rc);
    }
    nn_model_close(NULL);
    optim_close(NULL);
}

static int bad_wait(void *ctx)
{
    (void)ctx;
    return -EIO;
}

static void no_mark(void *ctx, uint32_t *flag)
{
    (void)ctx, (void)flag;
}

/* The loss is nan; gradients are still reported, as a caller may wait for them. */
static void check_failure(void)
{
    struct nn_ops broken = nn_cpu;
    struct nn_shape in = {28, 28, 1};
    struct data d = random_images(2, in);
    struct nn_model *m;
    if (nn_model_open(&broken, NULL, "lenet5", in, CLASSES, 2, 1, &m) < 0)
        exit(1);
    broken.wait = bad_wait;
    broken.mark = no_mark;
    struct order o = {.m = m};
    nn_model_params(m, &o.next);
    CHECK(isfinite(nn_model_eval(m, &(struct nn_batch){.n = 2, .x = d.x, .labels = d.labels})
                       .loss_sum) == 0,
          "a failed evaluation has a loss");
    struct nn_result r =
        nn_model_train(m, &(struct nn_batch){.n = 2, .x = d.x, .labels = d.labels}, 1, note, &o);
    CHECK(isnan(r.loss_sum) && nn_model_failed(m) == -EIO, "a failed pass: loss %g, code %d",
          r.loss_sum, nn_model_failed(m));
    CHECK(!o.bad && o.next == 0, "a failed pass leaves %d params untold", o.next);
    nn_model_close(m);
    free_data(d);
}

static int left;

static void *alloc_some(void *ctx, size_t bytes)
{
    return left-- > 0 ? nn_cpu.alloc(ctx, bytes) : buf_alloc(SIZE_MAX / 2);
}

/* The error suggests a smaller batch, unless weights, gradients or statistics need the memory. */
static void check_memory(void)
{
    struct nn_ops ops = nn_cpu;
    const struct nn_setup setup = {.fewer = "a smaller batch"};
    const char *want = " bytes, for 5 images at a time: fewer by a smaller batch\n";
    struct nn_model *m;
    ops.alloc = ops.alloc_shared = alloc_some;
    int rc = -ENOMEM;
    for (int k = 0; rc < 0; k++) {
        struct capture said;
        left = k;
        capture_begin(&said);
        err_hold();
        rc = nn_model_open(&ops, &setup, "resnet8", (struct nn_shape){SIDE, SIDE, 1}, CLASSES, 5, 1,
                           &m);
        err_release(true);
        const char *line = capture_end(&said);
        CHECK((rc == -ENOMEM || (rc == 0 && k > 20)) && capture_lines(line) == (rc < 0) &&
                  (rc == 0 || (strstr(line, want) != NULL) == (k >= 3)),
              "%d allocations, then %d: \"%s\"", k, rc, line);
    }
    nn_model_close(m);
}

static void check_eval(const char *model)
{
    struct nn_shape in = {SIDE, SIDE, 1};
    struct data d = random_images(BATCH, in);
    struct session s = open_session(model, in, 1);
    epoch(&s, &d, SIDE * SIDE, 0.05, 3);
    size_t n;
    real *stats = nn_model_stats(s.m, &n), *before = malloc((n + 1) * sizeof *before);
    memcpy(before, stats, n * sizeof *before);
    struct nn_result all = nn_model_eval(
                         s.m, &(struct nn_batch){.n = BATCH, .x = d.x, .labels = d.labels}),
                     sum = {.loss_sum = 0};
    for (int i = 0; i < BATCH; i++) {
        struct nn_result one = nn_model_eval(
            s.m,
            &(struct nn_batch){.n = 1, .x = d.x + (size_t)i * SIDE * SIDE, .labels = d.labels + i});
        sum.loss_sum += one.loss_sum;
        sum.n_correct += one.n_correct;
    }
    CHECK(all.n_correct == sum.n_correct, "%s: %d and %d correct", model, all.n_correct,
          sum.n_correct);
    CHECK(fabs(all.loss_sum - sum.loss_sum) <= 1e-4 * all.loss_sum, "%s: losses %g and %g", model,
          all.loss_sum, sum.loss_sum);
    CHECK(memcmp(before, stats, n * sizeof *before) == 0, "%s: evaluation changed the statistics",
          model);
    free(before);
    close_session(&s);
    free_data(d);
}

int main(void)
{
    nn_cpu_threads(1);
    puts("seeds: images 7, labels 8, weights 1 5 6");
    static const char *const models[] = {"mlp", "lenet5", "resnet8"};
    for (size_t i = 0; i < 3; i++) {
        check_repeats(models[i]);
        check_params(models[i]);
        check_eval(models[i]);
    }
    check_params("resnet110");
    check_params("resnet18");
    check_params("resnet50");
    check_params("davidnet");
    check_loss_scale();
    check_failure();
    check_refusals();
    check_memory();
    DONE();
}
