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

enum { CARD_FRAME_BYTES = 64 * (1 + CARD_BEATS) }; /* longest frame */

struct card;

/* Accepts an outgoing frame bytes[n] to an IPv4 address (127.0.0.1 is 0x7f000001) and port.
 * The bytes are valid during the call. */
typedef void card_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* Makes a card as after power-up: disabled, no jobs. Only card_frame() calls `out`.
 * Returns NULL if there is no memory. */
struct card *card_open(card_out *out, void *arg);
/* Makes the same card, with fast sums (host/vec) and checksums (CPU instruction).
 * card_slot_hash() then ignores sums. */
struct card *card_open_fast(card_out *out, void *arg);
void card_close(struct card *card);

/* Processes an incoming frame bytes[n], n > 0. ip, port: its source. */
void card_frame(struct card *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* Access registers of hls/card/regs.def by byte offset. Return 0, or -EINVAL if there is no
 * register at this offset (the bus would answer with an error); then *value is 0. Writing a
 * read-only register has no effect, and a write-only register reads 0. */
int card_write(struct card *card, uint32_t at, uint32_t value);
int card_read(const struct card *card, uint32_t at, uint32_t *value);

/* For tests: returns a live counter by its index in hls/card/regs.def. */
uint64_t card_counter(const struct card *card, unsigned index);

/* For tests: returns an FNV-1a hash of a slot's state, sums and kept bytes, to detect changes. */
uint64_t card_slot_hash(const struct card *card, unsigned slot);

#endif
