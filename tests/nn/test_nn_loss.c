/* test_nn_loss.c : compares --loss with stored values of the formula; only training smooths. */
#include "capture.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/model_graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BATCH = 6, SIDE = 32, CLASSES = 5 };

/* Values in 40 digits. */
static void check_stored(void)
{
    static const struct {
        real z[3];
        int classes;
        int32_t label;
        double smoothing, loss, gradient[3];
    } rows[] = {
        {{0, 0, 0}, 3, 1, 0.9, 1.098612288668110, {1 / 30.0, -2 / 30.0, 1 / 30.0}},
        {{1, 2, 3},
         3,
         2,
         0,
         0.4076059644443803,
         {0.09003057317038, 0.24472847105480, -0.33475904422518}},
        {{1, 2, 3},
         3,
         2,
         0.1,
         0.5076059644443803,
         {0.05669723983705, 0.21139513772146, -0.26809237755851}},
        {{1, 2, 3},
         3,
         0,
         0.1,
         2.307605964444380,
         {-0.84330276016295, 0.21139513772146, 0.63190762244149}},
        {{88, 89, 90},
         3,
         2,
         0.3,
         0.7076059644443803,
         {-0.00996942682962, 0.14472847105480, -0.13475904422518}},
        {{-200, 0, 0},
         3,
         0,
         0.25,
         167.3598138472266,
         {-0.83333333333333, 0.41666666666667, 0.41666666666667}},
        {{3, -1}, 2, 0, 0.5, 1.018149927917810, {0.23201379003791, -0.23201379003791}},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const int n = rows[i / 2].classes;
        const double smoothing = rows[i / 2].smoothing;
        real d[3];
        struct nn_result r;
        if (i % 2)
            nn_cpu.dense_loss(NULL, 1, n, smoothing, rows[i / 2].z, &rows[i / 2].label, d, NULL, &r,
                              NULL);
        else
            nn_cpu.softmax_loss(NULL, 1, n, smoothing, rows[i / 2].z, &rows[i / 2].label, d, &r);
        CHECK(fabs(r.loss_sum - rows[i / 2].loss) <= 1e-14 * rows[i / 2].loss,
              "row %zu: loss %.16g", i / 2, r.loss_sum);
        for (int j = 0; j < n; j++)
            CHECK(fabs((double)d[j] - rows[i / 2].gradient[j]) <= 0x1p-24, "row %zu: gradient %.9g",
                  i / 2, (double)d[j]);
    }
}

/* A logit of -inf makes another label's smoothed loss infinite, not its plain loss. */
static void check_infinite(void)
{
    const real z[3] = {(real)-INFINITY, 0, 0};
    const int32_t label = 1;
    struct nn_result plain, smoothed;
    nn_cpu.softmax_loss(NULL, 1, 3, 0, z, &label, NULL, &plain);
    nn_cpu.softmax_loss(NULL, 1, 3, 0.1, z, &label, NULL, &smoothed);
    CHECK(plain.loss_sum == log(2) && isinf(smoothed.loss_sum), "losses %g and %g", plain.loss_sum,
          smoothed.loss_sum);
}

struct net {
    const char *name;
    struct nn_shape in;
    const char *loss, *other;
};
static const struct net nets[] = {{"lenet5", {SIDE, SIDE, 1}, "cross-entropy", "ctc"},
                                  {"googlenet", {SIDE, SIDE, 3}, "cross-entropy", "ctc"},
                                  {"fcn", {SIDE, SIDE, 3}, "cross-entropy", "ctc"},
                                  {"charlstm", {7, 1, 4}, "cross-entropy", "ctc"},
                                  {"lstm", {9, 1, 4}, "ctc", "cross-entropy:smoothing=0.1"}};

static int open_net(const struct net *t, const char *word, struct nn_model **m)
{
    struct nn_loss loss;
    const struct nn_setup setup = {.loss = &loss, .width = 0.1};
    const int rc = nn_loss_spec(word, &loss);
    return rc ? rc : nn_model_open(&nn_cpu, &setup, t->name, t->in, CLASSES, BATCH, 1, m);
}

struct passes {
    double train, eval;
    uint64_t bits;
    double slow; /* all heads' loss from the training pass's logits */
};

static double slow_loss(const struct nn_model *m, const int32_t *labels, double smoothing)
{
    double sum = 0;
    for (int h = 0; h < m->n_heads; h++) {
        const struct node *node = &m->nodes[m->heads[h].node];
        const size_t rows = batch_pixels(node->window.out, BATCH);
        for (size_t i = 0; i < rows; i++) {
            const real *z = node->y + i * CLASSES;
            double all = 0;
            for (int j = 0; j < CLASSES; j++)
                all += exp((double)z[j]);
            for (int j = 0; j < CLASSES; j++)
                sum += m->heads[h].weight *
                       ((1 - smoothing) * (j == labels[i]) + smoothing / CLASSES) *
                       (log(all) - (double)z[j]);
        }
    }
    return sum;
}

