/* test_slot_search.c : searches all states of the slot machine and of job registration under any
 * network, timers and card failure: no rank accepts a wrong sum or is stuck, except by rules
 * known to be bad. */
#include "check.h"
#include "slot_world.h"
#include "slot_rules.h"
#include <stddef.h>

/* One order of a job's ranks represents all. */
static void sort_ranks(const struct world_config *c, struct world *w)
{
    for (int j = 0; j < world_jobs(c); j++)
        for (int i = world_first(c, j), n = i + c->ranks[j]; i < n; i++)
            for (int k = i + 1; k < n; k++)
                if (memcmp(&w->rank[i], &w->rank[k], sizeof *w->rank) > 0) {
                    const struct world_rank x = w->rank[i];
                    w->rank[i] = w->rank[k];
                    w->rank[k] = x;
                }
}

#define TO(s, c, w, ...)              \
    do {                              \
        if ((c)->sorted)              \
            sort_ranks(c, w);         \
        search_to(s, w, __VA_ARGS__); \
    } while (0)

static bool key_good(const struct world_config *c, const struct world *w, int job, int epoch)
{
    return w->job[job].key != NO_KEY && (w->job[job].key == epoch || c->same_key);
}

static void touch(struct search *s, const struct world_config *c, const struct world *from, int j,
                  int r, int tag, const char *how)
{
    struct world w = *from;
    const bool other = c->disagree && r == 1 && tag == 1;
    const int epoch = tag / c->packets;
    int slot, use;
    place_of(c, &w, r, tag % c->packets, &slot, &use);
    world_touch(c, &w, j, j, slot, r - world_first(c, j), (uint32_t)(world_start(c, epoch) + use),
                other ? TAG_OTHER_DESC : tag, other);
    TO(s, c, &w, "%s rank %d's contribution %d.%d", how, r, epoch, tag % c->packets);
}

static void frames(struct search *s, const struct world_config *c, const struct world *from, int j,
                   int r)
{
    const struct world_rank *rank = &from->rank[r];
    for (int tag = 0; tag < c->packets * c->epochs; tag++) {
        const int epoch = tag / c->packets;
        if (rank->sent >> tag & 1 && key_good(c, from, j, epoch)) {
            if (!c->fifo) {
                touch(s, c, from, j, r, tag, "the card gets");
            } else {
                struct world w = *from;
                w.rank[r].waiting |= (uint16_t)(1 << tag);
                TO(s, c, &w, "the FIFO gets rank %d's contribution %d.%d", r, epoch,
                   tag % c->packets);
            }
        }
        if (rank->waiting >> tag & 1 && (c->no_recheck || key_good(c, from, j, epoch)))
            touch(s, c, from, j, r, tag, "the slot gets");
    }
}

static void results(struct search *s, const struct world_config *c, const struct world *from, int j,
                    int r)
{
    const struct world_rank *rank = &from->rank[r];
    for (int tag = 0; tag < c->packets * c->epochs && active(from, j, r); tag++) {
        const int epoch = tag / c->packets, of = tag % c->packets;
        const bool right = rank->right >> tag & 1, wrong = rank->wrong >> tag & 1;
        if ((!right && !wrong) || (epoch != rank->epoch && !c->same_key))
            continue;
        for (int n = 0; n < c->packets; n++) {
            if (!outstanding(c, from, r, n) ||
                (n != of && !(c->any_chunk && n % c->slots == of % c->slots)))
                continue;
            if (wrong || epoch != rank->epoch || n != of) {
                search_bad(s, "rank %d accepts as sum %d.%d what is not", r, rank->epoch, n);
                continue;
            }
            struct world w = *from;
            w.rank[r].have |= (uint8_t)(1 << n);
            TO(s, c, &w, "rank %d accepts sum %d.%d", r, rank->epoch, n);
        }
    }
}

