/* emu_chip.cpp : provides the emulated device's properties and names of errors. */
#include "emu_block.h"
#include <atomic>
#include <signal.h>
#include <stdarg.h>

[[noreturn]] void emu_die(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "emu: %s\n", line);
    abort();
}

void emu_note(const char *format, ...)
{
    static FILE *const to = getenv("EMU_LOG") ? fopen(getenv("EMU_LOG"), "w") : nullptr;
    char line[256];
    va_list args;
    if (!to)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(to, "%s\n", line); /* one call, so that threads do not mix */
    fflush(to);
}

static void emu_trap(int)
{
    emu_die("%s: an address that is not aligned to its type, or __trap()",
            emu_now.runs ? emu_now.runs->name : "host");
}
__attribute__((constructor)) static void emu_hear_traps()
{
    signal(SIGILL, emu_trap);
}

long long emu_env(const char *name, long long otherwise)
{
    const char *v = getenv(name);
    return v && *v ? atoll(v) : otherwise;
}

cudaError_t emu_error(cudaError_t e)
{
    if (e != cudaSuccess)
        emu_now.error = e;
    return e;
}
cudaError_t cudaGetLastError()
{
    const cudaError_t e = emu_now.error;
    emu_now.error = cudaSuccess;
    return e;
}

const char *cudaGetErrorString(cudaError_t e)
{
    switch (e) {
#define EMU_X(name, code, text) \
    case name:                  \
        return text;
        EMU_ERRORS(EMU_X)
#undef EMU_X
    }
    return "unrecognized error code";
}

static cudaError_t emu_chip(int device)
{
    int n;
    const cudaError_t e = cudaGetDeviceCount(&n);
    return e != cudaSuccess            ? e
           : device < 0 || device >= n ? emu_error(cudaErrorInvalidDevice)
                                       : cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 0;
    if (emu_env("EMU_OLD_DRIVER", 0))
        return emu_error(cudaErrorInsufficientDriver);
    *n = (int)emu_env("EMU_DEVICES", 1);
    return *n ? cudaSuccess : emu_error(cudaErrorNoDevice);
}
/* Each device has one bit. As since CUDA 12.0, choosing a device makes its context. */
static std::atomic<unsigned> emu_contexts;
cudaError_t cudaSetDevice(int device)
{
    const cudaError_t e = emu_chip(device);
    if (e == cudaSuccess) {
        emu_now.device = device;
        emu_contexts |= 1u << device;
    }
    return e;
}
extern "C" int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    *flags = 0;
    *is_active = emu_contexts >> device & 1;
    return 0;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **found, unsigned,
                                             unsigned long long, void *)
{
    if (strcmp(name, "cuDevicePrimaryCtxGetState") != 0)
        return emu_error(cudaErrorInvalidValue);
    *found = (void *)cuDevicePrimaryCtxGetState;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
    *device = emu_now.device;
    return emu_chip(0);
}
cudaError_t cudaDriverGetVersion(int *v)
{
    *v = emu_env("EMU_DEVICES", 1) == 0 ? 0 : emu_env("EMU_OLD_DRIVER", 0) ? 11040 : CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *v)
{
    *v = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return emu_chip(0);
}

/* The last number of EMU_CC=70,80 is also that of all later devices. */
int emu_capability(int device)
{
    const char *list = getenv("EMU_CC");
    if (!list || !*list)
        return 90;
    for (const char *comma; device > 0 && (comma = strchr(list, ',')); device--)
        list = comma + 1;
    return atoi(list);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    const cudaError_t e = emu_chip(device);
    if (e != cudaSuccess)
        return e;
    size_t free_bytes;
    *p = {};
    snprintf(p->name, sizeof p->name, "emulated");
    p->major = emu_capability(device) / 10;
    p->minor = emu_capability(device) % 10;
    p->multiProcessorCount = 4;
    p->warpSize = 32;
    cudaMemGetInfo(&free_bytes, &p->totalGlobalMem);
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = 227 << 10;
    p->sharedMemPerMultiprocessor = 228 << 10;
    p->l2CacheSize = 1 << 20;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsPerMultiProcessor = 2048;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->maxBlocksPerMultiProcessor = 32;
    p->unifiedAddressing = p->canMapHostMemory = p->concurrentKernels = 1;
    p->asyncEngineCount = 1;
    p->pciBusID = device + 1; /* all share one memory */
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr a, int device)
{
    cudaDeviceProp p;
    const cudaError_t e = cudaGetDeviceProperties(&p, device);
    if (e != cudaSuccess)
        return e;
    switch (a) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = p.maxThreadsPerBlock;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = (int)p.sharedMemPerBlock;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = p.multiProcessorCount;
        break;
    case cudaDevAttrL2CacheSize:
        *value = p.l2CacheSize;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = p.maxThreadsPerMultiProcessor;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = p.major;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = p.minor;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = (int)p.sharedMemPerMultiprocessor;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)p.sharedMemPerBlockOptin;
        break;
    case cudaDevAttrMpsEnabled:
        *value = getenv("EMU_MPS") != NULL;
        break;
    default:
        return emu_error(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
