/* dev_run.cu : opens this process's GPU, or reports why none can be used. */
#include "device/run/run.cuh"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_MAJOR = 8 }; /* oldest compute capability with code */
#ifndef CU_ARCHS          /* compute capabilities with machine code */
#define CU_ARCHS "80 90 100"
#endif

static int say_on_stderr(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return code;
}

dev_say *cu_say = say_on_stderr;
int cu_ordinal = -1;
static int n_sms = 1;

int cu_n_sms(void)
{
    return n_sms;
}

/* Some errors (an illegal address) end all of the process's work on the GPU: every later call
 * returns them again, and only the first is printed. */
int cu_failed(cudaError_t e, const char *what)
{
    static bool is_dead;
    size_t free_bytes, all_bytes;
    (void)cudaGetLastError(); /* The next launch must not report it again. */
    if (__atomic_load_n(&is_dead, __ATOMIC_RELAXED))
        return -EIO;
    if (e == cudaErrorMemoryAllocation || cudaMemGetInfo(&free_bytes, &all_bytes) != e)
        return cu_say(e == cudaErrorMemoryAllocation ? -ENOMEM : -EIO, "gpu: %s failed: %s", what,
                      cudaGetErrorString(e));
    __atomic_store_n(&is_dead, true, __ATOMIC_RELAXED);
    return cu_say(-EIO, "gpu: %s failed: %s; this process can no longer use the GPU", what,
                  cudaGetErrorString(e));
}

static int n_shown(cudaError_t *why)
{
    int n = 0;
    *why = cudaGetDeviceCount(&n);
    (void)cudaGetLastError();
    return *why == cudaSuccess ? n : 0;
}

static bool is_usable(int ordinal)
{
    int major = 0;
    const cudaError_t e =
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal);
    (void)cudaGetLastError();
    return e == cudaSuccess && major >= LEAST_MAJOR;
}

int run_count(void)
{
    cudaError_t why;
    int n_usable = 0;
    const int n = n_shown(&why);
    for (int i = 0; i < n; i++)
        n_usable += is_usable(i);
    return n_usable;
}

/* Returns usable device `index` modulo their number; if none is usable, one whose opening reports
 * why. */
static int usable_device(int index, int n)
{
    const int n_usable = run_count();
    if (n_usable == 0)
        return index % n;
    int left = index % n_usable, i = 0;
    while (!is_usable(i) || left-- > 0)
        i++;
    return i;
}

static int no_device(cudaError_t why)
{
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaGetLastError();
    if (why == cudaErrorInsufficientDriver && driver > 0)
        return cu_say(
            -ENODEV, "gpu: the driver is too old: it serves CUDA %d.%d, this build needs %d.%d",
            driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (why == cudaErrorInsufficientDriver)
        return cu_say(-ENODEV, "gpu: no NVIDIA driver on this machine");
    if (why == cudaSuccess || why == cudaErrorNoDevice)
        return cu_say(-ENODEV, "gpu: no GPU on this machine");
    return cu_say(-ENODEV, "gpu: no GPU can be used: %s", cudaGetErrorString(why));
}

int run_current(int ordinal)
{
    int before = 0;
    (void)cudaGetDevice(&before);
    if (ordinal >= 0 && ordinal != before)
        (void)cudaSetDevice(ordinal);
    (void)cudaGetLastError();
    return before;
}

/* Asking the driver makes no context. */
static bool has_context(int ordinal)
{
    int (*state)(int device, unsigned *flags, int *is_active);
    void *found = NULL;
    unsigned flags;
    int is_active = 0;
#if CUDART_VERSION >= 12050
    (void)cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &found, 7000,
                                           cudaEnableDefault, NULL);
#else
    (void)cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &found, cudaEnableDefault, NULL);
#endif
    (void)cudaGetLastError();
    memcpy(&state, &found, sizeof state);
    return !found || (state(ordinal, &flags, &is_active) == 0 && is_active);
}

void run_restore(int before)
{
    if (run_current(-1) != before && has_context(before))
        (void)run_current(before);
}

int run_device_of(const void *p)
{
    cudaPointerAttributes at;
    const cudaError_t e = cudaPointerGetAttributes(&at, p);
    (void)cudaGetLastError();
    if (e != cudaSuccess || at.type == cudaMemoryTypeUnregistered)
        return -2;
    return at.type == cudaMemoryTypeDevice ? at.device : -1;
}

