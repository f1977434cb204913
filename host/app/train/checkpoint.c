/* checkpoint.c : moves sections of a run, in pieces, between all ranks and rank 0's file. */
#include "app/train/checkpoint.h"
#include "app/train/checkpoint_file.h"
#include "app/train/checkpoint_section.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "vec/vec.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct kit {
    struct checkpoint_plan plan;
    char text[CHECKPOINT_TEXT];
    uint8_t *piece; /* for the largest piece */
};

int checkpoint_pieces(const struct train *t, const struct checkpoint_section *s)
{
    return s->n_pieces ? s->n_pieces(t) : 1;
}

/* Returns true if the owner moves the section for this rank. */
static bool owner_moves(const struct train *t, const struct checkpoint_section *s)
{
    return t->owner && s->in_common;
}

void checkpoint_text(const struct train *t, struct text *to)
{
    train_options_lines(t->o, to);
    text_add(to, "device in use=%s\n", t->on_gpu ? "cuda" : "cpu");
    text_add(to, "checksum of the data=%08x\n", train_data_crc(t));
    if (t->shard && reducer_state_bytes(t->job.reducer))
        text_add(to, "shard=optimizer or all\n"); /* sums' residuals are of a rank's range */
    if (schedule_by_length(&t->schedule))
        text_add(to, CHECKPOINT_STEPS "=%llu\n", (unsigned long long)t->n_steps);
}

static struct checkpoint_layer layer_of(const struct nn_param *p)
{
    struct checkpoint_layer l = {
        .at = p->offset, .n = p->n, .column = p->column, .stride = p->stride};
    snprintf(l.name, sizeof l.name, "%s", p->name);
    return l;
}

int checkpoint_plan(const struct train *t, struct checkpoint_plan *plan, char text[CHECKPOINT_TEXT])
{
    struct text lines = text_in(text, CHECKPOINT_TEXT);
    assert(checkpoint_n_sections <= CHECKPOINT_ENTRIES_MAX);
    memset(plan, 0, sizeof *plan);
    checkpoint_text(t, &lines);
    plan->text = text;
    memcpy(plan->run, t->run_id, sizeof plan->run);
    plan->n_ranks = (uint32_t)t->n_ranks;
    for (int i = 0; i < checkpoint_n_sections; i++) {
        const struct checkpoint_section *s = &checkpoint_sections[i];
        struct checkpoint_entry *to = &plan->entries[plan->n_entries];
        if (!s->bytes(t))
            continue;
        plan->n_entries++;
        snprintf(to->name, sizeof to->name, "%s", s->name);
        to->n_parts = s->per_rank ? (uint32_t)t->n_ranks : 1;
        to->bytes = s->bytes(t) * (size_t)checkpoint_pieces(t, s);
    }
    plan->layers = buf_alloc((size_t)t->n_params * sizeof *plan->layers);
    if (!plan->layers)
        return -ENOMEM;
    plan->n_layers = (uint32_t)t->n_params;
    for (int i = 0; i < t->n_params; i++)
        plan->layers[i] = layer_of(&t->params[i]);
    return 0;
}

/* saves: ranks other than 0 need room only for their own pieces. */
static int kit_init(struct kit *k, const struct train *t, bool saves)
{
    size_t most = 0;
    k->piece = NULL;
    TRY(checkpoint_plan(t, &k->plan, k->text));
    for (int i = 0; i < checkpoint_n_sections; i++) {
        const struct checkpoint_section *s = &checkpoint_sections[i];
        const size_t bytes = s->bytes(t);
        if (bytes > most && !owner_moves(t, s) && (!saves || t->rank == 0 || s->per_rank))
            most = bytes;
    }
    k->piece = buf_alloc(most);
    return k->piece ? 0 : -ENOMEM;
}

static void kit_fini(struct kit *k)
{
    free(k->piece);
    free(k->plan.layers);
}

int checkpoint_check(struct train *t)
{
    return t->rank > 0 ? 0 : file_out_check(t->o->save);
}

