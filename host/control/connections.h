/* connections.h : the sockets of those who control a card: accepted, read, written and closed
 * without ever blocking.
 *
 * There is room for CONTROL_PEERS. Who owns no job and has asked for nothing for CONNECTIONS_IDLE_S
 * is dropped, but for the program that started the card; who finds no room is told so (simlink.h).
 * When the system has no descriptor for who comes, nobody is let in for CONNECTIONS_DEAF_S. Times
 * are seconds of any one clock.
 *
 * A card's frames must not wait for those who only ask: peers get a ration of the loop's time
 * (base/ration.h). It is shared fairly by time, so one that asks little is served before those who
 * ask without end. The program that started the card is served at once. */
#ifndef CONNECTIONS_H
#define CONNECTIONS_H
#include "base/ration.h"
#include "control/control.h"
#include <poll.h>

enum { CONNECTIONS_POLLS = CONTROL_PEERS + 1, CONNECTIONS_IDLE_S = 10, CONNECTIONS_DEAF_S = 1 };

struct connections {
    struct control *control;
    int listener;          /* -1: nobody may come */
    int fd[CONTROL_PEERS]; /* of a peer, or -1 */
    double heard_at[CONTROL_PEERS], deaf_until;
    int owner; /* the peer whose end is the card's end, or -1 */
    bool owner_left;
    struct ration ration;
    /* start-time fair queueing: seconds of service at which a peer's last message ended, and at which
     * the message that was served last began */
    double served[CONTROL_PEERS], served_to;
    double (*clock)(void); /* clock_s(), unless a test has one of its own */
    uint32_t ip; /* where frames are sent to; 0: to the address that a peer is connected to */
    uint16_t port;
};

/* control and listener stay the caller's. */
void connections_init(struct connections *c, struct control *control, int listener, uint32_t ip,
                      uint16_t port);
/* A socket that is open already; the card ends with it. Returns 0 or a negative errno with a
 * line. */
int connections_adopt(struct connections *c, int fd);
void connections_fini(struct connections *c);

/* What to poll, into polls [CONNECTIONS_POLLS]; returns how many. */
int connections_polls(struct connections *c, double now, struct pollfd *polls);
/* When there is something to do though nothing comes; INFINITY: never. */
double connections_due(const struct connections *c);
/* With the revents of those polls: does what there is to do. Returns 0, or -EIO with a line: the
 * card does not answer. */
int connections_serve(struct connections *c, const struct pollfd *polls, int n, double now);

#endif
