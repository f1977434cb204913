/* fpga_link.h : messages of hls/card/simlink.h over a stream socket, with a time by which they must have
 * passed. */
#ifndef FPGA_LINK_H
#define FPGA_LINK_H
#include "hls/card/simlink.h"
#include "offload/card/fpga.h"
#include <stdbool.h>

struct fpga_link {
    int fd;        /* not blocking; owned */
    uint8_t *body; /* [SIMLINK_MOST] of the last message heard */
};

/* Takes the socket fd over, also when it fails, and hears HELLO. until: a time of clock_s(), here
 * and below; INFINITY is legal. Returns 0, -ENOMEM, -EPROTO (another version or none), -EUSERS (as
 * many control it as it takes), or as fpga_link_hear. Silent, like all of these. */
int fpga_link_open(struct fpga_link *l, int fd, double until);
void fpga_link_close(struct fpga_link *l); /* says QUIT; legal when zeroed */

/* All of m and its body, or a negative errno: -ETIMEDOUT, -EPIPE when the other end has closed,
 * ... */
int fpga_link_say(struct fpga_link *l, struct simlink m, const void *body, double until);

/* The next message; l->body holds its bytes. Returns also -EPROTO for one that is too long. */
int fpga_link_hear(struct fpga_link *l, struct simlink *m, double until);

/* Says ask and hears DONE: its answer. -EPROTO: it answered with something else. */
int fpga_link_ask(struct fpga_link *l, struct simlink ask, const void *body, struct simlink *answer,
                  double until);

/* Is the other end still there? Does not wait. False as well when it speaks unasked. */
bool fpga_link_alive(const struct fpga_link *l);

/* ---- batch, address, time and alive of a card at the end of a link, for backends that have
 * one: as struct fpga_ops says ---- */

int fpga_link_batch(struct fpga *card, struct fpga_link *l, struct fpga_op *ops, size_t n,
                    size_t *done, double timeout_s);
int fpga_link_address(struct fpga *card, struct fpga_link *l, uint32_t *ip, uint16_t *port,
                      double timeout_s);
int fpga_link_time(struct fpga *card, struct fpga_link *l, struct fpga_time *out, double timeout_s);
bool fpga_link_whole(struct fpga *card, const struct fpga_link *l);

#endif
