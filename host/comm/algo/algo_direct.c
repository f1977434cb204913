/* algo_direct.c : all-reduces by sending range r of all ranks straight to rank r, which adds it in
 * rank order and sends the sum to all ranks. Segments of long vectors form a pipeline:
 *
 *     segment s:   need -> codes to their ranks -> sum -> sums to all -> have
 *
 * A single half (algo.h) has one kind of message; its segments are pieces of each rank's range.
 *
 * If all ranks send to all at once, several flows meet at one port while other ports are idle. A
 * rank therefore sends short messages to the others in turn, beginning with its next neighbour.
 * While ranks keep pace, every port has one sender and one receiver; otherwise IN_FLIGHT messages
 * hide the gaps. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"
#include <assert.h>

enum {
    /* least bytes of a message, except in the last segment; shorter ones do not pay */
    MESSAGE_MIN = 30 * 1024,
    /* Open MPI sends up to 64 KiB over TCP, headers included, without a handshake. */
    MESSAGE_MAX = 60 * 1024,
    /* The cast of the first segment and the decoding of the last overlap with nothing. */
    SEGMENTS = 8,
    WINDOW = 8,    /* segments in progress */
    IN_FLIGHT = 4, /* messages */
};

enum { CODES, SUMS, N_KINDS };

struct slot {
    struct comm_batch in[N_KINDS];
    uint8_t *store; /* [P - 1 ranges] codes from other ranks */
};

struct layout {
    void *acc;
    struct slot slots[WINDOW];
};

struct pipe {
    struct comm *comm;
    const struct algo_call *call;
    struct algo_set all;
    bool does[N_KINDS]; /* halves to run */
    struct layout mem;
    const uint8_t **parts; /* [P] of the segment being added */
    size_t *sent[N_KINDS]; /* [P] index d: segments sent to rank + d */
    size_t each;           /* elements, except in the last segment */
    size_t n_segments;
    /* segments: receives posted, own codes made, codes summed, all sums received */
    size_t posted, made, summed, had;
    struct comm_batch in_flight[IN_FLIGHT];
    int next; /* distance to the next rank to send to */
};

/* Return a segment's elements, a multiple of n_ranks units. codes: true if codes travel, not only
 * sums. */
static size_t segment_n(const struct reduce_op *f, size_t n, int n_ranks, bool codes)
{
    const size_t in = codes ? f->ops->in_bytes(f, f->unit) : 0, out = f->ops->out_bytes(f, f->unit);
    const size_t unit_bytes = in > out ? in : out, all_bytes = n / f->unit * unit_bytes;
    size_t message = all_bytes / (size_t)n_ranks / SEGMENTS;
    message = message < MESSAGE_MIN ? MESSAGE_MIN : message > MESSAGE_MAX ? MESSAGE_MAX : message;
    return (unit_bytes < message ? message / unit_bytes : 1) * f->unit * (size_t)n_ranks;
}

static size_t count_segments(size_t n, size_t each)
{
    return n > each ? (n + each - 1) / each : 1;
}

static struct algo_range slice(struct algo_range r, size_t s, size_t each)
{
    const size_t skip = s * each < r.n ? s * each : r.n, left = r.n - skip;
    return (struct algo_range){.at = r.at + skip, .n = left < each ? left : each};
}

static struct algo_range piece(const struct pipe *p, size_t s, int i)
{
    const struct algo_range whole = {.n = p->call->n};
    const size_t unit = p->call->op.unit;
    if (p->does[CODES] && p->does[SUMS])
        return algo_part(slice(whole, s, p->each), unit, p->all.n, i);
    return slice(algo_part(whole, unit, p->all.n, i), s, p->each / (size_t)p->all.n);
}

static size_t place_of(const struct pipe *p, enum algo_form form, struct algo_range r)
{
    return algo_place(&p->call->op, form, r.at);
}
static size_t bytes_of(const struct pipe *p, enum algo_form form, struct algo_range r)
{
    return algo_place(&p->call->op, form, r.at + r.n) - place_of(p, form, r);
}

static size_t most_of(const struct pipe *p, enum algo_form form)
{
    return algo_bytes(&p->call->op, form, piece(p, 0, 0).n);
}

static size_t lay_out(const struct reduce_op *f, size_t n, int n_ranks, void *scratch,
                      struct layout *l)
{
    const size_t each = segment_n(f, n, n_ranks, true), n_slots = count_segments(n, each);
    const struct algo_cut longest = {
        .op = f, .form = ALGO_IN, .whole = {.n = n < each ? n : each}, .n_parts = n_ranks};
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    for (size_t i = 0; i < WINDOW && i < n_slots; i++)
        l->slots[i].store = algo_take(&a, (size_t)(n_ranks - 1) * algo_cut_most(&longest));
    return a.used;
}

