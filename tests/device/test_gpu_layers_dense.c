/* test_gpu_layers_dense.c : compares softmax cross-entropy that ignores rows with nn_cpu's, within
 * test_gpu_layers_loss.c's bounds. */
#include "gpu_layers.h"

#define EXP 0x1p-22 /* relative error of expf */

struct dense {
    int rows, classes;
    float *z;
    int32_t *labels;
    uint32_t *confusion;
    struct nn_result *result;
};

/* every: one row in `every` counts; 0: none. */
static void fill(struct layers *g, struct dense *t, int every, bool finite)
{
    for (int i = 0; i < t->rows; i++) {
        float *z = t->z + (size_t)i * (size_t)t->classes;
        const int class = (int)(philox_u32(g->key, (uint64_t)i) % (uint32_t)t->classes);
        t->labels[i] = every && i % every == 0 ? class : i % 2 ? -1 : t->classes + i;
        for (int j = 0; j < t->classes; j++)
            z[j] = layers_round(g->math, i % 5 == 1 ? 0.5f : z[j] * 4);
        z[(class + i % 3) % t->classes] += i % 5 == 2 ? 8 : 0;
        for (int j = 0; j < t->classes; j++)
            z[j] = layers_round(g->math, z[j]);
    }
    if (!finite)
        t->z[t->classes / 2] = NAN;
}

static void check_gradient(struct layers *g, const struct dense *t, int n, const float *got,
                           const float *want, double scale)
{
    for (size_t i = 0; i < (size_t)t->rows * (size_t)t->classes; i++) {
        const double w = (double)want[i] * scale;
        /* from test_gpu_layers_loss.c, for a mean over n */
        const double bound =
            2 * EXP * scale / (n ? n : 1) + layers_half_ulp(g->math, w) + 0x1p-24 * fabs(w);
        CHECK(isnan(want[i]) ? isnan(got[i]) : fabs((double)got[i] - w) <= bound,
              "%s [%d][%d] gradient %zu: %.9g, want %.9g, allowed %.3g", layers_names[g->math],
              t->rows, t->classes, i, (double)got[i], w, bound);
        const int32_t label = t->labels[i / (size_t)t->classes];
        CHECK((label >= 0 && label < t->classes) || got[i] == 0, "row without a label: %g",
              (double)got[i]);
    }
}

static void check_dense(struct layers *g, int rows, int classes, int every, double smoothing,
                        float scale, bool finite)
{
    const size_t n = (size_t)rows * (size_t)classes, table = (size_t)classes * (size_t)classes;
    struct dense t = {.rows = rows, .classes = classes, .z = layers_random(g, n)};
    size_t scratch_bytes = 0;
    t.labels = g->run->alloc_pinned((size_t)rows * sizeof *t.labels);
    t.confusion = g->run->alloc_pinned(table * sizeof *t.confusion);
    t.result = g->run->alloc_pinned(2 * sizeof *t.result);
    float *want = layers_memory(n * sizeof *want), *k = g->run->alloc_pinned(sizeof *k);
    uint32_t *confusion = layers_memory(table * sizeof *confusion);
    fill(g, &t, every, finite);
    struct nn_result cpu;
    nn_cpu.dense_loss(g->cpu, rows, classes, smoothing, t.z, t.labels, want, confusion, &cpu, NULL);
    CHECK(g->nn->dense_plan(g->d, classes, &scratch_bytes) == 0, "plan");
    void *pz = layers_put(g, t.z, n), *pd = layers_put(g, t.z, n),
         *scratch = g->run->alloc(scratch_bytes);
    memset(t.confusion, 0x77, table * sizeof *t.confusion);
    *k = scale;
    g->nn->loss_scale(g->d, scale == 1 ? NULL : k);
    g->nn->dense_loss(g->d, rows, classes, smoothing, pz, t.labels, pd, t.confusion, &t.result[0],
                      scratch);
    g->nn->dense_loss(g->d, rows, classes, smoothing, pz, t.labels, NULL, NULL, &t.result[1],
                      scratch);
    g->nn->loss_scale(g->d, NULL);
    float *got = layers_get(g, pd, n);
    const struct nn_result *r = &t.result[0];
    check_gradient(g, &t, cpu.n_labels, got, want, (double)scale);
    CHECK(r->n_labels == cpu.n_labels && r->n_correct == cpu.n_correct && r->n_top == cpu.n_top,
          "%s [%d][%d]: %d labels, %d and %d hits, want %d, %d and %d", layers_names[g->math], rows,
          classes, r->n_labels, r->n_correct, r->n_top, cpu.n_labels, cpu.n_correct, cpu.n_top);
    CHECK(!memcmp(confusion, t.confusion, table * sizeof *confusion),
          "%s [%d][%d]: other confusions", layers_names[g->math], rows, classes);
    const double bound = cpu.n_labels * EXP + 1e-13 * cpu.loss_sum;
    CHECK(finite ? fabs(r->loss_sum - cpu.loss_sum) <= bound : isnan(r->loss_sum),
          "%s [%d][%d]: loss %.12g, want %.12g", layers_names[g->math], rows, classes, r->loss_sum,
          cpu.loss_sum);
    CHECK(!memcmp(&r[0].loss_sum, &r[1].loss_sum, sizeof(double)) &&
              r[0].n_labels == r[1].n_labels && r[0].n_correct == r[1].n_correct,
          "without a gradient the loss is another");
    layers_drop(g);
    g->run->free(scratch);
    g->run->free_pinned(t.labels), g->run->free_pinned(t.result), g->run->free_pinned(k);
    g->run->free_pinned(t.confusion);
    free(t.z), free(want), free(got), free(confusion);
}

int main(void)
{
    struct layers g;
    layers_open(&g, 44);
    for (size_t m = 0; m < sizeof layers_maths / sizeof *layers_maths; m++) {
        layers_math(&g, layers_maths[m]);
        for (int i = 0; i < 2; i++) {
            const double smoothing = 0.1 * i;
            check_dense(&g, 1, 2, 1, smoothing, 1, true);
            check_dense(&g, 6, 4, 0, smoothing, 1, true);
            check_dense(&g, 300, 19, 3, smoothing, 1024, true);
            check_dense(&g, 200, 40, 2, smoothing, 1, true);
            /* more than one row per group of lanes */
            check_dense(&g, 33000, 3, 2, smoothing, 1, true);
            check_dense(&g, 20, 10, 1, smoothing, 1, false);
        }
    }
    layers_close(&g);
    DONE();
}
