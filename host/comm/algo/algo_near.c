/* algo_near.c : moves segments between near ranks and their master.
 *
 * Places of messages, m for one message and S segments:
 *
 *     master   codes of segment s from member i    (s (K - 1) + i - 1) m
 *              results of segment s to member i    (S (K - 1) + s (K - 1) + i - 1) m
 *     others   codes of segment s  s m             results  (S + s) m
 *
 * The verdict follows as segment 2 S, in messages of one byte. */
#include "comm/algo/algo_near.h"
#include "base/err.h"
#include "comm/comm_inside.h"

enum { LEAST = 1 << 14, SEGMENTS = 32, UNIT = 64 }; /* LEAST, UNIT: elements */

static size_t at_bytes(size_t bits, size_t n)
{
    return (bits * n + 7) / 8;
}

size_t algo_near_store_bytes(size_t n, size_t in_bits, int group)
{
    return (size_t)(group - 1) * at_bytes(in_bits, n);
}

static struct algo_range segment(const struct algo_near *a, size_t s)
{
    const size_t at = s * a->each, left = a->n - at;
    return (struct algo_range){at, left < a->each ? left : a->each};
}

static size_t others(const struct algo_near *a)
{
    return a->set.me == 0 ? (size_t)a->set.n - 1 : 1;
}

/* The messages of segment s, codes or results, with the other `peer`. */
static struct comm_batch batch(const struct algo_near *a, bool results, size_t s, size_t peer)
{
    const size_t segments = s + (results ? a->n_segments : 0);
    return (struct comm_batch){.at = (segments * others(a) + peer) * a->places,
                               .n_places = a->places};
}

static bool is_done(const struct algo_near *a, bool results, size_t s)
{
    struct comm_batch all = batch(a, results, s, 0);
    all.used = others(a) * a->places;
    return comm_batch_done(a->comm, &all);
}

