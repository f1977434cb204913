/* test_nn_dense.c : compares the loss of pixels, some ignored or nan, with a slow loop in
 * double. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/model_graph.h"

enum { ROWS = 60, CLASSES = 7 };

struct rows {
    real z[ROWS * CLASSES], dz[ROWS * CLASSES];
    int32_t labels[ROWS];
    uint32_t confusion[CLASSES * CLASSES];
    struct nn_result r;
};

static double random_at(uint64_t i)
{
    return (double)philox_u32(philox_key(5, 0, 0, 0, 0), i) * 0x1p-31 - 1;
}

static struct rows make_rows(int every)
{
    struct rows t;
    memset(&t, 0x5a, sizeof t); /* all results must be written */
    for (int i = 0; i < ROWS; i++) {
        t.labels[i] = every && i % every == 0 ? i * 5 % CLASSES : i % 2 ? NN_IGNORED : 255;
        for (int j = 0; j < CLASSES; j++)
            t.z[i * CLASSES + j] = i % 4 == 3 ? 1 : (real)(3 * random_at((uint64_t)(i * 9 + j)));
        if (i % 3 == 0)
            t.z[i * CLASSES + i * 5 % CLASSES] = 4;
    }
    return t;
}

static int largest(const real *z)
{
    int best = 0;
    for (int j = 1; j < CLASSES; j++)
        best = z[j] > z[best] ? j : best;
    return best;
}

static void check_against_slow(int every, double smoothing)
{
    struct rows t = make_rows(every);
    double loss = 0;
    int n = 0, correct = 0;
    uint32_t confusion[CLASSES * CLASSES] = {0};
    nn_cpu.dense_loss(NULL, ROWS, CLASSES, smoothing, t.z, t.labels, t.dz, t.confusion, &t.r, NULL);
    for (int i = 0; i < ROWS; i++)
        n += t.labels[i] >= 0 && t.labels[i] < CLASSES;
    for (int i = 0; i < ROWS; i++) {
        const real *z = t.z + i * CLASSES;
        const int label = t.labels[i];
        const bool there = label >= 0 && label < CLASSES;
        double sum = 0;
        for (int j = 0; j < CLASSES; j++)
            sum += exp((double)z[j]);
        for (int j = 0; j < CLASSES; j++) {
            const double target = (1 - smoothing) * (j == label) + smoothing / CLASSES;
            const double want = there ? (exp((double)z[j]) / sum - target) / n : 0;
            loss += there ? target * (log(sum) - (double)z[j]) : 0;
            const double got = (double)t.dz[i * CLASSES + j];
            CHECK(fabs(got - want) <= 1e-6 / (n ? n : 1), "row %d class %d: %g, not %g", i, j, got,
                  want);
        }
        if (!there)
            continue;
        correct += largest(z) == label;
        confusion[label * CLASSES + largest(z)]++;
    }
    CHECK(fabs(t.r.loss_sum - loss) <= 1e-5 * ROWS && t.r.n_labels == n && t.r.n_correct == correct,
          "every %d: loss %g, not %g; %d labels, not %d; %d hits, not %d", every, t.r.loss_sum,
          loss, t.r.n_labels, n, t.r.n_correct, correct);
    CHECK(memcmp(confusion, t.confusion, sizeof confusion) == 0, "every %d: other confusions",
          every);
    CHECK(!every || (correct > 0 && correct < n), "%d of %d: no test", correct, n);
}

static void check_nan(void)
{
    for (int bad = 0; bad < CLASSES; bad++)
        for (int label = 0; label < CLASSES; label++) {
            struct rows t = make_rows(1);
            t.z[bad] = (real)NAN;
            t.labels[0] = label;
            nn_cpu.dense_loss(NULL, 1, CLASSES, 0, t.z, t.labels, t.dz, t.confusion, &t.r, NULL);
            uint32_t all = 0;
            for (int i = 0; i < CLASSES * CLASSES; i++)
                all += t.confusion[i];
            CHECK(isnan(t.r.loss_sum) && t.r.n_correct == 0 && all == 1 &&
                      t.confusion[label * (CLASSES + 1)] == 0,
                  "nan at %d, label %d", bad, label);
        }
}

