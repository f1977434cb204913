/* algo_pipe.c : moves segments of a vector through the stages of algo_pipe.h.
 *
 * If all ranks send to all at once and three flows meet at one port, two other ports are idle. A
 * rank therefore sends short messages to the others in turn, beginning with its next neighbour.
 * While ranks keep pace, every port has one sender and one receiver; otherwise IN_FLIGHT messages
 * hide the gaps. */
#include "comm/algo/algo_pipe.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"
#include <assert.h>

enum {
    WINDOW = 8,    /* segments in progress */
    IN_FLIGHT = 4, /* messages per level */
};

/* Stage i of a segment produces messages of kind i, and stage i + 1 waits for them. */
enum {
    MADE,   /* codes are encoded, for the members of the node */
    PARTED, /* this member has added its part within the node, for the other nodes */
    SUMMED, /* this rank has added its range, for the other nodes */
    SPREAD, /* this member has its whole part of the sum, for the members of the node */
    HAD,    /* the whole sum is here */
    STAGES
};
enum { CODES = MADE, PARTS = PARTED, SUMS = SUMMED, RESULTS = SPREAD, KINDS };

/* Sets of ranks that exchange messages. */
enum { NODE, ACROSS, LEVELS };
static const int level_of[KINDS] = {
    [CODES] = NODE, [PARTS] = ACROSS, [SUMS] = ACROSS, [RESULTS] = NODE};

struct slot {
    struct comm_batch in[KINDS];
    uint8_t *codes; /* [K - 1 parts] from other members */
    uint8_t *parts; /* [P/K - 1 ranges] from other nodes */
};

struct layout {
    void *acc;
    uint8_t *node; /* this rank's part of each segment, added within the node */
    struct slot slots[WINDOW];
};

struct level {
    struct algo_set set;
    struct comm_batch in_flight[IN_FLIGHT];
    int next; /* distance to the next member to send to */
};

struct pipe {
    struct comm *comm;
    const struct algo_call *call;
    struct reduce_op op;
    struct level level[LEVELS];
    enum algo_form form; /* of PARTS */
    unsigned halves;
    size_t n; /* elements; with call->cut, P times the longest range */
    struct layout mem;
    const uint8_t **parts; /* [P] of the range being added */
    size_t *sent[KINDS];   /* index d - 1: segments sent to member + d */
    size_t each;           /* elements, except in the last segment */
    size_t n_segments;
    size_t posted;     /* segments with posted receives */
    size_t at[STAGES]; /* segments that have passed the stage */
};

static struct algo_range slice(struct algo_range r, size_t s, size_t each)
{
    const size_t skip = s * each < r.n ? s * each : r.n, left = r.n - skip;
    return (struct algo_range){.at = r.at + skip, .n = left < each ? left : each};
}

static struct algo_range part_of(const struct pipe *p, size_t s, int k)
{
    const struct algo_range whole = {.n = p->call->n};
    const int group = p->level[NODE].set.n;
    if (p->call->cut)
        return slice(p->call->cut[k], s, p->each / (size_t)group);
    return algo_part(slice(whole, s, p->each), p->op.unit, group, k);
}

/* Elements of the longest part of a segment. */
static size_t longest(const struct pipe *p)
{
    const size_t group = (size_t)p->level[NODE].set.n;
    if (!p->call->cut)
        return part_of(p, 0, 0).n;
    return (p->n < p->each ? p->n : p->each) / group;
}

/* Range j of this rank's part. */
static struct algo_range range_of(const struct pipe *p, size_t s, int j)
{
    return algo_part(part_of(p, s, p->level[NODE].set.me), p->op.unit, p->level[ACROSS].set.n, j);
}
static size_t bytes_of(const struct pipe *p, enum algo_form form, struct algo_range r)
{
    return algo_place(&p->op, form, r.at + r.n) - algo_place(&p->op, form, r.at);
}

