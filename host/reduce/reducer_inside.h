/* reducer_inside.h : declares the reducer's memory and the parts of a step, for its files.
 *
 * Int results are 0 or a negative errno of comm.h, unless noted. */
#ifndef REDUCER_INSIDE_H
#define REDUCER_INSIDE_H
#include "base/trace.h"
#include "reduce/bucket.h"
#include "reduce/card_path.h"
#include <stdatomic.h>

/* The layers as buckets: as configured, or all in fp32. */
struct plan {
    struct bucket *buckets; /* [n_buckets], room for n_layers */
    int n_buckets;
    struct codec_layer *placed; /* [n_layers] in the order of buckets */
    size_t *places;             /* [n_layers] byte offset of a layer's codes in reducer.codes */
    int *bucket_of;             /* [n_layers] index of a layer's bucket */
    int *rank_of;               /* [n_layers] index of a layer in `placed` */
    int8_t *rescaled;           /* [n_layers] in the order of placed, for codec_call.rescaled */
    size_t *exponent_at; /* [n_layers + 1] first exponent of a layer, in the order of placed */
    uint64_t code_bytes; /* of all buckets */
};

enum { NARROW, FP32 }; /* index of codecs (by bucket.fp32) and of plans (by force_fp32) */

/* Buckets whose exponents go in one message: all of a step, or one with overlap or releases. */
struct group {
    int bucket, n_buckets;
    int first, n_layers;    /* a range in `placed` */
    size_t at, n_exponents; /* a range of exponents */
};

struct overlap;
struct packed;
struct shard;
struct gather;

struct reducer {
    struct comm *comm;
    struct codec codecs[2];
    const struct algo *algo;
    int group;
    const struct card_path_ops *card_path; /* or NULL */
    void *card_path_arg;
    struct algo_node_sum *node;   /* or NULL */
    struct shard *shard;          /* NULL: steps are all-reduces */
    struct gather *gather;        /* or NULL */
    bool gathers;                 /* this step is an all-gather, of grads */
    bool releases;                /* of reducer_spec */
    struct reducer_layer *layers; /* [n_layers] */
    int n_layers;
    uint64_t fp32_bytes;
    bool low;                 /* codes, result and scratch belong to rank 0 */
    void (*again)(void *ctx); /* low: makes the gradients again */
    void *again_ctx;
    struct plan plans[2]; /* [NARROW] as configured, [FP32] all in fp32 */
    bool force_fp32;      /* index of the plan in use */
    /* The next four are in the order of `placed`: a group is one range. With codec_groups() a layer
     * has many exponents. */
    int8_t *own_exponents; /* of this rank's gradients */
    int8_t *exponents;     /* of this step, over all ranks */
    float *own_maxima;     /* [n_layers] largest magnitudes on this rank */
    float *maxima;         /* [n_layers] over all ranks, if the codec asks */
    int8_t *max_bytes;     /* [n_layers] scratch: one byte of each maximum */
    /* [n_layers] shift in the last step, or CODEC_NO_GUESS. Unused in forced fp32. */
    int *guesses;
    uint64_t *failed;         /* bits of the vote, see reducer_card_path.c */
    struct vec_span *spans;   /* [n_layers] scratch for one call */
    struct vec_out *outs;     /* [n_layers] scratch for one call */
    struct codec_part *parts; /* [n_layers] part of a layer for each span or out */
    uint32_t tag;             /* codec_tag() of the narrow codec */
    /* the backend casts many spans per launch (a GPU): a whole bucket at once */
    bool batches;
    /* of all buckets as configured, or of one bucket in forced fp32 or if gradients are released */
    uint8_t *codes;
    uint8_t *result; /* of one bucket; buckets use it in turn */
    void *scratch;
    /* for short steps, or NULL */
    struct packed *packed;
    /* Codec state of all narrow layers: [0] as the last step left it, [1] as this one writes it. */
    uint8_t *state[2];
    size_t state_bytes;
    struct algo_buffers buffers; /* codes, result, scratch */
    /* Both [n_layers], see reducer_stream.c; NULL if the gradients are in CPU memory. */
    struct dev_event **events, **after;
    /* The communication thread; NULL: reducer_next() or reducer_finish() runs the step. */
    struct overlap *_Atomic overlap;
    atomic_int failed_in_thread; /* reducer_failed() */
    struct trace *trace;
    reducer_seen *seen; /* of reducer_watch(), or NULL */
    void *seen_ctx;
    bool counts_lost;
    bool begun;
    bool ran; /* this step has run, with rc */
    int rc;
    uint64_t step; /* from reducer_begin() to reducer_finish() */
    float *const *grads;
    float *const *means; /* NULL: means replace the gradients */
    bool once;           /* reducer_set_once() */
    struct reducer_step done;
    double max_s;    /* this step's time in messages of exponents */
    double waited_s; /* the caller's wait in this step */
};

