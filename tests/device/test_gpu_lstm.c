/* test_gpu_lstm.c : compares the LSTM with nn_cpu, in every math, within gpu_models.h's bound.
 * Equal calls give equal bits. */
#include "capture.h"
#include "gpu_layers.h"
#include "gpu_models.h"

enum { X, DY, WX, WR, WP, PEEPHOLE, BIAS, N_IN };
enum { Y, DX, D_WX, D_WR, D_WP, D_PEEPHOLE, D_BIAS, N_OUT };
static const char *const out_names[N_OUT] = {"y", "dx", "dwx", "dwr", "dwp", "dpeephole", "dbias"};

struct lstm {
    struct nn_lstm f;
    int batch;
    int32_t *lengths;
    size_t n_in[N_IN], n_out[N_OUT], n_kept;
};

static void fill(struct lstm *t, struct nn_lstm f, int batch)
{
    const size_t rows = (size_t)batch * (size_t)f.steps, c = (size_t)f.cells, in = (size_t)f.in,
                 out = (size_t)f.out;
    const size_t n[N_IN] = {rows * in, rows * out, 4 * c * in, 4 * c * out, out * c, 3 * c, 4 * c};
    const size_t o[N_OUT] = {n[DY], n[X], n[WX], n[WR], n[WP], n[PEEPHOLE], n[BIAS]};
    t->f = f, t->batch = batch;
    memcpy(t->n_in, n, sizeof n);
    memcpy(t->n_out, o, sizeof o);
    t->n_kept = rows * LSTM_KEPT * c;
}

static struct nn_lstm with_weights(const struct lstm *t, float *const *in)
{
    struct nn_lstm f = t->f;
    f.wx = in[WX], f.wr = in[WR], f.wp = in[WP], f.peephole = in[PEEPHOLE], f.bias = in[BIAS];
    return f;
}

static void on_cpu(struct layers *g, const struct lstm *t, float *const *in, float **out)
{
    const struct nn_lstm f = with_weights(t, in);
    size_t bytes;
    nn_cpu.lstm_plan(g->cpu, &f, t->batch, &bytes);
    void *scratch = layers_memory(bytes), *dy = layers_memory(t->n_in[DY] * sizeof(float));
    float *kept = layers_memory(t->n_kept * sizeof *kept);
    for (int i = 0; i < N_OUT; i++)
        out[i] = layers_memory(t->n_out[i] * sizeof **out);
    const struct nn_lstm_grads dw = {out[D_WX], out[D_WR], out[D_WP], out[D_PEEPHOLE], out[D_BIAS]};
    memcpy(dy, in[DY], t->n_in[DY] * sizeof(float));
    nn_cpu.lstm_forward(g->cpu, &f, t->batch, t->lengths, in[X], out[Y], kept, scratch);
    nn_cpu.lstm_backward(g->cpu, &f, t->batch, t->lengths, in[X], out[Y], dy, out[DX], &dw, kept,
                         scratch);
    free(scratch), free(dy), free(kept);
}

/* dx_too: else dx is NULL. Weights are one array. */
static void on_gpu(struct layers *g, const struct lstm *t, float *const *in, float scale,
                   bool dx_too, float **out)
{
    size_t at[N_IN] = {0}, n = 0, bytes;
    for (int i = WX; i < N_IN; i++)
        at[i] = n, n += t->n_in[i];
    float *all = layers_memory(n * sizeof *all), *d_in[N_IN] = {0};
    void *grads[N_OUT];
    for (int i = WX; i < N_IN; i++)
        memcpy(all + at[i], in[i], t->n_in[i] * sizeof **in);
    void *w = layers_put_par(g, all, n);
    for (int i = WX; i < N_IN; i++)
        d_in[i] = layers_par_at(g, w, at[i]);
    for (int i = D_WX; i < N_OUT; i++)
        grads[i] = layers_put_par(g, all, t->n_out[i]);
    const struct nn_lstm f = with_weights(t, d_in);
    const struct nn_lstm_grads dw = {grads[D_WX], grads[D_WR], grads[D_WP], grads[D_PEEPHOLE],
                                     grads[D_BIAS]};
    void *x = layers_put(g, in[X], t->n_in[X]), *y = layers_put(g, in[DY], t->n_in[DY]);
    float *dy = layers_memory(t->n_in[DY] * sizeof *dy), *k = g->run->alloc_pinned(sizeof *k);
    for (size_t i = 0; i < t->n_in[DY]; i++) { /* after sequences' ends, where nothing may read */
        const size_t row = i / (size_t)t->f.out, steps = (size_t)t->f.steps;
        dy[i] = row % steps < (size_t)t->lengths[row / steps] ? in[DY][i] * scale : NAN;
    }
    void *pdy = layers_put(g, dy, t->n_in[DY]), *dx = layers_put(g, in[X], t->n_in[X]);
    *k = scale;
    g->nn->loss_scale(g->d, scale == 1 ? NULL : k);
    if (g->nn->weights_open(g->d, w, n) < 0 || g->nn->lstm_plan(g->d, &f, t->batch, &bytes) < 0)
        exit(1);
    float *junk = layers_memory(bytes + t->n_kept * sizeof *junk);
    memset(junk, 0xff, bytes + t->n_kept * sizeof *junk);
    const size_t skew = g->skew;
    g->skew = 0;
    void *scratch = layers_hold(g, junk, 0, bytes);
    float *kept = layers_put_float(g, junk, t->n_kept);
    g->skew = skew;
    g->nn->weights(g->d);
    g->nn->lstm_forward(g->d, &f, t->batch, t->lengths, x, y, kept, scratch);
    g->nn->lstm_backward(g->d, &f, t->batch, t->lengths, x, y, pdy, dx_too ? dx : NULL, &dw, kept,
                         scratch);
    g->nn->loss_scale(g->d, NULL);
    out[Y] = layers_get(g, y, t->n_out[Y]);
    out[DX] = layers_get(g, dx, t->n_out[DX]);
    for (size_t i = 0; i < t->n_out[DX]; i++)
        out[DX][i] /= scale;
    for (int i = D_WX; i < N_OUT; i++)
        out[i] = layers_get_par(g, grads[i], t->n_out[i]);
    free(layers_fetch(g, scratch)), free(layers_fetch(g, kept)); /* checks their guard bytes */
    layers_drop(g);
    g->run->free_pinned(k);
    free(all), free(dy), free(junk);
}

