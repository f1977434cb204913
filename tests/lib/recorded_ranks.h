/* recorded_ranks.h : runs the reducers of several ranks, as threads of the test, over a card path
 * that adds without cards and records what ranks send.
 *
 * Ranks meet in each MAX and SUM only. Their communicator sends nothing: buckets in fp32, which
 * need MPI, get zeros as sums. */
#ifndef RECORDED_RANKS_H
#define RECORDED_RANKS_H
#include "check.h"
#include "comm/comm_inside.h"
#include "reduce/reducer_inside.h"
#include <pthread.h>
#include <string.h>

enum { RECORDED_RANKS = 4, RECORDED_MESSAGES = 32, RECORDED_BYTES = 512, RECORDED_LAYERS = 6 };

struct recorded_message {
    bool is_max;
    uint32_t tag;
    size_t n, sent_bytes, result_bytes;
    uint8_t sent[RECORDED_RANKS][RECORDED_BYTES], result[RECORDED_BYTES];
};

/* Messages of the step that ran last. */
struct recorded {
    int n_ranks, n_messages;
    struct recorded_message messages[RECORDED_MESSAGES];
    uint32_t tags[RECORDED_RANKS];
    pthread_barrier_t meet;
};

struct recorded_rank {
    struct recorded *all;
    struct comm comm;
    struct codec codec;
    struct reducer *reducer;
    struct reducer_step report;
    int at; /* messages so far in this step */
    uint64_t step;
    float *grads[RECORDED_LAYERS];
};

/* ---- a communicator that sends nothing ---- */

static bool recorded_room(struct comm *c, size_t places)
{
    (void)c, (void)places;
    return true;
}
static int recorded_wait(struct comm *c)
{
    (void)c;
    return 0;
}
static int recorded_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n,
                           const char *what)
{
    (void)c, (void)how, (void)x, (void)n, (void)what;
    return 0;
}
static bool recorded_abandoned(struct comm *c)
{
    (void)c;
    return false;
}
static int recorded_forget(struct comm *c, const uint64_t *abandoned)
{
    (void)c, (void)abandoned;
    return 0;
}
static const struct comm_ops recorded_comm = {.make_room = recorded_room,
                                              .wait = recorded_wait,
                                              .reduce = recorded_reduce,
                                              .abandoned = recorded_abandoned,
                                              .forget = recorded_forget};

static int recorded_run(struct comm *c, const struct algo_call *call)
{
    (void)c;
    memset(call->result, 0, call->op.ops->out_bytes(&call->op, call->n));
    algo_need(call->flow, 0, call->n);
    algo_have(call->flow, 0, call->n);
    return 0;
}

/* ---- the card path ---- */

/* Stores this rank's part of the next message. Returns the message when all ranks have stored
 * theirs. */
static struct recorded_message *recorded_meet(struct recorded_rank *r, bool is_max, uint32_t tag,
                                              size_t n, const void *sent, size_t bytes)
{
    struct recorded *all = r->all;
    const int rank = comm_rank(&r->comm);
    struct recorded_message *m = &all->messages[r->at++];
    if (r->at > RECORDED_MESSAGES || bytes > RECORDED_BYTES)
        abort();
    memcpy(m->sent[rank], sent, bytes);
    all->tags[rank] = tag;
    if (rank == 0) {
        m->is_max = is_max;
        m->tag = tag;
        m->n = n;
        m->sent_bytes = bytes;
        all->n_messages = r->at;
    }
    pthread_barrier_wait(&all->meet);
    if (m->is_max != is_max || m->n != n || all->tags[0] != tag)
        abort();
    return m;
}

static int recorded_begin(void *path)
{
    struct recorded_rank *r = path;
    r->at = 0;
    return 1;
}

static int recorded_max(void *path, uint32_t tag, int8_t *x, size_t n)
{
    struct recorded_rank *r = path;
    struct recorded_message *m = recorded_meet(r, true, tag, n, x, n);
    if (comm_rank(&r->comm) == 0) {
        m->result_bytes = n;
        for (size_t i = 0; i < n; i++) {
            int most = INT8_MIN;
            for (int k = 0; k < r->all->n_ranks; k++)
                most = (int8_t)m->sent[k][i] > most ? (int8_t)m->sent[k][i] : most;
            m->result[i] = (uint8_t)most;
        }
    }
    pthread_barrier_wait(&r->all->meet);
    memcpy(x, m->result, n);
    return 0;
}