struct saving {
    struct checkpoint_out out;
    int rc; /* result of writing the file; after an error all ranks go on */
};

static void write_piece(struct saving *f, const uint8_t *piece, size_t bytes)
{
    if (f->rc == 0)
        f->rc = checkpoint_out_put(&f->out, piece, bytes);
}

/* A section with one part per rank has one piece. */
static int save_piece(struct train *t, const struct checkpoint_section *s, int i, uint8_t *piece,
                      struct saving *f)
{
    const size_t bytes = s->bytes(t);
    if (t->rank == 0 || s->per_rank || s->by_all)
        TRY(s->get(t, i, t->rank == 0 || s->per_rank ? piece : NULL));
    if (t->rank == 0)
        write_piece(f, piece, bytes);
    else if (s->per_rank)
        TRY(comm_pass(t->comm, t->rank, 0, piece, bytes));
    for (int r = 1; r < t->n_ranks && s->per_rank && t->rank == 0; r++) {
        TRY(comm_pass(t->comm, r, 0, piece, bytes));
        write_piece(f, piece, bytes);
    }
    return 0;
}

static int save_section(struct train *t, const struct checkpoint_section *s, uint8_t *piece,
                        struct saving *f)
{
    for (int i = 0; i < checkpoint_pieces(t, s) && s->bytes(t); i++)
        TRY(save_piece(t, s, i, piece, f));
    return 0;
}

int checkpoint_save(struct train *t, int *file_rc)
{
    struct kit k;
    struct saving f = {.rc = 0};
    int rc = kit_init(&k, t, true);
    if (rc == 0 && t->rank == 0)
        f.rc = checkpoint_out_open(&f.out, t->o->save, &k.plan);
    for (int i = 0; i < checkpoint_n_sections && rc == 0; i++)
        rc = save_section(t, &checkpoint_sections[i], k.piece, &f);
    if (t->rank == 0 && rc == 0 && f.rc == 0)
        f.rc = checkpoint_out_commit(&f.out);
    else
        checkpoint_out_discard(&f.out);
    kit_fini(&k);
    *file_rc = f.rc;
    return rc;
}

/* Copies rank 0's bytes to the other owners of a network. All owners call it. */
static int share_common(struct train *t, void *piece, size_t bytes)
{
    if (!train_is_emulated(t))
        return comm_bcast(t->comm, piece, bytes, 0);
    if (t->rank > 0)
        return comm_pass(t->comm, 0, t->rank, piece, bytes);
    for (int r = 1; r < t->n_ranks; r++)
        if (comm_lowest_here(t->comm, r) == r)
            TRY(comm_pass(t->comm, 0, r, piece, bytes));
    return 0;
}

/* After an error, rc, rank 0 still sends bytes; ranks learn of the error after the section. */
static int load_piece(struct train *t, const struct checkpoint_section *s, int i, uint8_t *piece,
                      struct file_in *in, int rc)
{
    const size_t bytes = s->bytes(t);
    if (rc == 0 && t->rank == 0)
        rc = checkpoint_in_get(in, piece, bytes);
    if (s->in_common)
        TRY(share_common(t, piece, bytes));
    else if (!s->per_rank)
        TRY(comm_bcast(t->comm, piece, bytes, 0));
    else if (t->rank > 0)
        TRY(comm_pass(t->comm, 0, t->rank, piece, bytes));
    if (rc == 0)
        rc = s->put(t, i, piece);
    for (int r = 1; r < t->n_ranks && s->per_rank && t->rank == 0; r++) {
        if (rc == 0)
            rc = checkpoint_in_get(in, piece, bytes);
        TRY(comm_pass(t->comm, 0, r, piece, bytes));
    }
    return rc;
}

static int load_section(struct train *t, const struct checkpoint_section *s, uint8_t *piece,
                        struct file_in *in)
{
    int rc = 0;
    for (int i = 0; i < checkpoint_pieces(t, s) && s->bytes(t) && !owner_moves(t, s); i++)
        rc = load_piece(t, s, i, piece, in, rc);
    return rc;
}

