/* reducer.h : all-reduces the gradients of a step, with one exponent per layer and layers fused
 * into buckets.
 *
 * All exponents of a step go in one message; with overlap each bucket has its own. If a layer has
 * inf or nan on any rank, all ranks skip the step.
 *
 *     reducer_begin -> reducer_ready, from the last layers to the first, as backward makes them
 *                   -> reducer_next, as long as it hands out means -> reducer_finish
 *
 * With overlap a thread of the reducer sends each bucket between begin and finish, while the caller
 * still makes gradients. Both modes give the same bits.
 *
 * A layer or bucket is narrow if it travels in the codec's format, not in fp32. */
#ifndef REDUCER_H
#define REDUCER_H
#include "codec/codec.h"
#include "comm/algo/algo.h"

struct reducer;
struct card_path_ops;
struct trace;

struct reducer_layer {
    const char *name; /* for messages; copied; may be NULL */
    size_t n;         /* elements, > 0 */
    bool fp32;        /* fp32 with any codec (--fp32-last-layer) */
    /* For codecs that cut by columns of the layer's weights: elements per column, and distance
     * between columns in elements. Both 0 if unknown. */
    size_t column, stride;
};

struct reducer_step {
    /* Any rank has inf or nan: the caller must not apply this step. Gradients are then unchanged,
     * with overlap undefined. */
    bool skipped;
    uint64_t sent_bytes; /* by this rank in this step */
    uint64_t code_bytes; /* this rank's codes, padded to whole units; with fp32 layers */
    uint64_t fp32_bytes; /* 4 per element */
    int n_guessed;       /* layers whose guessed shift was right */
    bool by_card_path;   /* nothing was repeated: all narrow buckets came over the card path */
    /* Buckets repeated over MPI. */
    int n_redone;
    /* In this rank's narrow layers, after reducer_count_lost(); 0 in a skipped step. */
    struct codec_lost lost;
    double codec_s, comm_s;
    /* Part of comm_s: the message of exponents, with the wait for the slowest rank. */
    double exponents_s;
    /* waited_s: the caller's time in reducer_next(), reducer_finish() and, with releases,
     * reducer_ready(). Casts, messages and sums in that time count as exposed_s, else as hidden_s;
     * the message of exponents as neither. */
    double hidden_s, exposed_s, waited_s;
};

/* Settings of a reducer. At most one of range and low is set. */
struct reducer_spec {
    struct comm *comm;
    const struct codec *codec; /* settled; copied */
    const struct algo *algo;
    int group;           /* K of group-*:K, otherwise 0 */
    size_t bucket_bytes; /* a bucket closes when its codes reach this size; > 0 */
    /* [n_layers] in forward order; copied. Buckets fill from the last layer on. */
    const struct reducer_layer *layers;
    int n_layers;
    /* Not NULL: steps are reduce-scatters. Each rank gets the means of its own range of the layers'
     * elements, laid end to end in forward order, and gradients stay unchanged.
     *   algo    algo_scatter, or algo_self
     *   range   [P] elements of each rank's range, copied; may be 0; all elements together
     * The bits are those of `direct`, but fp32 after codec_set_unrounded(). Call
     * reducer_set_shard() before the first step. */
    const size_t *range;
    /* With range: give the gradients of a bucket back to the system (memory_release()) when it is
     * summed; with overlap, reducer_ready() waits while two whole buckets are left. One bucket of
     * codes is in memory. Gradients: one array of buf_alloc(), undefined after the step. */
    bool releases;
    /* Virtual ranks make their gradients twice per step and share codes and sums (reducer_low.c).
     * Sums must be in rank order or exact. Call reducer_share() before the first step. */
    bool low;
};

/* Open a reducer on all ranks. Returns 0, -EINVAL or -ENOMEM. */
int reducer_open(const struct reducer_spec *spec, struct reducer **out);

/* Return a rank's range of the layers' elements, laid end to end. */
struct algo_range reducer_range(const struct reducer *r, int rank);

/* Set this rank's range: floats in the gradients' kind of memory, which later steps write and later
 * all-gathers read. NULL if the range is empty. Call it between steps. */
void reducer_set_shard(struct reducer *r, float *shard);

