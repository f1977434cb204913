/* test_nn_grad_lstm.c : compares the LSTM with plain loops, its gradients with central
 * differences, and exp, sigmoid and tanh with libm. */
#include "nn_grad.h"
#include "hls/nn/squash.h"

struct sizes {
    int batch, steps, in, cells, out;
};

static struct nn_lstm lstm_of_layer(const struct layer *l)
{
    return (struct nn_lstm){
        .steps = l->g.in.h,
        .in = l->g.in.c,
        .cells = l->g.k,
        .out = l->g.out.c,
        .wx = l->vars[1].v,
        .wr = l->vars[2].v,
        .wp = l->vars[3].v,
        .peephole = l->vars[4].v,
        .bias = l->vars[5].v,
    };
}

static double *memory;

static void lstm_y(struct layer *l)
{
    const struct nn_lstm f = lstm_of_layer(l);
    nn_cpu.lstm_forward(l->ctx, &f, l->batch, l->labels, l->vars[0].v, l->y, memory, l->scratch);
}

static void lstm_d(struct layer *l)
{
    const struct nn_lstm f = lstm_of_layer(l);
    const struct nn_lstm_grads d = {l->vars[1].d, l->vars[2].d, l->vars[3].d, l->vars[4].d,
                                    l->vars[5].d};
    const size_t n_x = l->vars[0].n, n_r = l->vars[2].n;
    double *dx = new_reals(n_x), *dr = new_reals(n_r), *dy = new_reals(l->n_y);
    memcpy(dy, l->dy, l->n_y * sizeof *dy);
    for (size_t i = 0; i < n_x; i++)
        l->vars[0].d[i] = 7; /* old contents must not matter */
    nn_cpu.lstm_backward(l->ctx, &f, l->batch, l->labels, l->vars[0].v, l->y, dy, l->vars[0].d, &d,
                         memory, l->scratch);
    memcpy(dr, l->vars[2].d, n_r * sizeof *dr);
    memcpy(dy, l->dy, l->n_y * sizeof *dy);
    lstm_y(l);
    nn_cpu.lstm_backward(l->ctx, &f, l->batch, l->labels, l->vars[0].v, l->y, dy, NULL, &d, memory,
                         l->scratch);
    CHECK(!memcmp(dr, l->vars[2].d, n_r * sizeof *dr), "%s: without dx: another dw", l->name);
    free(dx), free(dr), free(dy);
}

static double squashed(double x)
{
    return 1 / (1 + exp(-x));
}

/* Excludes the peephole. */
static double summed(const struct nn_lstm *f, int gate, int j, const double *x, const double *r)
{
    const int row = gate * f->cells + j;
    double sum = f->bias[row];
    for (int i = 0; i < f->in; i++)
        sum += f->wx[row * f->in + i] * x[i];
    for (int i = 0; i < f->out; i++)
        sum += f->wr[row * f->out + i] * r[i];
    return sum;
}

static void check_equations(struct layer *l)
{
    const struct nn_lstm f = lstm_of_layer(l);
    enum { MAX_N = 40 };
    l->forward(l);
    for (int b = 0; b < l->batch; b++) {
        double r[MAX_N] = {0}, c[MAX_N] = {0}, m[MAX_N];
        for (int t = 0; t < f.steps; t++) {
            const double *x = l->vars[0].v + (b * f.steps + t) * f.in;
            const double *y = l->y + (b * f.steps + t) * f.out;
            for (int j = 0; j < f.cells && t < l->labels[b]; j++) {
                const double *p = f.peephole;
                const double in = squashed(summed(&f, 0, j, x, r) + p[j] * c[j]);
                const double forget = squashed(summed(&f, 1, j, x, r) + p[f.cells + j] * c[j]);
                c[j] = forget * c[j] + in * tanh(summed(&f, 2, j, x, r));
                m[j] = squashed(summed(&f, 3, j, x, r) + p[2 * f.cells + j] * c[j]) * tanh(c[j]);
            }
            for (int i = 0; i < f.out; i++) {
                r[i] = 0;
                for (int j = 0; j < f.cells && t < l->labels[b]; j++)
                    r[i] += f.wp[i * f.cells + j] * m[j];
                CHECK(fabs(y[i] - r[i]) <= 1e-12, "%s: sample %d step %d output %d: %g, not %g",
                      l->name, b, t, i, y[i], r[i]);
            }
        }
    }
}

