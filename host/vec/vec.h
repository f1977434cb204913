/* vec.h : Defines the operations on whole vectors: largest magnitude, casts, sums of codes.
 *
 * Packed layout: code i of a w-bit format occupies bits [i*w, (i+1)*w) of the byte string. Bit 0 is
 * the lowest bit of byte 0, and each code starts with its lowest bit.
 *
 *     w = 4     byte 0 = | code 1 : code 0 |        w = 16    bytes 0, 1 = code 0, little endian
 *     w = 6     byte 0 = | c1[1:0] : c0[5:0] |      byte 1 = | c2[3:0] : c1[5:2] |
 *               byte 2 = | c3[5:0] : c2[5:4] |
 *
 * n codes take vec_bytes() bytes. Unused high bits of the last byte are zero. */
#ifndef VEC_H
#define VEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/arith/rules.h"

static inline size_t vec_bytes(struct mf_fmt fmt, size_t n)
{
    return (n * mf_width(fmt) + 7) / 8;
}

/* Returns the bytes of n elements' accumulators, 4 or 8 each. Allocate them 8-byte aligned. */
size_t vec_acc_bytes(const struct vec_sum *sum, size_t n);

/* Returns the bytes of n wide partial sums in a message (exact only). An element takes
 * 2^e-1+m+ceil(log2 P) bits + 2 flags, rounded up to bytes: 5 for e5m2 and up to 32 ranks. */
size_t vec_wide_bytes(const struct vec_sum *sum, size_t n);

struct vec_levels;
struct vec_signs;
struct vec_ratio;
struct vec_ratio_lists;
struct vec_level_lists;
struct vec_sign_lists;
struct vec_counts;

/* One backend. All operations except alloc block, allocate nothing and cannot fail. Buffers belong
 * to the caller and do not overlap unless a slot says so. n may be 0. fp32 arrays are 4-byte
 * aligned, codes need no alignment. On a GPU, fp32 arrays are device memory, and all else comes
 * from alloc. Spans of other types than VEC_FLOAT are for GPUs only. */
struct vec_ops {
    const char *name;

    /* Returns the largest |x[i]| as fp32 bits with the sign cleared, 0 for n == 0. The result is at
     * least 0x7f800000 exactly when x contains an inf or a nan. */
    uint32_t (*absmax)(const float *x, size_t n);

    /* codes = cast(x * 2^shift), rounded once. at: index of x[0] in its layer; selects
     * the random bits. */
    void (*encode)(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift,
                   uint8_t *codes);

    /* encode and absmax in one pass, where the shift is known or guessed before the maximum is. */
    uint32_t (*scan_encode)(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                            int shift, uint8_t *codes);

    /* x = code * 2^shift / divisor: one rounding for the product (fp32 subnormals), one for the
     * quotient (none for divisor 1). Where the product would overflow, powers of two move from the
     * divisor to the shift (vec_quotient_of()), so x is inf only if the quotient does not fit
     * fp32. */
    void (*decode)(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                   float *x);

    /* acc += codes (sum->in) by sum->rule. first: overwrite acc, which holds nothing yet. Codes in
     * acc have the format vec_acc_fmt(sum). */
    void (*fold)(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n, bool first);

    /* codes = acc / 2^shift rounded to `out`: sum->out, or vec_acc_fmt(sum) for a partial sum that
     * is sent on. shift: exact and nearest only, else 0. A zero sum is +0. The sign of a nan among
     * the addends is ignored. */
    void (*finish)(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                   int shift, uint8_t *codes);

    /* acc += codes, packed in sum->in. Only VEC_NEAREST (as mf_add()) and VEC_TRUNC (as
     * mf_e5m2_trunc_add()), without sum->acc. May write all of acc's last byte. */
    void (*add)(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

    /* codes = parts[0] + ... + parts[n_parts - 1], n_parts > 0: the bytes of fold() of each part in
     * this order and finish(), without accumulators in memory. codes may be one of the parts if
     * `out` is sum->in. */
    void (*sum)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes);

    /* Returns the largest magnitude among codes, as a code without its sign; 0 for n == 0. */
    uint32_t (*peak)(struct mf_fmt fmt, const uint8_t *codes, size_t n);

    /* codes = partial + addends, rounded to nearest to sum->acc, then to `out`. partial: a received
     * sum in sum->acc, which must be set. addends: one vector of sum->in. codes may be partial if
     * `out` is sum->acc. */
    void (*hop)(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends, size_t n,
                struct mf_fmt out, uint8_t *codes);

    /* Exact only: spill converts accumulators to vec_wide_bytes(), fold_wide adds such bytes. */
    void (*spill)(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide);
    void (*fold_wide)(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                      bool first);

    /* absmax, encode (and zero codes up to `padded`) and both, for many spans: one launch on a GPU.
     * ops: this table. */
    void (*absmax_all)(const struct vec_ops *ops, struct vec_span *spans, int n_spans);
    void (*encode_all)(const struct vec_ops *ops, const struct vec_cast *cast,
                       struct vec_span *spans, int n_spans);
    void (*scan_encode_all)(const struct vec_ops *ops, const struct vec_cast *cast,
                            struct vec_span *spans, int n_spans);

    /* decode of many spans: one launch on a GPU. ops: this table. */
    void (*decode_all)(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                       int n_spans, float divisor);

    /* For codecs that are not minifloats: vec_levels.h, vec_signs.h, vec_counts.h, vec_ratio.h. */
    const struct vec_level_lists *level_lists;
    const struct vec_sign_lists *sign_lists;
    const struct vec_counts *counts;
    const struct vec_ratio_lists *ratio_lists;
    const struct vec_levels *levels; /* one vector a call, CPU only; NULL on a GPU */
    const struct vec_signs *signs;   /* same */
    const struct vec_ratio *ratio;   /* same */

    /* Memory for codes, accumulators and scratch that this backend and MPI can access: zeroed,
     * 64-byte aligned. alloc returns NULL after printing an error. free takes NULL. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);

    /* The same for fp32 vectors: device memory of a GPU. */
    void *(*alloc_floats)(size_t bytes);
    void (*free_floats)(void *p);

    /* Copies between these two kinds of memory and the CPU's, in any direction. */
    void (*copy)(void *to, const void *from, size_t bytes);
};

/* The four *_all slots as loops over the table's own operations. */
void vec_absmax_each(const struct vec_ops *ops, struct vec_span *spans, int n_spans);
void vec_encode_each(const struct vec_ops *ops, const struct vec_cast *cast, struct vec_span *spans,
                     int n_spans);
void vec_scan_encode_each(const struct vec_ops *ops, const struct vec_cast *cast,
                          struct vec_span *spans, int n_spans);
void vec_decode_each(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                     int n_spans, float divisor);

/* The plain backend: loops over hls/arith/mf.h, the reference for all others. */
extern const struct vec_ops vec_plain;

/* Returns the CPU backend with the widest instructions of this CPU. NARROWCAST_ISA=scalar, avx2,
 * avx512 or avx512vbmi selects one, or the next lower one where the CPU lacks it. Callers that
 * take a user's options call vec_best_check() first: for a missing or unknown one it prints an
 * error and returns -EINVAL. */
const struct vec_ops *vec_best(void);
int vec_best_check(void);

#endif
