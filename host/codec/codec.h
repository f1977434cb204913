/* codec.h : a gradient tensor to wire bytes and back, by one of several kinds (codec_kind.h).
 *
 * Life: codec_parse() once from the user's words -> codec_settle() for P ranks and who adds -> per
 * step: codec_exponent() of every layer, one all-reduce (max) of these int8, codec_shift() of each,
 * encode, all-reduce of codes (codec_fold()), decode. */
#ifndef CODEC_H
#define CODEC_H
#include "codec/fold.h"
#include "vec/vec.h"
#include <limits.h>
#include <stdalign.h>

/* Exponents that are no exponents; the last one is nobody's who has shifts. */
enum { CODEC_ALL_ZERO = -128, CODEC_NOT_FINITE = 127, CODEC_MAX_FOLLOWS = 126 };
enum { CODEC_NO_GUESS = INT_MIN };
enum { CODEC_OWN_BYTES = 96 };

/* Plain data, filled by codec_parse(); ready for use after codec_settle(). */
struct codec {
    const struct codec_kind *kind;
    const struct vec_ops *ops; /* the backend that casts and adds */
    enum vec_type type;        /* of gradients, and of weights beside them */
    int n_ranks;               /* 0: not settled yet */
    bool sums;                 /* codec_set_sums() */
    uint64_t seed;             /* of the random bits; 0 until the caller sets it */
    alignas(8) unsigned char own[CODEC_OWN_BYTES]; /* the kind's, which alone reads it */
};

/* The user's words, as the options have them; NULL takes the default: minifloat, e5m2 none auto
 * auto auto saturate nearest. */
struct codec_words {
    const char *format, *scale, *sum, *acc_format, *out_format, *overflow, *round;
    bool rescale;      /* partial sums of groups get an exponent of their own */
    const char *codec; /* NAME or NAME:... */
};

/* Reads the words. Returns 0 or -EINVAL (one line said what would be right); also where
 * NARROWCAST_ISA asks for what this CPU lacks. */
int codec_parse(const struct codec_words *words, struct codec *out);

/* All kinds, for lists and --help: NULL behind the last. */
const struct codec_kind *codec_kind_at(int i);

/* Who adds codes, and what it asks of their sums. */
struct codec_adder {
    const char *name; /* of the algorithm, in messages */
    unsigned needs;   /* FOLD_x, one of which a sum must have; 0: any sum will do */
    bool (*adds)(const struct vec_sum *sum); /* it adds these rules and formats alone; NULL: all */
    int node;  /* FOLD_NODES: so many ranks are a node; 0: all meet in one stage */
    int group; /* so many ranks add up among themselves before the groups' sums are; 0: no groups */
};

/* Settles the automatic choices for P ranks and who adds, and refuses what cannot work. Returns 0
 * or -EINVAL with a line. */
int codec_settle(struct codec *c, int n_ranks, const struct codec_adder *by);

/* From now on decoding makes the SUM over ranks, not the mean, with the same codes. Settled. Returns
 * 0, or -EINVAL with a line: this kind knows means alone. */
int codec_set_sums(struct codec *c);

/* By what decoding divides sums: the ranks, or 1. */
static inline float codec_divisor(const struct codec *c)
{
    return c->sums ? 1 : (float)c->n_ranks;
}

/* A codec of plain fp32 beside it (first epochs, last layer). Settled for the same ranks; adds by
 * fp32 where that will do, else by nearest: the same additions. */
struct codec codec_fp32(const struct codec *c, const struct codec_adder *by);

/* How codes add, for those who do so without a fold: MPI, NCCL, cards. NULL: this kind's codes need
 * their fold. Formats and overflow are right before settling, too. */
const struct vec_sum *codec_sum(const struct codec *c);

/* The same for cards: NULL also where codes need more of other ranks than exponents. */
const struct vec_sum *codec_card_sum(const struct codec *c);

/* Codes are casts of x * 2^shift and nothing else: *out is how, but for its key. False: they are
 * not. */
bool codec_cast(const struct codec *c, struct vec_cast *out);

/* Codes cannot be made, nor means, without codec_layer.weights. */
bool codec_asks_weights(const struct codec *c);

/* All that was chosen, in words, the same for codecs that mean the same; and a checksum of it. */
enum { CODEC_TEXT_BYTES = 160 };
const char *codec_describe(const struct codec *c, char text[CODEC_TEXT_BYTES]);
uint32_t codec_tag(const struct codec *c);

/* ---- a layer ---- */

/* A layer of a bucket. Arrays begin at its first element; those of a GPU are where its codes are. */
struct codec_layer {
    uint32_t index;        /* in the list of layers */
    size_t at, n;          /* its first element in the bucket; its own elements, padding left out */
    size_t column, stride; /* a column has so many elements, so far apart; 0: not known */
    const void *weights;   /* [n] of codec.type, where the gradients are; NULL: not known */
    /* What absmax has found in this step: on this rank, and the largest on any. For a codec that
     * asks for it (codec_asks_max()) alone. */
    float own_max, max;
    /* [codec_state_bytes()] what this rank keeps of it, as the last step that was taken left it
     * (zeroes at first), and as this one shall leave it: encoding and adding write all that they
     * read, again when codes are made again. NULL where nothing is kept. */
    const uint8_t *state;
    uint8_t *next_state;
};

