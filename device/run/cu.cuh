/* cu.cuh : what all files of device/ share: how failures are said, how large a grid is, memory of a
 * block. */
#ifndef CU_CUH
#define CU_CUH
#include "device/run/dev.h"
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

/* Lets every launch of a kernel have up to `most` bytes of that: once for a device, and always the same
 * number, as threads that launch at the same time share it. Returns 0 or a failure that was said. */
template <auto KERNEL> static int cu_shared_most(size_t most, const char *what)
{
    static int set_for = -1; /* the device */
    if (__atomic_load_n(&set_for, __ATOMIC_ACQUIRE) == cu_ordinal)
        return 0;
    const int rc = cu_try(
        cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most), what);
    if (rc == 0)
        __atomic_store_n(&set_for, cu_ordinal, __ATOMIC_RELEASE);
    return rc;
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
