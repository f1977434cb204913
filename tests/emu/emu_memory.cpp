/* emu_memory.cpp : emulates device memory: it begins as garbage, is guarded at its end, and can be
 * shared with other processes by a handle. */
#include "emu.h"
#include "emu_threads.h"
#include <algorithm>
#include <errno.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

struct emu_region {
    char *base; /* from cudaMalloc; its end, rounded up to 256 bytes, is its pages' end */
    size_t bytes;
    char *pages;
    size_t length;
    off_t at;
    bool imported;
    int device;
};
struct emu_handle {
    char word[8];
    int pid, file;
    uint64_t at, length, bytes;
};
enum { EMU_PAGE = 4096, EMU_ALIGN = 256, EMU_GARBAGE = 0xcb };

static std::recursive_mutex lock;
/* by base; never destroyed */
static std::map<char *, emu_region> &regions = *new std::map<char *, emu_region>;
static std::map<char *, size_t> &pinned = *new std::map<char *, size_t>;
static int file = -1, n_inside;
static off_t file_end;
static size_t used;

static size_t emu_limit()
{
    return (size_t)emu_env("EMU_MEMORY", 1ll << 32);
}

static void emu_fault(int, siginfo_t *info, void *context)
{
    char *p = (char *)info->si_addr;
    if (emu_host_watched() && emu_host_fault(p, context))
        return;
    for (const auto &r : regions) /* no lock, as the process is dying */
        if (p >= r.second.pages && p < r.second.pages + r.second.length + EMU_PAGE) {
            if (p >= r.second.pages + r.second.length)
                emu_die("access past the end of %zu bytes of device memory", r.second.bytes);
            emu_die("the host touches device memory: byte %td of %zu", p - r.second.base,
                    r.second.bytes);
        }
    signal(SIGSEGV, SIG_DFL);
}

static bool emu_strict()
{
    static const bool strict = emu_env("EMU_STRICT", 0) != 0;
    return strict;
}

static void emu_see_faults()
{
    static const bool seen = [] {
        struct sigaction a = {};
        a.sa_sigaction = emu_fault;
        a.sa_flags = SA_SIGINFO;
        return (emu_strict() || emu_host_watched()) && sigaction(SIGSEGV, &a, nullptr) == 0;
    }();
    (void)seen;
}

static void emu_protect(const emu_region &r)
{
    if (mprotect(r.pages, r.length, emu_strict() && !n_inside ? PROT_NONE : PROT_READ | PROT_WRITE))
        emu_die("mprotect failed: %s", strerror(errno));
}
void emu_memory_enter()
{
    if (!emu_strict())
        return;
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (n_inside++ == 0)
        for (const auto &r : regions)
            emu_protect(r.second);
}
void emu_memory_leave()
{
    if (!emu_strict())
        return;
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (--n_inside == 0)
        for (const auto &r : regions)
            emu_protect(r.second);
}

static char *emu_map(int fd, off_t at, size_t length)
{
    char *p = (char *)mmap(nullptr, length + EMU_PAGE, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((void *)p == MAP_FAILED)
        return nullptr;
    if (mmap(p, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, at) == MAP_FAILED) {
        munmap(p, length + EMU_PAGE);
        return nullptr;
    }
    return p;
}

bool emu_find(const void *p, char **base, size_t *bytes)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto r = regions.upper_bound((char *)p);
    if (r == regions.begin() ||
        (char *)p >= (--r)->second.base + std::max<size_t>(r->second.bytes, 1))
        return false;
    if (base)
        *base = r->second.base;
    if (bytes)
        *bytes = r->second.bytes;
    return true;
}

