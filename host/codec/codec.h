/* codec.h : turns a gradient tensor into wire bytes and back, by one of
 * several kinds (codec_kind.h).
 *
 * Life cycle: codec_parse() once, from the options; codec_settle() for P ranks and an algorithm.
 * Then in each step: codec_exponent() of every layer, one all-reduce (max) of these int8,
 * codec_shift() of each, encode, all-reduce of the codes (codec_fold()), decode. */
#ifndef CODEC_H
#define CODEC_H
#include "codec/fold.h"
#include "vec/vec.h"
#include <limits.h>
#include <stdalign.h>

/* Reserved exponents. A layer that needs codec_layer.max sends CODEC_MAX_FOLLOWS, and the maximum
 * follows as fp32. For kinds that never ask for it 126 is an ordinary exponent. */
enum { CODEC_ALL_ZERO = -128, CODEC_NOT_FINITE = 127, CODEC_MAX_FOLLOWS = 126 };
enum { CODEC_NO_GUESS = INT_MIN };
enum { CODEC_OWN_BYTES = 96 };

/* A codec: plain data, filled by codec_parse(), usable after codec_settle(). */
struct codec {
    const struct codec_kind *kind;
    const struct vec_ops *ops;                     /* backend that casts and adds */
    enum vec_type type;                            /* of gradients and their weights */
    int n_ranks;                                   /* 0: not settled yet */
    bool sums;                                     /* set by codec_set_sums() */
    uint64_t seed;                                 /* for random bits; 0 until the caller sets it */
    alignas(8) unsigned char own[CODEC_OWN_BYTES]; /* private to the kind */
};

/* Option specs. NULL selects the default: minifloat, e5m2 none auto auto auto saturate nearest. */
struct codec_words {
    const char *format, *scale, *sum, *acc_format, *out_format, *overflow, *round;
    bool rescale;      /* partial sums of groups get their own exponent */
    const char *codec; /* NAME or NAME:... */
};

/* Parse the specs. Reports -EINVAL with a correction. Also -EINVAL if NARROWCAST_ISA asks for
 * instructions that this CPU lacks. */
int codec_parse(const struct codec_words *words, struct codec *out);

/* Return kind i, for lists and --help; NULL after the last. */
const struct codec_kind *codec_kind_at(int i);

/* The algorithm that adds codes, and its requirements. */
struct codec_adder {
    const char *name; /* for messages */
    unsigned needs;   /* FOLD_x, one of which sums must have; 0: any sum will do */
    bool (*adds)(const struct vec_sum *sum); /* true for sums it can add; NULL: adds all */
    int node; /* FOLD_NODES: ranks per node; 0: all ranks meet in one stage */
    /* ranks that add among themselves before the sums of groups are added; 0: no groups */
    int group;
};

/* Resolve automatic choices for P ranks and the adder, and refuse impossible
 * combinations. Reports -EINVAL. */
int codec_settle(struct codec *c, int n_ranks, const struct codec_adder *by);

/* Make decoding return the sum over ranks instead of the mean, with the same codes. Call after
 * settling. Reports -EINVAL if the kind supports only means. */
int codec_set_sums(struct codec *c);

/* Return the divisor of sums in decoding: the number of ranks, or 1. */
static inline float codec_divisor(const struct codec *c)
{
    return c->sums ? 1 : (float)c->n_ranks;
}

/* Return a codec of plain fp32 for use beside c (first epochs, last layer), settled for the same
 * ranks. Its rule is fp32 where `by` allows it, else nearest, which adds the same. */
struct codec codec_fp32(const struct codec *c, const struct codec_adder *by);

/* Return how codes add, for MPI, NCCL and cards, which add without the reduce op. NULL if this
 * kind needs it. Formats and overflow are valid before settling, too. */
const struct vec_sum *codec_sum(const struct codec *c);

/* The same for cards. NULL also if codes need more than exponents from other ranks. */
const struct vec_sum *codec_card_sum(const struct codec *c);

/* Return true if codes are plain casts of x * 2^shift. *out is then the cast, without its key. */
bool codec_cast(const struct codec *c, struct vec_cast *out);

/* Return true if encoding and decoding need codec_layer.weights. */
bool codec_asks_weights(const struct codec *c);

/* Describe all choices in words that are equal exactly for equivalent codecs.
 * codec_tag() is a checksum of them. */
enum { CODEC_TEXT_BYTES = 160 };
const char *codec_describe(const struct codec *c, char text[CODEC_TEXT_BYTES]);
uint32_t codec_tag(const struct codec *c);

/* ---- a layer ---- */

/* A layer of a bucket. Its arrays begin at its first element; on a GPU
 * they are where the codes are. */
