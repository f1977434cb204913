/* add_divide.cu : gradients of several passes added up. */
#include "device/nn.cuh"

/* y may be a or b. */
static __global__ void __launch_bounds__(CU_THREADS)
    k_add_divide(size_t n, const float *a, const float *b, float divisor, float *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i < n)
        y[i] = __fdiv_rn(b ? __fadd_rn(a[i], b[i]) : a[i], divisor);
}

int nn_add_divide(struct dev_nn *d, size_t n, const float *a, const float *b, float divisor,
                  float *y)
{
    if (n == 0)
        return 0;
    k_add_divide<<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, a, b, divisor, y);
    return cu_check("sum of gradients");
}
