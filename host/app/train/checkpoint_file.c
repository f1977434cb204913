/* checkpoint_file.c : writes and reads the bytes of a checkpoint. */
#include "app/train/checkpoint_file.h"
#include "app/train/train_options.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static const char magic[8] = "nc-ckpt\n";
enum { VERSION = 5 };
enum { CRC_BLOCK = 1 << 16, LAYERS_MAX = 1 << 16, TEXT_MAX = 1 << 16 };

struct checkpoint_head {
    char magic[8];
    uint32_t version, text_bytes, n_ranks, n_entries;
};

static int put_head(struct checkpoint_out *out, const struct checkpoint_plan *plan)
{
    struct checkpoint_head head = {
        .version = VERSION,
        .text_bytes = (uint32_t)strlen(plan->text),
        .n_ranks = plan->n_ranks,
        .n_entries = plan->n_entries,
    };
    memcpy(head.magic, magic, sizeof magic);
    TRY(checkpoint_out_put(out, &head, sizeof head));
    TRY(checkpoint_out_put(out, plan->run, sizeof plan->run));
    TRY(checkpoint_out_put(out, plan->text, head.text_bytes));
    TRY(checkpoint_out_put(out, plan->entries, plan->n_entries * sizeof *plan->entries));
    TRY(checkpoint_out_put(out, &plan->n_layers, sizeof plan->n_layers));
    return checkpoint_out_put(out, plan->layers, plan->n_layers * sizeof *plan->layers);
}

int checkpoint_out_open(struct checkpoint_out *out, const char *path,
                        const struct checkpoint_plan *plan)
{
    memset(out, 0, sizeof *out);
    TRY(file_out_open(&out->file, path));
    int rc = put_head(out, plan);
    if (rc < 0)
        checkpoint_out_discard(out);
    return rc;
}

int checkpoint_out_put(struct checkpoint_out *out, const void *from, size_t bytes)
{
    out->crc = (uint32_t)crc32_z(out->crc, from, bytes);
    return file_out_write(&out->file, from, bytes);
}

int checkpoint_out_commit(struct checkpoint_out *out)
{
    const uint32_t crc = out->crc;
    int rc = file_out_write(&out->file, &crc, sizeof crc);
    if (rc < 0)
        checkpoint_out_discard(out);
    return rc < 0 ? rc : file_out_commit(&out->file);
}

void checkpoint_out_discard(struct checkpoint_out *out)
{
    file_out_discard(&out->file);
}

bool checkpoint_is_of(const char *path, const char run[CHECKPOINT_RUN_BYTES])
{
    struct checkpoint_head head;
    char id[CHECKPOINT_RUN_BYTES];
    FILE *f = fopen(path, "rb");
    const bool is = f && fread(&head, sizeof head, 1, f) == 1 && fread(id, sizeof id, 1, f) == 1 &&
                    !memcmp(head.magic, magic, sizeof magic) && head.version == VERSION &&
                    !memcmp(id, run, sizeof id);
    if (f)
        fclose(f);
    return is;
}

static int damaged(const struct file_in *in, const char *why)
{
    return ERR(-EINVAL, "cannot use '%s': %s", in->path, why);
}

int checkpoint_in_get(struct file_in *in, void *to, size_t bytes)
{
    size_t got;
    TRY(file_in_read(in, to, bytes, &got));
    return got == bytes ? 0 : damaged(in, "it is truncated");
}

/* Called before any content is used. */
static int check_crc(struct file_in *in, uint64_t *bytes)
{
    struct stat st;
    uint8_t block[CRC_BLOCK];
    uint32_t crc = 0, want;
    if (fstat(fileno(in->f), &st) || !S_ISREG(st.st_mode))
        return damaged(in, "it is not a regular file");
    char head[sizeof magic] = "";
    size_t got;
    TRY(file_in_read(in, head, sizeof head, &got));
    if (got < sizeof head || memcmp(head, magic, sizeof head))
        return damaged(in, "it is not a checkpoint of narrowcast");
    TRY(file_in_rewind(in));
    if ((size_t)st.st_size < sizeof(struct checkpoint_head) + sizeof want)
        return damaged(in, "it is truncated");
    for (size_t left = (size_t)st.st_size - sizeof want, n; left; left -= n) {
        n = left < sizeof block ? left : sizeof block;
        TRY(checkpoint_in_get(in, block, n));
        crc = (uint32_t)crc32_z(crc, block, n);
    }
    TRY(checkpoint_in_get(in, &want, sizeof want));
    if (crc != want)
        return damaged(in, "it is damaged or truncated: its checksum is wrong");
    *bytes = (uint64_t)st.st_size;
    return file_in_rewind(in);
}

/* A text may omit options at their default. */
static const char *or_default(const struct opt_difference *differ, const char *value)
{
    const int row = opt_find(&train_command, differ->name, strlen(differ->name));
    return *value || row < 0 || !train_command.opts[row].fallback
               ? value
               : train_command.opts[row].fallback;
}

/* Compares sizes, counts and indices before use, because a right checksum does not prove the file's
 * origin. */