static void check_lstm(void *ctx, struct sizes s, const int32_t *lengths)
{
    struct layer l = {.batch = s.batch, .ctx = ctx, .forward = lstm_y, .backward = lstm_d};
    const size_t cells = (size_t)s.cells, in = (size_t)s.in, out = (size_t)s.out;
    const size_t rows = (size_t)s.batch * (size_t)s.steps;
    size_t bytes;
    l.g = (struct nn_window){.in = {s.steps, 1, s.in}, .out = {s.steps, 1, s.out}, .k = s.cells};
    snprintf(l.name, sizeof l.name, "lstm of %d x %d steps, %d -> %d cells -> %d", s.batch, s.steps,
             s.in, s.cells, s.out);
    add_var(&l, rows * in, 1);
    add_var(&l, LSTM_GATES * cells * in, 2);
    add_var(&l, LSTM_GATES * cells * out, 2);
    add_var(&l, out * cells, 2);
    add_var(&l, LSTM_PEEPHOLES * cells, 2);
    add_var(&l, LSTM_GATES * cells, 3);
    set_output(&l, rows * out);
    const struct nn_lstm f = lstm_of_layer(&l);
    nn_cpu.lstm_plan(ctx, &f, s.batch, &bytes);
    l.scratch = buf_alloc(bytes);
    memory = new_reals(rows * LSTM_KEPT * cells);
    l.labels = buf_alloc((size_t)s.batch * sizeof *l.labels);
    memcpy(l.labels, lengths, (size_t)s.batch * sizeof *l.labels);
    check_equations(&l);
    check_layer(&l);
    free(memory);
    close_layer(&l);
}

/* Two units in the last place; for tanh near 0, of 1. */
static void check_squash(void)
{
    const double most = 4 * 0x1p-52;
    for (int i = -7000; i <= 7000; i++) {
        const double x = i * 0.0057;
        CHECK(fabs(squash_exp(x) / exp(x) - 1) <= most, "exp(%g) is %.17g", x, squash_exp(x));
        CHECK(fabs(squash_sigmoid(x) - squashed(x)) <= most, "sigmoid(%g) is %.17g", x,
              squash_sigmoid(x));
        CHECK(fabs(squash_tanh(x) - tanh(x)) <= most, "tanh(%g) is %.17g", x, squash_tanh(x));
    }
    CHECK(squash_tanh(1e300) == 1 && squash_tanh(-1e300) == -1 && squash_sigmoid(-1e300) > 0,
          "what is huge");
    CHECK(isnan(squash_sigmoid(NAN)) && isnan(squash_tanh(NAN)), "nan is lost");
}

int main(void)
{
    void *ctx = open_cpu();
    check_squash();
    check_lstm(ctx, (struct sizes){1, 1, 3, 4, 2}, (const int32_t[]){1});
    check_lstm(ctx, (struct sizes){3, 1, 2, 3, 5}, (const int32_t[]){1, 1, 1});
    check_lstm(ctx, (struct sizes){1, 6, 4, 5, 3}, (const int32_t[]){6});
    check_lstm(ctx, (struct sizes){1, 6, 4, 5, 3}, (const int32_t[]){4});
    check_lstm(ctx, (struct sizes){4, 7, 3, 6, 4}, (const int32_t[]){2, 7, 1, 7});
    check_lstm(ctx, (struct sizes){5, 9, 5, 4, 7}, (const int32_t[]){3, 5, 3, 8, 5});
    check_lstm(ctx, (struct sizes){6, 12, 21, 33, 18}, (const int32_t[]){12, 1, 11, 6, 2, 12});
    close_cpu(ctx);
    DONE();
}