/* Calls that need a device are also illegal while the thread captures. */
static cudaError_t emu_ready()
{
    int n;
    emu_see_faults();
    if (emu_capturing())
        return emu_error(cudaErrorStreamCaptureUnsupported);
    return cudaGetDeviceCount(&n);
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    const cudaError_t e = emu_ready();
    if (e != cudaSuccess)
        return e;
    *p = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (bytes > emu_limit() || used + bytes > emu_limit())
        return emu_error(cudaErrorMemoryAllocation);
    if (file < 0)
        file = memfd_create("emulated device", MFD_CLOEXEC);
    const size_t whole = (bytes + EMU_ALIGN - 1) / EMU_ALIGN * EMU_ALIGN,
                 length = (whole + EMU_PAGE - 1) / EMU_PAGE * EMU_PAGE;
    emu_region r = {};
    if (file < 0 || ftruncate(file, file_end + (off_t)length) ||
        !(r.pages = emu_map(file, file_end, length)))
        return emu_error(cudaErrorMemoryAllocation);
    r.bytes = bytes;
    r.length = length;
    r.device = emu_now.device;
    r.base = r.pages + length - whole;
    r.at = file_end;
    file_end += (off_t)length;
    used += bytes;
    emu_note("alloc %p %zu", (void *)r.base, bytes);
    memset(r.pages, EMU_GARBAGE, length);
    regions[r.base] = r;
    emu_protect(r);
    *p = r.base;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    const cudaError_t e = emu_ready();
    if (e != cudaSuccess || !p)
        return e;
    cudaDeviceSynchronize();
    std::lock_guard<std::recursive_mutex> hold(lock);
    const auto it = regions.find((char *)p);
    if (it == regions.end() || it->second.imported)
        return emu_error(cudaErrorInvalidValue);
    const emu_region r = it->second;
    mprotect(r.pages, r.length, PROT_READ | PROT_WRITE);
    for (const char *c = r.base + r.bytes; c < r.pages + r.length; c++)
        if (*c != (char)EMU_GARBAGE)
            emu_die("byte %td of %zu bytes of device memory was written", c - r.base, r.bytes);
    for (const char *c = r.pages; c < r.base; c++)
        if (*c != (char)EMU_GARBAGE)
            emu_die("byte %td of %zu bytes of device memory was written", c - r.base, r.bytes);
    munmap(r.pages, r.length + EMU_PAGE);
    if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, r.at, (off_t)r.length)) {
        /* the pages stay mapped until the process ends */
    }
    used -= r.bytes;
    emu_note("free %p", p);
    regions.erase(it);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
    int n;
    const cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess)
        return e;
    if (emu_dead(0))
        return emu_error(cudaErrorIllegalAddress);
    std::lock_guard<std::recursive_mutex> hold(lock);
    *all_bytes = emu_limit();
    *free_bytes = *all_bytes - std::min(used, *all_bytes);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned)
{
    const cudaError_t e = emu_ready();
    if (e != cudaSuccess)
        return e;
    *p = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    if (bytes <= (size_t)1 << 40 && emu_host_watched())
        *p = emu_host_alloc(bytes);
    else if (bytes > (size_t)1 << 40 || posix_memalign(p, EMU_PAGE, bytes))
        *p = nullptr;
    if (!*p)
        return emu_error(cudaErrorMemoryAllocation);
    memset(*p, EMU_GARBAGE, bytes);
    std::lock_guard<std::recursive_mutex> hold(lock);
    pinned[(char *)*p] = bytes;
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return cudaHostAlloc(p, bytes, 0);
}
cudaError_t cudaFreeHost(void *p)
{
    const cudaError_t e = emu_ready();
    if (e != cudaSuccess || !p)
        return e;
    cudaDeviceSynchronize();
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (!pinned.erase((char *)p))
        return emu_error(cudaErrorInvalidValue);
    if (emu_host_watched())
        emu_host_free(p);
    else
        free(p);
    return cudaSuccess;
}
static bool emu_is_pinned(const void *p)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto r = pinned.upper_bound((char *)p);
    return r != pinned.begin() && (char *)p < (--r)->first + r->second;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    int n;
    const cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess)
        return e;
    char *base = nullptr;
    const bool on_device = emu_find(p, &base, nullptr), on_host = !on_device && emu_is_pinned(p);
    std::lock_guard<std::recursive_mutex> hold(lock);
    a->type = on_device ? cudaMemoryTypeDevice
              : on_host ? cudaMemoryTypeHost
                        : cudaMemoryTypeUnregistered;
    a->device = on_device ? regions[base].device : on_host ? 0 : -2;
    a->devicePointer = on_device || on_host ? (void *)p : nullptr;
    a->hostPointer = on_host ? (void *)p : nullptr;
    return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *h, void *p)
{
    char *base;
    if (!emu_find(p, &base, nullptr))
        return emu_error(cudaErrorInvalidValue);
    std::lock_guard<std::recursive_mutex> hold(lock);
    const emu_region &r = regions[base];
    if (r.imported)
        return emu_error(cudaErrorInvalidValue);
    const emu_handle mine = {"emu ipc", (int)getpid(), file, (uint64_t)r.at, r.length, r.bytes};
    static_assert(sizeof mine <= sizeof *h, "fits");
    *h = {};
    memcpy((void *)h, &mine, sizeof mine);
    return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t h, unsigned)
{
    emu_handle theirs;
    memcpy(&theirs, &h, sizeof theirs);
    if (strcmp(theirs.word, "emu ipc") != 0)
        return emu_error(cudaErrorInvalidValue);
    if (theirs.pid == getpid())
        /* CUDA also refuses this in the exporting process */
        return emu_error(cudaErrorDeviceUninitialized);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", theirs.pid, theirs.file);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return emu_error(cudaErrorInvalidResourceHandle);
    emu_region r = {};
    r.pages = emu_map(fd, (off_t)theirs.at, theirs.length);
    close(fd);
    if (!r.pages)
        return emu_error(cudaErrorMemoryAllocation);
    r.bytes = theirs.bytes;
    r.length = theirs.length;
    r.base = r.pages + r.length - (theirs.bytes + EMU_ALIGN - 1) / EMU_ALIGN * EMU_ALIGN;
    r.imported = true;
    std::lock_guard<std::recursive_mutex> hold(lock);
    regions[r.base] = r;
    emu_protect(r);
    *p = r.base;
    return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void *p)
{
    cudaDeviceSynchronize();
    std::lock_guard<std::recursive_mutex> hold(lock);
    const auto r = regions.find((char *)p);
    if (r == regions.end() || !r->second.imported)
        return emu_error(cudaErrorInvalidValue);
    munmap(r->second.pages, r->second.length + EMU_PAGE);
    regions.erase(r);
    return cudaSuccess;
}
