/* codec.h : turns a gradient tensor into packed codes and back, with one of several kinds.
 *
 * Call codec_parse() once, and codec_settle() for P ranks and an algorithm. Then in each step:
 * codec_exponent() of every layer, one all-reduce (max) of these int8, codec_shift() of each layer,
 * encode, all-reduce of the codes (codec_reduce_op()), decode. */
#ifndef CODEC_H
#define CODEC_H
#include "codec/reduce_op.h"
#include "vec/vec.h"
#include <limits.h>
#include <stdalign.h>

/* Reserved exponents. A layer that needs codec_layer.max sends CODEC_MAX_FOLLOWS, and the maximum
 * follows in an fp32 message. For kinds that never need it, 126 is an ordinary exponent. */
enum { CODEC_ALL_ZERO = VEC_ALL_ZERO, CODEC_NOT_FINITE = VEC_NOT_FINITE, CODEC_MAX_FOLLOWS = 126 };
enum { CODEC_NO_GUESS = INT_MIN };
enum { CODEC_OWN_BYTES = 96 };

/* Plain data, filled by codec_parse() and usable after codec_settle(). */
struct codec {
    const struct codec_kind *kind;
    const struct vec_ops *ops;                     /* backend that casts and adds */
    enum vec_type type;                            /* of gradients and their weights */
    int n_ranks;                                   /* 0 before codec_settle() */
    bool sums;                                     /* set by codec_set_sums() */
    bool unrounded;                                /* set by codec_set_unrounded() */
    uint64_t seed;                                 /* for random bits; 0 until the caller sets it */
    alignas(8) unsigned char own[CODEC_OWN_BYTES]; /* private to the kind */
};

/* Option specs. NULL: the default, in this order e5m2, none, auto, auto, auto, saturate, nearest
 * and minifloat. */
struct codec_spec {
    const char *format, *scale, *sum, *acc_format, *out_format, *overflow, *round;
    bool rescale;      /* partial sums of groups get their own exponent */
    const char *codec; /* NAME or NAME:... */
};

/* Reports -EINVAL with a correction, also if this CPU lacks the instructions of NARROWCAST_ISA. */
int codec_parse(const struct codec_spec *spec, struct codec *out);

/* Return kind i, or NULL after the last. */
const struct codec_kind *codec_kind_at(int i);

/* An algorithm that adds codes */
struct codec_adder {
    const char *name; /* for messages */
    unsigned needs;   /* REDUCE_x flags, of which sums must have one; 0: none needed */
    /* Returns true for sums that the algorithm can add. NULL: it can add all. */
    bool (*adds)(const struct vec_sum *sum);
    const char *takes; /* formats that adds() can accept, for messages */
    /* ranks per node, for REDUCE_NODES; 0: all ranks' codes meet in one stage */
    int node;
    /* ranks that add among themselves before the sums of groups are added; 0: no groups */
    int group;
};

/* Resolve automatic choices for P ranks and the algorithm. Reports -EINVAL for impossible
 * combinations. */
int codec_settle(struct codec *c, int n_ranks, const struct codec_adder *by);

/* Make decoding return the sum over ranks, not the mean. Call it after codec_settle(). Reports
 * -EINVAL if the kind supports only means. */
int codec_set_sums(struct codec *c);

/* Make sums fp32 without rounding them to the result's format, for sums that stay on the rank that
 * makes them. qsgd and onebit then add the values of codes in fp32, in rank order, and onebit keeps
 * no residuals of sums. Call it after codec_settle(). */
void codec_set_unrounded(struct codec *c);

/* Return the divisor of sums in decoding: n_ranks, or 1 after codec_set_sums(). */
static inline float codec_divisor(const struct codec *c)
{
    return c->sums ? 1 : (float)c->n_ranks;
}

/* Return a codec of plain fp32 to use beside c (first epochs, last layer), settled for c's ranks.
 * Its sum rule is fp32 if `by` supports it, else nearest, which adds the same. */
struct codec codec_fp32(const struct codec *c, const struct codec_adder *by);

