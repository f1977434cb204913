/* reducer_inside.h : what the reducer's files share: its memory, and the parts a step is made
 * of. */
#ifndef REDUCER_INSIDE_H
#define REDUCER_INSIDE_H
#include "base/trace.h"
#include "reduce/bucket.h"
#include "reduce/way.h"

/* One way to cut the layers: as configured, or all fp32. */
struct plan {
    struct bucket *buckets; /* [n_buckets], room for n_layers */
    int n_buckets;
    struct codec_layer *placed; /* [n_layers], bucket by bucket */
    size_t *places;             /* [n_layers] byte of `codes` at which a layer's codes begin */
    int *bucket_of;             /* [n_layers] */
    int *rank_of;               /* [n_layers] which of `placed` a layer is */
    int8_t *rescaled;           /* [n_layers] as placed: codec_call.rescaled */
    uint64_t code_bytes;        /* of all buckets */
};

enum { NARROW, FP32 }; /* what a bucket travels in; bucket.fp32 says which */

/* Buckets whose exponents go in one message: all of a step, or one at a time while gradients are
 * still made. */
struct group {
    int bucket, n_buckets;
    int first, n_layers; /* their layers, as they are placed */
};

struct overlap; /* the communication thread */
struct parcels; /* reducer_parcel.h */

struct reducer {
    struct comm *comm;
    struct codec codecs[2];
    const struct algo *algo;
    int group;
    const struct way_ops *way; /* NULL: none but MPI */
    void *way_arg;
    struct algo_node_sum *node;   /* NULL: none */
    struct reducer_layer *layers; /* [n_layers] */
    int n_layers;
    uint64_t fp32_bytes;
    bool low;                 /* codes, result and scratch are rank 0's */
    void (*again)(void *ctx); /* low: makes gradients again */
    void *again_ctx;
    struct plan plans[2]; /* layers as configured, all layers in fp32 */
    bool force_fp32;      /* which of them is in use */
    /* as the plan has placed the layers, so that those of a group are neighbours: */
    int8_t *own_exponents; /* [n_layers] of this rank's gradients */
    int8_t *exponents;     /* [n_layers] of this step, over all ranks */
    float *own_maxima;     /* [n_layers] largest magnitudes of this rank's gradients */
    float *maxima;         /* [n_layers] over all ranks, for a codec that asks for them */
    /* [n_layers] shift of the last step's codes, or CODEC_NO_GUESS; not for forced fp32 */
    int *guesses;
    uint64_t *failed;         /* the vote: bits of reducer_way.c */
    struct vec_span *spans;   /* [n_layers] of one call */
    struct vec_out *outs;     /* [n_layers] of one call */
    struct codec_part *parts; /* [n_layers] which layers' spans or outs are */
    uint32_t tag;             /* codec_tag() of the narrow codec */
    /* the backend takes many spans in one launch: a bucket is cast in one go */
    bool batches;
    uint8_t *codes;  /* of all buckets as configured, or of the largest one in forced fp32 */
    uint8_t *result; /* of the largest bucket; buckets take turns */
    void *scratch;
    struct parcels *parcels; /* of a step in one message (reducer_short.c); NULL: never */
    /* what the codec keeps, of all narrow layers: as the last step left it, and in the making */
    uint8_t *state[2];
    size_t state_bytes;
    struct algo_home home;              /* these three */
    struct dev_event **events, **after; /* [n_layers] of reducer_ready_on(); NULL: never called */
    struct overlap *overlap;            /* NULL: a step runs in reducer_finish() */
    struct trace *trace;                /* NULL: none */
    bool counts_lost;                   /* reducer_count_lost() */
    bool begun;
    bool ran; /* without overlap: the step, in reducer_next(), and returned rc */
    int rc;
    uint64_t step; /* from reducer_begin() to reducer_finish() */
    float *const *grads;
    float *const *means; /* NULL: they take the gradients' place */
    struct reducer_step done;
    double max_s;    /* of the step: waiting for exponents */
    double waited_s; /* of the step, so far: the caller */
};

/* A step under way. */
struct reducing {
    struct reducer *r;
    uint64_t step;
    float *const *grads;
    struct reducer_step *report;
};

/* ---- reducer_bucket.c ---- */

/* Cuts the layers as configured, or all in fp32, and places their codes. Returns 0 or -ENOMEM. */
int reducer_make_plan(struct reducer *r, bool all_fp32, size_t bucket_bytes);

/* The groups of the plan in use: 0, 1, ..., in the order in which they travel. */
int reducer_n_groups(const struct reducer *r);
struct group reducer_group(const struct reducer *r, int g);

/* The row of the timeline that a step belongs to. */
enum trace_row reducer_row(const struct reducer *r);

/* Layer i as the plan in use has placed it. */
static inline const struct codec_layer *reducer_layer(const struct reducer *r, int i)
{
    const struct plan *p = &r->plans[r->force_fp32];
    return &p->placed[p->rank_of[i]];
}

/* Layer i's exponent over all ranks. */
static inline int8_t reducer_exponent(const struct reducer *r, int i)
{
    return r->exponents[r->plans[r->force_fp32].rank_of[i]];
}

/* Elements from..to of layer i, padding included, as the k-th span of a call. */
void reducer_span(const struct reducing *s, int i, size_t from, size_t to, int shift, int k);

/* ---- reducer_state.c ---- */

/* Counts what the casts of a group lose, if that is asked: its exponents are known, and finite, and its
 * gradients are not means yet. */
