/* comm_virtual_message.c : passes messages between fibers, copied by the side that posts second,
 * and runs their collectives. */
#include "base/err.h"
#include "comm/virtual/comm_virtual_inside.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* calloc() maps zero pages: unused places take no memory. */
bool virtual_make_room(struct comm *c, size_t places)
{
    struct virtual_rank *r = virtual_rank(c);
    struct virtual_message *more = calloc(places, sizeof *more);
    if (!more)
        return false;
    if (r->messages)
        memcpy(more, r->messages, c->room * sizeof *more);
    free(r->messages);
    r->messages = more;
    return true;
}

static struct virtual_queue *queue(const struct comm_virtual *v, int tag, int to, int from)
{
    const size_t n = (size_t)v->n_here;
    return &v->queues[((size_t)tag * n + (size_t)virtual_index(v, to)) * n +
                      (size_t)virtual_index(v, from)];
}

static void append(struct virtual_rank *r, struct virtual_queue *q, size_t place, bool sends)
{
    const uint32_t link = (uint32_t)place + 1;
    if (q->first)
        r->messages[q->last - 1].next = link;
    else
        q->first = link;
    q->last = link;
    q->sends = sends;
}

static struct virtual_message *take_first(const struct virtual_rank *r, struct virtual_queue *q)
{
    struct virtual_message *m = &r->messages[q->first - 1];
    q->first = m->next;
    return m;
}

static int carry(struct virtual_rank *from, struct virtual_message *out, struct virtual_rank *to,
                 struct virtual_message *in)
{
    char text[128];
    if (out->bytes != in->bytes) {
        snprintf(text, sizeof text, "rank %d expects %zu bytes from rank %d, which sends %zu",
                 to->comm.rank, in->bytes, from->comm.rank, out->bytes);
        return virtual_break(from->job, -EIO, text);
    }
    memcpy(in->buf, out->buf, in->bytes);
    virtual_end_message(from, out);
    virtual_end_message(to, in);
    return 0;
}

static int post(struct virtual_rank *r, size_t place, struct virtual_message m)
{
    struct comm_virtual *v = r->job;
    const int me = r->comm.rank;
    if (v->broken)
        return v->broken;
    if (m.peer < 0 || m.peer >= v->n_ranks)
        return ERR(-EIO, "cannot %s: there is no rank %d of %d", m.sends ? "send" : "receive",
                   m.peer, v->n_ranks);
    assert(m.tag > 0 && m.tag < COMM_TAGS && !r->messages[place].under_way);
    m.under_way = true;
    r->messages[place] = m;
    r->n_under_way++;
    if (!virtual_is_here(v, m.peer)) {
        const int rc = virtual_far_post(r, place);
        if (rc > 0)
            virtual_end_message(r, &r->messages[place]);
        return rc < 0 ? virtual_fail(v, rc) : 0;
    }
    struct virtual_rank *peer = &v->ranks[virtual_index(v, m.peer)];
    struct virtual_queue *q = m.sends ? queue(v, m.tag, m.peer, me) : queue(v, m.tag, me, m.peer);
    if (!q->first || q->sends == m.sends)
        append(r, q, place, m.sends);
    else if (m.sends)
        return carry(r, &r->messages[place], peer, take_first(peer, q));
    else
        return carry(peer, take_first(peer, q), r, &r->messages[place]);
    return 0;
}

int virtual_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes)
{
    return post(virtual_rank(c), place,
                (struct virtual_message){.buf = (void *)(uintptr_t)buf, /* only read */
                                         .bytes = bytes,
                                         .peer = to,
                                         .tag = tag,
                                         .sends = true});
}

int virtual_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes)
{
    return post(virtual_rank(c), place,
                (struct virtual_message){.buf = buf, .bytes = bytes, .peer = from, .tag = tag});
}

bool virtual_done(const struct comm *c, size_t at, size_t n)
{
    const struct virtual_rank *r = (const struct virtual_rank *)c;
    for (size_t i = at; i < at + n; i++)
        if (r->messages[i].under_way)
            return r->job->broken; /* after a failure nothing is copied */
    return true;
}

int virtual_wait_all(struct comm *c)
{
    struct virtual_rank *r = virtual_rank(c);
    if (r->n_under_way > 0 && !r->job->broken)
        virtual_block(r, VIRTUAL_ALL);
    c->n_req = r->n_news = 0;
    return r->job->broken;
}

