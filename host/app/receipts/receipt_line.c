/* receipt_line.c : writes, reads and checks the lines of --receipts. */
#include "app/receipts/receipt_line.h"
#include "base/err.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const receipt_words[RECEIPT_KINDS] = {"codes", "means", "states", "weights",
                                                  "gradients"};

static size_t receipt_kind_bytes(int n_layers)
{
    return DIGEST_BYTES + RECEIPT_LAYER * (size_t)n_layers;
}

size_t receipt_bytes(int n_layers)
{
    return RECEIPT_KINDS * receipt_kind_bytes(n_layers);
}

uint8_t *receipt_at(const struct receipt *r, int rank, enum receipt_kind kind)
{
    return r->all + ((size_t)rank * RECEIPT_KINDS + kind) * receipt_kind_bytes(r->n_layers);
}

bool receipt_equal(const uint8_t *a, const uint8_t *b, int n_layers, int *layer)
{
    *layer = -1;
    for (int i = n_layers - 1; i >= 0; i--)
        if (memcmp(a + DIGEST_BYTES + RECEIPT_LAYER * i, b + DIGEST_BYTES + RECEIPT_LAYER * i,
                   RECEIPT_LAYER))
            *layer = i;
    return *layer < 0 && !memcmp(a, b, DIGEST_BYTES);
}

size_t receipt_line_bytes(int n_ranks, int n_layers)
{
    return ((size_t)n_ranks + RECEIPT_WRITTEN - 1) * 2 * receipt_kind_bytes(n_layers) + 256;
}

/* Only codes have a digest of each rank. */
static int ranks_of(const struct receipt *r, enum receipt_kind kind)
{
    return kind == RECEIPT_CODES ? r->n_ranks : 1;
}

static void key_of(enum receipt_kind kind, bool layers, char key[32])
{
    snprintf(key, 32, layers ? "layers_of_%s" : "%s", receipt_words[kind]);
}

static void put(const struct receipt *r, enum receipt_kind kind, bool layers, struct jsonl *to,
                char *text)
{
    const size_t bytes = layers ? RECEIPT_LAYER * (size_t)r->n_layers : DIGEST_BYTES;
    char key[32];
    key_of(kind, layers, key);
    for (int i = 0; i < ranks_of(r, kind); i++)
        digest_hex(receipt_at(r, i, kind) + (layers ? DIGEST_BYTES : 0), bytes,
                   text + (size_t)i * 2 * bytes);
    jsonl_text(to, key, text);
}

int receipt_write(const struct receipt *r, struct jsonl *to, char *text)
{
    jsonl_begin(to, "step");
    jsonl_uint(to, "step", r->step); /* train_log.c expects this key second */
    jsonl_uint(to, "epoch", r->epoch);
    jsonl_bool(to, "skipped", r->skipped);
    for (int layers = 0; layers < 2; layers++)
        for (int k = 0; k < RECEIPT_WRITTEN; k++)
            put(r, (enum receipt_kind)k, layers, to, text);
    return jsonl_end(to);
}

static bool get(const struct jsonl_in *in, struct receipt *r, enum receipt_kind kind, bool layers)
{
    const size_t bytes = layers ? RECEIPT_LAYER * (size_t)r->n_layers : DIGEST_BYTES;
    char key[32];
    key_of(kind, layers, key);
    const char *at = jsonl_in_value(in, key);
    if (!at || *at++ != '"')
        return false;
    for (int i = 0; i < ranks_of(r, kind); i++) {
        uint8_t *to = receipt_at(r, i, kind) + (layers ? DIGEST_BYTES : 0);
        for (size_t k = 0; k < bytes; k++, at += 2) {
            const int byte = text_hex_byte(at);
            if (byte < 0)
                return false;
            to[k] = (uint8_t)byte;
        }
    }
    return *at == '"';
}

uint64_t receipt_number(const struct jsonl_in *in, const char *key)
{
    double x;
    return jsonl_in_real(in, key, &x) && x >= 0 && x < 0x1p53 ? (uint64_t)x : 0;
}

