/* bucket.h : layers fused into messages (lazy all-reduce): which layer travels in which bucket. */
#ifndef BUCKET_H
#define BUCKET_H
#include "reduce/reducer.h"

/* Layers from the last to the first, though not all between them, each from a multiple of the
 * fold's unit on: call.layers. */
struct bucket {
    int last, first, n_layers;
    size_t n;  /* elements, padding included */
    bool fp32; /* travels in fp32, else by the codec */
    struct codec_call call;
    struct fold fold; /* of this call */
};

/* Elements a layer of n takes in its bucket: its own and padding up to the next multiple of unit. */
static inline size_t bucket_padded(const struct fold *f, size_t n)
{
    return (n + f->unit - 1) / f->unit * f->unit;
}

/* Cuts the layers into buckets, from the last layer to the first. Each goes to the open bucket of
 * its class: fp32 or not, and units of one length in elements and in bytes. That is closed when its
 * codes reach bucket_bytes, and before a layer that reaches them alone. Buckets are in the order in
 * which backward passes complete them: by their first layers, from the last on.
 *   codecs    [2] the codec and fp32, which outlive the buckets   all_fp32   every layer travels in fp32
 *   out       [n_layers] room for the most buckets there can be; stays where it is: a fold points into it
 *   placed    [n_layers] out: the layers bucket by bucket, of which each bucket has a run
 *   bucket_of [n_layers] out: the bucket of each layer
 * Returns how many buckets there are. */
int bucket_cut(const struct reducer_layer *layers, int n_layers, const struct codec *codecs,
               bool all_fp32, size_t bucket_bytes, struct bucket *out, struct codec_layer *placed,
               int *bucket_of);

#endif
