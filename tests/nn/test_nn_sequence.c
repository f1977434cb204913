/* test_nn_sequence.c : narrow sequence networks memorise one batch. A sample's answer depends only
 * on its own steps. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "capture.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/model.h"
#include "nn/optim/optim.h"

enum { STEPS = 24, FEATURES = 7, CLASSES = 6, BATCH = 6, LABELS = 5 };
static const int32_t lengths[BATCH] = {24, 9, 17, 24, 12, 20};

struct sequences {
    real x[BATCH][STEPS][FEATURES];
    int32_t labels[BATCH * STEPS];
};

static void fill(struct sequences *s, const struct nn_model *m)
{
    const struct nn_target target = nn_model_target(m);
    CHECK(target.n == STEPS, "%d labels a sample, not %d", target.n, STEPS);
    for (size_t i = 0; i < sizeof s->x / sizeof(real); i++)
        (&s->x[0][0][0])[i] = (real)((double)philox_u32(7, i) * 0x1p-31 - 1);
    for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < STEPS; t++) {
            const int n = target.kind == NN_TRANSCRIPT ? LABELS - b % LABELS : lengths[b];
            const int32_t label =
                1 + (int32_t)(philox_u32(8, (uint64_t)(b * STEPS + t)) % (CLASSES - 1));
            s->labels[b * STEPS + t] = t < n ? label : NN_IGNORED;
        }
}

static struct nn_model *open_narrow(const char *name)
{
    const struct nn_setup setup = {.math = NN_FP32, .width = 0.0625};
    struct nn_model *m;
    if (nn_model_open(&nn_cpu, &setup, name, (struct nn_shape){STEPS, 1, FEATURES}, CLASSES, BATCH,
                      1, &m) < 0)
        exit(1);
    return m;
}

static bool learned(const struct nn_result *r, double first)
{
    return r->n_correct == r->n_labels && r->n_edits == 0 && r->loss_sum < first / 10;
}

/* Another CBLAS rounds differently and needs more steps or fewer. */
static void check_learns(const char *name, double lr, int most)
{
    static struct sequences s;
    const struct optim_options options = {.momentum = 0.9, .bias_rate = 1};
    struct nn_model *m = open_narrow(name);
    struct optim *o;
    size_t n_weights;
    int n_params;
    const struct nn_param *params = nn_model_params(m, &n_params);
    real *w = nn_model_weights(m, &n_weights);
    if (optim_open(&nn_cpu, nn_model_ctx(m), &options, params, n_params, n_weights, &o) < 0)
        exit(1);
    fill(&s, m);
    const struct nn_batch batch = {
        .n = BATCH, .x = &s.x[0][0][0], .labels = s.labels, .lengths = lengths};
    struct nn_result r = nn_model_eval(m, &batch);
    const double first = r.loss_sum;
    int i = 0;
    for (; i < most && !learned(&r, first); i++) {
        nn_model_train(m, &batch, (uint64_t)i, NULL, NULL);
        optim_step(o, w, nn_model_grads(m), lr * fmin(1, (i + 1) / 20.0));
        r = nn_model_eval(m, &batch);
    }
    printf("%-8s %zu weights: loss %.3f, after %d steps %.4f; %d of %d, %d edits\n", name,
           n_weights, first, i, r.loss_sum, r.n_correct, r.n_labels, r.n_edits);
    CHECK(learned(&r, first), "%s learned %d of %d labels, loss %g", name, r.n_correct, r.n_labels,
          r.loss_sum);
    optim_close(o);
    nn_model_close(m);
}

/* beyond: a value of steps after the ends. Attention multiplies later steps by 0: they must be
 * finite. */
static void check_alone(const char *name, real beyond)
{
    static struct sequences s;
    struct nn_model *m = open_narrow(name);
    struct nn_batch batch = {
        .n = BATCH, .x = &s.x[0][0][0], .labels = s.labels, .lengths = lengths};
    double sum = 0;
    fill(&s, m);
    const struct nn_result all = nn_model_eval(m, &batch);
    for (int b = 0; b < BATCH; b++)
        for (int t = lengths[b]; t < STEPS; t++)
            s.x[b][t][0] = beyond;
    int n_labels = 0;
    for (int b = 0; b < BATCH; b++) {
        const struct nn_batch one = {
            .n = 1, .x = &s.x[b][0][0], .labels = s.labels + b * STEPS, .lengths = lengths + b};
        const struct nn_result r = nn_model_eval(m, &one);
        sum += r.loss_sum, n_labels += r.n_labels;
    }
    CHECK(fabs(sum - all.loss_sum) <= 1e-5 * sum && n_labels == all.n_labels && sum > 1,
          "%s: loss of a batch %g, of its samples %g", name, all.loss_sum, sum);
    batch.lengths = NULL; /* all steps: those after an end have no label */
    const bool changed = !(fabs(nn_model_eval(m, &batch).loss_sum - all.loss_sum) <= 1e-5 * sum);
    CHECK(changed == (nn_model_target(m).kind == NN_TRANSCRIPT), "%s: steps after an end: %d", name,
          changed);
    nn_model_close(m);
}

static void check_refusal(const char *name, const char *source)
{
    struct capture said;
    struct nn_model *m = NULL;
    capture_begin(&said);
    const int rc =
        nn_model_open(&nn_cpu, NULL, name, (struct nn_shape){32, 32, 3}, CLASSES, 1, 1, &m);
    capture_end(&said);
    CHECK(rc == -EINVAL && !m && capture_lines(said.text) == 1 && strstr(said.text, source),
          "%s over images: %d, %s", name, rc, said.text);
}

int main(void)
{
    nn_cpu_threads(1);
    puts("seeds: sequences 7, labels 8, weights 1");
    static const char *const names[] = {"lstm", "charlstm", "chargpt"};
    for (int i = 0; i < 3; i++) {
        check_alone(names[i], i == 2 ? 7 : (real)NAN);
        check_refusal(names[i], i ? "text:FILE" : "an4:DIR");
    }
    check_learns("lstm", 0.005, 3000);
    check_learns("charlstm", 0.5, 1500);
    check_learns("chargpt", 0.02, 1500);
    DONE();
}
