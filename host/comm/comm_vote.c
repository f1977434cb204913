/* comm_vote.c : steps whose sums do not come by MPI: giving such a way up, waiting outside MPI, the
 * vote that ends a step. */
#include "base/err.h"
#include "comm/comm_inside.h"
#include <string.h>

int comm_give_up(struct comm *c)
{
    c->gave_up = true;
    return c->ops->give_up(c);
}

bool comm_given_up(struct comm *c)
{
    if (c->ops->poll(c) && c->ops->missing(c) < 0)
        return true;
    return c->ops->given_up(c);
}

int comm_missing(struct comm *c)
{
    return c->ops->missing(c);
}

/* Words of a mask of ranks. */
static size_t mask_words(const struct comm *c)
{
    return ((size_t)c->n_ranks + 63) / 64;
}

int comm_vote(struct comm *c, uint64_t *bits, size_t n)
{
    uint64_t *all = c->scratch, *mask = all + n;
    const size_t words = n + mask_words(c);
    if (words * sizeof *all > COMM_BLOCK)
        return ERR(-EINVAL, "cannot vote on %zu buckets: %d at most; take a larger --bucket-bytes",
                   64 * n, COMM_BLOCK * 8 - 64 * (int)mask_words(c));
    memcpy(all, bits, n * sizeof *bits);
    memset(mask, 0, mask_words(c) * sizeof *mask);
    if (c->gave_up)
        mask[c->rank / 64] |= (uint64_t)1 << c->rank % 64;
    TRY(c->ops->reduce(c, COMM_OR_U64, all, words, "vote"));
    memcpy(bits, all, n * sizeof *bits);
    c->gave_up = false;
    return c->ops->forget(c, mask);
}
