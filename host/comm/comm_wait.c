/* comm_wait.c : messages of any length, and the waits that all of comm/ goes through. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include <sched.h>
#include <time.h>

int comm_place(struct comm *c)
{
    if (c->n_req < c->room)
        return 0;
    const size_t room = 2 * c->room; /* only for messages of many chunks, and then once */
    if (!c->ops->make_room(c, room))
        return ERR(-ENOMEM, "cannot have more than %zu messages under way: out of memory", c->room);
    c->room = room;
    return 0;
}

static size_t chunk_of(const struct comm *c, size_t left)
{
    return left < c->chunk_bytes ? left : c->chunk_bytes;
}

int comm_send(struct comm *c, int to, const void *buf, size_t bytes)
{
    const char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = chunk_of(c, left);
        TRY(comm_place(c));
        TRY(c->ops->send(c, c->n_req, COMM_TAG_DATA, to, at, n));
        c->n_req++;
    }
    c->count.sent_bytes += bytes;
    return 0;
}

int comm_recv(struct comm *c, int from, void *buf, size_t bytes)
{
    char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = chunk_of(c, left);
        TRY(comm_place(c));
        TRY(c->ops->recv(c, c->n_req, COMM_TAG_DATA, from, at, n));
        c->n_req++;
    }
    return 0;
}

struct comm_watch comm_watch(const struct comm *c)
{
    const double now = clock_s();
    return (struct comm_watch){.start_s = now, .deadline = deadline_in(now, c->deadline_s)};
}

int comm_look(struct comm *c, struct comm_watch *w)
{
    const double now = clock_s();
    w->waited_s = now - w->start_s;
    return deadline_passed(&w->deadline, now) || c->ops->poll(c) ? c->ops->missing(c) : 0;
}

/* At once for a few microseconds, then after the others on this core, then asleep for a moment; for
 * longer when it takes longer: hundreds of ranks may share a core with the one that all wait for. */
void comm_rest(unsigned n_polls, double waited_s)
{
    if (n_polls < 50)
        return;
    if (waited_s < 0.02)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = waited_s < 0.2 ? 50000 : 500000}, NULL);
}

/* Asleep early: the system's buffers go on sending meanwhile. */
void comm_rest_some(double waited_s)
{
    if (waited_s < 10e-6)
        return;
    if (waited_s < 200e-6)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

int comm_wait(struct comm *c)
{
    return c->ops->wait(c);
}

int comm_round(struct comm *c)
{
    c->count.rounds++;
    return comm_wait(c);
}
