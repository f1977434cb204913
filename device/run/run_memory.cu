/* run_memory.cu : allocates device and pinned host memory, and shares it between processes. */
#include "device/run/run.cuh"
#include <string.h>

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

void run_memory(size_t *free_bytes, size_t *all_bytes)
{
    *free_bytes = *all_bytes = 0;
    (void)cu_stream(NULL);
    (void)cu_try(cudaMemGetInfo(free_bytes, all_bytes), "asking for free memory");
}

static void *no_memory(cudaError_t e, size_t bytes)
{
    size_t free_bytes, all_bytes;
    if (e != cudaErrorMemoryAllocation)
        return cu_failed(e, "allocating"), (void *)NULL;
    (void)cudaGetLastError();
    run_memory(&free_bytes, &all_bytes);
    (void)cu_say(-ENOMEM, "gpu: out of memory: %.1f MiB asked for, %.1f of %.1f MiB free",
                 mib(bytes), mib(free_bytes), mib(all_bytes));
    return NULL;
}

/* The default stream may have work of the caller that takes long. */
static int zero(void *p, size_t bytes)
{
    struct dev_stream *s;
    int rc = run_stream_open(true, &s);
    if (rc < 0)
        return rc;
    rc = run_zero(p, bytes, s);
    if (rc == 0)
        rc = run_wait(s);
    run_stream_close(s);
    return rc;
}

void *run_alloc(size_t bytes)
{
    void *p = NULL;
    (void)cu_stream(NULL);
    const cudaError_t e = cudaMalloc(&p, bytes > 0 ? bytes : 1);
    if (e != cudaSuccess)
        return no_memory(e, bytes);
    if (zero(p, bytes) < 0) {
        run_free(p);
        return NULL;
    }
    return p;
}

void run_free(void *p)
{
    (void)cu_stream(NULL);
    if (!cu_is_stuck())
        (void)cu_try(cudaFree(p), "freeing memory");
}

void *run_alloc_pinned(size_t bytes)
{
    void *p = NULL;
    (void)cu_stream(NULL);
    const cudaError_t e =
        cudaHostAlloc(&p, bytes > 0 ? bytes : 1, cudaHostAllocPortable | cudaHostAllocMapped);
    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        (void)cu_say(-ENOMEM, "gpu: out of memory: the host cannot pin %.1f MiB", mib(bytes));
        return NULL;
    }
    if (cu_try(e, "pinning memory") < 0)
        return NULL;
    memset(p, 0, bytes);
    return p;
}

void run_free_pinned(void *p)
{
    (void)cu_stream(NULL);
    if (!cu_is_stuck())
        (void)cu_try(cudaFreeHost(p), "freeing pinned memory");
}

static_assert(sizeof(struct dev_ipc) == sizeof(cudaIpcMemHandle_t), "a handle travels as dev_ipc");

int run_ipc_export(void *p, struct dev_ipc *out)
{
    cudaIpcMemHandle_t h;
    (void)cu_stream(NULL);
    const int rc = cu_try(cudaIpcGetMemHandle(&h, p), "exporting memory");
    if (rc == 0)
        memcpy(out, &h, sizeof *out);
    return rc;
}

int run_ipc_import(const struct dev_ipc *in, void **out)
{
    cudaIpcMemHandle_t h;
    void *p = NULL;
    memcpy(&h, in, sizeof h);
    (void)cu_stream(NULL);
    const int rc = cu_try(cudaIpcOpenMemHandle(&p, h, cudaIpcMemLazyEnablePeerAccess),
                          "importing another rank's memory");
    if (rc == 0)
        *out = p;
    return rc;
}

void run_ipc_close(void *p)
{
    (void)cu_stream(NULL);
    if (p && !cu_is_stuck())
        (void)cu_try(cudaIpcCloseMemHandle(p), "closing another rank's memory");
}
