/* vec_cuda.h : provides two tables of vec.h for the GPU.
 *
 *     vec_cuda         alloc returns pinned memory, which kernels, the CPU and MPI access in place.
 *                      The GPU casts. The CPU makes short sums, in less time than a launch takes.
 *     vec_cuda_device  alloc returns device memory, for codes that other GPUs or MPI read there.
 *                      The GPU does all operations. The CPU must not access this memory.
 *
 * Both need an open device (gpu.h). A call uses the calling thread's stream and waits for it. Other
 * streams must have completed their writes to the arguments before. With random bits, `at` must be
 * a multiple of 8.
 *
 * A GPU can fail, but calls of vec.h cannot return an error. One error is then printed, absmax is
 * not finite, codes are undefined, and the thread's gpu_failed() stays negative until gpu_forget():
 * check it once per step before using results. */
#ifndef VEC_CUDA_H
#define VEC_CUDA_H
#include "vec/vec.h"

const struct vec_ops *vec_cuda(void);
const struct vec_ops *vec_cuda_device(void);

/* vec_cuda(): the CPU makes sums with fewer bytes of addends or accumulators */
enum { VEC_CUDA_SUM_MIN = 256 * 1024 };

#endif
