/* test_elastic_search.c : searches all states of an elastic run (elastic.c, comm_mpi_elastic.c)
 * whose members die and join. All that live must end, with the same steps; nothing but a block's
 * loss together with its copy may start the run anew. Rules known to be bad must fail.
 *
 *    offers -> copies -> ( meet -> copies ) for each step -> agree -> end
 *       ^                  |  a call fails: revoke             |
 *       '----- shrink <----'-----------> agree ----------------'
 *
 * MPI is abstract. A member waits in a call until all (copies: the member before) have made theirs.
 * Waiting fails if the communicator is revoked or a neighbour is dead. Agree and shrink complete
 * for all living members at once, which ULFM promises. */
#include "check.h"
#include "search.h"

enum { MEMBERS = 5, BLOCKS = 5, NEW = 255 };
enum rule {
    ELASTIC,
    ONE_STATE,  /* keeps only the last state */
    NO_COPIES,  /* no copies at the next member */
    EARLY,      /* counts a state as kept before the copies are there */
    NO_REVOKE,  /* the others are not told of a failure */
    NO_AGREE,   /* a member that has all steps ends */
    NEW_COUNTS, /* who has just joined offers step 0 */
    OVERWRITES  /* the state after restoring replaces the restored one */
};
struct elastic_config {
    const char *what;
    enum search_verdict want;
    uint8_t members, steps, deaths, joins;
    enum rule rule;
};

enum phase { OUT, DEAD, OFFERS, COPIES, MEET, AGREE, SHRINK, END }; /* OUT: has not joined */

struct kept {
    uint8_t steps_1, own, copies; /* steps done plus 1, or 0; bits of blocks */
};
struct member {
    uint8_t phase, step, good;
    uint8_t calls; /* made on this communicator; the last waits */
    uint8_t fine, is_new;
    struct kept kept[2];
};
struct run {
    uint8_t members;                            /* bits, in order of their numbers */
    uint8_t revoked, died, died_lately, joined; /* died_lately: since all had the last sums */
    uint8_t asked, grows, from, chosen, kept;   /* kept: all have kept a state */
    struct member m[MEMBERS];
};

static bool in_job(const struct run *w, int r)
{
    return w->members >> r & 1;
}

/* Returns the member `by` places after r. */
static int beside(const struct run *w, int r, int by)
{
    do
        r = (r + by + MEMBERS) % MEMBERS;
    while (!in_job(w, r));
    return r;
}

static uint8_t blocks_of(const struct run *w, int r)
{
    int n = 0, at = 0;
    for (int k = 0; k < MEMBERS; k++)
        if (in_job(w, k))
            at = k == r ? n : at, n++;
    uint8_t bits = 0;
    for (int b = BLOCKS * at / n; b < BLOCKS * (at + 1) / n; b++)
        bits |= (uint8_t)(1 << b);
    return bits;
}

static uint8_t n_dead(const struct run *w)
{
    uint8_t n = 0;
    for (int k = 0; k < MEMBERS; k++)
        n = (uint8_t)(n + (in_job(w, k) && w->m[k].phase == DEAD));
    return n;
}

static void enter(struct run *w, int r, int phase)
{
    w->m[r].phase = (uint8_t)phase;
    w->m[r].calls++;
}

static bool all_called(const struct run *w, int r)
{
    for (int k = 0; k < MEMBERS; k++)
        if (in_job(w, k) && w->m[k].calls < w->m[r].calls)
            return false;
    return true;
}

static struct kept *next_slot(const struct elastic_config *c, struct member *v)
{
    if (c->rule == ONE_STATE)
        return &v->kept[v->good];
    return &v->kept[1 - v->good];
}

static void begins_copies(const struct elastic_config *c, struct run *w, int r)
{
    struct member *v = &w->m[r];
    struct kept *k = next_slot(c, v);
    const int was = beside(w, r, -1);
    enter(w, r, COPIES);
    *k = (struct kept){0, blocks_of(w, r), was == r ? 0 : blocks_of(w, was)};
    if (c->rule == EARLY || c->rule == NO_COPIES) {
        k->copies = c->rule == EARLY ? 0 : k->copies;
        k->steps_1 = (uint8_t)(v->step + 1);
    }
}

