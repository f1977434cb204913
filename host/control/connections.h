/* connections.h : serves the sockets of clients that control a card, never blocking.
 *
 * There is room for CONTROL_PEERS peers. A new client that finds no room is told so (simlink.h). A
 * peer that owns no job and has asked for nothing for CONNECTIONS_IDLE_S is disconnected, except
 * the program that started the card. If the system has no descriptor for a new client, none is
 * accepted for CONNECTIONS_DEAF_S. Times are seconds of any one clock.
 *
 * A card's frames must not wait for clients: peers get a ration of the loop's time (base/ration.h).
 * It is shared fairly by time, so a peer that asks little is served before peers that ask without
 * end. The program that started the card is served at once. */
#ifndef CONNECTIONS_H
#define CONNECTIONS_H
#include "base/ration.h"
#include "control/control.h"
#include <poll.h>

enum { CONNECTIONS_POLLS = CONTROL_PEERS + 1, CONNECTIONS_IDLE_S = 10, CONNECTIONS_DEAF_S = 1 };

struct connections {
    struct control *control;
    int listener;          /* -1: no client may connect */
    int fd[CONTROL_PEERS]; /* of a peer; -1: none */
    double heard_at[CONTROL_PEERS], deaf_until;
    int owner; /* peer that started the card and ends it, or -1 */
    bool owner_left;
    struct ration ration;
    /* start-time fair queueing: seconds of service at which each peer's last message ended, and at
     * which the message served last began */
    double served[CONTROL_PEERS], served_to;
    double (*clock)(void); /* clock_s(), or a test's own clock */
    uint32_t ip;           /* address for frames; 0: the one that a peer is connected to */
    uint16_t port;
};

/* control and listener stay the caller's. */
void connections_init(struct connections *c, struct control *control, int listener, uint32_t ip,
                      uint16_t port);
/* Add an open socket; when it closes, the card ends. */
int connections_adopt(struct connections *c, int fd);
void connections_fini(struct connections *c);

/* Fill polls [CONNECTIONS_POLLS] and return their number. */
int connections_polls(struct connections *c, double now, struct pollfd *polls);
/* Return the time of the next action without input; INFINITY: never. */
double connections_due(const struct connections *c);
/* Do the work that these polls' revents ask for. Reports -EIO: the card does not answer. */
int connections_serve(struct connections *c, const struct pollfd *polls, int n, double now);

#endif
