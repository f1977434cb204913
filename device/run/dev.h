/* dev.h : declares the tables of functions of the device library, libnarrowcast_cuda.so, for C.
 *
 *     host/vec/gpu/gpu.c loads the library if a GPU is asked for
 *       -> run->open() -> launchers -> run->close()
 *
 * - Pointers are to device memory unless stated otherwise. "Reachable" memory is device memory or
 *   memory from run->alloc_pinned(): kernels may read and write both in place.
 * - A launcher (a function with a stream) enqueues work on its stream and returns 0, or reports an
 *   error and returns a negative errno. It does not allocate or wait. Its memory arguments may
 *   be reused when the stream has completed the work. Structs passed as pointers to const are
 *   copied before the launcher returns.
 * - n may be any number, also 0. Results do not depend on a grid's shape.
 * - A process uses one device. Any thread may call these functions, with streams of its own. */
#ifndef DEV_H
#define DEV_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev_stream; /* a CUDA stream */
struct dev_event;
struct dev_graph; /* recorded launches, repeated for the cost of one */

/* Prints one line and returns code. The host passes its err_say(). */
typedef int dev_say(int code, const char *format, ...);

struct dev_info {
    char name[64];
    int ordinal, major, minor; /* index; compute capability */
    int before;                /* the opening thread's current device until then */
    bool jit;                  /* no machine code for it: CUDA compiled the kernels on loading */
    bool mps;                  /* processes share it through NVIDIA's Multi-Process Service */
    int n_sms;
    size_t memory_bytes, l2_bytes;
    int driver, runtime; /* CUDA versions, 1000 * major + 10 * minor */
};

/* A handle of another process's memory on the node. */
struct dev_ipc {
    uint8_t bytes[64];
};
enum { DEV_IPC_BYTES = 2 << 20 };

struct dev_run_ops {
    /* Open device `ordinal`; if it is -1, usable device rank_on_node modulo count(). Return 0, or
     * report -ENODEV if the driver is missing or too old, or there is no GPU that this build has
     * code for. */
    int (*open)(int ordinal, int rank_on_node, dev_say *say, struct dev_info *info);
    void (*close)(void);
    /* Return the number of usable GPUs; 0 is no error. */
    int (*count)(void);
    /* Make a device the calling thread's current one, unless it is -1. Return the one before. Other
     * functions leave the opened device current. */
    int (*current)(int ordinal);
    /* Make device `before` current again, unless nothing uses it: CUDA would make a context there,
     * half a gigabyte. A thread that never chose a device has 0 before. */
    void (*restore)(int before);
    /* Return the device that has memory p; -1: this process's pinned or managed memory; -2: other
     * host memory. */
    int (*device_of)(const void *p);

    /* Allocate device memory (alloc) or pinned host memory, zeroed and aligned to 256 bytes. On
     * failure, report sizes and return NULL. The free functions accept NULL. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);
    void *(*alloc_pinned)(size_t bytes);
    void (*free_pinned)(void *p);
    void (*memory)(size_t *free_bytes, size_t *all_bytes);

    /* urgent: kernels go before those of other streams. */
    int (*stream_open)(bool urgent, struct dev_stream **out);
    void (*stream_close)(struct dev_stream *s);
    /* Copy between any two kinds of memory. */
    int (*copy)(void *dst, const void *src, size_t bytes, struct dev_stream *s);
    int (*zero)(void *p, size_t bytes, struct dev_stream *s);
    /* Wait until all work is done. Return 0 or the first failure on the device. */
    int (*wait)(struct dev_stream *s);

    int (*event_open)(struct dev_event **out);
    void (*event_close)(struct dev_event *e);
    int (*event_record)(struct dev_event *e, struct dev_stream *s);
    int (*event_wait)(struct dev_event *e, struct dev_stream *s); /* the stream waits */
    int (*event_sync)(struct dev_event *e);                       /* the caller waits */
    int (*event_ms)(struct dev_event *from, struct dev_event *to, float *ms);
    /* Return 1 if the work before the event is done, 0 if not, or the failure on the device. */
    int (*event_done)(struct dev_event *e);
    /* Close an event of a stream that may be stuck: its work may wait for ranks that are gone.
     * CUDA frees memory only when all work on the device is done. So until the event has passed,
     *
     *     free, free_pinned, ipc_close, nccl->close    keep their memory: it is lost
     *     stream_close, event_close, close             work as usual, as they do not wait
     *     alloc, alloc_pinned, copies, launches        work as usual, on streams of their own
     *
     * in all threads. No stream of ours may wait for a caller's event: its wait() would not end. */
    void (*event_leave)(struct dev_event *e);

    /* Between begin and end, launches on s are recorded as a graph, not executed. The memory of
     * recorded copies must stay at its addresses. */
    int (*graph_begin)(struct dev_stream *s);
    int (*graph_end)(struct dev_stream *s, struct dev_graph **out);
    int (*graph_launch)(struct dev_graph *g, struct dev_stream *s);
    void (*graph_close)(struct dev_graph *g);

    /* Set *flag = value when the stream gets here. flag: pinned memory, which a thread can poll
     * while a graph runs. */
    int (*signal)(uint32_t *flag, uint32_t value, struct dev_stream *s);

    /* Share memory with another process on the node. p: from alloc(), at least DEV_IPC_BYTES: CUDA
     * cuts smaller allocations out of blocks, and would share the whole block. The importing
     * process must call ipc_close(). */
    int (*ipc_export)(void *p, struct dev_ipc *out);
    int (*ipc_import)(const struct dev_ipc *in, void **out);
    void (*ipc_close)(void *p);
};

struct dev_vec_ops;  /* dev_vec.h */
struct dev_nn_ops;   /* dev_nn.h */
struct dev_nccl_ops; /* dev_nccl.h */

/* A checksum of the interface's text; tests/repo/test_facts.sh prints the value after a change. */
enum { DEV_VERSION = 21144 };
struct dev_library {
    int version; /* DEV_VERSION; the host refuses any other */
    const struct dev_run_ops *run;
    const struct dev_vec_ops *vec;
    const struct dev_nn_ops *nn; /* NULL in a build without cuDNN or cuBLAS */
    const struct dev_nccl_ops *nccl;
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_library narrowcast_cuda; /* the symbol that the host looks up */

#endif