static void sends(struct search *s, const struct world_config *c, const struct world *from, int j,
                  int r)
{
    for (int n = 0; n < c->packets && active(from, j, r); n++) {
        struct world w = *from;
        if (!outstanding(c, from, r, n))
            continue;
        w.rank[r].sent |= (uint16_t)(1 << (from->rank[r].epoch * c->packets + n));
        TO(s, c, &w, "rank %d sends contribution %d.%d", r, from->rank[r].epoch, n);
    }
    for (int i = 0; i < c->slots; i++) {
        struct world w = *from;
        const struct world_cell *cell = &w.cell[j + i];
        const int use = cell->chunk - (cell->flags & CELL_FILLING) - world_start(c, w.job[j].key);
        if (!in_card(from, r, j + i, TO_SEND))
            continue;
        set_in_card(&w, r, j + i, TO_SEND, false);
        if (cell->flags & CELL_KEPT)
            send_result(c, &w, j, r, packet_at(c, &w, r, i, use), cell->kept);
        TO(s, c, &w, "the card sends rank %d result %d.%d", r, w.job[j].key, use);
    }
    for (int slot = 0; slot < c->slots && c->next_free && from->rank[r].submitted < c->packets;
         slot++) {
        struct world w = *from;
        const int n = w.rank[r].submitted;
        bool is_free = true;
        for (int k = 0; k < n; k++)
            is_free = is_free && ((w.rank[r].places >> k & 1) != slot || w.rank[r].have >> k & 1);
        if (!is_free)
            continue;
        w.rank[r].submitted++;
        w.rank[r].places |= (uint8_t)(slot << n);
        TO(s, c, &w, "rank %d has slot %d free for contribution %d", r, slot, n);
        break;
    }
}

/* The rank may use the answer later. */
static void pongs(struct search *s, const struct world_config *c, const struct world *from, int j,
                  int r)
{
    const struct world_rank *rank = &from->rank[r];
    for (int n = 0; n < c->packets && c->pings && active(from, j, r); n++) {
        struct world w = *from;
        int slot, use;
        if (!outstanding(c, from, r, n) || !key_good(c, from, j, rank->epoch))
            continue;
        place_of(c, from, r, n, &slot, &use);
        const struct slot cell = get_slot(c, from, j, j + slot);
        const uint32_t state = cell.state == SLOT_FILLING ? PKT_PONG_FILLING
                               : cell.kept                ? PKT_PONG_KEPT
                                                          : PKT_PONG_EMPTY;
        const int start = world_start(c, rank->epoch);
        const enum pong_says says =
            pong_says(state, cell.chunk, cell.bitmap >> (r - world_first(c, j)) & 1,
                      (uint32_t)(start + use), !start && !use);
        w.rank[r].pong = (uint8_t)(1 + PONG_KINDS * n + (int)says);
        TO(s, c, &w, "the card answers rank %d's ping about %d.%d: %d", r, rank->epoch, n, says);
    }
    if (!rank->pong || !active(from, j, r))
        return;
    struct world w = *from;
    const int n = (rank->pong - 1) / PONG_KINDS;
    const enum pong_says says = (enum pong_says)((rank->pong - 1) % PONG_KINDS);
    w.rank[r].pong = 0;
    if (outstanding(c, from, r, n) && says == PONG_SEND_AGAIN)
        w.rank[r].sent |= (uint16_t)(1 << (rank->epoch * c->packets + n));
    if (outstanding(c, from, r, n) && says == PONG_LOST_STATE) {
        if (!from->restarted)
            search_bad(s, "rank %d gives up a card that has lost nothing", r);
        w.rank[r].abandoned = 1;
    }
    TO(s, c, &w, "rank %d hears about %d.%d: %d", r, rank->epoch, n, says);
}

/* All ranks vote that a step has failed; rank 0 registers the job again with a new key. */
static void gives_up(struct search *s, const struct world_config *c, const struct world *from,
                     int j, int r)
{
    const struct world_job *job = &from->job[j];
    struct world w = *from;
    bool reason = job->epoch + 1 < c->epochs || from->rank[r].refused;
    reason = reason || (from->restarted && job->registered == job->epoch && job->key != job->epoch);
    reason = reason && !c->goes_on;
    for (int k = world_first(c, j); k < world_first(c, j) + c->ranks[j]; k++)
        reason = reason || from->rank[k].abandoned;
    if (reason && active(from, j, r) && !complete(c, from, j, r)) {
        w.rank[r].abandoned = 1;
        TO(s, c, &w, "rank %d gives up", r);
    } else if (!job->over && from->rank[r].epoch < job->epoch && job->registered == job->epoch) {
        w.rank[r].epoch = job->epoch;
        w.rank[r].pong = 0;
        TO(s, c, &w, "rank %d has the new key, %d", r, job->epoch);
    }
}

