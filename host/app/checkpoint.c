/* checkpoint.c : --save and --resume: what of a run goes to the file, and back to every rank. */
#include "app/checkpoint.h"
#include "app/checkpoint_file.h"
#include "app/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include <stdlib.h>
#include <string.h>

/* What rank 0 writes or reads; of other ranks `mine` alone, and what they are handed. */
struct parts {
    struct checkpoint_file file;
    char text[TRAIN_LINES_MAX + 64];
    uint8_t *mine; /* [file.rank_bytes] */
};

static int parts_init(struct parts *p, const struct train *t)
{
    memset(p, 0, sizeof *p);
    struct text text = text_in(p->text, sizeof p->text);
    opt_lines(&train_command, t->o, TRAIN_BITS, &text);
    text_add(&text, "device in use=%s\n", t->nn == &nn_cpu ? "cpu" : "cuda");
    if (schedule_by_length(&t->schedule))
        text_add(&text, "steps in all=%llu\n", (unsigned long long)t->n_steps);
    struct checkpoint_file *f = &p->file;
    f->text = p->text;
    f->n_ranks = (uint32_t)t->n_ranks;
    f->n_weights = t->n_weights;
    f->n_stats = t->n_stats;
    f->n_steps = t->n_steps;
    f->rank_bytes = sizeof(struct train_sums) + t->n_stats * sizeof(real);
    f->weights = t->host;
    f->velocities = buf_alloc(t->n_weights * sizeof *f->velocities);
    f->ranks = t->rank == 0 ? buf_alloc(f->rank_bytes * f->n_ranks) : NULL;
    p->mine = buf_alloc(f->rank_bytes);
    return p->mine && f->velocities && (f->ranks || t->rank > 0) ? 0 : -ENOMEM;
}

static void parts_fini(struct parts *p)
{
    free(p->mine);
    free(p->file.ranks);
    free(p->file.velocities);
}

int checkpoint_check(struct train *t)
{
    return t->rank > 0 ? 0 : file_out_check(t->o->save);
}

static int write_file(struct parts *p, struct train *t)
{
    size_t n;
    const real *velocities = optim_state(t->optim, &n);
    TRY(nn_model_get(t->model, p->file.weights, t->weights, t->n_weights));
    TRY(nn_model_get(t->model, p->file.velocities, velocities, n));
    return checkpoint_file_write(t->o->save, &p->file);
}

int checkpoint_save(struct train *t, int *file_rc)
{
    struct parts p;
    int rc = parts_init(&p, t);
    if (rc < 0)
        goto fini;
    const struct nn_loss_scale *scale = nn_model_loss_scale(t->model);
    p.file.state = (struct checkpoint_state){t->state.step, t->state.skipped,
                                             t->state.skipped_in_row, scale->value, scale->n_good};
    memcpy(p.mine, &t->state.sums, sizeof t->state.sums);
    rc = nn_model_get(t->model, p.mine + sizeof t->state.sums, t->stats, t->n_stats);
    if (rc < 0)
        goto fini;
    rc = comm_gather(t->comm, p.mine, p.file.rank_bytes, p.file.ranks);
    *file_rc = rc < 0 || t->rank > 0 ? 0 : write_file(&p, t);
fini:
    parts_fini(&p);
    return rc;
}

/* Every rank gets its part of what rank 0 has read. */
static int hand_out(struct parts *p, struct train *t)
{
    size_t n;
    real *velocities = optim_state(t->optim, &n);
    struct checkpoint_state *s = &p->file.state;
    TRY(comm_bcast(t->comm, s, sizeof *s, 0));
    TRY(comm_bcast(t->comm, t->host, t->n_weights * sizeof(real), 0));
    TRY(comm_bcast(t->comm, p->file.velocities, n * sizeof(real), 0));
    TRY(nn_model_put(t->model, t->weights, t->host, t->n_weights));
    TRY(nn_model_put(t->model, velocities, p->file.velocities, n));
    TRY(comm_scatter(t->comm, p->file.ranks, p->file.rank_bytes, p->mine));
    t->state.step = s->step;
    t->state.skipped = s->skipped;
    t->state.skipped_in_row = s->skipped_in_row;
    memcpy(&t->state.sums, p->mine, sizeof t->state.sums);
    nn_model_loss_scale(t->model)->value = s->loss_scale;
    nn_model_loss_scale(t->model)->n_good = (uint32_t)s->loss_scale_good;
    return nn_model_put(t->model, t->stats, p->mine + sizeof t->state.sums, t->n_stats);
}

int checkpoint_load(struct train *t)
{
    struct parts p;
    int rc = train_agree(t, parts_init(&p, t));
    if (rc == 0)
        rc = train_agree(t, t->rank > 0 ? 0 : checkpoint_file_read(t->o->resume, &p.file));
    if (rc == 0)
        rc = train_agree(t, hand_out(&p, t));
    parts_fini(&p);
    return rc;
}
