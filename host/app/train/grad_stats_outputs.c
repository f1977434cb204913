/* grad_stats_outputs.c : --stats: the largest value that each node of the network made, and which
 * running variances e5m10 has no normal number for. */
#include "app/train/grad_stats_inside.h"
#include "base/buf.h"
#include "base/err.h"
#include <math.h>
#include <stdlib.h>

int grad_outputs_open(struct train *t, struct grad_stats *s)
{
    s->outputs = buf_alloc((size_t)nn_model_n_outputs(t->model) * sizeof *s->outputs);
    return s->outputs ? 0 : -ENOMEM;
}

/* variances [n], from memory of the backend */
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
