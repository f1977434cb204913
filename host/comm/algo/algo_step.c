/* algo_step.c : moves and adds ranges among a set of ranks, all to all or around a ring. */
#include "comm/algo/algo_step.h"
#include "base/err.h"
#include "comm/comm_inside.h"

int algo_alltoall(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                  const uint8_t *vector, uint8_t *store, const uint8_t **parts)
{
    const size_t mine = algo_cut_bytes(cut, set->me);
    parts[set->me] = vector + algo_cut_at(cut, set->me);
    for (int by = 1; by < set->n; by++) { /* each member starts with a different neighbour */
        const int from = algo_around(set, -by);
        uint8_t *place = store + (size_t)(by - 1) * algo_cut_most(cut);
        TRY(comm_recv(c, algo_rank(set, from), place, mine));
        parts[from] = place;
    }
    for (int by = 1; by < set->n; by++) {
        const int to = algo_around(set, by);
        TRY(comm_send(c, algo_rank(set, to), vector + algo_cut_at(cut, to),
                      algo_cut_bytes(cut, to)));
    }
    return set->n > 1 ? comm_round(c) : 0;
}

int algo_allgather(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                   uint8_t *vector)
{
    for (int by = 1; by < set->n; by++) {
        const int from = algo_around(set, -by);
        TRY(comm_recv(c, algo_rank(set, from), vector + algo_cut_at(cut, from),
                      algo_cut_bytes(cut, from)));
    }
    for (int by = 1; by < set->n; by++)
        TRY(comm_send(c, algo_rank(set, algo_around(set, by)), vector + algo_cut_at(cut, set->me),
                      algo_cut_bytes(cut, set->me)));
    return set->n > 1 ? comm_round(c) : 0;
}

size_t algo_hop_bytes(const struct algo_cut *cut)
{
    struct algo_cut sums = *cut;
    sums.form = ALGO_PART;
    return algo_cut_most(&sums);
}

