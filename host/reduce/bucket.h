/* bucket.h : layers fused into messages (lazy all-reduce): which layer travels in which bucket. */
#ifndef BUCKET_H
#define BUCKET_H
#include "reduce/reducer.h"

/* Layers last, last - 1, ..., last - n_layers + 1, in this order, each from a multiple of the
 * fold's unit on. */
struct bucket {
    int last, n_layers;
    size_t n;  /* elements, padding included */
    bool fp32; /* travels in fp32, else in the codec's format */
};

/* Elements a layer of n takes in its bucket: its own and zero codes up to the next multiple of
 * unit. */
static inline size_t bucket_padded(const struct fold *f, size_t n)
{
    return (n + f->unit - 1) / f->unit * f->unit;
}

/* Cuts the layers into buckets, from the last layer to the first. A bucket is closed when its codes
 * reach bucket_bytes, before a layer that reaches them alone, and where fp32 layers and others
 * meet.
 *   folds   [2] of the codec and of fp32          all_fp32   every layer travels in fp32
 *   out     [n_layers] room for the most buckets there can be      Returns how many there are. */
int bucket_cut(const struct reducer_layer *layers, int n_layers, const struct fold *folds,
               bool all_fp32, size_t bucket_bytes, struct bucket *out);

#endif