static void registration(struct search *s, const struct world_config *c, const struct world *from,
                         int j)
{
    struct world w = *from;
    const int first = world_first(c, j), last = first + c->ranks[j];
    bool done = true, failed = false;
    for (int r = first; r < last; r++) {
        done = done && (from->rank[r].abandoned || complete(c, from, j, r));
        failed = failed || from->rank[r].abandoned;
    }
    if (c->leaves && j == 0 && complete(c, from, 0, 0) && w.job[0].key != NO_KEY) {
        w.job[0].key = NO_KEY;
        TO(s, c, &w, "rank 0 has all it wants and removes the job");
    }
    w = *from;
    if (done && failed && !w.job[j].over) {
        for (int r = first; r < last; r++)
            w.rank[r].have = w.rank[r].abandoned = 0;
        if (w.job[j].epoch + 1 < c->epochs)
            w.job[j].epoch++;
        else
            w.job[j].over = 1;
        TO(s, c, &w, "job %d: the vote says no", j);
    } else if (w.job[j].registered < w.job[j].epoch && w.job[j].key != NO_KEY) {
        w.job[j].key = NO_KEY;
        TO(s, c, &w, "job %d is stopped", j);
    } else if (w.job[j].registered < w.job[j].epoch) {
        for (int i = 0; i < cells_of(c) && !c->not_cleared; i++)
            world_clear(c, &w, j, j + i, 0);
        w.job[j].registered = w.job[j].key = w.job[j].epoch;
        TO(s, c, &w, "job %d is registered with key %d", j, w.job[j].epoch);
    }
}

/* Invalid packets from job 1 to job 0's slot. */
static void foreign(struct search *s, const struct world_config *c, const struct world *from)
{
    for (int n = 0; n < c->packets; n++) {
        struct world w = *from;
        const uint32_t chunk = (uint32_t)(world_start(c, w.job[0].key) + n);
        if (from->job[1].key != NO_KEY && c->any_range) {
            world_touch(c, &w, 0, 1, 0, 0, chunk, TAG_FOREIGN, 0);
            TO(s, c, &w, "job 0's slot gets contribution %d of job 1", n);
        }
        w = *from;
        if (from->job[0].key != NO_KEY && c->any_source) {
            world_touch(c, &w, 0, 0, 0, 0, chunk, TAG_FOREIGN, 0);
            TO(s, c, &w,
               "job 0's slot gets contribution %d with its number on, from a host of job 1", n);
        }
    }
}

static void slot_moves(struct search *s, const void *arg, const void *state)
{
    const struct world_config *c = arg;
    struct world from, w;
    memset(&from, 0, sizeof from);
    memcpy(&from, state, s->model->bytes);
    for (int j = 0; j < world_jobs(c); j++) {
        for (int r = world_first(c, j); r < world_first(c, j) + c->ranks[j]; r++) {
            sends(s, c, &from, j, r);
            frames(s, c, &from, j, r);
            results(s, c, &from, j, r);
            pongs(s, c, &from, j, r);
            gives_up(s, c, &from, j, r);
        }
        registration(s, c, &from, j);
    }
    if (world_jobs(c) == 2)
        foreign(s, c, &from);
    w = from;
    if (w.restarted < c->restarts) {
        w.restarted++;
        for (int j = 0; j < world_jobs(c); j++) {
            w.job[j].key = c->goes_on ? w.job[j].key : NO_KEY;
            for (int i = 0; i < cells_of(c); i++)
                world_clear(c, &w, j, j + i, 0);
        }
        TO(s, c, &w, "the card restarts");
    }
    w = from;
    for (int r = 0; r < RANKS; r++)
        w.rank[r].sent = w.rank[r].right = w.rank[r].wrong = w.rank[r].refused = w.rank[r].waiting =
            w.rank[r].pong = 0;
    TO(s, c, &w, "all that is under way is lost");
}

