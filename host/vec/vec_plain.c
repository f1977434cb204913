/* vec_plain.c : implements the plain backend: loops over hls/arith/mf.h on unpacked blocks.
 *
 * Only the additions of VEC_FP32, the division of decode and the products of scale depend on the
 * CPU's floating-point mode. They run in IEEE mode, because a library built with -ffast-math may
 * have changed the mode. */
#include "base/bits.h"
#include "base/buf.h"
#include "hls/arith/philox.h"
#include "vec/fp_mode.h"
#include "vec/pack.h"
#include "vec/sum/sum_blocks.h"
#include "vec/vec.h"
#include "vec/list/vec_counts.h"
#include "vec/list/vec_levels.h"
#include "vec/list/vec_ratio.h"
#include "vec/list/vec_signs.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 }; /* elements; a multiple of 8, so every block starts on a byte */

static size_t block_at(size_t i, size_t n)
{
    return n - i < BLOCK ? n - i : BLOCK;
}
static size_t byte_at(struct mf_fmt fmt, size_t i)
{
    return i / 8 * (size_t)mf_width(fmt);
}

static uint32_t plain_absmax(const float *x, size_t n)
{
    uint32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        max = bits > max ? bits : max;
    }
    return max;
}

static __attribute__((noinline)) void scale_in_ieee(const float *x, size_t n, const float *by,
                                                    float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] * by[i / 8];
}

static void plain_scale(const float *x, size_t n, const float *by, float *to)
{
    const uint64_t mode = fp_mode_ieee();
    scale_in_ieee(x, n, by, to);
    fp_mode_back(mode);
}

static void cast_block(const struct vec_cast *cast, size_t at, int shift, const uint32_t *x,
                       size_t n, uint32_t *codes)
{
    if (cast->trunc) {
        for (size_t i = 0; i < n; i++)
            codes[i] = mf_e5m2_trunc_enc(x[i], shift);
    } else if (cast->round == MF_STOCHASTIC) {
        for (size_t i = 0; i < n; i++)
            codes[i] = mf_enc(cast->fmt, x[i], shift, MF_STOCHASTIC, cast->overflow,
                              philox_round_u32(cast->key, at + i));
    } else {
        for (size_t i = 0; i < n; i++)
            codes[i] = mf_enc(cast->fmt, x[i], shift, cast->round, cast->overflow, 0);
    }
}

static void plain_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                         int shift, uint8_t *codes)
{
    uint32_t bits[BLOCK], block[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t k = block_at(i, n);
        memcpy(bits, x + i, k * sizeof *x);
        cast_block(cast, at + i, shift, bits, k, block);
        pack_write(mf_width(cast->fmt), block, k, codes + byte_at(cast->fmt, i));
    }
}

static uint32_t plain_scan_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                                  int shift, uint8_t *codes)
{
    plain_encode(cast, x, n, at, shift, codes);
    return plain_absmax(x, n);
}

static __attribute__((noinline)) void divide(float *x, size_t n, float divisor)
{
    for (size_t i = 0; i < n; i++)
        x[i] /= divisor;
}

static void plain_decode(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift,
                         float divisor, float *x)
{
    const struct vec_quotient q = vec_quotient_of(fmt, shift, divisor);
    uint32_t block[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t k = block_at(i, n);
        pack_read(mf_width(fmt), codes + byte_at(fmt, i), k, block);
        for (size_t j = 0; j < k; j++)
            block[j] = mf_dec(fmt, block[j], q.shift);
        memcpy(x + i, block, k * sizeof *x);
    }
    const uint64_t mode = fp_mode_ieee();
    if (q.divisor != 1)
        divide(x, n, q.divisor);
    fp_mode_back(mode);
}

/* ---- sums: an adder and a reader for each rule; zero bytes are an empty accumulator ---- */

static void add_exact(const struct vec_sum *sum, uint64_t *acc, const uint32_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = mf_acc_add(sum->in, acc[i], codes[i]);
}

/* The first addend is added to +0, so no sum is ever -0. */
static __attribute__((noinline)) void add_fp32(const struct vec_sum *sum, float *acc,
                                               const uint32_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] += float_of(mf_dec(sum->in, codes[i], 0));
}

