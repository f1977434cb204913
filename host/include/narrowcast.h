/* narrowcast.h : averages gradients over all ranks of an MPI job and sends them as narrow floats.
 *
 * The library scales each layer by a power of two, casts it to a format of 2 to 32 bits, packs it,
 * adds the codes of all ranks and casts the sums back. With exact sums (the default where format
 * and algorithm allow them) the result has the same bits for every algorithm, order and run.
 *
 *     #include <narrowcast.h>
 *     #include <stdio.h>
 *
 *     static float weight[784 * 10], bias[10];
 *
 *     int main(void)
 *     {
 *         const struct nc_layer layers[] = {{.name = "fc.weight", .n = 784 * 10},
 *                                           {.name = "fc.bias", .n = 10}};
 *         float *const grads[] = {weight, bias};
 *         struct nc_options options = nc_options_default();
 *         struct nc_report report;
 *         struct nc *nc;
 *         options.format = "e4m3";
 *         options.scale = "aps";
 *         if (nc_open(&options, layers, 2, &nc) < 0)
 *             return 1;
 *         for (int step = 0; step < 100; step++) {
 *             // ... compute this rank's gradients into weight and bias ...
 *             int rc = nc_allreduce(nc, grads, &report);
 *             if (rc < 0)
 *                 return 1;
 *             if (rc == 1)
 *                 continue;  // inf or nan on some rank: no rank applies this step
 *             // ... update the weights with the mean gradients ...
 *         }
 *         if (nc_rank(nc) == 0)
 *             printf("%.0f bytes a step\n", (double)report.sent_bytes);
 *         nc_close(nc);
 *         return 0;
 *     }
 *
 *     cc train.c -Ihost/include -Lbuild -Wl,-rpath=$PWD/build -lnarrowcast; host/ranks.sh 4 ./a.out
 *
 * Errors: functions return negative errno values (see nc_strerror). One rank, or each that made a
 * mistake of its own, prints a line to stderr or options.log; its nc_last_error() returns it.
 *
 * NULL pointers: a call with a NULL communicator returns -EINVAL (nc_step and nc_state_bytes return
 * 0). nc_close, nc_abort and nc_last_error accept NULL. Other pointers may be NULL only where their
 * comments say so; otherwise the call returns -EINVAL, and the communicator stays usable.
 *
 * Alignment: gradients must be aligned as their type requires.
 *
 * Floating point: results do not depend on the caller's rounding mode, flush-to-zero mode or traps.
 * Calls, options.log and transport functions run in IEEE's default mode and restore the caller's.
 *
 * Threads: only one thread at a time may call functions of a communicator. The rest depends on the
 * level of MPI, from the caller's MPI_Init_thread or, if nc_open initializes MPI, options.threads.
 *
 *   MPI_THREAD_MULTIPLE     Several communicators may be active at once, each in its own thread.
 *   MPI_THREAD_SERIALIZED   One communicator per process may be active at a time (in a call, or
 *                           with a step in flight), in any thread; a call of another returns
 *                           -EBUSY. The program may not call MPI meanwhile.
 *   lower levels            Only the thread that initialized MPI may call; calls of others return
 *                           -EPERM. Gradients handed in with nc_ready() are sent inside nc_wait().
 *
 * In a forked child nc_open() and calls, except queries, of the parent's communicators: -EPERM.
 *
 * Deadline: if a rank makes another one wait longer than options.deadline_s, 10 minutes by default,
 * with cards up to 1.75 times as long, one line names the missing rank and the job ends (over a
 * caller's transport, calls return -ETIMEDOUT). The deadline runs while a rank in a call, or its
 * thread in a step, waits for another or for a stream of nc_ready_on(), and pauses while that rank
 * is stopped. Work between calls has no limit if no rank waits, nor has nc_open() over MPI. */
#ifndef NARROWCAST_H
#define NARROWCAST_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NC_VERSION        "0.1.0"
#define NC_VERSION_NUMBER 100 /* 10000 major + 100 minor + patch, for #if */

