/* test_loss_scale.c : compares adaptive loss scaling with its source. Powers of two at layers'
 * ends change no bit of the weights. */
#include "gpu_models.h"
#include "nn/optim/optim.h"
#include "nn/round/round_ops.h"

enum { BATCH = 2, RANDOM = 20000 };

static double power(uint64_t key, uint64_t i, int low, int high)
{
    return ldexp(1, low + (int)(philox_u32(key, i) % (uint32_t)(high - low + 1)));
}

static double real_in(uint64_t key, uint64_t i, int low, int high)
{
    return power(key, 2 * i, low, high) * (1 + (double)philox_u32(key, 2 * i + 1) * 0x1p-32);
}

static void check_tail(void)
{
    const double ts[] = {1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5};
    for (size_t i = 0; i < sizeof ts / sizeof *ts; i++) {
        const double x = sqrt(scale_tail(ts[i]) / 2);
        CHECK(fabs(erf(x) / ts[i] - 1) < 1e-13, "T %g: erf gives back %.17g", ts[i], erf(x));
    }
    CHECK(fabs(sqrt(scale_tail(1e-3)) - 1.2533e-3) < 5e-8, "%.9g", sqrt(scale_tail(1e-3)));
}

static struct node_scale random_scale(uint64_t i)
{
    const double g = real_in(1, i, -40, 14), w = real_in(2, i, -12, 4);
    return (struct node_scale){.carried = (float)power(3, i, -3, 16),
                               .own = 1,
                               .dy = {g * g * real_in(4, i, -16, -1), (float)g},
                               .w = {w * w * real_in(5, i, -8, -1), (float)w},
                               .dx = {0, (float)real_in(6, i, -30, 15)}};
}

/* Close to a power of two both answers are right. */
static bool near_a_power(double x)
{
    int e;
    const double m = frexp(x, &e);
    return (m > 0.5 && m < 0.5 * (1 + 1e-12)) || m > 1 - 1e-12;
}

static double slow_own(const struct scale_rule *r, const struct node_scale *n, double terms)
{
    const double sigma = sqrt(n->dy.square) * sqrt(n->w.square),
                 grown = fmax(1, terms * (double)n->w.largest);
    double s = fmax(1, r->least / (sqrt(r->tail) * sigma));
    s = fmin(s, r->largest / (grown * (double)n->dy.largest));
    s = fmin(s, fmin(r->highest / (double)n->carried, r->most));
    return s;
}

static void check_rule(void)
{
    struct scale_choice c;
    int lifted = 0, lowered = 0, untouched = 0;
    CHECK(scale_spec("adaptive:0.001,1,1024,16", &c) == 0, "adaptive");
    scale_format(&c.adaptive.rule, mf_half());
    const struct scale_rule *r = &c.adaptive.rule;
    CHECK(r->least == 0x1p-24 && r->largest == 65504 && r->highest == 1024 && r->most == 16,
          "%g %g %g %g", r->least, r->largest, r->highest, r->most);
    for (uint64_t i = 0; i < RANDOM; i++) {
        struct node_scale node = random_scale(i), in = {.carried = 1};
        const double terms = power(7, i, 0, 12), want = slow_own(r, &node, terms);
        if (near_a_power(want))
            continue;
        scale_layer(r, terms, 0, 1, &node, &in);
        const double s = exp2(floor(log2(want)));
        CHECK((double)node.own == s, "%llu: s %g, not %g", (unsigned long long)i, (double)node.own,
              s);
        CHECK(node.divisor == node.carried * node.own && in.carried == node.divisor,
              "%llu: carried on %g", (unsigned long long)i, (double)in.carried);
        lifted += s > 1, lowered += s < 1, untouched += s == 1;
    }
    CHECK(lifted > 500 && lowered > 500 && untouched > 500, "%d %d %d", lifted, lowered, untouched);
    struct node_scale zero = {.carried = 4, .own = 8, .w = {1, 1}}, in = {.carried = 1},
                      same = zero;
    scale_layer(r, 9, 0, 1, &zero, &in);
    CHECK(zero.own == 1 && in.carried == 4, "a gradient of zeros: s %g", (double)zero.own);
    scale_layer(r, 9, 0, 0, &same, &in);
    CHECK(same.own == 8 && in.carried == 32, "not refreshed: s %g", (double)same.own);
    same.dy = (struct scale_moments){(double)INFINITY, INFINITY};
    scale_layer(r, 9, 0, 1, &same, &in);
    CHECK(same.own == 1, "not finite: s %g", (double)same.own);
}

