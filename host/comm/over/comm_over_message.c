/* comm_over_message.c : sends messages over the caller's transport. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/over/comm_over_inside.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool over_make_room(struct comm *c, size_t places)
{
    struct comm_over *o = comm_over(c);
    struct over_message *more = realloc(o->messages, places * sizeof *more);
    if (!more)
        return false;
    memset(more + c->room, 0, (places - c->room) * sizeof *more);
    o->messages = more;
    return true;
}

void over_clear(struct comm *c, size_t at, size_t n)
{
    for (size_t i = at; i < at + n; i++)
        comm_over(c)->messages[i].under_way = false;
}

static int post(struct comm *c, size_t place, bool sends, int tag, int peer, void *buf,
                size_t bytes)
{
    struct comm_over *o = comm_over(c);
    assert(tag < NC_TAGS);
    TRY(atomic_load(&o->failed));
    if (peer < 0 || peer >= c->n_ranks || peer == c->rank)
        return ERR(-EIO, "cannot %s: there is no other rank %d of %d", sends ? "send" : "receive",
                   peer, c->n_ranks);
    const int rc = over_begin(o, &o->messages[place], sends, tag, peer, buf, bytes);
    return rc < 0 ? over_fail(o, rc) : 0;
}

int over_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes)
{
    return post(c, place, true, tag, to, (void *)(uintptr_t)buf, bytes); /* only read */
}

int over_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes)
{
    return post(c, place, false, tag, from, buf, bytes);
}

bool over_done(const struct comm *c, size_t at, size_t n)
{
    const struct over_message *m = ((const struct comm_over *)c)->messages;
    for (size_t i = at; i < at + n; i++)
        if (m[i].under_way)
            return false;
    return true;
}

/* Returns how many messages have ended. After a failure no message is in flight. */
static int take(struct comm *c, size_t *left)
{
    struct comm_over *o = comm_over(c);
    int n = 0;
    TRY(atomic_load(&o->failed));
    if (atomic_load(&o->asked))
        return over_missing(c);
    const int rc = over_progress(o);
    if (rc < 0)
        return over_fail(o, rc);
    *left = 0;
    for (size_t i = 0; i < c->n_req; i++) {
        struct over_message *m = &o->messages[i];
        if (!m->under_way)
            continue;
        const int failed = over_test(o, m);
        if (failed < 0)
            return over_fail(o, failed);
        n += !m->under_way;
        *left += m->under_way;
    }
    return n;
}

static int wait(struct comm *c, bool all)
{
    struct comm_watch watch = comm_watch(c);
    size_t left = 0;
    int rc = 0;
    for (unsigned n_polls = 0; (rc = take(c, &left)) >= 0; n_polls++) {
        if (all ? left == 0 : rc > 0 || left == 0)
            break;
        if ((rc = comm_look(c, &watch)) < 0)
            break;
        if (all)
            comm_rest(n_polls, watch.waited_s);
        else
            comm_rest_some(watch.waited_s);
    }
    c->count.wait_s += clock_s() - watch.start_s;
    if (all || rc < 0)
        c->n_req = 0;
    return rc;
}

int over_wait(struct comm *c)
{
    const int rc = wait(c, true);
    return rc < 0 ? rc : 0;
}

int over_some(struct comm *c, bool wait_for_one)
{
    size_t left;
    if (wait_for_one)
        return wait(c, false);
    const int rc = take(c, &left);
    if (rc < 0)
        c->n_req = 0;
    return rc;
}

int over_barrier(struct comm *c)
{
    return comm_message_barrier(c, comm_over(c)->all);
}

int over_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    (void)what; /* errors name the missing rank instead */
    return comm_message_reduce(c, how, x, n, comm_over(c)->all);
}