/* Bytes of the longest message. */
static size_t most_of(const struct pipe *p, int kind)
{
    switch (kind) {
    case CODES:
        return algo_bytes(&p->op, ALGO_IN, longest(p));
    case PARTS:
        return algo_bytes(&p->op, p->form, range_of(p, 0, 0).n);
    case SUMS:
        return algo_bytes(&p->op, ALGO_OUT, range_of(p, 0, 0).n);
    default:
        return algo_bytes(&p->op, ALGO_OUT, longest(p));
    }
}

/* ---- memory ---- */

static size_t lay_out(const struct reduce_op *f, size_t n, size_t each, int n_ranks, int group,
                      void *scratch, struct layout *l)
{
    const size_t n_slots = algo_pipe_segments(n, each);
    const int n_nodes = n_ranks / group;
    const enum algo_form form = algo_pipe_form(f);
    const struct algo_cut inside = {
        .op = f, .form = ALGO_IN, .whole = {.n = n < each ? n : each}, .n_parts = group};
    const struct algo_cut across = {
        .op = f, .form = form, .whole = algo_cut_range(&inside, 0), .n_parts = n_nodes};
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->node = n_nodes > 1 ? algo_take(&a, n_slots * algo_bytes(f, form, across.whole.n)) : NULL;
    for (size_t i = 0; i < WINDOW && i < n_slots; i++) {
        l->slots[i].codes = algo_take(&a, (size_t)(group - 1) * algo_cut_most(&inside));
        l->slots[i].parts =
            n_nodes > 1 ? algo_take(&a, (size_t)(n_nodes - 1) * algo_cut_most(&across)) : NULL;
    }
    return a.used;
}

size_t algo_pipe_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    const struct reduce_op op = algo_pipe_op(f, group);
    struct layout l;
    return lay_out(&op, n, algo_pipe_segment(&op, n, n_ranks, group, ALGO_PIPE_BOTH), n_ranks,
                   group, NULL, &l);
}

size_t algo_pipe_cut_bytes(const struct reduce_op *f, size_t n, int n_ranks)
{
    const struct reduce_op op = algo_pipe_op(f, n_ranks);
    const size_t all = n * (size_t)n_ranks;
    struct layout l;
    return lay_out(&op, all, algo_pipe_segment(&op, all, n_ranks, n_ranks, ALGO_PIPE_REDUCE),
                   n_ranks, n_ranks, NULL, &l);
}

/* Where the message from `by` members back comes to. */
static uint8_t *codes_from(const struct pipe *p, size_t s, int by)
{
    return p->mem.slots[s % WINDOW].codes + (size_t)(by - 1) * most_of(p, CODES);
}
static uint8_t *parts_from(const struct pipe *p, size_t s, int by)
{
    return p->mem.slots[s % WINDOW].parts + (size_t)(by - 1) * most_of(p, PARTS);
}

static uint8_t *node_at(const struct pipe *p, size_t s, struct algo_range r)
{
    const struct algo_range part = part_of(p, s, p->level[NODE].set.me);
    return p->mem.node + s * algo_bytes(&p->op, p->form, part_of(p, 0, 0).n) +
           algo_bytes(&p->op, p->form, r.at - part.at);
}
static uint8_t *result_at(const struct pipe *p, struct algo_range r)
{
    const size_t first = p->halves == ALGO_PIPE_REDUCE ? p->call->cut[p->comm->rank].at : 0;
    return p->call->result + algo_place(&p->op, ALGO_OUT, r.at) -
           algo_place(&p->op, ALGO_OUT, first);
}
static const uint8_t *codes_at(const struct pipe *p, struct algo_range r)
{
    return p->call->codes + algo_place(&p->op, ALGO_IN, r.at);
}

/* ---- messages ---- */

static bool does(const struct pipe *p, int kind)
{
    return p->halves & (kind == RESULTS ? ALGO_PIPE_GATHER : ALGO_PIPE_REDUCE);
}
static bool gets(const struct pipe *p, int kind, int rank)
{
    return does(p, kind) &&
           (kind != RESULTS || !p->call->once || comm_lowest_here(p->comm, rank) == rank);
}

