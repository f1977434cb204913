/* slot_world.h : models a card's slots, jobs, ranks and a faulty network as states for search.h.
 * hls/card/slot.h, or a bad rule, decides a contribution's effect.
 *
 *     rank sends packet n --network--> card checks key, job, slot, source --FIFO-->
 *         key again, slot_take() --result--> rank has n
 *
 * The network keeps all packets ever sent, and may deliver each at any time, in any order,
 * repeatedly or never. It may also lose all at once; if no state is stuck after that, none is
 * after losing some. The FIFO does the same, which covers every real FIFO: one that runs empty has
 * lost all.
 *
 * A tag beside each sum records its content (epoch of the job and packet), unknown to the rules.
 * All descriptions are equal, as if checksums had collided. */
#ifndef SLOT_WORLD_H
#define SLOT_WORLD_H
#include "hls/card/slot.h"
#include "offload/window/window_inside.h"
#include "search.h"

enum { RANKS = 4, JOBS = 2, CELLS = 2, TAGS = 16, NO_KEY = 255, PONG_KINDS = PONG_LOST_STATE + 1 };
/* tags of a sum besides epoch * packets + n */
enum { TAG_FOREIGN = 200, TAG_OTHER_DESC, TAG_WRONG };
/* flags of a rank in a cell; rank.in_card */
enum { IN_BITMAP = 1, IN_SUM = 2, TO_SEND = 4, CELL_BITS = 3 };
enum { CELL_FILLING = 1, CELL_KEPT = 2, CELL_DESC = 4 };

/* row: receives the cell of the verdict's sum and kept result */
typedef enum slot_verdict slot_rule(struct slot *cells, unsigned cell, unsigned *row,
                                    unsigned n_ranks, unsigned rank, uint32_t chunk,
                                    struct slot_desc desc);

struct world_config {
    const char *what;
    enum search_verdict want;
    uint8_t ranks[JOBS];
    uint8_t packets; /* of each epoch; packet n is chunk n / slots of slot n % slots */
    uint8_t slots;   /* of a job; 1 if there are two jobs */
    uint8_t epochs;  /* registrations per job */
    uint8_t restarts;
    int8_t start;  /* of the first epoch; not 0: the chunk before it is done */
    bool fifo;     /* one between the checks and the slot */
    bool masks;    /* results are sent some time after the decision */
    bool pings;    /* ranks ask for a slot's state and use the answer */
    bool disagree; /* rank 1's packet 1 of the first epoch differs */
    /* one order of equal ranks represents all */
    bool sorted;
    slot_rule *rule; /* NULL: slot_take() */
    bool any_chunk, same_key, not_cleared, no_recheck, next_free, leaves, goes_on, any_range,
        any_source;
};

struct world_rank {
    uint8_t have;
    uint8_t epoch; /* the key it has */
    uint8_t abandoned;
    uint8_t in_card;
    uint8_t submitted, places; /* next_free: packets with a slot; bit n: packet n's slot */
    /* pings: latest answer in flight, 1 + PONG_KINDS * packet + enum pong_says; 0: none */
    uint8_t pong, zero;
    /* Bits of tags. In the network: contributions (sent), right and wrong results, refusals. In
     * the FIFO: waiting contributions. */
    uint16_t sent, right, wrong, refused, waiting;
};
struct world_cell {
    uint8_t flags;
    int8_t chunk;      /* mod 2^32 */
    uint8_t sum, kept; /* tags */
};
struct world_job {
    uint8_t epoch;           /* reached by the votes */
    uint8_t registered, key; /* epochs: rank 0's last registration; the card's key */
    uint8_t over;
};
struct world {
    struct world_cell cell[CELLS];
    struct world_job job[JOBS];
    uint8_t restarted, zero;
    struct world_rank rank[RANKS];
};

