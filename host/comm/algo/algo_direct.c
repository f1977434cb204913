/* algo_direct.c : range r of all ranks goes straight to rank r, which adds in rank order and sends
 * the sum to all.
 *
 * A rank sends its codes but for its own range, and P - 1 times its range of the sum: the bytes of
 * a ring. Long vectors are cut into segments that follow each other, each as fast as its messages
 * come:
 *
 *     segment s:   need -> codes to their ranks -> fold -> sums to all -> have
 *
 * so while codes of one segment travel, another one is cast, a third one added, and sums of a
 * fourth one travel back.
 *
 * All ranks sending to all at once is what networks do worst: where three flows meet at one port
 * two others stand idle. So a rank serves the others in turn, a short message each, beginning with
 * its next neighbour: as long as ranks keep pace every port has one sender and one receiver, and
 * where they do not, FLIGHTS messages under way hide it. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"
#include <assert.h>

enum {
    /* bytes of a message but for the last ones: what is shorter is not worth cutting */
    MESSAGE_MIN = 30 * 1024,
    /* Open MPI sends up to 64 KiB over TCP, with headers, without asking first */
    MESSAGE_MAX = 60 * 1024,
    /* of a vector that is long enough: the first and the last one travel alone */
    SEGMENTS = 8,
    WINDOW = 8,  /* segments under way; each has a slot */
    FLIGHTS = 4, /* messages this rank sends at a time */
};

enum { CODES, SUMS, N_KINDS }; /* what a message is */

struct slot {
    struct comm_lot in[N_KINDS]; /* messages of the others */
    uint8_t *store;              /* [P - 1 ranges] their codes */
};

struct layout {
    void *acc;
    struct slot slots[WINDOW];
};

struct pipe {
    struct comm *comm;
    const struct algo_call *call;
    struct algo_set all;
    struct layout mem;
    const uint8_t **parts; /* [P] of the segment that is added */
    size_t *sent[N_KINDS]; /* [P] segments sent to the rank that many places on */
    size_t n_segments;
    /* segments: receives posted, own codes there, summed, all sums there */
    size_t posted, made, folded, had;
    struct comm_lot flights[FLIGHTS];
    int next; /* who is sent to next: the rank that many places on */
};

/* Elements of a segment but the last. */
static size_t segment_n(const struct fold *f, size_t n, int n_ranks)
{
    const size_t in = f->ops->in_bytes(f, f->unit), out = f->ops->out_bytes(f, f->unit);
    const size_t unit_bytes = in > out ? in : out, all_bytes = n / f->unit * unit_bytes;
    size_t message = all_bytes / (size_t)n_ranks / SEGMENTS;
    message = message < MESSAGE_MIN ? MESSAGE_MIN : message > MESSAGE_MAX ? MESSAGE_MAX : message;
    return (unit_bytes < message ? message / unit_bytes : 1) * f->unit * (size_t)n_ranks;
}

static size_t count_segments(const struct fold *f, size_t n, int n_ranks)
{
    const size_t each = segment_n(f, n, n_ranks);
    return n > each ? (n + each - 1) / each : 1;
}

static struct algo_range segment(const struct pipe *p, size_t s)
{
    const size_t each = segment_n(&p->call->fold, p->call->n, p->all.n), at = s * each,
                 left = p->call->n - at;
    return (struct algo_range){.at = at, .n = left < each ? left : each};
}

/* Segment s in one form, cut for all ranks, and where it lies in a vector of that form. */
static struct algo_cut cut_of(const struct pipe *p, size_t s, enum algo_form form)
{
    return (struct algo_cut){
        .fold = &p->call->fold, .form = form, .whole = segment(p, s), .n_parts = p->all.n};
}
static size_t place_of(const struct pipe *p, const struct algo_cut *cut, int i)
{
    return algo_place(&p->call->fold, cut->form, algo_cut_range(cut, i).at);
}

static size_t lay_out(const struct fold *f, size_t n, int n_ranks, void *scratch, struct layout *l)
{
    const size_t each = segment_n(f, n, n_ranks), n_slots = count_segments(f, n, n_ranks);
    const struct algo_cut longest = {
        .fold = f, .form = ALGO_IN, .whole = {.n = n < each ? n : each}, .n_parts = n_ranks};
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    for (size_t i = 0; i < WINDOW && i < n_slots; i++)
        l->slots[i].store = algo_take(&a, (size_t)(n_ranks - 1) * algo_cut_most(&longest));
    return a.used;
}

