/* comm_over_collect.c : small collectives made of messages. */
#include "base/err.h"
#include "comm/over/comm_over_inside.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of everybody the same number of bytes, at most COMM_BLOCK, to o->all, as comm_double() has them. */
static int all_gather(struct comm_over *o, const void *mine, size_t bytes)
{
    struct comm *c = &o->comm;
    const uint64_t sent = c->count.sent_bytes, rounds = c->count.rounds;
    memcpy(o->all, mine, bytes);
    TRY(comm_double(c, bytes, (uint8_t *)o->all));
    c->count.sent_bytes = sent, c->count.rounds = rounds; /* who calls counts */
    return over_wait(c);                                  /* also of one rank */
}

static const char *of_rank(const struct comm_over *o, int rank, size_t bytes)
{
    const int p = o->comm.n_ranks;
    return o->all + (size_t)((rank - o->comm.rank + p) % p) * bytes;
}

int over_barrier(struct comm *c)
{
    return all_gather(comm_over(c), "", 1);
}

/* Down a binomial tree: in round k those that have it, ranks 0 to 2^k - 1 behind root, tell as many. */
int over_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    const int p = c->n_ranks, behind = (c->rank - root + p) % p;
    const uint64_t sent = c->count.sent_bytes;
    for (int have = 1; have < p; have *= 2) {
        const int to = behind + have, from = behind - have;
        if (behind < have && to < p)
            TRY(comm_send(c, (root + to) % p, buf, bytes));
        else if (from >= 0 && from < have)
            TRY(comm_recv(c, (root + from) % p, buf, bytes));
        TRY(over_wait(c));
    }
    c->count.sent_bytes = sent;
    return over_wait(c);
}

/* Everybody gets everybody's numbers and combines them alone, in rank order. */
int over_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    struct comm_over *o = comm_over(c);
    const size_t size = comm_reduce_bytes(how), most = COMM_BLOCK / size;
    char *at = x;
    (void)what; /* what cannot be done is said of the rank that is gone */
    for (size_t left = n, k; left > 0; left -= k, at += k * size) {
        k = left < most ? left : most;
        TRY(all_gather(o, at, k * size));
        memcpy(at, of_rank(o, 0, k * size), k * size);
        for (int r = 1; r < c->n_ranks; r++)
            comm_combine(how, k, at, of_rank(o, r, k * size));
    }
    return 0;
}

/* A machine's name and the kernel's mark of this start of it: containers have the same names. */
static void machine(char to[128])
{
    char host[64] = "", boot[48] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f && fscanf(f, "%40s", boot) != 1)
        boot[0] = 0;
    if (f)
        fclose(f);
    (void)gethostname(host, sizeof host - 1);
    memset(to, 0, 128);
    snprintf(to, 128, "%s %s", boot, host);
}

int over_nodes(struct comm *c, int *rank, int32_t *lowest)
{
    struct comm_over *o = comm_over(c);
    char mine[128];
    machine(mine);
    TRY(all_gather(o, mine, sizeof mine));
    *rank = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        const char *name = of_rank(o, r, sizeof mine);
        *rank += r < c->rank && memcmp(name, mine, sizeof mine) == 0;
        int first = 0;
        while (memcmp(of_rank(o, first, sizeof mine), name, sizeof mine) != 0)
            first++;
        if (lowest)
            lowest[r] = first;
    }
    return 0;
}
