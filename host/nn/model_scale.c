/* model_scale.c : scales activation gradients by one loss scale or by an adaptive scale per layer.
 * The backend computes adaptive scales (hls/nn/loss_scale.h), so a record runs without the host.
 *
 *   loss: 1 -> ... -> [moments of dy, W, the other dx] -> s -> dy *= s -> node's backward -> ...
 *                                                          \-> divisor of its weight gradients
 *
 * "loss: 1": the scale at the loss. "the other dx": what another node with the same input has left
 * in dx. */
#include <assert.h>
#include "nn/model_graph.h"

enum { FIRST_SCALE = 65536, GOOD_STEPS = 2000 };

void graph_scale_open(struct nn_model *m, const struct nn_setup *setup)
{
    m->scale = (struct nn_loss_scale){.value = 1};
    m->watched = setup && setup->watched;
    m->adaptive = setup && setup->adaptive;
    if (m->adaptive)
        m->scaling = *setup->adaptive;
    if (!setup || m->adaptive || (setup->math != NN_FP16 && !setup->scaled))
        return;
    m->scale.moving = setup->loss_scale == 0;
    m->scale.value = m->scale.moving ? FIRST_SCALE : setup->loss_scale;
}

void graph_scale_begin(struct nn_model *m)
{
    *m->host.refresh = m->scale.n_good == 0;
    for (int h = 0; h < m->n_heads; h++)
        m->host.scales[m->heads[h].node].carried = 1;
}

void graph_scale_head(struct nn_model *m, const struct graph_head *head)
{
    m->ops->loss_scale(m->ctx, &m->words.scales[head->node].carried);
}

/* If another reader of the input has written dx already, that dx gets a factor of its own. */
static void scale_layer_node(struct nn_model *m, const struct node *node, struct node_scale *own,
                             struct node_scale *in, int batch)
{
    const size_t n = batch_elements(node->window.out, batch),
                 n_in = batch_elements(node->window.in, batch);
    real *dx = m->nodes[node->in].dy;
    m->ops->moments(m->ctx, n, node->dy, m->words.refresh, &own->dy, m->scratch);
    if (node->kind->dx_terms)
        m->ops->weight_moments(m->ctx, m->params[node->first_param].n,
                               graph_part(m, node, 0, m->weights), m->words.refresh, &own->w,
                               m->scratch);
    if (node->add_dx)
        m->ops->moments(m->ctx, n_in, dx, m->words.refresh, &own->dx, m->scratch);
    const double terms = node->kind->dx_terms ? node->kind->dx_terms(node) : 0;
    m->ops->scale_layer(m->ctx, &m->scaling.rule, terms, node->add_dx, m->words.refresh, own, in);
    m->ops->scale_by(m->ctx, n, &own->own, NULL, node->dy);
    if (node->add_dx)
        m->ops->scale_by(m->ctx, n_in, &own->other, NULL, dx);
}

static bool is_head(const struct nn_model *m, int i)
{
    for (int h = 0; h < m->n_heads; h++)
        if (m->heads[h].node == i)
            return true;
    return false;
}

void graph_scale_node(struct nn_model *m, int i, int batch)
{
    const struct node *node = &m->nodes[i];
    struct node_scale *own = &m->words.scales[i], *in = &m->words.scales[node->in];
    assert(!node->add_dx || (node->addend < 0 && node->n_more == 0)); /* only one dx */
    if ((node->kind->dx_terms || node->add_dx) && node->in > 0)
        scale_layer_node(m, node, own, in, batch);
    else {
        m->ops->scale_hand_on(m->ctx, own, in,
                              node->addend < 0 ? NULL : &m->words.scales[node->addend]);
        if (is_head(m, i)) /* nn_round rounds a loss's gradient here */
            m->ops->scale_by(m->ctx, batch_elements(node->window.out, batch), &own->own, NULL,
                             node->dy);
    }
    for (int k = 0; k < node->n_more; k++)
        m->ops->scale_hand_on(m->ctx, own, &m->words.scales[node->more[k]], NULL);
    m->ops->loss_scale(m->ctx, &own->divisor);
}

static bool hands_back(const struct node *node)
{
    return node->kind && node->kind->dx_terms && node->in > 0;
}

void graph_watch_node(struct nn_model *m, int i, int batch, bool first)
{
    const struct node *node = &m->nodes[i];
    if (!hands_back(node))
        return;
    if (!first)
        m->ops->tally(m->ctx, batch_elements(node->window.in, batch), m->nodes[node->in].dy,
                      &m->words.tallies[i]);
    m->ops->watch(m->ctx, first ? &m->words.tallies[i] : NULL);
}

void nn_model_watch(struct nn_model *m, bool on)
{
    m->watch = on && m->watched;
}

bool nn_model_back(const struct nn_model *m, int i, struct nn_back *out)
{
    for (int k = m->n_nodes - 1; k > 0; k--) {
        const struct node *node = &m->nodes[k];
        if (!hands_back(node) || i-- > 0)
            continue;
        const float all = m->adaptive ? m->host.scales[k].divisor : *m->host.scale_now;
        *out = (struct nn_back){.name = m->params[node->first_param].name,
                                .given = m->adaptive ? m->host.scales[k].carried : all,
                                .own = m->adaptive ? m->host.scales[k].own : 1,
                                .carried = all,
                                .tally = &m->host.tallies[k]};
        return true;
    }
    return false;
}

struct nn_loss_scale *nn_model_loss_scale(struct nn_model *m)
{
    return &m->scale;
}

void nn_model_loss_scale_update(struct nn_model *m, bool finite)
{
    struct nn_loss_scale *s = &m->scale;
    if (m->adaptive) /* after an overflow choose scales again */
        s->n_good = finite ? (s->n_good + 1) % m->scaling.every : 0;
    if (!s->moving)
        return;
    s->n_good = finite ? s->n_good + 1 : 0;
    if (!finite && s->value > 1)
        s->value /= 2;
    if (s->n_good == GOOD_STEPS) {
        s->value = s->value < 0x1p24 ? s->value * 2 : s->value;
        s->n_good = 0;
    }
}

size_t nn_model_n_scales(const struct nn_model *m)
{
    return m->adaptive ? (size_t)m->n_nodes : 0;
}

void nn_model_scales_get(const struct nn_model *m, float *to)
{
    for (size_t i = 0; i < nn_model_n_scales(m); i++)
        to[i] = m->host.scales[i].own;
}

void nn_model_scales_put(struct nn_model *m, const float *from)
{
    for (size_t i = 0; i < nn_model_n_scales(m); i++)
        m->host.scales[i].own = from[i];
}
