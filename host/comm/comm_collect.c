/* comm_collect.c : implements small collectives by messages, in O(log P) rounds, for transports
 * without collectives of their own. */
#include "base/err.h"
#include "comm/comm_inside.h"
#include <string.h>

/* At most COMM_BLOCK bytes of each rank arrive in `all`, in the order of comm_double(). */
static int all_gather(struct comm *c, const void *mine, size_t bytes, uint8_t *all)
{
    const uint64_t sent = c->count.sent_bytes, rounds = c->count.rounds;
    memcpy(all, mine, bytes);
    TRY(comm_double(c, bytes, all));
    c->count.sent_bytes = sent, c->count.rounds = rounds; /* the caller counts */
    return comm_wait(c);                                  /* one rank: no wait so far */
}

int comm_message_barrier(struct comm *c, uint8_t *all)
{
    return all_gather(c, "", 1, all);
}

/* Binomial tree: in round k the first 2^k ranks, counted from root, send to the next 2^k. */
int comm_message_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    const int p = c->n_ranks, place = (c->rank - root + p) % p;
    const uint64_t sent = c->count.sent_bytes;
    for (int have = 1; have < p; have *= 2) {
        const int to = place + have, from = place - have;
        if (place < have && to < p)
            TRY(comm_send(c, (root + to) % p, buf, bytes));
        else if (from >= 0 && from < have)
            TRY(comm_recv(c, (root + from) % p, buf, bytes));
        TRY(comm_wait(c));
    }
    c->count.sent_bytes = sent;
    return comm_wait(c);
}

int comm_message_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, uint8_t *all)
{
    const size_t size = comm_reduce_bytes(how), most = COMM_BLOCK / size;
    const int p = c->n_ranks;
    char *at = x;
    for (size_t left = n, k; left > 0; left -= k, at += k * size) {
        k = left < most ? left : most;
        TRY(all_gather(c, at, k * size, all));
        for (int r = 0; r < p; r++) {
            const uint8_t *part = all + (size_t)((r - c->rank + p) % p) * k * size;
            if (r == 0)
                memcpy(at, part, k * size);
            else
                comm_combine(how, k, at, part);
        }
    }
    return 0;
}
