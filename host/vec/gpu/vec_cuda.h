/* vec_cuda.h : Provides two tables of vec.h for the GPU. fp32 vectors are device memory. Codes,
 * accumulators and scratch come from alloc.
 *
 *     vec_cuda         alloc returns pinned memory, which kernels, the CPU and MPI access in place.
 *                      The GPU casts. The CPU makes short sums, in less time than a launch takes.
 *     vec_cuda_device  alloc returns device memory, for codes that other GPUs or MPI read there.
 *                      The GPU does all operations. The CPU must not access this memory.
 *
 * Both need an open device (gpu.h) and give the bits of vec_plain. A call uses the stream of the
 * calling thread and waits for it. Other streams must have completed their writes to the arguments
 * before the call. With random bits, `at` must be a multiple of 8.
 *
 * The calls of vec.h cannot return an error, but a GPU can fail. In that case one error is printed,
 * absmax is not finite, codes are undefined, and gpu_failed() stays negative. A step must check
 * gpu_failed() once before it uses its results. */
#ifndef VEC_CUDA_H
#define VEC_CUDA_H
#include "vec/vec.h"

const struct vec_ops *vec_cuda(void);
const struct vec_ops *vec_cuda_device(void);

/* With vec_cuda(), the CPU makes sums with fewer bytes of addends or accumulators. */
enum { VEC_CUDA_SUM_MIN = 256 * 1024 };

#endif
