/* dev.h : the device library, libnarrowcast_cuda.so: everything that runs on a CUDA GPU, as tables
 * of launchers for C.
 *
 *     host/vec/gpu/gpu.c loads the library when a GPU is asked for -> run->open() -> launchers -> run->close()
 *
 * A program that stays on the CPU never loads it, so it needs neither driver nor cuDNN, and starts
 * as fast as before.
 *   - Pointers are device memory unless said. "Reachable" memory is device memory or what run->alloc_pinned() gave: kernels
 *     may read and write it in place.
 *   - A launcher enqueues work on its stream and returns 0, or a negative errno after one line. It
 *     does not allocate, wait, or touch what it was given after the stream has passed. Arguments by
 *     pointer to const struct are copied at once.
 *   - n may be 0 and anything else; results do not depend on the shape of a grid.
 *   - One device a process; any thread may call, each on streams of its own. */
#ifndef DEV_H
#define DEV_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev_stream; /* a CUDA stream; NULL is none */
struct dev_event;
struct dev_graph; /* launches recorded once, repeated at the cost of one */

/* Prints one line and returns code: host's err_say(). */
typedef int dev_say(int code, const char *format, ...);

struct dev_info {
    char name[64];
    int ordinal, major, minor; /* of the device; compute capability */
    int n_sms;
    size_t memory_bytes, l2_bytes;
    int driver, runtime; /* CUDA versions, 1000 * major + 10 * minor */
};

struct dev_ipc {
    uint8_t bytes[64];
}; /* memory of another process on the same node, as it travels */

/* Memory, streams, events, graphs, memory of other processes. */
struct dev_run_ops {
    /* Takes device `ordinal` (-1: rank_on_node modulo the number of devices). Returns 0; -ENODEV
     * (no driver, too old, no GPU, none that this build has code for) with a line that says
     * which. */
    int (*open)(int ordinal, int rank_on_node, dev_say *say, struct dev_info *info);
    void (*close)(void);
    int (*count)(void); /* GPUs that can be used; 0 without a line when there is none */

    /* Zeroed, 256-byte aligned; NULL after a line with sizes. free takes NULL. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);
    void *(*alloc_pinned)(size_t bytes);
    void (*free_pinned)(void *p);
    void (*memory)(size_t *free_bytes, size_t *all_bytes);

    /* urgent: its kernels go before those of other streams. */
    int (*stream_open)(bool urgent, struct dev_stream **out);
    void (*stream_close)(struct dev_stream *s);
    int (*copy)(void *dst, const void *src, size_t bytes, struct dev_stream *s); /* any direction */
    int (*zero)(void *p, size_t bytes, struct dev_stream *s);
    /* until all is done: 0, or the first failure on the device */
    int (*wait)(struct dev_stream *s);

    int (*event_open)(struct dev_event **out);
    void (*event_close)(struct dev_event *e);
    int (*event_record)(struct dev_event *e, struct dev_stream *s);
    int (*event_wait)(struct dev_event *e, struct dev_stream *s); /* the stream waits */
    int (*event_sync)(struct dev_event *e);                       /* the caller waits */
    int (*event_ms)(struct dev_event *from, struct dev_event *to, float *ms);

    /* All launches on s between begin and end become a graph instead of work. Copies inside must
     * keep their addresses. */
    int (*graph_begin)(struct dev_stream *s);
    int (*graph_end)(struct dev_stream *s, struct dev_graph **out);
    int (*graph_launch)(struct dev_graph *g, struct dev_stream *s);
    void (*graph_close)(struct dev_graph *g);

    /* *flag (pinned) = value when the stream gets here: what a thread polls that must not disturb a
     * graph. */
    int (*signal)(uint32_t *flag, uint32_t value, struct dev_stream *s);

    /* p: from alloc. Close in the process that imported. */
    int (*ipc_export)(void *p, struct dev_ipc *out);
    int (*ipc_import)(const struct dev_ipc *in, void **out);
    void (*ipc_close)(void *p);
};

struct dev_vec_ops;  /* dev_vec.h */
struct dev_nn_ops;   /* dev_nn.h */
struct dev_gemm_ops; /* dev_gemm.h */
struct dev_nccl_ops; /* dev_nccl.h */

enum { DEV_VERSION = 9 };
struct dev_library {
    int version; /* DEV_VERSION: a library of another build is refused */
    const struct dev_run_ops *run;
    const struct dev_vec_ops *vec;
    const struct dev_nn_ops *nn;
    const struct dev_gemm_ops *gemm;
    const struct dev_nccl_ops *nccl;
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_library narrowcast_cuda; /* the one symbol that is looked up */

#endif
