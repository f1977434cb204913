/* reducer_low.c : runs a step of virtual ranks that keep neither gradients nor codes, so that
 * memory does not grow with the number of ranks.
 *
 *  each rank:                gradients --absmax--> exponents ==max over ranks==> shifts
 *  each rank, in rank order: gradients again --encode--> codes --add--> accumulators of all buckets
 *  once:                     accumulators --done--> codes of the sum --decode--> means */
#include "base/err.h"
#include "codec/codec_kind.h"
#include "reduce/reducer_inside.h"

static bool is_exact(const struct codec *c)
{
    const struct vec_sum *sum = codec_sum(c);
    return sum && sum->rule == VEC_EXACT;
}

int reducer_low_check(const struct reducer *r)
{
    bool in_order = r->algo->needs == 0 || is_exact(&r->codecs[NARROW]), adds = true;
    for (int i = 0; i < r->n_layers; i++)
        in_order = in_order && (r->algo->needs == 0 || !r->layers[i].fp32);
    if (!in_order)
        return ERR(-EINVAL,
                   "\"%s\" does not add in rank order, as low memory needs: use direct or gather, "
                   "or exact sums of all layers",
                   r->algo->name);
    for (int i = 0; i < r->plans[NARROW].n_buckets; i++)
        adds = adds && r->plans[NARROW].buckets[i].op.ops->add;
    if (!adds)
        return ERR(-EINVAL,
                   "low memory adds each rank's codes as soon as they are made, but codec \"%s\" "
                   "adds those of all ranks at once: use --memory full",
                   r->codecs[NARROW].kind->name);
    return 0;
}

static size_t acc_room(const struct bucket *b)
{
    return (b->op.ops->acc_bytes(&b->op, b->n) + 63) & ~(size_t)63;
}

size_t reducer_low_bytes(const struct reducer *r)
{
    size_t most = 0;
    for (int p = 0; p < 2; p++) {
        size_t bytes = 0;
        for (int i = 0; i < r->plans[p].n_buckets; i++)
            bytes += acc_room(&r->plans[p].buckets[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

void reducer_share(struct reducer *r, struct reducer *owner, void (*again)(void *ctx), void *ctx)
{
    r->codes = owner->codes;
    r->result = owner->result;
    r->scratch = owner->scratch;
    r->again = again;
    r->again_ctx = ctx;
}

static void add_codes(struct reducer *r)
{
    const struct plan *p = reducer_plan(r);
    uint8_t *acc = r->scratch;
    for (int i = 0; i < p->n_buckets; i++) {
        const struct bucket *b = &p->buckets[i];
        struct bucket_flow casting = {.r = r, .bucket = b};
        struct algo_flow flow = bucket_flow(&casting);
        flow.need(flow.arg, 0, b->n);
        r->done.codec_s += casting.codec_s;
        b->op.ops->add(&b->op, 0, acc, r->codes + p->places[b->last], b->n,
                       comm_rank(r->comm) == 0);
        acc += acc_room(b);
    }
}

/* All ranks share the gradients that this writes. */
static void make_means(struct reducer *r)
{
    const struct plan *p = reducer_plan(r);
    uint8_t *acc = r->scratch;
    for (int i = 0; i < p->n_buckets; i++) {
        const struct bucket *b = &p->buckets[i];
        struct bucket_flow casting = {.r = r, .bucket = b};
        b->op.ops->done(&b->op, 0, acc, b->n, r->result);
        acc += acc_room(b);
        bucket_decode(&casting);
        r->done.codec_s += casting.codec_s;
    }
}

int reducer_step_low(struct reducer *r, bool *finite)
{
    const struct group g = reducer_group(r, 0); /* all buckets: nothing overlaps */
    const int me = comm_rank(r->comm), n_ranks = comm_n_ranks(r->comm);
    uint8_t turn = 0;
    TRY(reducer_scan(r, &g));
    TRY(reducer_max_mpi(r, &g));
    *finite = reducer_all_finite(r, &g);
    if (!*finite)
        return 0;
    if (me > 0)
        TRY(comm_pass(r->comm, me - 1, me, &turn, sizeof turn));
    r->again(r->again_ctx);
    add_codes(r);
    if (me + 1 < n_ranks)
        TRY(comm_pass(r->comm, me, me + 1, &turn, sizeof turn));
    TRY(comm_barrier(r->comm));
    if (me == 0)
        make_means(r);
    return 0;
}
