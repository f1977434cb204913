/* narrowcast.h : the mean of gradients over all ranks of an MPI job, sent as narrow floats.
 *
 * A call takes the fp32 gradients of one step, layer by layer, and replaces them by their mean over
 * ranks. On the way they are cast to a format of 2 to 32 bits, with a power-of-two scale for each
 * layer, packed, added, and cast back. With exact sums (the default where the format allows) the
 * result has the same bits for every algorithm, order and run.
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
 *             // ... this rank's gradients into weight and bias ...
 *             int rc = nc_allreduce(nc, grads, &report);
 *             if (rc < 0)
 *                 return 1;
 *             if (rc == 1)
 *                 continue;  // inf or nan on some rank: no rank takes this step
 *             // ... an update with the mean gradients ...
 *         }
 *         if (nc_rank(nc) == 0)
 *             printf("%.0f bytes a step\n", (double)report.sent_bytes);
 *         nc_close(nc);
 *         return 0;
 *     }
 *
 *     cc train.c -Ihost/include -Lbuild -Wl,-rpath=$PWD/build -lnarrowcast; host/ranks.sh 4 ./a.out
 *
 * Errors are negative errno values (nc_strerror), after one line by one rank, on stderr or to
 * options.log; nc_last_error() has it on that rank.
 *
 * NULL: a call with a communicator that is NULL returns -EINVAL (nc_step and nc_state_bytes 0), except
 * nc_close, nc_abort and nc_last_error, for which NULL is legal. Other pointers may be NULL only where
 * the call says so; a call that gets NULL elsewhere returns -EINVAL, and the communicator goes on.
 * Gradients have the alignment of their type.
 *
 * Floating point: bits do not depend on the caller's rounding mode, flushing of subnormals or traps. A
 * call works in IEEE's default mode, in which it also calls options.log and the calls of a transport, and
 * restores the caller's.
 *
 * Threads: one at a time makes calls of a communicator. Several communicators may be at work at once,
 * each in a thread of its own, where MPI allows MPI_THREAD_MULTIPLE: by the caller's MPI_Init_thread,
 * or by options.threads where nc_open begins MPI. With MPI_THREAD_SERIALIZED one communicator at a
 * time is at work in a process, in any thread, and no other thread calls MPI meanwhile: -EBUSY tells
 * who gets in another's way. With less only MPI's main thread may call: -EPERM, and gradients that
 * nc_ready() hands in travel in nc_wait(). After fork() the child may not call: -EPERM.
 *
 * A rank that does not come within the deadline ends the whole job, after a line that names it (over a
 * transport of the caller's, calls return -ETIMEDOUT). The deadline counts only while some rank waits inside a call, and not while that rank is itself
 * stopped: what a rank does between calls (validation, a checkpoint) may take as long as it likes
 * if no other waits for it meanwhile, else as long as the deadline, 10 minutes unless set. The opening
 * of a communicator by MPI waits as MPI does, without one. */
#ifndef NARROWCAST_H
#define NARROWCAST_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NC_VERSION        "0.1.0"
#define NC_VERSION_NUMBER 100 /* 10000 major + 100 minor + patch, for #if */

/* What the library exports; all else in it is hidden. */
#ifndef NC_API
#define NC_API __attribute__((visibility("default")))
#endif

/* Of the library: equals NC_VERSION, NC_VERSION_NUMBER of the header it was built with. */
NC_API const char *nc_version(void);
NC_API int nc_version_number(void);

/* Words as in `narrowcast train --help`; NULL takes the default. All ranks must mean the same.
 * Begin with nc_options_default(): later versions may have more fields, and take programs that were
 * built with fewer. */
