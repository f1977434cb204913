/* blas.cpp : emulates cuBLAS: GEMM in plain loops, sums in double, one rounding at the end. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdio.h>
#include <string.h>

struct cublasContext {
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
    cublasMath_t mode;
};

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t s)
{
    handle->stream = s;
    handle->workspace = nullptr; /* its own workspace again, like cuBLAS */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    char *base;
    size_t all;
    if ((uintptr_t)workspace % 256 || !emu_find(workspace, &base, &all) || bytes > all)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
}

static float blas_load(const void *p, cudaDataType_t type, size_t i, bool tf32)
{
    if (type == CUDA_R_16F)
        return __half2float(((const __half *)p)[i]);
    if (type == CUDA_R_16BF)
        return __bfloat162float(((const __nv_bfloat16 *)p)[i]);
    float v = ((const float *)p)[i];
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if (tf32 && (u & 0x7f800000u) != 0x7f800000u)
        u = (u + 0x1000u) & ~0x1fffu;
    memcpy(&v, &u, sizeof v);
    return v;
}

static void blas_store(void *p, cudaDataType_t type, size_t i, float v)
{
    if (type == CUDA_R_16F)
        ((__half *)p)[i] = __float2half_rn(v);
    else if (type == CUDA_R_16BF)
        ((__nv_bfloat16 *)p)[i] = __float2bfloat16_rn(v);
    else
        ((float *)p)[i] = v;
}

/* Columns are `pitch` elements apart. */
struct blas_matrix {
    void *p;
    cudaDataType_t type;
    bool transposed;
    int rows, columns, pitch;
    size_t at(int row, int column) const
    {
        return transposed ? (size_t)row * (size_t)pitch + (size_t)column
                          : (size_t)column * (size_t)pitch + (size_t)row;
    }
    size_t bytes() const { return (at(rows - 1, columns - 1) + 1) * (type == CUDA_R_32F ? 4 : 2); }
    bool is_good(const char *name) const
    {
        char *base;
        size_t all;
        const char *wrong = nullptr;
        if (pitch < (transposed ? columns : rows))
            wrong = "columns overlap";
        else if (!emu_find(p, &base, &all) || (size_t)((char *)p - base) + bytes() > all)
            wrong = "not in device memory, or out of it";
        if (wrong)
            fprintf(stderr, "emu: cublas: matrix %s: %s\n", name, wrong);
        return !wrong;
    }
};

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t as_a, cublasOperation_t as_b,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t a_type, int a_pitch, const void *b,
                            cudaDataType_t b_type, int b_pitch, const void *beta, void *c,
                            cudaDataType_t c_type, int c_pitch, cublasComputeType_t compute,
                            cublasGemmAlgo_t)
{
    const blas_matrix left = {(void *)a, a_type, as_a == CUBLAS_OP_T, m, k, a_pitch};
    const blas_matrix right = {(void *)b, b_type, as_b == CUBLAS_OP_T, k, n, b_pitch};
    const blas_matrix to = {c, c_type, false, m, n, c_pitch};
    const bool half_sums = compute == CUBLAS_COMPUTE_16F; /* alpha and beta are halves */
    const cudaDataType_t sums = half_sums ? CUDA_R_16F : CUDA_R_32F;
    const float times = blas_load(alpha, sums, 0, false), keep = blas_load(beta, sums, 0, false);
    const bool tf32 =
        compute == CUBLAS_COMPUTE_32F_FAST_TF32 || handle->mode == CUBLAS_TF32_TENSOR_OP_MATH;
    if (!handle->workspace) {
        fprintf(stderr,
                "emu: cublas: no workspace: a graph cannot hold what cuBLAS would allocate\n");
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (m < 1 || n < 1 || k < 1 || !left.is_good("a") || !right.is_good("b") || !to.is_good("c"))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a_type != b_type || (c_type != a_type && c_type != CUDA_R_32F) ||
        (half_sums && (a_type != CUDA_R_16F || c_type != CUDA_R_16F)))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    emu_note("gemm %s %dx%dx%d", half_sums ? "half" : "float", m, n, k);
    void *workspace = handle->workspace;
    const cudaError_t e = emu_enqueue(handle->stream, [=] {
        memset(workspace, 0xa5, 4096);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum =
                    keep != 0 ? keep * (double)blas_load(c, c_type, to.at(i, j), false) : 0;
                for (int l = 0; l < k; l++)
                    sum += times * (double)blas_load(left.p, a_type, left.at(i, l), tf32) *
                           (double)blas_load(right.p, b_type, right.at(l, j), tf32);
                blas_store(c, c_type, to.at(i, j), (float)sum);
            }
    });
    return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static void *blas_at(const void *p, cudaDataType_t type, long long elements)
{
    return (char *)p + elements * (type == CUDA_R_32F ? 4 : 2);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t as_a,
                                          cublasOperation_t as_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType_t a_type,
                                          int a_pitch, long long a_stride, const void *b,
                                          cudaDataType_t b_type, int b_pitch, long long b_stride,
                                          const void *beta, void *c, cudaDataType_t c_type,
                                          int c_pitch, long long c_stride, int count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    cublasStatus_t status = count < 1 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++)
        status =
            cublasGemmEx(handle, as_a, as_b, m, n, k, alpha, blas_at(a, a_type, i * a_stride),
                         a_type, a_pitch, blas_at(b, b_type, i * b_stride), b_type, b_pitch, beta,
                         blas_at(c, c_type, i * c_stride), c_type, c_pitch, compute, algorithm);
    return status;
}