void reducer_lost(const struct reducing *s, const struct group *g);

/* ---- reducer_stream.c ---- */

/* Layers first..first+n wait for what is in the stream now. n > 0. Returns as reducer_ready_on(). */
int reducer_note_stream(struct reducer *r, int first, int n, void *stream);

/* What is launched on this thread's lane from now on comes behind the streams that the group's layers wait
 * for. Returns 0 or a GPU's failure. */
int reducer_await_streams(struct reducer *r, const struct group *g);
void reducer_close_streams(struct reducer *r);

/* ---- reducer_state.c ---- */

/* How long the codec's state of every narrow layer is; then places it, zeroes. Returns 0 or
 * -ENOMEM. */
void reducer_state_size(struct reducer *r);
int reducer_state_open(struct reducer *r);
void reducer_state_close(struct reducer *r);

/* A step was taken by the codec: what it left is the state from now on. */
void reducer_state_swap(struct reducer *r);

/* ---- reducer_scan.c ---- */

/* Waits for the group's gradients; then this rank's exponents of them, and the codes that could be
 * guessed. Returns 0, or -ECANCELED when the reducer is closed in mid-step. */
int reducer_scan(const struct reducing *s, const struct group *g);

/* Around the wait for a group's exponents, in which ranks wait for the slowest; start: what the
 * first returned. */
double reducer_max_begin(const struct reducing *s, const struct group *g);
void reducer_max_end(const struct reducing *s, const struct group *g, double start);

/* The exponents over all ranks, from each one's own, over MPI. Returns 0 or a negative errno of
 * comm.h. */
int reducer_max_mpi(const struct reducing *s, const struct group *g);

/* No rank has inf or nan in the group, by the exponents of the step. */
bool reducer_all_finite(const struct reducer *r, const struct group *g);

/* ---- reducer_bucket.c ---- */

/* Casting of a bucket while it travels: encodes what was not guessed, decodes means in place. */
struct bucket_flow {
    const struct reducing *step;
    const struct bucket *bucket;
    double codec_s; /* spent on it */
    bool made;      /* a backend that casts in one go has done so */
};
struct algo_flow bucket_flow(struct bucket_flow *b);

/* All of a bucket's codes are there: its shifts are guesses from now on, so they are not made
 * again. */
void bucket_encoded(const struct bucket_flow *b);

/* The whole result is there. */
void bucket_summed(struct bucket_flow *b);

/* Bucket i of the plan in use, by the algorithm, over MPI. Returns 0 or a negative errno of
 * comm.h. */
int reducer_bucket_mpi(const struct reducing *s, int i);

/* ---- reducer_way.c ---- */

/* The whole step with all narrow buckets by the way, and what it missed over MPI. *finite: false
 * when some rank has inf or nan: nothing was summed of that group and those behind it. Returns 0 or
 * a negative errno. */
int reducer_step_way(const struct reducing *s, bool *finite);

/* Words of the vote for so many buckets. */
size_t reducer_vote_words(int n_buckets);

/* The whole result stands, and is wanted all at once. */
void bucket_decode(struct bucket_flow *b);

/* ---- reducer_short.c ---- */

/* reducer_short_bytes() of this reducer. */
size_t reducer_message_bytes(const struct reducer *r);

/* Does the next step go so? The same on all ranks. */
bool reducer_is_short(const struct reducer *r);

/* The exponents of a step are agreed on, and its guesses are those of the one before: notes whether they
 * were right. */
void reducer_short_note(struct reducer *r);

/* The whole step. *finite: as of reducer_step_way(). Returns 0 or a negative errno. */
int reducer_step_short(const struct reducing *s, bool *finite);

/* ---- reducer_low.c ---- */

/* Could the sums be made so? Returns 0 or -EINVAL with a line. */
int reducer_low_check(const struct reducer *r);
/* Bytes of all accumulators: its scratch. */
size_t reducer_low_bytes(const struct reducer *r);
/* The whole step. *finite: as of reducer_step_way(). Returns 0 or a negative errno. */
int reducer_step_low(const struct reducing *s, bool *finite);

/* ---- reducer_step.c ---- */

/* The step that reducer_begin() gave, all of it, by this thread; fills r->done. Returns 0 or a
 * negative errno. */
int reducer_step_all(struct reducer *r);

/* ---- overlap.c: the communication thread: asleep between steps and until a bucket's
 * gradients are there ---- */

int overlap_open(struct reducer *r, struct overlap **out); /* 0, -ENOMEM, -EAGAIN with a line */
/* ends a step that waits for gradients */
void overlap_close(struct overlap *o);
void overlap_begin(struct overlap *o);
void overlap_ready(struct overlap *o, int first, int n);
bool overlap_next(struct overlap *o, int *first, int *n);
bool overlap_is_done(struct overlap *o);
int overlap_finish(struct overlap *o); /* what reducer_step_all() returned */

/* ---- reducer_meet.c: the thread meets the main one, in mid-step ---- */

/* In the thread: from rest to work its time counts as neither hidden nor exposed. o NULL:
 * nothing. */
void overlap_rest(struct overlap *o);
void overlap_work(struct overlap *o);

/* In the thread: the step will be taken, and the means of buckets 0..n_buckets stand, for good. o
 * NULL: nothing. */
void overlap_hand_out(struct overlap *o, int n_buckets);

/* In the thread: waits for all gradients of the bucket. Returns 0 or -ECANCELED. o NULL: they are
 * there. */
int overlap_await(struct overlap *o, int bucket);

#endif
