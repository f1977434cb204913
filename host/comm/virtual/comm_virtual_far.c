/* comm_virtual_far.c : Carries messages and collectives of virtual ranks between processes.
 *
 * A message has its own request of the communicator between the processes. Its tag names both
 * ranks within their processes, so that messages of each pair of ranks arrive in order. */
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

/* Returns the largest number of ranks in a process. */
static int most_here(const struct comm_virtual *v)
{
    return (v->n_ranks + v->below->n_ranks - 1) / v->below->n_ranks;
}

/* Ranks per process. MPI guarantees tags up to 32,767; the largest of far_tag() is 32,004. */
enum { FAR_MAX = 80 };

static int far_tag(const struct comm_virtual *v, const struct virtual_rank *r,
                   const struct virtual_message *m)
{
    const int most = most_here(v), mine = virtual_index(v, r->comm.rank),
              other = m->peer - virtual_lowest_of(v, virtual_process_of(v, m->peer)),
              from = m->sends ? mine : other, to = m->sends ? other : mine;
    return COMM_TAGS + (m->tag * most + to) * most + from;
}

/* Grows the list of messages to n places. */
static int make_places(struct comm_virtual *v, size_t n)
{
    struct comm *b = v->below;
    const size_t old = v->n_places;
    struct virtual_far *more = realloc(v->far_messages, n * sizeof *more);
    if (!more)
        return ERR(-ENOMEM, "cannot have more than %zu messages in flight: out of memory", old);
    v->far_messages = more;
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

int virtual_far_check(const struct comm_virtual *v)
{
    if (most_here(v) > FAR_MAX)
        return ERR(-EINVAL, "cannot run %d ranks in %d processes: need at least %d processes, or 1",
                   v->n_ranks, v->below->n_ranks, (v->n_ranks + FAR_MAX - 1) / FAR_MAX);
    return 0;
}

int virtual_far_open(struct comm_virtual *v, int rc)
{
    struct comm *b = v->below;
    uint64_t failed = rc < 0;
    TRY(b->ops->reduce(b, COMM_OR_U64, &failed, 1, "open virtual ranks"));
    if (rc < 0 || failed)
        return rc < 0 ? rc : -ECANCELED; /* another process reports its failure */
    TRY(v->on_node = comm_rank_on_node(b));
    return make_places(v, 4 * (size_t)v->n_ranks + 16);
}

int virtual_far_post(struct virtual_rank *r, size_t place)
{
    struct comm_virtual *v = r->job;
    struct comm *b = v->below;
    const struct virtual_message *m = &r->messages[place];
    const int process = virtual_process_of(v, m->peer), tag = far_tag(v, r, m);
    size_t at = v->free_from;
    if (v->n_far == v->n_places)
        TRY(make_places(v, 2 * v->n_places));
    while (v->far_messages[at].rank)
        at++;
    TRY(m->sends ? b->ops->send(b, at, tag, process, m->buf, m->bytes)
                 : b->ops->recv(b, at, tag, process, m->buf, m->bytes));
    v->far_messages[at] = (struct virtual_far){r, place};
    v->free_from = at + 1;
    v->n_far++;
    if (m->sends)
        b->count.sent_bytes += m->bytes;
    return 0;
}

bool virtual_far_progress(struct comm_virtual *v, bool wait)
{
    if (v->n_far == 0)
        return false;
    const int n = v->below->ops->some(v->below, wait);
    if (n < 0)
        comm_abort(v->below, n);
    return n > 0;
}

bool virtual_far_take(struct comm_virtual *v, struct virtual_far *ended)
{
    const struct comm *b = v->below;
    for (; v->n_far > 0 && v->taken_to < v->n_places; v->taken_to++) {
        struct virtual_far *f = &v->far_messages[v->taken_to];
        if (!f->rank || !b->ops->done(b, v->taken_to, 1))
            continue;
        *ended = *f;
        f->rank = NULL;
        v->free_from = v->taken_to < v->free_from ? v->taken_to : v->free_from;
        v->n_far--;
        return true;
    }
    v->taken_to = 0;
    return false;
}

/* Adds x[n] at `at` of all ranks in rank order, whatever processes they are in. A process sends the
 * values of its ranks, padded to the largest number of ranks in a process. */
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

/* Collectives of the processes also wait for all messages in flight, and empty their list. */
static void after_all(struct comm_virtual *v, int rc)
{
    if (rc < 0)
        comm_abort(v->below, rc);
    v->below->n_req = v->n_places;
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

void virtual_far_collect(struct comm_virtual *v, const struct virtual_call *call)
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
    after_all(v, rc);
}

int virtual_far_abandon(struct comm_virtual *v, uint64_t vote)
{
    if (v->told_in == vote)
        return 0;
    v->told_in = vote;
    return comm_abandon(v->below);
}

void virtual_far_forget(struct comm_virtual *v, uint64_t vote, const uint64_t *abandoned)
{
    struct comm *b = v->below;
    uint64_t *processes = b->scratch; /* comm_vote() has checked that the larger mask fits */
    if (v->forgot == vote)
        return;
    v->forgot = vote;
    memset(processes, 0, ((size_t)b->n_ranks + 63) / 64 * sizeof *processes);
    for (int r = 0; r < v->n_ranks; r++) {
        const int process = virtual_process_of(v, r);
        processes[process / 64] |= (abandoned[r / 64] >> r % 64 & 1) << process % 64;
    }
    after_all(v, b->ops->forget(b, processes));
}