int virtual_some(struct comm *c, bool wait)
{
    struct virtual_rank *r = virtual_rank(c);
    if (!wait && r->n_news == 0)
        virtual_progress(r->job, false);
    if (wait && r->n_news == 0 && !r->job->broken)
        virtual_block(r, VIRTUAL_SOME);
    const int n = (int)r->n_news;
    r->n_news = 0;
    if (r->job->broken)
        c->n_req = 0;
    return r->job->broken ? r->job->broken : n;
}

/* ---- collectives: the last rank to arrive works for all ---- */

static void spread(struct comm_virtual *v, int index, size_t bytes)
{
    for (int i = 0; i < v->n_here; i++)
        if (i != index && bytes > 0)
            memcpy(v->ranks[i].call.x, v->ranks[index].call.x, bytes);
}

static void collect_far(struct comm_virtual *v, const struct virtual_call *call)
{
    virtual_drain(v);
    const int rc = v->broken ? 0 : virtual_far_collect(v, call);
    if (rc < 0)
        (void)virtual_fail(v, rc);
    else
        virtual_end_far(v);
}

static void broadcast(struct comm_virtual *v, const struct virtual_call *any)
{
    const int index = virtual_is_here(v, any->how) ? virtual_index(v, any->how) : 0;
    if (v->below)
        collect_far(v, &v->ranks[index].call);
    spread(v, index, any->n);
}

static void reduce(struct comm_virtual *v, const struct virtual_call *any)
{
    const enum comm_reduce how = (enum comm_reduce)any->how;
    struct virtual_call *first = &v->ranks[0].call;
    /* sums depend on the order of all ranks: virtual_far_collect() makes them */
    for (int i = 1; i < v->n_here && !(v->below && how == COMM_SUM_F64); i++)
        comm_combine(how, any->n, first->x, v->ranks[i].call.x);
    if (v->below)
        collect_far(v, first);
    spread(v, 0, any->n * comm_reduce_bytes(how));
}

static void work_once(struct comm_virtual *v, struct virtual_rank *last)
{
    void **all = last->comm.host_scratch;
    for (int r = 0; r < v->n_here; r++)
        all[r] = v->ranks[r].call.x;
    last->call.work(all, v->n_ranks);
}

static void perform(struct comm_virtual *v, struct virtual_rank *last)
{
    const struct virtual_call *call = &last->call;
    if (call->kind == VIRTUAL_BCAST)
        broadcast(v, call);
    else if (call->kind == VIRTUAL_REDUCE)
        reduce(v, call);
    else if (v->below)
        collect_far(v, call);
    else if (call->kind == VIRTUAL_ONCE)
        work_once(v, last);
    v->n_called = 0;
    for (int i = 0; i < v->n_here; i++)
        if (v->ranks[i].waits == VIRTUAL_OTHERS)
            virtual_wake(&v->ranks[i]);
}

static int check_alike(const struct virtual_rank *r)
{
    char text[160];
    const struct virtual_rank *other = r->job->ranks;
    while (other->waits != VIRTUAL_OTHERS)
        other++;
    const struct virtual_call *a = &other->call, *b = &r->call;
    if (a->kind == b->kind && a->how == b->how && a->n == b->n)
        return 0;
    snprintf(text, sizeof text,
             "ranks are in different collectives: rank %d to %s (%zu, %d), rank %d to %s (%zu, %d)",
             other->comm.rank, a->what, a->n, a->how, r->comm.rank, b->what, b->n, b->how);
    return virtual_break(r->job, -EPROTO, text);
}

static int collect(struct comm *c, struct virtual_call call)
{
    struct virtual_rank *r = virtual_rank(c);
    struct comm_virtual *v = r->job;
    if (v->broken)
        return v->broken;
    r->call = call;
    if (v->n_called > 0)
        TRY(check_alike(r));
    if (++v->n_called < v->n_here)
        TRY(virtual_block(r, VIRTUAL_OTHERS));
    else
        perform(v, r);
    return virtual_wait_all(c);
}

int virtual_barrier(struct comm *c)
{
    return collect(c, (struct virtual_call){.what = "synchronise", .kind = VIRTUAL_BARRIER});
}

int virtual_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    return collect(
        c, (struct virtual_call){
               .what = "broadcast", .kind = VIRTUAL_BCAST, .how = root, .n = bytes, .x = buf});
}

int virtual_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    return collect(c, (struct virtual_call){
                          .what = what, .kind = VIRTUAL_REDUCE, .how = (int)how, .n = n, .x = x});
}

int comm_virtual_once(struct comm *c, void *mine, void (*work)(void *const *all, int n_ranks))
{
    return collect(c,
                   (struct virtual_call){
                       .what = "work once for all", .kind = VIRTUAL_ONCE, .x = mine, .work = work});
}
