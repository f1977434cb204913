/* algo_step.c : the steps that move ranges among a set of ranks: all to all at once, or around a
 * ring. */
#include "comm/algo/algo_step.h"
#include "base/err.h"
#include "comm/comm_inside.h"

/* Member `me + by`, around the set. */
static int around(const struct algo_set *set, int by)
{
    return ((set->me + by) % set->n + set->n) % set->n;
}

int algo_alltoall(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                  const uint8_t *vector, uint8_t *store, const uint8_t **parts)
{
    const size_t mine = algo_cut_bytes(cut, set->me);
    parts[set->me] = vector + algo_cut_at(cut, set->me);
    for (int by = 1; by < set->n; by++) { /* everybody starts with another neighbour */
        const int from = around(set, -by);
        uint8_t *place = store + (size_t)(by - 1) * algo_cut_most(cut);
        TRY(comm_recv(c, algo_rank(set, from), place, mine));
        parts[from] = place;
    }
    for (int by = 1; by < set->n; by++) {
        const int to = around(set, by);
        TRY(comm_send(c, algo_rank(set, to), vector + algo_cut_at(cut, to),
                      algo_cut_bytes(cut, to)));
    }
    return set->n > 1 ? comm_round(c) : 0;
}

int algo_allgather(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                   uint8_t *vector)
{
    for (int by = 1; by < set->n; by++) {
        const int from = around(set, -by);
        TRY(comm_recv(c, algo_rank(set, from), vector + algo_cut_at(cut, from),
                      algo_cut_bytes(cut, from)));
    }
    for (int by = 1; by < set->n; by++)
        TRY(comm_send(c, algo_rank(set, around(set, by)), vector + algo_cut_at(cut, set->me),
                      algo_cut_bytes(cut, set->me)));
    return set->n > 1 ? comm_round(c) : 0;
}

size_t algo_hop_bytes(const struct algo_cut *cut)
{
    const struct algo_cut sums = {cut->fold, ALGO_PART, cut->whole, cut->n_parts};
    return algo_cut_most(&sums);
}

int algo_ring_reduce(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                     const uint8_t *codes, void *acc, uint8_t *hop, enum algo_form to, uint8_t *sum)
{
    const struct fold *f = cut->fold;
    const struct algo_range mine = algo_cut_range(cut, set->me);
    uint8_t *got = hop, *passed_on = hop + algo_hop_bytes(cut);
    uint8_t *place = sum + algo_bytes(f, to, mine.at - cut->whole.at);
    if (set->n == 1)
        algo_fold(f, mine, cut->form, &codes, 1, acc, to, place);
    for (int step = 1; step < set->n; step++) {
        /* the first message is codes as they are */
        const struct algo_cut moves = {f, step == 1 ? cut->form : ALGO_PART, cut->whole,
                                       cut->n_parts};
        const int going = around(set, -step), coming = around(set, -step - 1);
        const uint8_t *sent = step == 1 ? codes + algo_cut_at(cut, going) : passed_on;
        TRY(comm_recv(c, algo_rank(set, around(set, -1)), got, algo_cut_bytes(&moves, coming)));
        TRY(comm_send(c, algo_rank(set, around(set, 1)), sent, algo_cut_bytes(&moves, going)));
        TRY(comm_round(c));
        const uint8_t *const addends[] = {got, codes + algo_cut_at(cut, coming)};
        const bool last = step == set->n - 1; /* then coming == me */
        const struct algo_range r = algo_cut_range(cut, coming);
        if (moves.form == cut->form)
            algo_fold(f, r, cut->form, addends, 2, acc, last ? to : ALGO_PART,
                      last ? place : passed_on);
        else if (r.n > 0)
            f->ops->hop(f, r.at, got, addends[1], r.n, last && to == ALGO_OUT,
                        last ? place : passed_on);
    }
    return 0;
}

int algo_ring_allgather(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                        uint8_t *vector)
{
    for (int step = 1; step < set->n; step++) {
        const int going = around(set, 1 - step), coming = around(set, -step);
        TRY(comm_recv(c, algo_rank(set, around(set, -1)), vector + algo_cut_at(cut, coming),
                      algo_cut_bytes(cut, coming)));
        TRY(comm_send(c, algo_rank(set, around(set, 1)), vector + algo_cut_at(cut, going),
                      algo_cut_bytes(cut, going)));
        TRY(comm_round(c));
    }
    return 0;
}

int algo_check_group(const char *name, int n_ranks, int group)
{
    if (group < 1 || n_ranks % group != 0)
        return ERR(-EINVAL, "cannot use \"%s:%d\" with %d ranks: groups of %d do not divide them",
                   name, group, n_ranks, group);
    return 0;
}
