/* checkpoint.c : --save and --resume. */
#include "app/checkpoint.h"
#include "app/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
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
    uint64_t step, skipped, skipped_in_row;
    double loss_scale;        /* fp16 */
    uint64_t loss_scale_good; /* steps since it moved */
};

/* The parts behind the head, where they lie in memory on rank 0. */
struct parts {
    struct checkpoint_head head;
    char text[TRAIN_LINES_MAX];
    uint8_t *mine, *all; /* one rank's part; [n_ranks] of them, rank 0 only */
    size_t rank_bytes;
    real *velocities; /* [n_weights] loading only */
};

static int parts_init(struct parts *p, const struct train *t)
{
    memset(p, 0, sizeof *p);
    size_t n = opt_lines(&train_command, t->o, TRAIN_BITS, p->text, sizeof p->text);
    n += (size_t)snprintf(p->text + n, sizeof p->text - n, "device in use=%s\n", t->nn == &nn_cpu ? "cpu" : "cuda");
    if (t->schedule.kind != SCHEDULE_CONST) /* the rate depends on how long the run will be */
        snprintf(p->text + n, sizeof p->text - n, "steps in all=%llu\n", (unsigned long long)t->n_steps);
    memcpy(p->head.magic, magic, sizeof magic);
    p->head.version = VERSION;
    p->head.text_bytes = (uint32_t)strlen(p->text);
    p->head.n_ranks = (uint32_t)t->n_ranks;
    p->head.real_bytes = sizeof(real);
    p->head.n_weights = t->n_weights;
    p->head.n_stats = t->n_stats;
    p->rank_bytes = sizeof(struct train_sums) + t->n_stats * sizeof(real);
    p->mine = buf_alloc(p->rank_bytes);
    p->all = t->rank == 0 ? buf_alloc(p->rank_bytes * (size_t)t->n_ranks) : NULL;
    return p->mine && (p->all || t->rank > 0) ? 0 : -ENOMEM;
}

static void parts_fini(struct parts *p)
{
    free(p->mine);
    free(p->all);
    free(p->velocities);
}

/* ---- saving ---- */

int checkpoint_check(struct train *t)
{
    if (t->rank > 0)
        return 0;
    struct file_out out;
    TRY(file_out_open(&out, t->o->save));
    file_out_discard(&out);
    return 0;
}

static int put(struct file_out *out, uint32_t *crc, const void *from, size_t bytes)
{
    *crc = (uint32_t)crc32_z(*crc, from, bytes);
    return file_out_write(out, from, bytes);
}

static int put_all(struct file_out *out, const struct parts *p, const struct train *t)
{
    uint32_t crc = 0;
    TRY(put(out, &crc, &p->head, sizeof p->head));
    TRY(put(out, &crc, p->text, p->head.text_bytes));
    TRY(nn_model_get(t->model, t->host, t->weights, t->n_weights));
    TRY(put(out, &crc, t->host, t->n_weights * sizeof(real)));
    size_t n;
    const real *velocities = optim_state(t->optim, &n);
    TRY(nn_model_get(t->model, t->host, velocities, n));
    TRY(put(out, &crc, t->host, n * sizeof(real)));
    TRY(put(out, &crc, p->all, p->rank_bytes * (size_t)t->n_ranks));
    return file_out_write(out, &crc, sizeof crc);
}

static int write_file(const struct parts *p, const struct train *t)
{
    struct file_out out;
    TRY(file_out_open(&out, t->o->save));
    int rc = put_all(&out, p, t);
    if (rc < 0)
        file_out_discard(&out);
    return rc < 0 ? rc : file_out_commit(&out);
}

int checkpoint_save(struct train *t, int *file_rc)
{
    struct parts p;
    int rc = parts_init(&p, t);
    if (rc < 0)
        goto fini;
    p.head.step = t->state.step;
    p.head.skipped = t->state.skipped;
    p.head.skipped_in_row = t->state.skipped_in_row;
    p.head.loss_scale = nn_model_loss_scale(t->model)->value;
    p.head.loss_scale_good = nn_model_loss_scale(t->model)->n_good;
    memcpy(p.mine, &t->state.sums, sizeof t->state.sums);
    rc = nn_model_get(t->model, p.mine + sizeof t->state.sums, t->stats, t->n_stats);
    if (rc < 0)
        goto fini;
    rc = comm_gather(t->comm, p.mine, p.rank_bytes, p.all);
    *file_rc = rc < 0 || t->rank > 0 ? 0 : write_file(&p, t);
fini:
    parts_fini(&p);
    return rc;
}

