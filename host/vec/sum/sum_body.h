/* sum_body.h : implements vec_ops' sums as plain loops over sum_lanes.h for each instruction
 * set. */
#ifndef SUM_BODY_H
#define SUM_BODY_H
#include "vec/fp_mode.h"
#include "vec/pack.h"
#include "vec/sum/sum_blocks.h"
#include "vec/sum/sum_lanes.h"

enum { BODY_BLOCK = 256 }; /* elements; a multiple of 8, so blocks start on a byte */
#define BODY_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define BODY_INLINE static inline __attribute__((always_inline))
#define BODY_APART  static __attribute__((noinline)) /* for IEEE mode (fp_mode.h) */

/* Constant arguments give each adder its own loop. */
enum body_adder { BODY_32, BODY_FP32, BODY_64, BODY_TRUNC };
#define BODY_BY_ADDER(adder, loop, ...)                    \
    ((adder) == BODY_32     ? loop(BODY_32, __VA_ARGS__)   \
     : (adder) == BODY_FP32 ? loop(BODY_FP32, __VA_ARGS__) \
     : (adder) == BODY_64   ? loop(BODY_64, __VA_ARGS__)   \
                            : loop(BODY_TRUNC, __VA_ARGS__))

BODY_INLINE uint32_t body_add(enum body_adder adder, const struct lane_fmt *k, uint32_t a,
                              uint32_t b)
{
    return adder == BODY_32     ? lane_add32(k, a, b)
           : adder == BODY_FP32 ? lane_add_fp32(k, a, b)
           : adder == BODY_64   ? lane_add64(k, a, b)
                                : lane_trunc_add(k, a, b);
}
static enum body_adder body_adder(const struct vec_sum *sum)
{
    return sum->rule == VEC_TRUNC  ? BODY_TRUNC
           : lane_fits32(sum->in)  ? BODY_32
           : lane_is_fp32(sum->in) ? BODY_FP32
                                   : BODY_64;
}
static struct lane_fmt body_fmt(const struct vec_sum *sum, enum body_adder adder)
{
    return adder == BODY_64 ? lane_fmt64(sum->in, sum->overflow)
                            : lane_fmt32(sum->in, sum->overflow);
}

/* ---- accumulators of another format (vec_sum.acc): its values include those of the codes ---- */

/* True if acc cannot hold each value of `in`: then vec_plain adds. */
static bool body_narrows(const struct vec_sum *sum)
{
    return sum->acc.e && !mf_holds(sum->acc, sum->in);
}

BODY_INLINE uint32_t body_add_to(enum body_adder adder, const struct lane_fmt *k,
                                 const struct lane_fmt *from, uint32_t a, uint32_t b)
{
    return adder == BODY_32 ? lane_add_to32(k, from, a, b) : lane_add_to64(k, from, a, b);
}

BODY_INLINE void body_acc_words(enum body_adder adder, struct lane_fmt k, struct lane_fmt from,
                                uint32_t *restrict acc, const uint32_t *restrict codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = body_add_to(adder, &k, &from, acc[i], codes[i]);
}

/* acc holds pairs, as in body_accumulate_kahan(). */
BODY_INLINE void body_acc_kahan(enum body_adder adder, struct lane_fmt k, struct lane_fmt from,
                                uint32_t *restrict acc, const uint32_t *restrict codes, size_t n)
{
    const uint32_t minus = 1u << k.sign;
    for (size_t i = 0; i < n; i++) {
        const uint32_t s = acc[2 * i],
                       y = body_add_to(adder, &k, &from, acc[2 * i + 1] ^ minus, codes[i]);
        const uint32_t t = body_add(adder, &k, s, y);
        acc[2 * i + 1] = body_add(adder, &k, body_add(adder, &k, t, s ^ minus), y ^ minus);
        acc[2 * i] = t;
    }
}

