/* model_loss.c : chooses the loss of a network's heads (--loss). */
#include "base/err.h"
#include "base/text.h"
#include "nn/data/dataset.h"
#include "nn/model_graph.h"
#include <string.h>

static const struct loss_kind *const losses[] = {
#define LOSS(kind, passes) &loss_##kind,
#include "hls/nn/layers.def"
};
enum { N_LOSSES = sizeof losses / sizeof *losses };

const char nn_loss_help[] =
    "Loss that training minimises. auto: the network's own. cross-entropy: of the softmax, for one "
    "label a sample, pixel or character; :smoothing=X (0 <= X < 1) takes the share X of each "
    "target from its label and spreads it evenly over all classes. ctc: for transcripts. Tests "
    "report the loss without smoothing.";

static int smoothing_of(const char *word, const char *rest, double *out)
{
    static const char key[] = "smoothing=";
    const char *number = strncmp(rest, key, strlen(key)) ? "" : rest + strlen(key);
    if (!number_whole(number, out) || *out < 0 || *out >= 1)
        return ERR(-EINVAL, "bad --loss '%s': need smoothing=X after the colon, with 0 <= X < 1",
                   word);
    return 0;
}

int nn_loss_spec(const char *word, struct nn_loss *out)
{
    const char *rest;
    *out = (struct nn_loss){.name = NULL};
    if (!strcmp(word, "auto"))
        return 0;
    for (int i = 0; i < N_LOSSES; i++) {
        if (!word_has_name(word, losses[i]->name, &rest))
            continue;
        out->name = losses[i]->name;
        if (rest && !losses[i]->smooths)
            return ERR(-EINVAL, "bad --loss '%s': only cross-entropy has labels to smooth", word);
        return rest ? smoothing_of(word, rest, &out->smoothing) : 0;
    }
    return ERR(-EINVAL, "unknown --loss '%s': need auto, cross-entropy[:smoothing=X] or ctc", word);
}

static int refuse(const struct nn_model *m, const char *name, enum nn_target_kind kind,
                  const struct node *node)
{
    char list[128];
    struct text fitting = text_in(list, sizeof list);
    for (int i = 0; i < N_LOSSES; i++)
        if (losses[i]->target(node).kind == kind)
            text_add(&fitting, " or %s", losses[i]->name);
    return ERR(-EINVAL, "network '%s' needs %s, for which there is no --loss %s: choose auto%s",
               name, dataset_targets[kind], m->loss.name, list);
}

int graph_take_loss(struct nn_model *m, const char *name)
{
    for (int h = 0; h < m->n_heads && m->loss.name; h++) {
        struct graph_head *head = &m->heads[h];
        const struct node *node = &m->nodes[head->node];
        const enum nn_target_kind kind = head->loss->target(node).kind;
        int i = 0;
        while (i < N_LOSSES &&
               (losses[i]->target(node).kind != kind || strcmp(losses[i]->name, m->loss.name)))
            i++;
        if (i == N_LOSSES)
            return refuse(m, name, kind, node);
        head->loss = losses[i];
    }
    return 0;
}
