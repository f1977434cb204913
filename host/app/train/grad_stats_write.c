/* grad_stats_write.c : measures outputs of nodes, and writes the lines of --stats. */
#include "app/train/grad_stats_inside.h"
#include "base/text.h"
#include "base/buf.h"
#include "base/err.h"
#include <math.h>

enum { LIST_BYTES = GRAD_BINS * 16 };

/* Returns the first exponent. */
static int list_of(const struct grad_counts *range, const struct grad_counts *c, struct text *to)
{
    int first = 0, end = GRAD_BINS;
    while (first < end && range->bins[first] == 0)
        first++;
    while (end > first && range->bins[end - 1] == 0)
        end--;
    text_add(to, "[");
    for (int i = first; i < end; i++)
        text_add(to, "%s%.0f", i > first ? "," : "", c->bins[i]);
    text_add(to, "]");
    return first < end ? first + GRAD_EXPONENT_MIN : 0;
}

/* Both lists cover the exponents that occur on any rank. */
static int put_bins(struct jsonl *j, const struct grad_counts *own, const struct grad_counts *all)
{
    char list[LIST_BYTES];
    struct text text = text_in(list, sizeof list);
    const int first = list_of(all, own, &text);
    jsonl_int(j, "first", first);
    jsonl_number(j, "bins", list);
    text = text_in(list, sizeof list);
    (void)list_of(all, all, &text);
    jsonl_number(j, "bins_all", list);
    return first;
}

static void put_share(struct jsonl *j, const char *key, double own, double all, double n,
                      int n_ranks)
{
    char key_all[32];
    snprintf(key_all, sizeof key_all, "%s_all", key);
    jsonl_real(j, key, own / n);
    jsonl_real(j, key_all, all / n / n_ranks);
}

static void put_outcome(struct jsonl *j, const struct grad_outcome *o, bool skipped)
{
    const double none = (double)NAN;
    jsonl_bool(j, "skipped", skipped);
    jsonl_real(j, "round_off", skipped ? none : round_off_mean(&o->error));
    jsonl_real(j, "round_off_median", skipped ? none : round_off_median(&o->error));
    jsonl_real(j, "l2", skipped ? none : round_off_l2(&o->error));
    jsonl_real(j, "cosine", skipped ? none : round_off_cosine(&o->error));
    jsonl_real(j, "slope", skipped ? none : round_off_slope(&o->error));
    jsonl_real(j, "updates_lost", o->updates > 0 ? o->lost / o->updates : none);
}

int grad_stats_write_layer(struct train *t, struct grad_stats *s, int i, bool skipped)
{
    const struct codec *codec = reducer_codec(t->job.reducer, i);
    const struct grad_counts *own = &s->own[i], *all = &s->all[i];
    const double n = (double)t->params[i].n;
    struct jsonl *j = &s->file;
    struct vec_cast cast;
    struct vec_scale scale;
    jsonl_begin(j, "stats");
    jsonl_uint(j, "step", t->state.step + 1);
    jsonl_int(j, "index", i);
    jsonl_text(j, "layer", t->params[i].name);
    jsonl_uint(j, "n", t->params[i].n);
    const int first = put_bins(j, own, all);
    put_share(j, "zero", own->zero, all->zero, n, t->n_ranks);
    put_share(j, "not_finite", own->not_finite, all->not_finite, n, t->n_ranks);
    if (codec_cast(codec, &cast)) {
        char name[CODEC_NAME_BYTES];
        const int shift = codec_shift(codec, s->exponents[i]);
        jsonl_text(j, "format", codec_format_name(cast.fmt, name));
        jsonl_int(j, "exponent", s->exponents[i]);
        if (codec_groups(codec, &scale))
            jsonl_uint(j, "group", scale.group);
        jsonl_int(j, "shift", shift);
        jsonl_int(j, "first_scaled", first + shift);
        put_share(j, "underflow", own->underflow, all->underflow, n, t->n_ranks);
        put_share(j, "saturate", own->saturate, all->saturate, n, t->n_ranks);
    }
    put_outcome(j, &s->layer, skipped);
    return jsonl_end(j);
}

int grad_stats_write_network(struct train *t, struct grad_stats *s, double lr, bool skipped)
{
    struct jsonl *j = &s->file;
    jsonl_begin(j, "stats_network");
    jsonl_uint(j, "step", t->state.step + 1);
    jsonl_uint(j, "n", t->n_weights);
    jsonl_real(j, "lr", lr);
    put_outcome(j, &s->network, skipped);
    return jsonl_end(j);
}

int grad_outputs_open(struct train *t, struct grad_stats *s)
{
    s->outputs = buf_alloc((size_t)nn_model_n_outputs(t->model) * sizeof *s->outputs);
    return s->outputs ? 0 : -ENOMEM;
}

static int judge_variances(struct train *t, struct grad_stats *s, const struct nn_output *node,
                           size_t piece, struct grad_output *out)
{
    const double normal = 0x1p-14;
    size_t left = (size_t)node->channels, at = node->variance, lost = 0;
    out->variance_least = (double)INFINITY;
    for (size_t k; left > 0; left -= k, at += k) {
        k = left < piece ? left : piece;
        TRY(nn_model_get(t->model, s->piece, nn_model_at(t->model, t->stats, at), k));
        for (size_t i = 0; i < k; i++) {
            const double v = (double)s->piece[i];
            out->variance_least = v < out->variance_least ? v : out->variance_least;
            lost += v < normal;
        }
    }
    out->underflow = (double)lost / node->channels;
    return 0;
}

int grad_outputs_look(struct train *t, struct grad_stats *s, size_t piece)
{
    for (int i = 0; i < nn_model_n_outputs(t->model); i++) {
        const struct nn_output node = nn_model_output(t->model, i);
        struct grad_output *out = &s->outputs[i];
        *out = (struct grad_output){.variance_least = (double)NAN, .underflow = (double)NAN};
        TRY(nn_model_largest(t->model, i, t->micro_share, s->piece, piece, &out->largest));
        if (node.channels > 0)
            TRY(judge_variances(t, s, &node, piece, out));
    }
    return 0;
}

int grad_outputs_write(struct train *t, struct grad_stats *s)
{
    int rc = 0;
    for (int i = 0; i < nn_model_n_outputs(t->model) && rc == 0; i++) {
        const struct nn_output node = nn_model_output(t->model, i);
        struct jsonl *j = &s->file;
        jsonl_begin(j, "stats_output");
        jsonl_uint(j, "step", t->state.step + 1);
        jsonl_int(j, "index", i);
        jsonl_text(j, "node", node.name);
        jsonl_text(j, "type", node.kind);
        jsonl_real(j, "largest", (double)s->outputs[i].largest);
        if (node.channels > 0) {
            jsonl_real(j, "variance_least", s->outputs[i].variance_least);
            jsonl_real(j, "variances_underflow", s->outputs[i].underflow);
        }
        rc = jsonl_end(j);
    }
    return rc;
}