/* Marks exported functions, the only exported symbols. */
#ifndef NC_API
#define NC_API __attribute__((visibility("default")))
#endif

/* Return the library's version. The macros are the version at compile time. */
NC_API const char *nc_version(void);
NC_API int nc_version_number(void);

/* Options of a communicator, the same on all ranks, except log, deadline_s, threads, count_lost and
 * xclbin. Strings are copied; they are spelled as in `narrowcast train --help`, and NULL means the
 * default (format e5m2 and scale none, unlike train). Start from nc_options_default(). Later
 * versions may append fields, and accept programs with fewer. */
struct nc_options {
    size_t size;            /* sizeof(struct nc_options) in the caller's build */
    const char *format;     /* fp32 fp16 bf16 e5m2 e4m3 e4m3fn e3m0, eXmY, eXmYfn or eXmYf */
    const char *scale;      /* none, const:K, aps[:G], aps-tight[:G], quantile */
    const char *sum;        /* auto, exact, fp32, nearest, kahan, trunc */
    const char *out_format; /* format of the sums sent back: auto or as above, perhaps with :G */
    const char *overflow;   /* saturate, inf */
    const char *round;      /* nearest, stochastic, zero */
    /* auto (by the length of a step), offload, or an algorithm of `narrowcast train --help`, such
     * as direct, ring or group-master:4. Cards add first; the algorithm adds what they do not. With
     * offload, nc_open fails unless every card answers. */
    const char *algo;
    /* Cards that add packets: udp://host:port,... or eth://host:port,..., sim, xrt, off, or auto
     * (from NARROWCAST_OFFLOAD). nc_open fails if one cannot exist. */
    const char *offload;
    size_t bucket_bytes; /* of messages that layers are fused into; 0: 1 MiB, for GPUs 8 MiB */
    double deadline_s;   /* seconds, > 0, until a rank that others wait for counts as lost */
    uint64_t seed;       /* for stochastic rounding */
    const char *device;  /* memory of the gradients: cpu, or cuda (see below) */
    /* minifloat (configured by the six strings from format to round), qsgd:B, onebit[:...],
     * ternary, relgrad[:...], nvfp4, or for one rank and nc_cast() mx:E. */
    const char *codec;
    const char *xclbin; /* container file of xrt cards; NULL: NARROWCAST_XCLBIN */
    /* cpu, or xrt: a card in rank 0's machine adds. xrt needs algo group-scatter:K with K ranks. */
    const char *node_sum;
    /* Layers to quantise. large: all except the smallest. all: all. auto: the codec's default. */
    const char *quantise;
    /* Format of partial sums with sum nearest or kahan (such as e6m9 for e5m2), or auto. */
    const char *acc_format;
    /* If not 0, rescale the sums of groups before adding them. Needs scale aps, sum nearest and
     * algo group-*:K. */
    int rescale;
    /* mean, or sum (only with codecs that support sums). `overflow` applies to sums beyond their
     * format's largest number, and to gradients outside the range of the scale: above 2^126 / ranks
     * (aps) or 2^126 (aps-tight). */
    const char *op;
    /* Element type of the gradients: fp32; with device cpu also fp64, fp16 or bf16, converted to
     * fp32 (fp64: rounded to nearest, overflow becomes inf); means are rounded to nearest back to
     * the type. If `overflow` is saturate, means beyond its largest number become that number. */
    const char *type;
    int threads; /* if not 0 and nc_open initializes MPI, request MPI_THREAD_MULTIPLE */
    /* Receives messages instead of stderr: one line without newline; level is NC_LOG_x. Runs in the
     * calling thread or the communicator's own. Must not call the library, except nc_strerror(). */
    void (*log)(void *arg, int level, const char *line);
    void *log_arg;
    int count_lost; /* if not 0, count cast losses in nc_report; for device cpu, minifloat */
    /* If not 0, the job's number V of blocks, from that of processes to 4096 (see "Blocks"). */
    int blocks;
    /* no (default), or what nc_reduce_scatter() gives each rank of its own range: fp32, the mean
     * of unrounded sums, or rounded, the slice of nc_allreduce()'s mean (see "Shards" below). */
    const char *shard;
    /* With shard: [number of ranks] elements of each rank's range; may be 0; together all elements.
     * Copied. NULL: equal ranges. */
    const size_t *shard_n;
    /* With shard, the format in which nc_all_gather() sends weights: fp32 (default), bf16, fp16, or
     * differences to the last gathered weights: delta:F or delta:F:G, in a narrow format F with one
     * exponent per G elements, a power of two from 8 to 8192 (1024). */
    const char *gather;
};
enum { NC_LOG_ERROR = 1, NC_LOG_WARNING = 2 };

