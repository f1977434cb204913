/* cpu_linear.c : the fully connected layer: a GEMM forward, two backward. */
#include <string.h>
#include "nn/cpu_ops.h"

void cpu_linear_forward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                        const real *bias, real *y)
{
    for (int i = 0; bias && i < batch; i++)
        memcpy(y + (size_t)i * (size_t)out, bias, (size_t)out * sizeof *y);
    cpu_gemm(ctx, false, true, batch, out, in, x, in, w, in, bias ? 1 : 0, y, out);
}

void cpu_linear_backward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                         const real *dy, real *dx, real *dw, real *dbias)
{
    cpu_gemm(ctx, true, false, out, in, batch, dy, out, x, in, 0, dw, in);
    if (dbias)
        cpu_sum_rows((size_t)batch, out, dy, dbias);
    if (dx)
        cpu_gemm(ctx, false, false, batch, in, out, dy, out, w, in, 0, dx, in);
}