static int receive(struct pipe *p, size_t s, int kind, int by)
{
    const struct algo_set *set = &p->level[level_of[kind]].set;
    struct comm_batch *in = &p->mem.slots[s % WINDOW].in[kind];
    const int from = algo_around(set, -by), rank = algo_rank(set, from);
    struct algo_range r;
    switch (kind) {
    case CODES:
        r = part_of(p, s, set->me);
        return comm_batch_recv(p->comm, in, COMM_TAG_DATA, rank, codes_from(p, s, by),
                               bytes_of(p, ALGO_IN, r));
    case PARTS:
        r = range_of(p, s, set->me);
        return comm_batch_recv(p->comm, in, COMM_TAG_DATA, rank, parts_from(p, s, by),
                               bytes_of(p, p->form, r));
    default:
        r = kind == SUMS ? range_of(p, s, from) : part_of(p, s, from);
        return comm_batch_recv(p->comm, in, COMM_TAG_SUM, rank, result_at(p, r),
                               bytes_of(p, ALGO_OUT, r));
    }
}

static int send(struct pipe *p, struct comm_batch *flight, size_t s, int kind, int by)
{
    const struct algo_set *set = &p->level[level_of[kind]].set;
    const int to = algo_around(set, by), rank = algo_rank(set, to);
    struct algo_range r;
    switch (kind) {
    case CODES:
        r = part_of(p, s, to);
        return comm_batch_send(p->comm, flight, COMM_TAG_DATA, rank, codes_at(p, r),
                               bytes_of(p, ALGO_IN, r));
    case PARTS:
        r = range_of(p, s, to);
        return comm_batch_send(p->comm, flight, COMM_TAG_DATA, rank, node_at(p, s, r),
                               bytes_of(p, p->form, r));
    default:
        r = kind == SUMS ? range_of(p, s, set->me) : part_of(p, s, set->me);
        return comm_batch_send(p->comm, flight, COMM_TAG_SUM, rank, result_at(p, r),
                               bytes_of(p, ALGO_OUT, r));
    }
}

/* Receives of all kinds are posted before this rank sends any of the segment. */
static int post(struct pipe *p, size_t s)
{
    for (int kind = 0; kind < KINDS; kind++) {
        p->mem.slots[s % WINDOW].in[kind].used = 0;
        for (int by = 1; by < p->level[level_of[kind]].set.n && gets(p, kind, p->comm->rank); by++)
            TRY(receive(p, s, kind, by));
    }
    return 0;
}

static struct comm_batch *free_flight(const struct pipe *p, struct level *l)
{
    for (int i = 0; i < IN_FLIGHT; i++)
        if (comm_batch_done(p->comm, &l->in_flight[i])) {
            l->in_flight[i].used = 0;
            return &l->in_flight[i];
        }
    return NULL;
}

/* Sums go first, since other ranks wait for them. Returns 1, 0 (there is nothing to send) or an
 * error. */
static int send_one(struct pipe *p, int level)
{
    struct level *l = &p->level[level];
    struct comm_batch *flight = free_flight(p, l);
    for (int tries = 1; tries < l->set.n && flight; tries++) {
        const int by = l->next;
        l->next = by + 1 < l->set.n ? by + 1 : 1;
        for (int kind = KINDS - 1; kind >= 0; kind--) {
            if (level_of[kind] != level || p->sent[kind][by - 1] >= p->at[kind])
                continue;
            TRY(send(p, flight, p->sent[kind][by - 1]++, kind, by));
            return 1;
        }
    }
    return 0;
}

static int exchange(struct pipe *p)
{
    for (; p->posted < p->n_segments && p->posted < p->at[HAD] + WINDOW; p->posted++)
        TRY(post(p, p->posted));
    for (int level = 0; level < LEVELS; level++) {
        int sent;
        do
            sent = send_one(p, level);
        while (sent > 0);
        TRY(sent);
    }
    return 0;
}

