/* vec.h : declares the operations on whole vectors: largest magnitude, casts, sums of codes.
 *
 * Packed layout: code i of a w-bit format occupies bits [i*w, (i+1)*w) of the byte string, lowest
 * bit first. Bit 0 is the lowest bit of byte 0.
 *
 *     w = 4     byte 0 = | code 1 : code 0 |        w = 16    bytes 0, 1 = code 0, little endian
 *     w = 6     byte 0 = | c1[1:0] : c0[5:0] |      byte 1 = | c2[3:0] : c1[5:2] |
 *               byte 2 = | c3[5:0] : c2[5:4] |
 *
 * Unused high bits of the last byte are zero. */
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

/* Returns IEEE's cast of fp32 to fp16, or else to bfloat16. */
static inline struct vec_cast vec_cast_to_16(bool fp16)
{
    const struct mf_fmt bf16 = {8, 7, MF_IEEE};
    return (struct vec_cast){
        .fmt = fp16 ? mf_half() : bf16, .round = MF_NEAREST, .overflow = MF_INF};
}

/* Returns the bytes of the accumulators of n elements: 4 or 8 per element. The caller aligns them
 * to 8 bytes. */
size_t vec_acc_bytes(const struct vec_sum *sum, size_t n);

/* Returns the bytes of n wide words: exact partial sums (VEC_EXACT) of up to sum->n_ranks addends,
 * packed like codes, lowest bits first. 8 elements fill whole bytes. */
static inline size_t vec_wide_bytes(const struct vec_sum *sum, size_t n)
{
    return (n * (size_t)mf_wide_bits(sum->in, (unsigned)sum->n_ranks) + 7) / 8;
}

/* Returns the bytes of n results: with blocks, n is a multiple of their length. */
static inline size_t vec_result_bytes(const struct vec_sum *sum, size_t n)
{
    return vec_bytes(sum->out, n) + (sum->out_group ? n / sum->out_group : 0);
}

struct vec_levels;
struct vec_signs;
struct vec_ratio;
struct vec_ratio_lists;
struct vec_level_lists;
struct vec_sign_lists;
struct vec_counts;

/* One backend. Operations block until done. On a CPU only alloc and alloc_floats allocate or can
 * fail; on a GPU see gpu_failed(). Buffers belong to the caller and must not overlap unless a slot
 * allows it. n may be 0. fp32 arrays are aligned to 4 bytes; codes need no alignment. On a GPU,
 * fp32 arrays are device memory, and all other buffers come from alloc. Only GPU backends accept
 * spans whose type is not VEC_FLOAT. */
struct vec_ops {
    const char *name;

    /* Returns the largest |x[i]| as fp32 bits: 0 for n == 0, at least 0x7f800000 exactly when x has
     * an inf or nan. */
    uint32_t (*absmax)(const float *x, size_t n);

    /* codes = cast(x * 2^shift), rounded once. at: index of x[0] in its layer; selects the random
     * bits. */
    void (*encode)(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift,
                   uint8_t *codes);

    /* encode and absmax in one pass, for a shift known or guessed before the maximum. Returns
     * absmax(x). */
    uint32_t (*scan_encode)(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                            int shift, uint8_t *codes);

    /* to[i] = x[i] * by[i / 8] in IEEE mode. x and to may be equal. NULL on a GPU. */
    void (*scale)(const float *x, size_t n, const float *by, float *to);

    /* encode of x[i] * by[i / 8], and decode to x[i] = value * by[i / 8], in one pass. Return
     * false, with nothing written, if there is no fast loop. NULL: never. */
    bool (*encode_scaled)(const struct vec_cast *cast, const float *x, size_t n, int shift,
                          const float *by, uint8_t *codes);
    bool (*decode_scaled)(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift,
                          float divisor, const float *by, float *x);

    /* x = code * 2^shift / divisor. The product is rounded to fp32, which changes only fp32
     * subnormals; then the quotient is rounded, unless the divisor is 1. If the product would
     * overflow, powers of two move from the divisor to the shift (vec_quotient_of()), so x is inf
     * only if the quotient does not fit fp32. */
    void (*decode)(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                   float *x);

    /* acc += codes of the format sum->in, by sum->rule. first: overwrite acc, which may be
     * uninitialised. Codes in acc have the format vec_acc_fmt(sum). */
    void (*accumulate)(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                       bool first);

    /* codes = acc / 2^shift, rounded to `out`: sum->out, or vec_acc_fmt(sum) for a partial sum that
     * is sent on. shift: 0 unless the rule is exact or nearest. A zero sum is +0. The signs of nan
     * addends are ignored. */
    void (*finish)(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                   int shift, uint8_t *codes);

    /* acc += codes, both packed in the format sum->in. Only for VEC_NEAREST (as mf_add()) and
     * VEC_TRUNC (as mf_e5m2_trunc_add()), without sum->acc. May write all of acc's last byte. */
    void (*add)(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

    /* codes = parts[0] + ... + parts[n_parts - 1], n_parts > 0. The result is that of accumulate()
     * of each part in this order, then finish(), without accumulators in memory. codes may be one
     * of the parts if `out` is sum->in. */
    void (*sum)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes);

