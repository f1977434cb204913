/* codec_kind.h : defines a kind of codec as a table of operations, listed in codecs.def. */
#ifndef CODEC_KIND_H
#define CODEC_KIND_H
#include "base/text.h"
#include "codec/codec.h"

struct codec_kind {
    const char *name; /* for --codec */
    const char *help; /* one line for --help, with the options that may follow the name */

    /* Parse the text after the colon (NULL: none) and the specs that concern this kind into c->own,
     * which is zero before. Reports -EINVAL. */
    int (*parse)(const struct codec_words *words, const char *rest, struct codec *c);

    /* Default of --quantise: small layers travel in fp32. */
    bool leaves_small;

    /* As codec_asks_max(). All ranks must give the same answer, unless a rank's state is corrupt.
     * Such layers are not passed to scan_encode. NULL: never. */
    bool (*asks_max)(const struct codec *c, const struct codec_layer *layer);

    /* As codec_asks_weights(). NULL: no. */
    bool (*asks_weights)(const struct codec *c);

    /* FOLD_x: properties that the kind's sums can have. An algorithm that needs
     * another is refused before settle(). */
    unsigned sums;

    /* Resolve automatic choices for c->n_ranks ranks and refuse impossible
     * combinations. Reports -EINVAL. */
    int (*settle)(struct codec *c, const struct codec_adder *by);

    /* Describe c->own in words that are equal exactly for equivalent codecs, before settle(), too.
     * They fit CODEC_TEXT_BYTES: parse() refuses specs for which they would not. */
    void (*describe)(const struct codec *c, struct text *to);

    /* As codec_sum(). NULL: none. */
    const struct vec_sum *(*sum)(const struct codec *c);

    /* As codec_cast(). NULL: false. */
    bool (*cast)(const struct codec *c, struct vec_cast *out);

    /* As codec_exponent() (for finite nonzero values; the caller clamps), codec_shift() and
     * codec_guess(). All three NULL: the kind has no shifts; all are 0, and known. */
    int (*exponent)(const struct codec *c, uint32_t absmax_bits);
    int (*shift)(const struct codec *c, int8_t exponent);
    int (*guess)(const struct codec *c);

    /* As codec_rescaled() and codec_rescales(). NULL: no. */
    int (*rescaled)(const struct codec *c, int8_t exponent);
    bool (*rescales)(const struct codec *c);

    /* Elements that stay together. Layers, and the ranges that algorithms assign to ranks, begin on
     * multiples of the unit, whose codes are whole bytes. Layers of different units do not share a
     * bucket. Only index, n, column and stride of the layer are known. */
    size_t (*unit)(const struct codec *c, const struct codec_layer *layer);

    /* As codec_state_bytes(). Only index, n, column and stride of the layer are known. NULL: none.
     * A step must be safe with any bytes as state, since a checkpoint may come from anywhere. */
    size_t (*state_bytes)(const struct codec *c, const struct codec_layer *layer);

    /* The kind itself reads and writes the state, so it is in CPU memory wherever gradients are.
     * Otherwise it is with the gradients, for the backend. */
    bool state_on_host;

    /* Over many spans, like their namesakes in codec.h. codec_absmax_x below takes plain x. */
    void (*absmax)(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans);
    void (*encode)(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans);
    void (*scan_encode)(const struct codec *c, struct vec_span *spans,
                        const struct codec_part *parts, int n_spans);
    void (*decode)(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs);

    /* As codec_set_sums(): decoding divides by codec_divisor(). NULL: never. */
    bool (*gives_sums)(const struct codec *c);

    /* The reduce op; its ctx is a struct codec_call. */
    const struct fold_ops *fold;
};

static inline void codec_absmax_x(const struct codec *c, struct vec_span *spans,
                                  const struct codec_part *parts, int n_spans)
{
    (void)parts;
    c->ops->absmax_all(c->ops, spans, n_spans);
}

/* Check that no option of minifloat is given. name: of the kind. Reports -EINVAL. */
int codec_no_format(const struct codec_words *words, const char *name);

/* The leading part of a bucket's elements at..end that belongs to one layer. */
struct codec_piece {
    const struct codec_layer *layer;
    /* first element in the layer; elements; elements with padding up to the next layer */
    size_t at, n, padded;
};
enum { CODEC_PIECES = 256 }; /* passed to a backend at once: one launch on a GPU */
struct codec_piece codec_piece_at(const struct codec_call *call, size_t at, size_t end);

/* acc_bytes and wide_bytes of kinds that add only by sum(). */
size_t codec_no_bytes(const struct fold *f, size_t n);

#define CODEC(name) extern const struct codec_kind codec_##name;
#include "codec/codecs.def"
#undef CODEC

#endif
