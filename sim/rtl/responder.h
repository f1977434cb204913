/* responder.h : runs the Verilated rtl/shell/control, which answers datagrams of
 * hls/card/lease.def, in front of a card's registers. */
#ifndef RESPONDER_H
#define RESPONDER_H
#include "control/control_jobs.h"
#include <stddef.h>

struct responder;

/* Sends an answer bytes[n], valid during the call; at most one for each request. */
typedef void responder_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);

/* card: open, remains the caller's. frame_port: value of SHELL_PORT. Returns 0, or a negative errno
 * after reporting, -ENOSYS without Verilator. */
int responder_open(const struct control_ops *ops, void *card, uint16_t frame_port,
                   responder_out *out, void *arg, struct responder **responder);
void responder_close(struct responder *r);

/* responder_take() processes a datagram bytes[n], n > 0; call responder_tick() every LEASE_TICK_MS.
 * All work is done on return. Both return 0, or -EIO after reporting a card that does not
 * answer. */
int responder_take(struct responder *r, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n);
int responder_tick(struct responder *r);

#endif