/* ---- reducer_bucket.c ---- */

/* Cut the layers into buckets, as configured or all in fp32, and place their codes. Returns 0 or
 * -ENOMEM. */
int reducer_make_plan(struct reducer *r, bool all_fp32, size_t bucket_bytes);

/* Give back the gradients of layers [first, first + n). */
void reducer_release(struct reducer *r, int first, int n);

/* Groups of the plan in use, in the order in which they travel. */
int reducer_n_groups(const struct reducer *r);
struct group reducer_group(const struct reducer *r, int g);

/* Return the timeline's row of the thread that runs the step. */
enum trace_row reducer_row(const struct reducer *r);

/* Return the plan of the current step or, between steps, of the next one. */
static inline const struct plan *reducer_plan(const struct reducer *r)
{
    return &r->plans[r->force_fp32];
}

static inline const struct codec_layer *reducer_layer(const struct reducer *r, int i)
{
    const struct plan *p = reducer_plan(r);
    return &p->placed[p->rank_of[i]];
}

/* Where layer i's exponents begin. */
static inline size_t reducer_exponent_at(const struct reducer *r, int i)
{
    const struct plan *p = reducer_plan(r);
    return p->exponent_at[p->rank_of[i]];
}

/* The only exponent of a layer without groups. */
static inline int8_t reducer_exponent(const struct reducer *r, int i)
{
    return r->exponents[reducer_exponent_at(r, i)];
}

/* Store elements [from, to) of layer i, including padding, as span k of the next call. Codecs
 * with groups ignore shift, and read or write exponents: r->exponents or r->own_exponents. */
void reducer_span(struct reducer *r, int i, size_t from, size_t to, int shift, int8_t *exponents,
                  int k);

/* Casts a bucket while it travels: encodes layers that were not guessed, decodes means in place. */
struct bucket_flow {
    struct reducer *r;
    const struct bucket *bucket;
    double codec_s;
    bool made; /* a batching backend has encoded the bucket */
};
struct algo_flow bucket_flow(struct bucket_flow *b);

/* Call it after all codes of a bucket: their shifts become the next step's guesses. codes: this
 * rank's. */
void bucket_encoded(const struct bucket_flow *b, const uint8_t *codes);

/* Call it when the whole sum of a bucket is in r->result. */
void bucket_summed(struct bucket_flow *b);

/* Decode a whole bucket. bucket_summed() does so for batching backends; others decode range by
 * range. */
void bucket_decode(struct bucket_flow *b);

/* Bucket i of the plan in use, with the reducer's algorithm. */
int reducer_bucket_mpi(struct reducer *r, int i);

/* ---- reducer_stream.c ---- */

int reducer_open_streams(struct reducer *r);

/* As reducer_ready_on() for layers [first, first + n). n > 0. */
int reducer_note_stream(struct reducer *r, int first, int n, void *stream);

/* Wait for the streams of the group's layers. Returns -ECANCELED as reducer_scan() does. */
int reducer_await_streams(struct reducer *r, const struct group *g);
/* Call it before memory is freed: a stream of the caller may be stuck. */
void reducer_close_streams(struct reducer *r);

/* ---- reducer_state.c ---- */

/* Compute the size of the state of all narrow layers; then allocate it, zeroed. Returns 0 or
 * -ENOMEM. */
void reducer_state_size(struct reducer *r);
int reducer_state_open(struct reducer *r);
void reducer_state_close(struct reducer *r);