static void free_all(float **p, int n)
{
    for (int i = 0; i < n; i++)
        free(p[i]);
}

/* Computes how far the CPU's results move if inputs change by round-off. */
static void movement(struct layers *g, const struct lstm *t, float *const *in, float *const *want,
                     double *moved)
{
    for (int u = 0; u < NUDGES; u++) {
        float *near[N_IN], *out[N_OUT];
        for (int i = 0; i < N_IN; i++) {
            near[i] = layers_memory(t->n_in[i] * sizeof *near[i]);
            for (size_t j = 0; j < t->n_in[i]; j++)
                near[i][j] =
                    (float)((double)in[i][j] *
                            (1 + nudge_of(g->math) * uniform(50 + (uint64_t)(u * N_IN + i), j)));
        }
        on_cpu(g, t, near, out);
        for (int i = 0; i < N_OUT; i++)
            moved[i] = fmax(moved[i], distance(out[i], want[i], t->n_out[i]));
        free_all(near, N_IN), free_all(out, N_OUT);
    }
}

static void check_lstm(struct layers *g, struct nn_lstm f, int batch, const int *lengths,
                       float scale)
{
    enum { TIMES = 4 };
    struct lstm t;
    float *in[N_IN], *want[N_OUT], *got[N_OUT], *again[N_OUT];
    double moved[N_OUT] = {0};
    fill(&t, f, batch);
    t.lengths = g->run->alloc_pinned((size_t)batch * sizeof *t.lengths);
    for (int b = 0; b < batch; b++)
        t.lengths[b] = lengths[b];
    for (int i = 0; i < N_IN; i++)
        in[i] = layers_random(g, t.n_in[i]);
    on_cpu(g, &t, in, want);
    movement(g, &t, in, want, moved);
    on_gpu(g, &t, in, scale, true, got);
    on_gpu(g, &t, in, scale, false, again);
    for (int i = 0; i < N_OUT; i++) {
        const double apart = distance(got[i], want[i], t.n_out[i]);
        CHECK(apart <= TIMES * moved[i], "%s lstm %d x %d, %d -> %d -> %d: %s is %g off, may be %g",
              layers_names[g->math], batch, f.steps, f.in, f.cells, f.out, out_names[i], apart,
              TIMES * moved[i]);
        CHECK(i == DX || !memcmp(got[i], again[i], t.n_out[i] * sizeof(float)),
              "%s: %s of two equal calls differ", layers_names[g->math], out_names[i]);
    }
    for (int b = 0; b < batch; b++)
        for (int s = lengths[b]; s < f.steps; s++)
            for (int j = 0; j < f.out; j++)
                CHECK(got[Y][(b * f.steps + s) * f.out + j] == 0, "y behind an end is not zero");
    free_all(in, N_IN), free_all(want, N_OUT), free_all(got, N_OUT), free_all(again, N_OUT);
    g->run->free_pinned(t.lengths);
}

static void check_refusal(struct layers *g)
{
    static const struct gemm_rule rule = {{5, 2, 0}, MF_SATURATE, false};
    const struct nn_lstm f = {.steps = 3, .in = 2, .cells = 2, .out = 2};
    size_t bytes;
    layers_math(g, NN_FP32);
    g->nn->gemm(g->d, &rule);
    struct capture said;
    capture_begin(&said);
    const int rc = g->nn->lstm_plan(g->d, &f, 1, &bytes);
    capture_end(&said);
    CHECK(rc == -EINVAL && capture_lines(said.text) == 1 && strstr(said.text, "lstm"),
          "--gemm: %d, %s", rc, said.text);
}

int main(void)
{
    struct layers g;
    layers_open(&g, 47);
    for (size_t m = 0; m < LAYERS_PAR_MATHS; m++) {
        const enum nn_math math = layers_par_maths[m];
        /* halves also hold gradients of weights times it */
        const float scale = math == NN_FP16 ? 256 : math == NN_FP16_PURE ? 4 : 1;
        layers_math(&g, math);
        check_lstm(&g, (struct nn_lstm){.steps = 1, .in = 3, .cells = 4, .out = 2}, 1, (int[]){1},
                   scale);
        check_lstm(&g, (struct nn_lstm){.steps = 7, .in = 3, .cells = 6, .out = 4}, 4,
                   (int[]){2, 7, 1, 7}, scale);
        check_lstm(&g, (struct nn_lstm){.steps = 12, .in = 21, .cells = 37, .out = 18}, 6,
                   (int[]){12, 1, 11, 6, 2, 12}, scale);
        g.skew = 1;
        check_lstm(&g, (struct nn_lstm){.steps = 5, .in = 8, .cells = 40, .out = 16}, 9,
                   (int[]){5, 4, 3, 2, 1, 5, 5, 4, 3}, scale);
        g.skew = 0;
    }
    check_refusal(&g);
    layers_close(&g);
    DONE();
}