static void ends_copies(struct search *s, const struct elastic_config *c, struct run *w, int r)
{
    struct member *v = &w->m[r];
    struct kept *k = next_slot(c, v);
    k->steps_1 = (uint8_t)(v->step + 1);
    k->copies = c->rule == NO_COPIES || beside(w, r, -1) == r ? 0 : blocks_of(w, beside(w, r, -1));
    if (c->rule != ONE_STATE)
        v->good = (uint8_t)(1 - v->good);
    v->is_new = 0;
    if (v->step == c->steps || w->grows) {
        v->fine = 1;
        v->phase = c->rule == NO_AGREE && v->step == c->steps ? END : AGREE;
        search_to(s, w, "member %d has kept step %d and the run pauses or ends", r, v->step);
        return;
    }
    enter(w, r, MEET); /* computes a step */
    for (int k2 = 0; k2 < MEMBERS; k2++)
        if (in_job(w, k2) && w->m[k2].phase == MEET && w->m[k2].calls == v->calls &&
            w->m[k2].step != v->step) {
            search_bad(s, "members %d and %d add up different steps", r, k2);
            return;
        }
    if (all_called(w, r))
        w->grows = w->asked, w->asked = 0, w->died_lately = n_dead(w), w->kept = 1;
    search_to(s, w, "member %d has kept step %d and adds up the next", r, v->step);
}

static uint8_t last_of(const struct elastic_config *c, const struct member *v)
{
    if (v->is_new)
        return c->rule == NEW_COUNTS ? 0 : NEW;
    return v->kept[0].steps_1 > v->kept[1].steps_1 ? v->kept[0].steps_1 : v->kept[1].steps_1;
}

/* The lowest member writes the state for all, so it must have what all have in common. */
static bool complete(const struct run *w, uint8_t from)
{
    uint8_t found = 0;
    int first = 0;
    bool common = false;
    while (!in_job(w, first))
        first++;
    for (int k = 0; k < MEMBERS; k++)
        for (int i = 0; i < 2 && in_job(w, k); i++)
            if (w->m[k].kept[i].steps_1 == from) {
                found |= w->m[k].kept[i].own | w->m[k].kept[i].copies;
                common = common || k == first;
            }
    return common && found == (1 << BLOCKS) - 1;
}

/* Called once all have made their offers. */
static void choose(struct search *s, const struct elastic_config *c, struct run *w)
{
    uint8_t from = NEW;
    for (int k = 0; k < MEMBERS; k++)
        if (in_job(w, k) && last_of(c, &w->m[k]) < from)
            from = last_of(c, &w->m[k]);
    from = from == NEW ? 0 : from;
    if (from > 0 && !complete(w, from))
        from = 0;
    if (from == 0 && w->kept && w->died_lately < 2)
        search_bad(s, "the run starts anew after %d deaths in a step", w->died_lately);
    for (int k = 0; k < MEMBERS && from == 0; k++)
        w->m[k].kept[0].steps_1 = w->m[k].kept[1].steps_1 = 0;
    w->kept = w->kept && from > 0;
    w->from = from;
}

static void restores(struct search *s, const struct elastic_config *c, struct run *w, int r)
{
    struct member *v = &w->m[r];
    if (!w->chosen)
        choose(s, c, w);
    w->chosen = 1;
    int slot = -1;
    for (int i = 0; i < 2; i++)
        if (w->from > 0 && v->kept[i].steps_1 == w->from)
            slot = i;
    if (slot >= 0)
        v->good = (uint8_t)(c->rule == OVERWRITES ? 1 - slot : slot);
    v->step = (uint8_t)(w->from ? w->from - 1 : 0);
    begins_copies(c, w, r);
    search_to(s, w, "member %d goes on from step %d", r, v->step);
}

static void fails(struct search *s, const struct elastic_config *c, struct run *w, int r)
{
    w->m[r].phase = AGREE;
    w->m[r].fine = 0;
    if (c->rule != NO_REVOKE)
        w->revoked = 1;
    search_to(s, w, "a call of member %d fails", r);
}

static void waits(struct search *s, const struct elastic_config *c, const struct run *from, int r)
{
    struct run w = *from;
    struct member *v = &w.m[r];
    const int phase = v->phase;
    if (phase == COPIES ? w.m[beside(&w, r, -1)].calls >= v->calls : all_called(&w, r)) {
        if (phase == OFFERS)
            restores(s, c, &w, r);
        else if (phase == COPIES)
            ends_copies(s, c, &w, r);
        else {
            v->step++;
            begins_copies(c, &w, r);
            search_to(s, &w, "member %d has the sums of step %d", r, v->step - 1);
        }
    }
    w = *from;
    if (w.revoked || w.m[beside(&w, r, 1)].phase == DEAD || w.m[beside(&w, r, -1)].phase == DEAD)
        fails(s, c, &w, r);
}

/* All living members take part. */
static bool all_in(const struct run *w, int phase)
{
    for (int k = 0; k < MEMBERS; k++)
        if (in_job(w, k) && w->m[k].phase != phase && w->m[k].phase != DEAD)
            return false;
    return true;
}

static void begins(struct run *w)
{
    w->revoked = w->grows = w->from = w->chosen = 0;
    for (int k = 0; k < MEMBERS; k++)
        if (in_job(w, k)) {
            w->m[k].calls = w->m[k].fine = 0;
            enter(w, k, OFFERS);
        }
}