struct nc_options {
    size_t size;            /* of this struct, as the caller was built with it */
    const char *format;     /* fp32 fp16 bf16 e5m2 e4m3 e4m3fn e3m0 or eXmY */
    const char *scale;      /* none, const:K, aps, aps-tight, quantile */
    const char *sum;        /* auto exact fp32 nearest kahan trunc */
    const char *out_format; /* auto or a format: what the sum travels back in */
    const char *overflow;   /* saturate inf */
    const char *round;      /* nearest stochastic zero */
    /* auto, offload, or one that `narrowcast train --help` lists: direct, ring, group-master:4.
     * offload: nc_open fails unless every card answers; auto: sums go over MPI until one does */
    const char *algo;
    /* cards that add packets: udp://host:port,... or eth://host:port,..., sim or xrt; off; auto:
     * NARROWCAST_OFFLOAD names them. A card that cannot exist makes nc_open fail */
    const char *offload;
    size_t bucket_bytes; /* layers are fused into messages of this size; > 0 */
    double deadline_s;   /* a rank that another waits for so long is gone; > 0 */
    uint64_t seed;       /* of stochastic rounding */
    const char *device;  /* where gradients are: cpu, or cuda (below) */
    /* minifloat, which the first six words describe; qsgd:B, onebit[:D|column], ternary,
     * relgrad[:...] */
    const char *codec;
    const char *xclbin; /* of xrt: the card's container; NULL: NARROWCAST_XCLBIN names it */
    /* cpu, or, with algo group-scatter:K of K ranks, xrt: a card in rank 0's machine adds */
    const char *node_sum;
    const char *quantise;   /* large: the smallest layers travel in fp32; all: none; auto */
    const char *acc_format; /* auto, or of partial sums (sum nearest or kahan): e5m2 in e6m9 */
    int rescale; /* not 0: scale aps, sum nearest, algo group-*:K: groups' sums are scaled anew */
    /* mean, or sum (of kinds of codec that know sums). A mean that fits fp32 is finite, though the sum
     * does not fit. A result that the format rounds to 2^128 or more is inf. Gradients above
     * 2^126 / ranks (scale aps) or 2^126 (aps-tight) leave the scale's range: `overflow` is for them. */
    const char *op;
    /* fp32, or, with device cpu: fp64, fp16, bf16. Such gradients become fp32 on the way in (fp64:
     * rounded to nearest, what is too large is inf) and are rounded to nearest on the way out. A mean
     * beyond the type's largest number is that number if `overflow` is saturate. */
    const char *type;
    int threads; /* not 0: where nc_open begins MPI, it asks for MPI_THREAD_MULTIPLE */
    /* Takes lines in place of stderr, without a newline; level: NC_LOG_x. It is called by the thread
     * that calls, or by the communicator's own, and must not call the library. */
    void (*log)(void *arg, int level, const char *line);
    void *log_arg;
    /* not 0: nc_report has what this rank's casts lose, for a pass more over its gradients. With device
     * cpu, of codec minifloat */
    int count_lost;
};
enum { NC_LOG_ERROR = 1, NC_LOG_WARNING = 2 };

/* Gradients on GPUs (device "cuda"): every rank takes one, number (rank on its machine) modulo the
 * number it can see, or the only one it can see (CUDA_VISIBLE_DEVICES); ranks may share.
 * nc_allreduce() then takes device pointers into that GPU's memory. What writes them must have
 * ended on the device before the call (cudaStreamSynchronize), or nc_ready_on() says in which stream it
 * ends, and the means stand there when it returns. The library libnarrowcast_cuda.so is loaded at run time: NARROWCAST_CUDA=PATH, or beside
 * the program, or by the loader's path. Bits are those of the CPU. NARROWCAST_GPU_TRANSPORT=nccl,
 * ipc, mpi or pinned says by what codes travel; auto finds the best. */

/* The defaults: every word NULL (offload: off, device: cpu, op: mean, type: fp32), buckets of 1 MiB, a
 * deadline of 600 s, seed 1. options: not NULL. size: of *options; fields beyond what this library knows become 0. */
NC_API void nc_options_init(struct nc_options *options, size_t size);
static inline struct nc_options nc_options_default(void)
{
    struct nc_options options;
    nc_options_init(&options, sizeof options);
    return options;
}

/* Name the fields ({.name = "fc.bias", .n = 10}), or begin with zeroes: there may be more one day. */
struct nc_layer {
    const char *name; /* for messages, or NULL; need not outlive nc_open */
    size_t n;         /* elements, > 0 */
    int fp32;         /* not 0: travels in fp32 whatever the format */
    /* For codec onebit:column: a column has so many elements, so far apart, and columns lie side by
     * side in runs of column * stride, of which n is a multiple. A linear layer [out][in]: out and
     * in; a convolution [out][ky][kx][in]: kx and in; [out][in][ky][kx]: kx and 1. Both 0: the
     * layer is one column, as a bias is. */
    size_t column, stride;
    /* For codec relgrad, which looks at layers that are not fp32: [n] what gradients are gradients
     * of, of the same bits on every rank, where gradients are (with "cuda" a device pointer). They
     * are read by each nc_allreduce(), and stay in place until nc_close. NULL: not known */
    const float *weights;
    void *reserved[4]; /* NULL */
};

struct nc_report {
    uint64_t sent_bytes; /* this rank's, this step */
    uint64_t code_bytes; /* of all packed gradients of this rank */
    uint64_t fp32_bytes; /* 4 an element, to compare with */
    double codec_s;      /* seconds of casting */
    double comm_s;       /* seconds of sending, adding and waiting */
    /* 1: all sums came through cards; 0: some or all by MPI, with the same bits */
    int offload;
    /* by which algorithm this step's sums came, and between GPUs by what: "direct", "group-scatter:4",
     * "direct by NCCL", or "cards"; valid until nc_close() */
    const char *path;
    /* With options.count_lost, of this rank's elements that did not travel in fp32: those that are not 0 and
     * were sent as 0, and finite ones beyond the format's largest number. */
    uint64_t underflow, saturated;
    uint64_t reserved[5]; /* 0 */
};

