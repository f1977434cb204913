/* model_block.c : parses and applies forms of residual blocks. Source: pure fp16 paper, 4. */
#include "base/err.h"
#include "base/text.h"
#include "nn/model_graph.h"

static const struct {
    const char *name;
    struct nn_block block; /* factor: the default */
} forms[] = {
    {"plain", {false, false, 1}}, {"zero-gamma", {false, true, 1}}, {"swap", {true, false, 0.25}}};

const char nn_block_help[] =
    "How residual blocks end, where n is the output of the last batch norm. plain: relu(shortcut + "
    "gamma * n + beta). zero-gamma: the same, with gamma initially 0. swap: relu(gamma * (shortcut "
    "+ n / 4) + beta), where the outputs of all other norms of a block are also multiplied by 1/4. "
    ":K replaces the factor on n, which is 1 or 1/4: plain:0.25, swap:1.";

int nn_block_spec(const char *word, struct nn_block *out)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *rest;
        if (!word_has_name(word, forms[i].name, &rest))
            continue;
        struct nn_block block = forms[i].block;
        if (rest && (!number_whole(rest, &block.factor) || block.factor <= 0 || block.factor > 1))
            return ERR(-EINVAL, "bad --block %s: need a factor above 0 and up to 1 after the colon",
                       word);
        *out = block;
        return 0;
    }
    return ERR(
        -EINVAL,
        "unknown --block '%s': need plain, zero-gamma or swap, optionally with a factor: swap:0.25",
        word);
}

int graph_inside_block(struct nn_model *m, int norm)
{
    m->nodes[norm].p = m->block.factor;
    return norm;
}

int graph_ends_block(struct nn_model *m, int norm)
{
    struct node *node = &m->nodes[graph_inside_block(m, norm)];
    node->swapped = m->block.swapped;
    node->zero_gamma = m->block.zero_gamma;
    m->n_blocks++;
    return norm;
}

int graph_block_fits(const struct nn_model *m, const char *name)
{
    const struct nn_block *b = &m->block;
    if (m->n_blocks > 0 || (!b->swapped && !b->zero_gamma && b->factor == 1))
        return 0;
    return ERR(-EINVAL,
               "model '%s' has no residual blocks for --block: use --block plain, or a resnet",
               name);
}
