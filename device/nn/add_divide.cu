/* add_divide.cu : adds two gradients and divides the sum, for gradients of several passes. */
#include "device/nn/act.cuh"
#include "device/nn/nn.cuh"

template <class T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_add_divide(size_t n, const T *a, const T *b, float divisor, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i < n)
        y[i] = act<T>::of(
            __fdiv_rn(b ? __fadd_rn(act_float(a[i]), act_float(b[i])) : act_float(a[i]), divisor));
}

template <class T>
static int add_divide(struct dev_nn *d, size_t n, const void *a, const void *b, float divisor,
                      void *y)
{
    k_add_divide<T><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, (const T *)a, (const T *)b,
                                                                      divisor, (T *)y);
    return cu_check("sum of gradients");
}

int nn_add_divide(struct dev_nn *d, size_t n, const void *a, const void *b, float divisor, void *y)
{
    return n ? NN_BY_PAR(d, add_divide, d, n, a, b, divisor, y) : 0;
}
