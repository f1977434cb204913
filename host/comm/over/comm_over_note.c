/* comm_over_note.c : exchanges notes about abandoned card paths, liveness checks (as in
 * comm_mpi_collect.c), failures and leaving. */
#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "comm/over/comm_over_inside.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double LOOK_S = 1e-3; /* seconds between two looks for notes */

static int listen_to(struct comm_over *o, int rank)
{
    struct over_peer *p = &o->peers[rank];
    return over_begin(o, &p->message, false, COMM_TAG_LIVENESS, rank, &p->note, sizeof p->note);
}

static void hear(struct comm_over *o, struct over_peer *p)
{
    const struct over_note n = p->note;
    switch (n.word) {
    case OVER_ABANDONED:
        p->abandoned_in = n.n;
        break;
    case OVER_LIVENESS:
    case OVER_LEFT:
        p->heard = true;
        p->left = n.word == OVER_LEFT;
        o->called = o->called ? o->called : n.code < 0 ? n.code : -EIO;
        break;
    default:
        p->bye = true;
    }
}

/* Progresses messages, reads notes, frees sent ones. A rank whose notes fail is gone. */
static void look(struct comm_over *o)
{
    (void)over_progress(o); /* a failure shows in messages, too */
    for (int r = 0; r < o->comm.n_ranks; r++) {
        struct over_peer *p = &o->peers[r];
        while (p->message.under_way && !p->gone) {
            const int rc = over_test(o, &p->message);
            if (rc < 0)
                p->gone = true, p->why = rc;
            if (p->message.under_way)
                break;
            hear(o, p);
            if (!p->bye && !p->left && listen_to(o, r) < 0)
                p->gone = true;
        }
    }
    for (struct over_sent **at = &o->sent, *s; (s = *at);) {
        if (s->message.under_way && over_test(o, &s->message) < 0)
            o->peers[s->message.peer].gone = true, over_cancel(o, &s->message);
        if (s->message.under_way) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        free(s);
    }
}

