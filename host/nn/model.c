/* model.c : opens and closes models, and walks their nodes forward and backward. */
#include "nn/model.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/trace.h"
#include "nn/model_graph.h"
#include "vec/vec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum nn_math nn_math_of(const char *word)
{
    int math = 0;
    while (strcmp(nn_math_word((enum nn_math)math), word))
        math++;
    return (enum nn_math)math;
}

enum nn_conv nn_conv_of(const char *word)
{
    return !strcmp(word, "gemm")       ? NN_CONV_GEMM
           : !strcmp(word, "winograd") ? NN_CONV_WINOGRAD
                                       : NN_CONV_AUTO;
}

static bool is_image(struct nn_shape in)
{
    return in.h >= NN_SIDE_MIN && in.h <= NN_SIDE_MAX && in.w >= NN_SIDE_MIN &&
           in.w <= NN_SIDE_MAX && (in.c == 1 || in.c == 3);
}

static bool is_sequence(struct nn_shape in)
{
    return in.w == 1 && in.h >= 1 && in.h <= NN_STEPS_MAX && in.c >= 1 && in.c <= NN_FEATURES_MAX;
}

static int check(const char *name, struct nn_shape in, int n_classes, int max_batch)
{
    if (in.w == 1 && !is_sequence(in))
        return ERR(-EINVAL,
                   "cannot build model '%s' for sequences of %d steps of %d features: need 1 to %d "
                   "steps of 1 to %d",
                   name, in.h, in.c, NN_STEPS_MAX, NN_FEATURES_MAX);
    if (in.w != 1 && !is_image(in))
        return ERR(-EINVAL,
                   "cannot build model '%s' for images of %dx%dx%d: need %d to %d pixels a side "
                   "and 1 or 3 channels",
                   name, in.h, in.w, in.c, NN_SIDE_MIN, NN_SIDE_MAX);
    if (n_classes < 2 || max_batch < 1)
        return ERR(-EINVAL,
                   "cannot build model '%s' for %d classes and %d images: need at least 2 and 1",
                   name, n_classes, max_batch);
    return 0;
}