enum { SIDE = 4, BATCH = 5, PIXELS = SIDE * SIDE };

static int open_head(struct nn_model *m, int max_batch)
{
    if (graph_init(m, &nn_cpu, (struct nn_shape){SIDE, SIDE, 3}, max_batch))
        return -ENOMEM;
    graph_head(m, graph_conv(m, 0, "classifier", CLASSES, 3, 1, 1, true), &loss_dense, 1);
    const int rc = nn_cpu.open(NULL, &m->ctx);
    return rc ? rc : graph_plan(m, 1);
}

static void check_head(void)
{
    struct nn_model *m = calloc(1, sizeof *m);
    real x[BATCH * PIXELS * 3];
    int32_t labels[BATCH * PIXELS];
    int n_classes;
    for (int i = 0; i < BATCH * PIXELS * 3; i++)
        x[i] = (real)random_at((uint64_t)i);
    for (int i = 0; i < BATCH * PIXELS; i++)
        labels[i] = i % 6 ? i * 3 % CLASSES : NN_IGNORED;
    if (!m || open_head(m, BATCH)) {
        CHECK(false, "cannot open a head");
        return;
    }
    const struct nn_target target = nn_model_target(m);
    CHECK(target.kind == NN_DENSE && target.n == PIXELS, "%d labels", target.n);
    const struct nn_batch all = {.n = BATCH, .x = x, .labels = labels};
    const struct nn_result eval = nn_model_eval(m, &all);
    const uint32_t *confusion = nn_model_confusion(m, &n_classes);
    uint32_t sums[CLASSES * CLASSES], got[CLASSES * CLASSES] = {0};
    memcpy(sums, confusion, sizeof sums);
    uint32_t counted = 0, hits = 0;
    for (int i = 0; i < CLASSES * CLASSES; i++) {
        counted += sums[i];
        hits += i % (CLASSES + 1) ? 0 : sums[i];
    }
    CHECK(n_classes == CLASSES && (int)counted == eval.n_labels && (int)hits == eval.n_correct &&
              eval.n_labels == BATCH * PIXELS - (BATCH * PIXELS + 5) / 6,
          "%u labels, %u hits, by the result %d and %d", counted, hits, eval.n_labels,
          eval.n_correct);
    const struct nn_batch fewer = {2, x, NULL, labels, NULL};
    nn_model_train(m, &fewer, 1, NULL, NULL);
    const struct nn_result train = nn_model_train(m, &all, 1, NULL, NULL);
    CHECK(train.loss_sum == eval.loss_sum, "loss %g, in training %g", eval.loss_sum,
          train.loss_sum);
    nn_model_train(m, &fewer, 1, NULL, NULL);
    CHECK(!memcmp(sums, confusion, sizeof sums), "a training pass counts confusions");
    double loss = 0;
    for (int i = 0; i < BATCH; i++) {
        const struct nn_batch one = {1, x + i * PIXELS * 3, NULL, labels + i * PIXELS, NULL};
        loss += nn_model_eval(m, &one).loss_sum;
        for (int k = 0; k < CLASSES * CLASSES; k++)
            got[k] += confusion[k];
    }
    CHECK(!memcmp(sums, got, sizeof sums) && fabs(loss - eval.loss_sum) <= 1e-12 * loss,
          "images one by one: loss %.15g, not %.15g, or other confusions", loss, eval.loss_sum);
    nn_model_close(m);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        const double smoothing = (double[]){0, 0.1, 0.9}[i];
        check_against_slow(1, smoothing);
        check_against_slow(4, smoothing);
        check_against_slow(0, smoothing);
    }
    check_nan();
    check_head();
    DONE();
}