/* Bytes that each rank keeps of a layer from step to step, residuals say. */
size_t codec_state_bytes(const struct codec *c, const struct codec_layer *layer);

/* Which part of a layer a span of vec.h is: it begins with element `at`. */
struct codec_part {
    const struct codec_layer *layer;
    size_t at;
};

/* The int8 that a rank sends for a layer whose largest magnitude has these fp32 bits:
 * CODEC_ALL_ZERO, CODEC_NOT_FINITE, else the kind's, clamped to +-126. */
int8_t codec_exponent(const struct codec *c, uint32_t absmax_bits);

/* f of a layer, from the exponent all ranks agreed on: values are sent as cast(g * 2^f). */
int codec_shift(const struct codec *c, int8_t exponent);

/* The shift that a layer's partial sums got beside codec_shift(), from the exponent that all ranks
 * agreed on (codec_call.rescaled); 0 unless the codec rescales. */
int codec_rescaled(const struct codec *c, int8_t exponent);

/* Its groups' sums get an exponent of their own. */
bool codec_rescales(const struct codec *c);

/* The shift of a layer's first step, if it is known before any exponent; else CODEC_NO_GUESS. */
int codec_guess(const struct codec *c);

/* Codes of this layer need codec_layer.max in this step: they cannot be made before all ranks'
 * magnitudes are known. NULL: those of some layer, in some step. */
bool codec_asks_max(const struct codec *c, const struct codec_layer *layer);

/* What the random bits of a layer's codes are keyed by. */
uint64_t codec_key(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank);

/* Many parts of layers at once, one launch on a GPU: span i is parts[i], with codec_key(), the
 * layer's shift, and codes of nothing up to `padded`.
 *   absmax        fills span.absmax
 *   encode        makes codes; scan_encode fills absmax on the way: for a shift that is known, or
 *                 guessed, before the exponent is
 *   decode        x = the MEAN over ranks: outs filled by codec_out() */
void codec_absmax_all(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                      int n_spans);
void codec_encode_all(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                      int n_spans);
void codec_scan_encode_all(const struct codec *c, struct vec_span *spans,
                           const struct codec_part *parts, int n_spans);
struct vec_out codec_out(const struct codec *c, const uint8_t *codes, size_t n, int shift, void *x);
void codec_decode_all(const struct codec *c, const struct vec_out *outs,
                      const struct codec_part *parts, int n_outs);

/* Element i of gradients or weights. */
static inline void *codec_at(const struct codec *c, const void *x, size_t i)
{
    return (char *)(uintptr_t)x + i * vec_type_bytes(c->type);
}

/* One whole layer of floats, there and back: tests and benches. */
void codec_encode(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank,
                  const float *x, size_t n, int shift, uint8_t *codes);
void codec_decode(const struct codec *c, const uint8_t *codes, size_t n, int shift, float *x);

/* ---- a bucket ---- */

/* All that a fold knows besides codes. */
struct codec_call {
    const struct codec *codec; /* settled */
    uint64_t step;
    const struct codec_layer *layers; /* [n_layers] of the bucket, by rising `at` */
    int n_layers;
    int8_t *rescaled; /* [n_layers] out: exponents of partial sums; codec_rescales() alone */
};

/* Its fold; valid while *call is. */
struct fold codec_fold(const struct codec_call *call);

/* ---- names ---- */

/* The name of a format ("e4m3", "fp32", "e6m9"), written to name and returned. */
enum { CODEC_NAME_BYTES = 16 };
const char *codec_format_name(struct mf_fmt fmt, char name[CODEC_NAME_BYTES]);

/* Reads a format's name as --format has it: one of hls/arith/formats.def or eXmY, X 1..8, Y 0..23 (not
 * e1m0: it has no number but 0). option: for the message. Returns 0 or -EINVAL with a line. */
int codec_format_parse(const char *option, const char *word, struct mf_fmt *out);

/* "exact", "fp32", "nearest", "kahan", "trunc". */
const char *codec_rule_name(enum vec_rule rule);

/* ---- what casts to a narrow format lose of a gradient ---- */

struct codec_lost {
    uint64_t underflow; /* elements not 0, and 0 once they are cast */
    uint64_t saturated; /* finite, and beyond the format's largest finite once they are rounded */
};

/* More elements: x[0..n) * 2^shift, which begin at index `at` of their layer, as cast does them. x: in the
 * CPU's memory. */
void codec_lost_add(struct codec_lost *lost, const struct vec_cast *cast, int shift, const float *x,
                    size_t n, size_t at);

#endif
