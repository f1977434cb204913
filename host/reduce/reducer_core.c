/* reducer_core.c : sums of chosen layers made once more, of virtual ranks' codes and by somebody else (a
 * simulated card): they must be the algorithm's, byte for byte. */
#include "base/err.h"
#include "codec/codec.h"
#include "comm/virtual/comm_virtual.h"
#include "reduce/reducer_inside.h"
#include <string.h>

/* What each rank hands in. */
struct handed {
    struct reducer *r;
    const struct bucket *bucket;
};

void reducer_set_core(struct reducer *r, struct reducer_core *core)
{
    r->core = core;
}

/* Of a layer of the bucket; the first rank's reducer speaks for all. */
static int add_layer(void *const *all, int n_ranks, const struct codec_layer *layer)
{
    const struct handed *first = all[0];
    const struct reducer *r = first->r;
    const struct fold *f = &first->bucket->fold;
    struct reducer_core *core = r->core;
    const size_t n = bucket_padded(f, layer->n), skip = f->ops->in_bytes(f, layer->at);
    for (int k = 0; k < n_ranks; k++)
        core->parts[k] = ((const struct handed *)all[k])->r->codes +
                         r->plans[NARROW].places[first->bucket->last] + skip;
    TRY(core->add(core->arg, core->parts, n, core->sums));
    const uint8_t *want = r->result + f->ops->out_bytes(f, layer->at);
    const size_t bytes = f->ops->out_bytes(f, n);
    size_t at = 0;
    while (at < bytes && core->sums[at] == want[at])
        at++;
    if (at < bytes)
        return ERR(-EIO,
                   "the sums of layer \"%s\" in step %llu are not those of \"%s\": byte %zu of %zu "
                   "is %02x, not %02x",
                   r->layers[layer->index].name, (unsigned long long)r->step, r->algo->name, at,
                   bytes, core->sums[at], want[at]);
    core->n_sums++;
    return 0;
}

static void add_once(void *const *all, int n_ranks)
{
    const struct handed *first = all[0];
    struct reducer_core *core = first->r->core;
    for (int k = 0; k < first->bucket->n_layers && core->rc == 0; k++) {
        const struct codec_layer *layer = &first->bucket->call.layers[k];
        if (core->layers[layer->index])
            core->rc = add_layer(all, n_ranks, layer);
    }
}

int reducer_core_bucket(struct reducer *r, const struct bucket *b)
{
    struct handed mine = {r, b};
    if (b->fp32 || r->force_fp32)
        return 0;
    TRY(comm_virtual_once(r->comm, &mine, add_once));
    return r->core->rc;
}