static int check_text(struct file_in *in, uint32_t text_bytes, const char *mine)
{
    struct opt_difference differ;
    if (text_bytes > strlen(mine) + TEXT_MAX)
        return damaged(in, "its options are longer than those of this program");
    char *theirs = buf_alloc(text_bytes + 1);
    if (!theirs)
        return -ENOMEM;
    int rc = checkpoint_in_get(in, theirs, text_bytes);
    const bool differs = rc == 0 && opt_lines_differ(mine, theirs, &differ);
    if (differs && *differ.mine && *differ.theirs && !strcmp(differ.name, CHECKPOINT_STEPS))
        rc = ERR(-EINVAL,
                 "cannot resume '%s': its schedule is for %s steps in all, this run has %s: pass "
                 "--steps %s; only runs with --schedule const or exp can be made longer",
                 in->path, differ.theirs, differ.mine, differ.theirs);
    else if (differs)
        rc = ERR(-EINVAL, "cannot resume '%s': it was made with %s '%s', this run has '%s'",
                 in->path, differ.name, or_default(&differ, differ.theirs),
                 or_default(&differ, differ.mine));
    else if (rc == 0 && (text_bytes != strlen(mine) || memcmp(theirs, mine, text_bytes)))
        rc = damaged(in, "its options are in another order");
    free(theirs);
    return rc;
}

static bool same_name(const struct checkpoint_entry *a, const struct checkpoint_entry *b)
{
    return !memcmp(a->name, b->name, sizeof a->name);
}

static int wrong_section(struct file_in *in, const struct checkpoint_plan *plan,
                         const struct checkpoint_entry *mine, const struct checkpoint_entry *theirs)
{
    char name[sizeof theirs->name] = "";
    bool known = false;
    for (uint32_t i = 0; i < plan->n_entries; i++)
        known = known || same_name(&plan->entries[i], theirs);
    for (size_t i = 0; i < sizeof name - 1 && theirs->name[i]; i++)
        name[i] = isgraph((unsigned char)theirs->name[i]) ? theirs->name[i] : '?';
    if (!known)
        return ERR(-EINVAL, "cannot resume '%s': it has a section '%s' that this run does not have",
                   in->path, name);
    return ERR(-EINVAL, "cannot resume '%s': it has section '%s' where '%s' is expected", in->path,
               name, mine ? mine->name : "the end");
}

static int check_section(struct file_in *in, const struct checkpoint_plan *plan,
                         const struct checkpoint_entry *mine)
{
    struct checkpoint_entry theirs;
    TRY(checkpoint_in_get(in, &theirs, sizeof theirs));
    if (!mine || !same_name(mine, &theirs))
        return wrong_section(in, plan, mine, &theirs);
    if (theirs.n_parts != mine->n_parts || theirs.bytes != mine->bytes)
        return ERR(-EINVAL,
                   "cannot resume '%s': its section '%s' has %" PRIu32 " x %" PRIu64
                   " bytes, this run's %" PRIu32 " x %" PRIu64,
                   in->path, mine->name, theirs.n_parts, theirs.bytes, mine->n_parts, mine->bytes);
    return 0;
}

static int check_sections(struct file_in *in, const struct checkpoint_plan *plan, uint32_t n)
{
    for (uint32_t i = 0; i < n || i < plan->n_entries; i++) {
        const struct checkpoint_entry *mine = i < plan->n_entries ? &plan->entries[i] : NULL;
        if (i == n)
            return ERR(-EINVAL, "cannot resume '%s': it has no section '%s'", in->path, mine->name);
        TRY(check_section(in, plan, mine));
    }
    return 0;
}

static uint64_t bytes_of_sections(const struct checkpoint_plan *plan)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->n_entries; i++)
        bytes += plan->entries[i].n_parts * plan->entries[i].bytes;
    return bytes;
}

/* The caller frees *layers, also after a failure. */
static int get_layers(struct file_in *in, struct checkpoint_layer **layers, uint32_t *n)
{
    TRY(checkpoint_in_get(in, n, sizeof *n));
    if (*n > LAYERS_MAX)
        return damaged(in, "it has too many layers");
    *layers = buf_alloc(*n * sizeof **layers);
    return *layers ? checkpoint_in_get(in, *layers, *n * sizeof **layers) : -ENOMEM;
}

static int check_layers(struct file_in *in, const struct checkpoint_plan *plan)
{
    struct checkpoint_layer *theirs = NULL;
    uint32_t n = 0;
    int rc = get_layers(in, &theirs, &n);
    if (rc == 0 && (n != plan->n_layers || memcmp(theirs, plan->layers, n * sizeof *theirs)))
        rc = damaged(in, "its layers differ from those of this run");
    free(theirs);
    return rc;
}

static int get_run(struct file_in *in, char run[CHECKPOINT_RUN_BYTES])
{
    char id[CHECKPOINT_RUN_BYTES + 1] = "";
    TRY(checkpoint_in_get(in, id, CHECKPOINT_RUN_BYTES));
    if (strspn(id, "0123456789abcdef") != CHECKPOINT_RUN_BYTES)
        return damaged(in, "its run id is not 16 hex digits");
    memcpy(run, id, CHECKPOINT_RUN_BYTES);
    return 0;
}

