/* model_walk.c : walks the nodes of a model, forward and backward. */
#include "nn/model_graph.h"

static void head_pass(struct nn_model *m, int h, int batch, bool train)
{
    const struct graph_head *head = &m->heads[h];
    const struct node *node = &m->nodes[head->node];
    real *dy = train ? node->dy : NULL;
    if (m->adaptive)
        graph_scale_head(m, head);
    head->loss->pass(m, node, batch, dy, &m->words.results[h]);
    if (dy && head->weight != 1)
        m->ops->scale(m->ctx, graph_elements(node->window.out, batch), head->weight, dy, dy);
}

void graph_forward(struct nn_model *m, int batch, bool train)
{
    m->ops->weights(m->ctx);
    for (int i = 1; i < m->n_nodes; i++)
        if (train || m->nodes[i].in_eval)
            m->nodes[i].kind->forward(m, &m->nodes[i], batch, train);
    for (int h = 0; h < (train ? m->n_heads : 1); h++)
        head_pass(m, h, batch, train);
}

/* Written by the backend, perhaps by another processor. */
static bool is_marked(const uint32_t *mark)
{
    return __atomic_load_n(mark, __ATOMIC_ACQUIRE) != 0;
}

void graph_deliver(const struct nn_model *m, struct graph_ready *r)
{
    for (; r->next < m->n_groups && is_marked(&m->marks[r->next]); r->next++)
        r->call(r->ctx, m->groups[r->next].first, m->groups[r->next].n);
}

void graph_backward(struct nn_model *m, int batch, bool marks, struct graph_ready *ready)
{
    int group = 0;
    for (int i = m->n_nodes - 1; i > 0; i--) {
        if (m->adaptive)
            graph_scale_node(m, i, batch);
        if (m->watch)
            graph_watch_node(m, i, batch, true);
        m->nodes[i].kind->backward(m, &m->nodes[i], batch);
        if (m->watch)
            graph_watch_node(m, i, batch, false);
        if (!marks || group == m->n_groups || m->groups[group].node != i)
            continue;
        m->ops->mark(m->ctx, &m->marks[group++]);
        if (ready)
            graph_deliver(m, ready);
    }
}
