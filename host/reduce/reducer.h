/* reducer.h : All-reduces the gradients of a step:
 * fuses layers into buckets, one exponent per layer.
 *
 * A step takes the largest magnitude of every layer and agrees on all exponents in ONE message
 * (max). Then, per bucket, it encodes each layer with its own shift, all-reduces the codes, and
 * decodes them to the mean. A layer with inf or nan on any rank makes every rank skip the step.
 *
 *     reducer_begin -> reducer_ready, from the last layers to the first, as backward makes them
 *                   -> reducer_next, as long as it hands out means -> reducer_finish
 *
 * With overlap a thread of the reducer does this bucket by bucket between
 * begin and finish, while gradients are still being made. Each bucket then
 * has its own message of exponents. Both modes give the same bits. */
#ifndef REDUCER_H
#define REDUCER_H
#include "codec/codec.h"
#include "comm/algo/algo.h"

struct reducer;
struct way_ops;
struct trace;

struct reducer_layer {
    const char *name; /* for messages; copied; NULL: none */
    size_t n;         /* elements, > 0 */
    bool fp32;        /* stays fp32 with any codec (--fp32-last-layer) */
    /* Columns of the layer's weights, for codecs that cut by columns: elements per column and
     * distance between columns. 0: unknown. */
    size_t column, stride;
};

struct reducer_step {
    /* Some rank has inf or nan: the caller must not take the step. Gradients are unchanged, but
     * with overlap they are undefined. */
    bool skipped;
    uint64_t sent_bytes; /* by this rank in this step */
    /* bytes of this rank's encoded gradients: sum of ceil8(n_l) * width / 8 */
    uint64_t code_bytes;
    uint64_t fp32_bytes; /* 4 bytes per element, for the ratio */
    /* Layers whose codes were made with the right shift before
     * the exponents were known. Repeated buckets do not count. */
    int n_guessed;
    bool by_way;            /* all narrow buckets came by the card path of reducer_set_way() */
    int n_redone;           /* buckets of the card path that MPI repeated */
    struct codec_lost lost; /* of this rank's narrow layers, after reducer_count_lost() */
    double codec_s, comm_s;
    double exponents_s; /* of comm_s: the message of exponents and the wait for the slowest rank */
    /* waited_s: time of the caller in reducer_next() and reducer_finish().
     * hidden_s and exposed_s: time of casting, sending and adding while the
     * caller was elsewhere, and while it was in these two calls. Neither includes
     * the wait for exponents, in which ranks wait for the slowest one. */
    double hidden_s, exposed_s, waited_s;
};

/* Opens a reducer on all ranks of c.
 *   codec          settled; copied
 *   group          K of group-*:K, else 0
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
 * its codes. state: the codec's state, stored where gradients are. */
struct reducer_bytes {
    size_t codes, state;
    size_t common; /* shared by low-memory virtual ranks; codes is 0 then */
    uint64_t sent; /* not memory: codes sent per step */
};

/* Computes the memory that reducer_open(), or reducer_open_low() if low, would take on a rank. A
 * single rank may call it. Arguments and errors are theirs. */
int reducer_measure(struct comm *c, const struct codec *codec, const struct algo *algo, int group,
                    size_t bucket_bytes, const struct reducer_layer *layers, int n_layers, bool low,
                    struct reducer_bytes *out);
/* Returns the bytes of the message of a short step (reducer_short.c), for codes
 * of all layers in CPU memory that take code_bytes. Returns 0 if exponents have
 * to go first or if the algorithm does not take so many ranks. */
size_t reducer_short_bytes(const struct codec *codec, const struct algo *algo, int n_ranks,
                           int n_layers, uint64_t code_bytes);

/* True if a step in one message of so many
 * bytes is faster than `direct`. False for 0 bytes. */
bool reducer_short_pays(int n_ranks, size_t bytes);

/* Closes r. All ranks call it between steps; after a
 * failure in mid-step any rank may call it alone. */
void reducer_close(struct reducer *r);

/* Connects r, from reducer_open_low(), to the memory of `lead`, the reducer of rank 0. Call it once
 * the reducers of all ranks are open, for rank 0's own reducer as well. Close lead last. again(ctx)
 * must make the gradients of the current step a second time, in the same memory. */
void reducer_share(struct reducer *r, struct reducer *lead, void (*again)(void *ctx), void *ctx);

/* Sends narrow layers by this card path (way.h) while it is open, and
 * otherwise over MPI by the algorithm. The bits are the same if the
 * algorithm adds exactly. arg: the path's own, must outlive the reducer. */
