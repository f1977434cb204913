/* test_nn_round.c : narrow numbers between layers (nn/round/round_ops.h) give the bits of a slow
 * pass that rounds tensors with mf.h. */
#include "base/bits.h"
#include "gpu_models.h"
#include "hls/arith/mf.h"
#include "nn/round/round_ops.h"

enum { BATCH = 6 };

static float slow_round(const struct round_rule *r, float x)
{
    const uint32_t code = mf_enc(r->fmt, bits_of(x), r->shift, MF_NEAREST, r->overflow, 0);
    return float_of(mf_dec(r->fmt, code, -r->shift));
}

static void round_all(const struct round_setup *s, enum round_what what, real *x, size_t n)
{
    for (size_t i = 0; s->of[what].on && x && i < n; i++)
        x[i] = slow_round(&s->of[what].rule, x[i]);
}

static size_t out_n(const struct node *node)
{
    return batch_elements(node->window.out, BATCH);
}

static void round_weights(struct nn_model *m, const struct round_setup *s)
{
    for (int i = 1; i < m->n_nodes; i++)
        for (int k = 0; k < m->nodes[i].n_params; k++)
            if (m->nodes[i].kind == &layer_conv || m->nodes[i].kind == &layer_linear)
                round_all(s, ROUND_WEIGHT, graph_part(m, &m->nodes[i], k, m->weights),
                          m->params[m->nodes[i].first_param + k].n);
}

static void mask_relu(const struct node *node)
{
    for (size_t i = 0; node->kind == &layer_batch_norm && node->relu && i < out_n(node); i++)
        node->dy[i] = node->y[i] > 0 ? node->dy[i] : 0;
}

static struct nn_result slow_pass(struct nn_model *m, const struct round_setup *s,
                                  const struct images *d, bool train)
{
    round_weights(m, s);
    *m->words.key = 3;
    *m->words.scale_now = 1;
    memcpy(m->words.labels, d->labels, (size_t)d->n * sizeof *d->labels);
    memcpy(m->nodes[0].y, d->x, d->size * sizeof *d->x);
    for (int i = 1; i < m->n_nodes; i++) {
        m->nodes[i].kind->forward(m, &m->nodes[i], BATCH, train);
        round_all(s, ROUND_ACT, m->nodes[i].y, out_n(&m->nodes[i]));
    }
    struct node *top = &m->nodes[m->heads[0].node];
    m->heads[0].loss->pass(m, top, BATCH, train ? top->dy : NULL, &m->words.results[0]);
    if (train)
        round_all(s, ROUND_ACT_GRAD, top->dy, out_n(top));
    for (int i = m->n_nodes - 1; train && i > 0; i--) {
        struct node *node = &m->nodes[i], *in = &m->nodes[node->in];
        mask_relu(node);
        node->kind->backward(m, node, BATCH);
        round_all(s, ROUND_ACT_GRAD, in->dy, out_n(in));
        if (node->addend > 0)
            round_all(s, ROUND_ACT_GRAD, m->nodes[node->addend].dy, out_n(node));
    }
    return m->words.results[0];
}