static struct passes pass(const struct net *t, const char *word, double smoothing)
{
    struct nn_model *m;
    struct passes p = {.bits = 0xcbf29ce484222325};
    if (open_net(t, word, &m) < 0)
        exit(1);
    const struct nn_target target = nn_model_target(m);
    const size_t n = batch_elements(t->in, BATCH), n_labels = (size_t)(BATCH * target.n);
    real *x = malloc(n * sizeof *x);
    int32_t *labels = malloc(n_labels * sizeof *labels);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (real)philox_u32(1, i) * (real)0x1p-31 - 1;
    for (size_t i = 0; labels && i < n_labels; i++)
        labels[i] = target.kind == NN_TRANSCRIPT ? (i % (size_t)target.n ? -1 : 2)
                                                 : (int32_t)(philox_u32(2, i) % CLASSES);
    if (!x || !labels)
        exit(1);
    CHECK(!strcmp(nn_model_loss(m), t->loss), "%s: --loss %s is %s", t->name, word,
          nn_model_loss(m));
    const struct nn_batch b = {.n = BATCH, .x = x, .labels = labels};
    p.eval = nn_model_eval(m, &b).loss_sum;
    p.train = nn_model_train(m, &b, 3, NULL, NULL).loss_sum;
    if (target.kind != NN_TRANSCRIPT)
        p.slow = slow_loss(m, labels, smoothing);
    const uint8_t *bytes = (const uint8_t *)nn_model_grads(m);
    for (size_t i = 0; i < m->n_weights * sizeof(real); i++)
        p.bits = (p.bits ^ bytes[i]) * 0x100000001b3;
    nn_model_close(m);
    free(x), free(labels);
    return p;
}

static void check_net(const struct net *t)
{
    struct capture said;
    struct nn_model *m;
    const struct passes own = pass(t, "auto", 0), named = pass(t, t->loss, 0);
    CHECK(own.train == named.train && own.eval == named.eval && own.bits == named.bits,
          "%s: its own loss by name has other bits", t->name);
    capture_begin(&said);
    CHECK(open_net(t, t->other, &m) == -EINVAL, "%s takes --loss %s", t->name, t->other);
    capture_end(&said);
    CHECK(strstr(said.text, "choose auto or ") && strstr(said.text, t->loss) &&
              capture_lines(said.text) == 1,
          "%s: said '%s'", t->name, said.text);
    if (!strcmp(t->loss, "ctc"))
        return;
    const struct passes zero = pass(t, "cross-entropy:smoothing=0", 0),
                        tenth = pass(t, "cross-entropy:smoothing=0.1", 0.1);
    CHECK(own.train == zero.train && own.eval == zero.eval && own.bits == zero.bits,
          "%s: a smoothing of 0 has other bits", t->name);
    CHECK(tenth.eval == own.eval, "%s: evaluated with smoothing: %g, not %g", t->name, tenth.eval,
          own.eval);
    CHECK(tenth.bits != own.bits && fabs(tenth.train - tenth.slow) <= 1e-6 * tenth.slow &&
              fabs(own.train - own.slow) <= 1e-6 * own.slow && tenth.train != own.train,
          "%s: losses %.9g and smoothed %.9g, by the formula %.9g and %.9g", t->name, own.train,
          tenth.train, own.slow, tenth.slow);
}

static void check_words(void)
{
    static const char *const words[] = {"",
                                        "cross",
                                        "mse",
                                        "auto:smoothing=0.1",
                                        "cross-entropy:",
                                        "cross-entropy:0.1",
                                        "cross-entropy:smoothing",
                                        "cross-entropy:smoothing=",
                                        "cross-entropy:smoothing=x",
                                        "cross-entropy:smoothing=1",
                                        "cross-entropy:smoothing=-0.1",
                                        "cross-entropy:smoothing=nan",
                                        "cross-entropy:smoothing=0.1x",
                                        "cross-entropy:smoothing=0x0",
                                        "ctc:",
                                        "ctc:smoothing=0.1"};
    struct capture said;
    struct nn_loss loss;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        capture_begin(&said);
        CHECK(nn_loss_spec(words[i], &loss) == -EINVAL, "'%s' is taken", words[i]);
        capture_end(&said);
        CHECK(strstr(said.text, "--loss") && capture_lines(said.text) == 1, "'%s': said '%s'",
              words[i], said.text);
    }
    CHECK(!nn_loss_spec("auto", &loss) && !loss.name && loss.smoothing == 0, "auto");
    CHECK(!nn_loss_spec("cross-entropy:smoothing=0.25", &loss) && loss.smoothing == 0.25,
          "smoothing of 0.25 is %g", loss.smoothing);
}

int main(void)
{
    nn_cpu_threads(1);
    puts("seeds: x 1, labels 2, weights 1");
    check_stored();
    check_infinite();
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        check_net(&nets[i]);
    check_words();
    DONE();
}