/* Returns a + code, rounded once to f, the format of a. If sum->acc is set, a and code have
 * different formats and are added as fp32, which holds every number of either. */
static uint32_t add_code(const struct vec_sum *sum, struct mf_fmt f, uint32_t a, uint32_t code)
{
    if (!sum->acc.e)
        return mf_add(f, a, code, sum->overflow);
    const struct mf_num x = mf_unpack(mf_fp32(), mf_dec(f, a, 0)),
                        y = mf_unpack(mf_fp32(), mf_dec(sum->in, code, 0));
    return mf_pack(f, mf_sum(x, y), MF_NEAREST, sum->overflow, 0);
}

static void add_nearest(const struct vec_sum *sum, uint32_t *acc, const uint32_t *codes, size_t n)
{
    const struct mf_fmt f = vec_acc_fmt(sum);
    for (size_t i = 0; i < n; i++)
        acc[i] = add_code(sum, f, acc[i], codes[i]);
}

static void add_trunc(uint32_t *acc, const uint32_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = mf_e5m2_trunc_add(acc[i], codes[i]);
}

/* acc holds pairs of codes (sum, excess of the sum). Every operation rounds to the format, as in
 * CPD. An inf sum becomes nan at the next addend, as with Kahan's summation in any format. */
static void add_kahan(const struct vec_sum *sum, uint32_t *acc, const uint32_t *codes, size_t n)
{
    const struct mf_fmt f = vec_acc_fmt(sum);
    const uint32_t minus = (uint32_t)1 << (mf_width(f) - 1);
    const enum mf_overflow o = sum->overflow;
    for (size_t i = 0; i < n; i++, acc += 2) {
        uint32_t y = add_code(sum, f, acc[1] ^ minus, codes[i]);
        uint32_t t = mf_add(f, acc[0], y, o);
        acc[1] = mf_add(f, mf_add(f, t, acc[0] ^ minus, o), y ^ minus, o);
        acc[0] = t;
    }
}

static void plain_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                             bool first)
{
    uint32_t block[BLOCK];
    const uint64_t mode = fp_mode_ieee();
    if (first)
        memset(acc, 0, vec_acc_bytes(sum, n));
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t k = block_at(i, n);
        pack_read(mf_width(sum->in), codes + byte_at(sum->in, i), k, block);
        switch (sum->rule) {
        case VEC_EXACT:
            add_exact(sum, (uint64_t *)acc + i, block, k);
            break;
        case VEC_FP32:
            add_fp32(sum, (float *)acc + i, block, k);
            break;
        case VEC_KAHAN:
            add_kahan(sum, (uint32_t *)acc + 2 * i, block, k);
            break;
        case VEC_TRUNC:
            add_trunc((uint32_t *)acc + i, block, k);
            break;
        default:
            add_nearest(sum, (uint32_t *)acc + i, block, k);
        }
    }
    fp_mode_back(mode);
}

/* Reads an accumulator (not of exact sums) as fp32, which holds the values of every format. */
static uint32_t read_acc(const struct vec_sum *sum, const void *acc, size_t i)
{
    uint32_t word;
    memcpy(&word, (const char *)acc + vec_acc_bytes(sum, i), sizeof word);
    return sum->rule == VEC_FP32 ? word : mf_dec(vec_acc_fmt(sum), word, 0);
}

/* As with mf_acc_round(), the result is never -0. A nan's sign differs between CPUs and is
 * ignored. */
static uint32_t round_sum(struct mf_fmt out, uint32_t bits, int shift, enum mf_overflow overflow)
{
    if ((bits & 0x7fffffff) > 0x7f800000)
        bits = 0x7fffffff;
    uint32_t code = mf_enc(out, bits, -shift, MF_NEAREST, overflow, 0);
    return (code & mf_nan(out)) != 0 ? code : 0;
}

static void plain_finish(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                         int shift, uint8_t *codes)
{
    uint32_t block[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t k = block_at(i, n);
        for (size_t j = 0; j < k; j++)
            block[j] = sum->rule == VEC_EXACT
                           ? mf_acc_round(sum->in, ((const uint64_t *)acc)[i + j], shift, out,
                                          sum->overflow)
                           : round_sum(out, read_acc(sum, acc, i + j), shift, sum->overflow);
        pack_write(mf_width(out), block, k, codes + byte_at(out, i));
    }
}