static void agree(struct search *s, struct run *w)
{
    bool fine = true;
    int joins = 0;
    for (int k = 0; k < MEMBERS; k++)
        fine = fine && (!in_job(w, k) || (w->m[k].phase == AGREE && w->m[k].fine));
    if (fine && w->grows) {
        while (w->m[joins].phase != OUT)
            joins++;
        w->members |= (uint8_t)(1 << joins);
        w->m[joins].is_new = 1;
        begins(w);
        search_to(s, w, "member %d joins", joins);
        return;
    }
    for (int k = 0; k < MEMBERS; k++)
        if (in_job(w, k) && w->m[k].phase == AGREE)
            w->m[k].phase = fine ? END : SHRINK;
    search_to(s, w, fine ? "all agree that the run has ended" : "all agree that a member is lost");
}

static void shrink(struct search *s, struct run *w)
{
    for (int k = 0; k < MEMBERS; k++)
        if (in_job(w, k) && w->m[k].phase == DEAD)
            w->members &= (uint8_t) ~(1 << k);
    begins(w);
    search_to(s, w, "the living go on");
}

static void next(struct search *s, const void *arg, const void *state)
{
    const struct elastic_config *c = arg;
    struct run from, w;
    int n_live = 0;
    memcpy(&from, state, sizeof from);
    for (int r = 0; r < MEMBERS; r++) {
        const int phase = from.m[r].phase;
        n_live += phase > DEAD && phase < END;
        if (phase == OFFERS || phase == COPIES || phase == MEET)
            waits(s, c, &from, r);
    }
    w = from;
    if (n_live > 0 && all_in(&from, AGREE))
        agree(s, &w);
    w = from;
    if (n_live > 0 && all_in(&from, SHRINK))
        shrink(s, &w);
    for (int r = 0; r < MEMBERS && from.died < c->deaths && n_live > 1; r++) {
        w = from;
        if (w.m[r].phase <= DEAD || w.m[r].phase == END)
            continue;
        w.m[r].phase = DEAD;
        w.died++;
        w.died_lately++;
        search_to(s, &w, "member %d dies", r);
    }
    w = from;
    if (w.joined < c->joins && !w.asked) {
        w.joined++;
        w.asked = 1;
        search_to(s, &w, "a user asks for one more member");
    }
}

static bool is_goal(const void *arg, const void *state)
{
    const struct elastic_config *c = arg;
    const struct run *w = state;
    for (int r = 0; r < MEMBERS; r++)
        if (w->m[r].phase > DEAD && (w->m[r].phase != END || w->m[r].step != c->steps))
            return false;
    return true;
}

static const struct elastic_config bad[] = {
    {"only the last state is kept", SEARCH_UNSAFE, 3, 2, 1, 0, ONE_STATE},
    {"no copies", SEARCH_UNSAFE, 3, 2, 1, 0, NO_COPIES},
    {"kept before the copies are there", SEARCH_UNSAFE, 3, 2, 1, 0, EARLY},
    {"no revoke", SEARCH_STUCK, 4, 1, 1, 0, NO_REVOKE},
    {"no agreement at the end", SEARCH_STUCK, 3, 1, 1, 0, NO_AGREE},
    {"a new member's offer counts", SEARCH_UNSAFE, 2, 2, 0, 1, NEW_COUNTS},
    {"the restored state is replaced", SEARCH_UNSAFE, 3, 2, 1, 1, OVERWRITES},
};
static const struct elastic_config good[] = {
    {"elastic", .members = 2, .steps = 2, .deaths = 1, .joins = 1},
    {"elastic", .members = 3, .steps = 2, .deaths = 2, .joins = 0},
    {"elastic", .members = 3, .steps = 2, .deaths = 2, .joins = 1},
    {"elastic", .members = 4, .steps = 2, .deaths = 2, .joins = 0},
};
static const struct elastic_config large[] = {
    {"elastic", .members = 4, .steps = 2, .deaths = 2, .joins = 1},
    {"elastic", .members = 4, .steps = 3, .deaths = 3, .joins = 0},
};

static void search_one(const char *kind, const struct elastic_config *c, size_t most)
{
    struct run start;
    memset(&start, 0, sizeof start);
    for (int r = 0; r < c->members; r++) {
        start.members |= (uint8_t)(1 << r);
        enter(&start, r, OFFERS);
    }
    printf("%s  %s (%d members, %d steps, %d deaths, %d joins)\n", kind, c->what, c->members,
           c->steps, c->deaths, c->joins);
    const struct search_model model = {sizeof start, c, next, is_goal};
    const struct search_report r = search_run(&model, &start, most);
    search_print(&r);
    CHECK(r.verdict == c->want, "%s: %s", c->what, search_said(&r));
}

SEARCH_MAIN(search_one)
