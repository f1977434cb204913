/* bucket.h : layers fused into messages (lazy all-reduce): which layer travels in which bucket. */
#ifndef BUCKET_H
#define BUCKET_H
#include "reduce/reducer.h"

/* Layers last, last - 1, ..., last - n_layers + 1, in this order, each from a multiple of the
 * fold's unit on. */
struct bucket {
    int last, n_layers;
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

/* Cuts the layers into buckets, from the last layer to the first. A bucket is closed when its codes
 * reach bucket_bytes, before a layer that reaches them alone, where fp32 layers and others
 * meet, and where two units, or units of two lengths in bytes, do.
 *   codecs   [2] the codec and fp32, which outlive the buckets   all_fp32   every layer travels in fp32
 *   out      [n_layers] room for the most buckets there can be; stays where it is: a fold points into it
 *   placed   [n_layers] out: the layers from the last to the first, of which each bucket has a run
 * Returns how many buckets there are. */
int bucket_cut(const struct reducer_layer *layers, int n_layers, const struct codec *codecs,
               bool all_fp32, size_t bucket_bytes, struct bucket *out, struct codec_layer *placed);

#endif