static const struct world_config good[] = {
    {"1 rank", .ranks = {1}, .packets = 8},
    {"2 ranks", .ranks = {2}, .packets = 8},
    {"3 ranks", .ranks = {3}, .packets = 8, .sorted = true},
    {"4 ranks", .ranks = {4}, .packets = 4, .sorted = true},
    {"the chunk wraps", .ranks = {3}, .packets = 4, .start = -2, .sorted = true},
    {"2 slots", .ranks = {2}, .packets = 4, .slots = 2},
    {"2 slots", .ranks = {3}, .packets = 4, .slots = 2, .sorted = true},
    {"results are sent later", .ranks = {3}, .packets = 4, .fifo = true, .masks = true,
     .sorted = true},
    {"registered again", .ranks = {3}, .packets = 3, .epochs = 2, .fifo = true, .sorted = true},
    {"registered again twice", .ranks = {2}, .packets = 2, .epochs = 3, .fifo = true,
     .sorted = true},
    {"registered again after the chunk wrapped", .ranks = {3}, .packets = 3, .epochs = 2,
     .start = -2, .sorted = true},
    {"restart", .ranks = {1}, .packets = 3, .epochs = 3, .restarts = 2, .fifo = true,
     .masks = true},
    {"restart", .ranks = {2}, .packets = 2, .epochs = 3, .restarts = 1, .fifo = true,
     .sorted = true},
    {"restart", .ranks = {2}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true, .masks = true,
     .sorted = true},
    {"restart", .ranks = {3}, .packets = 4, .epochs = 2, .restarts = 1, .sorted = true},
    {"rank 1 means something else by packet 1", .ranks = {3}, .packets = 2, .epochs = 2,
     .disagree = true},
    {"two jobs", .ranks = {2, 2}, .packets = 3, .restarts = 1, .sorted = true},
    {"two jobs", .ranks = {2, 1}, .packets = 2, .epochs = 2, .sorted = true},
    {"pings", .ranks = {2}, .packets = 3, .epochs = 2, .pings = true, .sorted = true},
};
static const struct world_config large[] = {
    {"two jobs", .ranks = {2, 1}, .packets = 2, .epochs = 2, .restarts = 1, .sorted = true},
    {"registered again twice", .ranks = {2}, .packets = 3, .epochs = 3, .fifo = true, .masks = true,
     .sorted = true},
    {"restart", .ranks = {2}, .packets = 3, .epochs = 3, .restarts = 2, .fifo = true,
     .sorted = true},
    {"3 ranks", .ranks = {3}, .packets = 8, .fifo = true, .masks = true, .sorted = true},
    {"4 ranks", .ranks = {4}, .packets = 8, .fifo = true, .sorted = true},
    {"2 slots", .ranks = {3}, .packets = 6, .slots = 2, .sorted = true},
    {"restart", .ranks = {3}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true, .masks = true,
     .sorted = true},
    {"restart", .ranks = {3}, .packets = 2, .epochs = 3, .restarts = 2, .sorted = true},
    {"restart", .ranks = {3}, .packets = 4, .epochs = 2, .restarts = 1, .fifo = true,
     .sorted = true},
    {"two jobs", .ranks = {2, 2}, .packets = 2, .epochs = 2, .restarts = 1, .sorted = true},
    {"2 slots, registered again", .ranks = {2}, .packets = 3, .slots = 2, .epochs = 2, .fifo = true,
     .sorted = true},
    {"2 slots, restart", .ranks = {2}, .packets = 3, .slots = 2, .epochs = 2, .restarts = 1,
     .sorted = true},
    {"2 slots", .ranks = {2}, .packets = 4, .slots = 2, .fifo = true, .masks = true,
     .sorted = true},
    {"two jobs", .ranks = {1, 1}, .packets = 2, .epochs = 2, .fifo = true, .masks = true},
    {"two jobs, restart", .ranks = {1, 1}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true},
    {"the chunk wraps", .ranks = {2}, .packets = 3, .start = -2, .epochs = 2, .fifo = true,
     .masks = true, .sorted = true},
    {"rank 1 means something else", .ranks = {2}, .packets = 2, .epochs = 2, .fifo = true,
     .masks = true, .disagree = true},
    {"rank 1 means something else, restart", .ranks = {2}, .packets = 2, .epochs = 2, .restarts = 1,
     .fifo = true, .disagree = true},
    {"pings", .ranks = {3}, .packets = 3, .pings = true, .sorted = true},
    {"pings, 2 slots", .ranks = {2}, .packets = 4, .slots = 2, .pings = true, .sorted = true},
    {"pings, restart", .ranks = {2}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true,
     .pings = true, .sorted = true},
};
static const struct world_config bad[] = {
    {"hosts run two chunks ahead",
     SEARCH_STUCK,
     {2},
     .packets = 4,
     .slots = 2,
     .rule = rule_one_row},
    {"no result is sent again", SEARCH_STUCK, {2}, .packets = 2, .rule = rule_sent_once},
    {"chunks are compared by size",
     SEARCH_STUCK,
     {2},
     .packets = 3,
     .start = -1,
     .rule = rule_by_size},
    {"rank 0 leaves when it is done", SEARCH_STUCK, {2}, .packets = 1, .leaves = true},
    {"a restarted card is not given up",
     SEARCH_STUCK,
     {2},
     .packets = 2,
     .restarts = 1,
     .goes_on = true},
    {"a card that began anew has kept the key; pings",
     SEARCH_STUCK,
     {2},
     .packets = 2,
     .epochs = 2,
     .restarts = 1,
     .goes_on = true,
     .pings = true},
    {"hosts accept any chunk", SEARCH_UNSAFE, {2}, .packets = 2, .any_chunk = true},
    {"a rank is added twice", SEARCH_UNSAFE, {2}, .packets = 1, .rule = rule_no_bitmap},
    {"descriptions are not compared",
     SEARCH_UNSAFE,
     {2},
     .packets = 2,
     .disagree = true,
     .rule = rule_any_desc},
    {"SwitchML's version bit", SEARCH_UNSAFE, {2}, .packets = 3, .rule = rule_version_bit},
    {"the next free slot", SEARCH_UNSAFE, {2}, .packets = 4, .slots = 2, .next_free = true},
    {"the same key again", SEARCH_UNSAFE, {2}, .packets = 1, .epochs = 2, .same_key = true},
    {"slots are not cleared", SEARCH_UNSAFE, {2}, .packets = 2, .epochs = 2, .not_cleared = true},
    {"the key is not looked at again",
     SEARCH_UNSAFE,
     {2},
     .packets = 1,
     .epochs = 2,
     .fifo = true,
     .no_recheck = true},
    {"any slot for any job", SEARCH_UNSAFE, {2, 1}, .packets = 1, .any_range = true},
    {"any source for any rank", SEARCH_UNSAFE, {2, 1}, .packets = 1, .any_source = true},
};

