/* reducer.h : All-reduces the gradients of a step, with one exponent per layer and layers
 * fused into buckets.
 *
 * A step finds the largest magnitude of every layer and agrees on all exponents in ONE message
 * (max). Then, per bucket, it encodes each layer with its own shift, all-reduces the codes, and
 * decodes them to the mean. If a layer has inf or nan on any rank, all ranks skip the step.
 *
 *     reducer_begin -> reducer_ready, from the last layers to the first, as backward makes them
 *                   -> reducer_next, as long as it hands out means -> reducer_finish
 *
 * With overlap a thread of the reducer does this bucket by bucket between begin and finish, while
 * the caller still makes gradients. Each bucket then has its own message of exponents. Both modes
 * give the same bits.
 *
 * A layer or bucket is narrow if it travels in the codec's format, and not in fp32. */
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
    bool fp32;        /* stays fp32 with any codec (--fp32-last-layer) */
    /* Columns of the layer's weights, for codecs that cut a layer by columns: the number of
     * elements per column, and the distance between columns in elements. Both 0 if unknown. */
    size_t column, stride;
};

struct reducer_step {
    /* True if any rank has inf or nan: the caller must not apply this step. The gradients are then
     * unchanged without overlap, and undefined with overlap. */
    bool skipped;
    uint64_t sent_bytes; /* by this rank in this step */
    /* Bytes of this rank's encoded gradients: sum of ceil8(n_l) * width / 8. */
    uint64_t code_bytes;
    uint64_t fp32_bytes; /* 4 per element, to compare with code_bytes */
    /* Number of layers whose first codes had the right shift, although they were made before the
     * exponents were known. Repeated buckets are not counted. */
    int n_guessed;
    bool by_card_path; /* all narrow buckets came over the card path */
    /* Elements that casts lose in this rank's narrow layers. Counted after reducer_count_lost(). */
    int n_redone;
    struct codec_lost lost; /* in this rank's narrow layers, if counted */
    double codec_s, comm_s;
    /* Part of comm_s: the message of exponents, including the wait for the slowest rank. */
    double exponents_s;
    /* waited_s is the caller's time in reducer_next() and reducer_finish(). The reducer's time for
     * casting, sending and adding is exposed_s while the caller is in these two calls, and
     * hidden_s at all other times. Neither includes the message of exponents, in which ranks wait
     * for the slowest one. */
    double hidden_s, exposed_s, waited_s;
};

/* Opens a reducer on all ranks of c.
 *   codec          settled; copied
 *   group          K of group-*:K, otherwise 0
 *   bucket_bytes   a bucket closes when its codes reach this size; > 0
 *   layers         [n_layers] in forward order; copied. Buckets fill from the last layer on.
 * Returns 0, -EINVAL or -ENOMEM. */
int reducer_open(struct comm *c, const struct codec *codec, const struct algo *algo, int group,
                 size_t bucket_bytes, const struct reducer_layer *layers, int n_layers,
                 struct reducer **out);

/* Opens a reducer for virtual ranks that make their gradients twice per step and share codes and
 * sums (reducer_low.c). Sums must be in rank order or exact. Call reducer_share() before the first
 * step. Arguments and errors are those of reducer_open(). */
int reducer_open_low(struct comm *c, const struct codec *codec, const struct algo *algo, int group,
                     size_t bucket_bytes, const struct reducer_layer *layers, int n_layers,
                     struct reducer **out);
/* Memory of a reducer in bytes. codes: codes, sums and scratch, in host memory unless a GPU keeps
 * its codes. state: the codec's state, in the same memory as the gradients. */
struct reducer_bytes {
    size_t codes, state;
    size_t common; /* shared by low-memory virtual ranks (codes is 0) */
    uint64_t sent; /* not memory: bytes of codes sent per step */
};

/* Computes the memory that reducer_open() would allocate on a rank, or reducer_open_low() if low is
 * set. A single rank may call it. The arguments and errors are those of reducer_open(). */
int reducer_measure(struct comm *c, const struct codec *codec, const struct algo *algo, int group,
                    size_t bucket_bytes, const struct reducer_layer *layers, int n_layers, bool low,
                    struct reducer_bytes *out);
/* Returns the bytes of the message of a short step (reducer_short.c), for codes of all layers in
 * CPU memory that have code_bytes in total. Returns 0 if the exponents must be sent first, or if
 * the algorithm does not support n_ranks ranks. */
size_t reducer_short_bytes(const struct codec *codec, const struct algo *algo, int n_ranks,
                           int n_layers, uint64_t code_bytes);

/* Returns true if a step in one message of so many bytes is faster than `direct`. Returns false
 * for 0 bytes. */
bool reducer_short_pays(int n_ranks, size_t bytes);

/* Closes r. All ranks call it between steps. After a step has failed, a single rank may call it. */
void reducer_close(struct reducer *r);

/* Connects r, from reducer_open_low(), to the memory of `owner`, the reducer of rank 0. Call it for
 * the reducer of every rank, rank 0's own included, after all of them are open. Close owner last.
 * again(ctx) must make the gradients of the current step a second time, in the same memory. */