BODY_APART void body_acc_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes,
                                    size_t n)
{
    const bool fits32 = lane_fits32(sum->acc);
    const struct lane_fmt k = (fits32 ? lane_fmt32 : lane_fmt64)(sum->acc, sum->overflow),
                          from = (fits32 ? lane_fmt32 : lane_fmt64)(sum->in, sum->overflow);
    const size_t step = sum->rule == VEC_KAHAN ? 2 : 1;
    uint32_t block[BODY_BLOCK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        uint32_t *a = (uint32_t *)acc + step * i;
        pack_read(mf_width(sum->in), codes + vec_bytes(sum->in, i), m, block);
        if (step == 2 && fits32)
            body_acc_kahan(BODY_32, k, from, a, block, m);
        else if (step == 2)
            body_acc_kahan(BODY_64, k, from, a, block, m);
        else if (fits32)
            body_acc_words(BODY_32, k, from, a, block, m);
        else
            body_acc_words(BODY_64, k, from, a, block, m);
    }
}

/* ---- fp32 or bf16 codes in fp32 (VEC_FP32) ---- */

static bool body_is_fp32(const struct vec_sum *sum, struct mf_fmt out)
{
    return BODY_LITTLE && sum->rule == VEC_FP32 && sum->in.e == 8 && out.e == 8 &&
           (sum->in.m == 23 || sum->in.m == 7) && sum->in.m == out.m;
}

BODY_INLINE void body_load_fp32(unsigned width, const uint8_t *codes, size_t n, float *x)
{
    uint16_t halves[BODY_BLOCK];
    memcpy(width == 16 ? (void *)halves : (void *)x, codes, n * width / 8);
    for (size_t j = 0; j < n && width == 16; j++)
        x[j] = float_of((uint32_t)halves[j] << 16);
}

/* No sum is -0. A bf16 is the upper half of an fp32; a carry out of its mantissa gives the next
 * exponent, or inf. */
BODY_INLINE void body_store_fp32(unsigned width, uint32_t beyond, const float *sums, size_t n,
                                 uint8_t *codes)
{
    const unsigned drop = 32 - width;
    const uint32_t half = width == 16 ? 0x7fff : 0, sign = 0x80000000 >> drop;
    uint32_t words[BODY_BLOCK];
    uint16_t halves[BODY_BLOCK];
    for (size_t j = 0; j < n; j++) {
        const uint32_t bits = bits_of(sums[j]), mag = bits & 0x7fffffff;
        const uint32_t up = width == 16 ? half + (mag >> drop & 1) : 0, r = (mag + up) >> drop;
        const uint32_t over = lane_above32(r, (0x7f800000u >> drop) - 1);
        const uint32_t kept = lane_pick32(over, beyond, r);
        const uint32_t code = kept | (bits >> drop & sign);
        words[j] = lane_pick32(lane_above32(mag, 0x7f800000), 0x7fffffff >> drop, code);
    }
    for (size_t j = 0; j < n && width == 16; j++)
        halves[j] = (uint16_t)words[j];
    memcpy(codes, width == 16 ? (void *)halves : (void *)words, n * width / 8);
}

BODY_INLINE void body_sum_as(unsigned width, const struct vec_sum *sum, const uint8_t *const *parts,
                             int n_parts, size_t n, uint8_t *codes)
{
    const uint32_t beyond = sum->overflow == MF_SATURATE ? mf_max(sum->in) : mf_inf(sum->in);
    const size_t bytes = width / 8;
    float acc[BODY_BLOCK], x[BODY_BLOCK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        memset(acc, 0, sizeof acc);
        for (int p = 0; p < n_parts; p++) {
            body_load_fp32(width, parts[p] + bytes * i, m, x);
            for (size_t j = 0; j < m; j++)
                acc[j] += x[j];
        }
        body_store_fp32(width, beyond, acc, m, codes + bytes * i);
    }
}

BODY_APART void body_sum_fp32(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                              size_t n, uint8_t *codes)
{
    if (sum->in.m == 7)
        body_sum_as(16, sum, parts, n_parts, n, codes);
    else
        body_sum_as(32, sum, parts, n_parts, n, codes);
}

BODY_INLINE void body_add_words(enum body_adder adder, struct lane_fmt k, uint32_t *restrict acc,
                                const uint32_t *restrict codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = body_add(adder, &k, acc[i], codes[i]);
}

