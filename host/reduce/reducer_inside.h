/* reducer_inside.h : Declares what the reducer's files share: its memory and the parts of a step.
 *
 * Functions that return int return 0 or a negative errno of comm.h, unless stated otherwise. */
#ifndef REDUCER_INSIDE_H
#define REDUCER_INSIDE_H
#include "base/trace.h"
#include "reduce/bucket.h"
#include "reduce/card_path.h"

/* A partition of the layers into buckets: as configured, or all in fp32. */
struct plan {
    struct bucket *buckets; /* [n_buckets], room for n_layers */
    int n_buckets;
    struct codec_layer *placed; /* [n_layers] in the order of buckets */
    size_t *places;             /* [n_layers] offset of a layer's codes in reducer.codes, bytes */
    int *bucket_of;             /* [n_layers] index of a layer's bucket */
    int *rank_of;               /* [n_layers] index of a layer in `placed` */
    int8_t *rescaled;           /* [n_layers] in the order of placed, for codec_call.rescaled */
    uint64_t code_bytes;        /* of all buckets */
};

enum { NARROW, FP32 }; /* format of a bucket, selected by bucket.fp32 */

/* Buckets whose exponents go in one message: all buckets of a step, or one bucket with overlap. */
struct group {
    int bucket, n_buckets;
    int first, n_layers; /* the layers' range in `placed` */
};

struct overlap;
struct packed; /* reducer_packed.h */