/* ---- loading ---- */

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

/* Reads it all once: nothing in it is believed before its checksum has been seen to be right. */
static int check_crc(struct file_in *in)
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
    return file_in_rewind(in);
}

/* Head and text must be those that this run would write. */
static int check_head(struct file_in *in, const struct checkpoint_head *head, const struct parts *p,
                      const struct train *t)
{
    char text[TRAIN_LINES_MAX] = "", name[64], mine[256], theirs[256];
    if (head->version != VERSION)
        return ERR(-EINVAL, "cannot resume '%s': it has version %u, this program reads %d", in->path, head->version,
                   VERSION);
    if (head->text_bytes >= sizeof text)
        return damaged(in, "its options are longer than this program's");
    TRY(get(in, text, head->text_bytes));
    if (train_options_compare(p->text, text, name, mine, theirs, sizeof mine))
        return ERR(-EINVAL, "cannot resume '%s': it was made with %s '%.100s', this run has '%.100s'", in->path, name,
                   theirs, mine);
    if (head->n_ranks != p->head.n_ranks)
        return ERR(-EINVAL, "cannot resume '%s': it was made by %u ranks, this run has %d", in->path, head->n_ranks,
                   t->n_ranks);
    if (head->real_bytes != sizeof(real) || head->n_weights != t->n_weights || head->n_stats != t->n_stats)
        return damaged(in, "its model has another size");
    if (head->step > t->n_steps)
        return ERR(-EINVAL, "cannot resume '%s': it has done %llu steps, this run ends after %llu", in->path,
                   (unsigned long long)head->step, (unsigned long long)t->n_steps);
    return 0;
}

static int get_all(struct file_in *in, struct parts *p, struct train *t)
{
    struct checkpoint_head head;
    TRY(check_crc(in));
    TRY(get(in, &head, sizeof head));
    TRY(check_head(in, &head, p, t));
    TRY(get(in, t->host, t->n_weights * sizeof(real)));
    TRY(get(in, p->velocities, t->n_weights * sizeof(real)));
    TRY(get(in, p->all, p->rank_bytes * (size_t)t->n_ranks));
    p->head = head;
    return 0;
}

static int read_file(struct parts *p, struct train *t)
{
    if (t->rank > 0)
        return 0;
    struct file_in in;
    TRY(file_in_open(&in, t->o->resume));
    int rc = get_all(&in, p, t);
    file_in_close(&in);
    return rc;
}

/* Every rank gets its part of what rank 0 has read. */
static int hand_out(struct parts *p, struct train *t)
{
    size_t n;
    real *velocities = optim_state(t->optim, &n);
    TRY(comm_bcast(t->comm, &p->head, sizeof p->head, 0));
    TRY(comm_bcast(t->comm, t->host, t->n_weights * sizeof(real), 0));
    TRY(comm_bcast(t->comm, p->velocities, n * sizeof(real), 0));
    TRY(nn_model_put(t->model, t->weights, t->host, t->n_weights));
    TRY(nn_model_put(t->model, velocities, p->velocities, n));
    TRY(comm_scatter(t->comm, p->all, p->rank_bytes, p->mine));
    t->state.step = p->head.step;
    t->state.skipped = p->head.skipped;
    t->state.skipped_in_row = p->head.skipped_in_row;
    memcpy(&t->state.sums, p->mine, sizeof t->state.sums);
    nn_model_loss_scale(t->model)->value = p->head.loss_scale;
    nn_model_loss_scale(t->model)->n_good = (uint32_t)p->head.loss_scale_good;
    return nn_model_put(t->model, t->stats, p->mine + sizeof t->state.sums, t->n_stats);
}

static int open_parts(struct parts *p, const struct train *t)
{
    TRY(parts_init(p, t));
    p->velocities = buf_alloc(t->n_weights * sizeof *p->velocities);
    return p->velocities ? 0 : -ENOMEM;
}

int checkpoint_load(struct train *t)
{
    struct parts p;
    int rc = train_agree(t, open_parts(&p, t));
    if (rc == 0)
        rc = train_agree(t, read_file(&p, t));
    if (rc == 0)
        rc = train_agree(t, hand_out(&p, t));
    parts_fini(&p);
    return rc;
}
