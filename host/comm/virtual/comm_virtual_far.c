/* comm_virtual_far.c : carries messages and collectives of virtual ranks between processes.
 *
 * From one process to another there is one stream of heads and bodies, under one tag:
 *
 *     | from, to, tag, bytes | body | from, to, tag, bytes | body ...
 *
 * A head is received only while a rank waits for a message of that process. A body that no rank
 * waits for yet is received into new memory. */
#include "base/buf.h"
#include "base/err.h"
#include "comm/virtual/comm_virtual_inside.h"
#include <stdlib.h>
#include <string.h>

int virtual_lowest_of(const struct comm_virtual *v, int process)
{
    return (int)((int64_t)v->n_ranks * process / v->below->n_ranks);
}

int virtual_process_of(const struct comm_virtual *v, int rank)
{
    return (int)((((int64_t)rank + 1) * v->below->n_ranks - 1) / v->n_ranks);
}

static int most_here(const struct comm_virtual *v)
{
    return (v->n_ranks + v->below->n_ranks - 1) / v->below->n_ranks;
}

static int make_places(struct comm_virtual *v, size_t n)
{
    struct comm *b = v->below;
    const size_t old = v->n_places;
    struct virtual_part *more = realloc(v->parts, n * sizeof *more);
    if (!more)
        return ERR(-ENOMEM, "cannot have more than %zu messages in flight: out of memory", old);
    v->parts = more;
    memset(more + old, 0, (n - old) * sizeof *more);
    while (b->room < n) {
        if (!b->ops->make_room(b, 2 * b->room))
            return ERR(-ENOMEM, "cannot have more than %zu messages in flight: out of memory", old);
        b->room *= 2;
    }
    b->ops->clear(b, old, n - old);
    v->n_places = b->n_req = n;
    return 0;
}

int virtual_far_open(struct comm_virtual *v, int rc)
{
    struct comm *b = v->below;
    uint64_t failed = rc < 0;
    TRY(b->ops->reduce(b, COMM_OR_U64, &failed, 1, "open virtual ranks"));
    if (rc < 0 || failed)
        return rc < 0 ? rc : -ECANCELED; /* another process reports it */
    TRY(v->on_node = comm_rank_on_node(b));
    v->streams = buf_alloc((size_t)b->n_ranks * sizeof *v->streams);
    return v->streams ? make_places(v, 64) : -ENOMEM;
}

static void free_list(struct virtual_far *m)
{
    for (struct virtual_far *next; m; m = next) {
        next = m->next;
        free(m->early);
        free(m);
    }
}

void virtual_far_drop(struct comm_virtual *v)
{
    for (size_t at = 0; at < v->n_places; at++) {
        struct virtual_far *m = v->parts[at].m;
        if (m && !m->early && --m->n_left == 0) /* early ones are in a list */
            free(m);
        v->parts[at] = (struct virtual_part){.m = NULL};
    }
    for (int p = 0; v->streams && p < v->below->n_ranks; p++) {
        free_list(v->streams[p].wanted);
        free_list(v->streams[p].early);
        v->streams[p] = (struct virtual_stream){.reads = false};
    }
    v->n_far = v->free_from = v->taken_to = 0;
}

static int post_part(struct comm_virtual *v, struct virtual_part part, bool sends, int process,
                     void *buf, size_t bytes)
{
    struct comm *b = v->below;
    size_t at = v->free_from;
    while (at < v->n_places && (v->parts[at].m || v->parts[at].from))
        at++;
    if (at == v->n_places)
        TRY(make_places(v, 2 * v->n_places));
    TRY(sends ? b->ops->send(b, at, COMM_TAG_FAR, process, buf, bytes)
              : b->ops->recv(b, at, COMM_TAG_FAR, process, buf, bytes));
    v->parts[at] = part;
    v->free_from = at + 1;
    return 0;
}

static int read_on(struct comm_virtual *v, struct virtual_stream *s)
{
    if (s->reads || !s->wanted)
        return 0;
    s->reads = true;
    return post_part(v, (struct virtual_part){.from = s}, false, (int)(s - v->streams), &s->head,
                     sizeof s->head);
}

static void append(struct virtual_far **list, struct virtual_far *m)
{
    while (*list)
        list = &(*list)->next;
    *list = m;
}

