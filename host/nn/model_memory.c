/* model_memory.c : copies a model's flat arrays of reals or halves from and to the host. */
#include <assert.h>
#include "nn/model_graph.h"
#include "vec/vec.h"

enum { PIECE = 8192 }; /* halves converted at once */

static bool is_half(const struct nn_model *m)
{
    const size_t bytes = m->ops->weight_bytes(m->ctx);
    assert(bytes == sizeof(real) || bytes == sizeof(uint16_t));
    return bytes != sizeof(real);
}

real *nn_model_at(const struct nn_model *m, const real *array, size_t i)
{
    return (real *)(void *)((char *)(uintptr_t)array + i * m->ops->weight_bytes(m->ctx));
}

int nn_model_get(struct nn_model *m, void *host, const real *from, size_t n)
{
    uint16_t halves[PIECE];
    float *to = host; /* halves are always exchanged as floats */
    if (!is_half(m)) {
        m->ops->download(m->ctx, host, from, n * sizeof *from);
        return m->ops->wait(m->ctx);
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = n - i < PIECE ? n - i : PIECE;
        m->ops->download(m->ctx, halves, nn_model_at(m, from, i), k * sizeof *halves);
        vec_best()->decode(mf_half(), (const uint8_t *)halves, k, 0, 1, to + i);
    }
    return m->ops->wait(m->ctx);
}

int nn_model_put(struct nn_model *m, real *to, const void *host, size_t n)
{
    const struct vec_cast cast = {.fmt = mf_half(), .overflow = MF_INF};
    uint16_t halves[PIECE];
    const float *from = host;
    if (!is_half(m)) {
        m->ops->upload(m->ctx, to, host, n * sizeof *to);
        return m->ops->wait(m->ctx);
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = n - i < PIECE ? n - i : PIECE;
        vec_best()->encode(&cast, from + i, k, 0, 0, (uint8_t *)halves);
        m->ops->upload(m->ctx, nn_model_at(m, to, i), halves, k * sizeof *halves);
    }
    return m->ops->wait(m->ctx);
}
