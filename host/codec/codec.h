/* codec.h : a gradient tensor to wire bytes and back: a minifloat format, a scale and a rule of
 * adding.
 *
 * Life: codec_parse() once from the user's words -> codec_settle() for P ranks and an algorithm ->
 * per step: codec_exponent() of every layer, one all-reduce (max) of these int8, codec_shift() of
 * each, encode, all-reduce of codes, decode. Source: APS paper, Algorithm 1; the rules are in the
 * comments of each function. */
#ifndef CODEC_H
#define CODEC_H
#include "codec/fold.h"
#include "vec/vec.h"

enum codec_scale { CODEC_NONE, CODEC_CONST, CODEC_APS, CODEC_APS_TIGHT };
enum { CODEC_ALL_ZERO = -128, CODEC_NOT_FINITE = 127 }; /* exponents that are no exponents */

/* Plain data, filled by codec_parse(); ready for use after codec_settle(). */
struct codec {
    const struct vec_ops *ops;
    struct mf_fmt fmt, out;
    bool out_auto, sum_auto;
    enum codec_scale scale;
    int const_shift; /* const:K, log2 K */
    enum mf_round round;
    enum mf_overflow overflow;
    enum vec_rule rule;
    int n_ranks;
    struct vec_sum sum; /* what fold() adds by */
    uint64_t seed;      /* of the random bits; 0 until the caller sets it */
};

/* The user's words, as the options have them; NULL takes the default: e5m2 none auto auto saturate
 * nearest. */
struct codec_words {
    const char *format, *scale, *sum, *out_format, *overflow, *round;
};

/* Reads the words. Formats are the names of hls/formats.def or eXmY, X 1..8, Y 0..23 (not e1m0: it
 * has no number but 0); K of const:K is a power of two from 2^-149 to 2^127. Returns 0 or -EINVAL
 * (one line said what would be right); also where NARROWCAST_ISA asks for what this CPU lacks. */
int codec_parse(const struct codec_words *words, struct codec *out);

/* Settles the automatic choices for P ranks and an algorithm that can add by the rules of the mask
 * (bit 1 << VEC_x), and refuses what cannot work:
 *   no rule that format and algorithm allow        exact with e > 5, m > 10 or a word of more than 62 bits
 *   aps where 2^bias/P rounds to zero              aps-tight without exact sums
 *   trunc on another format than e5m2, with overflow inf or another rounding: it is one fixed rule
 * An out format of less range than the sums is no error: the overflow policy answers for it.
 *   algo_name   for the message only       Returns 0 or -EINVAL. */
int codec_settle(struct codec *c, int n_ranks, unsigned rules_allowed, const char *algo_name);

/* The same codec with every word but overflow replaced by plain fp32 (first epochs, last layer).
 * Settled for the same ranks; adds by fp32 where the algorithm can, else by nearest: the same
 * additions. */
struct codec codec_fp32(const struct codec *c, unsigned rules_allowed);

/* The int8 that a rank sends for a layer whose largest magnitude has these fp32 bits:
 * CODEC_ALL_ZERO, CODEC_NOT_FINITE, else clamped to +-126: E = ceil(log2(P * max)) (none, const,
 * aps) or t (aps-tight). The clamp at 126 means that layers with P * max > 2^126 meet the overflow
 * policy; the clamp at -126 only leaves head-room. */
int8_t codec_exponent(const struct codec *c, uint32_t absmax_bits);

/* f of a layer, from the exponent all ranks agreed on: values are sent as cast(g * 2^f). bias - E
 * for aps, top exponent - t for aps-tight (the top exponent is the bias, e4m3fn: 8), log2 K for
 * const, else 0; 0 too for a layer that is all zero or not finite under aps and aps-tight. */
int codec_shift(const struct codec *c, int8_t exponent);

/* codes = cast(x * 2^shift); random bits, where used, are keyed by (seed, step, layer, rank,
 * element). n elements; codes take vec_bytes(c->fmt, n). */
void codec_encode(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank,
                  const float *x, size_t n, int shift, uint8_t *codes);

/* Many layers at once, one launch on a GPU: spans that codec_span() has filled.
 *   key        codec_key() of the layer, for this step and rank
 *   x, codes   the layer's first
 *   at   a multiple of 8: elements at..at+n are meant, with zero codes up to at + padded */
struct vec_span codec_span(const struct codec *c, uint64_t key, const float *x, size_t at, size_t n,
                           size_t padded, int shift, uint8_t *codes);
uint64_t codec_key(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank);
void codec_absmax_all(const struct codec *c, struct vec_span *spans, int n_spans);
void codec_encode_all(const struct codec *c, struct vec_span *spans, int n_spans);
void codec_scan_encode_all(const struct codec *c, struct vec_span *spans, int n_spans);

/* x = the MEAN over ranks: ldexp(decode(codes), c - shift) / (float)P, c = out_shift; codes in the
 * out format. */
void codec_decode(const struct codec *c, const uint8_t *codes, size_t n, int shift, float *x);

/* The same of many layers at once, one launch on a GPU: spans that codec_out() has filled. */
struct vec_out codec_out(const struct codec *c, const uint8_t *codes, size_t n, int shift,
                         float *x);
void codec_decode_all(const struct codec *c, const struct vec_out *spans, int n_spans);

/* The fold of a settled codec; valid while *c is. */
struct fold codec_fold(const struct codec *c);

/* The name of a format ("e4m3", "fp32", "e6m9"), written to name and returned. */
enum { CODEC_NAME_BYTES = 16 };
const char *codec_format_name(struct mf_fmt fmt, char name[CODEC_NAME_BYTES]);

/* Reads a format's name as --format has it. option: for the message. Returns 0 or -EINVAL with a
 * line. */
int codec_format_parse(const char *option, const char *word, struct mf_fmt *out);

/* "exact", "fp32", "nearest", "kahan", "trunc". */
const char *codec_rule_name(enum vec_rule rule);

#endif
