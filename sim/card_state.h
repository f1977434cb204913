/* card_state.h : declares the state of the card's C model, and the interface of its sums. */
#ifndef CARD_STATE_H
#define CARD_STATE_H
#include "hls/core/beat.h"
#include "hls/card/packet.h"
#include "hls/card/regs.h"
#include "hls/card/slot.h"
#include "sim/card_model.h"

enum { CARD_WORDS = CARD_BEATS * BEAT_CODES };

struct card_job {
    uint32_t enabled, ranks, base, slots, formats; /* formats: in | out << 8; each 0: any */
    uint64_t key;
    uint32_t group_ip; /* 0: none */
    uint16_t group_port;
    uint32_t ip[PKT_MAX_RANKS];
    uint16_t port[PKT_MAX_RANKS];
};

struct card_slot {
    struct slot s;
    uint64_t acc[CARD_WORDS];             /* [element]: mf_acc_*, or the int8 of a MAX */
    uint8_t kept[CARD_BEATS * BEAT_SIZE]; /* the encoded result */
    uint32_t kept_beats, kept_status, kept_crc;
};

/* registers that only store their value, and (seen_*) rank, IP and port of the last frame from a
 * wrong source */
struct card_regs {
    uint32_t enable, job_index, counter_index;
    struct {
        uint32_t ranks, key_lo, key_hi, base, slots, formats, group_ip, group_port;
    } job; /* staged until JOB_COMMIT */
    struct {
        uint32_t index, ip, port;
    } rank; /* staged until RANK_COMMIT */
    uint32_t seen_rank, seen_ip, seen_port;
    uint32_t drop_in, drop_out, drop_seed;
    uint32_t refused; /* of the last JOB_COMMIT */
};

struct card_sums;

struct card {
    card_out *out;
    void *arg;
    const struct card_sums *sums;
    uint8_t *parts; /* payloads [slots][ranks], for card_fast.c */
    struct card_regs regs;
    uint64_t random, live[REG_COUNTERS], latched[REG_COUNTERS];
    struct card_job job[CARD_JOBS];
    int narrow; /* Narrow=1 */
    uint32_t slots;
    struct card_slot slot[CARD_NARROW_SLOTS]; /* [slots] */
};

struct card_shape {
    uint32_t is_max, in_beats, out_beats, shift; /* *_beats: of payload */
    struct beat_fmt in, out;
    enum mf_overflow overflow;
};

/* Functions that compute sums. card_plain (hls/arith/mf.h, one code at a time) and card_fast
 * (host/vec) give the same bytes. */
struct card_sums {
    uint32_t (*crc)(const void *bytes, size_t n);
    /* Adds a rank's payload to the slot's sums, which `first` overwrites. */
    void (*add)(struct card *card, uint32_t slot, const struct card_shape *shape, uint32_t rank,
                int first, const uint8_t *payload);
    /* Rounds the sums of ranks [0, n_ranks) into the slot's kept result, kept_beats and
     * kept_status. */
    void (*emit)(struct card *card, uint32_t slot, const struct card_shape *shape,
                 uint32_t n_ranks);
};
extern const struct card_sums card_plain, card_fast;

#endif
