/* comm_virtual_turn.c : schedules fibers: a rank that waits switches to the next one that can
 * run. */
#include "comm/virtual/comm_virtual_inside.h"
#include "base/text.h"
#include <stdio.h>

static void queue_up(struct virtual_rank *r)
{
    struct comm_virtual *v = r->job;
    v->turns[(v->first + v->n_turns++) % v->n_here] = virtual_index(v, r->comm.rank);
}

void virtual_wake(struct virtual_rank *r)
{
    r->waits = VIRTUAL_NOTHING;
    queue_up(r);
}

void virtual_end_message(struct virtual_rank *r, struct virtual_message *m)
{
    m->under_way = false;
    r->n_under_way--;
    r->n_news++;
    if (r->waits == VIRTUAL_SOME || (r->waits == VIRTUAL_ALL && r->n_under_way == 0))
        virtual_wake(r);
}

int virtual_fail(struct comm_virtual *v, int code)
{
    if (v->caller && !comm_fail(v->caller, code))
        comm_abort(v->caller, code);
    if (!v->broken && v->below && comm_is_mpi(v->below)) { /* messages end before their buffers */
        v->below->n_req = v->n_places;
        (void)comm_wait(v->below);
    }
    v->broken = code;
    for (int r = 0; r < v->n_here; r++)
        if (v->ranks[r].waits != VIRTUAL_NOTHING && v->ranks[r].waits != VIRTUAL_RUN)
            virtual_wake(&v->ranks[r]);
    return code;
}

void virtual_end_far(struct comm_virtual *v)
{
    struct virtual_rank *r;
    size_t place;
    int rc;
    while ((rc = virtual_far_take(v, &r, &place)) > 0)
        virtual_end_message(r, &r->messages[place]);
    if (rc < 0)
        (void)virtual_fail(v, rc);
}

void virtual_progress(struct comm_virtual *v, bool wait)
{
    if (v->broken)
        return;
    const int failed = v->caller ? comm_failed(v->caller) : 0,
              n = failed ? failed : virtual_far_progress(v, wait);
    if (n < 0)
        (void)virtual_fail(v, n);
    else if (n > 0)
        virtual_end_far(v);
}

void virtual_drain(struct comm_virtual *v)
{
    while (v->n_far > 0 && !v->broken)
        virtual_progress(v, true);
}

/* Print directly: lines that a rank holds may never be released. */
int virtual_break(struct comm_virtual *v, int code, const char *text)
{
    struct err_lines *held = err_turn(v->outside_lines);
    (void)ERR(code, "%s", text);
    (void)virtual_fail(v, code);
    err_turn(held);
    return code;
}

/* Run the next rank, after waiting for other processes if none can run. Returns in r's next
 * turn. */
static void hand_over(struct virtual_rank *r)
{
    struct comm_virtual *v = r->job;
    char text[VIRTUAL_WHY_BYTES];
    while (v->n_turns == 0 && v->n_far > 0 && !v->broken)
        virtual_progress(v, true);
    if (v->n_turns == 0 && v->n_live > 0) {
        virtual_why(v, text);
        virtual_break(v, -EDEADLK, text);
    }
    if (v->n_live == 0) {
        err_turn(v->outside_lines);
        fiber_switch(&r->fiber, &v->outside);
        return;
    }
    struct virtual_rank *next = &v->ranks[v->turns[v->first]];
    v->first = (v->first + 1) % v->n_here;
    v->n_turns--;
    if (next == r)
        return;
    err_turn(&next->lines);
    fiber_switch(&r->fiber, &next->fiber);
}

int virtual_block(struct virtual_rank *r, enum virtual_wait until)
{
    r->waits = until;
    hand_over(r);
    return r->job->broken;
}

void virtual_yield(struct virtual_rank *r)
{
    virtual_progress(r->job, false);
    queue_up(r);
    hand_over(r);
}

/* Fail if an ended rank has messages in flight: their buffers end with the rank. */
static void check_left(struct virtual_rank *r)
{
    char text[96];
    if (r->n_under_way == 0 || r->job->broken)
        return;
    snprintf(text, sizeof text, "rank %d ends with %zu messages in flight", r->comm.rank,
             r->n_under_way);
    virtual_break(r->job, -EIO, text);
}

