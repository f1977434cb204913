/* cu.cuh : what all files of device/ share: how failures are said, how large a grid is, memory of a
 * block. */
#ifndef CU_CUH
#define CU_CUH
#include "device/dev.h"
#include <cuda_runtime.h>
#include <errno.h>

enum { CU_THREADS = 256 };

/* host's err_say(), set by run->open(); before that a line goes to stderr. */
extern dev_say *cu_say;

extern int cu_ordinal; /* of the open device; CUDA wants to hear it in every thread */
static inline cudaStream_t cu_stream(struct dev_stream *s)
{
    if (cu_ordinal > 0)
        (void)cudaSetDevice(cu_ordinal);
    return (cudaStream_t)s;
}

/* 0, or -ENOMEM / -EIO after a line "gpu: WHAT failed: reason". */
int cu_failed(cudaError_t e, const char *what);
static inline int cu_try(cudaError_t e, const char *what)
{
    return e == cudaSuccess ? 0 : cu_failed(e, what);
}

/* Of the launch just made. */
static inline int cu_check(const char *what)
{
    return cu_try(cudaGetLastError(), what);
}

int cu_n_sms(void); /* of the open device */

/* Blocks for n threads' worth of work, one element a thread; and for kernels that stride over their
 * elements: no more than fill the chip a few times. */
static inline unsigned cu_blocks(size_t n)
{
    return (unsigned)((n + CU_THREADS - 1) / CU_THREADS);
}
static inline unsigned cu_blocks_most(size_t n, int per_sm)
{
    const size_t most = (size_t)cu_n_sms() * (size_t)per_sm,
                 want = (n + CU_THREADS - 1) / CU_THREADS;
    return (unsigned)(want < most ? want : most);
}

/* Shared memory whose size the launch says. */
#ifdef __CUDACC__
#define CU_SHARED(type, name)                                  \
    extern __shared__ __align__(16) unsigned char cu_shared[]; \
    type *name = (type *)cu_shared
#else
#define CU_SHARED(type, name) type *name = (type *)emu_shared()
#endif

#endif
