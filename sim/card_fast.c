/* card_fast.c : the sums of the card's C model by host/vec: payloads are kept as they are and added all at once by the last.
 *
 *     parts of all ranks --vec sum, too large: inf--> no inf and no nan anywhere: this is the result, its status is 0
 *                                                \-> the groups of beats where there is one: again, by card_sum.c
 *
 * Both overflow rules give the same codes where nothing is too large, and an addend that is inf or nan makes the sum one. */
#include "base/crc.h"
#include "sim/card_state.h"
#include "vec/vec.h"
#include <string.h>

enum { PART_BYTES = CARD_BEATS * BEAT_SIZE };

static uint8_t *part_of(const struct card *card, uint32_t slot, uint32_t rank)
{
    return card->parts + ((size_t)slot * CARD_RANKS + rank) * PART_BYTES;
}

static void fast_add(struct card *card, uint32_t slot, const struct card_shape *shape, uint32_t rank, int first,
                     const uint8_t *payload)
{
    (void)first;
    memcpy(part_of(card, slot, rank), payload, (size_t)shape->in_beats * BEAT_SIZE);
}

/* Is a code among bytes [n], a whole number of beats, larger than the largest finite of its format? */
static int any_beyond(const uint8_t *bytes, size_t n, struct beat_fmt f)
{
    const uint32_t most = mf_max(f.fmt);
    uint32_t found = 0;
    if (f.width == 8) {
        for (size_t i = 0; i < n; i++)
            found |= (uint8_t)(bytes[i] & 127) > (uint8_t)most;
    } else if (f.width == 4) {
        for (size_t i = 0; i < n; i++)
            found |= (uint8_t)(bytes[i] & 7) > (uint8_t)most || (uint8_t)(bytes[i] >> 4 & 7) > (uint8_t)most;
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

/* The groups of beats, whole on both sides, in which a sum is no number: as card_sum.c has them. Returns their status bits. */
static uint32_t again(const uint8_t *const *parts, uint32_t n_parts, const struct card_shape *shape, uint8_t *kept)
{
    const uint32_t in = shape->in.width, out = shape->out.width;
    const uint32_t in_beats = in > out ? in / out : 1, out_beats = out > in ? out / in : 1;
    uint32_t status = 0;
    for (uint32_t g = 0; g * out_beats < shape->out_beats; g++) {
        uint8_t *to = kept + (size_t)g * out_beats * BEAT_SIZE;
        uint64_t acc[BEAT_CODES];
        if (!any_beyond(to, (size_t)out_beats * BEAT_SIZE, shape->out))
            continue;
        for (uint32_t r = 0; r < n_parts; r++)
            card_sum_add(acc, shape, r == 0, parts[r] + (size_t)g * in_beats * BEAT_SIZE, in_beats);
        status |= card_sum_emit(acc, shape, to, out_beats);
    }
    return status;
}

static void fast_emit(struct card *card, uint32_t slot, const struct card_shape *shape, uint32_t n_ranks)
{
    const uint8_t *parts[CARD_RANKS] = {0};
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
    vec_best()->sum(&sum, parts, (int)n_ranks, in_bytes * 8 / shape->in.width, sum.out, sum.out_shift, s->kept);
    if (any_beyond(s->kept, (size_t)shape->out_beats * BEAT_SIZE, shape->out))
        s->kept_status = again(parts, n_ranks, shape, s->kept);
}

const struct card_sums card_fast = {crc_of, fast_add, fast_emit};
