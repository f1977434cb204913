/* reducer.h : the lazy all-reduce of all gradients of a step: layers fused into buckets, one
 * exponent a layer.
 *
 * A step: largest magnitude of every layer -> all exponents in ONE message (max) -> per bucket:
 * encode each layer with its own shift, one all-reduce, decode to the mean. A layer that is inf or
 * nan on any rank makes every rank skip the step.
 *
 *     reducer_begin -> reducer_ready, from the last layers to the first, as backward makes them
 *                   -> reducer_next, as long as it hands out means -> reducer_finish
 *
 * With overlap a thread of the reducer does that bucket by bucket between begin and finish, as
 * gradients get ready; each bucket has its own message of exponents. The bits are the same. */
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
    bool fp32;        /* stays fp32 whatever the codec (--fp32-last-layer) */
    /* Its weights' columns, for codecs that cut by them: so many elements, so far apart; 0: not
     * known. */
    size_t column, stride;
};

struct reducer_step {
    /* inf or nan somewhere: the step must not be taken. Gradients are as they were; with overlap
     * they are undefined. */
    bool skipped;
    uint64_t sent_bytes; /* this rank, this step */
    /* bytes of all encoded gradients of this rank (formula: sum of ceil8(n_l) * width / 8) */
    uint64_t code_bytes;
    uint64_t fp32_bytes; /* 4 bytes an element, for the ratio */
    /* Layers whose codes were made, rightly, while their largest magnitude was sought; not of
     * buckets redone. */
    int n_guessed;
    bool by_way;            /* all narrow buckets came by the way of reducer_set_way() */
    int n_redone;           /* buckets that the way was to bring and MPI did */
    struct codec_lost lost; /* of this rank's narrow layers, if it is asked */
    double codec_s, comm_s; /* seconds */
    double exponents_s;     /* of comm_s: their message, and the wait for the slowest rank's */
    /* Seconds of casting, sending and adding, without the wait for exponents, in which ranks wait
     * for the slowest: while the caller did something else, and while it was in reducer_next() or
     * reducer_finish(): waited_s. */
    double hidden_s, exposed_s, waited_s;
};

/* codec is settled and copied; layers are in forward order (buckets fill from the last one, as
 * backward does).
 *   bucket_bytes   a bucket closes when its codes reach this; > 0    Returns 0, -EINVAL, -ENOMEM. */
int reducer_open(struct comm *c, const struct codec *codec, const struct algo *algo, int group,
                 size_t bucket_bytes, const struct reducer_layer *layers, int n_layers,
                 struct reducer **out);

/* The same for virtual ranks that make their gradients twice a step, and have codes and sums in common
 * (reducer_low.c): for sums in rank order, or exact. reducer_share() comes before the first step. */
int reducer_open_low(struct comm *c, const struct codec *codec, const struct algo *algo, int group,
                     size_t bucket_bytes, const struct reducer_layer *layers, int n_layers,
                     struct reducer **out);
/* Bytes of a reducer: codes, their sum and scratch, in host memory but where a GPU's codes stay on it;
 * and what the codec keeps, where gradients are. */
struct reducer_bytes {
    size_t codes, state;
    size_t common; /* what virtual ranks with low memory have once; then codes is 0 */
    uint64_t sent; /* no memory: codes of a step */
};

/* The same arguments: what reducer_open(), or _low, would take on a rank, which may call it alone. Returns as
 * that does. */
int reducer_measure(struct comm *c, const struct codec *codec, const struct algo *algo, int group,
                    size_t bucket_bytes, const struct reducer_layer *layers, int n_layers, bool low,
                    struct reducer_bytes *out);
/* Bytes of the one message of a step that is short (reducer_short.c), with codes of all layers as long as this
 * and in the CPU's memory; 0: its exponents go first, or the algorithm does not take so many ranks. */
size_t reducer_short_bytes(const struct codec *codec, const struct algo *algo, int n_ranks,
                           int n_layers, uint64_t code_bytes);

/* Is a step with such a message, not 0, faster so than by `direct`? */
bool reducer_short_pays(int n_ranks, size_t bytes);

/* all ranks, between steps; after a failure in mid-step any */
void reducer_close(struct reducer *r);

/* Of reducer_open_low(), when the reducers of all ranks are open: lead is rank 0's, its own too, closed last. again:
 * makes the gradients that the step began with once more, where they were. */
void reducer_share(struct reducer *r, struct reducer *lead, void (*again)(void *ctx), void *ctx);