static size_t direct_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)group;
    struct layout l;
    return lay_out(f, n, n_ranks, NULL, &l);
}

static int around(const struct pipe *p, int by)
{
    return (p->all.me + by + p->all.n) % p->all.n;
}

static uint8_t *store_of(const struct pipe *p, const struct slot *slot, int by)
{
    return slot->store + (size_t)(by - 1) * most_of(p, ALGO_IN);
}

/* Post receives of both kinds before this rank sends any part of the segment. */
static int post(struct pipe *p, size_t s)
{
    struct slot *slot = &p->mem.slots[s % WINDOW];
    const struct algo_range mine = piece(p, s, p->all.me);
    slot->in[CODES].used = slot->in[SUMS].used = 0;
    for (int by = 1; by < p->all.n; by++) {
        const int from = around(p, -by);
        const struct algo_range theirs = piece(p, s, from);
        if (p->does[CODES])
            TRY(comm_batch_recv(p->comm, &slot->in[CODES], COMM_TAG_DATA, from,
                                store_of(p, slot, by), bytes_of(p, ALGO_IN, mine)));
        if (p->does[SUMS])
            TRY(comm_batch_recv(p->comm, &slot->in[SUMS], COMM_TAG_SUM, from,
                                p->call->result + place_of(p, ALGO_OUT, theirs),
                                bytes_of(p, ALGO_OUT, theirs)));
    }
    return 0;
}

static void sum_codes(struct pipe *p, size_t s)
{
    const struct slot *slot = &p->mem.slots[s % WINDOW];
    const struct algo_range mine = piece(p, s, p->all.me);
    p->parts[p->all.me] = p->call->codes + place_of(p, ALGO_IN, mine);
    for (int by = 1; by < p->all.n; by++)
        p->parts[around(p, -by)] = store_of(p, slot, by);
    algo_add_parts(&p->call->op, mine, ALGO_IN, p->parts, p->all.n, p->mem.acc, ALGO_OUT,
                   p->call->result + place_of(p, ALGO_OUT, mine));
    p->comm->count.rounds += p->all.n > 1;
}

static struct comm_batch *free_flight(struct pipe *p)
{
    for (int i = 0; i < IN_FLIGHT; i++)
        if (comm_batch_done(p->comm, &p->in_flight[i])) {
            p->in_flight[i].used = 0;
            return &p->in_flight[i];
        }
    return NULL;
}

/* Send sums first, since other ranks wait for them. */
static int send_one(struct pipe *p)
{
    struct comm_batch *flight = free_flight(p);
    for (int tries = 1; tries < p->all.n && flight; tries++) {
        const int by = p->next, to = around(p, by);
        p->next = by + 1 < p->all.n ? by + 1 : 1;
        size_t *sums = &p->sent[SUMS][by], *codes = &p->sent[CODES][by];
        if (*sums < p->summed) {
            const struct algo_range mine = piece(p, (*sums)++, p->all.me);
            TRY(comm_batch_send(p->comm, flight, COMM_TAG_SUM, to,
                                p->call->result + place_of(p, ALGO_OUT, mine),
                                bytes_of(p, ALGO_OUT, mine)));
            return 1;
        }
        if (*codes < p->made) {
            const struct algo_range theirs = piece(p, (*codes)++, to);
            TRY(comm_batch_send(p->comm, flight, COMM_TAG_DATA, to,
                                p->call->codes + place_of(p, ALGO_IN, theirs),
                                bytes_of(p, ALGO_IN, theirs)));
            return 1;
        }
    }
    return 0;
}

static bool have_come(const struct pipe *p, size_t s, int kind)
{
    return comm_batch_done(p->comm, &p->mem.slots[s % WINDOW].in[kind]);
}

static int exchange(struct pipe *p)
{
    for (; p->posted < p->n_segments && p->posted < p->had + WINDOW; p->posted++)
        TRY(post(p, p->posted));
    int sent;
    do
        sent = send_one(p);
    while (sent > 0);
    return sent;
}

static void tell(const struct pipe *p, size_t s, bool all,
                 void (*say)(const struct algo_flow *flow, size_t at, size_t n))
{
    const int first = all ? 0 : p->all.me, last = all ? p->all.n - 1 : p->all.me;
    if (!p->call->flow)
        return;
    struct algo_range r = piece(p, s, first);
    for (int i = first + 1; i <= last; i++) {
        const struct algo_range next = piece(p, s, i);
        if (next.at == r.at + r.n) {
            r.n += next.n;
        } else {
            say(p->call->flow, r.at, r.n);
            r = next;
        }
    }
    say(p->call->flow, r.at, r.n);
}

/* Do one piece of work, first what other ranks wait for. Returns false if there is none before a
 * message comes. */