BODY_INLINE void body_add_fours(enum body_adder adder, struct lane_fmt k, uint8_t *restrict acc,
                                const uint8_t *restrict codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t a, b;
        memcpy(&a, acc + 4 * i, sizeof a);
        memcpy(&b, codes + 4 * i, sizeof b);
        a = body_add(adder, &k, a, b);
        memcpy(acc + 4 * i, &a, sizeof a);
    }
}

BODY_INLINE void body_add_halves(enum body_adder adder, struct lane_fmt k, uint8_t *restrict acc,
                                 const uint8_t *restrict codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t a, b;
        memcpy(&a, acc + 2 * i, sizeof a);
        memcpy(&b, codes + 2 * i, sizeof b);
        a = (uint16_t)body_add(adder, &k, a, b);
        memcpy(acc + 2 * i, &a, sizeof a);
    }
}

BODY_INLINE void body_add_bytes(enum body_adder adder, struct lane_fmt k, uint8_t *restrict acc,
                                const uint8_t *restrict codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = (uint8_t)body_add(adder, &k, acc[i], codes[i]);
}

/* If n is odd, the high half of the last byte becomes zero. */
static void body_add_nibbles(struct lane_fmt k, uint8_t *restrict acc,
                             const uint8_t *restrict codes, size_t n)
{
    const size_t whole = n / 2;
    for (size_t i = 0; i < whole; i++) {
        const uint32_t a = acc[i], b = codes[i];
        acc[i] = (uint8_t)(lane_add32(&k, a & 15, b & 15) | lane_add32(&k, a >> 4, b >> 4) << 4);
    }
    if (n % 2)
        acc[whole] = (uint8_t)lane_add32(&k, acc[whole] & 15, codes[whole] & 15);
}

BODY_APART void body_add_in_ieee(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes,
                                 size_t n)
{
    const enum body_adder adder = body_adder(sum);
    const struct lane_fmt k = body_fmt(sum, adder);
    const unsigned width = mf_width(sum->in);
    uint32_t a[BODY_BLOCK], b[BODY_BLOCK];
    if (width == 8) {
        BODY_BY_ADDER(adder, body_add_bytes, k, acc, codes, n);
    } else if (width == 16 && BODY_LITTLE) {
        BODY_BY_ADDER(adder, body_add_halves, k, acc, codes, n);
    } else if (width == 32 && BODY_LITTLE) {
        BODY_BY_ADDER(adder, body_add_fours, k, acc, codes, n);
    } else if (width == 4) {
        body_add_nibbles(k, acc, codes, n);
    } else {
        for (size_t i = 0, m; i < n; i += m) {
            m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
            const size_t at = vec_bytes(sum->in, i);
            pack_read(width, acc + at, m, a);
            pack_read(width, codes + at, m, b);
            BODY_BY_ADDER(adder, body_add_words, k, a, b, m);
            pack_write(width, a, m, acc + at);
        }
    }
}

static void body_add_packed(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    const uint64_t mode = fp_mode_ieee();
    body_add_in_ieee(sum, acc, codes, n);
    fp_mode_back(mode);
}

static void body_accumulate_exact(const struct vec_sum *sum, uint64_t *restrict acc,
                                  const uint32_t *restrict codes, size_t n)
{
    const struct lane_fmt k = lane_fmt64(sum->in, sum->overflow);
    const unsigned m = sum->in.m;
    for (size_t i = 0; i < n; i++)
        acc[i] = lane_acc_add(&k, m, acc[i], codes[i]);
}

/* Codes with 8 exponent bits are fp32s with fewer mantissa bits. */
static void body_accumulate_fp32(const struct vec_sum *sum, float *restrict acc,
                                 const uint32_t *restrict codes, size_t n)
{
    const struct lane_fmt k = lane_fmt32(sum->in, sum->overflow);
    const uint32_t wide = sum->in.e == 8 ? UINT32_MAX : 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t mag = codes[i] & k.all, sign = (codes[i] >> k.sign & 1) << 31;
        const uint32_t finite = lane_pick32(wide, mag << k.drop, bits_of(lane_value32(&k, mag)));
        const uint32_t special = 0x7f800000 | (lane_above32(mag, k.nan_above) & 0x00400000);
        acc[i] += float_of(lane_pick32(lane_above32(mag, k.special - 1), special, finite) | sign);
    }
}