static inline int world_jobs(const struct world_config *c)
{
    return c->ranks[1] ? 2 : 1;
}
static inline int world_first(const struct world_config *c, int job)
{
    return job ? c->ranks[0] : 0;
}
static inline uint8_t world_all(const struct world_config *c)
{
    return (uint8_t)((1 << c->packets) - 1);
}
static inline int world_start(const struct world_config *c, int epoch)
{
    return epoch ? 0 : c->start;
}
static inline bool in_card(const struct world *w, int r, int cell, int what)
{
    return w->rank[r].in_card >> CELL_BITS * cell & what;
}
static inline void set_in_card(struct world *w, int r, int cell, int what, bool on)
{
    const uint8_t bits = (uint8_t)(what << CELL_BITS * cell);
    w->rank[r].in_card = (uint8_t)(on ? w->rank[r].in_card | bits : w->rank[r].in_card & ~bits);
}

static inline struct slot get_slot(const struct world_config *c, const struct world *w, int job,
                                   int cell)
{
    struct slot s = slot_registered();
    s.state = w->cell[cell].flags & CELL_FILLING ? SLOT_FILLING : SLOT_DONE;
    s.kept = w->cell[cell].flags & CELL_KEPT ? 1 : 0;
    s.desc.ops = w->cell[cell].flags & CELL_DESC ? 1 : 0;
    s.chunk = (uint32_t)w->cell[cell].chunk;
    s.bitmap = 0;
    for (int k = 0; k < c->ranks[job]; k++)
        s.bitmap |= (uint64_t)in_card(w, world_first(c, job) + k, cell, IN_BITMAP) << k;
    return s;
}
static inline void put_slot(const struct world_config *c, struct world *w, int job, int cell,
                            const struct slot *s)
{
    w->cell[cell].flags = (uint8_t)((s->state == SLOT_FILLING ? CELL_FILLING : 0) |
                                    (s->kept ? CELL_KEPT : 0) | (s->desc.ops ? CELL_DESC : 0));
    w->cell[cell].chunk = (int8_t)s->chunk;
    for (int k = 0; k < c->ranks[job]; k++)
        set_in_card(w, world_first(c, job) + k, cell, IN_BITMAP, s->bitmap >> k & 1);
}

/* Sets the cell's state after registration or, if the first chunk is not 0, after the previous
 * chunk. The sum's memory has arbitrary content. */
static inline void world_clear(const struct world_config *c, struct world *w, int job, int cell,
                               int start)
{
    struct slot s = slot_registered();
    s.chunk += (uint32_t)start;
    s.kept = start ? 1 : s.kept;
    s.bitmap = start ? slot_everyone(c->ranks[job]) : s.bitmap;
    w->cell[cell].sum = w->cell[cell].kept = TAG_WRONG;
    for (int k = 0; k < c->ranks[job]; k++)
        set_in_card(w, world_first(c, job) + k, cell, IN_SUM | TO_SEND, false);
    put_slot(c, w, job, cell, &s);
}
static inline int cells_of(const struct world_config *c)
{
    return c->ranks[1] ? 1 : CELLS;
}
static inline struct world world_start_state(const struct world_config *c)
{
    struct world w;
    memset(&w, 0, sizeof w);
    for (int j = 0; j < world_jobs(c); j++)
        for (int i = 0; i < cells_of(c); i++)
            world_clear(c, &w, j, j + i, c->start);
    return w;
}

static inline void place_of(const struct world_config *c, const struct world *w, int r, int n,
                            int *slot, int *use)
{
    *slot = n % c->slots;
    *use = n / c->slots;
    if (!c->next_free)
        return;
    *slot = w->rank[r].places >> n & 1;
    *use = 0;
    for (int k = 0; k < n; k++)
        *use += (w->rank[r].places >> k & 1) == *slot;
}
/* A right tag needs each rank once, all for one packet. */
static inline void add_tag(struct world *w, int row, int first, int last, int r, int tag,
                           bool overwrites)
{
    struct world_cell *cell = &w->cell[row];
    if (overwrites)
        cell->sum = (uint8_t)tag;
    else if (cell->sum != tag || in_card(w, r, row, IN_SUM))
        cell->sum = TAG_WRONG;
    for (int k = first; k < last && (overwrites || cell->sum == TAG_WRONG); k++)
        set_in_card(w, k, row, IN_SUM, false);
    if (cell->sum != TAG_WRONG)
        set_in_card(w, r, row, IN_SUM, true);
}

