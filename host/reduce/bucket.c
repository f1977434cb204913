/* bucket.c : cuts layers into buckets. */
#include "reduce/bucket.h"
#include <stdlib.h>

static struct codec_layer describe(const struct reducer_layer *layers, int i)
{
    return (struct codec_layer){.index = (uint32_t)i,
                                .n = layers[i].n,
                                .column = layers[i].column,
                                .stride = layers[i].stride};
}

static size_t code_bytes(const struct reduce_op *f, size_t n)
{
    return f->ops->in_bytes(f, n);
}

static bool same_class(const struct bucket *a, const struct bucket *b)
{
    return a->fp32 == b->fp32 && a->op.unit == b->op.unit &&
           code_bytes(&a->op, a->op.unit) == code_bytes(&b->op, b->op.unit);
}

static struct bucket *open_bucket(struct bucket *out, int n_buckets, const struct bucket *alone,
                                  size_t bucket_bytes)
{
    for (struct bucket *b = out + n_buckets; b-- > out;)
        if (same_class(b, alone))
            return code_bytes(&b->op, b->n) < bucket_bytes ? b : NULL;
    return NULL;
}

/* For qsort(): buckets with a larger first layer are complete earlier. */
static int by_completion(const void *a, const void *b)
{
    const struct bucket *x = a, *y = b;
    return y->first - x->first;
}

/* Places the layers of a bucket from its last one down. began: [n_layers] `last` of each layer's
 * bucket. */
static void place(const struct reducer_layer *layers, const int *began, struct bucket *out,
                  int n_buckets, struct codec_layer *placed)
{
    for (struct bucket *b = out; b < out + n_buckets; b++) {
        b->call.layers = placed;
        b->call.n_layers = b->n_layers;
        b->op.ctx = &b->call;
        size_t at = 0;
        for (int i = b->last; i >= b->first; i--) {
            if (began[i] != b->last)
                continue;
            *placed = describe(layers, i);
            placed++->at = at;
            at += bucket_padded(&b->op, layers[i].n);
        }
    }
}

int bucket_cut(const struct reducer_layer *layers, int n_layers, const struct codec *codecs,
               bool all_fp32, size_t bucket_bytes, struct bucket *out, struct codec_layer *placed,
               int *bucket_of)
{
    int n_buckets = 0;
    for (int i = n_layers - 1; i >= 0; i--) {
        struct bucket alone = {.last = i, .fp32 = all_fp32 || layers[i].fp32};
        /* for the reduce op; place() stores the final order */
        placed[i] = describe(layers, i);
        alone.call =
            (struct codec_call){.codec = &codecs[alone.fp32], .layers = &placed[i], .n_layers = 1};
        alone.op = codec_reduce_op(&alone.call);
        const size_t n = bucket_padded(&alone.op, layers[i].n);
        struct bucket *b = code_bytes(&alone.op, n) < bucket_bytes
                               ? open_bucket(out, n_buckets, &alone, bucket_bytes)
                               : NULL;
        if (!b) {
            b = &out[n_buckets++];
            *b = alone;
            b->op.ctx = &b->call;
        }
        b->first = i;
        b->n_layers++;
        b->n += n;
        bucket_of[i] = b->last;
    }
    qsort(out, (size_t)n_buckets, sizeof *out, by_completion);
    place(layers, bucket_of, out, n_buckets, placed);
    for (int k = 0; k < n_buckets; k++)
        for (int l = 0; l < out[k].n_layers; l++)
            bucket_of[out[k].call.layers[l].index] = k;
    return n_buckets;
}

static size_t elements(const struct bucket *b)
{
    size_t n = 0;
    for (int l = 0; l < b->n_layers; l++)
        n += b->call.layers[l].n;
    return n;
}

size_t bucket_most_of_two(const struct bucket *buckets, int n_buckets)
{
    size_t most = 0;
    for (int i = 0; i < n_buckets; i++) {
        const size_t n = elements(&buckets[i]) + (i > 0 ? elements(&buckets[i - 1]) : 0);
        most = n > most ? n : most;
    }
    return most;
}