void virtual_live(void *arg)
{
    struct virtual_rank *r = arg;
    for (;;) {
        r->rc = r->job->body(&r->comm, r->job->ctx);
        check_left(r);
        r->waits = VIRTUAL_RUN;
        r->job->n_live--;
        hand_over(r);
    }
}

/* Ranks whose peer can never answer, because it has ended or has posted another tag, come first in
 * a report. The others wait for such ranks, or in a circle. */

enum { SHOWN = 4 };

/* Return a message that r waits for, a receive if there is one. */
static const struct virtual_message *waits_for(const struct virtual_rank *r)
{
    const struct virtual_message *found = NULL;
    for (size_t i = 0; i < r->comm.room && r->n_under_way > 0; i++)
        if (r->messages[i].under_way && (!found || !r->messages[i].sends)) {
            found = &r->messages[i];
            if (!found->sends)
                break;
        }
    return found;
}

/* Returns a message of the peer for this rank under another tag, or NULL. */
static const struct virtual_message *offers(const struct virtual_rank *peer, int rank,
                                            const struct virtual_message *wanted)
{
    for (size_t i = 0; i < peer->comm.room && peer->n_under_way > 0; i++) {
        const struct virtual_message *m = &peer->messages[i];
        if (m->under_way && m->peer == rank && m->sends != wanted->sends && m->tag != wanted->tag)
            return m;
    }
    return NULL;
}

static int n_ended(const struct comm_virtual *v, int *one)
{
    int n = 0;
    for (int r = v->n_here - 1; r >= 0; r--)
        if (v->ranks[r].waits == VIRTUAL_RUN)
            n++, *one = v->ranks[r].comm.rank;
    return n;
}

/* Add r only if its peer can never answer (hopeless) or may still answer (not hopeless). Returns
 * true if r was added. */
static bool add_rank(const struct comm_virtual *v, const struct virtual_rank *r, bool hopeless,
                     struct text *t)
{
    const int rank = r->comm.rank;
    const struct virtual_message *m = waits_for(r);
    const char *comma = t->n > 0 ? ", " : "";
    int one = 0;
    if (r->waits == VIRTUAL_RUN || r->waits == VIRTUAL_NOTHING)
        return false;
    if (r->waits == VIRTUAL_OTHERS) {
        const bool ended = n_ended(v, &one) > 0;
        if (hopeless != ended)
            return false;
        text_add(t, "%srank %d waits for all ranks, to %s", comma, rank, r->call.what);
        if (ended)
            text_add(t, ", but rank %d has ended", one);
        return true;
    }
    if (!m) {
        if (hopeless)
            text_add(t, "%srank %d waits for a message without having posted one", comma, rank);
        return hopeless;
    }
    const struct virtual_rank *peer =
        virtual_is_here(v, m->peer) ? &v->ranks[virtual_index(v, m->peer)] : NULL;
    const struct virtual_message *other = peer ? offers(peer, rank, m) : NULL;
    if (hopeless != (other || (peer && peer->waits == VIRTUAL_RUN)))
        return false;
    text_add(t,
             m->sends ? "%srank %d waits to send %zu bytes to rank %d"
                      : "%srank %d waits for %zu bytes from rank %d",
             comma, rank, m->bytes, m->peer);
    if (other)
        text_add(t, ", which has posted %zu with another tag (%d, not %d)", other->bytes,
                 other->tag, m->tag);
    else if (hopeless)
        text_add(t, ", which has ended");
    return true;
}

void virtual_why(const struct comm_virtual *v, char text[VIRTUAL_WHY_BYTES])
{
    struct text t = text_in(text, VIRTUAL_WHY_BYTES - 24);
    int shown = 0, n_wait = 0;
    for (int r = 0; r < v->n_here; r++)
        n_wait += v->ranks[r].waits != VIRTUAL_RUN && v->ranks[r].waits != VIRTUAL_NOTHING;
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < v->n_here && shown < SHOWN; r++)
            shown += add_rank(v, &v->ranks[r], pass == 0, &t);
    if (n_wait > shown) {
        t.size = VIRTUAL_WHY_BYTES;
        text_add(&t, ", %d more wait", n_wait - shown);
    }
}
