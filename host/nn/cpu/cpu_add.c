/* cpu_add.c : gradients of several passes added up, on the CPU. */
#include "nn/cpu/cpu_ops.h"

CPU_HOT static void divided_by(size_t n, const real *a, real divisor, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] / divisor;
}

CPU_HOT static void sum_of_two(size_t n, const real *a, const real *b, real divisor, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (a[i] + b[i]) / divisor;
}

void cpu_add_divide(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y)
{
    (void)ctx;
    if (b)
        sum_of_two(n, a, b, divisor, y);
    else
        divided_by(n, a, divisor, y);
}