static int recorded_sum(void *path, const struct card_path_sum *s)
{
    struct recorded_rank *r = path;
    const struct codec_call call = {.codec = s->codec};
    const struct reduce_op op = codec_reduce_op(&call);
    const uint8_t *parts[RECORDED_RANKS];
    s->flow.need(s->flow.arg, 0, s->n);
    struct recorded_message *m =
        recorded_meet(r, false, s->tag, s->n, s->codes, op.ops->in_bytes(&op, s->n));
    if (comm_rank(&r->comm) == 0) {
        for (int k = 0; k < r->all->n_ranks; k++)
            parts[k] = m->sent[k];
        m->result_bytes = op.ops->out_bytes(&op, s->n);
        op.ops->sum(&op, 0, parts, r->all->n_ranks, s->n, true, m->result);
    }
    pthread_barrier_wait(&r->all->meet);
    memcpy(s->result, m->result, m->result_bytes);
    s->flow.have(s->flow.arg, 0, s->n);
    return 0;
}

static uint64_t recorded_digest(const void *path)
{
    (void)path;
    return 0;
}
static int recorded_end(void *path, bool failed)
{
    (void)path;
    CHECK(!failed, "a step failed");
    return 0;
}
static struct card_path_count recorded_counted(const void *path)
{
    (void)path;
    return (struct card_path_count){0};
}
static const struct card_path_ops recorded_ops = {.begin = recorded_begin,
                                                  .max = recorded_max,
                                                  .sum = recorded_sum,
                                                  .digest = recorded_digest,
                                                  .end = recorded_end,
                                                  .counted = recorded_counted};

/* ---- ranks ---- */

/* Opens the reducers of n_ranks ranks. codec: settled for them. ranks: [n_ranks], out */
static void recorded_open(struct recorded *all, struct recorded_rank *ranks, int n_ranks,
                          const struct codec *codec, const struct reducer_layer *layers,
                          int n_layers, size_t bucket_bytes, bool overlap)
{
    static struct algo algo; /* in use until recorded_close() */
    algo = algo_direct;
    algo.run = recorded_run;
    all->n_ranks = n_ranks;
    pthread_barrier_init(&all->meet, NULL, (unsigned)n_ranks);
    for (int k = 0; k < n_ranks; k++) {
        struct recorded_rank *r = &ranks[k];
        *r = (struct recorded_rank){.all = all,
                                    .comm = {.ops = &recorded_comm,
                                             .threads = true,
                                             .rank = k,
                                             .n_ranks = n_ranks,
                                             .deadline_s = 60},
                                    .codec = *codec};
        const struct reducer_spec spec = {.comm = &r->comm,
                                          .codec = &r->codec,
                                          .algo = &algo,
                                          .bucket_bytes = bucket_bytes,
                                          .layers = layers,
                                          .n_layers = n_layers};
        if (comm_init(&r->comm) || reducer_open(&spec, &r->reducer) ||
            reducer_set_overlap(r->reducer, overlap) ||
            reducer_set_card_path(r->reducer, &recorded_ops, r))
            abort();
    }
}

static void *recorded_body(void *arg)
{
    struct recorded_rank *r = arg;
    CHECK(reducer_run(r->reducer, r->step, r->grads, &r->report) == 0, "step %d", (int)r->step);
    return NULL;
}

/* Runs a step of all ranks: each rank's means replace its grads. */
static void recorded_step(struct recorded *all, struct recorded_rank *ranks, uint64_t step)
{
    pthread_t threads[RECORDED_RANKS];
    all->n_messages = 0;
    for (int k = 0; k < all->n_ranks; k++) {
        ranks[k].step = step;
        if (pthread_create(&threads[k], NULL, recorded_body, &ranks[k]))
            abort();
    }
    for (int k = 0; k < all->n_ranks; k++)
        pthread_join(threads[k], NULL);
}

static void recorded_close(struct recorded *all, struct recorded_rank *ranks)
{
    for (int k = 0; k < all->n_ranks; k++) {
        reducer_close(ranks[k].reducer);
        comm_fini(&ranks[k].comm);
    }
    pthread_barrier_destroy(&all->meet);
}

#endif