/* Skips early messages that a rank waits for. */
static struct virtual_far *find(struct virtual_far **list, const struct virtual_far_head *head)
{
    for (struct virtual_far *m; (m = *list); list = &m->next)
        if (m->head.from == head->from && m->head.to == head->to && m->head.tag == head->tag &&
            !(m->early && m->rank)) {
            *list = m->next;
            m->next = NULL;
            return m;
        }
    return NULL;
}

static int check_bytes(const struct virtual_far_head *wanted, uint64_t sent)
{
    if (wanted->bytes != sent)
        return ERR(-EIO, "rank %d expects %llu bytes from rank %d, which sends %llu", wanted->to,
                   (unsigned long long)wanted->bytes, wanted->from, (unsigned long long)sent);
    return 0;
}

static void *body_of(const struct virtual_far *m)
{
    return m->rank->messages[m->place].buf;
}

/* Delivers a body that arrived before its receive was posted. */
static void deliver(struct virtual_far *m)
{
    memcpy(body_of(m), m->early, m->head.bytes);
    free(m->early);
    free(m);
}

static struct virtual_far *new_message(struct virtual_far_head head, struct virtual_rank *r,
                                       size_t place)
{
    struct virtual_far *m = buf_alloc(sizeof *m);
    if (m)
        *m = (struct virtual_far){.head = head, .rank = r, .place = place, .n_left = 1};
    return m;
}

static int post_receive(struct virtual_rank *r, size_t place, struct virtual_far_head head,
                        struct virtual_stream *s)
{
    struct virtual_far *m = find(&s->early, &head);
    if (m) {
        TRY(check_bytes(&head, m->head.bytes));
        m->rank = r, m->place = place;
        if (m->n_left == 0)
            return deliver(m), 1;
        append(&s->early, m); /* virtual_far_take() will deliver it */
    } else {
        m = new_message(head, r, place);
        if (!m)
            return -ENOMEM;
        append(&s->wanted, m);
    }
    r->job->n_far++;
    return read_on(r->job, s);
}

static int post_send(struct virtual_rank *r, size_t place, struct virtual_far_head head,
                     int process)
{
    struct comm_virtual *v = r->job;
    struct virtual_far *m = new_message(head, r, place);
    if (!m)
        return -ENOMEM;
    const struct virtual_part part = {.m = m};
    int rc = post_part(v, part, true, process, &m->head, sizeof m->head);
    if (rc < 0) {
        free(m);
        return rc;
    }
    rc = post_part(v, part, true, process, body_of(m), head.bytes);
    m->n_left += rc == 0;
    v->n_far++;
    return rc;
}

int virtual_far_post(struct virtual_rank *r, size_t place)
{
    struct comm_virtual *v = r->job;
    const struct virtual_message *m = &r->messages[place];
    const int process = virtual_process_of(v, m->peer), me = r->comm.rank;
    const struct virtual_far_head head = {.from = m->sends ? me : m->peer,
                                          .to = m->sends ? m->peer : me,
                                          .tag = m->tag,
                                          .bytes = m->bytes};
    return m->sends ? post_send(r, place, head, process)
                    : post_receive(r, place, head, &v->streams[process]);
}

int virtual_far_progress(struct comm_virtual *v, bool wait)
{
    return v->n_far == 0 ? 0 : v->below->ops->some(v->below, wait);
}

static int take_head(struct comm_virtual *v, struct virtual_stream *s)
{
    const struct virtual_far_head head = s->head;
    const int process = (int)(s - v->streams);
    struct virtual_far *m = find(&s->wanted, &head);
    s->reads = false;
    if (m) {
        TRY(check_bytes(&m->head, head.bytes));
    } else {
        m = new_message(head, NULL, 0);
        if (!m || !(m->early = malloc(head.bytes))) { /* not zeroed: long bodies come early often */
            free(m);
            return ERR(-ENOMEM, "cannot receive %llu bytes: out of memory",
                       (unsigned long long)head.bytes);
        }
        append(&s->early, m);
    }
    TRY(post_part(v, (struct virtual_part){m, s}, false, process, m->early ? m->early : body_of(m),
                  head.bytes));
    return read_on(v, s);
}

/* Returns true with *r and *place if the part's message is done. */
static bool take_part(struct virtual_part part, struct virtual_rank **r, size_t *place)
{
    struct virtual_far *m = part.m;
    if (--m->n_left > 0 || !m->rank)
        return false;
    *r = m->rank;
    *place = m->place;
    if (m->early) {
        struct virtual_far **list = &part.from->early;
        while (*list != m)
            list = &(*list)->next;
        *list = m->next;
        deliver(m);
    } else {
        free(m);
    }
    return true;
}