/* Machine code runs on GPUs of its major version with at least its minor version. */
static bool has_machine_code(int major, int minor)
{
    char *end = NULL;
    for (const char *at = CU_ARCHS; *at; at = end) {
        const long arch = strtol(at, &end, 10);
        if (arch / 10 == major && arch % 10 <= minor)
            return true;
    }
    return false;
}

/* Older drivers do not know the attribute, nor do toolkits before 12.3. */
static bool has_mps(int ordinal)
{
    const int mps_enabled = 133; /* cudaDevAttrMpsEnabled */
    int on = 0;
    const cudaError_t e = cudaDeviceGetAttribute(&on, (cudaDeviceAttr)mps_enabled, ordinal);
    (void)cudaGetLastError();
    return e == cudaSuccess && on;
}

/* Fails without code for the device. */
static int inspect(int ordinal, struct dev_info *info)
{
    cudaDeviceProp p;
    cudaError_t e = cudaSetDevice(ordinal);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&p, ordinal);
    if (e == cudaSuccess)
        e = cudaFree(NULL);
    if (e != cudaSuccess) {
        (void)cudaGetLastError();
        return cu_say(-ENODEV, "gpu: cannot open GPU %d: %s", ordinal, cudaGetErrorString(e));
    }
    if (run_code_here() < 0)
        return cu_say(
            -ENODEV,
            "gpu: GPU %d (%s) has compute capability %d.%d: this build has code for %d.0 and newer",
            ordinal, p.name, p.major, p.minor, LEAST_MAJOR);
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", p.name);
    info->ordinal = ordinal;
    info->major = p.major;
    info->minor = p.minor;
    info->jit = !has_machine_code(p.major, p.minor);
    info->mps = has_mps(ordinal);
    info->n_sms = p.multiProcessorCount;
    info->memory_bytes = p.totalGlobalMem;
    info->l2_bytes = (size_t)p.l2CacheSize;
    (void)cudaDriverGetVersion(&info->driver);
    (void)cudaRuntimeGetVersion(&info->runtime);
    return 0;
}

int run_open(int ordinal, int rank_on_node, dev_say *say, struct dev_info *info)
{
    cudaError_t why;
    cu_say = say ? say : say_on_stderr;
    const int n = n_shown(&why);
    if (n == 0)
        return no_device(why);
    if (ordinal >= n || (ordinal < 0 && rank_on_node < 0))
        return cu_say(-ENODEV, "gpu: no GPU %d: this machine has %d, counted from 0", ordinal, n);
    struct dev_info found;
    const int before = run_current(-1);
    const int rc = inspect(ordinal < 0 ? usable_device(rank_on_node, n) : ordinal, &found);
    if (rc < 0) {
        run_restore(before);
        return rc;
    }
    cu_ordinal = found.ordinal;
    n_sms = found.n_sms;
    *info = found;
    info->before = before;
    return 0;
}

void run_close(void)
{
    (void)cu_stream(NULL);
    if (!cu_is_stuck())
        (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    cu_ordinal = -1;
    cu_say = say_on_stderr;
}

extern "C" const struct dev_run_ops dev_run = {
    .open = run_open,
    .close = run_close,
    .count = run_count,
    .current = run_current,
    .restore = run_restore,
    .device_of = run_device_of,
    .alloc = run_alloc,
    .free = run_free,
    .alloc_pinned = run_alloc_pinned,
    .free_pinned = run_free_pinned,
    .memory = run_memory,
    .stream_open = run_stream_open,
    .stream_close = run_stream_close,
    .copy = run_copy,
    .zero = run_zero,
    .wait = run_wait,
    .event_open = run_event_open,
    .event_close = run_event_close,
    .event_record = run_event_record,
    .event_wait = run_event_wait,
    .event_sync = run_event_sync,
    .event_ms = run_event_ms,
    .event_done = run_event_done,
    .event_leave = run_event_leave,
    .graph_begin = run_graph_begin,
    .graph_end = run_graph_end,
    .graph_launch = run_graph_launch,
    .graph_close = run_graph_close,
    .signal = run_signal,
    .ipc_export = run_ipc_export,
    .ipc_import = run_ipc_import,
    .ipc_close = run_ipc_close,
};
