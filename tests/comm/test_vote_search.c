/* test_vote_search.c : searches all states of steps whose sums a card adds until it dies. All
 * ranks must end each step with every sum, never meet in different collectives, never be stuck.
 * Rules known to be bad must fail.
 *
 *    begin -> exponents (sum 0) -> buckets (1, 2..) by card -> vote -> what any rank missed, by MPI
 *                    |                    |                      ^
 *                    '--- abandons the card (timer or notice), --'
 *                         notifies all others once
 *
 * The card's result may reach only some ranks. A waiting rank may abandon the card at any time
 * (timers expire). The card may die at any moment, and come back without the job. When a step
 * begins, rank 0 tries to register the job with a new key. Packets are left out
 * (test_slot_search.c): a contribution is in the card or not. Only ranks compare the tags of sums,
 * as if their checksums had collided. */
#include "check.h"
#include "search.h"
#include <stddef.h>

enum { VOTERS = 4, SUMS = 12 };
enum rule {
    VOTE,
    NAIVE,        /* makes a missing sum over MPI at once */
    LATE,         /* at the step's end, each rank for itself */
    LEAVER,       /* a rank with all sums does not vote */
    LETS_GO,      /* drops contributions before the vote */
    SAME_KEY,     /* keeps the job registered after a failed vote */
    LOST_BUCKETS, /* new exponents, but only the missed buckets */
    OLD_NOTICES   /* the vote leaves notices unread */
};
struct vote_config {
    const char *what;
    enum search_verdict want;
    uint8_t ranks, buckets, steps, deaths;
    enum rule rule;
};

enum phase { BEGIN, CARD, AT_VOTE, REDO, END };
enum { CALL_NONE, CALL_WAITS, CALL_RETURNED };
enum { CALL_OPEN = 1, CALL_VOTE, CALL_SUM };

struct voter {
    uint8_t step, phase;
    uint8_t sum;            /* next: 0 exponents, then buckets */
    uint8_t n;              /* index among the job's sums since registration */
    uint8_t got, held;      /* bits of sums: has it; can still contribute to it */
    uint8_t failed;         /* bits of sums: missed; after the vote, by any rank */
    uint8_t call, call_sum; /* its collective, and the sum of it */
    uint8_t call_state;
    uint8_t open;
    uint8_t told; /* has sent its notices in this step */
    /* bits of ranks: their notices, in flight or read */
    uint8_t mail;
};
struct card_sum {
    uint8_t tag, in; /* TAG_MIXED, or 1 + step * sums + sum; ranks */
};
enum { TAG_MIXED = 255 };
struct voting {
    /* the card runs; has the job; deaths; rank 0's announcement at the step's begin */
    uint8_t up, job, died, reopened;
    uint8_t any_failed, any_told;
    struct card_sum sum[SUMS];
    struct voter rank[VOTERS];
};

static uint8_t n_sums(const struct vote_config *c)
{
    return (uint8_t)(1 + c->buckets);
}
static uint8_t all_sums(const struct vote_config *c)
{
    return (uint8_t)((1 << n_sums(c)) - 1);
}
static uint8_t all_ranks(const struct vote_config *c)
{
    return (uint8_t)((1 << c->ranks) - 1);
}

static void enter(struct search *s, const struct vote_config *c, struct voting *w, int r, int call,
                  int sum)
{
    struct voter *me = &w->rank[r];
    bool all = true;
    me->call = (uint8_t)call;
    me->call_sum = (uint8_t)sum;
    me->call_state = CALL_WAITS;
    for (int k = 0; k < c->ranks; k++) {
        const struct voter *v = &w->rank[k];
        all = all && v->call_state == CALL_WAITS;
        if (v->call_state != CALL_WAITS ||
            (v->call == call && v->call_sum == sum && v->step == me->step))
            continue;
        search_bad(s, "rank %d is in collective %d.%d of step %d, rank %d in %d.%d of step %d", r,
                   call, sum, me->step, k, v->call, v->call_sum, v->step);
        return;
    }
    if (all && call == CALL_VOTE)
        w->any_failed = w->any_told = 0;
    for (int k = 0; k < c->ranks && all; k++) {
        struct voter *v = &w->rank[k];
        v->call_state = CALL_RETURNED;
        if (call == CALL_VOTE) {
            w->any_failed |= v->failed;
            w->any_told |= (uint8_t)(v->told << k);
        } else if (call == CALL_SUM && !(v->held >> sum & 1)) {
            search_bad(s, "sum %d of step %d over MPI is without rank %d's contribution", sum,
                       v->step, k);
            return;
        }
    }
    static const char *const names[] = {"", "waits for rank 0's word on the card", "votes",
                                        "adds over MPI"};
    search_to(s, w, "rank %d %s: step %d, sum %d", r, names[call], me->step, sum);
}

