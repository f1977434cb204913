/* test_gpu_step.c : recorded and played training steps have the bits of separate launches. Only
 * the first step allocates. */
#include "gpu_fixture.h"
#include "gpu_models.h"
#include "nn/data/feed.h"
#include "nn/optim/optim.h"
#include "nn/round/round_ops.h"

enum { BATCH = 5, STEPS = 4 };

static int n_allocs, n_plays;

static void *counted_alloc(void *ctx, size_t bytes)
{
    n_allocs++;
    return nn_cuda.alloc(ctx, bytes);
}

static void *counted_shared(void *ctx, size_t bytes)
{
    n_allocs++;
    return nn_cuda.alloc_shared(ctx, bytes);
}

static int counted_play(void *ctx, void *record)
{
    n_plays++;
    return nn_cuda.record_play(ctx, record);
}

static struct nn_ops counted;

static void count_calls(void)
{
    counted = nn_cuda;
    counted.alloc = counted_alloc;
    counted.alloc_shared = counted_shared;
    counted.record_play = counted_play;
}

struct hearer {
    struct nn_model *m;
    struct dev_stream *s;
    real *seen;
    int next;
    bool bad;
};

static void hear(void *ctx, int first, int n)
{
    struct hearer *h = ctx;
    const struct dev_run_ops *run = gpu()->run;
    h->bad |= n < 1 || first + n != h->next;
    h->next = first;
    for (int k = first; k < first + n; k++) {
        const struct nn_param *p = &h->m->params[k];
        h->bad |= run->copy(h->seen + p->offset, nn_model_grads(h->m) + p->offset,
                            p->n * sizeof(real), h->s) < 0;
    }
    h->bad |= run->wait(h->s) < 0;
}

static void check_heard(const char *name, int step, const struct hearer *h, const real *grads,
                        size_t n)
{
    CHECK(!h->bad && h->next == 0, "%s step %d: told out of order, or not of all: %d left", name,
          step, h->next);
    CHECK(!memcmp(h->seen, grads, n * sizeof(real)),
          "%s step %d: gradients changed after they were final", name, step);
}

struct side {
    struct nn_model *m;
    struct optim *o;
    real *w;
    size_t n, n_stats;
    real *start_w, *start_stats, *zeros;
};

static struct side side_open(const struct nn_setup *setup, const char *model, struct nn_shape in)
{
    const struct optim_options options = {
        .kind = OPTIM_lars, .momentum = 0.9, .weight_decay = 0.01, .trust = 0.01, .bias_rate = 2};
    struct side s = {.m = model_open(&counted, setup, model, in, BATCH)};
    s.w = nn_model_weights(s.m, &s.n);
    real *stats = nn_model_stats(s.m, &s.n_stats);
    s.start_w = fetch(s.m, s.w);
    s.start_stats = malloc((s.n_stats + 1) * sizeof *s.start_stats);
    s.zeros = calloc(s.n, sizeof *s.zeros);
    CHECK(nn_model_get(s.m, s.start_stats, stats, s.n_stats) == 0, "cannot read the statistics");
    if (optim_open(&counted, nn_model_ctx(s.m), &options, s.m->params, s.m->n_params, s.n, &s.o))
        exit(1);
    return s;
}

static void side_restart(struct side *s)
{
    size_t n;
    nn_model_put(s->m, s->w, s->start_w, s->n);
    nn_model_put(s->m, nn_model_stats(s->m, &n), s->start_stats, s->n_stats);
    nn_model_put(s->m, optim_state(s->o, 0), s->zeros, s->n);
}

static void side_close(struct side *s)
{
    optim_close(s->o);
    nn_model_close(s->m);
    free(s->start_w), free(s->start_stats), free(s->zeros);
}

struct story {
    struct nn_result r[2 * STEPS];
    real *grads[2 * STEPS], *weights[2 * STEPS];
};

/* Images, labels, keys and rates change; the second half reports gradients. */
static struct story live(const char *name, struct side *s, struct hearer *h, struct nn_shape in)
{
    struct images d = images_open(in, BATCH);
    struct story out;
    size_t before = 0, after, all;
    for (int step = 0; step < 2 * STEPS; step++) {
        const bool told = step >= STEPS;
        if (step % STEPS == 1) {
            n_allocs = 0;
            gpu()->run->memory(&before, &all);
        }
        for (int i = 0; i < d.n; i++)
            d.labels[i] = (i + step) % CLASSES;
        d.x[step] += (real)0.5;
        h->next = s->m->n_params;
        out.r[step] =
            nn_model_train(s->m, &(struct nn_batch){.n = d.n, .x = d.x, .labels = d.labels},
                           40 + (uint64_t)step, told ? hear : NULL, h);
        out.grads[step] = fetch(s->m, nn_model_grads(s->m));
        if (told)
            check_heard(name, step, h, out.grads[step], s->n);
        optim_step(s->o, s->w, nn_model_grads(s->m), 0.1 / (1 + step));
        out.weights[step] = fetch(s->m, s->w);
        CHECK(n_allocs == 0 || step % STEPS == 0, "%s: %d allocations after the first step", name,
              n_allocs);
    }
    gpu()->run->memory(&after, &all);
    CHECK(after + all / 1000 >= before, "%s: memory went from %zu to %zu bytes free", name, before,
          after);
    images_close(&d);
    return out;
}

