/* bucket.c : cuts layers into buckets. */
#include "reduce/bucket.h"

int bucket_cut(const struct reducer_layer *layers, int n_layers, const struct codec *codecs,
               bool all_fp32, size_t bucket_bytes, struct bucket *out, struct codec_layer *placed)
{
    int n_buckets = 0;
    bool open = false;
    for (int i = n_layers - 1; i >= 0; i--) {
        const bool fp32 = all_fp32 || layers[i].fp32;
        struct codec_layer *own = &placed[n_layers - 1 - i];
        const struct codec_call alone = {.codec = &codecs[fp32], .layers = own, .n_layers = 1};
        *own = (struct codec_layer){.index = (uint32_t)i,
                                    .n = layers[i].n,
                                    .column = layers[i].column,
                                    .stride = layers[i].stride};
        const struct fold f = codec_fold(&alone);
        const size_t n = bucket_padded(&f, layers[i].n);
        struct bucket *b = open ? &out[n_buckets - 1] : NULL;
        if (!b || b->fp32 != fp32 || b->fold.unit != f.unit ||
            b->fold.ops->in_bytes(&b->fold, f.unit) != f.ops->in_bytes(&f, f.unit) ||
            f.ops->in_bytes(&f, n) >= bucket_bytes) {
            b = &out[n_buckets++];
            *b = (struct bucket){.last = i, .fp32 = fp32, .call = alone, .fold = f};
            b->fold.ctx = &b->call;
        }
        own->at = b->n;
        b->call.n_layers = ++b->n_layers;
        b->n += n;
        open = f.ops->in_bytes(&b->fold, b->n) < bucket_bytes;
    }
    return n_buckets;
}
