/* card_sum.c : computes the C model's sums with hls/arith/mf.h. */
#include "hls/core/reduce.h"
#include "sim/card_state.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return (int8_t)(uint8_t)a > (int8_t)(uint8_t)b ? a : b;
}

/* acc: [beats * 512 / bits of an input code] */
static void sum_add(uint64_t *acc, const struct card_shape *shape, int first,
                    const uint8_t *payload, uint32_t beats)
{
    uint32_t width = shape->is_max ? 8 : shape->in.width, per_beat = 512 / width;
    for (uint32_t b = 0; b < beats; b++, acc += per_beat) {
        struct beat beat = beat_load(payload + b * BEAT_SIZE);
        for (uint32_t i = 0; i < per_beat; i++) {
            uint32_t code = beat_get(beat, width, i);
            if (shape->is_max)
                acc[i] = first ? code : larger(acc[i], code);
            else
                acc[i] = mf_acc_add(shape->in.fmt, first ? 0 : acc[i], code);
        }
    }
}

/* Returns PKT_STATUS bits. */
static uint32_t sum_emit(const uint64_t *acc, const struct card_shape *shape, uint8_t *kept,
                         uint32_t beats)
{
    uint32_t width = shape->is_max ? 8 : shape->out.width, per_beat = 512 / width, status = 0;
    for (uint32_t b = 0; b < beats; b++, acc += per_beat) {
        struct beat beat = beat_zero();
        for (uint32_t i = 0; i < per_beat; i++) {
            uint32_t code = (uint32_t)acc[i];
            if (!shape->is_max) {
                code = mf_acc_round(shape->in.fmt, acc[i], (int)shape->shift, shape->out.fmt,
                                    shape->overflow);
                status |= reduce_status(shape->in.fmt, acc[i], shape->shift, shape->out.fmt);
            }
            beat = beat_put(beat, width, i, code);
        }
        beat_store(beat, kept + b * BEAT_SIZE);
    }
    return status;
}

static void plain_add(struct card *card, uint32_t slot, const struct card_shape *shape,
                      uint32_t rank, int first, const uint8_t *payload)
{
    (void)rank;
    sum_add(card->slot[slot].acc, shape, first, payload, shape->in_beats);
}

static void plain_emit(struct card *card, uint32_t slot, const struct card_shape *shape,
                       uint32_t n_ranks)
{
    struct card_slot *s = &card->slot[slot];
    (void)n_ranks;
    s->kept_beats = shape->out_beats;
    s->kept_status = sum_emit(s->acc, shape, s->kept, shape->out_beats);
}

static uint32_t plain_crc(const void *bytes, size_t n)
{
    return crc32c(bytes, n);
}

const struct card_sums card_plain = {
    .crc = plain_crc,
    .add = plain_add,
    .emit = plain_emit,
};