static size_t n_differ(const real *a, const real *b, size_t n)
{
    size_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad += memcmp(a + i, b + i, sizeof *a) && !(isnan(a[i]) && isnan(b[i]));
    return bad;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static struct round_setup setup_of(const char *words, int shift)
{
    struct round_setup s;
    CHECK(round_spec(words, &s) == 1, "%s: refused", words);
    s.below = &nn_cpu;
    s.of[ROUND_ACT_GRAD].rule.shift = shift;
    return s;
}

/* Overlapping windows add gradients; one tensor has two readers. */
static struct nn_model *open_pools(const struct nn_ops *ops, const struct nn_setup *setup,
                                   struct nn_shape in)
{
    struct nn_model *m = malloc(sizeof *m);
    if (!m || graph_init(m, ops, in, BATCH) < 0)
        exit(1);
    m->scale.value = 1;
    int x = graph_pool_max(m, graph_conv(m, 0, "conv1", 6, 3, 1, 1, true), 3, 1, 1);
    x = graph_pool_avg(m, graph_conv(m, x, "conv2", 6, 3, 1, 1, true), 3, 1, 1);
    const int y = graph_bilinear(m, graph_pool_avg(m, x, 3, 2, 0), in.h, in.w);
    x = graph_concat(m, (const int[]){y, graph_conv(m, x, "conv3", 4, 1, 1, 0, true)}, 2);
    x = graph_linear(m, graph_pool_max(m, x, 3, 2, 0), "classifier", CLASSES, true);
    graph_head(m, x, &loss_class, 1);
    if (ops->open(setup, &m->ctx) < 0 || graph_plan(m, 4) < 0)
        exit(1);
    return m;
}

static struct nn_model *open_model(const struct nn_ops *ops, const struct nn_setup *setup,
                                   const char *name)
{
    const struct nn_shape small = {12, 11, 3}, large = {28, 28, 1};
    struct nn_model *m =
        !strcmp(name, "pools")
            ? open_pools(ops, setup, small)
            : model_open(ops, setup, name, strcmp(name, "kinds") ? large : small, BATCH);
    for (int k = 0; k < m->n_params; k++)
        for (size_t i = 0; m->params[k].bias && i < m->params[k].n; i++)
            m->weights[m->params[k].offset + i] = (real)uniform(5, i) / 4;
    return m;
}

static void check(const char *name, const char *words, int shift, bool same_as_plain)
{
    const struct round_setup s = setup_of(words, shift);
    const struct nn_setup setup = {.round = &s};
    struct nn_model *round = open_model(&nn_round, &setup, name);
    struct nn_model *slow = open_model(&nn_cpu, NULL, name);
    struct nn_model *plain = open_model(&nn_cpu, NULL, name);
    struct images d = images_open(plain->nodes[0].window.out, BATCH);
    const struct answer a = answer_of(round, &d), p = answer_of(plain, &d);
    const struct nn_result want = slow_pass(slow, &s, &d, true);
    CHECK(same(a.r.loss_sum, want.loss_sum) && a.r.n_correct == want.n_correct,
          "%s: loss %.9g, slow %.9g", words, a.r.loss_sum, want.loss_sum);
    for (int i = 1; i < slow->n_nodes; i++)
        CHECK(n_differ(round->nodes[i].y, slow->nodes[i].y, out_n(&slow->nodes[i])) == 0,
              "%s: output of node %d, %s", words, i, slow->nodes[i].kind->name);
    for (int k = 0; k < slow->n_params; k++)
        CHECK(n_differ(a.grads + slow->params[k].offset, slow->grads + slow->params[k].offset,
                       slow->params[k].n) == 0,
              "%s: gradient of %s", words, slow->params[k].name);
    CHECK(n_differ(round->stats, slow->stats, slow->n_stats) == 0, "%s: running statistics", words);
    CHECK((n_differ(a.grads, p.grads, slow->n_weights) == 0) == same_as_plain,
          "%s: gradients are %s those without", words, same_as_plain ? "not" : "still");
    CHECK(n_differ(round->weights, plain->weights, slow->n_weights) == 0,
          "%s: the optimiser's weights have changed", words);
    const double eval = nn_model_eval(round,
                                      &(struct nn_batch){.n = BATCH, .x = d.x, .labels = d.labels})
                            .loss_sum,
                 want_eval = slow_pass(slow, &s, &d, false).loss_sum;
    CHECK(same(eval, want_eval), "%s: evaluation %.9g, slow %.9g", words, eval, want_eval);
    printf("%-7s %-46s loss %.6f, without %.6f\n", name, words, a.r.loss_sum, p.r.loss_sum);
    free(a.grads), free(p.grads);
    nn_model_close(round), nn_model_close(slow), nn_model_close(plain);
    images_close(&d);
}

static void check_values(void)
{
    enum { N = 5000 };
    static float x[N], y[N];
    const struct round_rule rules[] = {{{4, 3, 0}, MF_SATURATE, 0}, {{4, 3, 0}, MF_INF, 3},
                                       {{4, 3, 1}, MF_INF, -2},     {{5, 2, 0}, MF_SATURATE, 12},
                                       {{3, 0, 0}, MF_SATURATE, 0}, {{8, 23, 0}, MF_INF, 0},
                                       {{6, 9, 0}, MF_INF, -40}};
    for (int i = 0; i < N; i++) {
        const uint32_t bits = philox_u32(7, (uint64_t)i);
        memcpy(x + i, &bits, sizeof bits);
        if (i % 2)
            x[i] = ldexpf((float)(bits % 64) / 32, (int)(bits >> 16) % 24 - 12);
    }
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        for (size_t n = 0; n <= N; n = n * 3 + 1) {
            size_t bad = 0;
            memset(y, 0xa5, sizeof y);
            nn_cpu.round_to(NULL, n, &rules[r], x, y);
            for (size_t i = 0; i < n; i++) {
                const float want = slow_round(&rules[r], x[i]);
                bad += n_differ(&y[i], &want, 1);
            }
            CHECK(bad == 0, "rule %zu: %zu of %zu values", r, bad, n);
            CHECK(n == N || *(unsigned char *)&y[n] == 0xa5, "rule %zu: written beyond %zu", r, n);
        }
}

static void check_words(void)
{
    const char *const wrong[] = {"",
                                 "act",
                                 "act=",
                                 "act=e9m3",
                                 "acts=e4m3",
                                 "act=e4m3,",
                                 "act=e4m3,act=e4m3",
                                 "overflow=inf",
                                 "act=e4m3,overflow=wrap",
                                 "act=e4m3,overflow=inf,overflow=inf",
                                 "act=e4m3 ,error=e5m2",
                                 "act=e4m3e4m3e4m3e4m3e4m3"};
    struct round_setup s = {.below = &nn_cuda};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(round_spec(wrong[i], &s) == -EINVAL, "\"%s\" was taken", wrong[i]);
    CHECK(round_spec("none", &s) == 0 && s.below == &nn_cuda, "none: something was written");
    CHECK(round_spec("error=fp16,overflow=inf,act=e4m3fn", &s) == 1 && !s.of[ROUND_WEIGHT].on &&
              s.of[ROUND_ACT_GRAD].rule.fmt.m == 10 && s.of[ROUND_ACT].rule.overflow == MF_INF &&
              s.of[ROUND_ACT].rule.fmt.flavour,
          "error=fp16,overflow=inf,act=e4m3fn is read otherwise");
}

static void check_table(void)
{
    void (*slots[sizeof nn_round / sizeof(void (*)(void))])(void);
    memcpy(slots, &nn_round, sizeof nn_round);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        CHECK(slots[i], "slot %zu of the table is empty", i);
}

int main(void)
{
    nn_cpu_threads(1);
    puts("seeds: images 1, weights 4, biases 5, dropout 3, values 7");
    check_table();
    check_words();
    check_values();
    check("kinds", "act=e8m23,weight=e8m23,error=e8m23", 0, true);
    check("kinds", "act=e4m3", 0, false);
    check("kinds", "weight=e3m4", 0, false);
    check("kinds", "error=e5m2", 10, false);
    check("kinds", "error=e5m2", 0, false);
    check("kinds", "act=e4m3,weight=e4m3fn,error=e5m2", 8, false);
    check("kinds", "act=e2m1,weight=e2m1,error=e6m9,overflow=inf", 0, false);
    check("kinds", "act=e1m2,weight=e3m0,error=e3m0", 6, false);
    check("lenet5", "act=e5m2,weight=e4m3,error=e4m3", 9, false);
    check("lenet5", "error=e3m0", 9, false);
    check("pools", "act=e4m3,error=e4m3", 9, false);
    (void)nudge_of, (void)sensitivity;
    DONE();
}
