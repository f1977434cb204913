/* card_link.h : messages of hls/simlink.h over a stream socket, with a time by which they must have passed. */
#ifndef CARD_LINK_H
#define CARD_LINK_H
#include "hls/simlink.h"
#include <stdbool.h>

enum { CARD_WHY_BYTES = 192 };

struct card_link {
    int fd;        /* not blocking; owned */
    uint8_t *body; /* [SIMLINK_MOST] of the last message heard */
};

/* Takes the socket fd over, also when it fails, and hears HELLO. until: a time of clock_s(), here and below; INFINITY is legal.
 * Returns 0, -ENOMEM, -EPROTO (another version or none), -EUSERS (as many control it as it takes), or as card_link_hear. Silent,
 * like all of these. */
int card_link_open(struct card_link *l, int fd, double until);
void card_link_close(struct card_link *l); /* says QUIT; legal when zeroed */

/* All of m and its body, or a negative errno: -ETIMEDOUT, -EPIPE when the other end has closed, ... */
int card_link_say(struct card_link *l, struct simlink m, const void *body, double until);

/* The next message; l->body holds its bytes. Returns also -EPROTO for one that is too long. */
int card_link_hear(struct card_link *l, struct simlink *m, double until);

/* Says ask and hears DONE: its answer. -EPROTO: it answered with something else. */
int card_link_ask(struct card_link *l, struct simlink ask, const void *body, struct simlink *answer, double until);

/* Is the other end still there? Does not wait. False as well when it speaks unasked. */
bool card_link_alive(const struct card_link *l);

#endif