/* Neither branch nor their sum overflows; twice the scale would overflow, or exceed both branches'
 * scales. */
static void check_meeting(void)
{
    int lowered = 0, raised = 0;
    struct scale_choice c;
    CHECK(scale_spec("adaptive", &c) == 0, "adaptive");
    scale_format(&c.adaptive.rule, mf_half());
    for (uint64_t i = 0; i < RANDOM; i++) {
        struct node_scale node = random_scale(i), in = {.carried = (float)power(8, i, -3, 16)},
                          alone = node, none = {.carried = 1};
        const double terms = i % 5 ? power(7, i, 0, 12) : 0, theirs = (double)in.carried;
        scale_layer(&c.adaptive.rule, terms, 0, 1, &alone, &none);
        scale_layer(&c.adaptive.rule, terms, 1, 1, &node, &in);
        const double grown = fmax(1, terms * (double)node.w.largest),
                     top = (double)node.own * grown * (double)node.dy.largest +
                           (double)node.other * (double)node.dx.largest,
                     most = fmax((double)alone.divisor, theirs), to = (double)node.divisor;
        CHECK(to == (double)node.carried * (double)node.own && to == theirs * (double)node.other &&
                  to == (double)in.carried,
              "%llu: the branches carry %g and %g", (unsigned long long)i,
              (double)node.carried * (double)node.own, theirs * (double)node.other);
        CHECK(top <= 65504 && to <= most && (to == most || 2 * top > 65504),
              "%llu: meet at %g of %g, largest %g", (unsigned long long)i, to, most, top);
        lowered += to<most, raised += to> theirs;
    }
    CHECK(lowered > 1000 && raised > 1000, "%d %d", lowered, raised);
}

static void check_moments(void)
{
    real x[100];
    void *ctx;
    const uint32_t yes = 1, no = 0;
    if (nn_cpu.open(NULL, &ctx) < 0)
        exit(1);
    for (size_t n = 0; n <= 100; n++) {
        struct scale_moments got = {-1, -1};
        long double sum = 0;
        double most = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = (real)(uniform(9, i) * power(10, i, -60, 60));
            sum += (long double)x[i] * x[i];
            most = fmax(most, fabs((double)x[i]));
        }
        nn_cpu.moments(ctx, n, x, &no, &got, NULL);
        CHECK(got.square == -1, "%zu: moments that nobody wants", n);
        nn_cpu.moments(ctx, n, x, &yes, &got, NULL);
        const double want = n ? (double)(sum / n) : 0;
        CHECK(fabs(got.square - want) <= 1e-14 * want && (double)got.largest == most,
              "%zu: %g %g, not %g %g", n, got.square, (double)got.largest, want, most);
    }
    const struct round_rule half = {mf_half(), MF_INF, 0};
    const float four = 4, quarter = 0.25F;
    x[0] = 60000, x[1] = 16376, x[2] = (real)0x3p-24;
    nn_cpu.scale_by(ctx, 3, &four, &half, x);
    CHECK(!isfinite((double)x[0]) && x[1] == 65504, "4 * 60000 is %g in e5m10", (double)x[0]);
    nn_cpu.scale_by(ctx, 3, &quarter, &half, x);
    CHECK(x[2] == (real)0x3p-24, "there and back: %g", (double)x[2]);
    x[2] = (real)0x3p-24;
    nn_cpu.scale_by(ctx, 3, &quarter, &half, x);
    CHECK(x[2] == (real)0x1p-24, "a quarter of 3 of the least: %g", (double)x[2]);
    nn_cpu.close(ctx);
}

static const struct optim_options sgd = {.momentum = 0.9, .weight_decay = 1e-4, .bias_rate = 1};