/* Format in which weights travel in an all-gather. */
struct gather_format {
    struct mf_fmt fmt; /* fp32, bf16, fp16, or of differences */
    /* elements that share an exponent, a power of two; 0: weights, not differences, travel */
    size_t group;
};

/* Parse fp32 (NULL), bf16, fp16, delta:F or delta:F:G. Reports -EINVAL. */
int gather_parse(const char *word, struct gather_format *out);

/* Prepare all-gathers of a reducer with ranges. Returns 0, -ENOMEM, or reports -EINVAL: differences
 * need gradients in CPU memory. */
int reducer_open_gather(struct reducer *r, const struct gather_format *format);

/* Begin and, with reducer_finish(), end an all-gather: every rank's range, from
 * reducer_set_shard(), goes to all ranks' weights, which get the same bits.
 *   weights   [n_layers] pointers to floats, in the gradients' kind of memory. With differences
 *             they must hold the result of the last all-gather; the first one sends fp32. */
void reducer_begin_gather(struct reducer *r, float *const *weights);

/* The same in one call and without overlap, even if it is on. */
int reducer_gather_here(struct reducer *r, float *const *weights, struct reducer_step *report);

/* Call it between steps if weights no longer hold the result of the last all-gather. */
void reducer_forget_gathered(struct reducer *r);

/* Bytes of a reducer. codes: codes, sums and scratch, in host memory unless a GPU keeps its codes.
 * state: the codec's, in the gradients' memory. */
struct reducer_bytes {
    size_t codes, state;
    size_t common; /* shared by low-memory ranks (codes is 0) */
    uint64_t sent; /* not memory: codes sent per step */
};

/* Compute the memory that reducer_open() would allocate on a rank. A single rank may call it.
 * Errors as there. */
int reducer_measure(const struct reducer_spec *spec, struct reducer_bytes *out);

/* Return the bytes of a short step's message (reducer_short.c), for codes of all layers in CPU
 * memory, code_bytes in total. 0 if the exponents must be sent first, or if the algorithm does not
 * support n_ranks ranks. */
size_t reducer_short_bytes(const struct codec *codec, const struct algo *algo, int n_ranks,
                           int n_layers, uint64_t code_bytes);

/* True if one message of so many bytes is faster than `direct`. False for 0 bytes. */
bool reducer_short_pays(int n_ranks, size_t bytes);

/* All ranks call it between steps; after a failed step a single rank may. */
void reducer_close(struct reducer *r);

/* Connect r, with low memory, to the memory of `owner`, the reducer of rank 0. Call it for
 * every rank's reducer, also rank 0's, once all are open. Close owner last. again(ctx) must make
 * the gradients of the current step a second time, in the same memory. */
void reducer_share(struct reducer *r, struct reducer *owner, void (*again)(void *ctx), void *ctx);

/* Send narrow layers over this card path while it is open, else over MPI. The bits are the same if
 * the algorithm adds exactly. arg, passed to ops, must outlive the reducer. Returns 0, or reports
 * -EINVAL on every rank if a vote cannot hold that many buckets. */
int reducer_set_card_path(struct reducer *r, const struct card_path_ops *ops, void *arg);

/* Hand narrow layers' codes to `node`, through an algorithm that supports it
 * (algo_group_scatter_card). node must outlive the reducer; NULL ends this. All ranks call it
 * between steps. */
void reducer_set_node_sum(struct reducer *r, struct algo_node_sum *node);

/* Count in later steps the elements that casts lose (reducer_step.lost), which reads the gradients
 * once more. Returns 0, or reports -EINVAL if the codes are not casts or not in CPU memory. */
int reducer_count_lost(struct reducer *r);

/* Call seen() in later steps with each layer's codes of this rank, when they have been sent and
 * added; NULL ends this. Bytes include padding, and depend neither on buckets nor on the algorithm.
 * The thread that reduces calls it, in the order of buckets; twice for buckets repeated over MPI.
 * Codes must be in CPU memory, and memory not low. */
typedef void reducer_seen(void *ctx, int layer, const void *codes, size_t bytes);
void reducer_watch(struct reducer *r, reducer_seen *seen, void *ctx);

/* Let every layer travel in fp32 if `on`, else as configured: hybrid precision in the first
 * epochs. */