static void search_one(const char *kind, const struct world_config *given, size_t most)
{
    struct world_config c = *given;
    char about[160];
    c.slots = c.slots ? c.slots : 1;
    c.epochs = c.epochs ? c.epochs : 1;
    CHECK(c.ranks[0] + c.ranks[1] <= RANKS && c.packets <= 8 && c.packets * c.epochs <= TAGS,
          "%s does not fit", c.what);
    int n = snprintf(about, sizeof about, "%d", c.ranks[0]);
    if (c.ranks[1])
        n += snprintf(about + n, sizeof about - (size_t)n, "+%d", c.ranks[1]);
    snprintf(about + n, sizeof about - (size_t)n,
             " ranks, %d packets, %d slots, %d epochs, %d restarts%s%s%s", c.packets, c.slots,
             c.epochs, c.restarts, c.fifo ? ", FIFO" : "", c.masks ? ", masks" : "",
             c.sorted ? ", sorted" : "");
    printf("%s  %s (%s)\n", kind, c.what, about);
    const struct world start = world_start_state(&c);
    const size_t n_ranks = (size_t)c.ranks[0] + c.ranks[1];
    const struct search_model model = {offsetof(struct world, rank) + n_ranks * sizeof *start.rank,
                                       &c, slot_moves, world_goal};
    const struct search_report r = search_run(&model, &start, most);
    search_print(&r);
    CHECK(r.verdict == c.want, "%s (%s): %s", c.what, about, search_said(&r));
}

SEARCH_MAIN(search_one)