struct reducer {
    struct comm *comm;
    struct codec codecs[2];
    const struct algo *algo;
    int group;
    const struct card_path_ops *card_path; /* card path, or NULL */
    void *card_path_arg;
    struct algo_node_sum *node;   /* or NULL */
    struct reducer_layer *layers; /* [n_layers] */
    int n_layers;
    uint64_t fp32_bytes;
    bool low;                 /* codes, result and scratch belong to rank 0 */
    void (*again)(void *ctx); /* low: makes the gradients a second time */
    void *again_ctx;
    struct plan plans[2]; /* [NARROW] as configured, [FP32] all in fp32 */
    bool force_fp32;      /* index of the plan in use */
    /* The next four are in the order of `placed`, so that a group is one range. */
    int8_t *own_exponents; /* [n_layers] of this rank's gradients */
    int8_t *exponents;     /* [n_layers] of this step, over all ranks */
    float *own_maxima;     /* [n_layers] largest magnitudes on this rank */
    float *maxima;         /* [n_layers] over all ranks, for codecs that ask for them */
    /* guesses[i]: shift of layer i in the last step, or CODEC_NO_GUESS. Unused in forced fp32. */
    int *guesses;
    uint64_t *failed;         /* bits of the vote, laid out as in reducer_card_path.c */
    struct vec_span *spans;   /* [n_layers] scratch for one call */
    struct vec_out *outs;     /* [n_layers] scratch for one call */
    struct codec_part *parts; /* [n_layers] part of a layer for each span or out */
    uint32_t tag;             /* codec_tag() of the narrow codec */
    /* The backend casts many spans per launch (a GPU), so a whole bucket is cast at once. */
    bool batches;
    uint8_t *codes;  /* of all buckets as configured, or of one bucket in forced fp32 */
    uint8_t *result; /* of one bucket; buckets use it in turn */
    void *scratch;
    /* Memory of short steps (reducer_short.c), or NULL if this reducer has none. */
    struct packed *packed;
    /* Codec state of all narrow layers: [0] as the last step left it, [1] as this
     * step writes it. */
    uint8_t *state[2];
    size_t state_bytes;
    struct algo_buffers buffers; /* codes, result, scratch as registered buffers */
    /* Both [n_layers], see reducer_stream.c. NULL until reducer_note_stream() is called. */
    struct dev_event **events, **after;
    /* The communication thread. NULL without overlap: reducer_next() or reducer_finish()
     * runs the step. */
    struct overlap *overlap;
    struct trace *trace;
    bool counts_lost;
    bool begun;
    bool ran; /* this step has run; its result is rc */
    int rc;
    uint64_t step; /* valid from reducer_begin() to reducer_finish() */
    float *const *grads;
    float *const *means; /* or NULL: means replace the gradients */
    struct reducer_step done;
    double max_s;    /* this step's time in messages of exponents */
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

/* Returns the row of the timeline in which this reducer's steps are drawn. */
enum trace_row reducer_row(const struct reducer *r);

/* Returns layer i as placed by the plan in use. */
static inline const struct codec_layer *reducer_layer(const struct reducer *r, int i)
{
    const struct plan *p = &r->plans[r->force_fp32];
    return &p->placed[p->rank_of[i]];
}

/* Returns the exponent of layer i over all ranks. */
static inline int8_t reducer_exponent(const struct reducer *r, int i)
{
    return r->exponents[r->plans[r->force_fp32].rank_of[i]];
}

/* Stores elements [from, to) of layer i, padding included, as span k of the next call. */
void reducer_span(const struct reducing *s, int i, size_t from, size_t to, int shift, int k);

/* ---- reducer_state.c ---- */

/* Counts what the casts of a group lose, if reducer_count_lost() was called. Exponents must be
 * known and finite, and means must not have replaced the gradients yet. */
void reducer_lost(const struct reducing *s, const struct group *g);

/* ---- reducer_stream.c ---- */

/* Makes layers first to first+n-1 wait for the work now in the stream. n > 0. Returns the same
 * values as reducer_ready_on(). */
int reducer_note_stream(struct reducer *r, int first, int n, void *stream);

/* Makes later launches of this thread wait for the streams that the group's layers depend on. */
int reducer_await_streams(struct reducer *r, const struct group *g);
void reducer_close_streams(struct reducer *r);

/* ---- reducer_state.c ---- */

/* reducer_state_size() computes the size of the state of all narrow layers. After it,
 * reducer_state_open() allocates the state, zeroed. It returns 0 or -ENOMEM. */
void reducer_state_size(struct reducer *r);
int reducer_state_open(struct reducer *r);
void reducer_state_close(struct reducer *r);

/* Makes the state written by this step the current one. Call it if the step is not skipped. */
void reducer_state_swap(struct reducer *r);

/* ---- reducer_scan.c ---- */

/* Waits for the group's gradients, finds this rank's exponents, and encodes layers whose shift can
 * be guessed. Returns -ECANCELED if the reducer is closed in mid-step. */
int reducer_scan(const struct reducing *s, const struct group *g);

/* Call these before and after a group's message of exponents, in which ranks wait for the slowest
 * one. start: the result of reducer_max_begin(). */
double reducer_max_begin(const struct reducing *s, const struct group *g);
void reducer_max_end(const struct reducing *s, const struct group *g, double start);

/* Agrees on the group's exponents over all ranks, over MPI. */
int reducer_max_mpi(const struct reducing *s, const struct group *g);

/* Returns true if no rank has inf or nan in the group. Exponents must be agreed on. */
bool reducer_all_finite(const struct reducer *r, const struct group *g);

/* ---- reducer_bucket.c ---- */

/* Casts a bucket while it travels: encodes layers that were not guessed, and decodes
 * means in place. */
struct bucket_flow {
    const struct reducing *step;
    const struct bucket *bucket;
    double codec_s;
    bool made; /* a batching backend has encoded the bucket */
};
struct algo_flow bucket_flow(struct bucket_flow *b);

/* Call it when all codes of a bucket are made. Their shifts become the next step's guesses. */
void bucket_encoded(const struct bucket_flow *b);

/* Call it when the whole sum of a bucket is in r->result. */
void bucket_summed(struct bucket_flow *b);

/* All-reduces bucket i of the plan in use over MPI, with the reducer's algorithm. */
int reducer_bucket_mpi(const struct reducing *s, int i);

/* ---- reducer_card_path.c ---- */

/* Runs a whole step with narrow buckets on the card path, and repeats the missed ones over MPI.
 * Sets *finite to false if some rank has inf or nan in a group. This group and all later ones are
 * then not summed. */
int reducer_step_card_path(const struct reducing *s, bool *finite);

/* Returns the length of the vote for so many buckets, in 64-bit words. */
size_t reducer_vote_words(int n_buckets);

/* Decodes a whole bucket at once. bucket_summed() does so only for batching backends, since others
 * have decoded range by range. */
void bucket_decode(struct bucket_flow *b);

/* ---- reducer_short.c ---- */

/* Returns reducer_short_bytes() of this reducer, or 0 with low memory or a batching backend. */
size_t reducer_message_bytes(const struct reducer *r);

/* Returns true if the next step goes in one message. The result is the same on all ranks. */
bool reducer_is_short(const struct reducer *r);

/* Records whether this step's guesses were right. Call it after the agreement on exponents and
 * before bucket_encoded() replaces the guesses. */
void reducer_short_note(struct reducer *r);

/* Runs a whole step in one message. *finite as in reducer_step_card_path(). */
int reducer_step_short(const struct reducing *s, bool *finite);

/* ---- reducer_low.c ---- */

/* Returns 0, or reports -EINVAL if low memory cannot make the sums of this algorithm or codec. */
int reducer_low_check(const struct reducer *r);
/* Returns the bytes of the accumulators of all buckets, which are in scratch. */
size_t reducer_low_bytes(const struct reducer *r);
/* Runs a whole step in low memory. *finite as in reducer_step_card_path(). */
int reducer_step_low(const struct reducing *s, bool *finite);

/* ---- reducer_step.c ---- */

/* Runs the step of reducer_begin() in this thread and fills r->done. */
int reducer_step_all(struct reducer *r);

/* ---- overlap.c: the communication thread ---- */

/* Starts the thread. Returns 0, or reports -ENOMEM or -EAGAIN. */
int overlap_open(struct reducer *r, struct overlap **out);
/* Ends the thread, also if its step waits for gradients. */
void overlap_close(struct overlap *o);
void overlap_begin(struct overlap *o);
void overlap_ready(struct overlap *o, int first, int n);
bool overlap_next(struct overlap *o, int *first, int *n);
bool overlap_is_done(struct overlap *o);
/* Waits for the step and returns the result of reducer_step_all(). */
int overlap_finish(struct overlap *o);

/* ---- reducer_meet.c: called by the communication thread in mid-step; nothing happens if o
 * is NULL ---- */

/* Time between overlap_rest() and overlap_work() counts neither as hidden nor as exposed. */
void overlap_rest(struct overlap *o);
void overlap_work(struct overlap *o);

/* Declares that the step will not be skipped, and that the means of buckets 0 to
 * n_buckets-1 are final. */
void overlap_hand_out(struct overlap *o, int n_buckets);

/* Waits for all gradients of the bucket. Returns 0 or -ECANCELED. */
int overlap_await(struct overlap *o, int bucket);

#endif
