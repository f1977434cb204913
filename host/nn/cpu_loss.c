/* cpu_loss.c : element-wise layers and the end of the network: ReLU, sums, factors, dropout,
 * softmax cross-entropy. */
#include <math.h>
#include "hls/philox.h"
#include "nn/cpu_ops.h"

CPU_HOT static void relu(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

/* Keeps dy where y > 0; dx may be dy. */
CPU_HOT static void relu_mask(size_t n, const real *restrict y, const real *dy, real *dx)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

void cpu_relu_forward(void *ctx, size_t n, const real *x, real *y)
{
    (void)ctx;
    relu(n, x, y);
}

void cpu_relu_backward(void *ctx, size_t n, const real *y, const real *dy, real *dx)
{
    (void)ctx;
    relu_mask(n, y, dy, dx);
}

CPU_HOT static void add(size_t n, const real *a, const real *b, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

CPU_HOT static void scale(size_t n, real k, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = k * x[i];
}

void cpu_add(void *ctx, size_t n, const real *a, const real *b, real *y)
{
    (void)ctx;
    add(n, a, b, y);
}

void cpu_scale(void *ctx, size_t n, double k, const real *x, real *y)
{
    (void)ctx;
    scale(n, (real)k, x, y);
}

void cpu_dropout(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node, const real *x,
                 real *y)
{
    (void)ctx;
    const uint64_t own = philox_key(*key, node, 0, 0, 0);
    const double limit = p * 0x1p32;
    const real grow = (real)(1 / (1 - p));
    for (size_t i = 0; i < n; i++)
        y[i] = (double)philox_u32(own, i) < limit ? 0 : x[i] * grow;
}

/* True if z[label] is the largest, the first of equals; false if any is nan. */
static bool is_top(int classes, const real *z, int label)
{
    for (int j = 0; j < classes; j++)
        if (!(j < label ? z[j] < z[label] : z[j] <= z[label]))
            return false;
    return true;
}

void cpu_softmax_loss(void *ctx, int batch, int classes, const real *logits, const int32_t *labels,
                      real *dlogits, struct nn_result *result)
{
    (void)ctx;
    *result = (struct nn_result){0, 0};
    for (int b = 0; b < batch; b++) {
        const real *z = logits + (size_t)b * (size_t)classes;
        real top = z[0];
        double sum = 0;
        for (int j = 1; j < classes; j++)
            top = z[j] > top ? z[j] : top;
        for (int j = 0; j < classes; j++)
            sum += exp((double)(z[j] - top));
        // cppcheck-suppress invalidFunctionArg  // there are classes: sum >= exp(0)
        result->loss_sum += log(sum) - (double)(z[labels[b]] - top);
        result->n_correct += is_top(classes, z, labels[b]);
        for (int j = 0; dlogits && j < classes; j++) {
            double share = exp((double)(z[j] - top)) / sum;
            dlogits[(size_t)b * (size_t)classes + (size_t)j] =
                (real)((share - (j == labels[b])) / batch);
        }
    }
}