static size_t direct_scratch_bytes(const struct fold *f, size_t n, int n_ranks, int group)
{
    (void)group;
    struct layout l;
    return lay_out(f, n, n_ranks, NULL, &l);
}

static int around(const struct pipe *p, int by)
{
    return (p->all.me + by + p->all.n) % p->all.n;
}

/* Takes a slot for segment s: receives of both kinds, before anybody sends. */
static int post(struct pipe *p, size_t s)
{
    struct slot *slot = &p->mem.slots[s % WINDOW];
    const struct algo_cut in = cut_of(p, s, ALGO_IN), out = cut_of(p, s, ALGO_OUT);
    slot->in[CODES].used = slot->in[SUMS].used = 0;
    for (int by = 1; by < p->all.n; by++) {
        const int from = around(p, -by);
        TRY(comm_lot_recv(p->comm, &slot->in[CODES], COMM_TAG_DATA, from,
                          slot->store + (size_t)(by - 1) * algo_cut_most(&in),
                          algo_cut_bytes(&in, p->all.me)));
        TRY(comm_lot_recv(p->comm, &slot->in[SUMS], COMM_TAG_SUM, from,
                          p->call->result + place_of(p, &out, from), algo_cut_bytes(&out, from)));
    }
    return 0;
}

/* The sum of this rank's range of segment s. */
static void fold(struct pipe *p, size_t s)
{
    const struct slot *slot = &p->mem.slots[s % WINDOW];
    const struct algo_cut in = cut_of(p, s, ALGO_IN), out = cut_of(p, s, ALGO_OUT);
    p->parts[p->all.me] = p->call->codes + place_of(p, &in, p->all.me);
    for (int by = 1; by < p->all.n; by++)
        p->parts[around(p, -by)] = slot->store + (size_t)(by - 1) * algo_cut_most(&in);
    algo_fold(&p->call->fold, algo_cut_range(&in, p->all.me), ALGO_IN, p->parts, p->all.n,
              p->mem.acc, ALGO_OUT, p->call->result + place_of(p, &out, p->all.me));
    p->comm->count.rounds += p->all.n > 1;
}

static struct comm_lot *free_flight(struct pipe *p)
{
    for (int i = 0; i < FLIGHTS; i++)
        if (comm_lot_done(p->comm, &p->flights[i])) {
            p->flights[i].used = 0;
            return &p->flights[i];
        }
    return NULL;
}

/* Sends one message to the rank whose turn it is: a sum if there is one, since others wait for it,
 * or codes. */
static int send_one(struct pipe *p)
{
    struct comm_lot *flight = free_flight(p);
    for (int tries = 1; tries < p->all.n && flight; tries++) {
        const int by = p->next, to = around(p, by);
        p->next = by + 1 < p->all.n ? by + 1 : 1;
        size_t *sums = &p->sent[SUMS][by], *codes = &p->sent[CODES][by];
        if (*sums < p->folded) {
            const struct algo_cut out = cut_of(p, (*sums)++, ALGO_OUT);
            TRY(comm_lot_send(p->comm, flight, COMM_TAG_SUM, to,
                              p->call->result + place_of(p, &out, p->all.me),
                              algo_cut_bytes(&out, p->all.me)));
            return 1;
        }
        if (*codes < p->made) {
            const struct algo_cut in = cut_of(p, (*codes)++, ALGO_IN);
            TRY(comm_lot_send(p->comm, flight, COMM_TAG_DATA, to,
                              p->call->codes + place_of(p, &in, to), algo_cut_bytes(&in, to)));
            return 1;
        }
    }
    return 0;
}

static bool have_come(const struct pipe *p, size_t s, int kind)
{
    return comm_lot_done(p->comm, &p->mem.slots[s % WINDOW].in[kind]);
}

/* Posts and sends all it can. */
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

/* Adds or casts one segment, what others wait for first. False: there is none until a message
 * comes. */
