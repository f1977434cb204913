/* model_plan.c : allocates every node's memory once, so that passes allocate nothing. Activation
 * gradients share buffers. A tensor's last reader takes a free buffer for the tensor's gradient;
 * the backward pass of the node that made the tensor frees the buffer. */
#include <assert.h>
#include <stdlib.h>
#include "base/err.h"
#include "nn/model_graph.h"

static size_t out_elements(const struct nn_model *m, const struct node *node)
{
    return batch_elements(node->window.out, m->max_batch);
}

static int get_memory(struct nn_model *m, size_t bytes, void **out)
{
    *out = m->ops->alloc(m->ctx, bytes);
    return *out ? 0 : -ENOMEM;
}

static int get_weights(struct nn_model *m, size_t n, real **out)
{
    void *p;
    TRY(get_memory(m, n * m->ops->weight_bytes(m->ctx), &p));
    *out = p;
    return 0;
}

static int get_acts(struct nn_model *m, size_t n, real **out)
{
    void *p;
    TRY(get_memory(m, n * m->ops->act_bytes(m->ctx), &p));
    *out = p;
    return 0;
}

static int take(struct nn_model *m, size_t n)
{
    int b = 0;
    while (m->buffers[b].taken)
        b++;
    struct graph_buffer *buffer = &m->buffers[b];
    buffer->taken = true;
    buffer->n = n > buffer->n ? n : buffer->n;
    m->n_buffers = b < m->n_buffers ? m->n_buffers : b + 1;
    return b;
}

/* From the heads backward, choose each gradient's buffer, and whether a node overwrites the
 * gradient or adds to it. An addend's gradient stays in the sum's buffer; the other summand gets a
 * copy. */
static void share_buffers(struct nn_model *m)
{
    for (const struct graph_head *head = m->heads; head < m->heads + m->n_heads; head++) {
        struct node *node = &m->nodes[head->node];
        assert(node->buffer < 0); /* else heads share a node */
        node->buffer = take(m, out_elements(m, node));
    }
    for (int i = m->n_nodes - 1; i > 0; i--) {
        struct node *node = &m->nodes[i], *in = &m->nodes[node->in];
        const int mine = node->buffer;
        assert(mine >= 0); /* else no node reads it */
        bool passed_on = false;
        node->add_dx = in->buffer >= 0;
        assert(!node->add_dx || node->kind->adds_dx);
        if (node->in > 0 && !node->add_dx) {
            passed_on = node->kind->in_place && node->addend < 0;
            in->buffer = passed_on ? mine : take(m, out_elements(m, in));
        }
        for (const int *part = node->more; part < node->more + node->n_more; part++) {
            /* else another reader has written its gradient */
            assert(*part > 0 && m->nodes[*part].buffer < 0);
            m->nodes[*part].buffer = take(m, out_elements(m, &m->nodes[*part]));
        }
        if (node->addend >= 0) {
            assert(node->addend > 0 && m->nodes[node->addend].buffer < 0);
            m->nodes[node->addend].buffer = mine;
            passed_on = true;
        }
        if (!passed_on)
            m->buffers[mine].taken = false;
    }
}

static void mark_in_eval(struct nn_model *m)
{
    m->nodes[m->heads[0].node].in_eval = true;
    for (const struct node *node = m->nodes + m->n_nodes - 1; node > m->nodes; node--) {
        if (!node->in_eval)
            continue;
        m->nodes[node->in].in_eval = true;
        if (node->addend >= 0)
            m->nodes[node->addend].in_eval = true;
        for (int i = 0; i < node->n_more; i++)
            m->nodes[node->more[i]].in_eval = true;
    }
}

static int plan_gradients(struct nn_model *m)
{
    m->buffers = calloc((size_t)m->n_nodes, sizeof *m->buffers);
    if (!m->buffers)
        return ERR(-ENOMEM, "cannot plan %d nodes: no memory", m->n_nodes);
    share_buffers(m);
    for (int b = 0; b < m->n_buffers; b++)
        TRY(get_acts(m, m->buffers[b].n, &m->buffers[b].p));
    for (int i = 1; i < m->n_nodes; i++)
        m->nodes[i].dy = m->buffers[m->nodes[i].buffer].p;
    return 0;
}

