/* receipts_digest.c : digests the parts of a step on each rank. */
#include "app/train/receipts_inside.h"
#include "hls/arith/philox.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* "veri": stage of the draw of --verify-every */
#define STAGE_VERIFY 0x76657269u

static uint8_t *layer_at(const struct train *t, enum receipt_kind kind, int i)
{
    return t->receipts->layers + ((size_t)kind * (size_t)t->n_params + (size_t)i) * DIGEST_BYTES;
}

/* ---- planted errors ---- */

int receipts_read_flip(struct flip *f)
{
    const char *word = getenv("NARROWCAST_TEST_FLIP");
    char kind[16];
    if (!word)
        return 0;
    if (sscanf(word, "%15[a-z]:%d:%" SCNu64, kind, &f->rank, &f->step) == 3)
        for (int k = 0; k < RECEIPT_WRITTEN; k++)
            if (!strcmp(kind, receipt_words[k])) {
                f->kind = (enum receipt_kind)k;
                f->on = true;
            }
    return f->on ? 0 : ERR(-EINVAL, "NARROWCAST_TEST_FLIP '%s': need KIND:RANK:STEP", word);
}

/* Flips a bit of the largest element of the largest layer. */
static void flip(struct train *t, enum receipt_kind kind, int first, int n, real *array)
{
    const struct flip *f = &t->receipts->flip;
    if (!f->on || f->kind != kind || f->rank != t->rank || f->step != t->state.step + 1)
        return;
    int layer = 0;
    size_t at = 0;
    for (int i = 0; i < t->n_params; i++)
        layer = t->params[i].n > t->params[layer].n ? i : layer;
    if (layer < first || layer >= first + n)
        return;
    real *x = array + t->params[layer].offset;
    for (size_t i = 0; i < t->params[layer].n; i++)
        at = (x[i] < 0 ? -x[i] : x[i]) > (x[at] < 0 ? -x[at] : x[at]) ? i : at;
    uint32_t bits;
    memcpy(&bits, &x[at], sizeof bits);
    bits ^= kind == RECEIPT_CODES ? 1u << 31 : 1;
    memcpy(&x[at], &bits, sizeof bits);
}

/* ---- parts of a step ---- */

void receipts_seen(void *ctx, int layer, const void *codes, size_t bytes)
{
    struct train *t = ctx;
    digest_add(t->receipts->codes_digest, codes, bytes);
    digest_end(t->receipts->codes_digest, layer_at(t, RECEIPT_CODES, layer));
}

static void digest_layers(struct train *t, enum receipt_kind kind, int first, int n,
                          real *const *arrays, int n_arrays)
{
    struct digest *d = t->receipts->digest;
    for (int i = first; i < first + n; i++) {
        for (int k = 0; k < n_arrays; k++)
            digest_add(d, arrays[k] + t->params[i].offset, t->params[i].n * sizeof(real));
        digest_end(d, layer_at(t, kind, i));
    }
}

bool receipts_due(const struct train *t, uint64_t steps)
{
    return t->receipts && t->o->verify_every && (steps + 1) % t->o->verify_every == 0;
}

void receipts_draw(const struct train *t, int *block, int *helper)
{
    const uint64_t step = t->state.step, key = philox_key(t->o->seed, (uint32_t)step,
                                                          (uint32_t)(step >> 32), 0, STAGE_VERIFY);
    const bool alone = comm_n_processes(t->comm) == 1;
    int others = 0;
    *block = (int)((uint32_t)key % (uint32_t)t->n_ranks);
    const int here = comm_lowest_here(t->comm, *block);
    for (int pass = 0, left = 0; pass < 2; pass++) {
        left = pass ? (int)((uint32_t)(key >> 32) % (uint32_t)others) : -1;
        for (int r = 0; r < t->n_ranks; r++)
            if (alone ? r != *block : comm_lowest_here(t->comm, r) != here) {
                others += !pass;
                if (pass && left-- == 0)
                    *helper = r;
            }
    }
}

void receipts_digest_gradients(struct train *t)
{
    digest_layers(t, RECEIPT_GRADIENTS, 0, t->n_params, &t->grads, 1);
}

void receipts_gradients(struct train *t)
{
    int block, helper = 0;
    if (!t->receipts)
        return;
    flip(t, RECEIPT_CODES, 0, t->n_params, t->grads);
    if (!receipts_due(t, t->state.step))
        return;
    receipts_draw(t, &block, &helper);
    if (block == t->rank)
        receipts_digest_gradients(t);
}

void receipts_means(struct train *t, int first, int n)
{
    real *means = train_means(t);
    if (!t->receipts)
        return;
    flip(t, RECEIPT_MEANS, first, n, means);
    digest_layers(t, RECEIPT_MEANS, first, n, &means, 1);
}

/* Emulated ranks share states and weights. */
static int digest_rest(struct train *t)
{
    enum { STATES_MAX = 4 };
    real *states[STATES_MAX];
    const int n = optim_n_states(t->optim);
    if (t->owner)
        return 0;
    if (n > STATES_MAX)
        return ERR(-EINVAL, "receipts: %d states of a weight are too many", n);
    for (int i = 0; i < n; i++)
        states[i] = optim_state(t->optim, i);
    if (n)
        flip(t, RECEIPT_STATES, 0, t->n_params, states[0]);
    flip(t, RECEIPT_WEIGHTS, 0, t->n_params, t->weights);
    digest_layers(t, RECEIPT_STATES, 0, t->n_params, states, n);
    digest_layers(t, RECEIPT_WEIGHTS, 0, t->n_params, &t->weights, 1);
    return 0;
}

int receipts_fill(struct train *t, bool skipped)
{
    TRY(digest_rest(t));
    struct receipts *r = t->receipts;
    const size_t n = (size_t)t->n_params;
    const struct receipt mine = {.n_layers = t->n_params, .all = r->mine};
    if (skipped) {
        memset(layer_at(t, RECEIPT_CODES, 0), 0, n * DIGEST_BYTES);
        memset(layer_at(t, RECEIPT_MEANS, 0), 0, n * DIGEST_BYTES);
    }
    for (int k = 0; k < RECEIPT_KINDS; k++) {
        uint8_t *to = receipt_at(&mine, 0, (enum receipt_kind)k);
        digest_add(r->digest, layer_at(t, (enum receipt_kind)k, 0), n * DIGEST_BYTES);
        digest_end(r->digest, to);
        for (int i = 0; i < t->n_params; i++)
            memcpy(to + DIGEST_BYTES + RECEIPT_LAYER * i, layer_at(t, (enum receipt_kind)k, i),
                   RECEIPT_LAYER);
    }
    TRY(digest_check(t->receipts->digest));
    return digest_check(t->receipts->codes_digest);
}
