/* nn_grad.h : compares every gradient of a layer with central differences in double.
 *
 * A layer becomes a scalar function L = sum of r_i * y_i with fixed random r; its gradient is the
 * backward pass for dy = r. A point where a ReLU switches within the step is skipped and counted;
 * max pooling gets inputs that are far apart. */
#ifndef NN_GRAD_H
#define NN_GRAD_H
#include "nn_double.h"

enum { VARS = 6 };

struct var {
    double *v, *d;
    size_t n;
};

struct layer {
    char name[120];
    int batch;
    struct nn_window g;
    struct nn_batch_norm f;
    struct var vars[VARS]; /* arguments of L; x is the first */
    int n_vars;
    size_t n_y;
    double *y, *r, *dy;
    double p; /* dropout; of losses: smoothing */
    bool bends;
    void *ctx, *scratch;
    void (*forward)(struct layer *l);
    void (*backward)(struct layer *l);
    int32_t *labels;
};

static inline double *new_reals(size_t n)
{
    double *p = buf_alloc((n + 1) * sizeof *p);
    if (!p)
        exit(1);
    return p;
}

static inline void add_var(struct layer *l, size_t n, uint64_t key)
{
    struct var v = {new_reals(n), new_reals(n), n};
    for (size_t i = 0; i < n; i++)
        v.v[i] = uniform(philox_key(key, (uint32_t)l->n_vars, 0, 0, 0), i);
    l->vars[l->n_vars++] = v;
}

static inline void set_output(struct layer *l, size_t n)
{
    l->n_y = n;
    l->y = new_reals(n), l->r = new_reals(n), l->dy = new_reals(n);
    for (size_t i = 0; i < n; i++)
        l->r[i] = uniform(99, i);
}

static inline double value(struct layer *l)
{
    double sum = 0;
    l->forward(l);
    for (size_t i = 0; i < l->n_y; i++)
        sum += l->r[i] * l->y[i];
    return sum;
}

static inline bool bent(const struct layer *l, const bool *on)
{
    for (size_t i = 0; l->bends && i < l->n_y; i++)
        if ((l->y[i] > 0) != on[i])
            return true;
    return false;
}

static double worst_error;
static int n_points, n_skipped;

static inline void check_layer(struct layer *l)
{
    bool *on = calloc(l->n_y + 1, sizeof *on);
    l->forward(l);
    for (size_t i = 0; i < l->n_y; i++)
        on[i] = l->y[i] > 0;
    memcpy(l->dy, l->r, l->n_y * sizeof *l->dy);
    l->backward(l);
    double worst = 0;
    for (int k = 0; k < l->n_vars; k++) {
        struct var *var = &l->vars[k];
        double typical = rms(var->d, var->n);
        size_t stride = 1 + var->n / 400; /* a sample of large tensors */
        for (size_t i = 0; i < var->n; i += stride) {
            double at = var->v[i];
            var->v[i] = at + STEP;
            double up = value(l);
            bool skip = bent(l, on);
            var->v[i] = at - STEP;
            double down = value(l);
            skip |= bent(l, on);
            var->v[i] = at;
            n_points++, n_skipped += skip;
            double error = skip ? 0 : grad_error((up - down) / (2 * STEP), var->d[i], typical);
            worst = error > worst ? error : worst;
            CHECK(error <= MAX_ERROR, "%s: var %d element %zu: %.12g, by differences %.12g",
                  l->name, k, i, var->d[i], (up - down) / (2 * STEP));
        }
    }
    worst_error = worst > worst_error ? worst : worst_error;
    free(on);
}

static inline void close_layer(struct layer *l)
{
    for (int k = 0; k < l->n_vars; k++)
        free(l->vars[k].v), free(l->vars[k].d);
    free(l->y), free(l->r), free(l->dy), free(l->scratch), free(l->labels);
}

static inline struct nn_window window(struct nn_shape in, int out_c, int k, int stride, int pad)
{
    return (struct nn_window){
        .in = in,
        .out = {(in.h + 2 * pad - k) / stride + 1, (in.w + 2 * pad - k) / stride + 1, out_c},
        .k = k,
        .stride = stride,
        .pad = pad,
    };
}

static inline void *open_cpu(void)
{
    void *ctx;
    nn_cpu_threads(1);
    if (nn_cpu.open(NULL, &ctx) < 0)
        exit(1);
    puts("seeds: x 1, weights 2, biases 3, addend 4, dropout 5, r 99");
    return ctx;
}

static inline void close_cpu(void *ctx)
{
    printf("%d points, worst relative error %.2g, %d skipped at a bend\n", n_points, worst_error,
           n_skipped);
    CHECK(n_skipped * 20 < n_points, "%d of %d points skipped", n_skipped, n_points);
    nn_cpu.close(ctx);
}

#endif
