/* card_model.h : models the whole card in C: frames, registers and counters of rtl/nic_core.sv.
 *
 *     frame -> whole? -> job, key, rank, source -> slot, op, format
 *           -> slot machine (hls/card/slot.h) -> sums (card_sum.c)
 *
 * Tests compare the RTL with this model, frame by frame. The model has no time: card_frame() sends
 * all answers before it returns, jobs stop at once, and DROP_ROOM and LOST_NAK stay 0. */
#ifndef CARD_MODEL_H
#define CARD_MODEL_H
#include <stddef.h>
#include <stdint.h>
#include "hls/card/card.h"

enum { CARD_FRAME_BYTES = 64 * (1 + CARD_BEATS) }; /* longest */

struct card;

/* Accepts an outgoing frame bytes[n], valid during the call, to an IPv4 address (127.0.0.1 is
 * 0x7f000001) and port. */
typedef void card_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* Returns a card as after power-up; NULL if memory is short. Only card_frame() calls `out`. */
struct card *card_open(card_out *out, void *arg);
/* The same with fast sums (host/vec) and checksums (CPU instruction). */
struct card *card_open_fast(card_out *out, void *arg);
/* Makes a new card add only e1m6f and e2m5f, in more slots (Narrow=1 of nic_core). */
void card_make_narrow(struct card *card);
void card_close(struct card *card);

/* Processes a frame bytes[n], n > 0, from ip:port. */
void card_frame(struct card *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* Access registers of hls/card/regs.def by byte offset. Return 0; without a register there -EINVAL
 * (a bus error), with *value 0. Read-only registers ignore writes; write-only ones read 0. */
int card_write(struct card *card, uint32_t at, uint32_t value);
int card_read(const struct card *card, uint32_t at, uint32_t *value);

/* For tests: a live counter by index (hls/card/regs.def). */
uint64_t card_counter(const struct card *card, unsigned index);

#endif