void reducer_share(struct reducer *r, struct reducer *owner, void (*again)(void *ctx), void *ctx);

/* Sends narrow layers over this card path (card_path.h) while it is open, and otherwise over MPI
 * with the algorithm. The bits are the same if the algorithm adds exactly. arg is passed to the
 * functions of ops and must outlive the reducer. */
void reducer_set_card_path(struct reducer *r, const struct card_path_ops *ops, void *arg);

/* Hands the codes of narrow layers to `node`, through an algorithm that supports it
 * (algo_group_scatter_card). node must outlive the reducer. NULL ends this. All ranks call
 * it between steps. */
void reducer_set_node_sum(struct reducer *r, struct algo_node_sum *node);

/* Makes later steps count the elements that casts lose (reducer_step.lost), which reads
 * the gradients once more. Returns 0, or reports -EINVAL if the codes are not casts or not
 * in CPU memory. */
int reducer_count_lost(struct reducer *r);

/* Makes every layer travel in fp32 if `on`, else as configured, for hybrid precision in
 * the first epochs. */
void reducer_force_fp32(struct reducer *r, bool on);

/* Returns the codec of a layer in the current step or, between steps, in the next one. */
const struct codec *reducer_codec(const struct reducer *r, int layer);

/* Turns overlap on or off. With overlap, buckets travel while gradients are being made, otherwise
 * all of them travel at the end of the step. All ranks call it between steps. With overlap only the
 * reducer's thread may call MPI from begin to finish. If MPI allows no second thread on any rank,
 * rank 0 prints a warning and overlap stays off. Returns 0, or reports a negative errno, possibly
 * on some ranks only. */
int reducer_set_overlap(struct reducer *r, bool on);
bool reducer_overlaps(const struct reducer *r);

/* Sets the layers' weights, for codecs that need them (relgrad). weights: [n_layers] pointers, of
 * the same type and memory as the gradients, or NULL if unavailable. They must stay valid until
 * the next call. */
void reducer_set_weights(struct reducer *r, const float *const *weights);

/* Read, check and replace the codec's state on this rank, as the last step that was not skipped
 * left it. Only a reducer of the same layers, codec and ranks understands the bytes. Call these
 * functions between steps. get and put return 0 or a GPU error. check returns 0, or reports -EPROTO
 * and the name of a layer whose bytes hold inf or nan, which no step writes. */
size_t reducer_state_bytes(const struct reducer *r);
int reducer_state_get(const struct reducer *r, void *to);
int reducer_state_check(const struct reducer *r, const void *from);
int reducer_state_put(struct reducer *r, const void *from);

/* Sets where means are written. means: [n_layers] pointers to float vectors in the
 * gradients' kind of memory. The gradients, which may have another type, then stay
 * unchanged. If means is NULL, means replace the gradients. The list must stay valid until
 * the next call. Call it between steps. */
void reducer_set_means(struct reducer *r, float *const *means);

/* Adds the parts of later steps to the timeline. NULL ends this. */
void reducer_set_trace(struct reducer *r, struct trace *trace);

/* Begins a step.
 *   step    keys the random bits
 *   grads   [n_layers] pointers to this rank's gradients, in fp32 or the codec's type
 * The gradients need not be final yet. The mean over ranks replaces them,
 * unless reducer_set_means() was called. The list and the gradients are in use
 * until reducer_finish() returns. */
void reducer_begin(struct reducer *r, uint64_t step, float *const *grads);

/* Declares the gradients of layers first to first+n-1 final. Any order is allowed; last
 * layers first is fastest. All other layers become final when reducer_next() or
 * reducer_finish() is called. */
void reducer_ready(struct reducer *r, int first, int n);

/* Declares the gradients of layers first to first+n-1 final as soon as the work now in the stream
 * has ended. The gradients are on a GPU. stream: a cudaStream_t of any CUDA runtime in this
 * process. Returns 0, or reports -ENOMEM or a GPU error. */
int reducer_ready_on(struct reducer *r, int first, int n, void *stream);

/* Waits for means that may be used and returns true: those of layers *first to *first+*n-1, while
 * others may still travel. At this point no layer has inf or nan on any rank. Each layer is
 * handed out once per step, and its gradients belong to the caller from then on. Returns false
 * without means if there are no more, or if the step failed or is skipped; call reducer_finish()
 * to find out which. */
bool reducer_next(struct reducer *r, int *first, int *n);

/* Returns true if reducer_finish() would not wait. Without overlap this is the case after
 * reducer_next() has run the step. */
bool reducer_is_done(struct reducer *r);

/* Waits for the means and ends the step. Returns 0, or a negative errno after which the job
 * cannot go on. */
int reducer_finish(struct reducer *r, struct reducer_step *report);

/* Runs reducer_begin() and reducer_finish(), with all gradients final. */
int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report);

/* Runs a step without overlap, even if overlap is on. A skipped step then
 * leaves gradients unchanged. */
int reducer_run_here(struct reducer *r, uint64_t step, float *const *grads,
                     struct reducer_step *report);

#endif
