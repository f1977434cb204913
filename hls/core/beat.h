/* beat.h : defines a beat of 512 bits, the codes in it, and the formats that a card adds. A beat
 * holds codes of 4, 8 or 16 bits, the first in the lowest bits:
 *
 *     w[0] bits 31..0 = bytes 3..0 of memory, w[15] = bytes 63..60
 *     4 bits: code 8i+j of the beat is bits 4j+3..4j of w[i]
 *     8 bits: code 4i+j is bits 8j+7..8j         16 bits: code 2i+j is bits 16j+15..16j
 *
 * A format is sent as one byte, with the 16 legal ones:
 *
 *     | 0 | e | m |    e1m2 e2m1 e3m0   e1m6 e2m5 e3m4 e4m3 e5m2   e5m10    MF_IEEE
 *     | 1 | e | m |    e1m2f .. e3m0f   e1m6f .. e3m4f                      MF_NUMBERS
 *       7  6-4 3-0     e4m3fn                                               MF_NO_INF
 *
 * The HLS cores and the card's C model use this file. */
#ifndef BEAT_H
#define BEAT_H
#include <stdint.h>
#include "hls/card/card.h"
#include "hls/arith/mf.h"
#include "hls/card/packet.h"

/* bytes of a beat; most codes in a beat, of 4 bits each */
enum { BEAT_SIZE = 64, BEAT_CODES = 128 };

struct beat {
    uint32_t w[16];
};

struct beat_fmt {
    struct mf_fmt fmt;
    uint32_t width; /* bits of a code: 4, 8 or 16; 0: not a legal format */
};

MF_FN struct beat_fmt beat_format(uint32_t byte)
{
    struct beat_fmt f;
    uint32_t e = (byte >> 4) & 7u, m = byte & 15u, top = (byte >> 7) & 1u, width = 1u + e + m;
    uint32_t legal = byte < 256u && e >= 1u && e <= 5u - top && m <= 10u &&
                     (width == 4u || width == 8u || width == 16u);
    enum mf_flavour flavour = top == 0u ? MF_IEEE : e == 4u ? MF_NO_INF : MF_NUMBERS;
    f.fmt.e = (uint8_t)(legal != 0u ? e : 4u);
    f.fmt.m = (uint8_t)(legal != 0u ? m : 3u);
    f.fmt.flavour = (uint8_t)(legal != 0u ? flavour : MF_IEEE);
    f.width = legal != 0u ? width : 0u;
    return f;
}

/* Return the byte of f, or 256, which is no legal one, if a card does not know f. */
MF_FN uint32_t beat_format_byte(struct mf_fmt f)
{
    uint32_t byte = (uint32_t)mf_uses_top(f) << 7 | (uint32_t)f.e << 4 | f.m;
    return mf_same(beat_format(byte).fmt, f) != 0 ? byte : 256u;
}

/* Fails to compile (divides by 0) if a card's sums lack room for a code of every rank. In units of
 * the smallest value, 4-bit codes take at most 8 bits (e3m0f), 8-bit codes 33 (e5m2). */
enum {
    BEAT_RANKS_FIT = 1 / ((PKT_MAX_RANKS << 8) <= (1 << CARD_SUM4_BITS) &&
                          (uint64_t)PKT_MAX_RANKS << 33 <= (uint64_t)1 << CARD_SUM_BITS)
};

/* Return 1 if f is legal and a card adds n_ranks (> 0) of its codes exactly. */
MF_FN uint32_t beat_fits(struct beat_fmt f, uint32_t n_ranks)
{
    int room = f.width == 4u ? CARD_SUM4_BITS : CARD_SUM_BITS;
    return f.width != 0u && mf_acc_bits(f.fmt, n_ranks) <= room ? 1u : 0u;
}

/* Return 1 if a card with Narrow=1 adds codes of f: sums of PKT_MAX_RANKS fit its words, which have
 * no flags for inf and nan. It rounds them to any format of 8 bits. */
MF_FN uint32_t beat_narrow(struct beat_fmt f)
{
    return f.width == 8u && f.fmt.flavour == MF_NUMBERS &&
                   mf_acc_bits(f.fmt, PKT_MAX_RANKS) <= CARD_NARROW_BITS
               ? 1u
               : 0u;
}

MF_FN struct beat beat_zero(void)
{
    struct beat b;
    for (int i = 0; i < 16; i++)
        b.w[i] = 0u;
    return b;
}

/* Return code i (< 512 / width) of a beat; width: 4, 8 or 16. */
MF_FN uint32_t beat_get(struct beat b, uint32_t width, uint32_t i)
{
    uint32_t bit = (i * width) & 511u;
    return (b.w[bit >> 5] >> (bit & 31u)) & ((1u << width) - 1u);
}

/* Return the beat with code i set, which must be 0 before. */
MF_FN struct beat beat_put(struct beat b, uint32_t width, uint32_t i, uint32_t code)
{
    uint32_t bit = (i * width) & 511u;
    b.w[bit >> 5] |= (code & ((1u << width) - 1u)) << (bit & 31u);
    return b;
}

/* Load and store bytes[64], whatever the machine's byte order. */
MF_FN struct beat beat_load(const uint8_t *bytes)
{
    struct beat b;
    for (int i = 0; i < 16; i++)
        b.w[i] = (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
                 (uint32_t)bytes[4 * i + 2] << 16 | (uint32_t)bytes[4 * i + 3] << 24;
    return b;
}
MF_FN void beat_store(struct beat b, uint8_t *bytes)
{
    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)(b.w[i / 4] >> (i % 4 * 8));
}

#endif
