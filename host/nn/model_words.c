/* model_words.c : exchanges a pass's words (inputs and outputs except tensors) with the backend.
 * One block in backend memory and its copy on the host have the same layout. Parts are copied once
 * before and once after a pass, so kernels never access host memory.
 *
 *   key | scale_now | refresh | labels | lengths | scales | results | tallies | confusion
 *   |--------------- uploaded before a pass -------------|
 *                                          |---- downloaded after it, as far as wanted ----| */
#include <errno.h>
#include <string.h>
#include "nn/model_graph.h"

enum { ALIGN = 64 };

/* Return `bytes` bytes at base + *at, and advance *at. base NULL: only measure. Returns NULL then,
 * and for 0 bytes. */
static void *place(uint8_t *base, size_t *at, size_t bytes)
{
    uint8_t *p = base && bytes ? base + *at : NULL;
    *at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return p;
}

static size_t confusion_bytes(const struct nn_model *m)
{
    const size_t n = (size_t)m->nodes[m->heads[0].node].window.out.c;
    return m->heads[0].loss->confuses && n <= NN_MAP_CLASSES_MAX ? n * n * sizeof(uint32_t) : 0;
}

static void lay_out(struct nn_model *m, uint8_t *base, struct graph_words *w)
{
    const size_t batch = (size_t)m->max_batch, nodes = (size_t)m->n_nodes;
    size_t at = 0;
    w->key = place(base, &at, sizeof *w->key);
    w->scale_now = place(base, &at, sizeof *w->scale_now);
    w->refresh = place(base, &at, m->adaptive ? sizeof *w->refresh : 0);
    w->labels = place(base, &at, batch * (size_t)m->target.n * sizeof *w->labels);
    w->lengths = place(base, &at, batch * sizeof *w->lengths);
    m->download_at = at;
    w->scales = place(base, &at, m->adaptive ? nodes * sizeof *w->scales : 0);
    m->upload_bytes = at;
    w->results = place(base, &at, (size_t)m->n_heads * sizeof *w->results);
    m->words_results = at;
    w->tallies = place(base, &at, m->watched ? nodes * sizeof *w->tallies : 0);
    w->confusion = place(base, &at, confusion_bytes(m));
    m->words_all = at;
}

int graph_words_open(struct nn_model *m)
{
    lay_out(m, NULL, &m->host);
    m->words_block = m->ops->alloc(m->ctx, m->words_all);
    m->host_block = m->ops->alloc_shared(m->ctx, m->words_all);
    m->marks = m->ops->alloc_shared(m->ctx, ((size_t)m->n_groups + 1) * sizeof *m->marks);
    if (!m->words_block || !m->host_block || !m->marks)
        return -ENOMEM;
    lay_out(m, m->words_block, &m->words);
    lay_out(m, m->host_block, &m->host);
    for (int i = 0; m->adaptive && i < m->n_nodes; i++)
        m->host.scales[i] = (struct node_scale){1, 1, 1, 1, 0, {0, 0}, {0, 0}, {0, 0}};
    return 0;
}

void graph_words_close(struct nn_model *m)
{
    m->ops->free(m->ctx, m->words_block);
    m->ops->free_shared(m->ctx, m->host_block);
    m->ops->free_shared(m->ctx, m->marks);
}

void graph_words_upload(struct nn_model *m, const struct nn_batch *b, uint64_t key)
{
    const struct graph_words *w = &m->host;
    *w->key = key;
    *w->scale_now = (float)m->scale.value;
    if (m->adaptive)
        graph_scale_begin(m);
    memcpy(w->labels, b->labels, (size_t)b->n * (size_t)m->target.n * sizeof *b->labels);
    for (int i = 0; i < b->n; i++)
        w->lengths[i] = b->lengths ? b->lengths[i] : m->nodes[0].window.out.h;
    memset(m->marks, 0, (size_t)m->n_groups * sizeof *m->marks);
    m->ops->upload_async(m->ctx, m->words_block, m->host_block, m->upload_bytes);
}

void graph_words_download(struct nn_model *m, bool eval)
{
    const size_t end = m->watch || (eval && m->words.confusion) ? m->words_all : m->words_results;
    m->ops->download_async(m->ctx, (uint8_t *)m->host_block + m->download_at,
                           (const uint8_t *)m->words_block + m->download_at, end - m->download_at);
}
