/* card_fast.c : adds the C model's payloads with host/vec when a slot's last one has come.
 *
 *     parts of all ranks --vec sum, overflow to inf--> no inf, no nan: this is the result, status 0
 *                                                  \-> else check each element: is an addend inf
 *                                                      or nan, or is the sum too large?
 *
 * If no sum is too large, both overflow rules give the same codes. All loops handle many elements
 * at a time, so that no job's data can slow the card for others. */
#include "base/crc.h"
#include "hls/card/packet.h"
#include "sim/card_state.h"
#include "vec/vec.h"
#include <string.h>

/* settle() handles BATCH * BEAT_CODES sums at a time */
enum { PART_BYTES = CARD_BEATS * BEAT_SIZE, BATCH = 4 };

static uint8_t *part_of(const struct card *card, uint32_t slot, uint32_t rank)
{
    return card->parts + ((size_t)slot * PKT_MAX_RANKS + rank) * PART_BYTES;
}

static void fast_add(struct card *card, uint32_t slot, const struct card_shape *shape,
                     uint32_t rank, int first, const uint8_t *payload)
{
    (void)first;
    memcpy(part_of(card, slot, rank), payload, (size_t)shape->in_beats * BEAT_SIZE);
}

static int any_beyond(const uint8_t *bytes, size_t n, struct beat_fmt f)
{
    const uint32_t most = mf_max(f.fmt);
    uint32_t found = 0;
    if (f.width == 8) {
        for (size_t i = 0; i < n; i++)
            found |= (uint8_t)(bytes[i] & 127) > (uint8_t)most;
    } else if (f.width == 4) {
        for (size_t i = 0; i < n; i++)
            found |= (uint8_t)(bytes[i] & 7) > (uint8_t)most ||
                     (uint8_t)(bytes[i] >> 4 & 7) > (uint8_t)most;
    } else {
        for (size_t i = 0; i < n; i += 2)
            found |= ((uint32_t)bytes[i] | (uint32_t)(bytes[i + 1] & 127) << 8) > most;
    }
    return found != 0;
}

static void max_of(const uint8_t *const *parts, uint32_t n_parts, size_t n, uint8_t *to)
{
    memcpy(to, parts[0], n);
    for (uint32_t r = 1; r < n_parts; r++)
        for (size_t i = 0; i < n; i++)
            to[i] = (uint8_t)((int8_t)parts[r][i] > (int8_t)to[i] ? parts[r][i] : to[i]);
}

/* Returns bit 0 for +inf, bit 1 for -inf, both for nan, else 0. Without branches, so that compilers
 * vectorise it. */
static inline uint8_t mark_of(int8_t magnitude, uint8_t negative, int8_t most, int8_t nan)
{
    const uint8_t one = (uint8_t)(1 + negative), which = magnitude >= nan ? 3 : one;
    return magnitude > most ? which : 0;
}

