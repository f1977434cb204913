/* bucket.h : fuses layers into buckets, whose codes travel together. */
#ifndef BUCKET_H
#define BUCKET_H
#include "reduce/reducer.h"

/* Layers (call.layers) are in descending order, not necessarily neighbours. Each begins at a
 * multiple of the reduce op's unit. */
struct bucket {
    int last, first, n_layers;
    size_t n;   /* elements, padding included */
    bool fp32;  /* not in the codec's format */
    bool coded; /* codes of this step are made */
    struct codec_call call;
    struct reduce_op op; /* of this call */
};

/* Elements that a layer of n occupies in its bucket: n rounded up to a multiple of the unit. */
static inline size_t bucket_padded(const struct reduce_op *f, size_t n)
{
    return (n + f->unit - 1) / f->unit * f->unit;
}

/* Cut the layers into buckets, from the last layer to the first. Each layer joins the open bucket
 * of its class: of layers that all travel in fp32 or all do not, and whose units have the same
 * length in elements and bytes. A bucket closes when its codes reach bucket_bytes; a layer whose
 * codes reach that size gets its own. Buckets are sorted by their first layers, in descending
 * order, as backward passes complete them.
 *   codecs    [2] the codec and fp32; must outlive the buckets
 *   all_fp32  every layer travels in fp32
 *   out       [n_layers] out: the buckets; must not move, since each reduce op points into it
 *   placed    [n_layers] out: the layers in the order of buckets; each bucket has a range of it
 *   bucket_of [n_layers] out: the bucket of each layer
 * Returns the number of buckets. */
int bucket_cut(const struct reducer_layer *layers, int n_layers, const struct codec *codecs,
               bool all_fp32, size_t bucket_bytes, struct bucket *out, struct codec_layer *placed,
               int *bucket_of);

/* Return the most elements of two adjacent buckets. */
size_t bucket_most_of_two(const struct bucket *buckets, int n_buckets);

#endif
