/* emu_threads.h : a kernel's view of its thread, warp and block. */
#ifndef EMU_THREADS_H
#define EMU_THREADS_H
#include "emu_vectors.h"
#include "emu_api.h"

/* All other thread-local memory of an OS thread is shared memory of blocks. */
struct emu_thread_state {
    uint3 thread, block;
    dim3 block_dim, grid_dim;
    void *shared;
    struct emu_block *runs;
    cudaError_t error;
    int device;
    int n_captures; /* open captures of this thread */
    char *statics;
    size_t statics_bytes;
};
extern __thread emu_thread_state emu_now;
#define threadIdx (emu_now.thread)
#define blockIdx  (emu_now.block)
#define blockDim  (emu_now.block_dim)
#define gridDim   (emu_now.grid_dim)
enum { warpSize = 32 };

static inline void *emu_shared()
{
    return emu_now.shared;
}

/* Returns the sum of all threads' values. */
unsigned emu_block_barrier(const char *file, int line, unsigned value);
#define __syncthreads()        ((void)emu_block_barrier(__FILE__, __LINE__, 0))
#define __syncthreads_count(p) ((int)emu_block_barrier(__FILE__, __LINE__, (p) ? 1 : 0))
#define __syncthreads_or(p)    (emu_block_barrier(__FILE__, __LINE__, (p) ? 1 : 0) != 0)
#define __syncthreads_and(p)   (emu_block_barrier(__FILE__, __LINE__, (p) ? 0 : 1) == 0)

/* SHUFFLE: lanes get the value of lane `from`; other ops combine all values. */
enum emu_warp_op {
    EMU_SYNC,
    EMU_SHUFFLE,
    EMU_BALLOT,
    EMU_ADD,
    EMU_MIN,
    EMU_MAX,
    EMU_AND,
    EMU_OR,
    EMU_XOR,
    EMU_MATCH
};
uint64_t emu_warp(enum emu_warp_op op, unsigned mask, uint64_t value, int from);
int emu_lane();

static inline void __syncwarp(unsigned mask = 0xffffffff)
{
    emu_warp(EMU_SYNC, mask, 0, 0);
}
template <class T> static inline T emu_shuffle(unsigned mask, T x, int from)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    uint64_t bits = 0;
    memcpy((void *)&bits, (const void *)&x, sizeof x);
    bits = emu_warp(EMU_SHUFFLE, mask, bits, from);
    memcpy((void *)&x, (const void *)&bits, sizeof x);
    return x;
}
/* A source outside the segment of `width` lanes gives the lane's own value. */
template <class T> static inline T __shfl_sync(unsigned mask, T x, int from, int width = 32)
{
    return emu_shuffle(mask, x, (emu_lane() & -width) | (from & (width - 1)));
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32)
{
    const int lane = emu_lane(), from = lane - (int)by;
    return emu_shuffle(mask, x, from < (lane & -width) ? lane : from);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T x, unsigned by, int width = 32)
{
    const int lane = emu_lane(), from = lane + (int)by;
    return emu_shuffle(mask, x, from > (lane | (width - 1)) ? lane : from);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T x, int with, int width = 32)
{
    const int lane = emu_lane(), from = lane ^ with;
    return emu_shuffle(mask, x, from > (lane | (width - 1)) ? lane : from);
}
static inline unsigned __ballot_sync(unsigned mask, int p)
{
    return (unsigned)emu_warp(EMU_BALLOT, mask, p != 0, 0);
}
static inline int __any_sync(unsigned mask, int p)
{
    return emu_warp(EMU_OR, mask, p != 0, 0) != 0;
}
static inline int __all_sync(unsigned mask, int p)
{
    return emu_warp(EMU_AND, mask, p != 0, 0) != 0;
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T x)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    return (unsigned)emu_warp(EMU_MATCH, mask, bits, 0);
}
/* Offsets make signed numbers compare as unsigned ones. */
static inline unsigned __reduce_add_sync(unsigned mask, unsigned x)
{
    return (unsigned)emu_warp(EMU_ADD, mask, x, 0);
}
static inline unsigned __reduce_min_sync(unsigned mask, unsigned x)
{
    return (unsigned)emu_warp(EMU_MIN, mask, x, 0);
}
static inline unsigned __reduce_max_sync(unsigned mask, unsigned x)
{
    return (unsigned)emu_warp(EMU_MAX, mask, x, 0);
}
static inline int __reduce_add_sync(unsigned mask, int x)
{
    return (int)(unsigned)emu_warp(EMU_ADD, mask, (unsigned)x, 0);
}
static inline int __reduce_min_sync(unsigned mask, int x)
{
    return (int)((unsigned)emu_warp(EMU_MIN, mask, (unsigned)x ^ 0x80000000u, 0) ^ 0x80000000u);
}
static inline int __reduce_max_sync(unsigned mask, int x)
{
    return (int)((unsigned)emu_warp(EMU_MAX, mask, (unsigned)x ^ 0x80000000u, 0) ^ 0x80000000u);
}

static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#define __threadfence_system __threadfence

void emu_host_atomic(const void *p);
template <class T, class Step> static inline T emu_atomic(T *p, Step step)
{
    emu_host_atomic(p);
    T was, will;
    __atomic_load(p, &was, __ATOMIC_RELAXED);
    do
        will = step(was);
    while (!__atomic_compare_exchange(p, &was, &will, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return was;
}
template <class T> struct emu_same { /* no deduction from that argument */
    typedef T type;
};
#define EMU_ATOMIC(name, expression)                                                     \
    template <class T> static inline T name(T *p, typename emu_same<T>::type x)          \
    {                                                                                    \
        return emu_atomic(p, [x](T was) { return (T)(expression); });                    \
    }                                                                                    \
    template <class T> static inline T name##_block(T *p, typename emu_same<T>::type x)  \
    {                                                                                    \
        return name(p, x);                                                               \
    }                                                                                    \
    template <class T> static inline T name##_system(T *p, typename emu_same<T>::type x) \
    {                                                                                    \
        return name(p, x);                                                               \
    }
EMU_ATOMIC(atomicAdd, was + x)
EMU_ATOMIC(atomicMin, x < was ? x : was)
EMU_ATOMIC(atomicMax, x > was ? x : was)
EMU_ATOMIC(atomicAnd, was &x)
EMU_ATOMIC(atomicOr, was | x)
EMU_ATOMIC(atomicXor, was ^ x)
EMU_ATOMIC(atomicExch, ((void)was, x))
EMU_ATOMIC(atomicInc, was >= x ? 0 : was + 1)
template <class T>
static inline T atomicCAS(T *p, typename emu_same<T>::type expected, typename emu_same<T>::type x)
{
    T was = expected, will = x;
    __atomic_compare_exchange(p, &was, &will, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return was;
}

#endif
