/* codec_kind.h : defines a kind of codec as a table of operations, listed in codecs.def. */
#ifndef CODEC_KIND_H
#define CODEC_KIND_H
#include "base/text.h"
#include "codec/codec.h"

struct codec_kind {
    const char *name; /* for --codec */
    const char *help; /* one line, with the options that may follow the name */

    /* Parse the text after the colon (NULL: none) and this kind's specs into the zeroed c->own.
     * Reports -EINVAL. */
    int (*parse)(const struct codec_spec *spec, const char *rest, struct codec *c);

    /* default of --quantise: true if small layers travel in fp32 */
    bool leaves_small;

    /* As codec_asks_max(). Must be equal on all ranks, unless a rank's state is corrupt. If true,
     * scan_encode does not get the layer. NULL: always false. */
    bool (*asks_max)(const struct codec *c, const struct codec_layer *layer);

    /* As codec_asks_weights(). NULL: always false. */
    bool (*asks_weights)(const struct codec *c);

    /* REDUCE_x: properties that the kind's sums can have. Algorithms that need others are refused
     * before settle(). */
    unsigned sums;

    /* As codec_settle(), for c->n_ranks ranks. */
    int (*settle)(struct codec *c, const struct codec_adder *by);

    /* Describe c->own as codec_describe() does, also before settle(), in less than
     * CODEC_TEXT_BYTES. */
    void (*describe)(const struct codec *c, struct text *to);

    /* As codec_sum(). NULL: the kind needs its reduce op. */
    const struct vec_sum *(*sum)(const struct codec *c);

    /* As codec_card_sum(), codec_to_card() and codec_from_card(). All NULL: as sum(). */
    const struct vec_sum *(*card_sum)(const struct codec *c);
    void (*to_card)(const uint8_t *codes, size_t at, size_t n, uint8_t *card);
    void (*from_card)(const struct codec *c, const uint8_t *card, size_t at, size_t n,
                      uint8_t *sums);

    /* As codec_cast(). NULL: codes are not casts. */
    bool (*cast)(const struct codec *c, struct vec_cast *out);

    /* As codec_exponent() (finite nonzero values; the caller clamps), codec_shift() and
     * codec_guess(). All NULL if all shifts are 0, and known. */
    int (*exponent)(const struct codec *c, uint32_t absmax_bits);
    int (*shift)(const struct codec *c, int8_t exponent);
    int (*guess)(const struct codec *c);

    /* As codec_groups(). NULL: never. */
    bool (*groups)(const struct codec *c, struct vec_scale *out);

    /* As codec_rescaled() and codec_rescales(). NULL: never. */
    int (*rescaled)(const struct codec *c, int8_t exponent);
    bool (*rescales)(const struct codec *c);

    /* Number of elements that stay together; their codes are whole bytes. Layers and ranks' ranges
     * begin at multiples of the unit. Layers with different units do not share a bucket. Only
     * index, n, column and stride of the layer are known. */
    size_t (*unit)(const struct codec *c, const struct codec_layer *layer);

    /* As codec_state_bytes(), from the same fields. NULL: no state. Any bytes must be safe, since
     * checkpoints are untrusted. */
    size_t (*state_bytes)(const struct codec *c, const struct codec_layer *layer);

    /* True if the kind reads and writes the state in CPU memory. Otherwise the backend does, in the
     * gradients' memory. */
    bool state_on_host;

    /* As the functions of the same names in codec.h. scan_encode NULL: absmax, then encode. */
    void (*absmax)(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans);
    void (*encode)(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans);
    void (*scan_encode)(const struct codec *c, struct vec_span *spans,
                        const struct codec_part *parts, int n_spans);
    void (*decode)(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs);

    /* As codec_set_sums(): decoding divides by codec_divisor(). NULL: only means. */
    bool (*gives_sums)(const struct codec *c);

    /* ctx: a struct codec_call */
    const struct reduce_op_kind *op;

    /* As codec_set_unrounded(): let `op` make fp32, which decode reads. NULL: sums are exact, or
     * `values` is set: unrounded sums are those of reduce_op_values. */
    void (*unround)(struct codec *c);
    bool values;
};

/* Adds the values of decoded codes in fp32 (reduce_op_values.c). */
extern const struct reduce_op_kind reduce_op_values;

static inline void codec_absmax_x(const struct codec *c, struct vec_span *spans,
                                  const struct codec_part *parts, int n_spans)
{
    (void)parts;
    c->ops->absmax_all(c->ops, spans, n_spans);
}

/* Check that no option of minifloat is given. name: the kind's. Reports -EINVAL. */
int codec_no_format(const struct codec_spec *spec, const char *name);

/* Check that gradients are in CPU memory, for kinds without kernels for GPUs. Reports -EINVAL. */
int codec_on_cpu(const struct codec *c);

/* the first elements of [at, end) of a bucket, all of one layer */
struct codec_piece {
    const struct codec_layer *layer;
    /* first element in the layer; elements, without and with padding up to the next layer */
    size_t at, n, padded;
};
enum { CODEC_PIECES = 256 }; /* passed to a backend at once: one launch on a GPU */
struct codec_piece codec_piece_at(const struct codec_call *call, size_t at, size_t end);

/* gives_sums of kinds that need no check: true */
bool codec_always(const struct codec *c);

/* acc_bytes and wide_bytes of kinds that add only with sum(): 0 */
size_t codec_no_bytes(const struct reduce_op *f, size_t n);

#define CODEC(name) extern const struct codec_kind codec_##name;
#include "codec/codecs.def"
#undef CODEC

#endif