/* Make the state written by this step, if it is not skipped, the current one. */
void reducer_state_swap(struct reducer *r);

/* Count what the casts of a group lose, if reducer_count_lost() was called. Exponents must be known
 * and finite; means must not have replaced the gradients yet. */
void reducer_lost(struct reducer *r, const struct group *g);

/* ---- reducer_scan.c ---- */

/* Wait for the group's gradients, find this rank's exponents, and encode layers whose shift can be
 * guessed. Returns -ECANCELED if the reducer is closed in mid-step. */
int reducer_scan(struct reducer *r, const struct group *g);

/* Begin and end a group's message of exponents, in which ranks wait for the slowest one. start: of
 * reducer_max_begin(). */
double reducer_max_begin(struct reducer *r, const struct group *g);
void reducer_max_end(struct reducer *r, const struct group *g, double start);

int reducer_max_mpi(struct reducer *r, const struct group *g);

/* Return true if fp32 maxima follow the group's exponents, which say so: equal on all ranks. */
bool reducer_maxima_follow(const struct reducer *r, const struct group *g);

/* Hand the group's maxima over all ranks to the layers of its codec. */
void reducer_take_maxima(struct reducer *r, const struct group *g);

/* Exponents must be agreed on. */
bool reducer_all_finite(const struct reducer *r, const struct group *g);

/* ---- reducer_card_path.c ---- */

/* Run a whole step, and repeat missed buckets over MPI. *finite: set to false if some rank has inf
 * or nan in a group; this and later groups are then not summed. */
int reducer_step_card_path(struct reducer *r, bool *finite);

/* In 64-bit words. */
size_t reducer_vote_words(int n_buckets);

/* ---- reducer_short.c ---- */

/* reducer_short_bytes() of this reducer, or 0 with low memory or a batching backend. */
size_t reducer_message_bytes(const struct reducer *r);

/* The same on all ranks. */
bool reducer_is_short(const struct reducer *r);

/* Record right and wrong guesses, after the agreement on exponents, before bucket_encoded(). */
void reducer_short_note(struct reducer *r);

/* *finite as in reducer_step_card_path(). */
int reducer_step_short(struct reducer *r, bool *finite);

/* ---- reducer_low.c ---- */

/* Reports -EINVAL if low memory cannot make this algorithm's or codec's sums. */
int reducer_low_check(const struct reducer *r);
/* Return the bytes of the accumulators of all buckets, in scratch. */
size_t reducer_low_bytes(const struct reducer *r);
/* *finite as in reducer_step_card_path(). */
int reducer_step_low(struct reducer *r, bool *finite);

/* ---- reducer_step.c ---- */

/* Run the step in this thread and fill r->done. */
int reducer_step_all(struct reducer *r);

/* ---- overlap.c: the communication thread ---- */

/* Returns 0, or reports -ENOMEM or -EAGAIN. */
int overlap_open(struct reducer *r, struct overlap **out);
/* Works also while the thread's step waits for gradients. */
void overlap_close(struct overlap *o);
void overlap_begin(struct overlap *o);
void overlap_ready(struct overlap *o, int first, int n);
bool overlap_next(struct overlap *o, int *first, int *n);
bool overlap_is_done(struct overlap *o);
/* Returns the result of reducer_step_all(). */
int overlap_finish(struct overlap *o);

/* ---- overlap_sync.c: for the communication thread in mid-step; o may be NULL ---- */

/* The time between these two is neither hidden nor exposed. */
void overlap_rest(struct overlap *o);
void overlap_work(struct overlap *o);

/* Call it when the step will not be skipped and the means of buckets [0, n_buckets) are final. */
void overlap_hand_out(struct overlap *o, int n_buckets);

/* Call it when the gradients of buckets [0, n_buckets) are released. */
void overlap_released(struct overlap *o, int n_buckets);

/* overlap_await() waits for all gradients of the bucket. Returns 0, -ECANCELED or the code of a
 * failure. overlap_wake() lets it look for comm_fail(); any thread may call it. */
int overlap_await(struct overlap *o, int bucket);
/* Returns -ECANCELED if overlap_close() waits for the thread, else 0. */
int overlap_quits(struct overlap *o);
void overlap_wake(struct overlap *o);

#endif