static bool work(struct pipe *p)
{
    if (p->folded < p->made && have_come(p, p->folded, CODES)) {
        fold(p, p->folded++);
    } else if (p->made < p->posted) {
        const struct algo_range r = segment(p, p->made++);
        algo_need(p->call->flow, r.at, r.n);
    } else if (p->had < p->folded && have_come(p, p->had, SUMS)) {
        const struct algo_range r = segment(p, p->had++);
        algo_have(p->call->flow, r.at, r.n);
    } else {
        return false;
    }
    return true;
}

static int open_lots(struct pipe *p)
{
    const struct algo_cut in = cut_of(p, 0, ALGO_IN), out = cut_of(p, 0, ALGO_OUT);
    const size_t places[N_KINDS] = {comm_lot_places(p->comm, algo_cut_most(&in)),
                                    comm_lot_places(p->comm, algo_cut_most(&out))};
    size_t at = 0;
    for (size_t i = 0; i < WINDOW && i < p->n_segments; i++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            const size_t n = (size_t)(p->all.n - 1) * places[kind];
            p->mem.slots[i].in[kind] = (struct comm_lot){.at = at, .n_places = n};
            at += n;
        }
    for (int i = 0; i < FLIGHTS; i++) {
        p->flights[i] = (struct comm_lot){
            .at = at, .n_places = places[CODES] > places[SUMS] ? places[CODES] : places[SUMS]};
        at += p->flights[i].n_places;
    }
    return comm_lots_begin(p->comm, at);
}

static bool all_sent(const struct pipe *p)
{
    for (int by = 1; by < p->all.n; by++)
        if (p->sent[SUMS][by] < p->n_segments || p->sent[CODES][by] < p->n_segments)
            return false;
    return true;
}

/* Pointers and counters lie where the CPU reads them, whatever memory scratch is. */
static void lay_out_book(struct pipe *p)
{
    p->parts = p->comm->book;
    for (int kind = 0; kind < N_KINDS; kind++)
        p->sent[kind] = (size_t *)p->comm->book + (1 + kind) * p->all.n;
    static_assert(COMM_BOOK >= sizeof(uint8_t *) + N_KINDS * sizeof(size_t),
                  "the book is too small");
}

static int direct_run(struct comm *c, const struct algo_call *call)
{
    struct pipe p = {.comm = c, .call = call, .all = algo_all(c), .next = 1};
    lay_out_book(&p);
    lay_out(&call->fold, call->n, p.all.n, call->scratch, &p.mem);
    p.n_segments = count_segments(&call->fold, call->n, p.all.n);
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int by = 0; by < p.all.n; by++)
            p.sent[kind][by] = 0;
    TRY(open_lots(&p));
    for (;;) {
        TRY(exchange(&p));
        const bool worked = work(&p);
        if (!worked && p.had == p.n_segments && all_sent(&p))
            break;
        if (!worked || p.n_segments > 1) /* one segment has no others to move on */
            TRY(comm_some(c, !worked));
    }
    return p.all.n > 1 ? comm_round(c) : comm_wait(c); /* until the last messages are gone */
}

/* Two steps however many segments follow each other: while one is waited for, others travel. */
static int direct_legs(const struct fold *f, size_t n, int n_ranks, int group,
                       struct algo_leg *legs)
{
    const struct algo_cut in = {.fold = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = n_ranks};
    const struct algo_cut out = {
        .fold = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = n_ranks};
    struct algo_leg leg[] = {algo_leg_all(&in, true), algo_leg_all(&out, false)};
    int n_legs = 0;
    (void)group;
    for (int i = 0; i < 2; i++) {
        leg[i].n_sent *= (int)count_segments(f, n, n_ranks);
        leg[i].n_got = leg[i].n_sent;
        n_legs = algo_leg_add(legs, n_legs, leg[i], false);
    }
    return n_legs;
}

const struct algo algo_direct = {
    .name = "direct",
    .help = "range r to rank r, which adds in rank order and sends the sum to all: 2 rounds",
    .flows = true,
    .scratch_bytes = direct_scratch_bytes,
    .run = direct_run,
    .legs = direct_legs,
    .by_nccl = &algo_direct_nccl,
    .by_ipc = &algo_direct_ipc,
    .device_codes = true,
};