/* ---- stages ---- */

static void add_codes(struct pipe *p, size_t s)
{
    const struct algo_set *set = &p->level[NODE].set;
    const bool one_node = p->level[ACROSS].set.n == 1;
    const struct algo_range mine = part_of(p, s, set->me);
    if (!does(p, CODES))
        return;
    p->parts[set->me] = codes_at(p, mine);
    for (int by = 1; by < set->n; by++)
        p->parts[algo_around(set, -by)] = codes_from(p, s, by);
    algo_add_parts(&p->op, mine, ALGO_IN, p->parts, set->n, p->mem.acc,
                   one_node ? ALGO_OUT : p->form,
                   one_node ? result_at(p, mine) : node_at(p, s, mine));
    p->comm->count.rounds += set->n > 1;
}

static void add_nodes(struct pipe *p, size_t s)
{
    const struct algo_set *set = &p->level[ACROSS].set;
    const struct algo_range mine = range_of(p, s, set->me);
    if (set->n == 1)
        return;
    p->parts[set->me] = node_at(p, s, mine);
    for (int by = 1; by < set->n; by++)
        p->parts[algo_around(set, -by)] = parts_from(p, s, by);
    algo_add_parts(&p->op, mine, p->form, p->parts, set->n, p->mem.acc, ALGO_OUT,
                   result_at(p, mine));
    p->comm->count.rounds++;
}

/* Part k of segment s without the unit that it shares with a later range, so that need() and have()
 * get each element once. */
static struct algo_range unshared_part(const struct pipe *p, size_t s, int k)
{
    const struct algo_range *cut = p->call->cut;
    struct algo_range r = part_of(p, s, k);
    int next = k + 1;
    while (cut && next < p->comm->n_ranks && cut[next].n == 0)
        next++;
    if (cut && r.n > 0 && next < p->comm->n_ranks && r.at + r.n > cut[next].at)
        r.n = cut[next].at - r.at;
    return r;
}

/* Calls `say` for the pieces of all members, or only for this rank's. */
static void tell(const struct pipe *p, size_t s, bool all,
                 void (*say)(const struct algo_flow *flow, size_t at, size_t n))
{
    const struct algo_set *set = &p->level[NODE].set;
    const int first = all ? 0 : set->me, last = all ? set->n - 1 : set->me;
    struct algo_range r = all ? unshared_part(p, s, first) : part_of(p, s, first);
    for (int k = first + 1; k <= last; k++) {
        const struct algo_range next = unshared_part(p, s, k);
        if (next.at == r.at + r.n) {
            r.n += next.n;
        } else {
            say(p->call->flow, r.at, r.n);
            r = next;
        }
    }
    say(p->call->flow, r.at, r.n);
}

static void advance(struct pipe *p, int stage)
{
    const size_t s = p->at[stage];
    switch (stage) {
    case MADE:
        tell(p, s, does(p, CODES), algo_need);
        break;
    case PARTED:
        add_codes(p, s);
        break;
    case SUMMED:
        add_nodes(p, s);
        break;
    case SPREAD:
        p->comm->count.rounds += p->level[NODE].set.n > 1 && p->level[ACROSS].set.n > 1;
        break;
    default:
        tell(p, s, does(p, RESULTS), algo_have);
    }
    p->at[stage]++;
}

static bool can_advance(const struct pipe *p, int stage)
{
    const size_t s = p->at[stage];
    if (stage == MADE)
        return s < p->posted;
    return s < p->at[stage - 1] &&
           comm_batch_done(p->comm, &p->mem.slots[s % WINDOW].in[stage - 1]);
}

/* Does first what other ranks wait for. Returns false if only a message can help. */
static bool work(struct pipe *p)
{
    static const int order[STAGES] = {SPREAD, SUMMED, PARTED, MADE, HAD};
    for (int i = 0; i < STAGES; i++)
        if (can_advance(p, order[i])) {
            advance(p, order[i]);
            return true;
        }
    return false;
}