struct learner {
    struct nn_model *m;
    struct optim *o;
    real *w;
    size_t n;
};

static struct learner learner_open(const struct nn_ops *ops, const struct nn_setup *setup,
                                   const char *name, struct nn_shape in, int batch)
{
    struct learner l = {.m = model_open(ops, setup, name, in, batch)};
    l.w = nn_model_weights(l.m, &l.n);
    if (optim_open(ops, nn_model_ctx(l.m), &sgd, l.m->params, l.m->n_params, l.n, &l.o) < 0)
        exit(1);
    return l;
}

static void learner_close(struct learner *l)
{
    optim_close(l->o);
    nn_model_close(l->m);
}

static void step(struct learner *l, const struct images *d, uint64_t key)
{
    (void)nn_model_train(l->m, &(struct nn_batch){.n = d->n, .x = d->x, .labels = d->labels}, key,
                         NULL, NULL);
    nn_model_loss_scale_update(l->m, true);
    optim_step(l->o, l->w, nn_model_grads(l->m), 0.002);
}

static void check_planted(const char *name, double width, struct nn_shape in, int steps)
{
    struct scale_choice c;
    CHECK(scale_spec("adaptive", &c) == 0, "adaptive");
    const struct nn_setup setup = {.scaled = true, .adaptive = &c.adaptive, .width = width},
                          unscaled = {.width = width};
    struct learner plain = learner_open(&nn_cpu, &unscaled, name, in, BATCH),
                   scaled = learner_open(&nn_cpu, &setup, name, in, BATCH);
    struct images d = images_open(in, BATCH);
    int n_scaled = 0, n_met = 0;
    real *start = fetch(plain.m, plain.w);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < scaled.m->n_nodes; i++)
            scaled.m->host.scales[i].planted = (float)power(11, (uint64_t)(t * 1000 + i), -20, 20);
        d.x[(size_t)t * 31 % d.size] += (real)0.5;
        step(&plain, &d, (uint64_t)t);
        step(&scaled, &d, (uint64_t)t);
        for (int i = 0; i < scaled.m->n_nodes; i++) {
            n_scaled += scaled.m->host.scales[i].divisor != 1;
            n_met += scaled.m->host.scales[i].other != 1;
        }
    }
    CHECK(n_scaled > steps * (scaled.m->n_nodes - 8) * 9 / 10 && n_met > steps / 2,
          "%s: only %d of %d scales are not 1, %d of those that meet", name, n_scaled,
          steps * scaled.m->n_nodes, n_met);
    CHECK(isfinite((double)plain.w[0]) && memcmp(start, plain.w, plain.n * sizeof *start),
          "%s: nothing was learned", name);
    CHECK(!memcmp(plain.w, scaled.w, plain.n * sizeof *start),
          "%s: scales changed the weights: apart by %g", name,
          distance(plain.w, scaled.w, plain.n));
    free(start);
    images_close(&d);
    learner_close(&plain);
    learner_close(&scaled);
}

static double norm_of(const real *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)a[i];
    return sqrt(sum);
}

/* A network whose activation gradients are in `format`, and its batch. */
struct narrowed {
    const char *format, *network;
    int batch;
    double classifier; /* factor on its weights: a small one makes small gradients */
};

/* Runs a second pass up to the losses' gradients, and scales them. Each value must be one of the
 * format's, and with scales close to the wide gradient. A whole pass would leave the gradients of
 * other layers in their place. */
static void check_heads(const struct narrowed *of, struct nn_model *wide, struct nn_model *m,
                        const struct round_rule *r)
{
    graph_forward(wide, of->batch, true);
    graph_forward(m, of->batch, true);
    for (int h = m->n_heads - 1; h >= 0; h--) {
        const int i = m->heads[h].node;
        const size_t n = batch_elements(m->nodes[i].window.out, of->batch);
        real *dy = m->nodes[i].dy, *rounded = malloc(n * sizeof *rounded);
        if (m->adaptive)
            graph_scale_node(m, i, of->batch);
        nn_cpu.round_to(NULL, n, r, dy, rounded);
        CHECK(!memcmp(rounded, dy, n * sizeof *rounded), "%s in %s: head %d is not rounded",
              of->network, of->format, h);
        for (size_t k = 0; k < n && m->adaptive; k++)
            rounded[k] /= (real)m->host.scales[i].own;
        const real *want = wide->nodes[i].dy;
        const double off = distance(want, rounded, n) / norm_of(want, n);
        CHECK(!m->adaptive || off < 0.05, "%s in %s: head %d is off by %g", of->network, of->format,
              h, off);
        free(rounded);
    }
}