    /* finish() and sum() with results in blocks (sum->out_group). n: whole blocks. */
    void (*finish_blocks)(const struct vec_ops *ops, const struct vec_sum *sum, const uint64_t *acc,
                          size_t n, uint8_t *blocks);
    void (*sum_blocks)(const struct vec_ops *ops, const struct vec_sum *sum,
                       const uint8_t *const *parts, int n_parts, size_t n, uint8_t *blocks);

    /* Returns the largest magnitude among codes, as a code without its sign; 0 for n == 0. */
    uint32_t (*peak)(struct mf_fmt fmt, const uint8_t *codes, size_t n);

    /* codes = partial + addends, rounded to nearest to the format sum->acc, then to `out`. partial:
     * a received partial sum in the format sum->acc, which must be set. addends: in the format
     * sum->in. codes may be the buffer partial if `out` is sum->acc. */
    void (*hop)(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends, size_t n,
                struct mf_fmt out, uint8_t *codes);

    /* VEC_EXACT only: converts accumulators to wide words. Unused bits of the last byte are 0. */
    void (*spill)(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide);
    /* VEC_EXACT only: acc += wide words. first: as in accumulate. */
    void (*accumulate_wide)(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                            bool first);
    /* VEC_EXACT only: accumulate() of each part, then spill(), and accumulate_wide() of each vector
     * of wide words, then finish(), in one pass. n_parts is positive. Return false, with
     * anything written, if there is no fast loop for the format or these codes. NULL: never. */
    bool (*sum_to_wide)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                        size_t n, uint8_t *wide);
    bool (*sum_of_wide)(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts,
                        size_t n, struct mf_fmt out, int shift, uint8_t *codes);

    /* The *_all slots handle many spans, each with its own shift; a GPU handles them in one launch.
     * ops: this table. */

    void (*absmax_all)(const struct vec_ops *ops, struct vec_span *spans, int n_spans);
    /* writes zero codes up to span.padded */
    void (*encode_all)(const struct vec_ops *ops, const struct vec_cast *cast,
                       struct vec_span *spans, int n_spans);
    /* absmax_all and encode_all in one pass. */
    void (*scan_encode_all)(const struct vec_ops *ops, const struct vec_cast *cast,
                            struct vec_span *spans, int n_spans);

    void (*decode_all)(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                       int n_spans, float divisor);

    /* Finds the exponents of all groups of the spans (vec_exponent()). scale->group is theirs. Each
     * span begins a group. The exponents are in CPU memory, also on a GPU. encode_all and
     * decode_all read them there. */
    void (*exponents_all)(const struct vec_ops *ops, const struct vec_scale *scale,
                          struct vec_span *spans, int n_spans);

    /* For other codecs: vec_levels.h, vec_signs.h, vec_counts.h, vec_ratio.h. Their lists handle
     * many vectors, on a GPU in one launch per call; ops: this table. */
    const struct vec_level_lists *level_lists;
    const struct vec_sign_lists *sign_lists;
    const struct vec_counts *counts;
    const struct vec_ratio_lists *ratio_lists;
    const struct vec_levels *levels; /* one vector per call, as the next three; NULL on a GPU */
    const struct vec_signs *signs;
    const struct vec_ratio *ratio;

    /* Allocates memory for codes, accumulators and scratch that this backend and MPI can access,
     * zeroed and aligned to 64 bytes. Returns NULL after printing an error. free accepts NULL. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);

    /* Allocates fp32 vectors in the same way; on a GPU they are device memory. */
    void *(*alloc_floats)(size_t bytes);
    void (*free_floats)(void *p);

    /* Copies between memory of alloc, alloc_floats and the CPU, in any direction. */
    void (*copy)(void *to, const void *from, size_t bytes);
};

/* Implement the *_all slots by loops over the other slots of ops (with groups: vec_groups.c). */
void vec_absmax_each(const struct vec_ops *ops, struct vec_span *spans, int n_spans);
void vec_encode_each(const struct vec_ops *ops, const struct vec_cast *cast, struct vec_span *spans,
                     int n_spans);
void vec_scan_encode_each(const struct vec_ops *ops, const struct vec_cast *cast,
                          struct vec_span *spans, int n_spans);
void vec_decode_each(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                     int n_spans, float divisor);
void vec_exponents_each(const struct vec_ops *ops, const struct vec_scale *scale,
                        struct vec_span *spans, int n_spans);

/* Implement finish_blocks and sum_blocks by other functions of ops. */
void vec_finish_blocks_each(const struct vec_ops *ops, const struct vec_sum *sum,
                            const uint64_t *acc, size_t n, uint8_t *blocks);
void vec_sum_blocks_each(const struct vec_ops *ops, const struct vec_sum *sum,
                         const uint8_t *const *parts, int n_parts, size_t n, uint8_t *blocks);

/* Exponents of n elements in groups of this length. */
static inline size_t vec_n_groups(size_t n, uint32_t group)
{
    return (n + group - 1) / group;
}

/* The plain backend: loops over hls/arith/mf.h. All other backends give its bits. */
extern const struct vec_ops vec_plain;

/* Returns the CPU backend with this CPU's widest instructions. NARROWCAST_ISA=scalar, avx2,
 * avx512, avx512vbmi, avx512fp16 or neon selects an instruction set, or the next lower one that the
 * CPU has. */
const struct vec_ops *vec_best(void);
/* Returns 0, or -EINVAL after printing an error if NARROWCAST_ISA names an unknown instruction set
 * or one that the CPU lacks. Programs that read a user's options call it before vec_best(). */
int vec_best_check(void);

#endif
