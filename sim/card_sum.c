/* card_sum.c : the sums of the card's C model: payloads into a slot's accumulators, those into its kept result. */
#include "hls/reduce.h"
#include "sim/card_state.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return (int8_t)(uint8_t)a > (int8_t)(uint8_t)b ? a : b;
}

void card_sum_add(struct card_slot *slot, const struct card_shape *shape, int first, const uint8_t *payload)
{
    uint64_t *acc = slot->acc;
    uint32_t width = shape->is_max ? 8 : shape->in.width, per_beat = 512 / width;
    for (uint32_t b = 0; b < shape->in_beats; b++, acc += per_beat) {
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

void card_sum_emit(struct card_slot *slot, const struct card_shape *shape)
{
    const uint64_t *acc = slot->acc;
    uint32_t width = shape->is_max ? 8 : shape->out.width, per_beat = 512 / width;
    slot->kept_beats = shape->out_beats;
    slot->kept_status = 0;
    for (uint32_t b = 0; b < shape->out_beats; b++, acc += per_beat) {
        struct beat beat = beat_zero();
        for (uint32_t i = 0; i < per_beat; i++) {
            uint32_t code = (uint32_t)acc[i];
            if (!shape->is_max) {
                code = mf_acc_round(shape->in.fmt, acc[i], (int)shape->shift, shape->out.fmt, shape->overflow);
                slot->kept_status |= reduce_status(shape->in.fmt, acc[i], shape->shift, shape->out.fmt);
            }
            beat = beat_put(beat, width, i, code);
        }
        beat_store(beat, slot->kept + b * BEAT_SIZE);
    }
}
