/* cublas_v2.h : replaces NVIDIA's header for device/nn/linear.cu, with the same constants. */
#ifndef EMU_CUBLAS_V2_H
#define EMU_CUBLAS_V2_H
#include <cuda_runtime.h>
#include <stddef.h>

typedef struct cublasContext *cublasHandle_t;
typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
} cublasMath_t;
typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
} cublasComputeType_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType_t;

extern "C" {
cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t s);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
const char *cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t as_a, cublasOperation_t as_b,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t a_type, int a_pitch, const void *b,
                            cudaDataType_t b_type, int b_pitch, const void *beta, void *c,
                            cudaDataType_t c_type, int c_pitch, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm);
/* Strides are in elements. */
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t as_a,
                                          cublasOperation_t as_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType_t a_type,
                                          int a_pitch, long long a_stride, const void *b,
                                          cudaDataType_t b_type, int b_pitch, long long b_stride,
                                          const void *beta, void *c, cudaDataType_t c_type,
                                          int c_pitch, long long c_stride, int count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
}

#endif
