/* test_nn_target.c : sequences of several lengths go through a feed into a model. */
#include <string.h>
#include "check.h"
#include "nn/data/feed.h"
#include "nn/model_graph.h"

enum { STEPS = 12, FEATURES = 5, CLASSES = 3, SAMPLES = 7, BATCH = 4 };

struct sequences {
    float value[SAMPLES];
    int *n_closed;
};

static int length_of(uint32_t i)
{
    return STEPS - (int)i;
}

static int settle(struct dataset *d, size_t subset)
{
    (void)d, (void)subset;
    return 0;
}

static void to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                    const struct dataset_augment *augment, real *x)
{
    const struct sequences *s = d->own;
    (void)test, (void)augment;
    memset(x, 0, (size_t)n * STEPS * FEATURES * sizeof *x);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < length_of(index[i]) * FEATURES; j++)
            x[i * STEPS * FEATURES + j] = (real)s->value[index[i]];
}

static void labels(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, int32_t *y, int32_t *lengths)
{
    (void)d, (void)test, (void)augment;
    for (int i = 0; i < n; i++) {
        y[i] = (int32_t)(index[i] % CLASSES);
        if (lengths)
            lengths[i] = length_of(index[i]);
    }
}

static void close_own(struct dataset *d)
{
    struct sequences *s = d->own;
    ++*s->n_closed;
    free(s);
}

static const struct sample_ops sequences = {.name = "sequences",
                                            .target = NN_CLASS,
                                            .settle = settle,
                                            .to_real = to_real,
                                            .labels = labels,
                                            .close = close_own};

static struct dataset *open_sequences(int *n_closed)
{
    struct dataset *d = calloc(1, sizeof *d);
    struct sequences *s = calloc(1, sizeof *s);
    for (int i = 0; i < SAMPLES; i++)
        s->value[i] = (float)i / 4;
    s->n_closed = n_closed;
    *d = (struct dataset){.samples = &sequences,
                          .h = STEPS,
                          .w = 1,
                          .c = FEATURES,
                          .n_classes = CLASSES,
                          .n_train = SAMPLES,
                          .n_test = SAMPLES,
                          .own = s};
    return d;
}

static void check_pass(struct nn_model *m, struct feed *f, bool train)
{
    static const uint32_t index[BATCH] = {6, 0, 3, 2};
    if (train)
        feed_next(f, 0, index, BATCH);
    else
        feed_next_test(f, 2, BATCH - 1);
    const struct nn_result r = train ? feed_train(f, 1, NULL, NULL) : feed_eval(f);
    const int n = train ? BATCH : BATCH - 1;
    CHECK(r.n_labels == n, "%d labels", r.n_labels);
    for (int i = 0; i < n; i++) {
        const uint32_t from = train ? index[i] : 2 + (uint32_t)i;
        const real *x = m->nodes[0].y + i * STEPS * FEATURES;
        CHECK(m->host.lengths[i] == length_of(from) &&
                  m->host.labels[i] == (int32_t)(from % CLASSES),
              "sample %d: length %d, label %d", i, m->host.lengths[i], m->host.labels[i]);
        for (int j = 0; j < STEPS * FEATURES; j++)
            CHECK(x[j] == (j / FEATURES < length_of(from) ? (real)from / 4 : 0),
                  "sample %d, element %d: %g", i, j, (double)x[j]);
    }
}

static void check_all_steps(struct nn_model *m)
{
    static const real x[2 * STEPS * FEATURES];
    static const int32_t y[2] = {0, 2};
    nn_model_eval(m, &(struct nn_batch){.n = 2, .x = x, .labels = y});
    CHECK(m->host.lengths[0] == STEPS && m->host.lengths[1] == STEPS && m->host.lengths[2] != STEPS,
          "lengths %d %d %d", m->host.lengths[0], m->host.lengths[1], m->host.lengths[2]);
}

int main(void)
{
    int n_closed = 0;
    struct dataset *d = open_sequences(&n_closed);
    const struct dataset_augment augment = {.seed = 1};
    const struct nn_shape in = dataset_shape(d);
    struct nn_target wants = {.n = 0};
    struct nn_model *m = NULL;
    struct feed *f = NULL;
    CHECK(nn_model_wants("mlp", in, CLASSES, &wants) == 0 && wants.kind == NN_CLASS && wants.n == 1,
          "kind %d, %d labels", (int)wants.kind, wants.n);
    CHECK(dataset_suits(d, "mlp", wants) == 0, "sequences with a class do not suit mlp");
    if (!nn_model_open(&nn_cpu, NULL, "mlp", in, CLASSES, BATCH, 1, &m) &&
        !feed_open(m, d, &augment, BATCH, &f)) {
        check_pass(m, f, true);
        check_pass(m, f, false);
        check_all_steps(m);
    }
    CHECK(f, "no model or no feed");
    feed_close(f);
    nn_model_close(m);
    dataset_close(d);
    CHECK(n_closed == 1, "closed %d times", n_closed);
    DONE();
}