struct nc; /* a communicator: opened by nc_open, closed by nc_close */

/* Joins the job (MPI_Init unless the caller has called it) and prepares for steps of these layers,
 * in forward order.
 *   options   NULL for the defaults      layers   [n_layers], the same on every rank
 *   *out   closed by nc_close; NULL after a failure
 * Every rank returns the same: 0, -EINVAL (words, combinations), -EPROTO (ranks, or the versions of their
 * libraries, differ), -ENOMEM, -EIO, -ENXIO (a card that cannot exist), -ENOTCONN (a card that does not
 * answer, with algo "offload"); with "cuda" also -ENODEV, -ENOENT, -ELIBACC, -ELIBBAD (no GPU, or no library that serves
 * it); alone -EPERM and -EBUSY (threads, above). After a failure nothing is left, and it may be called
 * again; MPI goes on, and ends when the process exits if nc_open began it. */
NC_API int nc_open(const struct nc_options *options, const struct nc_layer *layers, int n_layers,
                   struct nc **out);

/* The same for the ranks of a communicator of the caller's, which is duplicated: ranks are numbered as
 * there. All of them call it, and nobody else.
 *   mpi_comm   points to an MPI_Comm, of the MPI that the library was built with */
NC_API int nc_open_on(const void *mpi_comm, const struct nc_options *options,
                      const struct nc_layer *layers, int n_layers, struct nc **out);

/* The same for callers who have its number in Fortran (mpi4py: comm.py2f()). */
NC_API int nc_open_fortran(int mpi_fint, const struct nc_options *options,
                           const struct nc_layer *layers, int n_layers, struct nc **out);

/* ---- without MPI ---- */

/* How ranks reach each other by calls of the caller's own: sockets, UCX, a framework's process group. They
 * return 0 or a negative errno. One thread at a time makes them, and they must not call the library.
 *
 *   isend, irecv   begin a message of 1 to 2^30 bytes, which both sides know, and do not wait. Those from
 *                  one rank to another with the same tag (0 to NC_TAGS - 1) arrive in the order in which
 *                  they were begun; a message may wait for its other side, but for none with another tag.
 *                  buf is in use until test() has said done, or cancel(). *request: whatever test() and
 *                  cancel() are to get; not read after a failure
 *   test           *done = 1: the message has ended, and with it the request. Does not wait. NULL: a
 *                  request points to an int, 0 until any thread sets it to 1, done, or a negative errno
 *   progress       makes messages move, before each round of test(); NULL: test() does
 *   cancel         ends a message that test() has not called done, one of which it said an error, too: buf
 *                  and request are not in use any more. Of communicators that fail or are closed
 *
 * At any time one receive from every rank is under way, of a few bytes, until nc_close(). */
enum { NC_TAGS = 8 };
struct nc_transport {
    size_t size; /* sizeof(struct nc_transport), as the caller was built with it */
    void *arg;   /* the first argument of all */
    int rank, n_ranks;
    int (*isend)(void *arg, int to, int tag, const void *buf, size_t bytes, void **request);
    int (*irecv)(void *arg, int from, int tag, void *buf, size_t bytes, void **request);
    int (*test)(void *arg, void *request, int *done);
    int (*progress)(void *arg);
    void (*cancel)(void *arg, void *request);
    int threads;       /* not 0: they may be called by another thread than the one that opened */
    void *reserved[8]; /* NULL */
};

/* nc_open() over these calls, by all of their ranks; MPI is not begun, and several may be open, each with
 * a transport of its own. All that `narrowcast train --help` lists does but the algorithm native.
 *   transport   copied; its calls and arg stay in use until nc_close()
 * A call that fails, and a rank that does not come within the deadline (which openings have, too), do not
 * end the process: the ranks call the roll, for 2 s at most, one says who is missing, and every call of
 * every rank returns a negative errno: -ETIMEDOUT, or that of the transport. Messages of such a job may
 * still be on their way: the next one needs a transport that they cannot reach. Returns as nc_open(), or
 * what a failure of messages says; -EINVAL for a table or a deadline that cannot be, on this rank alone,
 * for which the others wait until their deadline. */
NC_API int nc_open_over(const struct nc_transport *transport, const struct nc_options *options,
                        const struct nc_layer *layers, int n_layers, struct nc **out);

/* Leaves the job, with all ranks, after nc_wait(); NULL is legal. The last one calls MPI_Finalize if
 * nc_open called MPI_Init. After fork() it does nothing. */
