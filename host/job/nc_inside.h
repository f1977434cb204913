/* nc_inside.h : declares the internals of a communicator of the public interface, for nc*.c. */
#ifndef NC_INSIDE_H
#define NC_INSIDE_H
#include <narrowcast.h>
#include "base/err.h"
#include "comm/virtual/comm_virtual.h"
#include "job/job.h"
#include "vec/fp_mode.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define NC_ELEMENTS_MAX ((size_t)1 << 40)
enum { NC_BLOCKS_MAX = 4096 };

enum nc_type { NC_FP32, NC_FP64, NC_FP16, NC_BF16 };

/* State of one rank: of a block if options.blocks is set (each block is a virtual rank), else of
 * the process. */
struct nc_block {
    struct comm *comm;
    struct job job;
    void **grads;             /* [n_layers] of the step in flight, owned by the caller */
    float **fp32;             /* [n_layers] as grads, or copies in `room` */
    float *room;              /* copies of all layers if gradients are not fp32, else NULL */
    struct reducer_step done; /* the last step */
};

struct nc {
    struct comm *comm;                          /* of processes */
    struct comm_virtual *virtual;               /* NULL without blocks */
    struct opening *opening;                    /* arguments of nc_open, until it returns */
    int n_blocks;                               /* of this process */
    struct nc_block *blocks;                    /* [n_blocks] */
    uint64_t step;                              /* key of random bits */
    char path[sizeof((struct job *)0)->device]; /* of steps that cards do not add */
    int n_layers;
    size_t *n;           /* [n_layers] elements */
    uint32_t layers_tag; /* checksum */
    enum nc_type type;
    bool *handed; /* [n_layers] by nc_ready() */
    int n_handed;
    bool asked_thread; /* reducer_set_overlap() was called */
    bool under_way;    /* from nc_iallreduce() to nc_wait() */
    bool shards;       /* steps are reduce-scatters */
    bool gathers;      /* the step in flight is an all-gather */
    float *shard;      /* of this step; owned by the caller */
    size_t shard_room; /* floats, at least the rank's range */
    bool has_turn;     /* holds comm_take_turn() between calls */
    bool by_mpi;       /* MPI's thread rules apply */
    atomic_int failed; /* 0, or a negative errno: only nc_close() may follow */
    atomic_bool busy;
    pid_t pid;
    pthread_t opener;      /* of a transport without threads: the only one that may call it */
    struct nc_options log; /* copy for log and log_arg; its strings may be freed */
    struct err_lines lines, *before;
    struct err_lines thread_lines; /* of the thread that runs a step in parts */
    fenv_t fp;                     /* the caller's floating-point mode during a call */
    int gpu;                       /* the caller's current device during a call (gpu_enter()) */
};

/* ---- nc.c ---- */

/* Copy options of any version, and so of any size. Returns 0, or an error for nc_options_refuse(),
 * which reports -EINVAL: only then the log is known. */
int nc_options_copy(const struct nc_options *from, struct nc_options *out);
int nc_options_refuse(int rc);

/* ---- nc_call.c ---- */

/* Begin a call. Until nc_leave(), messages go to the log that the options name, and arithmetic is
 * IEEE's default (round to nearest, subnormals, no traps), not the caller's. Reports -EBUSY, -EPERM
 * or an earlier failure if this thread may not call now; nc_leave() must then not follow. */
int nc_enter(struct nc *nc);

/* Like nc_enter(), but a failure of the step's thread is left to the end of the step. */
int nc_enter_wait(struct nc *nc);

/* Like nc_enter(), but reports -EBUSY during a step. */
int nc_enter_between(struct nc *nc);

/* Returns rc. If negative, it becomes the communicator's failure. */
int nc_leave(struct nc *nc, int rc);

/* End a call that changed nothing and may be repeated. Returns rc. */
int nc_leave_refused(struct nc *nc, int rc);

/* Tell the other ranks of a failure over the caller's transport. Does nothing while a call or the
 * step's thread runs: that tells them. */
void nc_tell(struct nc *nc);

/* Return lines that go to o->log if it is set. o must outlive them. */
struct err_lines nc_lines(struct nc_options *o);

/* Store the error of a failed nc_open() or cast for nc_last_error(NULL). */
void nc_thread_failed(const struct err_lines *lines, int rc);

/* Call body for each block of this process, in turns while blocks wait for each other. Returns 0,
 * or the error of the lowest block that failed. */
int nc_each(struct nc *nc, int (*body)(struct nc *nc, struct nc_block *b));

/* ---- nc_step.c ---- */

/* Begin a step: check the list of gradients or weights, and that the communicator has shards if and
 * only if `shards` is set. Reports -EINVAL. */
int nc_step_begin(struct nc *nc, const void *grads, bool shards, bool gathers);

/* Run the step in this call, or in a thread. Both end the call. */
int nc_step_run(struct nc *nc, struct nc_report *report);
int nc_step_start(struct nc *nc);

/* ---- nc_shard.c ---- */

/* Parse the options of shards. No communication. Reports -EINVAL. */
int nc_shard_parse(struct nc *nc, const struct nc_options *o, struct job_shard *out);

/* ---- nc_type.c ---- */

/* word: options.type. Reports -EINVAL. */
int nc_type_parse(const char *word, const char *device, enum nc_type *out);

/* Allocate a step's lists and copies. Reports -ENOMEM. Call nc_type_close() in either case. */
int nc_type_open(struct nc *nc, struct nc_block *b);
void nc_type_close(struct nc_block *b);

/* Report -EINVAL if the GPU's kernels cannot reach p: it is in another GPU's memory or the host's.
 * layer: of the step's list, or -1 for the shard. */
int nc_type_check_gpu(const struct nc *nc, const void *p, int layer);

/* Begin a step: copy the caller's list of all blocks' gradients. Reports -EINVAL. */
int nc_type_begin(struct nc *nc, const void *grads);

/* nc_type_in() converts layers first to first+n-1 of all blocks to fp32. nc_type_out() converts
 * the means back. */
void nc_type_in(struct nc *nc, int first, int n);
void nc_type_out(struct nc *nc);

#endif