static int plan_nodes(struct nn_model *m)
{
    size_t most = m->adaptive ? MOMENTS_SCRATCH : 0;
    for (int i = 1; i < m->n_nodes; i++) {
        struct node *node = &m->nodes[i];
        size_t bytes = 0;
        if (node->kind->plan)
            TRY(node->kind->plan(m, node, &bytes));
        most = bytes > most ? bytes : most;
        if (node->kind->kept_bytes)
            TRY(get_memory(m, node->kind->kept_bytes(m, node), &node->kept));
    }
    for (const struct graph_head *head = m->heads; head < m->heads + m->n_heads; head++) {
        size_t bytes = 0;
        if (head->loss->plan)
            TRY(head->loss->plan(m, &m->nodes[head->node], &bytes));
        most = bytes > most ? bytes : most;
    }
    return get_memory(m, most, &m->scratch);
}

/* Draw on the host, so that all backends start from the same bits. */
static int put_start_values(struct nn_model *m, uint64_t seed)
{
    real *host = calloc(m->n_weights + m->n_stats, sizeof *host);
    if (!host)
        return ERR(-ENOMEM, "cannot draw %zu weights: no memory", m->n_weights);
    for (const struct node *node = m->nodes + 1; node < m->nodes + m->n_nodes; node++)
        if (node->kind->draw)
            node->kind->draw(m, node, seed, host, host + m->n_weights);
    int rc = nn_model_put(m, m->weights, host, m->n_weights);
    if (rc == 0)
        rc = nn_model_put(m, m->stats, host + m->n_weights, m->n_stats);
    free(host);
    return rc;
}

/* A norm's few params join its convolution's group to save a call. */
static int group_params(struct nn_model *m)
{
    m->groups = calloc((size_t)m->n_params + 1, sizeof *m->groups);
    if (!m->groups)
        return ERR(-ENOMEM, "cannot plan %d layers: no memory", m->n_params);
    int end = m->n_params; /* params from here on are grouped */
    for (int i = m->n_nodes - 1; i > 0; i--) {
        const struct node *node = &m->nodes[i];
        if (node->n_params == 0 ||
            (node->kind == &layer_batch_norm && m->nodes[node->in].n_params > 0))
            continue;
        m->groups[m->n_groups++] =
            (struct graph_group){node->first_param, end - node->first_param, i};
        end = node->first_param;
    }
    assert(end == 0);
    return 0;
}

static int plan_weights(struct nn_model *m)
{
    TRY(get_weights(m, m->n_weights, &m->weights));
    TRY(get_weights(m, m->n_weights, &m->own_grads));
    TRY(get_weights(m, m->n_stats, &m->own_stats));
    m->grads = m->own_grads;
    m->stats = m->own_stats;
    return 0;
}

static int plan_passes(struct nn_model *m)
{
    TRY(graph_words_open(m));
    m->ops->loss_scale(m->ctx, m->words.scale_now);
    TRY(m->ops->weights_plan(m->ctx, m->weights, m->n_weights));
    TRY(m->ops->input_plan(m->ctx, out_elements(m, &m->nodes[0])));
    for (int i = 0; i < m->n_nodes; i++)
        TRY(get_acts(m, out_elements(m, &m->nodes[i]), &m->nodes[i].y));
    TRY(plan_gradients(m));
    return plan_nodes(m);
}

int graph_plan(struct nn_model *m, uint64_t seed)
{
    assert(!m->failed && m->n_heads > 0);
    TRY(group_params(m));
    mark_in_eval(m);
    TRY(plan_weights(m));
    const int rc = plan_passes(m);
    if (rc == -ENOMEM)
        err_add(", for %d images at a time%s%s", m->max_batch, m->fewer ? ": fewer by " : "",
                m->fewer ? m->fewer : "");
    TRY(rc);
    TRY(put_start_values(m, seed));
    return m->ops->wait(m->ctx);
}
