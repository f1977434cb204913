/* receipts_compare.c : compares the digests of a step between ranks, and with those of an earlier
 * run. */
#include "app/train/receipts_inside.h"
#include <inttypes.h>
#include <stdlib.h>

/* The data is known only now. */
int receipts_open_wanted(struct train *t)
{
    struct receipts *r = t->receipts;
    const struct receipts_wanted *w = t->o->wanted;
    struct opt_difference differ;
    char *lines = buf_alloc(CHECKPOINT_TEXT);
    TRY(allocated(lines));
    struct text text = text_in(lines, CHECKPOINT_TEXT);
    checkpoint_text(t, &text);
    const bool other = opt_lines_differ(lines, w->options, &differ);
    free(lines);
    if (other)
        return ERR(-EINVAL, "cannot verify '%s': it was made with %s '%s', this run has '%s'",
                   w->path, differ.name, differ.theirs, differ.mine);
    if (t->state.step >= w->step)
        return ERR(-EINVAL,
                   "cannot verify step %" PRIu64 " from '%s', which is after step %" PRIu64,
                   w->step, t->o->resume, t->state.step);
    r->theirs = r->all;
    TRY(allocated(r->theirs.all = buf_alloc((size_t)t->n_ranks * receipt_bytes(t->n_params))));
    return jsonl_in_open(&r->in, w->path);
}

static const char *layer_name(const struct train *t, int layer)
{
    return layer < 0 ? "?" : t->params[layer].name;
}

static bool same(const struct train *t, int a, int b, enum receipt_kind kind, int *layer)
{
    const struct receipt *all = &t->receipts->all;
    return receipt_equal(receipt_at(all, a, kind), receipt_at(all, b, kind), t->n_params, layer);
}

/* A rank stands for its process. Returns the rank that most ranks equal, and their number. */
static int most(const struct train *t, enum receipt_kind kind, int *n)
{
    int best = 0, layer;
    *n = 0;
    for (int a = 0; a < t->n_ranks; a++) {
        int equal = 0;
        for (int b = 0; b < t->n_ranks; b++)
            equal += comm_lowest_here(t->comm, b) == b && same(t, a, b, kind, &layer);
        if (comm_lowest_here(t->comm, a) == a && equal > *n) {
            best = a;
            *n = equal;
        }
    }
    return best;
}

static int compare_kind(const struct train *t, enum receipt_kind kind)
{
    const char *word = comm_rank_word(t->comm);
    char others[32] = "most";
    int layer, odd = 0, n;
    for (int i = 1; i < t->n_ranks && !odd; i++)
        odd = comm_lowest_here(t->comm, i) == i && !same(t, 0, i, kind, &layer) ? i : 0;
    if (!odd)
        return 0;
    const int right = most(t, kind, &n);
    for (odd = 0; comm_lowest_here(t->comm, odd) != odd || same(t, right, odd, kind, &layer); odd++)
        ;
    if (n == 1) /* no two are equal */
        snprintf(others, sizeof others, "%s %d", word, right);
    return ERR(-EPROTO, "%s %d%s has other %s than %s after step %" PRIu64 ": layer \"%s\"", word,
               odd, comm_is_virtual(t->comm) ? "'s process" : "", receipt_words[kind], others,
               t->state.step + 1, layer_name(t, layer));
}

static int compare_ranks(const struct train *t)
{
    const char *word = comm_rank_word(t->comm);
    int block, helper = 0, layer;
    if (receipts_due(t, t->state.step)) {
        receipts_draw(t, &block, &helper);
        if (!same(t, block, helper, RECEIPT_GRADIENTS, &layer))
            return ERR(-EPROTO,
                       "%s %d has made other gradients in step %" PRIu64
                       " than %s %d, which made them again: layer \"%s\"",
                       word, block, t->state.step + 1, word, helper, layer_name(t, layer));
    }
    for (int k = RECEIPT_MEANS; k < RECEIPT_WRITTEN; k++)
        TRY(compare_kind(t, (enum receipt_kind)k));
    return 0;
}

/* Reads the line of a step, or if there is none the next one. */
static int find_step(struct receipts *r, uint64_t step)
{
    int rc;
    while (r->theirs.step < step && (rc = jsonl_in_next(&r->in)) != 0) {
        TRY(rc);
        if (jsonl_in_is(&r->in, "step") && receipt_number(&r->in, "step") >= step)
            TRY(receipt_read(&r->in, &r->theirs));
    }
    return 0;
}

static int compare_wanted(const struct train *t, enum receipt_kind kind, int rank)
{
    const struct receipts *r = t->receipts;
    int layer;
    char of[32] = "";
    if (receipt_equal(receipt_at(&r->all, rank, kind), receipt_at(&r->theirs, rank, kind),
                      t->n_params, &layer))
        return 0;
    if (kind == RECEIPT_CODES)
        snprintf(of, sizeof of, "block %d has ", rank);
    return ERR(-EBADMSG, "'%s', step %" PRIu64 ": %sother %s: layer \"%s\"", t->o->wanted->path,
               r->all.step, of, receipt_words[kind], layer_name(t, layer));
}

static int verify(struct train *t)
{
    struct receipts *r = t->receipts;
    const struct receipts_wanted *w = t->o->wanted;
    const bool one = r->all.step == w->step && w->block >= 0;
    TRY(find_step(r, r->all.step));
    if (r->theirs.step != r->all.step) /* a run that began a new file */
        return 0;
    if (r->theirs.skipped != r->all.skipped)
        return ERR(-EBADMSG, "'%s', step %" PRIu64 ": it was %sskipped", w->path, r->all.step,
                   r->theirs.skipped ? "" : "not ");
    for (int i = one ? w->block : 0; i <= (one ? w->block : t->n_ranks - 1); i++)
        TRY(compare_wanted(t, RECEIPT_CODES, i));
    for (int k = RECEIPT_MEANS; k < RECEIPT_WRITTEN && !one; k++)
        TRY(compare_wanted(t, (enum receipt_kind)k, 0));
    return 0;
}

int receipts_compare(struct train *t)
{
    TRY(compare_ranks(t));
    return t->o->wanted ? verify(t) : 0;
}
