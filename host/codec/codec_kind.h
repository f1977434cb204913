/* codec_kind.h : what a kind of codec is: a table of operations, listed in codecs.def. */
#ifndef CODEC_KIND_H
#define CODEC_KIND_H
#include "base/text.h"
#include "codec/codec.h"

struct codec_kind {
    const char *name; /* of --codec */
    const char *help; /* one line for --help, what may follow the name included */

    /* Reads what follows the colon (NULL: nothing does) and the words that concern the kind into
     * c->own, which is zero before. Returns 0 or -EINVAL with a line. */
    int (*parse)(const struct codec_words *words, const char *rest, struct codec *c);

    /* Unless told otherwise, small layers travel in fp32: --quantise. */
    bool leaves_small;

    /* As codec_asks_max(), by which it is answered alike on all ranks whose state is sound; NULL:
     * never. Layers that ask are not handed to scan_encode. */
    bool (*asks_max)(const struct codec *c, const struct codec_layer *layer);

    /* As codec_asks_weights(); NULL: no. */
    bool (*asks_weights)(const struct codec *c);

    /* FOLD_x: the properties that the kind's sums can have; an algorithm that needs another is
     * refused before settle(). */
    unsigned sums;

    /* c->n_ranks is filled: makes the automatic choices and refuses what cannot work, with a line.
     * Returns 0 or -EINVAL. */
    int (*settle)(struct codec *c, const struct codec_adder *by);

    /* All that c->own says, in words that are the same for what means the same; before settle(),
     * too. They fit CODEC_TEXT_BYTES: parse() refuses what would not. */
    void (*describe)(const struct codec *c, struct text *to);

    /* As codec_sum(). NULL: there is none. */
    const struct vec_sum *(*sum)(const struct codec *c);

    /* As codec_cast(). NULL: they are not. */
    bool (*cast)(const struct codec *c, struct vec_cast *out);

    /* As codec_exponent() (of what is finite and not 0; clamped by the caller), codec_shift() and
     * codec_guess(). All three NULL: the kind has no shifts; all are 0, and known. */
    int (*exponent)(const struct codec *c, uint32_t absmax_bits);
    int (*shift)(const struct codec *c, int8_t exponent);
    int (*guess)(const struct codec *c);

    /* As codec_rescaled() and codec_rescales(); NULL: no. */
    int (*rescaled)(const struct codec *c, int8_t exponent);
    bool (*rescales)(const struct codec *c);

    /* Elements that go together: layers, and ranges that algorithms hand to ranks, begin on
     * multiples of it, and its codes are whole bytes. Layers of different units do not share a
     * bucket. Of the layer only index, n, column and stride are known. */
    size_t (*unit)(const struct codec *c, const struct codec_layer *layer);

    /* As codec_state_bytes(); of the layer only index, n, column and stride are known. NULL: the
     * kind keeps nothing. A step must be safe with any bytes for a state: they may come from a
     * checkpoint that anybody made. */
    size_t (*state_bytes)(const struct codec *c, const struct codec_layer *layer);

    /* The kind itself reads and writes the state: it lies in the CPU's memory, wherever gradients
     * are. Else where they are, for the backend. */
    bool state_on_host;

    /* Over many spans, as their namesakes in codec.h. codec_absmax_x: of x as it is. */
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

    /* fold->ctx is a struct codec_call. */
    const struct fold_ops *fold;
};

static inline void codec_absmax_x(const struct codec *c, struct vec_span *spans,
                                  const struct codec_part *parts, int n_spans)
{
    (void)parts;
    c->ops->absmax_all(c->ops, spans, n_spans);
}

/* The words that are minifloat's alone stand nowhere: 0, or -EINVAL with a line. name: of the kind. */
int codec_no_format(const struct codec_words *words, const char *name);

/* The part of a bucket's elements at..end, from the first one on, that is of one layer. */
struct codec_piece {
    const struct codec_layer *layer;
    size_t at, n,
        padded; /* its first element in the layer; elements; with padding up to the next layer */
};
enum { CODEC_PIECES = 256 }; /* handed to a backend at once: a launch on a GPU */
struct codec_piece codec_piece_at(const struct codec_call *call, size_t at, size_t end);

/* acc_bytes and wide_bytes of a fold whose sums are made where all parts are, by sum() alone. */
size_t codec_no_bytes(const struct fold *f, size_t n);

#define CODEC(name) extern const struct codec_kind codec_##name;
#include "codec/codecs.def"
#undef CODEC

#endif