static void mark(const uint8_t *bytes, size_t n, struct beat_fmt f, uint8_t *marks)
{
    const uint32_t most = mf_max(f.fmt), nan = mf_last_not_nan(f.fmt) + 1;
    if (f.width == 8) {
        for (size_t i = 0; i < n; i++)
            marks[i] |= mark_of(bytes[i] & 127, bytes[i] >> 7, (int8_t)most, (int8_t)nan);
    } else if (f.width == 4) {
        for (size_t i = 0; i < n / 2; i++) {
            marks[2 * i] |= mark_of(bytes[i] & 7, bytes[i] >> 3 & 1, (int8_t)most, (int8_t)nan);
            marks[2 * i + 1] |=
                mark_of(bytes[i] >> 4 & 7, bytes[i] >> 7, (int8_t)most, (int8_t)nan);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            const uint16_t code = (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
            const int16_t m = (int16_t)(code & 0x7fff);
            const uint8_t one = (uint8_t)(1 + (code >> 15)), which = m >= (int16_t)nan ? 3 : one;
            marks[i] |= m > (int16_t)most ? which : 0;
        }
    }
}

static void clip(uint8_t *bytes, size_t n, struct beat_fmt f, const uint8_t *marks)
{
    const uint32_t most = mf_max(f.fmt);
    if (f.width == 8) {
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(marks[i] ? (bytes[i] & 0x80) | most : bytes[i]);
    } else if (f.width == 4) {
        for (size_t i = 0; i < n / 2; i++) {
            const uint32_t low = marks[2 * i] ? (bytes[i] & 8) | most : bytes[i] & 15;
            bytes[i] = (uint8_t)(low | (marks[2 * i + 1] ? (bytes[i] & 0x80) | most << 4
                                                         : bytes[i] & 0xf0));
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            bytes[2 * i] = (uint8_t)(marks[i] ? most : bytes[2 * i]);
            bytes[2 * i + 1] =
                (uint8_t)(marks[i] ? (bytes[2 * i + 1] & 0x80) | most >> 8 : bytes[2 * i + 1]);
        }
    }
}

/* at: byte of each part at which the n addends begin. Returns PKT_STATUS bits. */
static uint32_t settle(const uint8_t *const *parts, size_t at, uint32_t n_parts,
                       const struct card_shape *shape, size_t n, uint8_t *kept)
{
    uint8_t marks[BATCH * BEAT_CODES] = {0}, large[BATCH * BEAT_CODES] = {0};
    uint8_t seen = 0, too_large = 0;
    for (uint32_t r = 0; r < n_parts; r++)
        mark(parts[r] + at, n, shape->in, marks);
    mark(kept, n, shape->out, large);
    for (size_t i = 0; i < n; i++) {
        seen |= marks[i];
        too_large |= large[i] && !marks[i];
        /* marks 3: nan, from an addend or from both infinities */
        large[i] = large[i] && marks[i] != 3;
    }
    if (shape->overflow == MF_SATURATE)
        clip(kept, n, shape->out, large);
    return (seen & 1u) * PKT_STATUS_PINF | (seen >> 1u) * PKT_STATUS_NINF |
           too_large * PKT_STATUS_OVERFLOW;
}

static void fast_emit(struct card *card, uint32_t slot, const struct card_shape *shape,
                      uint32_t n_ranks)
{
    const uint8_t *parts[PKT_MAX_RANKS] = {0};
    struct card_slot *s = &card->slot[slot];
    const size_t in_bytes = (size_t)shape->in_beats * BEAT_SIZE;
    for (uint32_t r = 0; r < n_ranks; r++)
        parts[r] = part_of(card, slot, r);
    s->kept_beats = shape->out_beats;
    s->kept_status = 0;
    if (shape->is_max) {
        max_of(parts, n_ranks, in_bytes, s->kept);
        return;
    }
    const struct vec_sum sum = {.rule = VEC_EXACT,
                                .overflow = MF_INF,
                                .in = shape->in.fmt,
                                .out = shape->out.fmt,
                                .out_shift = (int)shape->shift,
                                .n_ranks = (int)n_ranks};
    const size_t n = in_bytes * 8 / shape->in.width;
    /* a result without inf and nan does not show the addends' */
    const bool hides = shape->out.fmt.flavour == MF_NUMBERS && shape->in.fmt.flavour != MF_NUMBERS;
    vec_best()->sum(&sum, parts, (int)n_ranks, n, sum.out, sum.out_shift, s->kept);
    for (size_t i = 0; i < n; i += BATCH * BEAT_CODES) {
        const size_t batch = n - i < BATCH * BEAT_CODES ? n - i : BATCH * BEAT_CODES;
        uint8_t *kept = s->kept + i * shape->out.width / 8;
        if (hides || any_beyond(kept, batch * shape->out.width / 8, shape->out))
            s->kept_status |= settle(parts, i * shape->in.width / 8, n_ranks, shape, batch, kept);
    }
}

const struct card_sums card_fast = {
    .crc = crc_of,
    .add = fast_add,
    .emit = fast_emit,
};
