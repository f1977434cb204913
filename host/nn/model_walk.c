/* model_walk.c : walks the nodes of a model, forward and backward. */
#include "nn/model_graph.h"

real *graph_part(const struct nn_model *m, const struct node *node, int i, real *array)
{
    return i < node->n_params ? array + m->params[node->first_param + i].offset : NULL;
}

size_t graph_pixels(struct nn_shape s, int batch)
{
    return (size_t)batch * (size_t)s.h * (size_t)s.w;
}

size_t graph_elements(struct nn_shape s, int batch)
{
    return graph_pixels(s, batch) * (size_t)s.c;
}

void graph_forward(struct nn_model *m, int batch, bool train)
{
    const struct node *last = &m->nodes[m->n_nodes - 1];
    m->ops->weights(m->ctx);
    for (int i = 1; i < m->n_nodes; i++)
        m->nodes[i].kind->forward(m, &m->nodes[i], batch, train);
    m->ops->softmax_loss(m->ctx, batch, last->window.out.c, last->y, m->labels,
                         train ? last->dy : NULL, m->result);
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
        m->nodes[i].kind->backward(m, &m->nodes[i], batch);
        if (!marks || group == m->n_groups || m->groups[group].node != i)
            continue;
        m->ops->mark(m->ctx, &m->marks[group++]);
        if (ready)
            graph_deliver(m, ready);
    }
}
