/* card_state.h : what the files of the card's C model share: its memory, and the sums of a slot. */
#ifndef CARD_STATE_H
#define CARD_STATE_H
#include "hls/core/beat.h"
#include "hls/card/packet.h"
#include "hls/card/regs.h"
#include "hls/card/slot.h"
#include "sim/card_model.h"

enum { CARD_WORDS = CARD_BEATS * BEAT_CODES };

struct card_job {
    uint32_t enabled, ranks, base, slots, formats; /* formats: in | out << 8, 0: any */
    uint64_t key;
    uint32_t group_ip; /* 0: none */
    uint16_t group_port;
    uint32_t ip[PKT_MAX_RANKS];
    uint16_t port[PKT_MAX_RANKS];
};

struct card_slot {
    struct slot s;
    uint64_t acc[CARD_WORDS];             /* element i: as mf_acc_*; MAX: the int8 */
    uint8_t kept[CARD_BEATS * BEAT_SIZE]; /* the encoded result */
    uint32_t kept_beats, kept_status, kept_crc;
};

/* The registers that hold what was written, and what was seen. */
struct card_regs {
    uint32_t enable, job_index, counter_index;
    struct {
        uint32_t ranks, key_lo, key_hi, base, slots, formats, group_ip, group_port;
    } job; /* until JOB_COMMIT */
    struct {
        uint32_t index, ip, port;
    } rank; /* until RANK_COMMIT */
    uint32_t seen_rank, seen_ip, seen_port;
    uint32_t drop_in, drop_out, drop_seed;
    uint32_t refused; /* the last JOB_COMMIT */
};

struct card_sums;

struct card {
    card_out *out;
    void *arg;
    const struct card_sums *sums;
    uint8_t *parts; /* card_fast.c's: [slots][ranks] payloads */
    struct card_regs regs;
    uint64_t random, live[REG_COUNTERS], latched[REG_COUNTERS];
    struct card_job job[CARD_JOBS];
    struct card_slot slot[CARD_SLOTS];
};

/* What a SUM or MAX header says about its payload. */
struct card_shape {
    uint32_t is_max, n, in_beats, out_beats, shift; /* n: elements; beats: of payload */
    struct beat_fmt in, out;
    enum mf_overflow overflow;
};

/* How a card adds. Two ways, which give the same bytes: card_plain by hls/arith/mf.h, code after code;
 * card_fast by host/vec. */
struct card_sums {
    uint32_t (*crc)(const void *bytes, size_t n);
    /* A rank's payload into the slot's sums, overwriting them when first. */
    void (*add)(struct card *card, uint32_t slot, const struct card_shape *shape, uint32_t rank,
                int first, const uint8_t *payload);
    /* The sums of ranks 0..n_ranks-1 into the slot's kept result; kept_beats and kept_status,
     * too. */
    void (*emit)(struct card *card, uint32_t slot, const struct card_shape *shape,
                 uint32_t n_ranks);
};
extern const struct card_sums card_plain, card_fast;

#endif
