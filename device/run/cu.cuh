/* cu.cuh : provides error reports, grid sizes and shared memory for device/. */
#ifndef CU_CUH
#define CU_CUH
#include "device/run/dev.h"
#include <cuda_runtime.h>
#include <errno.h>

enum { CU_THREADS = 256 };

/* The host's err_say(), set by run->open(); before that, it prints to stderr. */
extern dev_say *cu_say;

/* Every thread must set this device: CUDA's current device is per thread. */
extern int cu_ordinal;
static inline cudaStream_t cu_stream(struct dev_stream *s)
{
    if (cu_ordinal >= 0)
        (void)cudaSetDevice(cu_ordinal);
    return (cudaStream_t)s;
}

/* Reports "gpu: WHAT failed: reason"; returns -ENOMEM or -EIO. cu_try() and cu_check() return 0 or
 * its result. */
int cu_failed(cudaError_t e, const char *what);
static inline int cu_try(cudaError_t e, const char *what)
{
    return e == cudaSuccess ? 0 : cu_failed(e, what);
}

static inline int cu_check(const char *what)
{
    return cu_try(cudaGetLastError(), what);
}

int cu_n_sms(void);

/* True while an event of dev_run_ops.event_leave has not passed. Nothing may then wait for the
 * device. */
bool cu_is_stuck(void);

static inline unsigned cu_blocks(size_t n)
{
    return (unsigned)((n + CU_THREADS - 1) / CU_THREADS);
}
/* For kernels that stride: `blocks`, but at most per_sm for each multiprocessor. */
static inline unsigned cu_grid(size_t blocks, int per_sm)
{
    const size_t most = (size_t)cu_n_sms() * (size_t)per_sm;
    return (unsigned)(blocks < most ? blocks : most);
}
static inline unsigned cu_blocks_most(size_t n, int per_sm)
{
    return cu_grid((n + CU_THREADS - 1) / CU_THREADS, per_sm);
}

/* Allow every launch of KERNEL up to `most` bytes of dynamic shared memory. `most` must be the
 * same in all calls, as concurrent threads share the limit. Returns 0, or a reported failure. */
template <auto KERNEL> static int cu_shared_most(size_t most, const char *what)
{
    static int set_for = -1; /* device */
    if (__atomic_load_n(&set_for, __ATOMIC_ACQUIRE) == cu_ordinal)
        return 0;
    const int rc = cu_try(
        cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most), what);
    if (rc == 0)
        __atomic_store_n(&set_for, cu_ordinal, __ATOMIC_RELEASE);
    return rc;
}

#ifdef __CUDACC__
#define CU_SHARED(type, name)                                  \
    extern __shared__ __align__(16) unsigned char cu_shared[]; \
    type *name = (type *)cu_shared
#else
#define CU_SHARED(type, name) type *name = (type *)emu_shared()
#endif

#endif