int checkpoint_load(struct train *t)
{
    struct kit k;
    struct file_in in = {.f = NULL};
    int rc = train_agree(t, kit_init(&k, t, false));
    if (rc == 0)
        rc = train_agree(
            t, t->rank > 0 ? 0 : checkpoint_in_open(&in, t->o->resume, &k.plan, t->run_id));
    for (int i = 0; i < checkpoint_n_sections && rc == 0; i++)
        rc = train_agree(t, load_section(t, &checkpoint_sections[i], k.piece, &in));
    file_in_close(&in);
    kit_fini(&k);
    return rc;
}

static const struct checkpoint_layer *same_layer(const struct checkpoint_weights *from,
                                                 const struct nn_param *p)
{
    struct checkpoint_layer mine = layer_of(p);
    for (uint32_t i = 0; i < from->n_layers; i++) {
        mine.at = from->layers[i].at;
        if (!memcmp(&mine, &from->layers[i], sizeof mine))
            return &from->layers[i];
    }
    return NULL;
}

/* Names the layers that are taken or those that are not, whichever are fewer. */
static void say_taken(const struct train *t, const bool *taken, int n_taken)
{
    enum { LINE = 2048 };
    char names[LINE];
    struct text list = text_in(names, sizeof names);
    const bool named = 2 * n_taken <= t->n_params;
    const char *between = "";
    for (int i = 0; i < t->n_params; i++)
        if (taken[i] == named) {
            text_add(&list, "%s%s", between, t->params[i].name);
            between = ", ";
        }
    err_note("init: %d of %d layers from '%s'%s%s%s", n_taken, t->n_params, t->o->init,
             n_taken == t->n_params ? ""
             : named                ? ": "
                                    : ", all but ",
             names, list.full ? " ..." : "");
}

/* weights: [n_weights] in host memory; layers that the file has are replaced. */
static int take_layers(const struct train *t, const struct checkpoint_weights *from, float *weights,
                       bool *taken)
{
    int n_taken = 0;
    for (int i = 0; i < t->n_params; i++) {
        const struct nn_param *p = &t->params[i];
        const struct checkpoint_layer *l = same_layer(from, p);
        taken[i] = l != NULL;
        if (!l)
            continue;
        if (vec_best()->absmax(from->values + l->at, l->n) >= 0x7f800000)
            return ERR(-EINVAL,
                       "cannot start from '%s': the weights of layer \"%s\" hold inf or nan",
                       t->o->init, p->name);
        memcpy(weights + p->offset, from->values + l->at, p->n * sizeof *weights);
        n_taken++;
    }
    if (!n_taken)
        return ERR(-EINVAL,
                   "cannot start from '%s': no layer has the name and shape of one of model '%s'",
                   t->o->init, t->o->model);
    if (!t->o->wanted)
        say_taken(t, taken, n_taken);
    return 0;
}

static int read_init(const struct train *t, float *weights)
{
    struct checkpoint_weights from;
    bool *taken = buf_alloc((size_t)t->n_params * sizeof *taken);
    int rc = taken ? checkpoint_weights_read(t->o->init, &from) : -ENOMEM;
    if (rc == 0) {
        rc = take_layers(t, &from, weights, taken);
        checkpoint_weights_free(&from);
    }
    free(taken);
    return rc;
}

int checkpoint_init(struct train *t)
{
    const size_t bytes = t->n_weights * sizeof(float);
    float *weights = t->owner ? NULL : buf_alloc(bytes);
    int rc = t->owner || weights ? 0 : -ENOMEM;
    if (rc == 0 && t->rank == 0)
        rc = nn_model_get(t->model, weights, t->weights, t->n_weights);
    if (rc == 0 && t->rank == 0)
        rc = read_init(t, weights);
    rc = train_agree(t, rc);
    if (rc == 0 && !t->owner)
        rc = share_common(t, weights, bytes);
    if (rc == 0 && !t->owner)
        rc = nn_model_put(t->model, t->weights, weights, t->n_weights);
    free(weights);
    return train_agree(t, rc);
}
