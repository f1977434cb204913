/* comm_wait.c : implements messages, waits and collectives for all kinds of ranks, and finds the
 * ranks of a machine. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int comm_place(struct comm *c)
{
    if (c->n_req < c->room)
        return 0;
    /* Only messages of many chunks and batches of requests need more places. */
    const size_t room = 2 * c->room;
    if (!c->ops->make_room(c, room))
        return ERR(-ENOMEM, "cannot have more than %zu messages in flight: out of memory", c->room);
    c->room = room;
    return 0;
}

static size_t chunk_of(const struct comm *c, size_t left)
{
    return left < c->chunk_bytes ? left : c->chunk_bytes;
}

static void count_sent(struct comm *c, int to, size_t bytes)
{
    c->count.sent_bytes += bytes;
    if (to >= c->near && to < c->near + c->n_near)
        c->count.near_bytes += bytes;
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
    count_sent(c, to, bytes);
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

/* Poll for a few microseconds, then yield, then sleep, longer in long waits: hundreds of ranks may
 * share a core with the rank that they wait for. */
void comm_rest(unsigned n_polls, double waited_s)
{
    if (n_polls < 50)
        return;
    if (waited_s < 0.02)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = waited_s < 0.2 ? 50000 : 500000}, NULL);
}

/* Sleep early: the kernel sends from its socket buffers meanwhile. */
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

int comm_batches_begin(struct comm *c, size_t n_places)
{
    assert(c->n_req == 0);
    while (c->room < n_places) {
        c->n_req = c->room; /* makes comm_place() grow the list */
        const int rc = comm_place(c);
        c->n_req = 0;
        TRY(rc);
    }
    c->ops->clear(c, 0, n_places);
    c->n_req = n_places;
    return 0;
}

size_t comm_batch_places(const struct comm *c, size_t bytes)
{
    return (bytes + c->chunk_bytes - 1) / c->chunk_bytes;
}

static size_t take_place(const struct comm *c, struct comm_batch *batch)
{
    assert(batch->used < batch->n_places && batch->at + batch->used < c->n_req);
    return batch->at + batch->used++;
}

int comm_batch_send(struct comm *c, struct comm_batch *batch, int tag, int to, const void *buf,
                    size_t bytes)
{
    const char *at = buf;
    count_sent(c, to, bytes);
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = chunk_of(c, left);
        TRY(c->ops->send(c, take_place(c, batch), tag, to, at, n));
    }
    return 0;
}

int comm_batch_recv(struct comm *c, struct comm_batch *batch, int tag, int from, void *buf,
                    size_t bytes)
{
    char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = chunk_of(c, left);
        TRY(c->ops->recv(c, take_place(c, batch), tag, from, at, n));
    }
    return 0;
}

bool comm_batch_done(const struct comm *c, const struct comm_batch *batch)
{
    return c->ops->done(c, batch->at, batch->used);
}

int comm_some(struct comm *c, bool wait)
{
    return c->ops->some(c, wait);
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

void comm_combine(enum comm_reduce how, size_t n, void *into, const void *x)
{
    const union {
        const int8_t *i8;
        const float *f32;
        const double *f64;
        const uint64_t *u64;
    } b = {.i8 = x};
    union {
        int8_t *i8;
        float *f32;
        double *f64;
        uint64_t *u64;
    } a = {.i8 = into};
    for (size_t i = 0; i < n; i++)
        switch (how) {
        case COMM_MAX_I8:
            a.i8[i] = a.i8[i] > b.i8[i] ? a.i8[i] : b.i8[i];
            break;
        case COMM_MAX_F32:
            a.f32[i] = a.f32[i] > b.f32[i] ? a.f32[i] : b.f32[i];
            break;
        case COMM_SUM_F64:
            a.f64[i] += b.f64[i];
            break;
        case COMM_MIN_U64:
            a.u64[i] = a.u64[i] < b.u64[i] ? a.u64[i] : b.u64[i];
            break;
        default:
            a.u64[i] |= b.u64[i];
        }
}

void comm_larger_i8(size_t n, int8_t *into, const void *x)
{
    comm_combine(COMM_MAX_I8, n, into, x);
}

static int reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    TRY(c->ops->reduce(c, how, x, n, what));
    const size_t bytes = c->n_ranks > 1 ? n * comm_reduce_bytes(how) : 0;
    c->count.sent_bytes += bytes;
    /* Only one rank of each process takes part. */
    if (c->n_near == c->n_ranks || (c->n_near > 0 && c->rank != c->near))
        c->count.near_bytes += bytes;
    return 0;
}

int comm_barrier(struct comm *c)
{
    return c->ops->barrier(c);
}

int comm_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    TRY(c->ops->bcast(c, buf, bytes, root));
    if (c->rank == root && c->n_ranks > 1)
        c->count.sent_bytes += bytes;
    return 0;
}

int comm_max_i8(struct comm *c, int8_t *x, size_t n)
{
    return reduce(c, COMM_MAX_I8, x, n, "find the largest exponents");
}

int comm_max_f32(struct comm *c, float *x, size_t n)
{
    return reduce(c, COMM_MAX_F32, x, n, "find the largest numbers");
}

int comm_sum_f64(struct comm *c, double *x, size_t n)
{
    return reduce(c, COMM_SUM_F64, x, n, "add up");
}

int comm_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
    if (c->rank > 0) {
        TRY(comm_send(c, 0, mine, bytes));
    } else {
        memcpy(all, mine, bytes);
        for (int r = 1; r < c->n_ranks; r++)
            TRY(comm_recv(c, r, (char *)all + (size_t)r * bytes, bytes));
    }
    return comm_wait(c);
}