static void end_step(struct search *s, const struct vote_config *c, struct voting *w, int r,
                     const char *how)
{
    struct voter *v = &w->rank[r];
    if (v->got != all_sums(c)) {
        search_bad(s, "rank %d leaves step %d without all of its sums", r, v->step);
        return;
    }
    v->step++;
    v->phase = v->step == c->steps ? END : BEGIN;
    v->sum = v->got = v->failed = 0;
    v->held = all_sums(c);
    if (v->phase == END && v->mail)
        search_bad(s, "a notice to rank %d is never received", r);
    search_to(s, w, "rank %d %s: step %d is done", r, how, v->step - 1);
}

static void begins(struct search *s, const struct vote_config *c, struct voting *w, int r)
{
    struct voter *v = &w->rank[r];
    if (v->open) {
        v->phase = CARD;
        search_to(s, w, "rank %d begins step %d by the card", r, v->step);
        return;
    }
    if (r == 0) {
        w->reopened = w->up;
        w->job = w->up;
    }
    enter(s, c, w, r, CALL_OPEN, 0);
}

static void by_card(struct search *s, const struct vote_config *c, const struct voting *from, int r)
{
    struct voting w = *from;
    struct voter *v = &w.rank[r];
    struct card_sum *sum = &w.sum[v->n];
    const uint8_t me = (uint8_t)(1 << r), tag = (uint8_t)(1 + v->step * n_sums(c) + v->sum);
    if (v->sum == n_sums(c)) {
        if (c->rule == NAIVE || (c->rule == LEAVER && !v->failed)) {
            end_step(s, c, &w, r, "has all sums");
        } else if (c->rule == LATE) {
            v->phase = REDO;
            v->sum = 0;
            search_to(s, &w, "rank %d looks for what it has missed", r);
        } else {
            v->phase = AT_VOTE;
            search_to(s, &w, "rank %d has done what it can", r);
        }
        return;
    }
    if (w.job && !(sum->in & me)) {
        sum->tag = sum->in && sum->tag != tag ? TAG_MIXED : tag;
        sum->in |= me;
        search_to(s, &w, "the card gets rank %d's contribution to sum %d of step %d", r, v->sum,
                  v->step);
    } else if (sum->in == all_ranks(c)) {
        if (sum->tag != tag)
            search_bad(s, "rank %d accepts as sum %d of step %d what is not", r, v->sum, v->step);
        v->got |= (uint8_t)(1 << v->sum);
        if (c->rule == LETS_GO)
            v->held &= (uint8_t) ~(1 << v->sum);
        v->sum++;
        v->n++;
        search_to(s, &w, "rank %d has sum %d of step %d", r, v->sum - 1, v->step);
    }

    w = *from;
    if (c->rule == NAIVE) {
        v->phase = REDO;
        v->failed = (uint8_t)(1 << v->sum);
        search_to(s, &w, "rank %d does without the card: sum %d of step %d", r, v->sum, v->step);
        return;
    }
    v->failed = (uint8_t)(v->sum || c->rule == LATE ? all_sums(c) & ~((1 << v->sum) - 1) : 1);
    v->n = (uint8_t)(v->n + (sum->in >> r & 1));
    v->sum = n_sums(c);
    v->told = 1;
    for (int k = 0; k < VOTERS; k++) {
        if (k == r || k >= c->ranks)
            continue;
        if (w.rank[k].mail & me)
            search_bad(s, "rank %d has two notices of rank %d to see", k, r);
        w.rank[k].mail |= me;
    }
    search_to(s, &w, "rank %d gives up at sum %d of step %d", r, from->rank[r].sum, v->step);
}

static void returns(struct search *s, const struct vote_config *c, struct voting *w, int r)
{
    struct voter *v = &w->rank[r];
    const int call = v->call, sum = v->call_sum;
    v->call = v->call_sum = v->call_state = CALL_NONE;
    if (call == CALL_OPEN) {
        v->open = w->reopened;
        v->n = 0;
        v->phase = w->reopened ? CARD : REDO;
        v->failed = w->reopened ? 0 : all_sums(c);
    } else if (call == CALL_SUM) {
        v->got |= (uint8_t)(1 << sum);
        v->failed &= (uint8_t) ~(1 << sum);
    } else {
        if (w->any_told & ~(1 << r) & ~v->mail)
            search_bad(s, "rank %d waits for a notice that nobody sent", r);
        v->mail &= (uint8_t)(c->rule == OLD_NOTICES ? 255 : ~w->any_told);
        v->told = 0;
        v->failed = w->any_failed & 1 && c->rule != LOST_BUCKETS ? all_sums(c) : w->any_failed;
        v->phase = REDO;
        if (v->failed && c->rule != SAME_KEY) {
            v->open = v->n = 0;
            if (r == 0) {
                w->job = 0;
                memset(w->sum, 0, sizeof w->sum);
            }
        }
    }
    bool last = true; /* no other rank still needs the result */
    for (int k = 0; k < c->ranks; k++)
        last = last && w->rank[k].call_state != CALL_RETURNED;
    if (last && call == CALL_OPEN)
        w->reopened = 0;
    if (last && call == CALL_VOTE)
        w->any_failed = w->any_told = 0;
    search_to(s, w, "rank %d returns from collective %d.%d", r, call, sum);
}