/* The first layer's relative error with all activation gradients in the format. */
static double error_in(const struct narrowed *of, struct scale_setup *adaptive,
                       struct nn_model **out)
{
    const struct nn_shape in = {28, 28, 3};
    static struct round_setup rounds;
    char spec[64];
    (void)snprintf(spec, sizeof spec, "error=%s,overflow=inf", of->format);
    CHECK(round_spec(spec, &rounds) == 1, "%s", spec);
    rounds.below = &nn_cpu;
    if (adaptive)
        scale_format(&adaptive->rule, rounds.of[ROUND_ACT_GRAD].rule.fmt);
    const struct nn_setup setup = {
        .round = &rounds, .adaptive = adaptive, .scaled = adaptive, .watched = true};
    struct nn_model *plain = model_open(&nn_cpu, NULL, of->network, in, of->batch),
                    *narrow = model_open(&nn_round, &setup, of->network, in, of->batch);
    size_t n;
    for (int k = 0; k < plain->n_params && of->classifier != 1; k++)
        for (size_t i = 0; i < plain->params[k].n && strstr(plain->params[k].name, "classifier");
             i++) {
            const size_t at = plain->params[k].offset + i;
            plain->weights[at] = narrow->weights[at] = (real)(uniform(12, i) * of->classifier);
        }
    struct images d = images_open(in, of->batch);
    nn_model_watch(narrow, true);
    const struct answer a = answer_of(plain, &d), b = answer_of(narrow, &d);
    n = plain->params[0].n;
    const double error = distance(a.grads, b.grads, n) / norm_of(a.grads, n);
    CHECK(isfinite(error), "gradients that are not finite");
    check_heads(of, plain, narrow, &rounds.of[ROUND_ACT_GRAD].rule);
    free(a.grads), free(b.grads);
    images_close(&d);
    nn_model_close(plain);
    *out = narrow;
    return error;
}

static void check_e5m10(void)
{
    struct scale_choice c;
    struct nn_model *none, *adaptive;
    int lifted = 0;
    CHECK(scale_spec("adaptive", &c) == 0, "adaptive");
    const struct narrowed of = {"e5m10", "resnet8", 8, 0x1p-14};
    const double without = error_in(&of, NULL, &none), with = error_in(&of, &c.adaptive, &adaptive);
    for (int i = 1; i < adaptive->n_nodes; i++) {
        const struct node_scale *s = &adaptive->host.scales[i];
        lifted += s->own > 1;
        CHECK(s->own <= 65504 && s->divisor <= 65504, "node %d: s %g, S %g", i, (double)s->own,
              (double)s->divisor);
    }
    printf("e5m10, resnet8, small gradients: off by %.4f without scales, %.4f with %d above 1\n",
           without, with, lifted);
    struct nn_back last;
    uint32_t lost = 0;
    CHECK(nn_model_back(none, 6, &last) && !strcmp(last.name, "s0b0.conv1.weight") &&
              !nn_model_back(none, 7, &last),
          "the layers that hand gradients back");
    for (int i = 0; i < TALLY_BIAS - 24; i++)
        lost += last.tally->bins[i];
    CHECK(lost > 1000, "%u values below 2^-24: counted once they were rounded?", lost);
    CHECK(with < without / 10 && lifted > 0, "off by %g without scales, %g with", without, with);
    nn_model_close(none);
    nn_model_close(adaptive);
}

/* In a large batch the loss's gradient is below e4m3's smallest number, so it must not be rounded
 * before its layer scales it. "single" is one layer, which has no scale; "branches" has two
 * heads. */