static void plain_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    const unsigned width = mf_width(sum->in);
    uint32_t a[BLOCK], b[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t k = block_at(i, n), at = byte_at(sum->in, i);
        pack_read(width, acc + at, k, a);
        pack_read(width, codes + at, k, b);
        if (sum->rule == VEC_TRUNC)
            add_trunc(a, b, k);
        else
            add_nearest(sum, a, b, k);
        pack_write(width, a, k, acc + at);
    }
}

static void plain_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      struct mf_fmt out, int shift, uint8_t *codes)
{
    sum_blocks(plain_accumulate, plain_finish, sum, parts, n_parts, n, out, shift, codes);
}

static uint32_t plain_peak(struct mf_fmt fmt, const uint8_t *codes, size_t n)
{
    uint32_t block[BLOCK], largest = 0;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = block_at(i, n);
        pack_read(mf_width(fmt), codes + byte_at(fmt, i), k, block);
        for (size_t j = 0; j < k; j++)
            largest = (block[j] & mf_nan(fmt)) > largest ? block[j] & mf_nan(fmt) : largest;
    }
    return largest;
}

static void plain_hop(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends,
                      size_t n, struct mf_fmt out, uint8_t *codes)
{
    uint32_t acc[BLOCK], block[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = block_at(i, n);
        pack_read(mf_width(sum->acc), partial + byte_at(sum->acc, i), k, acc);
        pack_read(mf_width(sum->in), addends + byte_at(sum->in, i), k, block);
        add_nearest(sum, acc, block, k);
        plain_finish(sum, acc, k, out, 0, codes + byte_at(out, i));
    }
}

/* ---- wide words ---- */

static void plain_spill(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide)
{
    const int bits = mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
    size_t at = 0; /* bits */
    memset(wide, 0, vec_wide_bytes(sum, n));
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = mf_wide_word(((const uint64_t *)acc)[i], bits);
        for (int b = 0; b < bits; b++, at++)
            wide[at / 8] |= (uint8_t)((word >> b & 1) << at % 8);
    }
}

static void plain_accumulate_wide(const struct vec_sum *sum, void *acc, const uint8_t *wide,
                                  size_t n, bool first)
{
    const int bits = mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
    size_t at = 0; /* bits */
    uint64_t *a = acc;
    for (size_t i = 0; i < n; i++) {
        uint64_t word = 0;
        for (int b = 0; b < bits; b++, at++)
            word |= (uint64_t)(wide[at / 8] >> at % 8 & 1) << b;
        a[i] = mf_acc_merge(first ? 0 : a[i], mf_wide_acc(word, bits));
    }
}

static void plain_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

const struct vec_ops vec_plain = {
    .name = "plain",
    .absmax = plain_absmax,
    .encode = plain_encode,
    .scan_encode = plain_scan_encode,
    .scale = plain_scale,
    .decode = plain_decode,
    .accumulate = plain_accumulate,
    .finish = plain_finish,
    .add = plain_add,
    .sum = plain_sum,
    .finish_blocks = vec_finish_blocks_each,
    .sum_blocks = vec_sum_blocks_each,
    .hop = plain_hop,
    .peak = plain_peak,
    .spill = plain_spill,
    .accumulate_wide = plain_accumulate_wide,
    .absmax_all = vec_absmax_each,
    .encode_all = vec_encode_each,
    .scan_encode_all = vec_scan_encode_each,
    .decode_all = vec_decode_each,
    .exponents_all = vec_exponents_each,
    .level_lists = &level_lists_each,
    .sign_lists = &sign_lists_each,
    .counts = &counts_c,
    .ratio_lists = &ratio_lists_each,
    .levels = &levels_c,
    .signs = &signs_c,
    .ratio = &ratio_c,
    .alloc = buf_alloc,
    .free = free,
    .alloc_floats = buf_alloc,
    .free_floats = free,
    .copy = plain_copy,
};
