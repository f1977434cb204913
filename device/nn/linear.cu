/* linear.cu : computes the fully connected layer with cuBLAS. Sums are floats, with NN_FP16_PURE
 * halves. cuBLAS is column-major, so it sees our row-major matrices transposed (x' is x as cuBLAS
 * sees it):
 *
 *     y [batch][out] = x w^T     is   y' (out x batch) = transpose of w' * x'
 *     dw [out][in]   = dy^T x    is   dw' (in x out)   = x' * transpose of dy'
 *     dx [batch][in] = dy w      is   dx' (in x batch) = w' * dy' */
#include "device/nn/conv.cuh"
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <stdlib.h>

enum {
    WORKSPACE_BYTES = 32 << 20
}; /* cuBLAS's largest default so far; our own memory, so that graphs can use it */

struct nn_blas {
    cublasHandle_t handle;
    void *workspace;
};

static int failed(const struct dev_nn *d, const char *what, int m, int k, int n,
                  cublasStatus_t status)
{
    return cu_say(-EIO, "gpu: a product of %d x %d x %d, %s%s: cuBLAS says %s", m, k, n,
                  nn_math_word(d->math), what, cublasGetStatusString(status));
}

int linear_open(struct dev_nn *d)
{
    d->blas = (struct nn_blas *)calloc(1, sizeof *d->blas);
    if (!d->blas)
        return cu_say(-ENOMEM, "gpu: no memory for cuBLAS");
    const int rc = cu_try(cudaMalloc(&d->blas->workspace, WORKSPACE_BYTES), "memory for cuBLAS");
    if (rc < 0)
        return rc;
    /* 16-bit products are summed as floats, except in pure fp16. */
    const cublasMath_t math = d->math == NN_FP32 || nn_pure(d) ? CUBLAS_DEFAULT_MATH
                              : d->math == NN_TF32
                                  ? CUBLAS_TF32_TENSOR_OP_MATH
                                  : CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    cublasStatus_t status = cublasCreate(&d->blas->handle);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetStream(d->blas->handle, cu_stream(d->s));
    /* Setting the stream resets the workspace. */
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetWorkspace(d->blas->handle, d->blas->workspace, WORKSPACE_BYTES);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetMathMode(d->blas->handle, math);
    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : cu_say(-EIO, "gpu: cannot open cuBLAS: it says %s", cublasGetStatusString(status));
}

void linear_close(struct dev_nn *d)
{
    if (!d->blas)
        return;
    if (d->blas->handle)
        cublasDestroy(d->blas->handle);
    cudaFree(d->blas->workspace);
    free(d->blas);
    d->blas = NULL;
}

/* The types of a product, and its factors 1 and 0 in the type of the sums. */
struct product {
    cudaDataType_t type, c_type;
    cublasComputeType_t compute;
    float one = 1, zero = 0;
    __half half_one, half_zero;
    bool half_sums;
    product(const struct dev_nn *d, bool c_is_float)
        : half_one(__float2half(1)), half_zero(__float2half(0)),
          half_sums(nn_pure(d) && !c_is_float)
    {
        type = nn_half(d) ? CUDA_R_16F : d->math == NN_BF16 ? CUDA_R_16BF : CUDA_R_32F;
        c_type = c_is_float ? CUDA_R_32F : type;
        compute = half_sums            ? CUBLAS_COMPUTE_16F
                  : d->math == NN_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                       : CUBLAS_COMPUTE_32F;
    }
    const void *factor(bool is_one) const
    {
        return half_sums ? (const void *)(is_one ? &half_one : &half_zero) : is_one ? &one : &zero;
    }
};

static cublasOperation_t turned(struct linear_matrix m)
{
    return m.turned ? CUBLAS_OP_T : CUBLAS_OP_N;
}

int linear_product(const struct dev_nn *d, const char *what, int m, int n, int k,
                   struct linear_matrix a, struct linear_matrix b, bool add, void *c, int c_pitch,
                   bool c_is_float)
{
    const struct product p(d, c_is_float);
    const cublasStatus_t status = cublasGemmEx(
        d->blas->handle, turned(b), turned(a), n, m, k, p.factor(true), b.p, p.type, b.pitch, a.p,
        p.type, a.pitch, p.factor(add), c, p.c_type, c_pitch, p.compute, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? 0 : failed(d, what, m, k, n, status);
}

int linear_products(const struct dev_nn *d, const char *what, int count, int m, int n, int k,
                    struct linear_batch a, struct linear_batch b, void *c, int c_pitch,
                    long long c_stride, bool c_is_float)
{
    const struct product p(d, c_is_float);
    const cublasStatus_t status = cublasGemmStridedBatchedEx(
        d->blas->handle, turned(b.m), turned(a.m), n, m, k, p.factor(true), b.m.p, p.type,
        b.m.pitch, b.stride, a.m.p, p.type, a.m.pitch, a.stride, p.factor(false), c, p.c_type,
        c_pitch, c_stride, count, p.compute, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? 0 : failed(d, what, m, k, n, status);
}

int nn_linear_forward(struct dev_nn *d, int batch, int in, int out, const void *x, const void *w,
                      const void *bias, void *y)
{
    if (d->is_low)
        return low_linear_forward(d, batch, in, out, (const float *)x, (const float *)w,
                                  (const float *)bias, (float *)y);
    const int rc = linear_product(d, "", batch, out, in, {x, in, false},
                                  {nn_weight(d, w), in, true}, false, y, out, false);
    if (rc < 0)
        return rc;
    return bias ? rows_add_bias(d, (size_t)batch, out, bias, y) : 0;
}

int nn_linear_backward(struct dev_nn *d, int batch, int in, int out, const void *x, const void *w,
                       const void *dy, void *dx, void *dw, void *dbias)
{
    if (d->is_low)
        return low_linear_backward(d, batch, in, out, (const float *)x, (const float *)w,
                                   (const float *)dy, (float *)dx, (float *)dw, (float *)dbias);
    int rc = linear_product(d, ", weight gradient", out, in, batch, {dy, out, true}, {x, in, false},
                            false, dw, in, !nn_pure(d));
    if (rc == 0)
        rc = rows_unscale(d, (size_t)in * (size_t)out, dw);
    if (rc == 0 && dbias)
        rc = rows_sum(d, (size_t)batch, out, dy, dbias, NULL);
    if (rc < 0 || !dx)
        return rc;
    return linear_product(d, ", data gradient", batch, in, out, {dy, out, false},
                          {nn_weight(d, w), in, false}, false, dx, in, false);
}
