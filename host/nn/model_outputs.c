/* model_outputs.c : what nodes have made, for statistics. */
#include "nn/model_graph.h"
#include "vec/vec.h"
#include <stdio.h>
#include <string.h>

int nn_model_n_outputs(const struct nn_model *m)
{
    return m->n_nodes - 1;
}

struct nn_output nn_model_output(const struct nn_model *m, int i)
{
    const struct node *node = &m->nodes[i + 1];
    const bool norm = node->kind == &layer_norm;
    const int c = node->window.in.c;
    struct nn_output out = {.kind = node->kind->name,
                            .n = graph_elements(node->window.out, 1),
                            .variance = norm ? node->stat + (size_t)c : 0,
                            .channels = norm ? c : 0};
    if (node->n_params > 0) {
        const char *name = m->params[node->first_param].name, *part = strrchr(name, '.');
        snprintf(out.name, sizeof out.name, "%.*s", part ? (int)(part - name) : 31, name);
    } else {
        snprintf(out.name, sizeof out.name, "%.16s%d", out.kind, i);
    }
    return out;
}

/* The format of activations that have 16 bits. */
static struct mf_fmt narrow_of(const struct nn_model *m)
{
    const struct mf_fmt bf16 = {8, 7, 0};
    return m->math == NN_BF16 ? bf16 : mf_half();
}

/* n values from element `at` of an activation on, as floats. */
static void fetch(struct nn_model *m, const real *y, size_t at, float *to, size_t n)
{
    uint16_t codes[256];
    const size_t bytes = m->ops->act_bytes(m->ctx);
    const char *from = (const char *)y + at * bytes;
    if (bytes == sizeof *to) {
        m->ops->get(m->ctx, to, from, n * bytes);
        return;
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = n - i < 256 ? n - i : 256;
        m->ops->get(m->ctx, codes, from + i * bytes, k * bytes);
        vec_best()->decode(narrow_of(m), (const uint8_t *)codes, k, 0, 1, to + i);
    }
}

int nn_model_largest(struct nn_model *m, int i, int batch, float *scratch, size_t n, float *largest)
{
    const struct node *node = &m->nodes[i + 1];
    const size_t all = graph_elements(node->window.out, batch);
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
