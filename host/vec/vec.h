/* vec.h : operations on whole vectors: largest magnitude, cast to packed codes and back, sums of
 * codes.
 *
 * Packed layout: code i of a w-bit format lies in bits [i*w, (i+1)*w) of the byte string, bit 0
 * being the lowest bit of byte 0, and a code's lowest bit first:
 *
 *     w = 4     byte 0 = | code 1 : code 0 |        w = 16    byte 0, 1 = code 0, little endian
 *     w = 6     byte 0 = | c1[1:0] : c0[5:0] |  byte 1 = | c2[3:0] : c1[5:2] |  byte 2 = | c3[5:0] : c2[5:4] |
 *
 * n codes take vec_bytes() bytes; unused high bits of the last byte are zero. */
#ifndef VEC_H
#define VEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/arith/rules.h"

/* Bytes of n packed codes. */
static inline size_t vec_bytes(struct mf_fmt fmt, size_t n)
{
    return (n * mf_width(fmt) + 7) / 8;
}

/* Bytes of the accumulators of n elements: 4 or 8 an element; allocate them 8-byte aligned. */
size_t vec_acc_bytes(const struct vec_sum *sum, size_t n);

/* Bytes of n wide partial sums as they travel (exact only): 2^e-1+m+ceil(log2 P) bits + 2 flags an
 * element, rounded up to whole bytes: 5 for e5m2 and up to 32 ranks. */
size_t vec_wide_bytes(const struct vec_sum *sum, size_t n);

struct vec_levels;
struct vec_signs;
struct vec_ratio;
struct vec_ratio_lists;
struct vec_level_lists;
struct vec_sign_lists;
struct vec_counts;

/* One backend. All calls but alloc block, allocate nothing and cannot fail; buffers are the
 * caller's and do not overlap unless said; n may be 0; fp32 arrays are 4-byte aligned, codes need
 * no alignment. A GPU's fp32 arrays are device memory, all else is what alloc gives. Spans of other
 * types than VEC_FLOAT are a GPU's alone. */
struct vec_ops {
    const char *name;

    /* Largest |x[i]| as fp32 bits with the sign cleared; 0 for n == 0. Not finite (inf or nan
     * anywhere) exactly when the answer is >= 0x7f800000. */
    uint32_t (*absmax)(const float *x, size_t n);

    /* codes = cast(x * 2^shift), one rounding. at: index of x[0] in its layer (counts the random
     * bits). */
    void (*encode)(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift,
                   uint8_t *codes);

    /* encode, and absmax of the same x on the way: one pass where a shift is known or guessed
     * before the maximum is. */
    uint32_t (*scan_encode)(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                            int shift, uint8_t *codes);

    /* x = code * 2^shift / divisor: the power of two is applied with one rounding (fp32 subnormals),
     * then one division (none for divisor 1). Where the product would overflow, powers of two leave
     * the divisor first: vec_quotient_of(). inf only where the quotient does not fit fp32. */
    void (*decode)(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                   float *x);

    /* acc += codes (sum->in) by the rule; first: acc holds nothing yet and is overwritten. A code in
     * it is one of vec_acc_fmt(sum). */
    void (*fold)(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n, bool first);

    /* codes = acc rounded to `out` (sum->out, or vec_acc_fmt(sum) for a partial sum that travels on)
     * after division by 2^shift (exact and nearest; else 0). A sum that is zero is +0; the sign of a
     * nan among the addends does not show. */
    void (*finish)(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                   int shift, uint8_t *codes);

    /* acc += codes, both packed in sum->in: every addition rounds into it, as mf_add() does;
     * VEC_TRUNC: as mf_e5m2_trunc_add(). For these two rules alone, without sum->acc; the whole of
     * acc's last byte may be written. */
    void (*add)(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

    /* codes = parts[0] + ... + parts[n_parts - 1], n_parts > 0: the bytes that fold() of each in
     * this order and finish() make, without accumulators in memory. codes may be one of the parts
     * if `out` is sum->in. */
    void (*sum)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes);

    /* The largest magnitude among codes, as a code without its sign; 0 for n == 0. */
    uint32_t (*peak)(struct mf_fmt fmt, const uint8_t *codes, size_t n);

    /* codes = partial + addends: a sum that has come in sum->acc, which must be given, and one vector
     * more of sum->in, rounded to sum->acc by nearest and then to `out`. codes may be partial if
     * `out` is sum->acc. */
    void (*hop)(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends, size_t n,
                struct mf_fmt out, uint8_t *codes);

    /* Exact only: accumulators to vec_wide_bytes() and back, the latter adding. */
    void (*spill)(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide);
    void (*fold_wide)(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                      bool first);

    /* absmax, encode (with zero codes up to padded), and both of them, of many spans: one launch on
     * a GPU. ops: this table. */
    void (*absmax_all)(const struct vec_ops *ops, struct vec_span *spans, int n_spans);
    void (*encode_all)(const struct vec_ops *ops, const struct vec_cast *cast,
                       struct vec_span *spans, int n_spans);
    void (*scan_encode_all)(const struct vec_ops *ops, const struct vec_cast *cast,
                            struct vec_span *spans, int n_spans);

    /* decode of many spans: one launch on a GPU. ops: this table. */
    void (*decode_all)(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                       int n_spans, float divisor);

    /* Buckets of levels, signs and means of columns, sums of -1, 0 and 1, multiples of a quantile, for
     * codecs that send them: vec_levels.h, vec_signs.h, vec_counts.h, vec_ratio.h. */
    const struct vec_level_lists *level_lists;
    const struct vec_sign_lists *sign_lists;
    const struct vec_counts *counts;
    const struct vec_ratio_lists *ratio_lists;
    const struct vec_levels *levels; /* one vector a call: a CPU's; NULL on a GPU */
    const struct vec_signs *signs;   /* likewise */
    const struct vec_ratio *ratio;   /* likewise */

    /* Memory for codes, accumulators and scratch: what this backend and MPI can both reach. Zeroed,
     * 64-byte aligned; NULL after a line. free takes NULL. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);

    /* The same for fp32 vectors: a GPU's device memory. */
    void *(*alloc_floats)(size_t bytes);
    void (*free_floats)(void *p);

    /* Between both kinds of that memory and the CPU's, either way. */
    void (*copy)(void *to, const void *from, size_t bytes);
};

/* The four of them as loops over the table's own operations. */
void vec_absmax_each(const struct vec_ops *ops, struct vec_span *spans, int n_spans);
void vec_encode_each(const struct vec_ops *ops, const struct vec_cast *cast, struct vec_span *spans,
                     int n_spans);
void vec_scan_encode_each(const struct vec_ops *ops, const struct vec_cast *cast,
                          struct vec_span *spans, int n_spans);
void vec_decode_each(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                     int n_spans, float divisor);

/* The plain backend: loops over hls/arith/mf.h, the one all others are held against. */
extern const struct vec_ops vec_plain;

/* The backend this machine runs best: the CPU's, with the widest instructions it has.
 * NARROWCAST_ISA=scalar, avx2, avx512 or avx512vbmi asks for one of them; where the CPU lacks it
 * vec_best() gives the next lower one, and vec_best_check(), which all who take a user's words ask first, says
 * so in a line and returns -EINVAL. */
const struct vec_ops *vec_best(void);
int vec_best_check(void);

#endif
