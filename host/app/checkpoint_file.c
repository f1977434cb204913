/* checkpoint_file.c : a checkpoint on the disk. */
#include "app/checkpoint_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/opt.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static const char magic[8] = "nc-ckpt\n";
enum { VERSION = 2, CRC_BLOCK = 1 << 16 };

struct checkpoint_head {
    char magic[8];
    uint32_t version, text_bytes, n_ranks, real_bytes;
    uint64_t n_weights, n_stats;
    struct checkpoint_state state;
};

static struct checkpoint_head head_of(const struct checkpoint_file *c)
{
    struct checkpoint_head head = {
        .version = VERSION,
        .text_bytes = (uint32_t)strlen(c->text),
        .n_ranks = c->n_ranks,
        .real_bytes = sizeof(real),
        .n_weights = c->n_weights,
        .n_stats = c->n_stats,
        .state = c->state,
    };
    memcpy(head.magic, magic, sizeof magic);
    return head;
}

/* ---- writing ---- */

static int put(struct file_out *out, uint32_t *crc, const void *from, size_t bytes)
{
    *crc = (uint32_t)crc32_z(*crc, from, bytes);
    return file_out_write(out, from, bytes);
}

static int put_all(struct file_out *out, const struct checkpoint_file *c)
{
    const struct checkpoint_head head = head_of(c);
    uint32_t crc = 0;
    TRY(put(out, &crc, &head, sizeof head));
    TRY(put(out, &crc, c->text, head.text_bytes));
    TRY(put(out, &crc, c->weights, c->n_weights * sizeof(real)));
    TRY(put(out, &crc, c->velocities, c->n_weights * sizeof(real)));
    TRY(put(out, &crc, c->ranks, c->n_ranks * c->rank_bytes));
    return file_out_write(out, &crc, sizeof crc);
}

int checkpoint_file_write(const char *path, const struct checkpoint_file *c)
{
    struct file_out out;
    TRY(file_out_open(&out, path));
    int rc = put_all(&out, c);
    if (rc < 0)
        file_out_discard(&out);
    return rc < 0 ? rc : file_out_commit(&out);
}

/* ---- reading ---- */

static int damaged(const struct file_in *in, const char *why)
{
    return ERR(-EINVAL, "cannot resume '%s': %s", in->path, why);
}

static int get(struct file_in *in, void *to, size_t bytes)
{
    size_t got;
    TRY(file_in_read(in, to, bytes, &got));
    return got == bytes ? 0 : damaged(in, "it is truncated");
}

/* Reads it all once: nothing in it is looked at before its checksum has been seen to be right. */
static int check_crc(struct file_in *in, uint64_t *bytes)
{
    struct stat st;
    uint8_t block[CRC_BLOCK];
    uint32_t crc = 0, want;
    if (fstat(fileno(in->f), &st) || !S_ISREG(st.st_mode))
        return damaged(in, "it is no plain file");
    char head[sizeof magic] = "";
    size_t got;
    TRY(file_in_read(in, head, sizeof head, &got));
    if (got < sizeof head || memcmp(head, magic, sizeof head))
        return damaged(in, "it is no checkpoint of narrowcast");
    TRY(file_in_rewind(in));
    if ((size_t)st.st_size < sizeof(struct checkpoint_head) + sizeof want)
        return damaged(in, "it is truncated");
    for (size_t left = (size_t)st.st_size - sizeof want, n; left; left -= n) {
        n = left < sizeof block ? left : sizeof block;
        TRY(get(in, block, n));
        crc = (uint32_t)crc32_z(crc, block, n);
    }
    TRY(get(in, &want, sizeof want));
    if (crc != want)
        return damaged(in, "it is damaged or truncated: its checksum is wrong");
    *bytes = (uint64_t)st.st_size;
    return file_in_rewind(in);
}

/* A right checksum says that these are the bytes somebody wrote, not that it was narrowcast:
 * whatever is used below as a size, a count or an index is held against this run first. */
static int check_text(struct file_in *in, uint32_t text_bytes, const char *mine)
{
    struct opt_difference differ;
    if (text_bytes > strlen(mine) + (1 << 16))
        return damaged(in, "its options are longer than this program's");
    char *theirs = buf_alloc(text_bytes + 1);
    if (!theirs)
        return -ENOMEM;
    int rc = get(in, theirs, text_bytes);
    if (rc == 0 && opt_lines_differ(mine, theirs, &differ))
        rc = ERR(-EINVAL, "cannot resume '%s': it was made with %s '%s', this run has '%s'",
                 in->path, differ.name, differ.theirs, differ.mine);
    else if (rc == 0 && (text_bytes != strlen(mine) || memcmp(theirs, mine, text_bytes)))
        rc = damaged(in, "its options are in another order");
    free(theirs);
    return rc;
}

static int check_state(struct file_in *in, const struct checkpoint_state *s, uint64_t n_steps)
{
    if (s->step > n_steps)
        return ERR(-EINVAL,
                   "cannot resume '%s': it has done %" PRIu64
                   " steps, this run ends after %" PRIu64,
                   in->path, s->step, n_steps);
    if (s->skipped > s->step || s->skipped_in_row > s->skipped || s->loss_scale_good > UINT32_MAX ||
        !(s->loss_scale > 0 && isfinite(s->loss_scale)))
        return damaged(in, "its counters contradict each other");
    return 0;
}

static int get_all(struct file_in *in, struct checkpoint_file *c)
{
    struct checkpoint_head head;
    uint64_t bytes;
    TRY(check_crc(in, &bytes));
    TRY(get(in, &head, sizeof head));
    if (head.version != VERSION)
        return ERR(-EINVAL, "cannot resume '%s': it has version %" PRIu32 ", this program reads %d",
                   in->path, head.version, VERSION);
    TRY(check_text(in, head.text_bytes, c->text));
    if (head.n_ranks != c->n_ranks)
        return ERR(-EINVAL,
                   "cannot resume '%s': it was made by %" PRIu32 " ranks, this run has %" PRIu32,
                   in->path, head.n_ranks, c->n_ranks);
    if (head.real_bytes != sizeof(real) || head.n_weights != c->n_weights ||
        head.n_stats != c->n_stats)
        return damaged(in, "its model has another size");
    TRY(check_state(in, &head.state, c->n_steps));
    TRY(get(in, c->weights, c->n_weights * sizeof(real)));
    TRY(get(in, c->velocities, c->n_weights * sizeof(real)));
    TRY(get(in, c->ranks, c->n_ranks * c->rank_bytes));
    if (in->at + sizeof(uint32_t) != bytes)
        return damaged(in, "it is longer or shorter than its model says");
    c->state = head.state;
    return 0;
}

int checkpoint_file_read(const char *path, struct checkpoint_file *c)
{
    struct file_in in;
    struct stat st;
    /* to open it would be to wait for who writes it */
    if (!stat(path, &st) && S_ISFIFO(st.st_mode))
        return ERR(-EINVAL, "cannot resume '%s': it is no plain file", path);
    TRY(file_in_open(&in, path));
    int rc = get_all(&in, c);
    file_in_close(&in);
    return rc;
}
