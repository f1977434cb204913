/* test_gpu_ctc.c : compares connectionist temporal classification on the GPU with nn_cpu: equal
 * counts; losses and gradients up to round-off. */
#include "gpu_layers.h"

struct sizes {
    int batch, steps, classes, targets;
};

static void check_ctc(struct layers *g, struct sizes s, float scale)
{
    const size_t row = (size_t)s.steps * (size_t)s.classes, n = (size_t)s.batch * row;
    const size_t n_labels = (size_t)s.batch * (size_t)s.targets;
    float *z = layers_random(g, n), *want = layers_memory(n * sizeof *want),
          *k = g->run->alloc_pinned(sizeof *k);
    int32_t *labels = g->run->alloc_pinned(n_labels * sizeof *labels),
            *lengths = g->run->alloc_pinned((size_t)s.batch * sizeof *lengths);
    struct nn_result cpu, *r = g->run->alloc_pinned(2 * sizeof *r);
    size_t bytes;
    for (int b = 0; b < s.batch; b++) {
        const int most = b % 3 ? s.targets / 3 : s.targets;
        const bool empty = b == 4; /* no frames, no labels: a loss of 0 */
        const int count = empty ? 0 : (int)(philox_u32(g->key, (uint64_t)b) % (uint32_t)(most + 1));
        lengths[b] =
            empty ? 0 : 1 + (int32_t)(philox_u32(g->key + 1, (uint64_t)b) % (uint32_t)s.steps);
        for (int i = 0; i < s.targets; i++)
            labels[b * s.targets + i] =
                i < count ? 1 + (int32_t)(philox_u32(g->key + 2, (uint64_t)(b * s.targets + i)) %
                                          (uint32_t)(s.classes - 1))
                          : -1;
        for (size_t i = (size_t)lengths[b] * (size_t)s.classes; i < row; i++)
            z[(size_t)b * row + i] = NAN;
    }
    for (size_t i = 0; i < n; i++)
        z[i] = layers_round(g->math, z[i] * (i % 7 ? 4 : 16));
    nn_cpu.ctc_plan(g->cpu, s.batch, s.steps, s.classes, s.targets, &bytes);
    void *scratch = layers_memory(bytes);
    nn_cpu.ctc_loss(g->cpu, s.batch, s.steps, s.classes, s.targets, z, lengths, labels, want, &cpu,
                    scratch);
    free(scratch);
    void *pz = layers_put(g, z, n), *pd = layers_put(g, z, n);
    g->nn->ctc_plan(g->d, s.batch, s.steps, s.classes, s.targets, &bytes);
    scratch = layers_memory(bytes);
    memset(scratch, 0xff, bytes);
    void *ps = layers_hold(g, scratch, 0, bytes);
    *k = scale;
    g->nn->loss_scale(g->d, scale == 1 ? NULL : k);
    g->nn->ctc_loss(g->d, s.batch, s.steps, s.classes, s.targets, pz, lengths, labels, pd, r, ps);
    g->nn->ctc_loss(g->d, s.batch, s.steps, s.classes, s.targets, pz, lengths, labels, NULL, r + 1,
                    ps);
    g->nn->loss_scale(g->d, NULL);
    float *got = layers_get(g, pd, n);
    for (size_t i = 0; i < n; i++) {
        const double w = (double)want[i] * (double)scale;
        const double bound = 1e-9 * (double)scale + layers_half_ulp(g->math, w) + 0x1p-23 * fabs(w);
        CHECK(fabs((double)got[i] - w) <= bound, "%s: gradient %zu: %.9g, want %.9g, allowed %.3g",
              layers_names[g->math], i, (double)got[i], w, bound);
    }
    CHECK(fabs(r[0].loss_sum - cpu.loss_sum) <= 1e-10 * (1 + cpu.loss_sum),
          "%s: loss %.15g, want %.15g", layers_names[g->math], r[0].loss_sum, cpu.loss_sum);
    CHECK(r[0].n_edits == cpu.n_edits && r[0].n_labels == cpu.n_labels &&
              r[0].n_correct == cpu.n_correct && r[0].n_top == 0,
          "%s: %d edits of %d, %d right; want %d, %d, %d", layers_names[g->math], r[0].n_edits,
          r[0].n_labels, r[0].n_correct, cpu.n_edits, cpu.n_labels, cpu.n_correct);
    CHECK(!memcmp(&r[0].loss_sum, &r[1].loss_sum, sizeof(double)) && r[0].n_edits == r[1].n_edits &&
              r[0].n_labels == r[1].n_labels,
          "without a gradient the result is another");
    free(layers_fetch(g, ps)); /* checks its guard bytes */
    layers_drop(g);
    g->run->free_pinned(labels), g->run->free_pinned(lengths), g->run->free_pinned(r);
    g->run->free_pinned(k);
    free(z), free(want), free(got), free(scratch);
}

int main(void)
{
    struct layers g;
    layers_open(&g, 53);
    for (size_t m = 0; m < sizeof layers_maths / sizeof *layers_maths; m++) {
        const float scale = layers_maths[m] == NN_FP16 ? 512 : 1;
        layers_math(&g, layers_maths[m]);
        check_ctc(&g, (struct sizes){1, 1, 2, 1}, scale);
        check_ctc(&g, (struct sizes){9, 6, 4, 4}, scale);
        check_ctc(&g, (struct sizes){5, 30, 28, 12}, scale);
        check_ctc(&g, (struct sizes){3, 70, 132, 66}, scale); /* more states than threads */
    }
    layers_close(&g);
    DONE();
}