/* acc holds pairs of codes (sum, excess of the sum), as in vec_plain. */
BODY_INLINE void body_accumulate_kahan(enum body_adder adder, struct lane_fmt k,
                                       uint32_t *restrict acc, const uint32_t *restrict codes,
                                       size_t n)
{
    const uint32_t minus = 1u << k.sign;
    for (size_t i = 0; i < n; i++) {
        const uint32_t s = acc[2 * i], y = body_add(adder, &k, codes[i], acc[2 * i + 1] ^ minus);
        const uint32_t t = body_add(adder, &k, s, y);
        acc[2 * i + 1] = body_add(adder, &k, body_add(adder, &k, t, s ^ minus), y ^ minus);
        acc[2 * i] = t;
    }
}

BODY_APART void body_accumulate_in_ieee(const struct vec_sum *sum, void *acc, const uint8_t *codes,
                                        size_t n)
{
    const enum body_adder adder = body_adder(sum);
    const struct lane_fmt k = body_fmt(sum, adder);
    uint32_t block[BODY_BLOCK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        pack_read(mf_width(sum->in), codes + vec_bytes(sum->in, i), m, block);
        if (sum->rule == VEC_EXACT)
            body_accumulate_exact(sum, (uint64_t *)acc + i, block, m);
        else if (sum->rule == VEC_FP32)
            body_accumulate_fp32(sum, (float *)acc + i, block, m);
        else if (sum->rule == VEC_KAHAN)
            BODY_BY_ADDER(adder, body_accumulate_kahan, k, (uint32_t *)acc + 2 * i, block, m);
        else
            BODY_BY_ADDER(adder, body_add_words, k, (uint32_t *)acc + i, block, m);
    }
}

static void body_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                            bool first)
{
    if (body_narrows(sum)) {
        vec_plain.accumulate(sum, acc, codes, n, first);
        return;
    }
    if (first)
        memset(acc, 0, vec_acc_bytes(sum, n));
    const uint64_t mode = fp_mode_ieee();
    (sum->acc.e ? body_acc_accumulate : body_accumulate_in_ieee)(sum, acc, codes, n);
    fp_mode_back(mode);
}

static void body_round_exact(const struct vec_sum *sum, const uint64_t *restrict acc, size_t n,
                             struct mf_fmt out, int shift, uint32_t *restrict codes)
{
    const struct lane_out o = lane_out(out, sum->overflow);
    const uint64_t exp = (uint64_t)(1 - mf_bias(sum->in) - sum->in.m - shift);
    for (size_t i = 0; i < n; i++)
        codes[i] = lane_round_acc(&o, exp, acc[i]);
}

/* acc holds codes of the format `from`, `step` words apart. */
static void body_round_codes(const struct vec_sum *sum, struct mf_fmt from,
                             const uint32_t *restrict acc, size_t step, size_t n, struct mf_fmt out,
                             int shift, uint32_t *restrict codes)
{
    const struct lane_out o = lane_out(out, sum->overflow);
    const struct lane_fmt k = lane_fmt64(from, sum->overflow);
    const uint64_t exp = (uint64_t)(1 - mf_bias(from) - from.m - shift);
    const unsigned m = from.m;
    for (size_t i = 0; i < n; i++)
        codes[i] = lane_round_code(&o, &k, m, exp, acc[i * step]);
}

static void body_finish(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                        int shift, uint8_t *codes)
{
    const struct mf_fmt from = sum->rule == VEC_FP32 ? mf_fp32() : vec_acc_fmt(sum);
    const size_t step = sum->rule == VEC_KAHAN ? 2 : 1;
    uint32_t block[BODY_BLOCK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        if (sum->rule == VEC_EXACT)
            body_round_exact(sum, (const uint64_t *)acc + i, m, out, shift, block);
        else
            body_round_codes(sum, from, (const uint32_t *)acc + i * step, step, m, out, shift,
                             block);
        pack_write(mf_width(out), block, m, codes + vec_bytes(out, i));
    }
}

