/* codec_whole.h : casts one whole layer outside a job: number 0, of rank 0, in step 0. */
#ifndef CODEC_WHOLE_H
#define CODEC_WHOLE_H
#include "codec/codec.h"

/* Filled by codec_whole(). Not to be copied: it points into itself. */
struct codec_whole {
    struct codec_layer layer; /* the caller sets weights and states, and max before decoding */
    struct codec_call call;
    struct reduce_op op;
    size_t padded; /* elements with padding; codes are reduce_op_in_at(&op, padded) bytes */
};

/* codec: settled for one rank, and seeded. n: elements, > 0. */
void codec_whole(const struct codec *codec, size_t n, struct codec_whole *w);

/* Encode x [n], and set layer.max. name: of x, for messages. Reports -EINVAL for inf or nan. */
int codec_whole_encode(struct codec_whole *w, const float *x, const char *name, uint8_t *codes);

/* Decode to x [n]. Reports -ENOMEM. */
int codec_whole_decode(struct codec_whole *w, const uint8_t *codes, float *x);

#endif