/* From now on narrow layers go by this way (way.h) while it is open, over MPI by the algorithm
 * else; the bits are the same if the algorithm adds exactly. arg: its own, outlives the reducer. */
void reducer_set_way(struct reducer *r, const struct way_ops *ops, void *arg);

/* From now on narrow layers' codes are handed to `node`, which outlives the reducer, by an algorithm
 * that knows what to do with it (algo_group_scatter_card); NULL: no more. All ranks, between steps. */
void reducer_set_node_sum(struct reducer *r, struct algo_node_sum *node);

/* From now on a step counts what its casts lose: a pass more over gradients. Returns 0, or -EINVAL with a
 * line: codes are no casts, or not of the CPU's memory. */
int reducer_count_lost(struct reducer *r);

/* From now on every layer travels in fp32 (on), or as configured (off). For the first epochs
 * (hybrid precision). */
void reducer_force_fp32(struct reducer *r, bool on);

/* What the layer travels in, in the step under way or else the next. */
const struct codec *reducer_codec(const struct reducer *r, int layer);

/* From now on buckets travel while gradients are made (on), or all of them at its end. All ranks,
 * between steps. The reducer's thread then is the only one that may call MPI from begin to finish.
 * Where MPI allows no second thread, rank 0 warns and it stays off. Returns 0 or a negative errno
 * with a line, maybe not on all ranks. */
int reducer_set_overlap(struct reducer *r, bool on);
bool reducer_overlaps(const struct reducer *r);

/* weights: [n_layers] pointers to what gradients of later steps are gradients of, of their type, where those are,
 * for codecs that look at them; NULL: not known. They stay where they are until the next call. */
void reducer_set_weights(struct reducer *r, const float *const *weights);

/* What the codec keeps on this rank from step to step, as the last step that was taken left it:
 * bytes that only a reducer of the same layers, codec and ranks understands. Between steps. get and
 * put return 0 or a GPU's failure. check returns 0, or -EPROTO with a line that names a layer whose
 * bytes hold inf or nan, which no step leaves. */
size_t reducer_state_bytes(const struct reducer *r);
int reducer_state_get(const struct reducer *r, void *to);
int reducer_state_check(const struct reducer *r, const void *from);
int reducer_state_put(struct reducer *r, const void *from);

/* means: [n_layers] pointers to floats, where gradients are: from now on means over ranks go there, and
 * gradients, whose type may be another, stay as they were; NULL: they take the gradients' place. The list stays
 * where it is until the next call. Between steps. */
void reducer_set_means(struct reducer *r, float *const *means);

/* From now on a step's parts are added to the timeline; NULL: no more. */
void reducer_set_trace(struct reducer *r, struct trace *trace);

/* A step begins. grads: [n_layers] pointers to this rank's gradients, floats, or what else the codec's
 * type says, which follow, in place replaced by the mean over ranks; the list and they are in use until reducer_finish(). step keys
 * the random bits. */
void reducer_begin(struct reducer *r, uint64_t step, float *const *grads);

/* The gradients of layers first..first+n are final. Any order is right, the last layers first is
 * fast; layers not named until reducer_next() or reducer_finish() are final then. */
void reducer_ready(struct reducer *r, int first, int n);

/* The same of gradients on a GPU, final when the work that is in the stream now has ended. stream: a
 * cudaStream_t of any CUDA runtime in this process. Returns 0, -ENOMEM or a GPU's failure, with a line. */
int reducer_ready_on(struct reducer *r, int first, int n, void *stream);

/* Waits for means that may be used: those of layers *first..*first+*n, while others may still
 * travel. By then no rank has inf or nan in any layer. Each layer is handed out once a step, and
 * its gradients are the caller's then. False: there are no more, the step is skipped (then there
 * were none) or has failed; reducer_finish() says which. */
bool reducer_next(struct reducer *r, int *first, int *n);

/* Would reducer_finish() not wait? Without overlap: has reducer_next() run the step? */
bool reducer_is_done(struct reducer *r);

/* Waits for the means. Returns 0 or a negative errno (then the job cannot go on). */
int reducer_finish(struct reducer *r, struct reducer_step *report);

/* The three of them, with all gradients there. */
int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report);

/* The same as without overlap, whether it is on or not: a step that is skipped leaves gradients as
 * they were. */
int reducer_run_here(struct reducer *r, uint64_t step, float *const *grads,
                     struct reducer_step *report);

#endif