int nn_model_open(const struct nn_ops *ops, const struct nn_setup *setup, const char *name,
                  struct nn_shape in, int n_classes, int max_batch, uint64_t seed,
                  struct nn_model **out)
{
    TRY(check(name, in, n_classes, max_batch));
    struct nn_model *m = malloc(sizeof *m);
    if (!m)
        return ERR(-ENOMEM, "cannot open model '%s': no memory", name);
    int rc = graph_init(m, ops, in, max_batch);
    if (setup && setup->width > 0)
        m->width = setup->width;
    if (setup && setup->block)
        m->block = *setup->block;
    if (setup && setup->loss)
        m->loss = *setup->loss;
    if (rc == 0)
        rc = graph_by_name(m, name, n_classes);
    if (rc == 0)
        rc = ops->open(setup, &m->ctx);
    if (rc < 0) {
        graph_fini(m);
        free(m);
        return rc;
    }
    m->fewer = setup ? setup->fewer : NULL;
    m->math = setup ? setup->math : NN_FP32;
    graph_scale_open(m, setup);
    rc = graph_plan(m, seed);
    if (rc < 0) {
        nn_model_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

int nn_model_list(const char *name, double width, struct nn_shape in, int n_classes,
                  struct nn_param **params, int *n_params)
{
    struct nn_model m;
    TRY(check(name, in, n_classes, 1));
    int rc = graph_init(&m, NULL, in, 1);
    m.width = width;
    if (rc == 0)
        rc = graph_by_name(&m, name, n_classes);
    if (rc == 0) {
        *params = m.params;
        *n_params = m.n_params;
        m.params = NULL;
    }
    graph_fini(&m);
    return rc;
}

int nn_model_wants(const char *name, struct nn_shape in, int n_classes, struct nn_target *out)
{
    struct nn_model m;
    TRY(check(name, in, n_classes, 1));
    int rc = graph_init(&m, NULL, in, 1);
    if (rc == 0)
        rc = graph_by_name(&m, name, n_classes);
    if (rc == 0)
        *out = m.target;
    graph_fini(&m);
    return rc;
}

struct nn_target nn_model_target(const struct nn_model *m)
{
    return m->target;
}

const char *nn_model_loss(const struct nn_model *m)
{
    return m->heads[0].loss->name;
}

void nn_model_close(struct nn_model *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->n_records; i++)
        m->ops->record_close(m->ctx, m->records[i].record);
    for (int i = 0; i < m->n_nodes; i++) {
        m->ops->free(m->ctx, m->nodes[i].y);
        m->ops->free(m->ctx, m->nodes[i].kept);
    }
    for (int b = 0; b < m->n_buffers; b++)
        m->ops->free(m->ctx, m->buffers[b].p);
    void *rest[] = {m->weights, m->own_grads, m->own_stats, m->scratch};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        m->ops->free(m->ctx, rest[i]);
    graph_words_close(m);
    m->ops->close(m->ctx);
    graph_fini(m);
    free(m);
}

const struct nn_param *nn_model_params(const struct nn_model *m, int *n_params)
{
    *n_params = m->n_params;
    return m->params;
}

real *nn_model_weights(struct nn_model *m, size_t *n)
{
    *n = m->n_weights;
    return m->weights;
}

real *nn_model_grads(struct nn_model *m)
{
    return m->own_grads;
}

real *nn_model_stats(struct nn_model *m, size_t *n)
{
    *n = m->n_stats;
    return m->own_stats;
}

void nn_model_use(struct nn_model *m, real *grads, real *stats)
{
    m->no_records = m->no_records || m->grads != grads || m->stats != stats;
    m->grads = grads;
    m->stats = stats;
}

double nn_model_gemm_s(const struct nn_model *m)
{
    return m->ops->gemm_s(m->ctx);
}

const struct nn_ops *nn_model_ops(const struct nn_model *m)
{
    return m->ops;
}

void *nn_model_ctx(struct nn_model *m)
{
    return m->ctx;
}

const uint32_t *nn_model_confusion(const struct nn_model *m, int *n_classes)
{
    *n_classes = m->host.confusion ? m->nodes[m->heads[0].node].window.out.c : 0;
    return m->host.confusion;
}

int nn_model_failed(const struct nn_model *m)
{
    return m->failed;
}

int nn_model_n_outputs(const struct nn_model *m)
{
    return m->n_nodes - 1;
}

struct nn_output nn_model_output(const struct nn_model *m, int i)
{
    const struct node *node = &m->nodes[i + 1];
    const bool norm = node->kind == &layer_batch_norm;
    const int c = node->window.in.c;
    struct nn_output out = {.kind = node->kind->name,
                            .n = batch_elements(node->window.out, 1),
                            .variance = norm ? node->stat + (size_t)c : 0,
                            .channels = norm ? c : 0};
    if (node->n_params > 0) {
        /* the last: an LSTM's first is "lstm1.in.weight" */
        const char *name = m->params[node->first_param + node->n_params - 1].name,
                   *part = strrchr(name, '.');
        snprintf(out.name, sizeof out.name, "%.*s", part ? (int)(part - name) : 31, name);
    } else {
        snprintf(out.name, sizeof out.name, "%.16s%d", out.kind, i);
    }
    return out;
}

static struct mf_fmt narrow_of(const struct nn_model *m)
{
    const struct mf_fmt bf16 = {8, 7, 0};
    return m->math == NN_BF16 ? bf16 : mf_half();
}

static void fetch(struct nn_model *m, const real *y, size_t at, float *to, size_t n)
{
    uint16_t codes[256];
    const size_t bytes = m->ops->act_bytes(m->ctx);
    const char *from = (const char *)y + at * bytes;
    if (bytes == sizeof *to) {
        m->ops->download(m->ctx, to, from, n * bytes);
        return;
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = n - i < 256 ? n - i : 256;
        m->ops->download(m->ctx, codes, from + i * bytes, k * bytes);
        vec_best()->decode(narrow_of(m), (const uint8_t *)codes, k, 0, 1, to + i);
    }
}

int nn_model_largest(struct nn_model *m, int i, int batch, float *scratch, size_t n, float *largest)
{
    const struct node *node = &m->nodes[i + 1];
    const size_t all = batch_elements(node->window.out, batch);
    uint32_t most = 0;
    for (size_t at = 0, k; at < all; at += k) {
        k = all - at < n ? all - at : n;
        fetch(m, node->y, at, scratch, k);
        const uint32_t absmax = vec_best()->absmax(scratch, k);
        most = absmax > most ? absmax : most;
    }
    memcpy(largest, &most, sizeof most);
    return m->ops->wait(m->ctx);
}

size_t nn_model_logits(const struct nn_model *m)
{
    return batch_elements(m->nodes[m->heads[0].node].window.out, 1);
}

int nn_model_classes(struct nn_model *m, int i, float *scratch, uint8_t *labels)
{
    const struct node *node = &m->nodes[m->heads[0].node];
    const size_t n = nn_model_logits(m), classes = (size_t)node->window.out.c;
    fetch(m, node->y, (size_t)i * n, scratch, n);
    TRY(m->ops->wait(m->ctx));
    for (size_t at = 0; at < n; at += classes) {
        size_t best = 0;
        for (size_t k = 1; k < classes; k++)
            best = scratch[at + k] > scratch[at + best] ? k : best;
        labels[at / classes] = (uint8_t)best;
    }
    return 0;
}

static void head_pass(struct nn_model *m, int h, int batch, bool train)
{
    const struct graph_head *head = &m->heads[h];
    const struct node *node = &m->nodes[head->node];
    real *dy = train ? node->dy : NULL;
    if (m->adaptive)
        graph_scale_head(m, head);
    head->loss->pass(m, node, batch, dy, &m->words.results[h]);
    if (dy && head->weight != 1)
        m->ops->scale(m->ctx, batch_elements(node->window.out, batch), head->weight, dy, dy);
}

void nn_model_trace(struct nn_model *m, struct trace *trace)
{
    m->trace = trace;
}

/* "conv s0b0.conv1 forward"; the name of a layer without weights has its kind: "relu6 forward" */
static void add_span(const struct nn_model *m, int i, const char *pass, double start_s)
{
    char name[64];
    if (!m->trace)
        return;
    const struct nn_output layer = nn_model_output(m, i - 1);
    const bool named = m->nodes[i].n_params > 0;
    snprintf(name, sizeof name, "%s%s%s %s", named ? layer.kind : "", named ? " " : "", layer.name,
             pass);
    trace_add(m->trace, TRACE_MAIN, name, -1, start_s);
}

void graph_forward(struct nn_model *m, int batch, bool train)
{
    m->ops->weights(m->ctx);
    for (int i = 1; i < m->n_nodes; i++) {
        if (!train && !m->nodes[i].in_eval)
            continue;
        const double start_s = m->trace ? clock_s() : 0;
        m->nodes[i].kind->forward(m, &m->nodes[i], batch, train);
        add_span(m, i, "forward", start_s);
    }
    for (int h = 0; h < (train ? m->n_heads : 1); h++) {
        const double start_s = m->trace ? clock_s() : 0;
        head_pass(m, h, batch, train);
        trace_add(m->trace, TRACE_MAIN, "loss", -1, start_s);
    }
}

/* Marks may be written by another processor. */
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
        const double start_s = m->trace ? clock_s() : 0;
        m->nodes[i].kind->backward(m, &m->nodes[i], batch);
        add_span(m, i, "backward", start_s);
        if (m->watch)
            graph_watch_node(m, i, batch, false);
        if (!marks || group == m->n_groups || m->groups[group].node != i)
            continue;
        m->ops->mark(m->ctx, &m->marks[group++]);
        if (ready)
            graph_deliver(m, ready);
    }
}
