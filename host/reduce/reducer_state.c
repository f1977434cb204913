/* reducer_state.c : holds the codecs' state of layers, and counts the elements that casts lose.
 *
 * A step reads one copy of the state and writes the other, so codes may be made more than once. The
 * copies swap unless the step is skipped or in forced fp32. */
#include "base/err.h"
#include "codec/codec_kind.h"
#include "reduce/reducer_shard.h"
#include "vec/gpu/gpu.h"
#include "base/clock.h"
#include <string.h>

enum { ALIGN = 64 };

static size_t bytes_of(const struct reducer *r, const struct codec_layer *layer)
{
    const size_t bytes =
        r->layers[layer->index].fp32 ? 0 : codec_state_bytes(&r->codecs[NARROW], layer);
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static const struct vec_ops *ops_of(const struct reducer *r)
{
    const struct codec *c = &r->codecs[NARROW];
    return c->kind->state_on_host ? vec_best() : c->ops;
}

/* Checkpoints store the state from the last layer to the first, whatever the buckets. */
static void point(struct reducer *r)
{
    size_t at = 0;
    for (int i = r->n_layers - 1; i >= 0; i--) {
        const struct plan *p = &r->plans[NARROW];
        struct codec_layer *layer = &p->placed[p->rank_of[i]];
        const size_t bytes = bytes_of(r, layer);
        layer->state = bytes ? r->state[0] + at : NULL;
        layer->next_state = bytes ? r->state[1] + at : NULL;
        at += bytes;
    }
}

void reducer_state_size(struct reducer *r)
{
    for (int k = 0; k < r->n_layers; k++)
        r->state_bytes += bytes_of(r, &r->plans[NARROW].placed[k]);
}

int reducer_state_open(struct reducer *r)
{
    for (int i = 0; i < 2 && r->state_bytes; i++) {
        r->state[i] = ops_of(r)->alloc_floats(r->state_bytes);
        if (!r->state[i])
            return -ENOMEM;
    }
    point(r);
    return 0;
}

void reducer_state_close(struct reducer *r)
{
    for (int i = 0; i < 2 && r->state_bytes; i++)
        ops_of(r)->free_floats(r->state[i]);
}

void reducer_state_swap(struct reducer *r)
{
    if (!r->state_bytes)
        return;
    uint8_t *was = r->state[0];
    r->state[0] = r->state[1];
    r->state[1] = was;
    point(r);
}

size_t reducer_state_bytes(const struct reducer *r)
{
    return r->state_bytes;
}

static int copy(const struct reducer *r, void *to, const void *from)
{
    ops_of(r)->copy(to, from, r->state_bytes);
    return r->batches ? gpu_failed() : 0;
}

int reducer_state_get(const struct reducer *r, void *to)
{
    return r->state_bytes ? copy(r, to, r->state[0]) : 0;
}

/* Bytes may be unaligned. Step numbers in a state are too small to look like inf. */
static bool is_finite(const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof bits);
        if ((bits & 0x7f800000) == 0x7f800000)
            return false;
    }
    return true;
}

int reducer_state_check(const struct reducer *r, const void *from)
{
    const struct plan *p = &r->plans[NARROW];
    const uint8_t *at = from;
    for (int i = r->n_layers - 1; i >= 0; i--) {
        const size_t bytes = bytes_of(r, &p->placed[p->rank_of[i]]);
        if (!is_finite(at, bytes))
            return ERR(-EPROTO, "cannot load a state: layer \"%s\" holds inf or nan",
                       r->layers[i].name);
        at += bytes;
    }
    return 0;
}

int reducer_state_put(struct reducer *r, const void *from)
{
    return r->state_bytes ? copy(r, r->state[0], from) : 0;
}

void reducer_set_weights(struct reducer *r, const float *const *weights)
{
    for (int p = 0; p < 2; p++)
        for (int k = 0; k < r->n_layers; k++) {
            struct codec_layer *layer = &r->plans[p].placed[k];
            layer->weights = weights ? weights[layer->index] : NULL;
        }
}

int reducer_count_lost(struct reducer *r)
{
    char text[CODEC_TEXT_BYTES];
    struct vec_cast cast;
    if (r->batches)
        return ERR(-EINVAL, "cannot count the losses of casts on a GPU: need device cpu");
    if (!codec_cast(&r->codecs[NARROW], &cast))
        return ERR(-EINVAL,
                   "cannot count the losses of casts with codec \"%s\": its codes are not casts",
                   codec_describe(&r->codecs[NARROW], text));
    r->counts_lost = true;
    return 0;
}

void reducer_lost(struct reducer *r, const struct group *g)
{
    const struct codec *codec = &r->codecs[NARROW];
    const double start = clock_s();
    struct vec_cast cast;
    if (!r->counts_lost || r->force_fp32 || !codec_cast(codec, &cast))
        return;
    for (int k = g->first; k < g->first + g->n_layers; k++) {
        const uint32_t i = r->plans[NARROW].placed[k].index;
        if (r->layers[i].fp32)
            continue;
        cast.key = codec_key(codec, r->step, i, (uint32_t)comm_rank(r->comm));
        codec_lost_by(&r->done.lost, codec, &cast, r->exponents + r->plans[NARROW].exponent_at[k],
                      r->grads[i], r->layers[i].n, 0);
    }
    r->done.codec_s += clock_s() - start;
}
