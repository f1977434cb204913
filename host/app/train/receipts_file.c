/* receipts_file.c : writes the file of --receipts. The leaves of an epoch's tree are the line of
 * kind options and the lines of its steps. */
#include "app/train/receipts_inside.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int begin_line(struct receipts *r, struct jsonl *j)
{
    jsonl_to(j, r->stream);
    return fseeko(r->stream, 0, SEEK_SET) ? -errno : 0;
}

/* Writes the line to the file, without its newline to the tree. */
static int add_line(struct receipts *r)
{
    const long end = ftell(r->stream);
    if (end < 1)
        return -ENOMEM;
    merkle_add(&r->tree, r->digest, r->line, (size_t)end - 1);
    return jsonl_line(&r->file, r->line, (size_t)end);
}

static int make_options(struct train *t)
{
    struct receipts *r = t->receipts;
    struct jsonl j;
    char *lines = buf_alloc(CHECKPOINT_TEXT);
    if (!lines)
        return -ENOMEM;
    struct text text = text_in(lines, CHECKPOINT_TEXT);
    checkpoint_text(t, &text);
    int rc = begin_line(r, &j);
    jsonl_begin(&j, "options");
    jsonl_int(&j, "ranks", t->n_ranks);
    jsonl_int(&j, "layers", t->n_params);
    jsonl_text(&j, "text", lines);
    if (rc == 0)
        rc = jsonl_end(&j);
    free(lines);
    if (rc == 0)
        r->options = strndup(r->line, (size_t)ftell(r->stream) - 1);
    return rc || r->options ? rc : ERR(-ENOMEM, "--receipts: no memory");
}

static void begin_epoch(struct receipts *r, uint64_t step)
{
    r->tree.n = 0;
    r->first = step;
    merkle_add(&r->tree, r->digest, r->options, strlen(r->options));
}

/* Takes the lines of an epoch that a resumed run continues. */
static int take_line(struct train *t, const struct jsonl_in *in, bool *found)
{
    struct receipts *r = t->receipts;
    const uint64_t step = receipt_number(in, "step"),
                   epoch_at = t->state.step - t->state.step % t->steps_per_epoch;
    if (jsonl_in_is(in, "options")) {
        *found = true;
        if (strcmp(in->line, r->options) != 0)
            return ERR(-EINVAL,
                       "cannot append to '%s': its line of kind options differs from this "
                       "run's",
                       t->o->receipts);
    }
    if (!jsonl_in_is(in, "step") || step <= epoch_at)
        return 0;
    if (!r->first)
        begin_epoch(r, step);
    merkle_add(&r->tree, r->digest, in->line, strlen(in->line));
    return 0;
}

static int read_old(struct train *t, bool *found)
{
    struct stat st;
    struct jsonl_in in;
    if (!t->o->resume || fstat(fileno(t->receipts->file.f), &st) || !S_ISREG(st.st_mode))
        return 0;
    int rc = jsonl_in_open(&in, t->o->receipts);
    while (rc == 0 && (rc = jsonl_in_next(&in)) > 0)
        rc = take_line(t, &in, found);
    jsonl_in_close(&in);
    return rc;
}

int receipts_open_file(struct train *t)
{
    struct receipts *r = t->receipts;
    const size_t bytes = receipt_line_bytes(t->n_ranks, t->n_params);
    bool found = false;
    if (bytes > JSONL_LINE_MAX)
        return ERR(-EINVAL,
                   "--receipts: the line of a step of %d ranks and %d layers would be longer than "
                   "1 MiB",
                   t->n_ranks, t->n_params);
    TRY(allocated(r->text = buf_alloc(bytes)));
    r->stream = open_memstream(&r->line, &r->line_bytes);
    if (!r->stream)
        return ERR(-ENOMEM, "--receipts: no memory");
    TRY(make_options(t));
    TRY(train_log_open(t, "receipts", t->o->receipts, &r->file));
    TRY(read_old(t, &found));
    record_run(t, "receipts", &r->file);
    TRY(jsonl_end(&r->file));
    if (found)
        return 0;
    TRY(jsonl_line(&r->file, r->options, strlen(r->options)));
    return jsonl_line(&r->file, "\n", 1);
}

static int write_root(struct train *t)
{
    struct receipts *r = t->receipts;
    uint8_t root[DIGEST_BYTES];
    char text[DIGEST_HEX];
    merkle_root(&r->tree, r->digest, root);
    digest_hex(root, sizeof root, text);
    jsonl_begin(&r->file, "root");
    jsonl_uint(&r->file, "epoch", r->all.epoch);
    jsonl_uint(&r->file, "step", r->all.step); /* train_log.c expects this key third */
    jsonl_uint(&r->file, "first", r->first);
    jsonl_text(&r->file, "root", text);
    return jsonl_end(&r->file);
}

int receipts_write(struct train *t)
{
    struct receipts *r = t->receipts;
    struct jsonl j;
    if (!r->first || t->state.step % t->steps_per_epoch == 0)
        begin_epoch(r, r->all.step);
    TRY(begin_line(r, &j));
    TRY(receipt_write(&r->all, &j, r->text));
    TRY(add_line(r));
    if (r->all.step % t->steps_per_epoch && r->all.step < t->n_steps)
        return 0;
    return write_root(t);
}