/* Checks the checksum, then reads the head and the run's id. */
static int get_head(struct file_in *in, struct checkpoint_head *head, uint64_t *bytes,
                    char run[CHECKPOINT_RUN_BYTES])
{
    TRY(check_crc(in, bytes));
    TRY(checkpoint_in_get(in, head, sizeof *head));
    if (head->version != VERSION)
        return ERR(-EINVAL, "cannot use '%s': it has version %" PRIu32 ", this program reads %d",
                   in->path, head->version, VERSION);
    return get_run(in, run);
}

static int check_all(struct file_in *in, const struct checkpoint_plan *plan,
                     char run[CHECKPOINT_RUN_BYTES])
{
    struct checkpoint_head head;
    uint64_t bytes;
    TRY(get_head(in, &head, &bytes, run));
    TRY(check_text(in, head.text_bytes, plan->text));
    if (head.n_ranks != plan->n_ranks)
        return ERR(-EINVAL,
                   "cannot resume '%s': it was made by %" PRIu32 " ranks, this run has %" PRIu32,
                   in->path, head.n_ranks, plan->n_ranks);
    TRY(check_sections(in, plan, head.n_entries));
    TRY(check_layers(in, plan));
    if (in->at + bytes_of_sections(plan) + sizeof(uint32_t) != bytes)
        return damaged(in, "its length differs from that of its sections");
    return 0;
}

/* Opening a FIFO would block until it has a writer. */
static int open_file(struct file_in *in, const char *path)
{
    struct stat st;
    if (!stat(path, &st) && S_ISFIFO(st.st_mode))
        return ERR(-EINVAL, "cannot use '%s': it is not a regular file", path);
    return file_in_open(in, path);
}

int checkpoint_in_open(struct file_in *in, const char *path, const struct checkpoint_plan *plan,
                       char run[CHECKPOINT_RUN_BYTES])
{
    TRY(open_file(in, path));
    int rc = check_all(in, plan, run);
    if (rc < 0)
        file_in_close(in);
    return rc;
}

/* Finds the section "weights" among n_entries entries: bytes before it, and its own. */
static int find_weights(struct file_in *in, uint32_t n_entries, uint64_t most, uint64_t *before,
                        uint64_t *bytes)
{
    static const struct checkpoint_entry weights = {.name = "weights"};
    uint64_t all = 0;
    bool found = false;
    for (uint32_t i = 0; i < n_entries; i++) {
        struct checkpoint_entry e;
        TRY(checkpoint_in_get(in, &e, sizeof e));
        if (e.n_parts && e.bytes > (most - all) / e.n_parts)
            return damaged(in, "its sections are longer than the file");
        if (!found && same_name(&e, &weights) && e.n_parts == 1) {
            *before = all;
            *bytes = e.bytes;
            found = true;
        }
        all += e.n_parts * e.bytes;
    }
    return found ? 0 : damaged(in, "it has no section 'weights'");
}

static int skip(struct file_in *in, uint64_t bytes)
{
    uint8_t block[CRC_BLOCK];
    for (uint64_t n; bytes; bytes -= n) {
        n = bytes < sizeof block ? bytes : sizeof block;
        TRY(checkpoint_in_get(in, block, n));
    }
    return 0;
}

static int check_parts(struct file_in *in, const struct checkpoint_weights *w, uint64_t n_values)
{
    for (uint32_t i = 0; i < w->n_layers; i++) {
        const struct checkpoint_layer *l = &w->layers[i];
        if (!memchr(l->name, 0, sizeof l->name) || l->n > n_values || l->at > n_values - l->n)
            return damaged(in, "its list of layers is wrong");
    }
    return 0;
}

static int read_weights(struct file_in *in, struct checkpoint_weights *out)
{
    struct checkpoint_head head;
    char run[CHECKPOINT_RUN_BYTES];
    uint64_t file_bytes, before = 0, bytes = 0;
    TRY(get_head(in, &head, &file_bytes, run));
    TRY(skip(in, head.text_bytes));
    TRY(find_weights(in, head.n_entries, file_bytes, &before, &bytes));
    TRY(get_layers(in, &out->layers, &out->n_layers));
    TRY(check_parts(in, out, bytes / sizeof *out->values));
    TRY(skip(in, before));
    out->values = buf_alloc(bytes);
    return out->values ? checkpoint_in_get(in, out->values, bytes) : -ENOMEM;
}

int checkpoint_weights_read(const char *path, struct checkpoint_weights *out)
{
    struct file_in in;
    *out = (struct checkpoint_weights){.n_layers = 0};
    TRY(open_file(&in, path));
    const int rc = read_weights(&in, out);
    file_in_close(&in);
    if (rc < 0)
        checkpoint_weights_free(out);
    return rc;
}

void checkpoint_weights_free(struct checkpoint_weights *w)
{
    free(w->layers);
    free(w->values);
    *w = (struct checkpoint_weights){.n_layers = 0};
}