NC_API void nc_close(struct nc *nc);

/* For failures after which the other ranks cannot be asked. Any thread. code: a negative errno. By MPI
 * it ends the job's processes at once, with a status that is not 0, as MPI_Abort does, and does not
 * return. Over a transport of the caller's it does: a call of this rank that is under way and all later
 * ones return code, and soon those of all ranks do. nc_close() remains to be called, by whoever knows that
 * nc_abort() has returned. After fork() it does nothing. NULL is legal. */
NC_API void nc_abort(struct nc *nc, int code);

/* 0, or what the communicator has failed with, in a call or in its own thread: a negative errno, which all
 * calls return from then on. Any thread, and while others call. */
NC_API int nc_async_error(const struct nc *nc);

NC_API int nc_rank(const struct nc *nc);
NC_API int nc_n_ranks(const struct nc *nc);

/* grads: a list [n_layers] of pointers to this rank's gradients of each layer (with "cuda": device
 * pointers, in a list that is not), of options.type; replaced by the mean, or the sum, over ranks.
 * report: NULL if not wanted. Returns 0; 1 when a gradient was inf or nan on some rank: then nothing
 * changed, and the step must not be taken; -EBUSY (threads, above; a step is under way); or another
 * negative errno, after which only nc_close may follow, as with every call below. */
NC_API int nc_allreduce(struct nc *nc, const void *grads, struct nc_report *report);

/* The same in parts, while gradients are made: layers travel in buckets as soon as they are handed in,
 * in a thread of the communicator's, which alone calls MPI until nc_wait() (other threads with
 * MPI_THREAD_MULTIPLE alone). The bits of the result are the same.
 *
 *     nc_iallreduce(nc, grads)        a step begins; its gradients may still be made
 *     nc_ready(nc, first, n)          those of layers first..first+n are final (with "cuda": on the
 *                                     device), and not to be touched until nc_wait(). Any order will
 *                                     do, the last layers first is fast
 *     nc_ready_on(nc, first, n, s)    with "cuda": they are final when the work has ended that is now in the
 *                                     stream s (cudaStream_t; NULL is CUDA's default stream); nobody on
 *                                     the host waits for that
 *     nc_test(nc, &done)              *done: nc_wait() would not wait. Where MPI allows no thread of ours
 *                                     it does all of the step once all layers are ready
 *     nc_wait(nc, &report)            the rest is final, too; the means are there
 *
 * nc_wait() returns as nc_allreduce(), but after a 1 fp32 gradients are undefined. One step at a time;
 * all ranks begin and wait alike. The first nc_iallreduce() starts the thread: -ENOMEM, -EAGAIN. */
NC_API int nc_iallreduce(struct nc *nc, const void *grads);
NC_API int nc_ready(struct nc *nc, int first, int n);
NC_API int nc_ready_on(struct nc *nc, int first, int n, void *cuda_stream);
NC_API int nc_test(struct nc *nc, int *done);
NC_API int nc_wait(struct nc *nc, struct nc_report *report);

/* Bytes of rank root's to all ranks, which all call it with as many: start weights. In the CPU's
 * memory. Returns 0, -EINVAL (no such rank), -EIO. */
NC_API int nc_broadcast(struct nc *nc, void *buf, size_t bytes, int root);

/* From now on all layers travel in fp32 (on != 0), or as configured. All ranks call it between the
 * same steps. Returns 0 or -EBUSY. */
NC_API int nc_force_fp32(struct nc *nc, int on);

/* Steps so far, which key the random bits of stochastic rounding; and from which number to go on, on
 * all ranks alike. */
NC_API uint64_t nc_step(const struct nc *nc);
NC_API int nc_set_step(struct nc *nc, uint64_t step);

/* What a rank keeps from step to step (the number of steps, residuals), for a checkpoint: a job that
 * loads it goes on to the same bits. Between steps.
 *   nc_state_bytes   how much nc_state_save() writes to `to`
 *   nc_state_load    all ranks, each what the same rank of a job of as many ranks, of the same words and
 *                    layers has saved. Returns 0, or on all ranks -EPROTO: it is of another job, of
 *                    another step than others', or holds inf or nan */
NC_API size_t nc_state_bytes(const struct nc *nc);
NC_API int nc_state_save(struct nc *nc, void *to);
NC_API int nc_state_load(struct nc *nc, const void *from, size_t bytes);

/* What a code of this header means, in a few words; it is never NULL. */
NC_API const char *nc_strerror(int code);

/* Why the last call failed, in a line, as far as this rank knows; "" if it did not. NULL: the last
 * nc_open of this thread. Valid until the next call. */
NC_API const char *nc_last_error(const struct nc *nc);

#ifdef __cplusplus
}
#endif
#endif