/* Gradients on GPUs (device "cuda").
 *
 * Each rank uses one GPU: its number on its machine modulo that of usable GPUs, which ranks may
 * share (CUDA_VISIBLE_DEVICES); nc_open_over(): the current device. nc_allreduce() takes device
 * pointers into its memory (others: -EINVAL) and writes the means there before it returns. Kernels
 * that write gradients must have finished, unless nc_ready_on() names their stream. Calls keep the
 * current device, unless nothing in the process uses it.
 *
 * libnarrowcast_cuda.so is loaded at run time from NARROWCAST_CUDA=PATH, the program's folder or
 * the loader's path. Results are bit-identical to those on the CPU. NARROWCAST_GPU_TRANSPORT=nccl,
 * ipc, mpi or pinned selects the transport of codes between GPUs; auto: the first possible one. */

/* Blocks: the same bits on any number of processes.
 *
 * With options.blocks = V the job averages V gradients of each layer, one per block, on any number
 * P of processes: for arithmetic a block is a rank. Process p has blocks V p / P to V (p + 1) / P -
 * 1: nc_n_blocks() of them, from nc_first_block() on. A training computes a block's gradients from
 * its share of the batch.
 *
 *   grads      [nc_n_blocks()][n_layers] pointers, block after block. The mean replaces those of
 *              the first block; the others stay unchanged.
 *   states     nc_state_save() writes the equally long states of the process's blocks one after
 *              another. A job with another number of processes loads its own blocks' states in the
 *              same order.
 *   nc_report  counts all of this process's blocks. Messages between them do not count as sent.
 *
 * tests/examples/blocks.c is an example. nc_rank() and nc_n_ranks() count processes. A step runs
 * inside nc_allreduce() or nc_wait(), without a thread. */

/* Shards: each rank owns a range of the parameters (ZeRO, FSDP).
 *
 *     gradients of all ranks --nc_reduce_scatter--> mean of my range -> optimizer -> my weights
 *     my weights --nc_all_gather--> weights of all ranges, with the same bits on every rank
 *
 * Elements of all layers, end to end in forward order, are cut into one range per rank, which
 * nc_shard() returns. A flat buffer is one layer; a unit of FSDP needs its own communicator. By
 * default rank r has elements r * s to (r + 1) * s - 1, with s = ceil(elements / ranks), of those
 * that exist; each shard has room for s floats, and nc_reduce_scatter() sets those beyond the range
 * to 0. With options.shard_n a shard has shard_n[rank] floats. If one rank has all elements, it is
 * a reduce to that rank: the others send it their codes and get nothing (shard NULL).
 *
 *   options.shard "fp32"      The owner gets the sum before it is rounded to out_format, divided by
 *                             the number of ranks. Exact sums are rounded only once, to fp32. The
 *                             result has nc_allreduce()'s bits if that has out_format fp32. Codecs
 *                             qsgd and onebit add in fp32, in rank order, and encode no sums.
 *   options.shard "rounded"   The owner gets, bit for bit, its slice of nc_allreduce()'s mean.
 *
 * Steps of such a communicator are reduce-scatters by algo direct; nc_allreduce() returns -EINVAL.
 * Cards, blocks, other algorithms, rescale and node_sum do not work with shards. */

/* Fill *options (not NULL) with the defaults: all strings NULL (offload: off, device: cpu, op:
 * mean, type: fp32), a deadline of 600 s, seed 1, others 0. size: bytes of *options. Fields that
 * this library does not know become 0. */