static void tell(struct comm_over *o, enum over_word word, int code, uint64_t n)
{
    for (int r = 0; r < o->comm.n_ranks; r++) {
        struct over_sent *s;
        if (r == o->comm.rank || o->peers[r].gone || !(s = malloc(sizeof *s)))
            continue;
        *s = (struct over_sent){.note = {(uint32_t)word, code, n}};
        if (over_begin(o, &s->message, true, COMM_TAG_LIVENESS, r, &s->note, sizeof s->note) < 0) {
            o->peers[r].gone = true;
            free(s);
            continue;
        }
        s->next = o->sent;
        o->sent = s;
    }
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

/* A rank that waits for a card exchanges no message that would fail. */
static void fail_if_gone(struct comm_over *o)
{
    for (int r = 0; r < o->comm.n_ranks && !o->called && !atomic_load(&o->asked); r++)
        if (o->peers[r].why && !atomic_load(&o->failed))
            over_fail(o, o->peers[r].why);
}

bool over_poll(struct comm *c)
{
    struct comm_over *o = comm_over(c);
    const double now = clock_s();
    if (now - o->looked_s >= LOOK_S) {
        o->looked_s = now;
        look(o);
        fail_if_gone(o);
    }
    return o->called || atomic_load(&o->asked) || atomic_load(&o->failed);
}

int over_abandon(struct comm *c)
{
    TRY(atomic_load(&comm_over(c)->failed));
    tell(comm_over(c), OVER_ABANDONED, 0, comm_over(c)->n_votes + 1);
    return 0;
}

bool over_abandoned(struct comm *c)
{
    const struct comm_over *o = comm_over(c);
    for (int r = 0; r < c->n_ranks; r++)
        if (o->peers[r].abandoned_in == o->n_votes + 1)
            return true;
    return false;
}

/* Notes carry the number of their vote, so late ones do not affect later votes. */
int over_forget(struct comm *c, const uint64_t *abandoned)
{
    (void)abandoned;
    comm_over(c)->n_votes++;
    return atomic_load(&comm_over(c)->failed);
}

static bool all_known(const struct comm_over *o)
{
    for (int r = 0; r < o->comm.n_ranks; r++)
        if (!o->peers[r].heard && !o->peers[r].gone)
            return false;
    return true;
}

static bool any_left(const struct comm_over *o)
{
    for (int r = 0; r < o->comm.n_ranks; r++)
        if (o->peers[r].left)
            return true;
    return false;
}

static void check_liveness(struct comm_over *o, int code)
{
    o->peers[o->comm.rank].heard = true;
    tell(o, OVER_LIVENESS, code, 0);
    for (struct deadline d = deadline_in(clock_s(), COMM_LIVENESS_S);
         !all_known(o) && !deadline_passed(&d, clock_s()); nap())
        look(o);
    bool lowest = true;
    for (int r = 0; r < o->comm.n_ranks; r++) {
        o->heard[r] = o->peers[r].heard;
        lowest = lowest && (r >= o->comm.rank || !o->heard[r]);
    }
    err_hold(); /* all ranks keep the line for nc_last_error(); one prints it */
    comm_liveness_report(&o->comm, o->heard, code);
    err_release(lowest);
}

static void cancel_all(struct comm_over *o)
{
    for (size_t i = 0; i < o->comm.n_req; i++)
        over_cancel(o, &o->messages[i]);
    o->comm.n_req = 0;
}

int over_fail(struct comm_over *o, int code)
{
    int none = 0;
    const int asked = atomic_load(&o->asked);
    if (!atomic_compare_exchange_strong(&o->failed, &none, asked ? asked : code))
        return none;
    /* notes that have arrived explain more than this failure */
    look(o);
    /* drop held lines: the missing rank is their cause, too */
    err_release(false);
    code = asked ? asked : o->called ? o->called : code;
    atomic_store(&o->failed, code);
    if (!asked && !any_left(o))
        check_liveness(o, code);
    tell(o, OVER_LEFT, code, 0); /* so that others need no liveness check */
    cancel_all(o);
    return code;
}

int over_missing(struct comm *c)
{
    return over_fail(comm_over(c), -ETIMEDOUT);
}

int over_notes_begin(struct comm_over *o)
{
    int rc = 0;
    for (int r = 0; r < o->comm.n_ranks && rc == 0; r++)
        if (r != o->comm.rank)
            rc = listen_to(o, r);
    if (rc == 0)
        return 0;
    for (int r = 0; r < o->comm.n_ranks; r++)
        over_cancel(o, &o->peers[r].message);
    return ERR(rc,
               "cannot receive with the caller's transport: %s; irecv must set *request and return "
               "0, or return a negative errno",
               strerror(-rc));
}

/* Returns n_ranks if there is none. */
static int lowest_not_closed(const struct comm_over *o)
{
    int r = 0;
    while (r < o->comm.n_ranks && (r == o->comm.rank || o->peers[r].bye || o->peers[r].gone))
        r++;
    return r;
}

static bool all_left(const struct comm_over *o)
{
    return lowest_not_closed(o) == o->comm.n_ranks && !o->sent;
}

static int why_leaving(const struct comm_over *o)
{
    const int failed = atomic_load(&o->failed), asked = atomic_load(&o->asked);
    return failed ? failed : asked ? asked : o->called;
}

static void look_until(struct comm_over *o, bool (*done)(const struct comm_over *o), double seconds)
{
    const int why = why_leaving(o);
    for (struct deadline d = deadline_in(clock_s(), seconds);
         !done(o) && why_leaving(o) == why && !deadline_passed(&d, clock_s()); nap())
        look(o);
}

static bool all_sent(const struct comm_over *o)
{
    return !o->sent;
}

/* All ranks leave together, so that messages of different communicators over one transport cannot
 * meet. */
void over_notes_end(struct comm_over *o)
{
    if (!why_leaving(o)) {
        tell(o, OVER_BYE, 0, 0);
        look_until(o, all_left, o->comm.deadline_s);
        const int missing = lowest_not_closed(o);
        if (!why_leaving(o) && missing < o->comm.n_ranks)
            err_warn("rank %d of %d closes without rank %d, which did not within %g s",
                     o->comm.rank, o->comm.n_ranks, missing, o->comm.deadline_s);
    }
    if (why_leaving(o)) {
        if (!atomic_load(&o->failed))
            tell(o, OVER_LEFT, why_leaving(o), 0);
        look_until(o, all_sent, COMM_LIVENESS_S);
    }
    cancel_all(o);
    for (int r = 0; r < o->comm.n_ranks; r++)
        over_cancel(o, &o->peers[r].message);
    for (struct over_sent *s = o->sent, *next; s; s = next) {
        next = s->next;
        over_cancel(o, &s->message);
        free(s);
    }
}
