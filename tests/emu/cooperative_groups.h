/* cooperative_groups.h : replaces CUDA's header. */
#ifndef EMU_COOPERATIVE_GROUPS_H
#define EMU_COOPERATIVE_GROUPS_H
#include "cuda_runtime.h"

namespace cooperative_groups
{
struct grid_group {
    void sync(const char *file = __builtin_FILE(), int line = __builtin_LINE()) const
    {
        emu_grid_barrier(file, line);
    }
    unsigned long long size() const { return num_blocks() * blockDim.x * blockDim.y * blockDim.z; }
    unsigned long long num_blocks() const
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    unsigned long long block_rank() const
    {
        return (blockIdx.z * (unsigned long long)gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    unsigned long long thread_rank() const
    {
        return block_rank() * (blockDim.x * blockDim.y * blockDim.z) +
               (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    bool is_valid() const { return true; }
};
static inline grid_group this_grid()
{
    return {};
}
struct thread_block {
    void sync(const char *file = __builtin_FILE(), int line = __builtin_LINE()) const
    {
        emu_block_barrier(file, line, 0);
    }
    unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
    unsigned thread_rank() const
    {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
};
static inline thread_block this_thread_block()
{
    return {};
}
}  // namespace cooperative_groups

#endif
