/* reducer_inside.h : Shared by the reducer's files: its memory and the parts of a step.
 *
 * Functions that return int return 0 or a negative errno of comm.h, unless stated otherwise. */
#ifndef REDUCER_INSIDE_H
#define REDUCER_INSIDE_H
#include "base/trace.h"
#include "reduce/bucket.h"
#include "reduce/way.h"

/* A partition of the layers into buckets: as configured, or all in fp32. */
struct plan {
    struct bucket *buckets; /* [n_buckets], room for n_layers */
    int n_buckets;
    struct codec_layer *placed; /* [n_layers] in the order of buckets */
    size_t *places;             /* [n_layers] offset of a layer's codes in `codes`, bytes */
    int *bucket_of;             /* [n_layers] */
    int *rank_of;               /* [n_layers] index of a layer in `placed` */
    int8_t *rescaled;           /* [n_layers] like placed: codec_call.rescaled */
    uint64_t code_bytes;        /* of all buckets */
};

enum { NARROW, FP32 }; /* format of a bucket, selected by bucket.fp32 */

/* Buckets whose exponents go in one message: all of a step,
 * or one bucket while gradients are still being made. */
struct group {
    int bucket, n_buckets;
    int first, n_layers; /* their range in `placed` */
};

struct overlap;
struct parcels; /* reducer_parcel.h */

struct reducer {
    struct comm *comm;
    struct codec codecs[2];
    const struct algo *algo;
    int group;
    const struct way_ops *way; /* card path; NULL: only MPI */
    void *way_arg;
    struct algo_node_sum *node;   /* NULL: none */
    struct reducer_layer *layers; /* [n_layers] */
    int n_layers;
    uint64_t fp32_bytes;
    bool low;                 /* codes, result and scratch belong to rank 0 */
    void (*again)(void *ctx); /* low: makes the gradients a second time */
    void *again_ctx;
    struct plan plans[2]; /* as configured; all in fp32 */
    bool force_fp32;      /* index of the plan in use */
    /* The next four are in the order of `placed`, so that a group is one range. */
    int8_t *own_exponents; /* [n_layers] of this rank's gradients */
    int8_t *exponents;     /* [n_layers] of this step, over all ranks */
    float *own_maxima;     /* [n_layers] largest magnitudes on this rank */
    float *maxima;         /* [n_layers] over all ranks, for codecs that ask for them */
    /* [n_layers] shift of the last step's codes, or CODEC_NO_GUESS; unused in forced fp32 */
    int *guesses;
    uint64_t *failed;         /* bits of the vote, see reducer_way.c */
    struct vec_span *spans;   /* [n_layers] for one call */
    struct vec_out *outs;     /* [n_layers] for one call */
    struct codec_part *parts; /* [n_layers] layers of the spans or outs */
    uint32_t tag;             /* codec_tag() of the narrow codec */
    /* The backend takes many spans per launch: a whole bucket is cast at once. */
    bool batches;
    uint8_t *codes;  /* of all buckets as configured, or of the largest in forced fp32 */
    uint8_t *result; /* of the largest bucket; buckets take turns */
    void *scratch;
    struct parcels *parcels; /* see reducer_short.c; NULL: never */
    /* Codec state of all narrow layers: as the last step left it, and as this step makes it. */
    uint8_t *state[2];
    size_t state_bytes;
    struct algo_home home;              /* codes, result, scratch as registered buffers */
    struct dev_event **events, **after; /* [n_layers] see reducer_stream.c; NULL: unused */
    struct overlap *overlap;            /* NULL: a step runs in reducer_finish() */
    struct trace *trace;
    bool counts_lost;
    bool begun;
    bool ran; /* reducer_next() ran the step, which returned rc */
    int rc;
    uint64_t step; /* valid from reducer_begin() to reducer_finish() */
    float *const *grads;
    float *const *means; /* NULL: means replace the gradients */
    struct reducer_step done;
    double max_s;    /* this step's wait for exponents */
    double waited_s; /* the caller's wait in this step, so far */
};

struct reducing {
    struct reducer *r;
    uint64_t step;
    float *const *grads;
    struct reducer_step *report;
};

/* ---- reducer_bucket.c ---- */

/* Cuts the layers into buckets, as configured or all in fp32, and places their codes. Returns 0 or
 * -ENOMEM. */
int reducer_make_plan(struct reducer *r, bool all_fp32, size_t bucket_bytes);

/* Groups of the plan in use, numbered in the order in which they travel. */
int reducer_n_groups(const struct reducer *r);
struct group reducer_group(const struct reducer *r, int g);

/* Row of the timeline that steps belong to. */
enum trace_row reducer_row(const struct reducer *r);

/* Layer i as placed by the plan in use. */
static inline const struct codec_layer *reducer_layer(const struct reducer *r, int i)
{
    const struct plan *p = &r->plans[r->force_fp32];
    return &p->placed[p->rank_of[i]];
}

/* Over all ranks. */
static inline int8_t reducer_exponent(const struct reducer *r, int i)
{
    return r->exponents[r->plans[r->force_fp32].rank_of[i]];
}

/* Stores elements from..to of layer i, padding included, as the k-th span of a call. */
void reducer_span(const struct reducing *s, int i, size_t from, size_t to, int shift, int k);

/* ---- reducer_state.c ---- */

