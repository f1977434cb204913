/* test_nn_feed.c : a feed's batches have the bits of dataset_batch() and nn_model_train(). */
#include <string.h>
#include "check.h"
#include "nn/data/feed.h"

enum { BATCH = 24, STEPS = 5 };

static struct dataset *data;
static struct dataset_augment augment = {.how = {.crop = 3, .reflect = 1, .flip = 1, .cutout = 5},
                                         .seed = 7};

static struct nn_model *opened(void)
{
    struct nn_model *m;
    if (nn_model_open(&nn_cpu, NULL, "lenet5", (struct nn_shape){data->h, data->w, data->c},
                      data->n_classes, BATCH, 1, &m))
        exit(1);
    return m;
}

static int size_of(int step)
{
    return BATCH - step;
}

static void check_train(struct feed *f, struct nn_model *fed, struct nn_model *plain,
                        const uint32_t *order)
{
    size_t n, image = (size_t)(data->h * data->w * data->c);
    real *x = malloc(BATCH * image * sizeof *x);
    int32_t labels[BATCH];
    nn_model_weights(fed, &n);
    augment.epoch = 3;
    feed_next(f, 3, order, size_of(0));
    for (int step = 0; step < STEPS; step++) {
        if (step + 1 < STEPS)
            feed_next(f, 3, order + (step + 1) * BATCH, size_of(step + 1));
        CHECK(feed_waiting(f) == (step + 1 < STEPS ? 2 : 1), "step %d: %d waiting", step,
              feed_waiting(f));
        const struct nn_result a = feed_train(f, (uint64_t)step, NULL, NULL);
        dataset_batch(data, false, order + step * BATCH, size_of(step), &augment, x, labels, NULL);
        const struct nn_result b =
            nn_model_train(plain, &(struct nn_batch){.n = size_of(step), .x = x, .labels = labels},
                           (uint64_t)step, NULL, NULL);
        CHECK(a.loss_sum == b.loss_sum && a.n_correct == b.n_correct, "step %d: loss %g, not %g",
              step, a.loss_sum, b.loss_sum);
        CHECK(!memcmp(nn_model_grads(fed), nn_model_grads(plain), n * sizeof(real)),
              "step %d: other gradients", step);
    }
    free(x);
}

static void check_eval(struct feed *f, struct nn_model *plain)
{
    size_t image = (size_t)(data->h * data->w * data->c);
    real *x = malloc(BATCH * image * sizeof *x);
    int32_t labels[BATCH];
    uint32_t index[BATCH];
    feed_next_test(f, 5, BATCH);
    feed_next_test(f, 60, 9);
    for (int i = 0; i < 2; i++) {
        const struct nn_result a = feed_eval(f);
        for (uint32_t j = 0; j < BATCH; j++)
            index[j] = (i ? 60 : 5) + j;
        dataset_batch(data, true, index, i ? 9 : BATCH, NULL, x, labels, NULL);
        const struct nn_result b =
            nn_model_eval(plain, &(struct nn_batch){.n = i ? 9 : BATCH, .x = x, .labels = labels});
        CHECK(a.loss_sum == b.loss_sum && a.n_correct == b.n_correct, "test %d: loss %g, not %g", i,
              a.loss_sum, b.loss_sum);
    }
    CHECK(feed_waiting(f) == 0, "%d waiting at the end", feed_waiting(f));
    free(x);
}

int main(void)
{
    static uint32_t order[400];
    struct feed *f;
    puts("seeds: data 5, order 2, augmentation 7, weights 1");
    if (dataset_open("synthetic:400,5", 0, &data))
        return 1;
    struct nn_model *fed = opened(), *plain = opened();
    dataset_order(2, 3, 400, order);
    if (feed_open(fed, data, &augment, BATCH, &f))
        return 1;
    check_train(f, fed, plain, order);
    check_eval(f, plain);
    feed_close(f);
    feed_close(NULL);
    nn_model_close(fed);
    nn_model_close(plain);
    dataset_close(data);
    DONE();
}
