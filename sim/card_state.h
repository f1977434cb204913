/* card_state.h : what the files of the card's C model share: its memory, and the sums of a slot. */
#ifndef CARD_STATE_H
#define CARD_STATE_H
#include "hls/beat.h"
#include "hls/slot.h"
#include "sim/card_model.h"

enum { CARD_COUNTERS = 32, CARD_WORDS = CARD_BEATS * BEAT_CODES };

struct card_job {
    uint32_t enabled, ranks, base, slots, formats; /* formats: in | out << 8, 0: any */
    uint64_t key;
    uint32_t ip[CARD_RANKS];
    uint16_t port[CARD_RANKS];
};

struct card_slot {
    struct slot s;
    uint64_t acc[CARD_WORDS];             /* element i: as mf_acc_*; MAX: the int8 */
    uint8_t kept[CARD_BEATS * BEAT_SIZE]; /* the encoded result */
    uint32_t kept_beats, kept_status;
};

/* The registers that hold what was written, and what was seen. */
struct card_regs {
    uint32_t enable, job_index, job_ranks, job_key_lo, job_key_hi, job_base, job_slots, job_formats;
    uint32_t rank_index, rank_ip, rank_port, counter_index;
    uint32_t seen_rank, seen_ip, seen_port;
    uint32_t drop_in, drop_out, drop_seed;
    uint32_t refused; /* the last JOB_COMMIT */
};

struct card {
    card_out *out;
    void *arg;
    struct card_regs regs;
    uint64_t random, live[CARD_COUNTERS], latched[CARD_COUNTERS];
    struct card_job job[CARD_JOBS];
    struct card_slot slot[CARD_SLOTS];
};

/* What a SUM or MAX header says about its payload. */
struct card_shape {
    uint32_t is_max, n, in_beats, out_beats, shift; /* n: elements; beats: of payload */
    struct beat_fmt in, out;
    enum mf_overflow overflow;
};

/* Payload into the accumulators, overwriting them when first; and the accumulators into the kept result. */
void card_sum_add(struct card_slot *slot, const struct card_shape *shape, int first, const uint8_t *payload);
void card_sum_emit(struct card_slot *slot, const struct card_shape *shape);

#endif