/* ---- the whole ---- */

static int open_batches(struct pipe *p)
{
    size_t places[KINDS], at = 0;
    for (int kind = 0; kind < KINDS; kind++)
        places[kind] = does(p, kind) && p->level[level_of[kind]].set.n > 1
                           ? comm_batch_places(p->comm, most_of(p, kind))
                           : 0;
    for (size_t i = 0; i < WINDOW && i < p->n_segments; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t n = (size_t)(p->level[level_of[kind]].set.n - 1) * places[kind];
            p->mem.slots[i].in[kind] = (struct comm_batch){.at = at, .n_places = n};
            at += n;
        }
    for (int level = 0; level < LEVELS; level++)
        for (int i = 0; i < IN_FLIGHT; i++) {
            size_t most = 0;
            for (int kind = 0; kind < KINDS; kind++)
                most = level_of[kind] == level && places[kind] > most ? places[kind] : most;
            p->level[level].in_flight[i] = (struct comm_batch){.at = at, .n_places = most};
            at += most;
        }
    return comm_batches_begin(p->comm, at);
}

static bool all_sent(const struct pipe *p)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < p->level[level_of[kind]].set.n - 1; i++)
            if (p->sent[kind][i] < p->n_segments)
                return false;
    return true;
}

/* call->scratch may be on a GPU. */
static void lay_out_host_scratch(struct pipe *p)
{
    size_t *counts = (size_t *)p->comm->host_scratch + p->comm->n_ranks;
    p->parts = p->comm->host_scratch;
    for (int kind = 0; kind < KINDS; kind++) {
        const struct algo_set *set = &p->level[level_of[kind]].set;
        p->sent[kind] = counts;
        counts += set->n - 1;
        for (int by = 1; by < set->n; by++) {
            const int to = algo_rank(set, algo_around(set, by));
            p->sent[kind][by - 1] = gets(p, kind, to) ? 0 : p->n_segments;
        }
    }
    /* P pointers, and 2 (K - 1) + 2 (P/K - 1) < 2 P counters */
    static_assert(COMM_HOST_SCRATCH >= sizeof(uint8_t *) + 2 * sizeof(size_t),
                  "the scratch per rank is too small");
}

int algo_pipe_run(struct comm *c, const struct algo_call *call, int group, unsigned halves)
{
    struct pipe p = {.comm = c,
                     .call = call,
                     .op = algo_pipe_op(&call->op, group),
                     .level = {[NODE] = {.set = algo_node(c, group), .next = 1},
                               [ACROSS] = {.set = algo_across(c, group), .next = 1}},
                     .halves = halves};
    const bool codes = halves & ALGO_PIPE_REDUCE;
    assert(!call->cut == (halves == ALGO_PIPE_BOTH));
    if (group < c->n_ranks)
        p.form = algo_pipe_form(&p.op);
    p.n = call->cut ? algo_cut_longest(call->cut, c->n_ranks) * (size_t)c->n_ranks : call->n;
    p.each = algo_pipe_segment(&p.op, p.n, c->n_ranks, group, halves);
    p.n_segments = algo_pipe_segments(p.n, p.each);
    lay_out_host_scratch(&p);
    if (codes)
        lay_out(&p.op, p.n, p.each, c->n_ranks, group, call->scratch, &p.mem);
    TRY(open_batches(&p));
    for (;;) {
        TRY(exchange(&p));
        const bool worked = work(&p);
        if (!worked && p.at[HAD] == p.n_segments && all_sent(&p))
            break;
        if (!worked || p.n_segments > 1) /* with one segment, waiting is enough */
            TRY(comm_some(c, !worked));
    }
    return (halves & ALGO_PIPE_GATHER) && c->n_ranks > 1 ? comm_round(c) : comm_wait(c);
}
