/* bucket.c : cuts layers into buckets. */
#include "reduce/bucket.h"

int bucket_cut(const struct reducer_layer *layers, int n_layers, const struct fold *folds,
               bool all_fp32, size_t bucket_bytes, struct bucket *out)
{
    int n_buckets = 0;
    bool open = false;
    for (int i = n_layers - 1; i >= 0; i--) {
        const bool fp32 = all_fp32 || layers[i].fp32;
        const struct fold *f = &folds[fp32];
        const size_t n = bucket_padded(f, layers[i].n);
        if (!open || out[n_buckets - 1].fp32 != fp32 || f->ops->in_bytes(f, n) >= bucket_bytes)
            out[n_buckets++] = (struct bucket){.last = i, .fp32 = fp32};
        struct bucket *b = &out[n_buckets - 1];
        b->n_layers++;
        b->n += n;
        open = f->ops->in_bytes(f, b->n) < bucket_bytes;
    }
    return n_buckets;
}