static bool work(struct pipe *p)
{
    if (p->summed < p->made && have_come(p, p->summed, CODES)) {
        if (p->does[CODES])
            sum_codes(p, p->summed);
        p->summed++;
    } else if (p->made < p->posted) {
        tell(p, p->made++, p->does[CODES], algo_need);
    } else if (p->had < p->summed && have_come(p, p->had, SUMS)) {
        tell(p, p->had++, p->does[SUMS], algo_have);
    } else {
        return false;
    }
    return true;
}

static int open_batches(struct pipe *p)
{
    const size_t places[N_KINDS] = {
        p->does[CODES] ? comm_batch_places(p->comm, most_of(p, ALGO_IN)) : 0,
        p->does[SUMS] ? comm_batch_places(p->comm, most_of(p, ALGO_OUT)) : 0};
    size_t at = 0;
    for (size_t i = 0; i < WINDOW && i < p->n_segments; i++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            const size_t n = (size_t)(p->all.n - 1) * places[kind];
            p->mem.slots[i].in[kind] = (struct comm_batch){.at = at, .n_places = n};
            at += n;
        }
    for (int i = 0; i < IN_FLIGHT; i++) {
        p->in_flight[i] = (struct comm_batch){
            .at = at, .n_places = places[CODES] > places[SUMS] ? places[CODES] : places[SUMS]};
        at += p->in_flight[i].n_places;
    }
    return comm_batches_begin(p->comm, at);
}

static bool all_sent(const struct pipe *p)
{
    for (int by = 1; by < p->all.n; by++)
        if (p->sent[SUMS][by] < p->n_segments || p->sent[CODES][by] < p->n_segments)
            return false;
    return true;
}

/* call->scratch may be on a GPU. */
static void lay_out_host_scratch(struct pipe *p)
{
    p->parts = p->comm->host_scratch;
    for (int kind = 0; kind < N_KINDS; kind++)
        p->sent[kind] = (size_t *)p->comm->host_scratch + (1 + kind) * p->all.n;
    static_assert(COMM_HOST_SCRATCH >= sizeof(uint8_t *) + N_KINDS * sizeof(size_t),
                  "the book is too small");
}

static int run_pipe(struct comm *c, const struct algo_call *call, bool codes, bool sums)
{
    struct pipe p = {.comm = c, .call = call, .all = algo_all(c), .does = {codes, sums}, .next = 1};
    lay_out_host_scratch(&p);
    if (codes)
        lay_out(&call->op, call->n, p.all.n, call->scratch, &p.mem);
    p.each = segment_n(&call->op, call->n, p.all.n, codes);
    p.n_segments = count_segments(call->n, p.each);
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int by = 0; by < p.all.n; by++)
            p.sent[kind][by] = p.does[kind] ? 0 : p.n_segments;
    TRY(open_batches(&p));
    for (;;) {
        TRY(exchange(&p));
        const bool worked = work(&p);
        if (!worked && p.had == p.n_segments && all_sent(&p))
            break;
        if (!worked || p.n_segments > 1) /* with one segment, waiting is enough */
            TRY(comm_some(c, !worked));
    }
    return sums && p.all.n > 1 ? comm_round(c) : comm_wait(c);
}

static int direct_run(struct comm *c, const struct algo_call *call)
{
    return run_pipe(c, call, true, true);
}
static int direct_reduce_scatter(struct comm *c, const struct algo_call *call)
{
    return run_pipe(c, call, true, false);
}
static int direct_allgather(struct comm *c, const struct algo_call *call)
{
    return run_pipe(c, call, false, true);
}

/* Segments travel at the same time, so their number does not change the number of phases. */
static int direct_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                         struct algo_phase *phases)
{
    const struct algo_cut in = {.op = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = n_ranks};
    const struct algo_cut out = {.op = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = n_ranks};
    const int segments = (int)count_segments(n, segment_n(f, n, n_ranks, true));
    struct algo_phase phase[] = {algo_phase_all(&in, true), algo_phase_all(&out, false)};
    int n_phases = 0;
    (void)group;
    for (int i = 0; i < 2; i++) {
        phase[i].n_sent *= segments;
        phase[i].n_got = phase[i].n_sent;
        n_phases = algo_phase_add(phases, n_phases, phase[i], false);
    }
    return n_phases;
}

const struct algo algo_direct = {
    .name = "direct",
    .help = "rank r adds part r in rank order and sends the sum to all: 2 rounds",
    .flows = true,
    .scratch_bytes = direct_scratch_bytes,
    .run = direct_run,
    .reduce_scatter = direct_reduce_scatter,
    .allgather = direct_allgather,
    .phases = direct_phases,
    .by_nccl = &algo_direct_nccl,
    .by_ipc = &algo_direct_ipc,
    .device_codes = true,
};
