/* test_nn_block.c : compares the forms of a residual block (--block) with the formula in double. */
#include "capture.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/model_graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BATCH = 2, SIDE = 28, CLASSES = 4 };

struct form {
    const char *word;
    bool swapped, zero_gamma;
    double factor;
};
static const struct form forms[] = {
    {"plain", false, false, 1},       {"plain:0.25", false, false, 0.25},
    {"zero-gamma", false, true, 1},   {"zero-gamma:0.5", false, true, 0.5},
    {"swap", true, false, 0.25},      {"swap:1", true, false, 1},
    {"swap:0.25", true, false, 0.25},
};

static float uniform(uint64_t key, uint64_t i)
{
    return (float)philox_u32(key, i) * 0x1p-31f - 1;
}

static struct nn_model *open_model(const char *name, const char *word)
{
    struct nn_block block;
    struct nn_model *m;
    const struct nn_setup setup = {.block = &block};
    CHECK(nn_block_spec(word, &block) == 0, "%s is refused", word);
    if (nn_model_open(&nn_cpu, &setup, name, (struct nn_shape){SIDE, SIDE, 3}, CLASSES, BATCH, 1,
                      &m) < 0)
        exit(1);
    return m;
}

/* eval: by the running statistics, else by the batch's */
static void check_channel(const struct nn_model *m, const struct node *node, const char *word,
                          size_t channel, bool eval)
{
    const size_t c = (size_t)node->window.in.c, n = batch_pixels(node->window.in, BATCH);
    const real *x = m->nodes[node->in].y,
               *addend = node->addend >= 0 ? m->nodes[node->addend].y : NULL;
    const double gamma = (double)graph_part(m, node, 0, m->weights)[channel],
                 beta = (double)graph_part(m, node, 1, m->weights)[channel];
    double mean = 0, var = 0, worst = 0;
    for (size_t r = 0; r < n && !eval; r++)
        mean += (double)x[r * c + channel] / (double)n;
    for (size_t r = 0; r < n && !eval; r++)
        var += pow((double)x[r * c + channel] - mean, 2) / (double)n;
    if (eval) {
        mean = (double)m->stats[node->stat + channel];
        var = (double)m->stats[node->stat + c + channel];
    }
    for (size_t r = 0; r < n; r++) {
        const size_t at = r * c + channel;
        const double hat = ((double)x[at] - mean) / sqrt(var + 1e-5),
                     more = addend ? (double)addend[at] : 0;
        double want = node->swapped ? gamma * (more + node->p * hat) + beta
                                    : node->p * (gamma * hat + beta) + more;
        want = node->relu && want < 0 ? 0 : want;
        const double error = fabs((double)node->y[at] - want) / (1 + fabs(want) + fabs(hat));
        worst = check_max(worst, error);
    }
    CHECK(worst < 64 * 0x1p-24, "%s, %s, channel %zu, eval %d: off by %g", word,
          m->params[node->first_param].name, channel, eval, worst);
}

static void check_norms(const struct nn_model *m, const char *word, bool eval)
{
    for (int i = 1; i < m->n_nodes; i++)
        for (int k = 0; m->nodes[i].kind == &layer_batch_norm && k < m->nodes[i].window.in.c;
             k += 5)
            check_channel(m, &m->nodes[i], word, (size_t)k, eval);
}

static void check_form(const char *name, const struct form *f, int n_blocks)
{
    struct nn_model *m = open_model(name, f->word);
    const size_t n_x = batch_elements(m->nodes[0].window.out, BATCH);
    real *x = malloc(n_x * sizeof *x);
    const int32_t labels[BATCH] = {1, 3};
    int n_ends = 0;
    bool stem = true;
    for (size_t i = 0; x && i < n_x; i++)
        x[i] = (real)uniform(1, i);
    for (int i = 1; i < m->n_nodes; i++) {
        const struct node *node = &m->nodes[i];
        if (node->kind != &layer_batch_norm)
            continue;
        const bool ends = node->addend >= 0;
        real *gamma = graph_part(m, node, 0, m->weights);
        n_ends += ends;
        CHECK(node->p == (stem ? 1 : f->factor), "%s, %s, node %d: times %g", name, f->word, i,
              node->p);
        CHECK(node->swapped == (ends && f->swapped), "%s, %s, node %d: swapped %d", name, f->word,
              i, node->swapped);
        CHECK(gamma[0] == (ends && f->zero_gamma ? 0 : 1) && gamma[node->window.in.c] == 0,
              "%s, %s, node %d: gamma begins at %g, beta at %g", name, f->word, i, (double)gamma[0],
              (double)gamma[node->window.in.c]);
        for (int k = 0; k < 2 * node->window.in.c; k++)
            gamma[k] += (real)0.3 * (real)uniform(2, (uint64_t)(i * 4096 + k));
        stem = false;
    }
    CHECK(n_ends == n_blocks, "%s: %d blocks end, not %d", name, n_ends, n_blocks);
    const struct nn_batch batch = {.n = BATCH, .x = x, .labels = labels};
    (void)nn_model_train(m, &batch, 0, NULL, NULL);
    check_norms(m, f->word, false);
    (void)nn_model_eval(m, &batch);
    check_norms(m, f->word, true);
    free(x);
    nn_model_close(m);
}

static void check_said(const char *what, const char *said, const char *words)
{
    CHECK(strstr(said, words) && capture_lines(said) == 1, "'%s': said '%s'", what, said);
}

static void check_refusals(void)
{
    static const char *const words[] = {"",       "swapped",  "swap:",      "swap:0",
                                        "swap:2", "swap:x",   "plain:-1",   "swap:0.25x",
                                        "zero",   "swap:nan", "plain: 0.5", "plain:0x1"};
    static const char *const names[] = {"mlp", "lenet5", "davidnet", "caffenet"};
    struct capture said;
    struct nn_block block;
    struct nn_model *m;
    const struct nn_setup setup = {.block = &block};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        capture_begin(&said);
        CHECK(nn_block_spec(words[i], &block) == -EINVAL, "'%s' is taken", words[i]);
        check_said(words[i], capture_end(&said), "--block");
    }
    for (size_t i = 0; i < 3 * sizeof names / sizeof *names; i++) {
        const char *name = names[i / 3];
        block = (struct nn_block){i % 3 == 0, i % 3 == 1, i % 3 == 2 ? 0.25 : 1};
        capture_begin(&said);
        CHECK(nn_model_open(&nn_cpu, &setup, name, (struct nn_shape){64, 64, 3}, 10, 1, 1, &m) ==
                  -EINVAL,
              "%s is taken", name);
        check_said(name, capture_end(&said), "no residual blocks");
    }
}

int main(void)
{
    nn_cpu_threads(1);
    puts("seeds: x 1, gammas and betas 2, weights 1");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        check_form("resnet8", &forms[i], 3);
        if (i == 4)
            check_form("resnet50", &forms[i], 16);
        else if (i % 2)
            check_form("resnet18", &forms[i], 8);
    }
    check_refusals();
    DONE();
}
