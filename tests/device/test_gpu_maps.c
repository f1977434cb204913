/* test_gpu_maps.c : label maps sent as bytes, one step ahead, give the bits of batches in
 * floats. */
#include "gpu_fixture.h"
#include "gpu_models.h"
#include "nn/data/feed.h"

enum { BATCH = 3, STEPS = 4 };

static struct nn_model *open_net(const struct nn_ops *ops, const struct dataset *d)
{
    struct nn_model *m = calloc(1, sizeof *m);
    if (!m || graph_init(m, ops, dataset_shape(d), BATCH) || ops->open(NULL, &m->ctx))
        exit(1);
    int x = graph_conv(m, 0, "conv1", 8, 3, 1, 1, true);
    x = graph_batch_norm(m, x, "norm1", NO_ADDEND, true);
    graph_head(m, graph_conv(m, x, "classifier", d->n_classes, 1, 1, 0, true), &loss_dense, 1);
    if (graph_plan(m, 4))
        exit(1);
    return m;
}

static void check_feed(const struct dataset *d)
{
    const struct dataset_augment augment = {.how = {.crop = 4, .flip = 1}, .seed = 7};
    const size_t pixels = (size_t)(d->h * d->w), size = BATCH * pixels * (size_t)d->c;
    struct nn_model *fed = open_net(&nn_cuda, d), *plain = open_net(&nn_cuda, d),
                    *cpu = open_net(&nn_cpu, d);
    real *x = malloc(size * sizeof *x);
    int32_t *labels = malloc(BATCH * pixels * sizeof *labels);
    struct feed *f;
    uint32_t order[40];
    int n_classes, n_other = 0;
    if (!x || !labels || feed_open(fed, d, &augment, BATCH, &f))
        exit(1);
    dataset_order(2, 9, 40, order);
    for (int step = 0; step < STEPS; step++) {
        if (step == 0)
            feed_next(f, 0, order, BATCH);
        if (step + 1 < STEPS)
            feed_next(f, 0, order + (step + 1) * BATCH, BATCH);
        dataset_batch(d, false, order + step * BATCH, BATCH, &augment, x, labels, NULL);
        const struct nn_batch batch = {.n = BATCH, .x = x, .labels = labels};
        const struct nn_result a = feed_train(f, 3, NULL, NULL),
                               b = nn_model_train(plain, &batch, 3, NULL, NULL),
                               c = nn_model_train(cpu, &batch, 3, NULL, NULL);
        CHECK(!memcmp(&a.loss_sum, &b.loss_sum, sizeof(double)) && a.n_labels == b.n_labels &&
                  a.n_correct == b.n_correct && a.n_labels < (int)(BATCH * pixels),
              "step %d: loss %.9g of %d labels, not %.9g of %d", step, a.loss_sum, a.n_labels,
              b.loss_sum, b.n_labels);
        CHECK(!memcmp(fed->host.labels, labels, BATCH * pixels * sizeof *labels),
              "step %d: other labels", step);
        CHECK(a.n_labels == c.n_labels && fabs(a.loss_sum / c.loss_sum - 1) < 1e-5,
              "step %d: loss %.9g, on the CPU %.9g", step, a.loss_sum, c.loss_sum);
    }
    feed_next_test(f, 2, BATCH);
    dataset_batch(d, true, (const uint32_t[]){2, 3, 4}, BATCH, NULL, x, labels, NULL);
    const struct nn_result a = feed_eval(f),
                           c = nn_model_eval(cpu, &(struct nn_batch){BATCH, x, NULL, labels, NULL});
    const uint32_t *got = nn_model_confusion(fed, &n_classes),
                   *want = nn_model_confusion(cpu, &n_classes);
    for (int i = 0; i < n_classes * n_classes; i++)
        n_other += abs((int)got[i] - (int)want[i]);
    CHECK(n_classes == d->n_classes && a.n_labels == c.n_labels && n_other <= a.n_labels / 500,
          "%d of %d pixels stand elsewhere", n_other, a.n_labels);
    printf("confusions of %d pixels, %d elsewhere than on the CPU\n", a.n_labels, n_other);
    feed_close(f);
    nn_model_close(fed), nn_model_close(plain), nn_model_close(cpu);
    free(x), free(labels);
}

int main(void)
{
    struct dataset *d;
    setenv("NARROWCAST_CONV", "first", 0); /* plans chosen by their speed may round differently */
    gpu_fixture_choose();
    if (dataset_open("shapes:40,5", 0, &d) || gpu_open(0))
        exit(1);
    check_feed(d);
    dataset_close(d);
    gpu_close();
    DONE();
}