int virtual_far_take(struct comm_virtual *v, struct virtual_rank **r, size_t *place)
{
    const struct comm *b = v->below;
    for (; v->taken_to < v->n_places; v->taken_to++) {
        const struct virtual_part part = v->parts[v->taken_to];
        if ((!part.m && !part.from) || !b->ops->done(b, v->taken_to, 1))
            continue;
        v->parts[v->taken_to] = (struct virtual_part){.m = NULL};
        v->free_from = v->taken_to < v->free_from ? v->taken_to : v->free_from;
        if (!part.m) {
            TRY(take_head(v, part.from));
        } else if (take_part(part, r, place)) {
            v->n_far--;
            return 1;
        }
    }
    v->taken_to = 0;
    return 0;
}

/* The sum must be in rank order, so each process sends its ranks' values, padded to the largest
 * number of ranks in a process. */
static int sum_block(struct comm_virtual *v, double *sum, size_t at, size_t n)
{
    double *x = sum + at;
    struct comm *b = v->below;
    const size_t most = (size_t)most_here(v), each = most * n * sizeof *x;
    double *all = calloc((size_t)b->n_ranks + 1, each);
    const uint8_t **parts = b->host_scratch;
    int rc = all ? 0 : ERR(-ENOMEM, "cannot add up: out of memory");
    double *mine = rc ? NULL : all + (size_t)b->n_ranks * most * n;
    for (int i = 0; i < v->n_here && rc == 0; i++)
        memcpy(mine + (size_t)i * n, (const double *)v->ranks[i].call.x + at, n * sizeof *x);
    rc = rc ? rc : comm_all_gather(b, mine, each, all, parts);
    for (int r = 0; r < v->n_ranks && rc == 0; r++) {
        const int process = virtual_process_of(v, r);
        const double *from = (const double *)(const void *)parts[process] +
                             (size_t)(r - virtual_lowest_of(v, process)) * n;
        if (r == 0)
            memcpy(x, from, n * sizeof *x);
        else
            comm_combine(COMM_SUM_F64, n, x, from);
    }
    free(all);
    return rc;
}

static int sum_f64(struct comm_virtual *v, double *sum, size_t n)
{
    enum { BLOCK = 1024 };
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < BLOCK ? n - at : BLOCK;
        TRY(sum_block(v, sum, at, k));
    }
    return 0;
}

int virtual_far_collect(struct comm_virtual *v, const struct virtual_call *call)
{
    struct comm *b = v->below;
    int rc = 0;
    switch (call->kind) {
    case VIRTUAL_BARRIER:
        rc = b->ops->barrier(b);
        break;
    case VIRTUAL_BCAST:
        rc = b->ops->bcast(b, call->x, call->n, virtual_process_of(v, call->how));
        break;
    case VIRTUAL_REDUCE:
        rc = call->how == COMM_SUM_F64
                 ? sum_f64(v, call->x, call->n)
                 : b->ops->reduce(b, (enum comm_reduce)call->how, call->x, call->n, call->what);
        break;
    case VIRTUAL_ONCE:
        rc = ERR(-EINVAL, "cannot %s: not all ranks are in one process", call->what);
    }
    b->n_req = v->n_places; /* a collective empties the list */
    return rc;
}

int virtual_far_abandon(struct comm_virtual *v, uint64_t vote)
{
    if (v->abandon_sent_for == vote)
        return 0;
    v->abandon_sent_for = vote;
    return comm_abandon(v->below);
}

int virtual_far_forget(struct comm_virtual *v, uint64_t vote, const uint64_t *abandoned)
{
    struct comm *b = v->below;
    uint64_t *processes = b->scratch; /* fits, as the mask of a vote does */
    if (v->dropped_for == vote)
        return 0; /* another rank of this process did it; this one must not wait */
    v->dropped_for = vote;
    memset(processes, 0, ((size_t)b->n_ranks + 63) / 64 * sizeof *processes);
    for (int r = 0; r < v->n_ranks; r++) {
        const int process = virtual_process_of(v, r);
        processes[process / 64] |= (abandoned[r / 64] >> r % 64 & 1) << process % 64;
    }
    const int rc = b->ops->forget(b, processes);
    b->n_req = v->n_places;
    return rc;
}
