/* selftest_host.cu : tests the emulator's host side and 16-bit floats, for tests/emu/test_emu.c.
 * Functions return 0 or the line that failed. */
#include "device/run/cu.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "selftest.h"
#include "hls/arith/mf.h"
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

template <class T> static __global__ void k_add(T *x, size_t n, T by)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += by;
}

static int value_of(const int *d) /* -1: the copy failed */
{
    int h;
    return cudaMemcpy(&h, d, sizeof h, cudaMemcpyDefault) == cudaSuccess ? h : -1;
}

extern "C" int self_memory(void)
{
    size_t free_bytes, all_bytes;
    char *a, *b, h[8];
    cudaPointerAttributes at;
    WORKS(cudaMalloc(&a, 1000));
    WORKS(cudaMemGetInfo(&free_bytes, &all_bytes));
    HOLDS(all_bytes == 1 << 20 && free_bytes == all_bytes - 1000 && (uintptr_t)a % 256 == 0);
    HOLDS(cudaMalloc(&b, 1 << 20) == cudaErrorMemoryAllocation && b == NULL);
    HOLDS(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
    HOLDS(cudaMemcpy(a, h, 1001, cudaMemcpyDefault) == cudaErrorInvalidValue);
    HOLDS(cudaMemcpy(a, h, 8, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    HOLDS(cudaMemset(a + 999, 0, 2) == cudaErrorInvalidValue);
    WORKS(cudaPointerGetAttributes(&at, a + 5));
    HOLDS(at.type == cudaMemoryTypeDevice);
    WORKS(cudaHostAlloc(&b, 64, cudaHostAllocMapped));
    WORKS(cudaPointerGetAttributes(&at, b + 63));
    HOLDS(at.type == cudaMemoryTypeHost);
    WORKS(cudaPointerGetAttributes(&at, h));
    HOLDS(at.type == cudaMemoryTypeUnregistered);
    HOLDS(cudaFree(a + 1) == cudaErrorInvalidValue && cudaFree(b) == cudaErrorInvalidValue);
    WORKS(cudaFreeHost(b));
    WORKS(cudaFree(a));
    WORKS(cudaMalloc(&a, 1 << 20));
    return 0;
}

extern "C" int self_touch(void) /* dies under EMU_STRICT */
{
    volatile char *a;
    WORKS(cudaMalloc((void **)&a, 10));
    WORKS(cudaMemset((void *)a, 1, 10));
    return a[3] == 1 ? 0 : 1;
}

extern "C" int self_overrun(void)
{
    char *a;
    WORKS(cudaMalloc(&a, 10));
    k_add<char><<<1, 32>>>(a, 11, 1);
    WORKS(cudaFree(a));
    return 0;
}

static __global__ void k_read(const volatile int *host, int *x)
{
    *x = *host;
}
static __global__ void k_store(volatile int *host)
{
    *host = 7;
}
static __global__ void k_count(volatile int *host)
{
    *host = *host + 1;
}
static __global__ void k_raise(int *host)
{
    atomicMax(host, (int)threadIdx.x);
}

/* Only kernels' accesses are logged. */
extern "C" int self_host(void)
{
#ifdef __x86_64__
    static const char *const wanted[] = {"read k_read", "write k_store", "read k_count",
                                         "write k_count", "atomic k_raise"};
    char path[] = "/tmp/emu_host.XXXXXX", line[256];
    int *host, *other, *x, file = mkstemp(path);
    size_t n = 0;
    HOLDS(file >= 0 && setenv("EMU_LOG", path, 1) == 0);
    WORKS(cudaMallocHost((void **)&host, 8));
    WORKS(cudaMallocHost((void **)&other, 8192));
    WORKS(cudaMalloc(&x, 8));
    host[0] = other[0] = other[2000] = 1;
    k_add<int><<<1, 1>>>(x, 1, 1);
    k_read<<<1, 1>>>(host, x);
    WORKS(cudaMemcpy(x, other, 8, cudaMemcpyDefault));
    host[1] = 5;
    k_store<<<1, 1>>>(host);
    HOLDS(host[0] == 7);
    k_count<<<1, 1>>>(host);
    HOLDS(host[0] == 8);
    k_raise<<<1, 32>>>(other + 2000);
    HOLDS(other[2000] == 31);
    WORKS(cudaFreeHost(other));
    FILE *log = fopen(path, "r");
    HOLDS(log);
    while (fgets(line, sizeof line, log)) {
        char how[16], kernel[64], said[96];
        void *at;
        if (sscanf(line, "host %15s %63s %p", how, kernel, &at) != 3 || !strcmp(how, "alloc"))
            continue;
        snprintf(said, sizeof said, "%s %s", how, kernel);
        HOLDS(at == (!strcmp(kernel, "k_raise") ? other : host));
        if (n < 5 && !strcmp(said, wanted[n]))
            n++; /* 32 threads' additions: 32 lines, and one for the first access */
        else
            HOLDS(n > 3 && !strcmp(kernel, "k_raise"));
    }
    HOLDS(n == 5 && fclose(log) == 0 && unlink(path) == 0);
#endif
    return 0;
}

extern "C" int self_ipc(void)
{
    int there[2], back[2], *p, status;
    cudaIpcMemHandle_t h;
    HOLDS(pipe(there) == 0 && pipe(back) == 0);
    const pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        int ok = read(there[0], &h, sizeof h) == (ssize_t)sizeof h &&
                 cudaIpcOpenMemHandle((void **)&p, h, 0) == cudaSuccess;
        ok = ok && value_of(p + 99) == 4100;
        if (ok)
            k_add<int><<<1, 100>>>(p, 100, 7);
        ok = ok && cudaDeviceSynchronize() == cudaSuccess && cudaFree(p) == cudaErrorInvalidValue;
        ok = ok && cudaIpcCloseMemHandle(p) == cudaSuccess;
        _exit(write(back[1], &ok, sizeof ok) == sizeof ok && ok ? 0 : 1);
    }
    close(back[1]);
    WORKS(cudaMalloc(&p, 400));
    WORKS(cudaMemset(p, 0, 400));
    k_add<int><<<1, 100>>>(p, 100, 4100);
    WORKS(cudaDeviceSynchronize());
    WORKS(cudaIpcGetMemHandle(&h, p));
    int *q, ok = 0;
    /* not in the exporting process */
    HOLDS(cudaIpcOpenMemHandle((void **)&q, h, 0) != cudaSuccess);
    HOLDS(write(there[1], &h, sizeof h) == (ssize_t)sizeof h &&
          read(back[0], &ok, sizeof ok) == sizeof ok && ok == 1);
    HOLDS(waitpid(child, &status, 0) == child && status == 0 && value_of(p) == 4107);
    WORKS(cudaFree(p));
    return 0;
}

static __global__ void k_wait_for(volatile int *flag)
{
    while (*flag == 0)
        sched_yield();
}

/* Streams wait for each other only as told. EMU_ASYNC. */
extern "C" int self_async(void)
{
    cudaStream_t s, t;
    cudaEvent_t e, f;
    int *x, *flag;
    float ms;
    WORKS(cudaMalloc(&x, 4));
    WORKS(cudaMemset(x, 0, 4));
    WORKS(cudaHostAlloc(&flag, 4, 0));
    *flag = 0;
    WORKS(cudaStreamCreate(&s));
    WORKS(cudaStreamCreate(&t));
    WORKS(cudaEventCreate(&e));
    WORKS(cudaEventCreate(&f));
    WORKS(cudaStreamWaitEvent(t, e)); /* not recorded yet: nothing to wait for */
    WORKS(cudaEventRecord(f, s));
    k_wait_for<<<1, 1, 0, s>>>(flag);
    k_add<int><<<1, 1, 0, s>>>(x, 1, 3);
    WORKS(cudaEventRecord(e, s));
    WORKS(cudaStreamWaitEvent(t, e));
    WORKS(cudaMemsetAsync(x, 0, 1, t)); /* after the 3, so 0 stays */
    HOLDS(cudaStreamQuery(s) == cudaErrorNotReady && cudaEventQuery(e) == cudaErrorNotReady);
    *(volatile int *)flag = 1;
    WORKS(cudaStreamSynchronize(t));
    WORKS(cudaEventSynchronize(e));
    HOLDS(value_of(x) == 0);
    WORKS(cudaEventElapsedTime(&ms, f, e));
    HOLDS(ms >= 0);
    WORKS(cudaStreamDestroy(s));
    WORKS(cudaStreamDestroy(t));
    WORKS(cudaEventDestroy(e));
    return 0;
}

extern "C" int self_graphs(void)
{
    cudaStream_t s, t;
    cudaEvent_t fork_event, join_event;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    int *x, *y;
    WORKS(cudaMalloc(&x, 4));
    WORKS(cudaMemset(x, 0, 4));
    WORKS(cudaStreamCreate(&s));
    WORKS(cudaStreamCreate(&t));
    WORKS(cudaEventCreate(&fork_event));
    WORKS(cudaEventCreate(&join_event));
    WORKS(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    k_add<int><<<1, 1, 0, s>>>(x, 1, 5);
    WORKS(cudaEventRecord(fork_event, s));
    WORKS(cudaStreamWaitEvent(t, fork_event));
    k_add<int><<<1, 1, 0, t>>>(x, 1, 20);
    WORKS(cudaEventRecord(join_event, t));
    WORKS(cudaStreamWaitEvent(s, join_event));
    WORKS(cudaStreamEndCapture(s, &g));
    HOLDS(value_of(x) == 0); /* recorded, not run */
    WORKS(cudaGraphInstantiate(&exec, g, 0));
    WORKS(cudaGraphDestroy(g));
    for (int i = 1; i <= 3; i++) {
        WORKS(cudaGraphLaunch(exec, s));
        WORKS(cudaStreamSynchronize(s));
        HOLDS(value_of(x) == 25 * i);
    }
    WORKS(cudaGraphExecDestroy(exec));
    k_add<int><<<1, 1, 0, t>>>(x, 1, 1); /* an ordinary stream again */
    WORKS(cudaStreamSynchronize(t));
    HOLDS(value_of(x) == 76);

    WORKS(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); /* no stream waits for t */
    WORKS(cudaEventRecord(fork_event, s));
    WORKS(cudaStreamWaitEvent(t, fork_event));
    k_add<int><<<1, 1, 0, t>>>(x, 1, 20);
    HOLDS(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureUnjoined);

    WORKS(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); /* illegal in a capture */
    HOLDS(cudaMalloc(&y, 4) == cudaErrorStreamCaptureUnsupported);
    HOLDS(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);
    WORKS(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    HOLDS(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
    HOLDS(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated && value_of(x) == 76);
    return 0;
}

extern "C" int self_refusals(void)
{
    int *x;
    WORKS(cudaMalloc(&x, 4));
    k_add<int><<<1, 1025>>>(x, 1, 1);
    HOLDS(cudaGetLastError() == cudaErrorInvalidConfiguration);
    k_add<int><<<0, 1>>>(x, 1, 1);
    HOLDS(cudaGetLastError() == cudaErrorInvalidConfiguration);
    k_add<int><<<1, 1, 50000>>>(x, 1, 1);
    HOLDS(cudaGetLastError() == cudaErrorInvalidValue);
    WORKS(cudaFuncSetAttribute(k_add<int>, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000));
    k_add<int><<<1, 1, 50000>>>(x, 1, 1);
    WORKS(cudaGetLastError());
    HOLDS(cudaSetDevice(1) == cudaErrorInvalidDevice);
    return 0;
}
extern "C" int self_no_device(void)
{
    int n;
    HOLDS(cudaGetDeviceCount(&n) == cudaErrorNoDevice && n == 0 &&
          cudaFree(NULL) == cudaErrorNoDevice);
    return 0;
}
extern "C" int self_old_driver(void)
{
    int n;
    HOLDS(cudaGetDeviceCount(&n) == cudaErrorInsufficientDriver);
    return 0;
}
extern "C" int self_old_chip(void)
{
    int *x;
    WORKS(cudaMalloc(&x, 4));
    k_add<int><<<1, 1>>>(x, 1, 1);
    HOLDS(cudaGetLastError() == cudaErrorNoKernelImageForDevice);
    return 0;
}

extern "C" int self_half(void)
{
    const struct mf_fmt half = {5, 10, 0}, bf16 = {8, 7, 0};
    uint64_t r = 1;
    for (unsigned i = 0; i < 65536; i++) {
        const float h = __half2float(__ushort_as_half((unsigned short)i));
        const float b = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
        HOLDS(std::isnan(h) || __float_as_uint(h) == mf_dec(half, i, 0));
        HOLDS(std::isnan(b) || __float_as_uint(b) == mf_dec(bf16, i, 0));
    }
    for (int i = 0; i < 1000000; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        const unsigned bits = (unsigned)(r >> 32), near_one = (bits & 0x8fffffff) | 0x30000000;
        const float x = __uint_as_float(i % 2 ? near_one : bits);
        if (std::isnan(x))
            continue;
        HOLDS(__half_as_ushort(__float2half_rn(x)) ==
              mf_enc(half, __float_as_uint(x), 0, MF_NEAREST, MF_INF, 0));
        HOLDS(__bfloat16_as_ushort(__float2bfloat16_rn(x)) ==
              mf_enc(bf16, __float_as_uint(x), 0, MF_NEAREST, MF_INF, 0));
    }
    /* one rounding: near the middle of 1 and the next half */
    HOLDS(__half_as_ushort(__double2half(1 + 0x1p-11 + 0x1p-40)) == 0x3c01);
    HOLDS(__half_as_ushort(__double2half(1 + 0x1p-11 - 0x1p-40)) == 0x3c00);
    return 0;
}