/* Counts what the casts of a group lose, if reducer_count_lost() was called. Exponents must be
 * known and finite, and gradients not replaced by means yet. */
void reducer_lost(const struct reducing *s, const struct group *g);

/* ---- reducer_stream.c ---- */

/* Makes layers first..first+n wait for the work now in
 * the stream. n > 0. Returns as reducer_ready_on(). */
int reducer_note_stream(struct reducer *r, int first, int n, void *stream);

/* Orders later launches on this thread's lane after
 * the streams that the group's layers wait for. */
int reducer_await_streams(struct reducer *r, const struct group *g);
void reducer_close_streams(struct reducer *r);

/* ---- reducer_state.c ---- */

/* Sizes the state of all narrow layers; then allocates it, zeroed, or returns -ENOMEM. */
void reducer_state_size(struct reducer *r);
int reducer_state_open(struct reducer *r);
void reducer_state_close(struct reducer *r);

/* Makes the state written by this step the current one. Call it when the step is taken. */
void reducer_state_swap(struct reducer *r);

/* ---- reducer_scan.c ---- */

/* Waits for the group's gradients, then finds this rank's exponents and encodes layers whose shift
 * can be guessed. Returns -ECANCELED when the reducer is closed in mid-step. */
int reducer_scan(const struct reducing *s, const struct group *g);

/* Enclose the wait for a group's exponents, in which ranks wait for
 * the slowest one. start: the result of reducer_max_begin(). */
double reducer_max_begin(const struct reducing *s, const struct group *g);
void reducer_max_end(const struct reducing *s, const struct group *g, double start);

/* Agrees on the exponents over all ranks, by MPI. */
int reducer_max_mpi(const struct reducing *s, const struct group *g);

/* True if no rank has inf or nan in the group. */
bool reducer_all_finite(const struct reducer *r, const struct group *g);

/* ---- reducer_bucket.c ---- */

/* Casts a bucket while it travels: encodes layers that were not guessed, decodes means in place. */
struct bucket_flow {
    const struct reducing *step;
    const struct bucket *bucket;
    double codec_s;
    bool made; /* a batching backend has encoded the bucket */
};
struct algo_flow bucket_flow(struct bucket_flow *b);

/* Call it when all codes of a bucket are made: their shifts become the next guesses. */
void bucket_encoded(const struct bucket_flow *b);

/* Call it when the whole result is there. */
void bucket_summed(struct bucket_flow *b);

/* All-reduces bucket i of the plan in use by the algorithm, over MPI. */
int reducer_bucket_mpi(const struct reducing *s, int i);

/* ---- reducer_way.c ---- */

/* Runs a whole step with narrow buckets on the card path, and repeats
 * the missed ones over MPI. *finite is false if some rank has inf or
 * nan: that group and all later ones have not been summed. */
int reducer_step_way(const struct reducing *s, bool *finite);

/* Length of the vote for so many buckets, in 64-bit words. */
size_t reducer_vote_words(int n_buckets);

/* Decodes the whole result at once. bucket_summed() does so only for batching backends, since
 * others have decoded range by range. */
void bucket_decode(struct bucket_flow *b);

/* ---- reducer_short.c ---- */

/* reducer_short_bytes() of this reducer; 0 also with low memory or a batching backend. */
size_t reducer_message_bytes(const struct reducer *r);

/* True if the next step goes in one message; the same on all ranks. */
bool reducer_is_short(const struct reducer *r);

/* Records whether guesses were right. Exponents must be agreed
 * on, and guesses still be those of the previous step. */
void reducer_short_note(struct reducer *r);

/* A whole step, as reducer_step_way(). */
int reducer_step_short(const struct reducing *s, bool *finite);

/* ---- reducer_low.c ---- */

/* Reports -EINVAL if low memory cannot make these sums. */
int reducer_low_check(const struct reducer *r);
/* Bytes of all accumulators, in scratch. */
size_t reducer_low_bytes(const struct reducer *r);
/* A whole step, as reducer_step_way(). */
int reducer_step_low(const struct reducing *s, bool *finite);

/* ---- reducer_step.c ---- */

/* Runs the step of reducer_begin() in this thread and fills r->done. */
int reducer_step_all(struct reducer *r);

/* ---- overlap.c: the communication thread ---- */

/* Starts the thread. Returns 0, or reports -ENOMEM or -EAGAIN. */
int overlap_open(struct reducer *r, struct overlap **out);
/* Also ends a step that waits for gradients. */
void overlap_close(struct overlap *o);
void overlap_begin(struct overlap *o);
void overlap_ready(struct overlap *o, int first, int n);
bool overlap_next(struct overlap *o, int *first, int *n);
bool overlap_is_done(struct overlap *o);
int overlap_finish(struct overlap *o); /* result of reducer_step_all() */

/* ---- reducer_meet.c: calls of the communication thread in mid-step; o NULL: no operation ---- */

/* Time between rest and work counts as neither hidden nor exposed. */
void overlap_rest(struct overlap *o);
void overlap_work(struct overlap *o);

/* Declares that the step will be taken and that the means of buckets 0..n_buckets are final. */
void overlap_hand_out(struct overlap *o, int n_buckets);

/* Waits for all gradients of the bucket. Returns 0 or -ECANCELED. */
int overlap_await(struct overlap *o, int bucket);

#endif