static inline void send_result(const struct world_config *c, struct world *w, int job, int r, int n,
                               int tag)
{
    const int as = w->job[job].key * c->packets + n;
    if (w->job[job].key == NO_KEY || n < 0 || n >= c->packets)
        return;
    if (tag == as)
        w->rank[r].right |= (uint16_t)(1 << as);
    else
        w->rank[r].wrong |= (uint16_t)(1 << as);
}
static inline int packet_at(const struct world_config *c, const struct world *w, int r, int slot,
                            int use)
{
    for (int n = 0; n < (c->next_free ? w->rank[r].submitted : c->packets); n++) {
        int s, u;
        place_of(c, w, r, n, &s, &u);
        if (s == slot && u == use)
            return n;
    }
    return -1;
}

/* sender: the job in the contribution's header, number: its rank there. */
static inline void world_touch(const struct world_config *c, struct world *w, int job, int sender,
                               int slot, int number, uint32_t chunk, int tag, uint64_t desc)
{
    struct slot cells[CELLS];
    const unsigned n_ranks = c->ranks[sender];
    const int owner = world_first(c, job), at = job + slot;
    for (int i = 0; i < CELLS; i++)
        cells[i] = get_slot(c, w, job, i);
    unsigned row = (unsigned)at;
    const struct slot_desc d = {desc, 0};
    enum slot_verdict v;
    if (c->rule)
        v = c->rule(cells, (unsigned)at, &row, n_ranks, (unsigned)number, chunk, d);
    else
        v = slot_take(&cells[at], n_ranks, (unsigned)number, chunk, d);
    for (int i = 0; i < CELLS; i++)
        put_slot(c, w, job, i, &cells[i]);

    const int r = owner + number, use = (int)chunk - world_start(c, w->job[job].key);
    struct world_cell *cell = &w->cell[row];
    if (v == SLOT_BAD_DESC)
        w->rank[r].refused |=
            (uint16_t)(1 << (w->job[job].key * c->packets + packet_at(c, w, r, slot, use)));
    if (v <= SLOT_ADD_ONLY)
        add_tag(w, (int)row, owner, owner + c->ranks[job], r, tag,
                v == SLOT_ADD_FIRST || v == SLOT_ADD_ONLY);
    const bool last = v == SLOT_ADD_LAST || v == SLOT_ADD_ONLY;
    if (last) {
        cell->kept = cell->sum;
        for (int k = owner; k < owner + c->ranks[job]; k++)
            if (!in_card(w, k, (int)row, IN_SUM))
                cell->kept = TAG_WRONG;
    }
    for (int k = owner; k < owner + c->ranks[job] && (last || v == SLOT_RESEND); k++) {
        if ((!last && k != r) || sender != job) /* another job's rank cannot use it */
            continue;
        if (c->masks)
            set_in_card(w, k, (int)row, TO_SEND, true);
        else
            send_result(c, w, job, k, packet_at(c, w, k, slot, use), cell->kept);
    }
}

static inline bool outstanding(const struct world_config *c, const struct world *w, int r, int n)
{
    const int before = n - c->slots, have = w->rank[r].have;
    if (have >> n & 1)
        return false;
    return c->next_free ? n < w->rank[r].submitted : before < 0 || have >> before & 1;
}
static inline bool active(const struct world *w, int job, int r)
{
    return !w->job[job].over && !w->rank[r].abandoned && w->rank[r].epoch == w->job[job].epoch;
}
static inline bool complete(const struct world_config *c, const struct world *w, int job, int r)
{
    return w->rank[r].epoch == w->job[job].epoch && w->rank[r].have == world_all(c);
}
static inline bool world_goal(const void *arg, const void *state)
{
    const struct world_config *c = arg;
    const struct world *w = state;
    for (int j = 0; j < world_jobs(c); j++)
        for (int r = world_first(c, j); r < world_first(c, j) + c->ranks[j]; r++)
            if (!w->job[j].over && !complete(c, w, j, r))
                return false;
    return true;
}

#endif
