/* test_gpu_layers_loss.c : compares softmax cross-entropy with nn_cpu. Hits are equal; losses
 * and gradients differ by a float exponential (2 units in the last place) and the activations'
 * type. */
#include "gpu_layers.h"

#define EXP 0x1p-22 /* relative error of expf */

struct loss {
    int batch, classes;
    float *z;
    int32_t *labels;
    struct nn_result *result;
};

static void fill(struct layers *g, struct loss *t, bool finite)
{
    for (int b = 0; b < t->batch; b++) {
        float *z = t->z + (size_t)b * (size_t)t->classes;
        t->labels[b] = (int32_t)(philox_u32(g->key, (uint64_t)b) % (uint32_t)t->classes);
        for (int j = 0; j < t->classes; j++)
            z[j] = b % 5 == 1 ? 0.5f : b % 5 == 2 ? z[j] * 2e4f : z[j] * 4;
        if (b % 5 == 3)
            z[t->labels[b]] = 40;
        if (b % 5 == 4)
            z[(t->labels[b] + 1) % t->classes] = 40;
        for (int j = 0; j < t->classes; j++)
            z[j] = layers_round(g->math, z[j]);
    }
    if (!finite)
        t->z[t->classes / 2] = NAN;
}

static void check_gradient(struct layers *g, const struct loss *t, const float *got,
                           const float *want, double scale)
{
    for (size_t i = 0; i < (size_t)t->batch * (size_t)t->classes; i++) {
        const double w = (double)want[i] * scale;
        /* A probability is at most 1 and has the errors of two exponentials; the CPU rounds to
         * float. */
        const double bound =
            2 * EXP * scale / t->batch + layers_half_ulp(g->math, w) + 0x1p-24 * fabs(w);
        if (isnan(want[i]))
            CHECK(isnan(got[i]), "%s gradient %zu is %g, not nan", layers_names[g->math], i,
                  (double)got[i]);
        else
            CHECK(fabs((double)got[i] - w) <= bound,
                  "%s [%d][%d] gradient %zu: %.9g, want %.9g, allowed %.3g", layers_names[g->math],
                  t->batch, t->classes, i, (double)got[i], w, bound);
    }
}

static void check_loss(struct layers *g, int batch, int classes, double smoothing, float scale,
                       bool finite)
{
    const size_t n = (size_t)batch * (size_t)classes;
    struct loss t = {.batch = batch, .classes = classes, .z = layers_random(g, n)};
    t.labels = g->run->alloc_pinned((size_t)batch * sizeof *t.labels);
    t.result = g->run->alloc_pinned(2 * sizeof *t.result);
    float *want = layers_memory(n * sizeof *want), *k = g->run->alloc_pinned(sizeof *k);
    fill(g, &t, finite);
    struct nn_result cpu;
    nn_cpu.softmax_loss(g->cpu, batch, classes, smoothing, t.z, t.labels, want, &cpu);
    void *pz = layers_put(g, t.z, n), *pd = layers_put(g, t.z, n);
    *k = scale;
    g->nn->loss_scale(g->d, scale == 1 ? NULL : k);
    g->nn->softmax_loss(g->d, batch, classes, smoothing, pz, t.labels, pd, &t.result[0]);
    g->nn->softmax_loss(g->d, batch, classes, smoothing, pz, t.labels, NULL, &t.result[1]);
    g->nn->loss_scale(g->d, NULL);
    float *got = layers_get(g, pd, n);
    check_gradient(g, &t, got, want, (double)scale);
    CHECK(t.result[0].n_correct == cpu.n_correct && t.result[0].n_top == cpu.n_top,
          "%s [%d][%d]: %d and %d hits, want %d and %d", layers_names[g->math], batch, classes,
          t.result[0].n_correct, t.result[0].n_top, cpu.n_correct, cpu.n_top);
    CHECK(classes <= NN_TOP || batch < 100 || cpu.n_top > cpu.n_correct,
          "no label in second place");
    /* log(sum) moves by the sum's relative error; additions have another order */
    const double bound = batch * EXP + 1e-13 * cpu.loss_sum;
    CHECK(finite ? fabs(t.result[0].loss_sum - cpu.loss_sum) <= bound : isnan(t.result[0].loss_sum),
          "%s [%d][%d]: loss %.12g, want %.12g", layers_names[g->math], batch, classes,
          t.result[0].loss_sum, cpu.loss_sum);
    CHECK(!memcmp(&t.result[0].loss_sum, &t.result[1].loss_sum, sizeof(double)) &&
              t.result[0].n_correct == t.result[1].n_correct &&
              t.result[0].n_top == t.result[1].n_top,
          "without a gradient the loss is another");
    layers_drop(g);
    g->run->free_pinned(t.labels), g->run->free_pinned(t.result), g->run->free_pinned(k);
    free(t.z), free(want), free(got);
}

int main(void)
{
    struct layers g;
    layers_open(&g, 43);
    for (size_t m = 0; m < sizeof layers_maths / sizeof *layers_maths; m++) {
        layers_math(&g, layers_maths[m]);
        for (int i = 0; i < 2; i++) {
            const double smoothing = 0.1 * i;
            check_loss(&g, 1, 10, smoothing, 1, true);
            check_loss(&g, 1, 2, smoothing, 1, true);
            check_loss(&g, 7, 3, smoothing, 1, true);
            check_loss(&g, 600, 10, smoothing, 1024, true);
            check_loss(&g, 300, 32, smoothing, 1, true);
            check_loss(&g, 130, 33, smoothing, 256, true);
            check_loss(&g, 50, 1000, smoothing, 1, true);
            check_loss(&g, 20, 10, smoothing, 1, false);
        }
    }
    layers_close(&g);
    DONE();
}