static int await(struct algo_near *a, bool results, size_t s)
{
    while (!is_done(a, results, s)) {
        const int rc = comm_some(a->comm, true);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int receive(struct algo_near *a, size_t s, size_t peer)
{
    const struct algo_range r = segment(a, s);
    const bool results = a->set.me > 0;
    const size_t bits = results ? a->out_bits : a->in_bits;
    uint8_t *to = results ? a->result : a->store + peer * at_bytes(bits, a->n);
    struct comm_batch in = batch(a, results, s, peer);
    return comm_batch_recv(a->comm, &in, results ? COMM_TAG_SUM : COMM_TAG_DATA,
                           algo_rank(&a->set, results ? 0 : (int)peer + 1), to + r.at * bits / 8,
                           at_bytes(bits, r.n));
}

static int send(struct algo_near *a, size_t s, size_t peer)
{
    const struct algo_range r = segment(a, s);
    const bool results = a->set.me == 0;
    const size_t bits = results ? a->out_bits : a->in_bits;
    const uint8_t *from = results ? a->result : a->codes;
    struct comm_batch out = batch(a, results, s, peer);
    return comm_batch_send(a->comm, &out, results ? COMM_TAG_SUM : COMM_TAG_DATA,
                           algo_rank(&a->set, results ? (int)peer + 1 : 0), from + r.at * bits / 8,
                           at_bytes(bits, r.n));
}

int algo_near_begin(struct algo_near *a)
{
    const size_t part = (a->n + SEGMENTS - 1) / SEGMENTS;
    a->set = algo_node(a->comm, a->group);
    a->each = part < LEAST ? LEAST : (part + UNIT - 1) / UNIT * UNIT;
    a->n_segments = (a->n + a->each - 1) / a->each;
    a->needed = a->had = 0;
    const size_t most = a->in_bits > a->out_bits ? a->in_bits : a->out_bits;
    a->places = comm_batch_places(a->comm, at_bytes(most, a->each));
    TRY(comm_batches_begin(a->comm, (2 * a->n_segments + 1) * others(a) * a->places));
    for (size_t s = 0; s < a->n_segments; s++)
        for (size_t peer = 0; peer < others(a); peer++)
            TRY(receive(a, s, peer));
    struct comm_batch last = batch(a, true, a->n_segments, 0);
    return a->set.me == 0 ? 0
                          : comm_batch_recv(a->comm, &last, COMM_TAG_SUM, algo_rank(&a->set, 0),
                                            &a->verdict, 1);
}

int algo_near_parts(struct algo_near *a, struct algo_range *r, const uint8_t *const **parts)
{
    const uint8_t **found = a->comm->host_scratch;
    *r = segment(a, a->needed);
    const size_t before = r->at * a->in_bits / 8;
    algo_need(a->flow, r->at, r->n);
    TRY(await(a, false, a->needed++));
    found[0] = a->codes + before;
    for (size_t peer = 0; peer < others(a); peer++)
        found[peer + 1] = a->store + peer * at_bytes(a->in_bits, a->n) + before;
    *parts = found;
    return 0;
}

int algo_near_give(struct algo_near *a, size_t to)
{
    for (; a->had < a->n_segments; a->had++) {
        const struct algo_range r = segment(a, a->had);
        if (r.at + r.n > to)
            break;
        for (size_t peer = 0; peer < others(a); peer++)
            TRY(send(a, a->had, peer));
    }
    const int rc = comm_some(a->comm, false);
    return rc < 0 ? rc : 0;
}

/* Results that have come, in order. */
static void take(struct algo_near *a)
{
    for (; a->had < a->needed && is_done(a, true, a->had); a->had++) {
        const struct algo_range r = segment(a, a->had);
        algo_have(a->flow, r.at, r.n);
    }
}

static int follow(struct algo_near *a)
{
    while (a->needed < a->n_segments) {
        const struct algo_range r = segment(a, a->needed);
        algo_need(a->flow, r.at, r.n);
        TRY(send(a, a->needed++, 0));
        const int rc = comm_some(a->comm, false);
        if (rc < 0)
            return rc;
        take(a);
    }
    while (a->had < a->n_segments) {
        TRY(await(a, true, a->had));
        take(a);
    }
    return comm_wait(a->comm);
}

int algo_near_end(struct algo_near *a, uint8_t *verdict)
{
    if (a->set.me > 0) {
        TRY(follow(a));
        *verdict = a->verdict;
        return 0;
    }
    TRY(algo_near_give(a, a->n));
    for (size_t peer = 0; peer < others(a); peer++) {
        struct comm_batch last = batch(a, true, a->n_segments, peer);
        TRY(comm_batch_send(a->comm, &last, COMM_TAG_SUM, algo_rank(&a->set, (int)peer + 1),
                            verdict, 1));
    }
    return comm_wait(a->comm);
}

int algo_near_max(struct comm *c, int group, int8_t *x, size_t n, uint8_t *store)
{
    const struct algo_set set = algo_node(c, group);
    if (set.me > 0)
        TRY(comm_send(c, algo_rank(&set, 0), x, n));
    for (int i = 1; i < set.n && set.me == 0; i++)
        TRY(comm_recv(c, algo_rank(&set, i), store + (size_t)(i - 1) * n, n));
    TRY(comm_wait(c));
    for (int i = 1; i < set.n && set.me == 0; i++)
        comm_larger_i8(n, x, store + (size_t)(i - 1) * n);
    return 0;
}

int algo_near_tell(struct comm *c, int group, int8_t *x, size_t n, uint8_t *verdict)
{
    const struct algo_set set = algo_node(c, group);
    for (int i = 1; i < set.n && set.me == 0; i++) {
        TRY(comm_send(c, algo_rank(&set, i), x, n));
        TRY(comm_send(c, algo_rank(&set, i), verdict, 1));
    }
    if (set.me > 0) {
        TRY(comm_recv(c, algo_rank(&set, 0), x, n));
        TRY(comm_recv(c, algo_rank(&set, 0), verdict, 1));
    }
    return comm_wait(c);
}
