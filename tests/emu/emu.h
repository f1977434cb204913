/* emu.h : declares the emulated GPU for the headers and libraries of tests/emu/.
 *
 * A kernel, copy or library call is a closure on a stream. It runs at once in the calling thread,
 * or with EMU_ASYNC=1 in a thread of its stream. While the stream is captured, it becomes a node
 * of the graph.
 *
 * Environment, read when the library is loaded:
 *     EMU_DEVICES=N     number of GPUs (0: none)
 *     EMU_OLD_DRIVER=1  the driver is too old
 *     EMU_CC=70,80      compute capability of the first GPU and of the others
 *     EMU_MEMORY=BYTES  device memory (4 GiB)
 *     EMU_STRICT=1      a host that touches device memory outside kernels and copies dies
 *     EMU_ASYNC=1       streams run beside the host and each other: shows missing waits
 *     EMU_REVERSE=1     threads and blocks run from last to first: shows missing barriers
 *     EMU_HOST=1        logs accesses of kernels to host memory in EMU_LOG (emu_host.cpp)
 *     EMU_DEAD=N        the work after the first N fails for an illegal address, as all after it
 *     EMU_NCCL_FAILS=N  the Nth ncclSend fails
 *     EMU_MPS=1         processes share the GPU through MPS
 *     EMU_CUDNN_ADDS=0  the emulated cuDNN cannot add to dx
 *     EMU_LOG=FILE      logs requests for device memory, and types of sums in libraries:
 *                       "alloc ADDRESS BYTES", "free ADDRESS", "gemm TYPE MxNxK",
 *                       "conv TYPE TYPES OF TENSORS" */
#ifndef EMU_H
#define EMU_H
#include "emu_api.h"
#include <functional>
#include <tuple>
#include <utility>

/* NULL is the default stream. Work on a captured stream goes into its graph. */
cudaError_t emu_enqueue(cudaStream_t s, std::function<void()> work);

/* Prints "emu: LINE" to stderr and aborts, for bugs of the emulated program. */
[[noreturn]] void emu_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

void emu_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

cudaError_t emu_error(cudaError_t e);

/* Counts `more` pieces of work. True after EMU_DEAD=N of them. */
bool emu_dead(int more);

/* True in a thread that captures: some calls are then illegal and fail the capture. */
bool emu_capturing();

long long emu_env(const char *name, long long otherwise);
int emu_capability(int device); /* EMU_CC */

struct emu_shape {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    emu_shape(dim3 g, dim3 b, size_t bytes = 0, cudaStream_t s = nullptr)
        : grid(g), block(b), shared(bytes), stream(s)
    {
    }
};

/* thread: the kernel with bound arguments, called once per thread. kernel: its address. */
cudaError_t emu_launch(const char *name, const void *kernel, const emu_shape &shape,
                       std::function<void()> thread);
void emu_run_grid(const char *name, const void *kernel, const emu_shape &shape,
                  const std::function<void()> &thread);

/* *base, *bytes: the allocation with p, if p is in device memory. */
bool emu_find(const void *p, char **base, size_t *bytes);
void emu_memory_enter(); /* kernels and copies touch device memory from here ... */
void emu_memory_leave(); /* ... to here, in any thread (EMU_STRICT) */

bool emu_host_watched();
void *emu_host_alloc(size_t bytes);
void emu_host_free(void *p);
bool emu_host_fault(void *p,
                    const void *context); /* handles a signal; false: p is not host memory */
void emu_host_enter();                    /* a kernel runs from here ... */
void emu_host_leave();                    /* ... to here */

/* A launch k_name<..><<<grid, block, shared, stream>>>(args) is rewritten to emu_kernel(name,
 * k_name<..>, shape)(args). */
template <class... P> struct emu_call {
    const char *name;
    void (*kernel)(P...);
    emu_shape shape;
    void operator()(P... args) const
    {
        std::tuple<P...> bound(args...);
        void (*k)(P...) = kernel;
        (void)emu_launch(name, (const void *)k, shape, [k, bound] { std::apply(k, bound); });
    }
};
template <class... P>
emu_call<P...> emu_kernel(const char *name, void (*kernel)(P...), const emu_shape &shape)
{
    return {name, kernel, shape};
}

#endif
