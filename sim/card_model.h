/* card_model.h : the whole card in plain C: the same frames in, frames out, registers and counters
 * as rtl/nic_core.sv.
 *
 *     frame -> whole and undamaged? -> job, key, rank, source -> slot, op, format -> slot machine (hls/card/slot.h) -> sums (card_sum.c)
 *
 * It has no time: a frame is dealt with when it comes, its answers go out before the call returns.
 * What only time brings (DROP_ROOM, LOST_NAK, a job that takes a while to stop) does not happen
 * here. It is the RTL's oracle, frame by frame. */
#ifndef CARD_MODEL_H
#define CARD_MODEL_H
#include <stddef.h>
#include <stdint.h>
#include "hls/card/card.h"

enum { CARD_FRAME_BYTES = 64 * (1 + CARD_BEATS) }; /* the longest */

struct card;

/* A frame that leaves: bytes [n], the card's until the call returns; to an IPv4 address (127.0.0.1
 * is 0x7f000001) and port. */
typedef void card_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* A card after power-up: disabled, no jobs. out is called from card_frame() alone. NULL when there
 * is no memory. */
struct card *card_open(card_out *out, void *arg);
/* The same, fast: sums by host/vec, checksums by the CPU's instruction. card_slot_hash() says
 * nothing about its sums. */
struct card *card_open_fast(card_out *out, void *arg);
void card_close(struct card *card);

/* A frame that arrives: bytes [n], n > 0, with the source that the network names. */
void card_frame(struct card *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* Registers of hls/card/regs.def, by byte offset. Return 0, or -EINVAL where the bus would answer with
 * an error (*value is 0): an offset that is no register's. Writing one that is read-only, or
 * reading one that is write-only (0), does nothing. */
int card_write(struct card *card, uint32_t at, uint32_t value);
int card_read(const struct card *card, uint32_t at, uint32_t *value);

/* For tests: a counter as it is now, by its index in hls/card/regs.def. */
uint64_t card_counter(const struct card *card, unsigned index);

/* For tests: was a slot touched? FNV-1a of its state, sums, kept bytes. */
uint64_t card_slot_hash(const struct card *card, unsigned slot);

#endif