int receipt_read(const struct jsonl_in *in, struct receipt *r)
{
    const char *skipped = jsonl_in_value(in, "skipped");
    bool all = skipped && (*skipped == 't' || *skipped == 'f');
    r->step = receipt_number(in, "step");
    r->epoch = receipt_number(in, "epoch");
    r->skipped = all && *skipped == 't';
    for (int k = 0; k < 2 * RECEIPT_WRITTEN && all; k++)
        all = get(in, r, (enum receipt_kind)(k / 2), k % 2);
    return all ? 0
               : ERR(-EINVAL,
                     "cannot verify '%s', line %" PRIu64 ": it lacks the digests of %d ranks and "
                     "%d layers",
                     in->path, in->line_no, r->n_ranks, r->n_layers);
}

/* ---- roots ---- */

struct rooting {
    struct jsonl_in in;
    struct digest *digest;
    struct merkle tree;
    char *options; /* line of the first leaf */
    uint64_t epoch;
    struct receipt_root at; /* root "": no line has stated it yet */
};

static int changed(const struct jsonl_in *in, const char *why)
{
    return ERR(-EBADMSG, "'%s', line %" PRIu64 ": %s", in->path, in->line_no, why);
}

int receipt_first_options(const struct jsonl_in *in, const void *earlier)
{
    return earlier ? changed(in, "a second line of kind options: the file was changed") : 0;
}

static int add_step(struct rooting *r)
{
    const uint64_t step = receipt_number(&r->in, "step");
    if (!r->options)
        return changed(&r->in, "a step before the line of kind options");
    if (r->tree.n == 0)
        merkle_add(&r->tree, r->digest, r->options, strlen(r->options));
    else if (step != r->at.end + 1)
        return changed(&r->in, "its step does not follow the one before it");
    r->at.first = r->at.first ? r->at.first : step;
    r->at.end = step;
    merkle_add(&r->tree, r->digest, r->in.line, strlen(r->in.line));
    return 0;
}

static int compare_root(struct rooting *r)
{
    char stated[DIGEST_HEX];
    uint8_t root[DIGEST_BYTES];
    merkle_root(&r->tree, r->digest, root);
    digest_hex(root, sizeof root, r->at.root);
    if (!r->at.first || !jsonl_in_text(&r->in, "root", stated, sizeof stated) ||
        strcmp(stated, r->at.root) != 0 || receipt_number(&r->in, "first") != r->at.first ||
        receipt_number(&r->in, "step") != r->at.end)
        return changed(&r->in,
                       "the root does not fit the lines of this epoch: the file was changed");
    r->at.last = r->at.end;
    return 0;
}

static int take_line(struct rooting *r)
{
    if (jsonl_in_is(&r->in, "options")) {
        TRY(receipt_first_options(&r->in, r->options));
        r->options = strdup(r->in.line);
        return r->options ? 0 : ERR(-ENOMEM, "cannot allocate %zu bytes", strlen(r->in.line));
    }
    if (receipt_number(&r->in, "epoch") != r->epoch)
        return 0;
    return jsonl_in_is(&r->in, "step")   ? add_step(r)
           : jsonl_in_is(&r->in, "root") ? compare_root(r)
                                         : 0;
}

int receipt_check_root(const char *path, uint64_t epoch, struct receipt_root *out)
{
    struct rooting r = {.epoch = epoch};
    TRY(digest_open(&r.digest));
    int rc = jsonl_in_open(&r.in, path);
    while (rc == 0 && (rc = jsonl_in_next(&r.in)) > 0)
        rc = take_line(&r);
    if (rc == 0 && !*r.at.root)
        rc = ERR(-EINVAL, "'%s' has no root of epoch %" PRIu64, path, epoch);
    if (rc == 0)
        rc = digest_check(r.digest);
    if (rc == 0)
        *out = r.at;
    free(r.options);
    jsonl_in_close(&r.in);
    digest_close(r.digest);
    return rc;
}