NC_API void nc_options_init(struct nc_options *options, size_t size);
static inline struct nc_options nc_options_default(void)
{
    struct nc_options options;
    nc_options_init(&options, sizeof options);
    return options;
}

/* One layer. Name fields in initializers or start from zeros: later versions may add fields. */
struct nc_layer {
    const char *name; /* for messages, or NULL; may be freed after nc_open */
    size_t n;         /* elements, > 0 */
    int fp32;         /* if not 0, always travels in fp32 */
    /* For codec onebit:column: a column has `column` elements, `stride` elements apart. Columns are
     * interleaved in runs of column * stride elements; n is a multiple of that.
     *
     *     layer                           column   stride
     *     linear [out][in]                out      in
     *     convolution [out][ky][kx][in]   kx       in
     *     convolution [out][in][ky][kx]   kx       1
     *
     * If both are 0, the layer is one column, as for a bias. */
    size_t column, stride;
    /* [n] the layer's weights, for codec relgrad, which reads them in each all-reduce unless the
     * layer is fp32. The same bits on every rank, in the gradients' memory ("cuda": a device
     * pointer), in place until nc_close. NULL if unavailable. */
    const float *weights;
    void *reserved[4]; /* must be NULL */
};

struct nc_report {       /* with blocks, of all blocks of this process together */
    uint64_t sent_bytes; /* by this rank in this step */
    uint64_t code_bytes; /* this rank's packed gradients */
    uint64_t fp32_bytes; /* 4 per element, for comparison */
    double codec_s;      /* seconds of casting */
    double comm_s;       /* seconds of sending, waiting and adding */
    int offload;         /* 1 if cards added all narrow codes, else 0; the bits are the same */
    /* Path of this step's sums: the algorithm and, between GPUs, the transport, such as "direct",
     * "group-scatter:4", "direct by NCCL" or "cards". Valid until nc_close(). */
    const char *path;
    /* With options.count_lost, of this rank's elements that did not travel in fp32: nonzero ones
     * sent as 0, and finite ones beyond the largest number of the format. */
    uint64_t underflow, saturated;
    uint64_t reserved[5]; /* 0 */
};

struct nc; /* a communicator */

/* Join the job and prepare for steps of these layers. Calls MPI_Init unless the caller has done so.
 * All ranks call it, for several communicators in the same order; it blocks until they have.
 *
 *   options   NULL for the defaults
 *   layers    [n_layers], in forward order, the same on every rank
 *   *out      the communicator, to be closed by nc_close; NULL after a failure
 *
 * Returns 0, or one of these codes, the same on every rank:
 *
 *   -EINVAL     invalid option or combination of options, or MPI has been finalized
 *   -EPROTO     ranks differ in options, layers or library version
 *   -ENOMEM     out of memory
 *   -EIO        messages, a card or a GPU failed
 *   -ENXIO      a card cannot exist
 *   -ENOTCONN   a card does not answer, with algo "offload"
 *   -ENODEV, -ENOENT, -ELIBACC, -ELIBBAD   no GPU or MPI, or no library that drives it
 *
 * or, on this rank only: -EPERM or -EBUSY (see Threads above). A failed nc_open keeps no resources
 * and may be repeated. MPI stays initialized; if nc_open initialized it, it is finalized when the
 * process exits. */
NC_API int nc_open(const struct nc_options *options, const struct nc_layer *layers, int n_layers,
                   struct nc **out);

/* Like nc_open, for the ranks of the caller's communicator, which is duplicated. Ranks keep their
 * numbers. All its ranks must call it, and no others.
 *
 *   mpi_comm   points to an MPI_Comm of the MPI library that this library was built with */
NC_API int nc_open_on(const void *mpi_comm, const struct nc_options *options,
                      const struct nc_layer *layers, int n_layers, struct nc **out);

/* Like nc_open_on, for a Fortran handle (mpi4py: comm.py2f()). */
NC_API int nc_open_fortran(int mpi_fint, const struct nc_options *options,
                           const struct nc_layer *layers, int n_layers, struct nc **out);