static void compare(const char *name, struct story *played, struct story *plain, size_t n)
{
    for (int step = 0; step < 2 * STEPS; step++) {
        const struct nn_result *a = &played->r[step], *b = &plain->r[step];
        CHECK(a->loss_sum == b->loss_sum && a->n_correct == b->n_correct && a->loss_sum > 0,
              "%s step %d: loss %.9g played, %.9g by separate launches", name, step, a->loss_sum,
              b->loss_sum);
        CHECK(!memcmp(played->grads[step], plain->grads[step], n * sizeof(real)),
              "%s step %d: other gradients", name, step);
        CHECK(!memcmp(played->weights[step], plain->weights[step], n * sizeof(real)),
              "%s step %d: other weights", name, step);
        free(played->grads[step]), free(played->weights[step]), free(plain->grads[step]),
            free(plain->weights[step]);
    }
}

static void check_records(const char *model, struct nn_shape in, const struct nn_setup *setup)
{
    struct side s = side_open(setup, model, in);
    const struct dev_run_ops *run = gpu()->run;
    struct hearer h = {.m = s.m};
    h.seen = run->alloc_pinned(s.n * sizeof *h.seen);
    if (!h.seen || run->stream_open(true, &h.s) < 0)
        exit(1);
    s.m->no_records = true;
    struct story plain = live(model, &s, &h, in);
    side_restart(&s);
    s.m->no_records = false;
    n_plays = 0;
    struct story played = live(model, &s, &h, in);
    compare(model, &played, &plain, s.n);
    CHECK(n_plays == 2 * (STEPS - 1), "%s: %d of %d steps were played", model, n_plays, 2 * STEPS);
    printf("%s, math %d: %d steps played, %d groups of params\n", model,
           setup ? (int)setup->math : 0, n_plays, s.m->n_groups);
    run->stream_close(h.s);
    run->free_pinned(h.seen);
    side_close(&s);
}

static void check_feed(void)
{
    const struct dataset_augment augment = {
        .how = {.crop = 3, .reflect = 1, .flip = 1, .cutout = 5}, .seed = 7};
    struct dataset_augment now = augment;
    struct dataset *data;
    struct feed *f;
    uint32_t order[40];
    if (dataset_open("synthetic:40,5", 0, &data))
        exit(1);
    const struct nn_shape in = {data->h, data->w, data->c};
    struct nn_model *fed, *plain;
    if (nn_model_open(&nn_cuda, NULL, "mlp", in, data->n_classes, 8, 1, &fed) ||
        nn_model_open(&nn_cuda, NULL, "mlp", in, data->n_classes, 8, 1, &plain) ||
        feed_open(fed, data, &augment, 8, &f))
        exit(1);
    real *x = malloc(batch_elements(in, 8) * sizeof *x);
    int32_t labels[8];
    dataset_order(2, 9, 40, order);
    for (int step = 0; step < 6; step++) {
        const uint32_t *index = order + step / 2 * 8;
        const int n = step == 3 ? 5 : 8;
        now.epoch = (uint64_t)step / 4;
        if (step == 0)
            feed_next(f, now.epoch, index, n);
        if (step == 4)
            feed_next_test(f, 1, 6);
        else if (step < 4)
            feed_next(f, (uint64_t)(step + 1) / 4, order + (step + 1) / 2 * 8,
                      step + 1 == 3 ? 5 : 8);
        const struct nn_result a = step < 5 ? feed_train(f, 3, NULL, NULL) : feed_eval(f);
        if (step < 5)
            dataset_batch(data, false, index, n, &now, x, labels, NULL);
        else
            dataset_batch(data, true, (const uint32_t[]){1, 2, 3, 4, 5, 6}, 6, NULL, x, labels,
                          NULL);
        const struct nn_result b =
            step < 5 ? nn_model_train(plain, &(struct nn_batch){.n = n, .x = x, .labels = labels},
                                      3, NULL, NULL)
                     : nn_model_eval(plain, &(struct nn_batch){.n = 6, .x = x, .labels = labels});
        CHECK(a.loss_sum == b.loss_sum && a.n_correct == b.n_correct && a.loss_sum > 0,
              "feed step %d: loss %.9g, not %.9g", step, a.loss_sum, b.loss_sum);
        const size_t size = batch_elements(in, step < 5 ? n : 6);
        real *got = malloc(size * sizeof *got), *want = malloc(size * sizeof *want);
        CHECK(nn_model_get(fed, got, fed->nodes[0].y, size) == 0 &&
                  nn_model_get(plain, want, plain->nodes[0].y, size) == 0,
              "cannot read the images");
        CHECK(!memcmp(got, want, size * sizeof *got), "feed step %d: other images", step);
        free(got), free(want);
    }
    free(x);
    feed_close(f);
    nn_model_close(fed);
    nn_model_close(plain);
    dataset_close(data);
}

int main(void)
{
    const struct nn_setup fp16 = {.math = NN_FP16, .loss_scale = 64};
    struct scale_choice scales;
    if (scale_spec("adaptive:1e-3,2", &scales) < 0)
        return 1;
    scale_format(&scales.adaptive.rule, mf_half());
    const struct nn_setup adaptive = {.math = NN_FP16, .adaptive = &scales.adaptive};
    gpu_fixture_choose();
    if (gpu_open(0) < 0)
        return 1;
    puts("seeds: images 1, weights 4 1, dropout 40, data 5, order 2, augmentation 7");
    count_calls();
    check_records("kinds", (struct nn_shape){12, 11, 3}, NULL);
    check_records("kinds", (struct nn_shape){12, 11, 3}, &fp16);
    check_records("kinds", (struct nn_shape){12, 11, 3}, &adaptive);
    check_records("mlp", (struct nn_shape){28, 28, 1}, NULL);
    check_records("gpt", (struct nn_shape){9, 1, 7}, NULL);
    check_records("gpt", (struct nn_shape){9, 1, 7}, &fp16);
    check_records("gpt", (struct nn_shape){9, 1, 7}, &adaptive);
    check_feed();
    gpu_close();
    DONE();
}
