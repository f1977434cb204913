/* emu_grid.cpp : launches kernels and refuses what a GPU would refuse. Blocks run one after
 * another. */
#include "emu_block.h"
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

enum { EMU_SMS = 4, EMU_SHARED_MAX = 227 << 10, EMU_SHARED_PLAIN = 48 << 10 };

static std::mutex kernels_lock;
static std::map<const void *, int> shared_allowed;

static int emu_allowed(const void *kernel)
{
    std::lock_guard<std::mutex> hold(kernels_lock);
    const auto k = shared_allowed.find(kernel);
    return k == shared_allowed.end() ? (int)EMU_SHARED_PLAIN : k->second;
}

static bool emu_has_code()
{
    return emu_capability(emu_now.device) >= 80;
}

cudaError_t emu_set_attribute(const void *kernel, cudaFuncAttribute a, int value)
{
    if (!emu_has_code())
        return emu_error(cudaErrorNoKernelImageForDevice);
    if (a != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 || value > EMU_SHARED_MAX)
        return emu_error(cudaErrorInvalidValue);
    std::lock_guard<std::mutex> hold(kernels_lock);
    int &most = shared_allowed[kernel];
    if (value < most)
        emu_die(
            "the most shared memory of a kernel goes from %d to %d bytes: another thread may be "
            "about to launch it",
            most, value);
    most = std::max(value, (int)EMU_SHARED_PLAIN);
    return cudaSuccess;
}

cudaError_t emu_get_attributes(cudaFuncAttributes *a, const void *kernel)
{
    if (!emu_has_code())
        return emu_error(cudaErrorNoKernelImageForDevice);
    *a = {};
    a->maxThreadsPerBlock = 1024;
    a->numRegs = 32;
    a->ptxVersion = a->binaryVersion = emu_capability(emu_now.device);
    a->maxDynamicSharedSizeBytes = emu_allowed(kernel);
    return cudaSuccess;
}

cudaError_t emu_launch(const char *name, const void *kernel, const emu_shape &s,
                       std::function<void()> thread)
{
    const dim3 g = s.grid, b = s.block;
    const uint64_t n = (uint64_t)b.x * b.y * b.z;
    if (emu_env("EMU_DEVICES", 1) == 0)
        return emu_error(cudaErrorNoDevice);
    if (!emu_has_code())
        return emu_error(cudaErrorNoKernelImageForDevice);
    if (!g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535 || n < 1 ||
        n > 1024 || b.z > 64)
        return emu_error(cudaErrorInvalidConfiguration);
    if (s.shared > (size_t)emu_allowed(kernel))
        return emu_error(cudaErrorInvalidValue);
    return emu_enqueue(s.stream, [=] {
        if (!emu_host_watched())
            return emu_run_grid(name, kernel, s, thread);
        emu_host_enter();
        emu_run_grid(name, kernel, s, thread);
        emu_host_leave();
    });
}

static std::mutex pool_lock; /* idle blocks and their stacks; what kernels write */
static std::map<const void *, emu_written> written;
/* never destroyed: streams outlive main() */
static std::vector<emu_block *> &pool = *new std::vector<emu_block *>;

static emu_block *emu_block_take(const char *name, const void *kernel, const emu_shape &s,
                                 const std::function<void()> &body)
{
    emu_block *b = nullptr;
    emu_written seen;
    {
        std::lock_guard<std::mutex> hold(pool_lock);
        seen = written[kernel];
        if (!pool.empty()) {
            b = pool.back();
            pool.pop_back();
        }
    }
    if (!b)
        b = new emu_block();
    b->name = name;
    b->written = seen;
    b->body = &body;
    b->n = (int)(s.block.x * s.block.y * s.block.z);
    b->shared.resize(s.shared + 128);
    emu_now.block_dim = s.block;
    emu_now.grid_dim = s.grid;
    return b;
}

static void emu_block_give(emu_block *b, const void *kernel)
{
    std::lock_guard<std::mutex> hold(pool_lock);
    written[kernel] = b->written;
    pool.push_back(b);
}

void emu_run_grid(const char *name, const void *kernel, const emu_shape &s,
                  const std::function<void()> &body)
{
    static const bool reversed = emu_env("EMU_REVERSE", 0) != 0;
    const uint64_t n = (uint64_t)s.grid.x * s.grid.y * s.grid.z;
    static std::atomic<uint32_t> n_launches;
    emu_block *b = emu_block_take(name, kernel, s, body);
    b->launch = ++n_launches;
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t i = reversed ? n - 1 - k : k;
        emu_now.block = {(unsigned)(i % s.grid.x), (unsigned)(i / s.grid.x % s.grid.y),
                         (unsigned)(i / s.grid.x / s.grid.y)};
        b->number = (uint32_t)i;
        emu_block_run(b);
    }
    emu_block_give(b, kernel);
}
