/* test_gpu_scale.c : compares layers' scales with the CPU's; planted scales change no bit of a
 * network's gradients. */
#include "gpu_layers.h"
#include "gpu_models.h"
#include "nn/round/round_ops.h"

static double real_in(uint64_t key, uint64_t i, int low, int high)
{
    return ldexp(1 + uniform(key, 2 * i) / 2,
                 low + (int)(philox_u32(key, 2 * i + 1) % (uint32_t)(high - low + 1)));
}

struct words {
    uint32_t yes, no;
    struct scale_moments moments;
    struct node_scale node, in, addend;
    float k;
    struct scale_tally tally;
};

static void check_moments(struct layers *g, struct words *w, size_t n)
{
    const uint32_t yes = 1;
    float *x = layers_random(g, n), *big = layers_memory(MOMENTS_SCRATCH);
    for (size_t i = 0; i < n; i++)
        x[i] = layers_round(g->math, x[i] * (float)real_in(50, i, -20, 12));
    void *px = layers_put(g, x, n), *scratch = layers_hold(g, big, 0, MOMENTS_SCRATCH);
    struct scale_moments want;
    nn_cpu.moments(g->cpu, n, x, &yes, &want, NULL);
    w->moments = (struct scale_moments){-1, -1};
    CHECK(g->nn->moments(g->d, n, px, &w->no, &w->moments, scratch) == 0, "moments");
    CHECK(g->run->wait(g->s) == 0 && w->moments.square == -1, "moments that nobody wants");
    CHECK(g->nn->moments(g->d, n, px, &w->yes, &w->moments, scratch) == 0, "moments");
    CHECK(g->run->wait(g->s) == 0, "wait");
    CHECK(fabs(w->moments.square - want.square) <= 1e-13 * want.square &&
              w->moments.largest == want.largest,
          "%s %zu: moments %.17g %g, on the cpu %.17g %g", layers_names[g->math], n,
          w->moments.square, (double)w->moments.largest, want.square, (double)want.largest);
    void *pw = layers_put_par(g, x, n);
    CHECK(g->nn->weight_moments(g->d, n, pw, &w->yes, &w->moments, scratch) == 0 &&
              g->run->wait(g->s) == 0 && w->moments.largest == want.largest,
          "%s %zu: moments of weights", layers_names[g->math], n);
    struct scale_tally counts;
    x[n / 3] = 0;
    px = layers_put(g, x, n);
    nn_cpu.tally(g->cpu, n, x, &counts);
    CHECK(g->nn->tally(g->d, n, px, &w->tally) == 0 && g->run->wait(g->s) == 0 &&
              !memcmp(&counts, &w->tally, sizeof counts) && counts.zero > 0,
          "%s %zu: other counts of sizes", layers_names[g->math], n);
    x[n / 2] = INFINITY;
    px = layers_put(g, x, n);
    CHECK(g->nn->moments(g->d, n, px, &w->yes, &w->moments, scratch) == 0 &&
              g->run->wait(g->s) == 0 && !isfinite(w->moments.square),
          "%s %zu: an inf has moments", layers_names[g->math], n);
    layers_drop(g);
    free(x), free(big);
}

static void check_products(struct layers *g, struct words *w, size_t n)
{
    const struct round_rule rule = {{5, 10, 0}, MF_INF, 0};
    const float ks[] = {1, 64, 0x1p-9f, 0x1p17f};
    float *x = layers_random(g, n), *want = layers_memory(n * sizeof *want);
    for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
        for (int rounds = 0; rounds < 2; rounds++) {
            const struct round_rule *r = rounds && g->math == NN_FP32 ? &rule : NULL;
            void *px = layers_put(g, x, n);
            memcpy(want, x, n * sizeof *want);
            w->k = ks[k];
            CHECK(g->nn->scale_by(g->d, n, &w->k, r, px) == 0, "scale_by");
            nn_cpu.scale_by(g->cpu, n, &w->k, r, want);
            for (size_t i = 0; i < n; i++)
                want[i] = layers_round(g->math, want[i]);
            layers_same(g, "scale_by", px, want, n);
        }
    layers_drop(g);
    free(x), free(want);
}