/* Return the rule of sums for MPI, NCCL and cards, which do not use the reduce op. NULL if the kind
 * needs its reduce op. Formats and overflow are also valid before codec_settle(). */
const struct vec_sum *codec_sum(const struct codec *c);

/* As codec_sum(), for cards in the network. */
const struct vec_sum *codec_card_sum(const struct codec *c);

/* Convert codes or sums of elements [at, at + n) to and from cards' formats. at: a multiple of 8.
 * to_card may write a byte more. Return false, without a change, if formats are equal. */
bool codec_to_card(const struct codec *c, const uint8_t *codes, size_t at, size_t n, uint8_t *card);
bool codec_from_card(const struct codec *c, const uint8_t *card, size_t at, size_t n,
                     uint8_t *sums);

/* Return true if codes are plain casts of x * 2^shift, with *out set to the cast, without key. */
bool codec_cast(const struct codec *c, struct vec_cast *out);

/* Return true if encoding and decoding need codec_layer.weights. */
bool codec_asks_weights(const struct codec *c);

/* Describe all choices. Texts are equal exactly if the codecs are equivalent. codec_tag(): checksum
 * of the text. */
enum { CODEC_TEXT_BYTES = 160 };
const char *codec_describe(const struct codec *c, char text[CODEC_TEXT_BYTES]);
uint32_t codec_tag(const struct codec *c);

/* ---- a layer ---- */

/* A layer of a bucket. Arrays begin at its first element. On a GPU they are where the codes are. */
struct codec_layer {
    uint32_t index;        /* in the list of layers */
    size_t at, n;          /* first element in the bucket; elements without padding */
    size_t column, stride; /* elements per column, their distance; 0 if unknown */
    /* [n] of codec.type, in the gradients' memory, or NULL if unknown */
    const void *weights;
    /* Results of codec_absmax_all() in this step, on this rank, and the maximum over ranks: the
     * layer's largest magnitude, or the kind's substitute (the magnitude after clipping; a
     * quantile). Only if codec_asks_max(). */
    float own_max, max;
    /* [codec_state_bytes()] this rank's state of the layer: from the last step that was not skipped
     * (zeros at first), and for the next step. Encoding and adding write all of next_state each
     * time codes are made. NULL if the kind keeps no state. */
    const uint8_t *state;
    uint8_t *next_state;
};

/* Return the bytes that each rank keeps of a layer between steps. */
size_t codec_state_bytes(const struct codec *c, const struct codec_layer *layer);

/* The part of a layer in a span of vec.h, from the layer's element `at` on. */
struct codec_part {
    const struct codec_layer *layer;
    size_t at;
};

/* Return the exponent that a rank sends for a layer with this largest magnitude (fp32 bits):
 * CODEC_ALL_ZERO, CODEC_NOT_FINITE, or the kind's exponent clamped to +-126. */
int8_t codec_exponent(const struct codec *c, uint32_t absmax_bits);

/* Return true if each group of elements has its own exponent, with *out set to their rule. Spans
 * and outs then have the shift codec_shift(c, 0) and their groups' exponents. */
bool codec_groups(const struct codec *c, struct vec_scale *out);
bool codec_has_groups(const struct codec *c);

/* Return the number of exponents of a layer of n elements: 1 without groups. */
size_t codec_n_exponents(const struct codec *c, size_t n);

/* Return a layer's shift f from the exponent that all ranks agreed on: codes are cast(g * 2^f). */
int codec_shift(const struct codec *c, int8_t exponent);

/* Return the additional shift of a layer's partial sums with this agreed exponent
 * (codec_call.rescaled); 0 unless the codec rescales. */
int codec_rescaled(const struct codec *c, int8_t exponent);

/* Return true if the sums of groups get their own exponent. */
bool codec_rescales(const struct codec *c);

/* Return the shift of a layer's first step if known before the exponents, else CODEC_NO_GUESS. */
int codec_guess(const struct codec *c);

/* Return true if encoding this layer in this step needs codec_layer.max, the maximum over ranks.
 * layer NULL: if some layer needs it in some step. */