void reducer_force_fp32(struct reducer *r, bool on);

/* Return a layer's codec in the current step or, between steps, in the next one. */
const struct codec *reducer_codec(const struct reducer *r, int layer);

/* Turn overlap on or off. All ranks call it between steps. With overlap only the reducer's thread
 * may call MPI from begin to finish. If MPI allows no second thread on any rank, rank 0 prints a
 * warning and overlap stays off. Returns 0, or reports a negative errno, possibly on some ranks
 * only. */
int reducer_set_overlap(struct reducer *r, bool on);
bool reducer_overlaps(const struct reducer *r);

/* Return the most gradient elements in memory at once: all, or those of two buckets if they are
 * released during the backward pass. */
size_t reducer_held(const struct reducer *r);

/* Return 0, or the error with which the communication thread ended a step. Any thread may call. */
int reducer_failed(const struct reducer *r);

/* Let the communication thread, which may wait for gradients, look for comm_fail(). Any thread may
 * call. */
void reducer_wake(struct reducer *r);

/* Set the layers' weights, for codecs that need them (relgrad). weights: [n_layers] pointers, same
 * type and memory as the gradients, or NULL if unavailable. Must stay valid until the next call. */
void reducer_set_weights(struct reducer *r, const float *const *weights);

/* Read, check and replace this rank's codec state between steps. It is that of the last step that
 * was not skipped. The bytes fit only a reducer of the same layers, codec and ranks. get and put
 * return 0 or a GPU error. check returns 0, or reports -EPROTO with the name of a layer whose bytes
 * hold inf or nan, which no step writes. */
size_t reducer_state_bytes(const struct reducer *r);
int reducer_state_get(const struct reducer *r, void *to);
int reducer_state_check(const struct reducer *r, const void *from);
int reducer_state_put(struct reducer *r, const void *from);

/* Set where means are written. means: [n_layers] pointers to float vectors in the gradients' kind
 * of memory; the list must stay valid until the next call. The gradients, which may have another
 * type, then stay unchanged. NULL: means replace the gradients. Call it between steps. */
void reducer_set_means(struct reducer *r, float *const *means);

/* Write means only on the lowest rank of each process: other ranks' gradients stay unchanged. All
 * ranks call it. */
void reducer_set_once(struct reducer *r);

/* Add the parts of later steps to the timeline. NULL ends this. */
void reducer_set_trace(struct reducer *r, struct trace *trace);

/* Begin a step.
 *   step    keys the random bits
 *   grads   [n_layers] pointers to this rank's gradients, in fp32 or the codec's type; need not be
 *           final yet. The mean over ranks replaces them, unless reducer_set_means() was called.
 * The list and the gradients are in use until reducer_finish() returns. */
void reducer_begin(struct reducer *r, uint64_t step, float *const *grads);

/* Declare the gradients of layers [first, first + n) final, in any order; last layers first is
 * fastest. All others become final when reducer_next() or reducer_finish() is called. */
void reducer_ready(struct reducer *r, int first, int n);

/* Declare the same gradients final once the work now in the stream has ended, for gradients on a
 * GPU. stream: a cudaStream_t of any CUDA runtime in this process. Returns 0, or reports -ENOMEM or
 * a GPU error. */
int reducer_ready_on(struct reducer *r, int first, int n, void *stream);

/* Wait for the means of some layers, [*first, *first + *n), and return true; others may still
 * travel. No layer then has inf or nan on any rank. Each layer is handed out once per step; then
 * its gradients are the caller's. Returns false after the last, or if the step failed or is skipped
 * (see reducer_finish()). */
bool reducer_next(struct reducer *r, int *first, int *n);

/* True if reducer_finish() would not wait: without overlap, after reducer_next() has run the
 * step. */
bool reducer_is_done(struct reducer *r);

/* Wait for the means and end the step. Returns 0, or a negative errno after which the job cannot go
 * on. */
int reducer_finish(struct reducer *r, struct reducer_step *report);

/* reducer_begin() and reducer_finish(), with all gradients final. */
int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report);

/* reducer_run() without overlap, even if it is on: a skipped step leaves gradients unchanged. */
int reducer_run_here(struct reducer *r, uint64_t step, float *const *grads,
                     struct reducer_step *report);

#endif
