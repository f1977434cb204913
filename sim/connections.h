/* connections.h : the sockets of those who control a card: accepted, read, written and closed without ever blocking. */
#ifndef CONNECTIONS_H
#define CONNECTIONS_H
#include "sim/control.h"
#include <poll.h>

enum { CONNECTIONS_POLLS = CONTROL_PEERS + 1 };

struct connections {
    struct control *control;
    int listener;          /* -1: nobody may come */
    int fd[CONTROL_PEERS]; /* of a peer, or -1 */
    int owner;             /* the peer whose end is the card's end, or -1 */
    bool owner_left;
    uint32_t ip; /* where frames are sent to; 0: to the address that a peer is connected to */
    uint16_t port;
};

/* control and listener stay the caller's. */
void connections_init(struct connections *c, struct control *control, int listener, uint32_t ip, uint16_t port);
/* A socket that is open already; the card ends with it. Returns 0 or a negative errno with a line. */
int connections_adopt(struct connections *c, int fd);
void connections_fini(struct connections *c);

/* What to poll, into polls [CONNECTIONS_POLLS]; returns how many. Then, with their revents: does what there is to do.
 * Returns 0, or -EIO with a line: the card does not answer. */
int connections_polls(const struct connections *c, struct pollfd *polls);
int connections_serve(struct connections *c, const struct pollfd *polls, int n);

#endif
