/* vec_cuda.h : Fills vec.h's table for the GPU. fp32 vectors are device memory. Codes, accumulators
 * and scratch come from alloc.
 *
 *     vec_cuda         alloc gives pinned memory, which kernels, CPU and MPI access in place.
 *                      The GPU casts. Short sums run on the CPU, before a kernel would begin.
 *     vec_cuda_device  alloc gives device memory, for codes that other GPUs or MPI read there. All
 *                      runs on the GPU. The CPU must not touch this memory.
 *
 * Both need an open device (gpu.h) and give the bits of vec_plain. Calls block on the calling
 * thread's stream. Writes by other streams must have completed before. With random bits, `at` must
 * be a multiple of 8.
 *
 * vec.h's calls cannot fail, but a GPU can: then one error is printed, absmax is not finite, codes
 * are undefined, and gpu_failed() stays negative. A step checks it once before it uses its
 * results. */
#ifndef VEC_CUDA_H
#define VEC_CUDA_H
#include "vec/vec.h"

const struct vec_ops *vec_cuda(void);
const struct vec_ops *vec_cuda_device(void);

/* Under vec_cuda(), sums with fewer bytes of addends or accumulators run on the CPU. */
enum { VEC_CUDA_SUM_MIN = 256 * 1024 };

#endif