int algo_ring_reduce(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                     const uint8_t *codes, void *acc, uint8_t *hop, enum algo_form to, uint8_t *sum)
{
    const struct reduce_op *f = cut->op;
    const struct algo_range mine = algo_cut_range(cut, set->me);
    uint8_t *got = hop, *passed_on = hop + algo_hop_bytes(cut);
    uint8_t *place = sum + algo_bytes(f, to, mine.at - cut->whole.at);
    if (set->n == 1)
        algo_add_parts(f, mine, cut->form, &codes, 1, acc, to, place);
    for (int step = 1; step < set->n; step++) {
        struct algo_cut moves = *cut;
        moves.form = step == 1 ? cut->form : ALGO_PART;
        const int going = algo_around(set, -step), coming = algo_around(set, -step - 1);
        const uint8_t *sent = step == 1 ? codes + algo_cut_at(cut, going) : passed_on;
        TRY(comm_recv(c, algo_rank(set, algo_around(set, -1)), got,
                      algo_cut_bytes(&moves, coming)));
        TRY(comm_send(c, algo_rank(set, algo_around(set, 1)), sent, algo_cut_bytes(&moves, going)));
        TRY(comm_round(c));
        const uint8_t *const addends[] = {got, codes + algo_cut_at(cut, coming)};
        const bool last = step == set->n - 1; /* then coming == me */
        const struct algo_range r = algo_cut_range(cut, coming);
        if (moves.form == cut->form)
            algo_add_parts(f, r, cut->form, addends, 2, acc, last ? to : ALGO_PART,
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
        const int going = algo_around(set, 1 - step), coming = algo_around(set, -step);
        TRY(comm_recv(c, algo_rank(set, algo_around(set, -1)), vector + algo_cut_at(cut, coming),
                      algo_cut_bytes(cut, coming)));
        TRY(comm_send(c, algo_rank(set, algo_around(set, 1)), vector + algo_cut_at(cut, going),
                      algo_cut_bytes(cut, going)));
        TRY(comm_round(c));
    }
    return 0;
}

int algo_check_group(const char *name, int n_ranks, int group)
{
    if (group < 1 || n_ranks % group != 0)
        return ERR(-EINVAL,
                   "cannot use \"%s:%d\" with %d ranks: their number must be a multiple of %d",
                   name, group, n_ranks, group);
    return 0;
}

enum { BLOCK = 4096 }; /* elements: 32 KiB of 8-byte accumulators */

static size_t block_of(const struct reduce_op *f)
{
    return f->unit < BLOCK ? BLOCK / f->unit * f->unit : f->unit;
}

size_t algo_acc_bytes(const struct reduce_op *f)
{
    return f->ops->acc_bytes(f, block_of(f));
}

void algo_add_parts(const struct reduce_op *f, struct algo_range r, enum algo_form from,
                    const uint8_t *const *parts, int n_parts, void *acc, enum algo_form to,
                    uint8_t *sum)
{
    algo_add_blocks(f, block_of(f), r, from, parts, n_parts, acc, to, sum);
}

void algo_add_blocks(const struct reduce_op *f, size_t block, struct algo_range r,
                     enum algo_form from, const uint8_t *const *parts, int n_parts, void *acc,
                     enum algo_form to, uint8_t *sum)
{
    if (from != ALGO_WIDE && to != ALGO_WIDE) {
        if (r.n > 0)
            (from == ALGO_IN ? f->ops->sum : f->ops->merge)(f, r.at, parts, n_parts, r.n,
                                                            to == ALGO_OUT, sum);
        return;
    }
    if (from == ALGO_IN && f->ops->sum_to_wide && f->ops->sum_to_wide(f, parts, n_parts, r.n, sum))
        return;
    if (to == ALGO_OUT && f->ops->sum_of_wide && f->ops->sum_of_wide(f, parts, n_parts, r.n, sum))
        return;
    for (size_t i = 0, n; i < r.n; i += n) {
        n = r.n - i < block ? r.n - i : block;
        const size_t skip = algo_bytes(f, from, i);
        for (int p = 0; p < n_parts; p++) {
            if (from == ALGO_WIDE)
                f->ops->add_wide(f, acc, parts[p] + skip, n, p == 0);
            else
                f->ops->add(f, r.at + i, acc, parts[p] + skip, n, p == 0);
        }
        uint8_t *out = sum + algo_bytes(f, to, i);
        if (to == ALGO_WIDE)
            f->ops->spill(f, acc, n, out);
        else if (to == ALGO_OUT)
            f->ops->done(f, r.at + i, acc, n, out);
        else
            f->ops->part(f, r.at + i, acc, n, out);
    }
}

/* Gives the groups' sums their own exponent E per layer, and casts them again:
 *
 *   gradients * 2^f --cast--> codes ==group==> sums --largest--> E
 *                            E ==max over all ranks==> sums * 2^(bias - E), cast ==groups==>
 *
 * All ranks learn E, which decoding needs. Source: CPD's ResNet-50 script. */
int algo_rescale(struct comm *c, const struct reduce_op *f, struct algo_range r, uint8_t *sums)
{
    size_t n = 0;
    int8_t *scales = f->ops->scales ? f->ops->scales(f, &n) : NULL;
    if (n == 0)
        return 0;
    if (r.n > 0)
        f->ops->measure(f, r.at, sums, r.n);
    TRY(comm_max_i8(c, scales, n));
    if (r.n > 0)
        f->ops->rescale(f, r.at, sums, r.n);
    return 0;
}

struct algo_phase algo_phase_ring(const struct algo_cut *cut)
{
    const uint64_t bytes = algo_cut_most(cut);
    return (struct algo_phase){
        .steps = cut->n_parts - 1, .sent = bytes, .got = bytes, .n_sent = 1, .n_got = 1};
}

struct algo_phase algo_phase_all(const struct algo_cut *cut, bool adds)
{
    const uint64_t bytes = algo_cut_most(cut);
    const int others = cut->n_parts - 1;
    return (struct algo_phase){.steps = others > 0,
                               .sent = (uint64_t)others * bytes,
                               .got = (uint64_t)others * bytes,
                               .n_sent = others,
                               .n_got = others,
                               .added_bytes = adds ? (uint64_t)cut->n_parts * bytes : 0};
}

int algo_phase_add(struct algo_phase *phases, int n, struct algo_phase phase, bool inside)
{
    if (phase.steps == 0)
        return n;
    phase.inside = inside;
    phases[n] = phase;
    return n + 1;
}

int algo_phase_ring_reduce(struct algo_phase *phases, int n, const struct algo_cut *cut,
                           bool inside)
{
    struct algo_phase first = algo_phase_ring(cut), others = first;
    const uint64_t sums = algo_hop_bytes(cut);
    if (first.steps == 0)
        return n;
    first.steps = 1;
    first.added_bytes = 2 * first.got;
    others.steps--;
    others.sent = others.got = sums;
    others.added_bytes = first.got + sums;
    n = algo_phase_add(phases, n, first, inside);
    return algo_phase_add(phases, n, others, inside);
}
