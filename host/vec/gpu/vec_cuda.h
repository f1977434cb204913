/* vec_cuda.h : vec.h's table on the GPU. fp32 vectors are device memory; codes, accumulators and
 * scratch are what alloc gives.
 *
 *     vec_cuda         alloc gives pinned memory, which kernels, CPU and MPI all reach in place.
 *                      Casts are the GPU's. Sums of little are the CPU's: done before a kernel
 *                      would have begun; longer ones the GPU's.
 *     vec_cuda_device  alloc gives device memory, for codes that other GPUs read or that MPI takes
 *         from there.
 *                      All is the GPU's; the CPU must not touch what alloc gave.
 *
 * Both need an open device (gpu.h) and give the bits of vec_plain. Calls block on the calling
 * thread's own stream; what was written by another stream must stand before. Random bits are
 * counted from a multiple of 8 (`at`).
 *
 * Calls of vec.h cannot fail, a GPU can: then one line is said, absmax is not finite, codes are
 * what they are, and gpu_failed() is negative from then on. Who runs a step asks it once before the
 * step's results are used. */
#ifndef VEC_CUDA_H
#define VEC_CUDA_H
#include "vec/vec.h"

const struct vec_ops *vec_cuda(void);
const struct vec_ops *vec_cuda_device(void);

/* Sums of fewer bytes of addends or accumulators than this are the CPU's under vec_cuda(). */
enum { VEC_CUDA_SUM_MIN = 256 * 1024 };

#endif
