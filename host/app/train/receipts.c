/* receipts.c : digests steps, compares ranks, and writes or compares receipts.
 *
 *     each rank:  codes, means, states, weights --SHA-256, layer by layer--> struct receipt
 *     rank 0:     gathers them; ranks must have the same means, states and weights
 *                 -> a line of --receipts, or a comparison with that line (narrowcast verify) */
#include "app/train/receipts_inside.h"
#include "base/clock.h"
#include <stdlib.h>

static int open_again(struct train *t)
{
    struct receipts *r = t->receipts;
    void *ctx = nn_model_ctx(t->model);
    if (!t->o->verify_every)
        return 0;
    if (t->n_ranks < 2)
        return ERR(-EINVAL, "--verify-every needs at least two ranks or blocks");
    if (t->n_scales)
        return ERR(-EINVAL, "--verify-every does not work with --loss-scale adaptive: leave one of "
                            "them out");
    if (t->owner)
        return 0;
    TRY(allocated(r->spare = t->nn->alloc(ctx, t->n_weights * train_weight_bytes(t))));
    return allocated(t->spare_stats = t->nn->alloc(ctx, t->n_stats * train_weight_bytes(t)));
}

int receipts_open(struct train *t)
{
    const size_t bytes = receipt_bytes(t->n_params);
    if (!t->o->receipts && !t->o->wanted)
        return 0;
    if (t->on_gpu)
        return ERR(-EINVAL, "--receipts needs codes in CPU memory: add --device cpu");
    struct receipts *r = t->receipts = buf_alloc(sizeof *r);
    TRY(allocated(r));
    TRY(digest_open(&r->digest));
    TRY(digest_open(&r->codes_digest));
    TRY(allocated(r->mine = buf_alloc(bytes)));
    TRY(allocated(r->layers = buf_alloc(RECEIPT_KINDS * DIGEST_BYTES * (size_t)t->n_params)));
    TRY(open_again(t));
    r->all = (struct receipt){.n_ranks = t->n_ranks, .n_layers = t->n_params};
    if (t->rank == 0)
        TRY(allocated(r->all.all = buf_alloc((size_t)t->n_ranks * bytes)));
    reducer_watch(t->job.reducer, receipts_seen, t);
    if (t->o->wanted)
        return t->rank > 0 ? 0 : receipts_open_wanted(t);
    TRY(receipts_read_flip(&r->flip));
    if (r->flip.on && reducer_overlaps(t->job.reducer))
        return ERR(-EINVAL, "NARROWCAST_TEST_FLIP needs --overlap off");
    return t->rank > 0 ? 0 : receipts_open_file(t);
}

void receipts_close(struct train *t)
{
    struct receipts *r = t->receipts;
    if (!r)
        return;
    if (r->spare)
        t->nn->free(nn_model_ctx(t->model), r->spare);
    if (r->stream)
        fclose(r->stream);
    (void)jsonl_close(&r->file);
    jsonl_in_close(&r->in);
    free(r->line);
    free(r->text);
    free(r->options);
    free(r->theirs.all);
    free(r->all.all);
    free(r->layers);
    free(r->mine);
    digest_close(r->codes_digest);
    digest_close(r->digest);
    free(r);
    t->receipts = NULL;
}

void receipts_recompute(struct train *t)
{
    int block, helper = 0;
    if (!receipts_due(t, t->state.step))
        return;
    receipts_draw(t, &block, &helper);
    if (helper != t->rank)
        return;
    struct train *owner = t->owner ? t->owner : t;
    real *mine = t->grads;
    t->rank = block;
    t->again = true;
    t->grads = owner->receipts->spare;
    nn_model_use(t->model, t->grads, owner->spare_stats);
    (void)train_compute(t, false);
    receipts_digest_gradients(t);
    t->rank = helper;
    t->again = false;
    t->grads = mine;
    nn_model_use(t->model, t->grads, t->stats);
}

int receipts_step(struct train *t, bool skipped, int *file_rc)
{
    struct receipts *r = t->receipts;
    *file_rc = 0;
    if (!r)
        return 0;
    const double start_s = clock_s();
    int rc = receipts_fill(t, skipped);
    r->all.step = t->state.step + 1;
    r->all.epoch = t->state.step / t->steps_per_epoch + 1;
    r->all.skipped = skipped;
    TRY(comm_gather(t->comm, r->mine, receipt_bytes(t->n_params), r->all.all));
    if (rc == 0 && t->rank == 0)
        rc = receipts_compare(t);
    if (rc == 0 && t->rank == 0 && t->o->receipts)
        *file_rc = receipts_write(t);
    rc = train_agree(t, rc);
    trace_add(t->trace, TRACE_MAIN, "receipts", -1, start_s);
    return rc;
}