/* ---- without MPI ---- */

/* A transport supplied by the caller: sockets, UCX, a framework's process group. Its functions
 * return 0 or a negative errno and must not call the library, which calls them from one thread at a
 * time.
 *
 *   isend, irecv   Start a message of 1 to 2^30 bytes without waiting; both sides know its
 *                  length. Messages between two ranks with the same tag (0 to NC_TAGS - 1) arrive
 *                  in the order they were started. A message may wait for its other side, but never
 *                  for a message of another tag. buf is in use until test() reports completion or
 *                  cancel() returns. The library passes *request to test() and cancel(), unless
 *                  starting the message failed.
 *   test           Set *done to 1 if the message is complete, which ends the request. Does not
 *                  wait. If test is NULL, a request points to an int: 0 until any thread sets it to
 *                  1 (done) or a negative errno.
 *   progress       Advance messages; called before each round of test(). NULL if test() does so.
 *   cancel         End a message that is not done, or has failed. Afterwards buf and request are
 *                  unused. Called if a communicator fails or is closed.
 *
 * From opening to nc_close() one receive of a few bytes from every rank is always pending. */
enum { NC_TAGS = 8 };
struct nc_transport {
    size_t size; /* sizeof(struct nc_transport) in the caller's build */
    void *arg;   /* first argument of every function */
    int rank, n_ranks;
    int (*isend)(void *arg, int to, int tag, const void *buf, size_t bytes, void **request);
    int (*irecv)(void *arg, int from, int tag, void *buf, size_t bytes, void **request);
    int (*test)(void *arg, void *request, int *done);
    int (*progress)(void *arg);
    void (*cancel)(void *arg, void *request);
    int threads;          /* not 0: callable from other threads than the opening one */
    size_t message_bytes; /* of codes, at most 2^30, the same on all ranks; 0: 30 to 60 KiB */
    void *reserved[7];    /* NULL */
};

/* Like nc_open, over the caller's transport and without MPI. All ranks of the transport call it.
 * Several communicators may be open, each with its own transport. Every option of nc_open()
 * works except the algorithm native.
 *
 *   transport   copied; its functions and arg stay in use until nc_close()
 *
 * A failing transport call or an expired deadline, also when opening, does not end the process. The
 * ranks run a liveness check of at most 2 s, and one of them reports the missing ranks. From then
 * on every call of every rank returns -ETIMEDOUT or the transport's code (-EIO for one that leaves
 * a communicator usable). Late messages of a failed job must not reach the next job's transport.
 *
 * Returns the codes of nc_open or of a failed message. An invalid table or deadline returns -EINVAL
 * on this rank only; the other ranks then wait until their deadline. */
NC_API int nc_open_over(const struct nc_transport *transport, const struct nc_options *options,
                        const struct nc_layer *layers, int n_layers, struct nc **out);

/* Leave the job. All ranks call it, after nc_wait() and before MPI_Finalize(), and close several
 * communicators in the same order. It waits for the others, over a transport at most the deadline.
 * If nc_open called MPI_Init, a process's last nc_close calls MPI_Finalize; nc_open then fails, as
 * MPI starts only once. No effect for NULL or after fork(). */
NC_API void nc_close(struct nc *nc);

/* Abort after a failure in which the other ranks cannot be consulted. Any thread may call it, but
 * no signal handler. Over MPI nc_abort() ends all processes of the MPI job at once with a nonzero
 * status, like MPI_Abort, and does not return. Over a caller's transport it returns. Then this
 * rank's pending and later calls return code (a negative errno; -ECANCELED instead of a code that
 * leaves a communicator usable), or that of an earlier failure, and soon all other ranks' calls.
 * Call nc_close() after nc_abort() has returned. Does nothing for NULL or after fork(). */
NC_API void nc_abort(struct nc *nc, int code);

/* Return 0, or the negative errno with which the communicator has failed, in a call or in its own
 * thread; all later calls return it. Any thread may call nc_async_error() at any time. */
