/* comm_some.c : waiting for some messages while others stay under way: lots of messages, each done
 * at its own time. */
#include "base/err.h"
#include "comm/comm_inside.h"
#include <assert.h>

int comm_lots_begin(struct comm *c, size_t n_places)
{
    assert(c->n_req == 0);
    while (c->room < n_places) {
        c->n_req = c->room; /* so that there will be more */
        const int rc = comm_place(c);
        c->n_req = 0;
        TRY(rc);
    }
    c->ops->clear(c, n_places);
    c->n_req = n_places;
    return 0;
}

size_t comm_lot_places(const struct comm *c, size_t bytes)
{
    return (bytes + c->chunk_bytes - 1) / c->chunk_bytes;
}

/* The next of the lot's places, for the next chunk of a message. */
static size_t take_place(const struct comm *c, struct comm_lot *lot)
{
    assert(lot->used < lot->n_places && lot->at + lot->used < c->n_req);
    return lot->at + lot->used++;
}

int comm_lot_send(struct comm *c, struct comm_lot *lot, int tag, int to, const void *buf,
                  size_t bytes)
{
    const char *at = buf;
    c->count.sent_bytes += bytes;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = left < c->chunk_bytes ? left : c->chunk_bytes;
        TRY(c->ops->send(c, take_place(c, lot), tag, to, at, n));
    }
    return 0;
}

int comm_lot_recv(struct comm *c, struct comm_lot *lot, int tag, int from, void *buf, size_t bytes)
{
    char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = left < c->chunk_bytes ? left : c->chunk_bytes;
        TRY(c->ops->recv(c, take_place(c, lot), tag, from, at, n));
    }
    return 0;
}

bool comm_lot_done(const struct comm *c, const struct comm_lot *lot)
{
    return c->ops->done(c, lot->at, lot->used);
}

int comm_some(struct comm *c, bool wait)
{
    return c->ops->some(c, wait);
}
