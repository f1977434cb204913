/* model_train.c : runs training and evaluation passes and reports gradients as they become final.
 *
 *     labels, key, scale -> input -> forward, loss, backward -> ready(group) ... -> wait -> result
 *                                    \-- recorded, once a batch size has been seen: one launch --/
 *
 * Inputs stay at fixed addresses (model_words.c), so a record can be played for every pass. */
#include <math.h>
#include <sched.h>
#include "base/clock.h"
#include "nn/model_graph.h"

static void begin(struct nn_model *m, const struct nn_batch *b, uint64_t key)
{
    graph_words_upload(m, b, key);
    if (b->x)
        m->ops->input(m->ctx, batch_elements(m->nodes[0].window.out, b->n), b->x, m->nodes[0].y);
    else
        m->ops->feed_take(m->ctx, b->sent->slot, m->nodes[0].y);
}

static struct nn_result finish(struct nn_model *m, int n_heads, bool eval)
{
    graph_words_download(m, eval);
    const int rc = m->ops->wait(m->ctx);
    if (rc < 0 && !m->failed)
        m->failed = rc;
    if (rc < 0)
        return (struct nn_result){.loss_sum = (double)NAN};
    struct nn_result all = m->host.results[0];
    all.loss_sum *= m->heads[0].weight;
    for (int h = 1; h < n_heads; h++)
        all.loss_sum += m->heads[h].weight * m->host.results[h].loss_sum;
    return all;
}

static struct graph_record *record_of(struct nn_model *m, int batch, bool marks)
{
    for (int i = 0; i < m->n_records; i++)
        if (m->records[i].batch == batch && m->records[i].marks == marks)
            return &m->records[i];
    if (m->n_records == GRAPH_RECORDS)
        return NULL;
    m->records[m->n_records] = (struct graph_record){.batch = batch, .marks = marks};
    return &m->records[m->n_records++];
}

static int make_record(struct nn_model *m, struct graph_record *r)
{
    const int rc = m->ops->record_begin(m->ctx);
    if (rc < 0)
        return rc;
    graph_forward(m, r->batch, true);
    graph_backward(m, r->batch, r->marks, NULL);
    return m->ops->record_end(m->ctx, &r->record);
}

/* The second pass of a batch size makes its record. */
static bool play(struct nn_model *m, int batch, bool marks)
{
    struct graph_record *r = m->no_records || m->watch ? NULL : record_of(m, batch, marks);
    if (!r)
        return false;
    if (!r->seen) {
        r->seen = true;
        return false;
    }
    if (!r->record && make_record(m, r) < 0) {
        r->record = NULL;
        m->no_records = true;
        return false;
    }
    return m->ops->record_play(m->ctx, r->record) == 0;
}

/* After a second without a mark, wait for all work. Then all marks are set unless the backend has
 * failed. */
static void await(struct nn_model *m, struct graph_ready *r)
{
    const double patience_s = 1;
    double last_s = clock_s();
    while (r->next < m->n_groups) {
        const int before = r->next;
        graph_deliver(m, r);
        if (r->next != before) {
            last_s = clock_s();
        } else if (clock_s() - last_s > patience_s) {
            (void)m->ops->wait(m->ctx);
            break;
        } else {
            sched_yield();
        }
    }
    graph_deliver(m, r);
    for (; r->next < m->n_groups; r->next++)
        r->call(r->ctx, m->groups[r->next].first, m->groups[r->next].n);
}

struct nn_result nn_model_train(struct nn_model *m, const struct nn_batch *b, uint64_t key,
                                nn_grad_ready *call, void *ctx)
{
    struct graph_ready ready = {call, ctx, 0};
    begin(m, b, key);
    if (!play(m, b->n, call)) {
        graph_forward(m, b->n, true);
        graph_backward(m, b->n, call, call ? &ready : NULL);
    }
    if (b->sent && b->sent->meanwhile)
        b->sent->meanwhile(b->sent->ctx);
    if (call)
        await(m, &ready);
    return finish(m, m->n_heads, false);
}

struct nn_result nn_model_eval(struct nn_model *m, const struct nn_batch *b)
{
    begin(m, b, 0);
    graph_forward(m, b->n, false);
    if (b->sent && b->sent->meanwhile)
        b->sent->meanwhile(b->sent->ctx);
    return finish(m, 1, true);
}
