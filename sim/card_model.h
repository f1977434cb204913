/* card_model.h : Models the whole card in plain C: frames, registers and
 * counters of rtl/nic_core.sv.
 *
 *     frame -> whole? -> job, key, rank, source -> slot, op, format
 *           -> slot machine (hls/card/slot.h) -> sums (card_sum.c)
 *
 * It is the RTL's oracle, frame by frame, but has no time: card_frame() sends all answers before it
 * returns. DROP_ROOM, LOST_NAK and jobs that take a while to stop do not occur here. */
#ifndef CARD_MODEL_H
#define CARD_MODEL_H
#include <stddef.h>
#include <stdint.h>
#include "hls/card/card.h"

enum { CARD_FRAME_BYTES = 64 * (1 + CARD_BEATS) }; /* the longest */

struct card;

/* Takes an outgoing frame bytes[n], valid during the call, to an IPv4 address (127.0.0.1 is
 * 0x7f000001) and port. */
typedef void card_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* Makes a card as after power-up: disabled, no jobs. Only card_frame() calls out. NULL: no
 * memory. */
struct card *card_open(card_out *out, void *arg);
/* Does the same with fast sums (host/vec) and checksums (CPU instruction). card_slot_hash()
 * then ignores sums. */
struct card *card_open_fast(card_out *out, void *arg);
void card_close(struct card *card);

/* Takes an incoming frame bytes[n], n > 0, with its source. */
void card_frame(struct card *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* Access registers of hls/card/regs.def by byte offset. Return 0, or -EINVAL (*value is 0) if there
 * is no register, where the bus would answer with an error. Writing a read-only register does
 * nothing, and a write-only one reads 0. */
int card_write(struct card *card, uint32_t at, uint32_t value);
int card_read(const struct card *card, uint32_t at, uint32_t *value);

/* For tests: returns a live counter by its index in hls/card/regs.def. */
uint64_t card_counter(const struct card *card, unsigned index);

/* For tests: returns an FNV-1a hash of a slot's state, sums and kept bytes, to detect changes. */
uint64_t card_slot_hash(const struct card *card, unsigned slot);

#endif