static void redo(struct search *s, const struct vote_config *c, struct voting *w, int r)
{
    struct voter *v = &w->rank[r];
    for (int k = 0; k < n_sums(c); k++)
        if (v->failed >> k & 1) {
            enter(s, c, w, r, CALL_SUM, k);
            return;
        }
    if (c->rule == NAIVE) {
        v->phase = CARD;
        v->sum++;
        v->n++;
        search_to(s, w, "rank %d goes on by the card", r);
        return;
    }
    end_step(s, c, w, r, "has all sums");
}

static void next(struct search *s, const void *arg, const void *state)
{
    const struct vote_config *c = arg;
    struct voting from, w;
    memset(&from, 0, sizeof from);
    memcpy(&from, state, s->model->bytes);
    for (int r = 0; r < c->ranks; r++) {
        struct voter *v = &w.rank[r];
        w = from;
        if (v->call_state == CALL_RETURNED)
            returns(s, c, &w, r);
        else if (v->call_state == CALL_WAITS)
            continue;
        else if (v->phase == BEGIN)
            begins(s, c, &w, r);
        else if (v->phase == CARD)
            by_card(s, c, &from, r);
        else if (v->phase == AT_VOTE)
            enter(s, c, &w, r, CALL_VOTE, 0);
        else if (v->phase == REDO)
            redo(s, c, &w, r);
    }
    w = from;
    if (w.up && w.died < c->deaths) {
        w.up = w.job = 0;
        w.died++;
        for (int n = 0; n < SUMS; n++) /* complete results may be in flight */
            if (w.sum[n].in != all_ranks(c))
                w.sum[n] = (struct card_sum){0, 0};
        search_to(s, &w, "the card dies");
    } else if (!w.up) {
        w.up = 1;
        search_to(s, &w, "the card is back");
    }
}

static bool is_goal(const void *arg, const void *state)
{
    const struct vote_config *c = arg;
    const struct voting *w = state;
    for (int r = 0; r < c->ranks; r++)
        if (w->rank[r].phase != END)
            return false;
    return true;
}

static const struct vote_config bad[] = {
    {"each missed sum over MPI at once", SEARCH_UNSAFE, 2, 1, 1, 1, NAIVE},
    {"the same, one sum a step", SEARCH_STUCK, 2, 0, 1, 1, NAIVE},
    {"each rank what it has missed, no vote", SEARCH_UNSAFE, 2, 1, 1, 1, LATE},
    {"who has everything does not vote", SEARCH_UNSAFE, 2, 1, 2, 1, LEAVER},
    {"contributions are let go before the vote", SEARCH_UNSAFE, 2, 1, 1, 1, LETS_GO},
    {"the key is not retired", SEARCH_UNSAFE, 2, 1, 2, 0, SAME_KEY},
    {"new exponents, old buckets", SEARCH_UNSAFE, 2, 1, 1, 1, LOST_BUCKETS},
    {"notices outlive the vote", SEARCH_UNSAFE, 2, 1, 1, 1, OLD_NOTICES},
};
static const struct vote_config good[] = {
    {"vote", .ranks = 1, .buckets = 2, .steps = 3, .deaths = 2},
    {"vote", .ranks = 2, .buckets = 1, .steps = 2, .deaths = 1},
    {"vote", .ranks = 2, .buckets = 3, .steps = 3, .deaths = 3},
    {"vote", .ranks = 3, .buckets = 1, .steps = 2, .deaths = 1},
    {"vote", .ranks = 3, .buckets = 2, .steps = 3, .deaths = 2},
    {"vote", .ranks = 4, .buckets = 1, .steps = 2, .deaths = 1},
};
static const struct vote_config large[] = {
    {"vote", .ranks = 3, .buckets = 3, .steps = 3, .deaths = 3},
    {"vote", .ranks = 4, .buckets = 2, .steps = 2, .deaths = 2},
    {"vote", .ranks = 4, .buckets = 2, .steps = 4, .deaths = 3},
};

static void search_one(const char *kind, const struct vote_config *c, size_t most)
{
    struct voting start;
    memset(&start, 0, sizeof start);
    start.up = 1;
    for (int r = 0; r < c->ranks; r++)
        start.rank[r].held = all_sums(c);
    CHECK(c->ranks <= VOTERS && c->steps * n_sums(c) <= SUMS, "%s does not fit", c->what);
    printf("%s  %s (%d ranks, %d buckets, %d steps, the card dies %d times)\n", kind, c->what,
           c->ranks, c->buckets, c->steps, c->deaths);
    const struct search_model model = {
        offsetof(struct voting, rank) + c->ranks * sizeof *start.rank, c, next, is_goal};
    const struct search_report r = search_run(&model, &start, most);
    search_print(&r);
    CHECK(r.verdict == c->want, "%s: %s", c->what, search_said(&r));
}

SEARCH_MAIN(search_one)