static void check_e4m3(void)
{
    static const struct narrowed of[] = {
        {"e4m3", "mlp", 128, 1}, {"e4m3", "single", 8, 1}, {"e4m3", "branches", 64, 1}};
    for (int i = 0; i < (int)(sizeof of / sizeof *of); i++) {
        struct scale_choice c;
        struct nn_model *none, *adaptive;
        CHECK(scale_spec("adaptive", &c) == 0, "adaptive");
        const double without = error_in(&of[i], NULL, &none),
                     with = error_in(&of[i], &c.adaptive, &adaptive);
        printf("e4m3, %s, %d images: off by %.4f without scales, %.4f with\n", of[i].network,
               of[i].batch, without, with);
        CHECK(i > 0 || (with < 0.1 && without > 0.5), "off by %g without scales, %g with", without,
              with);
        nn_model_close(none);
        nn_model_close(adaptive);
    }
}

static void check_watched(void)
{
    const struct nn_shape in = {28, 28, 1};
    struct round_setup rounds;
    CHECK(round_spec("error=e8m23", &rounds) == 1, "e8m23");
    rounds.below = &nn_cpu;
    const struct nn_setup setup = {.watched = true}, narrow = {.watched = true, .round = &rounds};
    struct nn_model *a = model_open(&nn_cpu, &setup, "lenet5", in, 3),
                    *b = model_open(&nn_round, &narrow, "lenet5", in, 3);
    struct images d = images_open(in, 3);
    struct nn_back x, y;
    int n_backs = 0;
    nn_model_watch(a, true), nn_model_watch(b, true);
    (void)nn_model_train(a, &(struct nn_batch){.n = 3, .x = d.x, .labels = d.labels}, 1, NULL,
                         NULL);
    (void)nn_model_train(b, &(struct nn_batch){.n = 3, .x = d.x, .labels = d.labels}, 1, NULL,
                         NULL);
    struct scale_tally first = {.zero = 0};
    for (; nn_model_back(a, n_backs, &x) && nn_model_back(b, n_backs, &y); n_backs++) {
        size_t all = x.tally->zero;
        for (int i = 0; i < TALLY_BINS; i++)
            all += x.tally->bins[i];
        first = n_backs ? first : *x.tally;
        CHECK(!memcmp(x.tally, y.tally, sizeof *x.tally), "%s: other counts", x.name);
        CHECK(all > 100 && all % 3 == 0, "%s: %zu values", x.name, all);
    }
    CHECK(n_backs == 4, "%d layers of lenet5 hand gradients back", n_backs);
    real *watched = fetch(a, nn_model_grads(a));
    nn_model_watch(a, false);
    (void)nn_model_train(a, &(struct nn_batch){.n = 3, .x = d.x, .labels = d.labels}, 1, NULL,
                         NULL);
    CHECK(!memcmp(watched, nn_model_grads(a), a->n_weights * sizeof *watched),
          "gradients change when they are watched");
    (void)nn_model_train(a, &(struct nn_batch){.n = 2, .x = d.x, .labels = d.labels}, 1, NULL,
                         NULL);
    CHECK(nn_model_back(a, 0, &x) && !memcmp(&first, x.tally, sizeof first), "not watched");
    free(watched);
    images_close(&d);
    nn_model_close(a);
    nn_model_close(b);
}

int main(int argc, char **argv)
{
    const bool more = argc > 1 && !strcmp(argv[1], "long");
    puts("seeds: 1 to 12; weights 4; planted scales 11");
    check_tail();
    check_rule();
    check_meeting();
    check_moments();
    check_e5m10();
    check_e4m3();
    check_watched();
    check_planted("kinds", 1, (struct nn_shape){12, 11, 3}, 50);
    check_planted("branches", 1, (struct nn_shape){9, 10, 3}, 50);
    check_planted("resnet20", 1, (struct nn_shape){28, 28, 3}, 50);
    check_planted("resnet50", 1, (struct nn_shape){64, 64, 3}, more ? 50 : 10);
    check_planted("googlenet", 0.25, (struct nn_shape){64, 64, 3}, more ? 50 : 10);
    DONE();
}
