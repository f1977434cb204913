/* selftest_kernels.cu : tests the emulator's kernel side, for tests/emu/test_emu.c. Functions
 * return 0 or the line that failed. */
#include "device/run/cu.cuh"
#include "selftest.h"

enum { THREADS = 200 }; /* the last warp has 8 lanes */

static __global__ void k_turn_around(unsigned *x, int rounds)
{
    __shared__ unsigned a[THREADS];
    const unsigned t =
        threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y;
    unsigned mine = x[blockIdx.x * THREADS + t];
    for (int i = 0; i < rounds; i++) {
        a[t] = mine;
        __syncthreads();
        mine = a[THREADS - 1 - t] + 1;
        __syncthreads();
    }
    x[blockIdx.x * THREADS + t] = mine + (__syncthreads_count((int)(t % 2)) == THREADS / 2) +
                                  __syncthreads_or(t == 7) + __syncthreads_and(t < THREADS);
}

extern "C" int self_barriers(void)
{
    enum { BLOCKS = 3, ROUNDS = 5 };
    unsigned h[BLOCKS * THREADS], *d;
    for (unsigned i = 0; i < BLOCKS * THREADS; i++)
        h[i] = 1000 * i;
    WORKS(cudaMalloc(&d, sizeof h));
    WORKS(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    k_turn_around<<<BLOCKS, dim3(10, 4, 5)>>>(d, ROUNDS);
    WORKS(cudaGetLastError());
    WORKS(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < BLOCKS * THREADS; i++)
        HOLDS(h[i] == 1000 * (i / THREADS * THREADS + THREADS - 1 - i % THREADS) + ROUNDS + 3);
    WORKS(cudaFree(d));
    return 0;
}

static __global__ void k_look(unsigned *bad)
{
    __shared__ unsigned a[64];
    CU_SHARED(unsigned, b);
    for (int i = 0; i < 64; i++)
        if (a[i] != 0xa5a5a5a5 || b[i] != 0xa5a5a5a5)
            ++*bad;
    for (int i = 0; i < 64; i++)
        a[i] = b[i] = 0;
}

extern "C" int self_garbage(void)
{
    unsigned *bad, was;
    WORKS(cudaMalloc(&bad, 4));
    WORKS(cudaMemcpy(&was, bad, 4, cudaMemcpyDefault));
    HOLDS(was == 0xcbcbcbcb);
    WORKS(cudaMemset(bad, 0, 4));
    k_look<<<5, 1, 256>>>(bad);
    WORKS(cudaMemcpy(&was, bad, 4, cudaMemcpyDefault));
    HOLDS(was == 0);
    return 0;
}

/* good[t] = 1 if every check of thread t holds. */
static __global__ void k_warp(int *good)
{
    const int t = (int)threadIdx.x, lane = t % 32, left = (int)blockDim.x - t / 32 * 32,
              n = left < 32 ? left : 32;
    const unsigned all = n == 32 ? 0xffffffffu : (1u << n) - 1;
    int ok = 1;
    ok &= __shfl_sync(all, 10 * lane, 3) == 30;
    ok &= __shfl_sync(all, 10 * lane, 1, 4) == 10 * (lane / 4 * 4 + 1);
    ok &= __shfl_up_sync(all, (float)lane, 2) == (float)(lane < 2 ? lane : lane - 2);
    ok &= __shfl_down_sync(all, (double)lane, 1, 8) == (double)(lane % 8 == 7 ? lane : lane + 1);
    ok &= __shfl_xor_sync(all, 1ull << lane, 1) == 1ull << (lane ^ 1);
    ok &= __ballot_sync(all, lane % 3 == 0) == (0x49249249u & all);
    ok &= __any_sync(all, lane == 5) && !__any_sync(all, lane == 40) && __all_sync(all, lane < n) &&
          !__all_sync(all, lane > 0);
    ok &= __reduce_add_sync(all, lane) == n * (n - 1) / 2 && __reduce_max_sync(all, -lane) == 0;
    ok &= __reduce_min_sync(all, -lane) == 1 - n &&
          __reduce_max_sync(all, (unsigned)-lane) == (unsigned)-1;
    ok &= __match_any_sync(all, lane % 2) == (all & (lane % 2 ? 0xaaaaaaaau : 0x55555555u));
    /* lanes come at different times */
    for (int i = 0; i < lane; i++)
        __syncwarp(1u << lane);
    if (lane < 4)
        ok &= __reduce_add_sync(0xfu, 1) == 4 && __shfl_sync(0xfu, lane, 2) == 2;
    else if (lane < 8)
        ok &= __shfl_xor_sync(0xf0u, lane, 3) == (lane ^ 3) && __reduce_add_sync(0xf0u, 1) == 4;
    __syncwarp(all);
    good[t] = ok;
}

/* Returned lanes must not block the others. */
static __global__ void k_few(int *good)
{
    if (threadIdx.x % 32 >= 10)
        return;
    good[threadIdx.x] = __reduce_add_sync(0xffffffffu, 1) == 10;
}

extern "C" int self_warps(void)
{
    int h[THREADS], *d;
    WORKS(cudaMalloc(&d, sizeof h));
    k_warp<<<1, THREADS>>>(d);
    WORKS(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        HOLDS(h[i] == 1);
    k_few<<<1, 64>>>(d);
    WORKS(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        HOLDS(i % 32 >= 10 || h[i] == 1);
    return 0;
}

static __global__ void k_atomics(int *i, unsigned *u, float *f)
{
    atomicAdd(&i[0], 2);
    atomicMin(&i[1], -(int)threadIdx.x);
    atomicExch(&i[2], 9);
    atomicAnd(&u[0], ~(1u << threadIdx.x));
    atomicXor(&u[1], 3u);
    atomicInc(&u[2], 4);
    atomicAdd(f, 0.5f);
    for (unsigned was = *(volatile unsigned *)&u[3], seen;
         (seen = atomicCAS(&u[3], was, was + 3)) != was; was = seen)
        ;
}

extern "C" int self_atomics(void)
{
    struct {
        int i[3];
        unsigned u[4];
        float f;
    } h = {{0, 0, 0}, {~0u, 0, 0, 0}, 0}, *d;
    WORKS(cudaMalloc(&d, sizeof h));
    WORKS(cudaMemcpy(d, &h, sizeof h, cudaMemcpyDefault));
    k_atomics<<<1, 21>>>(d->i, d->u, &d->f);
    WORKS(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDefault));
    HOLDS(h.i[0] == 42 && h.i[1] == -20 && h.i[2] == 9);
    HOLDS(h.u[0] == ~0x1fffffu && h.u[1] == 3 && h.u[2] == 1 && h.u[3] == 63);
    HOLDS(h.f == 10.5f);
    return 0;
}

static __global__ void k_bug(int which, unsigned *x)
{
    const unsigned t = threadIdx.x;
    if (which == 0 && t < 3)
        return; /* and the others wait */
    if (which == 1 && t == 40)
        __syncthreads();
    else
        __syncthreads();
    if (which == 2 && t == 1)
        __syncwarp(3u);
    if (which == 3 && t < 32 && t != 9)
        __syncwarp(); /* lane 9 goes to the barrier */
    if (which == 4)
        __syncwarp(1u);
    if (which == 5 && t < 2)
        x[t] = t ? __ballot_sync(3u, 1) : __shfl_sync(3u, 1u, 0);
    if (which == 6)
        x[(1u << 20) + t] = 1;
    if (which == 7)
        ((float2 *)((char *)x + 4))->y = 2;
    __syncthreads();
    x[t] = t;
}
#define BUG(name, which)                                       \
    extern "C" int self_bug_##name(void)                       \
    {                                                          \
        unsigned *x;                                           \
        WORKS(cudaMalloc(&x, 1u << 22));                       \
        k_bug<<<2, 64>>>(which, x);                            \
        return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1; \
    }
BUG(none, -1)
BUG(returned, 0)
BUG(two_barriers, 1)
BUG(absent_lane, 2)
BUG(warp_and_block, 3)
BUG(not_in_mask, 4)
BUG(two_operations, 5)
BUG(past_the_end, 6)
BUG(misaligned, 7)

/* Right if thread 0 runs first, wrong if it runs last. */
static __global__ void k_race(unsigned *x)
{
    __shared__ unsigned a;
    if (threadIdx.x == 0)
        a = 5;
    x[threadIdx.x] = a;
}
extern "C" int self_race(void)
{
    unsigned h[4], *d;
    WORKS(cudaMalloc(&d, sizeof h));
    k_race<<<1, 4>>>(d);
    WORKS(cudaMemcpy(h, d, sizeof h, cudaMemcpyDefault));
    return h[1] == 5 && h[3] == 5 ? 0 : 1;
}

static __global__ void k_race_of_blocks(unsigned *x)
{
    if (threadIdx.x == 7)
        x[0] = blockIdx.x;
}

extern "C" int self_race_of_blocks(void)
{
    unsigned *d;
    WORKS(cudaMalloc(&d, sizeof *d));
    k_race_of_blocks<<<3, 8>>>(d);
    return 0;
}