void reducer_set_way(struct reducer *r, const struct way_ops *ops, void *arg);

/* Hands the codes of narrow layers to `node`, through an algorithm
 * that supports it (algo_group_scatter_card). node must outlive
 * the reducer; NULL: stop. All ranks call it between steps. */
void reducer_set_node_sum(struct reducer *r, struct algo_node_sum *node);

/* Makes steps count the elements that casts lose, which reads the gradients once more. Returns 0,
 * or reports -EINVAL if codes are not casts or not in CPU memory. */
int reducer_count_lost(struct reducer *r);

/* Makes every layer travel in fp32 (on) or as configured
 * (off), for hybrid precision in the first epochs. */
void reducer_force_fp32(struct reducer *r, bool on);

/* Returns the codec of a layer in the current step or, between steps, in the next one. */
const struct codec *reducer_codec(const struct reducer *r, int layer);

/* Makes buckets travel while gradients are made (on), or all of them at the end of the step (off).
 * All ranks call it between steps. With overlap only the reducer's thread may call MPI from begin
 * to finish. If MPI allows no second thread, rank 0 warns and overlap stays off. Returns 0 or
 * reports a negative errno, possibly on some ranks only. */
int reducer_set_overlap(struct reducer *r, bool on);
bool reducer_overlaps(const struct reducer *r);

/* weights: [n_layers] the layers' weights, of the same type and memory
 * as the gradients, used only by codecs that need them (relgrad).
 * NULL: unavailable. They must stay valid until the next call. */
void reducer_set_weights(struct reducer *r, const float *const *weights);

/* Read, check and replace the codec's state on this rank, as the last step taken left it. Only a
 * reducer of the same layers, codec and ranks understands the bytes. Call them between steps. get
 * and put return 0 or a GPU error. check returns 0, or reports -EPROTO and the name of a layer
 * whose bytes hold inf or nan, which no step leaves. */
size_t reducer_state_bytes(const struct reducer *r);
int reducer_state_get(const struct reducer *r, void *to);
int reducer_state_check(const struct reducer *r, const void *from);
int reducer_state_put(struct reducer *r, const void *from);

/* means: [n_layers] pointers to float vectors in the gradients' kind of memory. Means over ranks go
 * there and gradients, which may have another type, stay unchanged. NULL: means replace the
 * gradients. The list must stay valid until the next call. Call it between steps. */
void reducer_set_means(struct reducer *r, float *const *means);

/* Adds the parts of later steps to the timeline; NULL: stop. */
void reducer_set_trace(struct reducer *r, struct trace *trace);

/* Begins a step.
 *   step    keys the random bits
 *   grads   [n_layers] pointers to this rank's gradients, in fp32 or the codec's type
 * Gradients may still be in the making. The mean over ranks replaces
 * them, unless reducer_set_means() says otherwise. The list and the
 * gradients are in use until reducer_finish() returns. */
void reducer_begin(struct reducer *r, uint64_t step, float *const *grads);

/* Declares the gradients of layers first..first+n final. Any order is right; last layers first is
 * fast. All other layers become final with reducer_next() or reducer_finish(). */
void reducer_ready(struct reducer *r, int first, int n);

/* Declares gradients on a GPU final as soon as the work now in the
 * stream has ended. stream: a cudaStream_t of any CUDA runtime in
 * this process. Returns 0, or reports -ENOMEM or a GPU error. */
int reducer_ready_on(struct reducer *r, int first, int n, void *stream);

/* Waits for means that may be used: those of layers *first..*first+*n, while others may still
 * travel. No rank has inf or nan in any layer then. Each layer is handed out once per step, and its
 * gradients are the caller's from then on. Returns false if there are no more, or if the step
 * failed or is skipped (no means in that case). reducer_finish() says which. */
bool reducer_next(struct reducer *r, int *first, int *n);

/* True if reducer_finish() would not wait.
 * Without overlap: if reducer_next() has run the step. */
bool reducer_is_done(struct reducer *r);

/* Waits for the means and ends the step. Returns 0, or
 * a negative errno after which the job cannot go on. */
int reducer_finish(struct reducer *r, struct reducer_step *report);

/* Runs begin and finish, with all gradients final. */
int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report);

/* Runs a step without overlap, even if overlap is on.
 * A skipped step then leaves gradients unchanged. */
int reducer_run_here(struct reducer *r, uint64_t step, float *const *grads,
                     struct reducer_step *report);

#endif
