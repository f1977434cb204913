/* responder.h : the Verilated rtl/shell/control in front of a card's registers: datagrams of
 * hls/card/lease.def in, answers out. */
#ifndef RESPONDER_H
#define RESPONDER_H
#include "control/control_jobs.h"
#include <stddef.h>

struct responder;

/* Answers go out by this, one a request at most; bytes [n] are the responder's. */
typedef void responder_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* For a card that is open and stays the caller's; frame_port: what SHELL_PORT is to read. Returns 0
 * or a negative errno with a line: -ENOSYS without Verilator. */
int responder_open(const struct control_ops *ops, void *card, uint16_t frame_port,
                   responder_out *out, void *arg, struct responder **responder);
void responder_close(struct responder *r);

/* A datagram from there, bytes [n], n > 0; responder_tick: LEASE_TICK_MS have passed. All that
 * comes of it has been done when they return: 0, or -EIO with a line: the card does not answer. */
int responder_take(struct responder *r, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);
int responder_tick(struct responder *r);

#endif