static void check_rule(struct layers *g, struct words *w)
{
    struct scale_choice c;
    CHECK(scale_spec("adaptive:0.01,1,4096,256", &c) == 0, "adaptive");
    scale_format(&c.adaptive.rule, mf_half());
    for (uint64_t i = 0; i < 300; i++) {
        const struct node_scale node = {.carried = (float)ldexp(1, (int)(i % 13)),
                                        .own = 4,
                                        .planted = i % 11 ? 0 : 8,
                                        .dy = {real_in(51, i, -60, 0),
                                               (float)real_in(52, i, -20, 9)},
                                        .w = {real_in(53, i, -20, 0), (float)real_in(54, i, -8, 2)},
                                        .dx = {0, (float)real_in(55, i, -20, 15)}},
                                in = {.carried = (float)ldexp(1, (int)(i % 7))};
        struct node_scale a = node, b = in;
        const bool add = i % 3 == 0;
        const uint32_t *wanted = i % 5 ? &w->yes : &w->no;
        nn_cpu.scale_layer(g->cpu, &c.adaptive.rule, 9 * (double)(i + 1), add, wanted, &a, &b);
        w->node = node, w->in = in;
        CHECK(g->nn->scale_layer(g->d, &c.adaptive.rule, 9 * (double)(i + 1), add, wanted, &w->node,
                                 &w->in) == 0 &&
                  g->run->wait(g->s) == 0,
              "scale_layer");
        CHECK(w->node.own == a.own && w->node.divisor == a.divisor && w->node.other == a.other &&
                  w->in.carried == b.carried,
              "%llu: s %g, on the cpu %g", (unsigned long long)i, (double)w->node.own,
              (double)a.own);
        nn_cpu.scale_hand_on(g->cpu, &a, &b, NULL);
        CHECK(g->nn->scale_hand_on(g->d, &w->node, &w->in, &w->addend) == 0 &&
                  g->run->wait(g->s) == 0 && w->in.carried == b.carried &&
                  w->addend.carried == b.carried && w->node.divisor == a.divisor,
              "scale_hand_on");
    }
}

static void check_planted(const struct scale_setup *adaptive)
{
    const struct nn_shape in = {12, 11, 3};
    const struct nn_setup setup = {.scaled = true, .adaptive = adaptive};
    struct nn_model *plain = model_open(&nn_cuda, NULL, "kinds", in, 4),
                    *scaled = model_open(&nn_cuda, &setup, "kinds", in, 4);
    struct images d = images_open(in, 4);
    size_t n;
    nn_model_weights(plain, &n);
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < scaled->n_nodes; i++)
            scaled->host.scales[i].planted =
                (float)ldexp(1, (int)(philox_u32(56, (uint64_t)(100 * t + i)) % 41) - 20);
        const struct answer a = answer_of(plain, &d), b = answer_of(scaled, &d);
        CHECK(!memcmp(a.grads, b.grads, n * sizeof *a.grads),
              "pass %d: scales changed the gradients: apart by %g", t,
              distance(a.grads, b.grads, n));
        free(a.grads), free(b.grads);
    }
    CHECK(scaled->n_records > 0, "nothing was recorded");
    images_close(&d);
    nn_model_close(plain);
    nn_model_close(scaled);
}

int main(void)
{
    struct layers g;
    struct scale_choice c;
    const size_t sizes[] = {1, 9, 255, 4097, 8193 * 4};
    setenv("NARROWCAST_CONV", "first", 0); /* both networks must use the same plans */
    layers_open(&g, 43);
    struct words *w = g.run->alloc_pinned(sizeof *w);
    if (!w || scale_spec("adaptive", &c) < 0)
        return 1;
    w->yes = 1, w->no = 0;
    for (size_t m = 0; m < LAYERS_PAR_MATHS; m++)
        for (g.skew = 0; g.skew < 2; g.skew++) {
            layers_math(&g, layers_par_maths[m]);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                check_moments(&g, w, sizes[i]);
                check_products(&g, w, sizes[i]);
            }
        }
    check_rule(&g, w);
    check_planted(&c.adaptive);
    g.run->free_pinned(w);
    layers_close(&g);
    DONE();
}