NC_API int nc_async_error(const struct nc *nc);

NC_API int nc_rank(const struct nc *nc);    /* this process */
NC_API int nc_n_ranks(const struct nc *nc); /* the number of processes */

/* Return this process's number of blocks and its lowest block. Without blocks: 1 and the rank. */
NC_API int nc_n_blocks(const struct nc *nc);
NC_API int nc_first_block(const struct nc *nc);

/* Replace gradients by their mean (or sum) over ranks. All ranks call it; it blocks until the step
 * is done.
 *
 *   grads    [n_layers] pointers to this rank's gradients, of options.type. With "cuda" they are
 *            device pointers, and the array itself is in host memory. With blocks, the array holds
 *            those of the process's first block, then the second, and so on
 *   report   NULL if not wanted
 *
 * Returns:
 *
 *   0    done
 *   1    a gradient was inf or nan on some rank: nothing has changed, no rank may apply the step
 *   -EINVAL, -EBUSY, -EPERM   a NULL pointer, another step in flight, or see Threads above: nothing
 *                             has happened, and the communicator stays usable
 *   other negative errno      only nc_close may follow
 *
 * The last two rows hold for all functions below, unless they say otherwise. */
NC_API int nc_allreduce(struct nc *nc, const void *grads, struct nc_report *report);

/* Run the step of nc_allreduce() in parts, with the same bits, while gradients are being computed.
 * A thread of the communicator sends buckets of layers as soon as they are handed in. Until
 * nc_wait() the program may not call MPI, except with MPI_THREAD_MULTIPLE.
 *
 *   nc_iallreduce(nc, grads)       Begin a step. Its gradients need not be final yet.
 *   nc_ready(nc, first, n)         Gradients of layers first to first+n-1 are final (with "cuda":
 *                                  on the device) and must not be touched until nc_wait(). Any
 *                                  order works; last layers first is fastest.
 *   nc_ready_on(nc, first, n, s)   With "cuda": these are final once the work now queued in stream
 *                                  s has ended (cudaStream_t; NULL is CUDA's default stream). The
 *                                  step waits for it, with the deadline; the call does not.
 *   nc_test(nc, &done)             Set done to 1 if nc_wait() would not block. Without a thread
 *                                  (MPI or the transport allows none, or with blocks) nc_test
 *                                  runs the whole step once all layers are ready.
 *   nc_wait(nc, &report)           Hand in the remaining layers and block until the means are in
 *                                  place.
 *
 * nc_wait() returns the codes of nc_allreduce(), but after code 1 gradients of type fp32 are
 * undefined. Only one step may be in flight. All ranks begin and wait for steps in the same order,
 * each by the same function: nc_allreduce() does not meet another rank's nc_iallreduce(). A first
 * step in parts blocks until all ranks begin it, and may fail with -ENOMEM or -EAGAIN. */
NC_API int nc_iallreduce(struct nc *nc, const void *grads);
NC_API int nc_ready(struct nc *nc, int first, int n);
NC_API int nc_ready_on(struct nc *nc, int first, int n, void *cuda_stream);
NC_API int nc_test(struct nc *nc, int *done);
NC_API int nc_wait(struct nc *nc, struct nc_report *report);

/* ---- shards (options.shard) ---- */

/* Set *at and *n (NULL if not wanted) to the first element and the number of elements of a rank's
 * range. Returns 0, or -EINVAL without printing, if there are no shards or no such rank. */
NC_API int nc_shard(const struct nc *nc, int rank, size_t *at, size_t *n);

/* Reduce-scatter: as nc_allreduce(), but give each rank only its range, and keep the gradients.
 *
 *   grads    [n_layers] as in nc_allreduce()
 *   shard    out: this rank's range (see "Shards" above), in fp32 for any options.type; with "cuda"
 *            in device memory. Unchanged if the result is 1. NULL if it has no element
 *
 * nc_ireduce_scatter() begins the same step in parts: nc_ready(), nc_test() and nc_wait() continue
 * it as after nc_iallreduce(). shard belongs to the library until nc_wait(), and is undefined after
 * code 1. */