bool codec_asks_max(const struct codec *c, const struct codec_layer *layer);

/* Return the key of the random bits of a layer's codes. */
uint64_t codec_key(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank);

/* Process many parts of layers, in one launch on a GPU. Span i belongs to parts[i] and has
 * codec_key(), the layer's shift, and zero codes up to `padded`. scan_encode also fills absmax.
 * decode makes the mean over ranks, of outs filled by codec_out(). */
void codec_absmax_all(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                      int n_spans);
/* Fill the exponents of spans with groups. Only if codec_groups(). */
void codec_exponents_all(const struct codec *c, struct vec_span *spans, int n_spans);
void codec_encode_all(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                      int n_spans);
void codec_scan_encode_all(const struct codec *c, struct vec_span *spans,
                           const struct codec_part *parts, int n_spans);
struct vec_out codec_out(const struct codec *c, const uint8_t *codes, size_t n, int shift, void *x);
void codec_decode_all(const struct codec *c, const struct vec_out *outs,
                      const struct codec_part *parts, int n_outs);

/* Return the address of element i of gradients or weights. */
static inline void *codec_at(const struct codec *c, const void *x, size_t i)
{
    return (char *)(uintptr_t)x + i * vec_type_bytes(c->type);
}

/* Encode or decode one layer of floats. */
void codec_encode(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank,
                  const float *x, size_t n, int shift, uint8_t *codes);
void codec_decode(const struct codec *c, const uint8_t *codes, size_t n, int shift, float *x);

/* ---- a bucket ---- */

/* data that the reduce op needs except codes */
struct codec_call {
    const struct codec *codec; /* settled */
    uint64_t step;
    const struct codec_layer *layers; /* [n_layers] of the bucket, by ascending `at` */
    int n_layers;
    /* [n_layers] out, only if codec_rescales(): exponents of partial sums */
    int8_t *rescaled;
    /* [n] of codec.ops->alloc(), scratch of a sum of n elements, only if codec_adds_values() */
    float *values;
};

/* Return true if sums need codec_call.values: codes of qsgd or onebit, unrounded. */
bool codec_adds_values(const struct codec *c);

/* Return the reduce op of a bucket, valid as long as *call. */
struct reduce_op codec_reduce_op(const struct codec_call *call);

/* Write the name of a format ("e4m3", "fp32", "e6m9") and return it. */
enum { CODEC_NAME_BYTES = 16 };
const char *codec_format_name(struct mf_fmt fmt, char name[CODEC_NAME_BYTES]);

/* As codec_format_name(), of a sum's result: with ":G" for exponents of groups. */
const char *codec_result_name(const struct vec_sum *sum, char name[CODEC_NAME_BYTES]);

/* Parse a format's name: one of hls/arith/formats.def, eXmY, eXmYfn, eXmYf or another program's.
 * Refuses formats whose only number is 0. option: its name, for the message. Reports -EINVAL. */
int codec_format_parse(const char *option, const char *word, struct mf_fmt *out);

/* As codec_format_parse(), but refuse formats without nan: a training looks for nan. */
int codec_format_parse_nan(const char *option, const char *word, struct mf_fmt *out);

/* Return "exact", "fp32", "nearest", "kahan" or "trunc". */
const char *codec_rule_name(enum vec_rule rule);

/* ---- losses of a cast ---- */

struct codec_lost {
    uint64_t underflow; /* nonzero elements cast to 0 */
    uint64_t saturated; /* finite elements that round beyond the largest finite number */
};

/* Count the losses of x[n] * 2^shift, elements from `at` of their layer on, as `cast` would round
 * them. x: CPU memory. */
void codec_lost_add(struct codec_lost *lost, const struct vec_cast *cast, int shift, const float *x,
                    size_t n, size_t at);

/* As codec_lost_add(), with the shifts of agreed exponents: those of x, [1] or one per group. */
void codec_lost_by(struct codec_lost *lost, const struct codec *c, const struct vec_cast *cast,
                   const int8_t *exponents, const float *x, size_t n, size_t at);

#endif