int comm_double(struct comm *c, size_t bytes, uint8_t *all)
{
    const int p = c->n_ranks, me = c->rank;
    for (int have = 1; have < p; have *= 2) {
        const size_t more = (size_t)at_most((size_t)have, (size_t)(p - have)) * bytes;
        TRY(comm_recv(c, (me + have) % p, all + (size_t)have * bytes, more));
        TRY(comm_send(c, (me - have + p) % p, all, more));
        TRY(comm_round(c));
    }
    return 0;
}

int comm_all_gather(struct comm *c, const void *mine, size_t bytes, void *all,
                    const uint8_t **parts)
{
    const int p = c->n_ranks;
    const bool at_once = c->ops->all_gather && p > 1 && bytes > 0 && bytes <= c->chunk_bytes;
    for (int r = 0; r < p; r++)
        parts[r] = (uint8_t *)all + (size_t)(at_once ? r : (r - c->rank + p) % p) * bytes;
    if (!at_once) {
        memcpy(all, mine, bytes);
        return comm_double(c, bytes, all);
    }
    TRY(c->ops->all_gather(c, mine, bytes, all));
    c->count.sent_bytes += (size_t)(p - 1) * bytes;
    for (int have = 1; have < p; have *= 2)
        c->count.rounds++;
    return 0;
}

int comm_pass(struct comm *c, int from, int to, void *buf, size_t bytes)
{
    if (c->rank == from)
        TRY(comm_send(c, to, buf, bytes));
    else
        TRY(comm_recv(c, from, buf, bytes));
    return comm_wait(c);
}

int comm_pass_on(struct comm *c, int to, const void *mine, size_t bytes, int from, int n, void *all)
{
    for (int i = 0; i < n; i++)
        TRY(comm_recv(c, from + i, (char *)all + (size_t)i * bytes, bytes));
    TRY(comm_send(c, to, mine, bytes));
    return comm_wait(c);
}

/* All ranks process as many blocks as rank 0 has. */
static int differs_from_rank_0(struct comm *c, const char *mine, size_t bytes, bool *differs)
{
    uint64_t length = bytes;
    TRY(comm_bcast(c, &length, sizeof length, 0));
    *differs = length != bytes;
    for (size_t at = 0, n; at < length; at += n) {
        n = at_most(length - at, COMM_BLOCK);
        if (c->rank == 0)
            memcpy(c->scratch, mine + at, n);
        TRY(comm_bcast(c, c->scratch, n, 0));
        *differs = *differs || memcmp(c->scratch, mine + at, n) != 0;
    }
    return 0;
}

int comm_check_equal(struct comm *c, const void *mine, size_t bytes, const char *what)
{
    bool differs;
    TRY(differs_from_rank_0(c, mine, bytes, &differs));
    const uint64_t none = (uint64_t)c->n_ranks;
    uint64_t first = differs ? (uint64_t)c->rank : none;
    TRY(c->ops->reduce(c, COMM_MIN_U64, &first, 1, "compare"));
    if (first == none)
        return 0;
    return c->rank > 0
               ? -EPROTO
               : ERR(-EPROTO, "%s differs between %ss: %s %d and %s 0 have different ones", what,
                     comm_rank_word(c), comm_rank_word(c), (int)first, comm_rank_word(c));
}

/* ---- machines ---- */

uint64_t comm_machine(void)
{
    char host[64] = "", boot[48] = "", text[128];
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f && fscanf(f, "%40s", boot) != 1)
        boot[0] = 0;
    if (f)
        fclose(f);
    (void)gethostname(host, sizeof host - 1);
    const int n = snprintf(text, sizeof text, "%s %s", boot, host);
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3;
    return hash;
}

/* Sets *rank to this process's index on its machine and lowest [n_ranks], unless NULL, to the
 * lowest rank on each rank's machine. */
static int find_machines(struct comm *c, int *rank, int32_t *lowest)
{
    if (c->ops->nodes)
        return c->ops->nodes(c, rank, lowest);
    uint64_t *all = c->host_scratch;
    const uint8_t **hash = (const uint8_t **)(all + c->n_ranks);
    const uint64_t mine = comm_machine();
    const struct comm_count count = c->count;
    TRY(comm_all_gather(c, &mine, sizeof mine, all, hash));
    c->count.sent_bytes = count.sent_bytes;
    c->count.rounds = count.rounds;
    *rank = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        *rank += r < c->rank && memcmp(hash[r], &mine, sizeof mine) == 0;
        int first = 0;
        while (memcmp(hash[first], hash[r], sizeof mine) != 0)
            first++;
        if (lowest)
            lowest[r] = first;
    }
    return 0;
}

int comm_rank_on_node(struct comm *c)
{
    int rank;
    TRY(find_machines(c, &rank, NULL));
    return rank;
}

int comm_nodes(struct comm *c, int32_t *nodes)
{
    int rank;
    return find_machines(c, &rank, nodes);
}

int comm_ranks_per_machine(struct comm *c)
{
    int32_t *lowest = (int32_t *)((uint64_t *)c->host_scratch + 2 * c->n_ranks);
    TRY(comm_nodes(c, lowest));
    int k = 1;
    while (k < c->n_ranks && lowest[k] == lowest[0])
        k++;
    for (int r = 0; r < c->n_ranks; r++)
        if (lowest[r] != r - r % k)
            return 0;
    return k > 1 && k < c->n_ranks && c->n_ranks % k == 0 ? k : 0;
}
