/* fpga_link.h : exchanges messages of hls/card/simlink.h over a stream socket, with a deadline
 * `until` in the time of clock_s(); INFINITY is legal. No function prints. */
#ifndef FPGA_LINK_H
#define FPGA_LINK_H
#include "hls/card/simlink.h"
#include "offload/card/fpga.h"
#include <stdbool.h>

struct fpga_link {
    int fd;        /* nonblocking; owned */
    uint8_t *body; /* [SIMLINK_MAX] of the last message received */
    int failed;    /* result of the fpga_link_ask() that failed; 0: none */
};

/* Takes over the socket fd, even on failure, and receives HELLO. Returns 0, -ENOMEM, -EPROTO
 * (another version, or not a card), -EUSERS (no room for another client), or an error of
 * fpga_link_hear(). */
int fpga_link_open(struct fpga_link *l, int fd, double until);
void fpga_link_close(struct fpga_link *l); /* sends QUIT; legal when zeroed */

/* Sends m and its body. Returns 0 or a negative errno, for example -ETIMEDOUT or -EPIPE (closed by
 * the peer). */
int fpga_link_say(struct fpga_link *l, struct simlink m, const void *body, double until);

/* The body is in l->body. Returns 0, -EPROTO if the message is too long, or an error of
 * fpga_link_say(). */
int fpga_link_hear(struct fpga_link *l, struct simlink *m, double until);

/* Sends `ask` and receives DONE. Returns 0, -EPROTO after another message, or an error of
 * fpga_link_hear(). Messages have no numbers, and a late answer must not be taken for the next one:
 * after a failure all later calls return its error. */
int fpga_link_ask(struct fpga_link *l, struct simlink ask, const void *body, struct simlink *answer,
                  double until);

/* ---- implementations of functions of struct fpga_ops ---- */

int fpga_link_batch(struct fpga *card, struct fpga_link *l, struct fpga_op *ops, size_t n,
                    size_t *done, double timeout_s);
int fpga_link_address(struct fpga *card, struct fpga_link *l, uint32_t *ip, uint16_t *port,
                      double timeout_s);
int fpga_link_time(struct fpga *card, struct fpga_link *l, struct fpga_time *out, double timeout_s);
bool fpga_link_whole(struct fpga *card, const struct fpga_link *l);

#endif