NC_API int nc_reduce_scatter(struct nc *nc, const void *grads, float *shard,
                             struct nc_report *report);
NC_API int nc_ireduce_scatter(struct nc *nc, const void *grads, float *shard);

/* All-gather: copy each rank's shard into the weights of all ranks. All ranks call it between
 * steps; it blocks until this rank's weights are complete. All ranks, also the owner, get the same
 * bits: shards rounded to options.gather.
 *
 *   shard     this rank's weights in fp32, as nc_reduce_scatter()'s shard; not changed
 *   weights   [n_layers] pointers like grads, of options.type; written
 *   report    NULL if not wanted; code_bytes counts this rank's message
 *
 * With gather delta:F the first all-gather sends fp32, as do the first after nc_state_load() and
 * all in forced fp32. In others `weights` must still hold the last result: the owner sends shard
 * - weights, and every rank adds what arrives. The owner's next difference contains this one's
 * error. inf or nan in a shard makes its group of G weights nan, until an all-gather of finite
 * shards. options.type must be fp32, device cpu.
 *
 * nc_iall_gather() only begins: shard and weights belong to the library until nc_wait(), which
 * returns 0 or an error. nc_ready() is not needed. */
NC_API int nc_all_gather(struct nc *nc, const float *shard, const void *weights,
                         struct nc_report *report);
NC_API int nc_iall_gather(struct nc *nc, const float *shard, const void *weights);

/* Copy bytes, such as initial weights, from rank root to all ranks. All ranks call it with the same
 * root and bytes. buf is in CPU memory. Returns 0, -EINVAL or the code of a failure. */
NC_API int nc_broadcast(struct nc *nc, void *buf, size_t bytes, int root);

/* From the next step on send all layers in fp32 if on is not 0, else as configured. All ranks call
 * it between the same two steps. */
NC_API int nc_force_fp32(struct nc *nc, int on);

/* Return or set the number of steps; its lower 32 bits key random bits. All ranks set the same. */
NC_API uint64_t nc_step(const struct nc *nc);
NC_API int nc_set_step(struct nc *nc, uint64_t step);

/* Save and load a rank's state between steps (number of steps, residuals). A job that loads it
 * continues with the same bits (but gather delta sends fp32 first). nc_state_save() writes
 * nc_state_bytes() bytes. All ranks call nc_state_load(), each with the state of the same rank of
 * a job with the same number of ranks, options and layers. It returns 0, or on all ranks -EPROTO
 * if a state is of another job or step than the others', or holds inf or nan; the communicator
 * stays usable. */
NC_API size_t nc_state_bytes(const struct nc *nc);
NC_API int nc_state_save(struct nc *nc, void *to);
NC_API int nc_state_load(struct nc *nc, const void *from, size_t bytes);

/* ---- casts without a communicator ---- */

/* Cast x [n], in CPU memory, to packed codes by options.format, scale, overflow, round, seed and
 * codec, and back (NULL: defaults). Scales aps:G and quantile, relgrad by weights: -EINVAL.
 *
 *   scale   minifloat: 2^k, codes are cast(x * 2^k). Others: what nc_uncast() needs, mostly max |x|
 *   codes   minifloat: code i of w bits is in bits i * w to i * w + w - 1, from byte 0's lowest on
 *
 * nc_cast() returns the bytes of the codes, and only counts them if codes is NULL; nc_uncast()
 * returns 0. Both may return a negative errno. */
NC_API int64_t nc_cast(const struct nc_options *options, const float *x, size_t n, double *scale,
                       void *codes);
NC_API int nc_uncast(const struct nc_options *options, const void *codes, size_t n, double scale,
                     float *x);

/* Describe a return code of this header. Never NULL. */
NC_API const char *nc_strerror(int code);

/* Return this rank's line about the last call's failure, or "", valid until the next call. A
 * call refused beside another thread's keeps it. NULL: of this thread's last nc_open or cast. */
NC_API const char *nc_last_error(const struct nc *nc);

#ifdef __cplusplus
}
#endif
#endif