static void body_hop(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends,
                     size_t n, struct mf_fmt out, uint8_t *codes)
{
    if (body_narrows(sum)) {
        vec_plain.hop(sum, partial, addends, n, out, codes);
        return;
    }
    const uint64_t mode = fp_mode_ieee();
    uint32_t acc[BODY_BLOCK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        pack_read(mf_width(sum->acc), partial + vec_bytes(sum->acc, i), m, acc);
        body_acc_accumulate(sum, acc, addends + vec_bytes(sum->in, i), m);
        body_finish(sum, acc, m, out, 0, codes + vec_bytes(out, i));
    }
    fp_mode_back(mode);
}

static uint32_t body_peak(struct mf_fmt fmt, const uint8_t *codes, size_t n)
{
    const uint32_t all = mf_nan(fmt);
    uint32_t block[BODY_BLOCK], largest = 0;
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        pack_read(mf_width(fmt), codes + vec_bytes(fmt, i), m, block);
        for (size_t j = 0; j < m; j++)
            largest = (block[j] & all) > largest ? block[j] & all : largest;
    }
    return largest;
}

static void body_store64(uint8_t *bytes, uint64_t word)
{
    if (BODY_LITTLE)
        memcpy(bytes, &word, sizeof word);
    else
        for (int b = 0; b < 8; b++)
            bytes[b] = (uint8_t)(word >> (8 * b));
}

/* Bytes from n on count as 0. */
static uint64_t body_load64(const uint8_t *bytes, size_t n)
{
    uint64_t word = 0;
    if (BODY_LITTLE && n >= 8)
        memcpy(&word, bytes, sizeof word);
    else
        for (size_t b = 0; b < 8 && b < n; b++)
            word |= (uint64_t)bytes[b] << (8 * b);
    return word;
}

/* `held` has the lowest `have` < 64 bits that are not yet stored. */
static void body_spill(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide)
{
    const int bits = mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
    const uint64_t *a = acc;
    uint64_t held = 0;
    int have = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = mf_wide_word(a[i], bits);
        held |= word << have;
        have += bits;
        if (have < 64)
            continue;
        body_store64(wide, held);
        wide += 8;
        have -= 64;
        held = word >> (bits - have);
    }
    for (; have > 0; have -= 8, held >>= 8)
        *wide++ = (uint8_t)held;
}

static void body_accumulate_wide(const struct vec_sum *sum, void *acc, const uint8_t *wide,
                                 size_t n, bool first)
{
    const int bits = mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
    const uint64_t all = (1ull << bits) - 1;
    const uint8_t *end = wide + vec_wide_bytes(sum, n);
    uint64_t *a = acc, held = 0;
    int have = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t word = held;
        if (have >= bits) {
            held >>= bits;
            have -= bits;
        } else {
            const uint64_t next = body_load64(wide, (size_t)(end - wide));
            const int used = bits - have;
            wide += end - wide < 8 ? end - wide : 8;
            word |= next << have;
            held = next >> used;
            have = 64 - used;
        }
        a[i] = mf_acc_merge(first ? 0 : a[i], mf_wide_acc(word & all, bits));
    }
}

static void body_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes)
{
    const uint64_t mode = fp_mode_ieee();
    if (body_is_fp32(sum, out))
        body_sum_fp32(sum, parts, n_parts, n, codes);
    else if (!sum_packed(body_add_packed, sum, parts, n_parts, n, out, shift, codes))
        sum_blocks(body_accumulate, body_finish, sum, parts, n_parts, n, out, shift, codes);
    fp_mode_back(mode);
}

static inline void body_fill(struct vec_ops *ops)
{
    ops->accumulate = body_accumulate;
    ops->finish = body_finish;
    ops->spill = body_spill;
    ops->accumulate_wide = body_accumulate_wide;
    ops->add = body_add_packed;
    ops->sum = body_sum;
    ops->hop = body_hop;
    ops->peak = body_peak;
}

#endif