struct codec_layer {
    uint32_t index;        /* in the list of layers */
    size_t at, n;          /* first element in the bucket; elements without padding */
    size_t column, stride; /* elements per column, their distance; 0: unknown */
    const void *weights;   /* [n] of codec.type, in the gradients' memory; NULL: unknown */
    /* The result of codec_absmax_all() in this step, on this rank, and the largest of all ranks:
     * the layer's largest magnitude, or what the kind takes instead (after clipping; a quantile).
     * Only for a codec that asks for it (codec_asks_max()). */
    float own_max, max;
    /* [codec_state_bytes()] this rank's state of the layer: as the last taken step left it (zeros
     * at first), and as this step will leave it. Encoding and adding write all of the state that
     * they read, and again if codes are made again. NULL if there is none. */
    const uint8_t *state;
    uint8_t *next_state;
};

/* Return the bytes that each rank keeps of a layer between steps, such as residuals. */
size_t codec_state_bytes(const struct codec *c, const struct codec_layer *layer);

/* The part of a layer in a span of vec.h: it begins with element `at`. */
struct codec_part {
    const struct codec_layer *layer;
    size_t at;
};

/* Return the int8 that a rank sends for a layer with this largest magnitude (fp32 bits):
 * CODEC_ALL_ZERO, CODEC_NOT_FINITE, or the kind's exponent clamped to +-126. */
int8_t codec_exponent(const struct codec *c, uint32_t absmax_bits);

/* Return the shift f of a layer from the exponent that all ranks agreed
 * on: codes are cast(g * 2^f). */
int codec_shift(const struct codec *c, int8_t exponent);

/* Return the additional shift of a layer's partial sums, from their agreed exponent
 * (codec_call.rescaled); 0 unless the codec rescales. */
int codec_rescaled(const struct codec *c, int8_t exponent);

/* Return true if the sums of groups get their own exponent. */
bool codec_rescales(const struct codec *c);

/* Return the shift of a layer's first step if it is known before any
 * exponent, else CODEC_NO_GUESS. */
int codec_guess(const struct codec *c);

/* Return true if encoding this layer needs codec_layer.max in this step, so that it must wait for
 * all ranks' magnitudes. layer NULL: some layer, in some step. */
bool codec_asks_max(const struct codec *c, const struct codec_layer *layer);

/* Return the key of the random bits of a layer's codes. */
uint64_t codec_key(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank);

/* Process many parts of layers at once, in one launch on a GPU. Span i belongs to parts[i] and has
 * codec_key(), the layer's shift, and zero codes up to `padded`.
 *
 *   absmax        fills span.absmax
 *   encode        makes codes
 *   scan_encode   makes codes and fills absmax, for a shift known or guessed before the exponent
 *   decode        x = the mean over ranks; outs filled by codec_out() */
void codec_absmax_all(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                      int n_spans);
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

/* Encode or decode one whole layer of floats, for tests and benches. */
void codec_encode(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank,
                  const float *x, size_t n, int shift, uint8_t *codes);
void codec_decode(const struct codec *c, const uint8_t *codes, size_t n, int shift, float *x);

/* ---- a bucket ---- */

/* Everything that the reduce op knows besides codes. */
struct codec_call {
    const struct codec *codec; /* settled */
    uint64_t step;
    const struct codec_layer *layers; /* [n_layers] of the bucket, by ascending `at` */
    int n_layers;
    /* [n_layers] out: exponents of partial sums; only if codec_rescales() */
    int8_t *rescaled;
};

/* Return the reduce op of a bucket; valid as long as *call. */
struct fold codec_fold(const struct codec_call *call);

/* ---- names ---- */

/* Write the name of a format ("e4m3", "fp32", "e6m9") to name and return it. */
enum { CODEC_NAME_BYTES = 16 };
const char *codec_format_name(struct mf_fmt fmt, char name[CODEC_NAME_BYTES]);

/* Parse a format's name as in --format: from hls/arith/formats.def or eXmY, X 1..8, Y 0..23. e1m0
 * is refused, as its only number is 0. option: for the message. Reports -EINVAL. */
int codec_format_parse(const char *option, const char *word, struct mf_fmt *out);

/* "exact", "fp32", "nearest", "kahan", "trunc". */
const char *codec_rule_name(enum vec_rule rule);

/* ---- losses of a cast to a narrow format ---- */

struct codec_lost {
    uint64_t underflow; /* nonzero elements cast to 0 */
    uint64_t saturated; /* finite elements that round beyond the largest finite number */
};

/* Count x[0..n) * 2^shift, elements from index `at` of their layer, as cast
 * would round them. x: CPU memory. */
void codec_lost_add(struct codec_lost *lost, const struct vec_cast *cast, int shift, const float *x,
                    size_t n, size_t at);

#endif
